//! Flat key-value state: the latest rows, their history at every height, a canonical index, the state trie, and the
//! changelog WAL that makes one block one commit.
//!
//! - One RocksDB with a column family for each kind of row, its own log off. The WAL is the only log, and a WAL record
//!   is the commit point: [`FlatKv::open`] replays it into RocksDB, or takes RocksDB back to it.
//! - Latest is flat: one point read. History is versioned beside it, so a [`StateView`] answers at any retained
//!   height, beside commits and unwinds.
//! - [`CommitmentKind`] says what a head commits to: the Merkle Patricia root, a lattice hash, or nothing.
//!
//! Must not be in here: execution, blocks as such, HTTP, the environment.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod codec;
mod codes;
mod commit;
mod commitment;
mod db;
mod error;
mod fields;
mod files;
mod flush;
mod internals;
mod lthash;
mod measure;
mod open;
mod parent;
mod readonly;
mod rows;
mod snapshot;
mod store;
mod stored;
mod sync;
#[cfg(test)]
mod tests;
mod trie;
mod types;
mod unwind;
mod view;
mod wal;

pub use error::FlatKvError;
pub use hearth_disk::{Holder, LockError};
pub use parent::ParentView;
pub use readonly::list_snapshots;
pub use snapshot::Snapshot;
pub use store::{FlatKv, IndexRow};
pub use trie::{TrieSession, TrieUpdate, WitnessTrie};
pub use types::{
    Commit, CommitmentKind, DEFAULT_CACHE_BYTES, DEFAULT_CODE_CACHE_BYTES, DEFAULT_MAX_OPEN_FILES,
    DEFAULT_SEGMENT_BYTES, DEFAULT_SNAPSHOT_KEEP, Fsync, Head, IndexWrite, JoinedTables, NoTables, Options,
};
pub use view::StateView;
