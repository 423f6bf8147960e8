//! Hashes of short inputs, cached for the whole process.
//!
//! Contracts hash the same mapping keys repeatedly, as the trie does addresses and slots. A look-up
//! costs a tenth of a hash. Inputs of up to 87 bytes are cached; a new input replaces the one at
//! the same position.

use alloy_primitives::utils::init_keccak_cache;

/// Hashes that are kept, of 128 bytes with their inputs: 16 MiB.
const HASHES: usize = 1 << 17;

/// Sets the size of the process's cache. If a hash was computed before, the cache already has the
/// default size of the library, which is the same.
pub(crate) fn install() {
    let _ = init_keccak_cache(HASHES);
}
