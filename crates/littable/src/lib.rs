//! Append-only segment store for bulk data: blocks, receipts, whatever is written once and read by
//! key.
//!
//! A [`Littable`] is a store over one or more folders (roots), with one folder a [`Table`] in each.
//! A table is a row of segments, or several (shards); a segment is a file of records; a record is
//! one group: a value, its primary key, and secondary keys on sub-ranges of it. Sealed segments are
//! indexed by immutable runs, which are merged in the background. The formats are in [`mod@format`]
//! and in the modules of runs and of the small files.
//!
//! What holds:
//! - A group is there whole or not at all. With one shard, what survives a power cut is a prefix of
//!   what was written.
//! - A key is written once. The same bytes again are fine, other bytes are [`LittError::Conflict`].
//! - [`Table::flush`] covers every put that returned before it was called, from any thread.
//!   [`Table::drain`] is enough for what only has to survive the process.
//! - A sync that failed is never tried again: the table is read-only until it is opened again. A
//!   full disk is no failure of that kind: reads continue, and puts succeed again when there is
//!   space.
//! - Wrong bytes are an error ([`LittError::Corrupt`]) that names file and offset, never an answer.
//! - Names of files are durable before anything is written to them; floors before anything is
//!   unlinked.
//! - No lock is held around input or output of readers. Locks are taken in the order `merging`,
//!   `sealing`, `writer`, `next`, `state`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cache;
mod codec;
mod ctx;
#[cfg(feature = "failpoints")]
pub mod decoders;
mod doc;
mod drop_behind;
mod error;
#[cfg(feature = "failpoints")]
pub mod failpoints;
#[cfg(not(feature = "failpoints"))]
mod failpoints;
mod flush;
pub mod format;
mod handles;
mod handover;
mod iter;
mod keeper;
mod keymap;
mod keys;
mod lease;
mod manifest;
mod names;
mod options;
mod pages;
mod rebase;
mod recover;
mod retention;
mod run;
mod run_write;
mod scan;
mod scrub;
mod segment;
mod segments;
mod shard;
mod state;
mod store;
mod table;
mod truncate;
mod upkeep;
mod value;
mod write;
mod writer;

pub use error::LittError;
pub use iter::{Direction, Record, TableIter};
pub use options::{
    Compression, Keys, MAX_GROUP_KEYS, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEQUENCE_KEY_BYTES, MAX_SHARDS,
    MAX_VALUE_BYTES, StoreOptions, TableOptions,
};
pub use rebase::RebaseReport;
pub use scrub::ScrubReport;
pub use store::Littable;
pub use table::{Group, Table, TableInfo};
pub use value::Value;
