//! Append-only segment store for bulk data: blocks, receipts, whatever is written once and read by key.
//!
//! The calls of a store:
//!
//! ```ignore
//! impl Littable {
//!     /// Opens or makes the store; takes its locks; background threads start here.
//!     pub fn open(options: StoreOptions) -> Result<Littable, LittError>;
//!     /// Beside a writer; sees what had reached the operating system when a table was opened or refreshed.
//!     pub fn open_read_only(options: StoreOptions) -> Result<Littable, LittError>;
//!     /// Opens or makes a table. Torn tails are cut off.
//!     pub fn table(&self, options: TableOptions) -> Result<Arc<Table>, LittError>;
//!     pub fn table_names(&self) -> Result<Vec<String>, LittError>;
//!     pub fn drop_table(&self, name: &str) -> Result<(), LittError>;
//!     pub fn flush(&self) -> Result<(), LittError>;
//! }   // Drop: flushes, ends the threads, releases the locks
//!
//! pub struct Group<'a> {
//!     pub key: &'a [u8],
//!     pub value: &'a [u8],
//!     pub secondary: &'a [(&'a [u8], Range<u32>)],
//!     pub number: Option<u64>,
//! }   // Group::new(key, value)
//!
//! impl Table {
//!     pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), LittError>;
//!     pub fn put_group(&self, group: &Group<'_>) -> Result<(), LittError>;
//!     pub fn put_batch(&self, groups: &[Group<'_>]) -> Result<(), LittError>;
//!     pub fn get(&self, key: &[u8]) -> Result<Option<Value>, LittError>;          // Value: Deref<Target = [u8]>
//!     pub fn get_range(&self, key: &[u8], range: Range<u32>) -> Result<Option<Value>, LittError>;
//!     pub fn get_numbered(&self, key: &[u8], number: u64) -> Result<Option<Value>, LittError>; // Pruned at once
//!     pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Value>, LittError>>;
//!     pub fn exists(&self, key: &[u8]) -> Result<bool, LittError>;
//!     pub fn flush(&self) -> Result<(), LittError>;       // durable: survives a power cut
//!     pub fn drain(&self) -> Result<(), LittError>;       // handed to the operating system: survives kill -9
//!     pub fn len(&self) -> u64;                           // keys, primary and secondary
//!     pub fn size(&self) -> u64;                          // bytes of files
//!     pub fn iter(&self, direction: Direction) -> Result<TableIter, LittError>;
//!     pub fn iter_from(&self, key: &[u8], direction: Direction) -> Result<Option<TableIter>, LittError>;
//!     pub fn floor(&self) -> u64;
//!     pub fn set_floor(&self, floor: u64) -> Result<(), LittError>;   // synced when it returns
//!     pub fn set_ttl(&self, ttl: Option<Duration>);
//!     pub fn collect(&self) -> Result<u32, LittError>;    // one pass of collection; segments removed
//!     pub fn seal(&self) -> Result<(), LittError>;        // seals the open segment if it holds anything
//!     pub fn settle(&self) -> Result<(), LittError>;      // does what background work is left, merges included
//!     pub fn position(&self) -> Result<u64, LittError>;   // shards = 1 only
//!     pub fn verify(&self, position: u64) -> Result<bool, LittError>;
//!     pub fn cut(&self, position: u64) -> Result<(), LittError>;
//!     pub fn scrub(&self) -> Result<ScrubReport, LittError>;
//!     pub fn info(&self) -> TableInfo;
//!     pub fn refresh(&self) -> Result<(), LittError>;     // read-only stores: look again
//! }
//! // TableIter: Iterator<Item = Result<Record, LittError>>; Record { key, value, secondary, number }
//! ```
//!
//! Until the swap, [`old`] is what the ledger stands on.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
pub mod old;
mod options;

pub use error::LittError;
pub use options::{
    Compression, Keys, MAX_GROUP_KEYS, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, MAX_SEQUENCE_KEY_BYTES, MAX_SHARDS,
    MAX_VALUE_BYTES, StoreOptions, TableOptions,
};
