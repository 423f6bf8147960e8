//! Analysed code, shared by all blocks and threads of the process.
//!
//! Finding the valid jump destinations of a contract costs more than calling it, and a chain calls
//! few contracts often.

use alloy_primitives::{B256, Bytes, map::B256Map};
use hearth_primitives::{StateError, StateReader};
use revm::bytecode::Bytecode;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Most bytes of code that the cache keeps.
pub const CODE_CACHE_BYTES: usize = 64 << 20;
/// Number of parts with a lock of their own.
const SHARDS: usize = 16;

/// A cache of two generations: a full young generation becomes the old one, and the old one is
/// dropped. A hit moves an entry to the young generation, so code in use stays.
#[derive(Default)]
struct Shard {
    young: B256Map<Bytecode>,
    old: B256Map<Bytecode>,
    young_bytes: usize,
}

static CACHE: LazyLock<[Mutex<Shard>; SHARDS]> = LazyLock::new(Default::default);

impl Shard {
    fn get(&mut self, hash: &B256) -> Option<Bytecode> {
        if let Some(code) = self.young.get(hash) {
            return Some(code.clone());
        }
        let code = self.old.remove(hash)?;
        self.insert(*hash, code.clone());
        Some(code)
    }

    fn insert(&mut self, hash: B256, code: Bytecode) {
        let bytes = code.bytes_slice().len();
        if self.young_bytes + bytes > CODE_CACHE_BYTES / SHARDS / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += bytes;
        self.young.insert(hash, code);
    }
}

/// Lets all analysed code go, because memory is short; what is used is analysed again.
pub fn forget_code() {
    for shard in &*CACHE {
        let gone = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
        drop(gone);
    }
}

/// Code by its hash, analysed. `delegations`: EIP-7702 is in force.
pub(crate) fn get(state: &dyn StateReader, hash: &B256, delegations: bool) -> Result<Bytecode, StateError> {
    let shard = &CACHE[usize::from(hash[0]) % SHARDS];
    if let Some(code) = shard.lock().unwrap_or_else(PoisonError::into_inner).get(hash) {
        return Ok(code);
    }
    let code = analyse(state.code(hash)?, delegations);
    // Code that looks like a delegation has another meaning before EIP-7702, so it is not shared
    // between forks.
    if !looks_delegated(code.original_byte_slice()) {
        shard.lock().unwrap_or_else(PoisonError::into_inner).insert(*hash, code.clone());
    }
    Ok(code)
}

/// Analyses code. `delegations`: EIP-7702 is in force.
pub(crate) fn analyse(code: Bytes, delegations: bool) -> Bytecode {
    if delegations
        && looks_delegated(&code)
        && let Ok(code) = Bytecode::new_raw_checked(code.clone())
    {
        return code;
    }
    Bytecode::new_legacy(code)
}

/// Whether code has the form of a delegation: `0xef0100` and an address (EIP-7702).
pub(crate) fn looks_delegated(code: &[u8]) -> bool {
    code.len() == 23 && code.starts_with(&[0xef, 0x01, 0x00])
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let mut shard = Shard::default();
        let code = |n: u32| Bytes::from(n.to_be_bytes().repeat(1_000));
        let used = keccak256(code(0));
        shard.insert(used, analyse(code(0), true));
        for n in 1..5_000 {
            shard.insert(keccak256(code(n)), analyse(code(n), true));
            assert!(shard.get(&used).is_some(), "what is asked for stays");
        }
        let bytes = |map: &B256Map<Bytecode>| {
            map.values().map(|code| code.original_byte_slice().len()).sum::<usize>()
        };
        assert!(bytes(&shard.young) + bytes(&shard.old) <= CODE_CACHE_BYTES / SHARDS);
        assert!(shard.get(&keccak256(code(1))).is_none(), "what is not asked for goes");
    }

    #[test]
    fn code_that_is_forgotten_is_not_kept_and_can_be_had_again() {
        let (code, hash) = (Bytes::from_static(&[0x60, 0x01]), keccak256([0x60, 0x01]));
        let shard = || CACHE[usize::from(hash[0]) % SHARDS].lock().unwrap();
        shard().insert(hash, analyse(code.clone(), true));
        assert!(shard().get(&hash).is_some());
        forget_code();
        assert!(shard().get(&hash).is_none());
        shard().insert(hash, analyse(code.clone(), true));
        assert_eq!(shard().get(&hash).unwrap().original_byte_slice(), &code[..]);
    }

    #[test]
    fn delegations_are_code_before_their_fork() {
        let designator = Bytes::from([&[0xef, 0x01, 0x00][..], &[7; 20]].concat());
        assert!(analyse(designator.clone(), true).is_eip7702());
        assert!(!analyse(designator.clone(), false).is_eip7702());
        assert_eq!(analyse(designator.clone(), false).original_bytes(), designator);
    }
}
