//! Chain ids that change while a chain runs, for development chains.
//!
//! A block that is executed under another id than the chain's first one carries that id at the
//! start of its extra data. The id of a block thus follows from its header: on every branch, after
//! a restart, and in a copy of the chain. Extra data is only read so on a chain whose rules have
//! `chainIdInExtraData`.

use super::ChainSpec;
use alloy_consensus::Header;
use alloy_primitives::Bytes;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What extra data begins with where a chain id follows, as eight bytes with the highest first.
const MARK: [u8; 8] = *b"chain id";
/// Bytes of the mark with its id.
const MARKED_BYTES: usize = MARK.len() + size_of::<u64>();

/// Whether the id of a chain may change, and the one that blocks to come have.
#[derive(Debug, Default)]
pub(crate) struct MovedId {
    pub allowed: bool,
    /// 0: the chain's first id.
    next: AtomicU64,
}

impl MovedId {
    /// Of a chain whose rules say so, or of another one.
    pub fn new(allowed: bool) -> Self {
        Self { allowed, next: AtomicU64::default() }
    }
}

impl Clone for MovedId {
    fn clone(&self) -> Self {
        Self { allowed: self.allowed, next: self.next.load(Relaxed).into() }
    }
}

/// Rules are the same whatever the next block's id is.
impl PartialEq for MovedId {
    fn eq(&self, other: &Self) -> bool {
        self.allowed == other.allowed
    }
}

impl Eq for MovedId {}

impl ChainSpec {
    /// The chain's id (EIP-155): that of the blocks to come.
    pub fn chain_id(&self) -> u64 {
        match self.moved.next.load(Relaxed) {
            0 => self.chain_id,
            moved => moved,
        }
    }

    /// The id that the chain began with.
    pub fn first_chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Whether the id of the blocks to come may be another one.
    pub fn chain_id_moves(&self) -> bool {
        self.moved.allowed
    }

    /// The id under which the block with this header is executed.
    pub fn chain_id_of(&self, header: &Header) -> u64 {
        let marked = || header.extra_data.strip_prefix(&MARK)?.first_chunk::<8>();
        match self.moved.allowed.then(marked).flatten() {
            Some(id) => u64::from_be_bytes(*id),
            None => self.chain_id,
        }
    }

    /// Sets the id of future blocks. Returns `false`, with no change, if the chain's rules do not
    /// allow it or the id is 0.
    pub fn move_chain_id(&self, id: u64) -> bool {
        let possible = id != 0 && (self.moved.allowed || id == self.chain_id);
        if possible {
            self.moved.next.store(if id == self.chain_id { 0 } else { id }, Relaxed);
        }
        possible
    }

    /// The extra data of a future block that would otherwise have this extra data: the id is
    /// prefixed if it has to be, and the result is truncated to 32 bytes.
    pub fn mark_chain_id(&self, extra_data: Bytes) -> Bytes {
        match self.moved.next.load(Relaxed) {
            0 => extra_data,
            moved => {
                let mut marked = [MARK, moved.to_be_bytes()].concat();
                marked.extend(extra_data.iter().take(crate::MAX_EXTRA_DATA - MARKED_BYTES));
                marked.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(config: &str) -> ChainSpec {
        ChainSpec::from_config_json(config).unwrap()
    }

    fn header(extra_data: Bytes) -> Header {
        Header { extra_data, ..Header::default() }
    }

    #[test]
    fn a_block_says_under_which_id_it_is_executed() {
        let spec = spec(r#"{"chainId": 7, "chainIdInExtraData": true}"#);
        let given = Bytes::from_static(&[9; 32]);
        let before = header(spec.mark_chain_id(given.clone()));
        assert_eq!((&before.extra_data, spec.chain_id_of(&before)), (&given, 7));
        assert!(spec.move_chain_id(0x1234));
        let (after, long) = (header(spec.mark_chain_id(Bytes::new())), header(spec.mark_chain_id(given)));
        assert_eq!(after.extra_data.len(), 16);
        assert_eq!(long.extra_data.len(), 32);
        assert_eq!(&long.extra_data[16..], [9; 16]);
        assert_eq!([&after, &long, &before].map(|header| spec.chain_id_of(header)), [0x1234, 0x1234, 7]);
        assert_eq!((spec.chain_id(), spec.first_chain_id()), (0x1234, 7));
        assert!(!spec.move_chain_id(0));
        assert_eq!(spec.chain_id(), 0x1234);
        assert!(spec.move_chain_id(7));
        assert_eq!(spec.mark_chain_id(Bytes::new()), Bytes::new());
        assert_eq!(spec.chain_id_of(&after), 0x1234, "what is made stays as it is");
    }

    #[test]
    fn on_other_chains_extra_data_means_nothing() {
        let (moving, other) =
            (spec(r#"{"chainId": 7, "chainIdInExtraData": true}"#), spec(r#"{"chainId": 7}"#));
        assert!(moving.move_chain_id(8) && !other.move_chain_id(8));
        let marked = header(moving.mark_chain_id(Bytes::new()));
        assert_eq!((other.chain_id_of(&marked), other.chain_id()), (7, 7));
        assert!(other != moving);
    }
}
