//! Hashes of short inputs, kept by the process.
//!
//! Contracts hash the same keys of mappings again and again, and the trie the same addresses and slots. A look-up is a
//! tenth of a hash. Inputs of up to 87 bytes are kept; a new one takes the place of whatever has the same position.

use alloy_primitives::utils::init_keccak_cache;

/// Hashes that are kept, of 128 bytes with their inputs: 16 MiB.
const HASHES: usize = 1 << 17;

/// Sets the size of the process's cache. Where something was hashed before, it has the library's own size, which is the
/// same.
pub(crate) fn install() {
    let _ = init_keccak_cache(HASHES);
}
