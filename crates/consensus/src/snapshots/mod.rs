//! State sync: the state of a height as a stream of flatKV, cut into chunks, which a new node
//! fetches from its peers.
//!
//! A snapshot of format 1 is the stream that `hearth db export` writes. Its hash is blake3 of the
//! whole stream; the metadata are blake3 of each chunk, so that a bad chunk is found on arrival.

mod make;
mod restore;

pub(crate) use make::{SnapshotFolder, SnapshotMaker};
pub(crate) use restore::{Restoring, Step, over};

/// The only format there is.
pub(crate) const FORMAT: u32 = 1;

/// Length of a chunk, in bytes; the last one may be shorter. CometBFT takes up to 16 MiB.
pub(crate) const CHUNK_BYTES: usize = 8 << 20;

/// Length of a hash, in bytes.
pub(crate) const HASH_BYTES: usize = 32;

/// Most chunks of a snapshot: CometBFT takes 4 MiB of metadata.
pub(crate) const CHUNKS_MAX: usize = (4 << 20) / HASH_BYTES;
