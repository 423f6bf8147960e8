//! What flatKV has on disk, and nothing of when it is written: the formats of rows and records, one
//! RocksDB with a column family for each kind of row, the changelog WAL, small files.
//!
//! - [`db`]: RocksDB, its families, batches ([`batch`]), the gate in front of reads ([`gate`]) and
//!   its MANIFEST ([`manifest`]).
//! - [`history`]: look-ups of earlier values, which pass over table files of later heights.
//! - [`nodes`]: nodes of the trie that a store without a home has in memory.
//! - [`rows`]: keys and values of all families, made of the parts in [`codec`]; what a database
//!   says about itself ([`stored`]); the lattice vectors over rows ([`commitment`]).
//! - [`wal`]: records, segments, scanning and salvage of the log.
//! - [`FlatKvError`], [`Options`], [`Commit`] and [`Head`]: what callers of the store see.
//!
//! Must not be in here: heads that move, views, locks of the store, blocks as such.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod batch;
pub mod budget;
pub mod codec;
pub mod commitment;
#[cfg(feature = "bench")]
pub mod compacted;
pub mod db;
pub mod error;
pub mod failpoints;
pub mod fields;
pub mod files;
pub mod gate;
pub mod history;
pub mod internals;
pub mod lthash;
pub mod manifest;
mod marks;
pub mod measure;
pub mod nodes;
mod old_rows;
mod opening;
mod priority;
pub mod rows;
mod settings;
pub mod stored;
mod types;
pub mod wal;

pub use error::FlatKvError;
pub use settings::{
    DEFAULT_MAX_OPEN_FILES, DEFAULT_MEMORY_BUDGET_BYTES, DEFAULT_SNAPSHOT_KEEP, StateSettings,
};
pub use types::{
    Commit, CommitmentKind, DEFAULT_SEGMENT_BYTES, Fsync, Head, IndexWrite, JoinedTables,
    MAX_LEGACY_KEY_BYTES, MAX_LEGACY_VALUE_BYTES, NoTables, Options, RowWrite,
};
