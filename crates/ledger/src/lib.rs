//! Blocks and receipts of every branch, and the canonical chain's indexes.
//!
//! Blocks, receipts, trace capsules, and the native transactions of blocks are in four littable
//! tables, keyed by `number ‖ hash` with the hash as a secondary key; a reorganisation never
//! deletes them. Index rows, which are committed with the state and reverted by its unwind, record
//! which of them are canonical ([`index`]).
//!
//! [`posting_index`] records which blocks may have a log, or a call from or to an account.
//!
//! Opening takes two steps, because the state store determines how much of the tables is kept:
//! [`Ledger::open`] returns the tables, which the state store gets as its joined tables; with the
//! opened store, [`Ledger::new`] returns the ledger.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod append_run;
mod cache;
mod capsule_rows;
mod capsules;
mod error;
mod found_logs;
pub mod index;
mod ledger;
mod natives;
mod options;
pub mod posting_index;
mod receipts;
mod tables;

pub use append_run::RunBlock;
pub use capsule_rows::MAX_CAPSULE_BYTES;
pub use error::LedgerError;
pub use found_logs::{FoundLog, FoundLogs};
pub use ledger::{Ledger, StoredBlock, StoredReceipts, StoredRows};
pub use natives::{StoredNative, StoredSidecar};
pub use options::{LedgerOptions, LedgerSettings};
pub use tables::LedgerTables;
