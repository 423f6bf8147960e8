//! Flat key-value state: the latest rows, their history at every height, a canonical index, the
//! state trie, and the changelog WAL that makes one block one commit.
//!
//! - One RocksDB with a column family for each kind of row, its own log off
//!   ([`hearth_flatkv_storage`]). The WAL is the only log, and a WAL record is the commit point:
//!   [`FlatKv::open`] replays it into RocksDB, or takes RocksDB back to it.
//! - Latest is flat: one point read. History is versioned beside it, so a [`StateView`] answers at
//!   any retained height, beside commits and unwinds.
//! - [`CommitmentKind`] says what a head commits to: the Merkle Patricia root, a lattice hash, or
//!   nothing.
//!
//! Must not be in here: execution, blocks as such, HTTP, the environment.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apply;
#[cfg(feature = "bench")]
pub mod bare;
#[cfg(feature = "bench")]
mod bench_switches;
mod codes;
mod commit;
mod commit_run;
mod fill;
mod flush;
mod intent;
mod invariants;
mod iterate;
mod kept_pasts;
mod late_nodes;
mod open;
mod origin;
mod parent;
mod past_nodes;
mod past_trie;
mod pending;
mod prepared;
mod prune;
mod pruning;
#[cfg(test)]
mod publish_faults;
mod readonly;
mod repair;
mod rollback;
mod roots;
mod shared;
mod snapshot;
mod staging;
mod store;
mod sync;
#[cfg(test)]
mod tests;
mod transfer;
mod trie;
mod unflushed;
mod unwind;
mod verify;
mod view;
mod views;

pub use hearth_disk::{Holder, LockError};
#[cfg(feature = "failpoints")]
pub use hearth_flatkv_storage::failpoints;
pub use hearth_flatkv_storage::{
    Commit, CommitmentKind, DEFAULT_MAX_OPEN_FILES, DEFAULT_MEMORY_BUDGET_BYTES, DEFAULT_SEGMENT_BYTES,
    DEFAULT_SNAPSHOT_KEEP, FlatKvError, Fsync, Head, IndexWrite, JoinedTables, MAX_LEGACY_KEY_BYTES,
    MAX_LEGACY_VALUE_BYTES, NoTables, Options, RowWrite, StateSettings,
};
pub use hearth_metrics::DataDb;
pub use hearth_trie::{AccountProof, SlotProof, TrieUpdate, WitnessTrie};
pub use iterate::{MAX_ITERATOR_AGE, Row, RowIter, RowRange};
pub use open::LOCK_FILE;
pub use parent::ParentView;
pub use past_nodes::PastNodes;
pub use past_trie::{PastTrie, TAKEN_BACK_MAX};
pub use pending::PendingView;
pub use prepared::PreparedCommit;
pub use readonly::list_snapshots;
pub use repair::{Executor, Repair, RepairAction, RepairReport};
pub use rollback::{RollbackSource, roll_back};
pub use roots::{LatticeRoots, StateRoots};
pub use snapshot::Snapshot;
pub use store::{FlatKv, IndexRow};
pub use transfer::{
    Attachment, Exported, ImportSource, Imported, StreamCounts, StreamHead, TransferProgress, WatchTransfer,
};
pub use trie::TrieSession;
pub use verify::{Counts, Finding, ProgressFn, VerifyProgress, VerifyReport};
pub use view::StateView;
