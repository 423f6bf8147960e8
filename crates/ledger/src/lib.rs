//! Blocks and receipts of every branch, and the canonical chain's indexes.
//!
//! Blocks, receipts, trace capsules and what blocks execute beside their transactions lie in four
//! littable tables, keyed by `number ‖ hash` with the hash as a secondary
//! key; they are never deleted by a reorganisation. Which of them are canonical is said by index
//! rows that are committed
//! with the state and reverted by its unwind ([`index`]).
//!
//! [`posting_index`] says which blocks may hold a log, or a call from or to an account.
//!
//! Opening goes in two steps, because the state store decides how much of the tables is kept:
//! [`Ledger::open`] gives the tables, which are handed to the state store as its joined tables;
//! with the opened
//! store, [`Ledger::new`] gives the ledger.

#![cfg_attr(test, allow(clippy::unwrap_used))]

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

pub use capsule_rows::MAX_CAPSULE_BYTES;
pub use error::LedgerError;
pub use found_logs::{FoundLog, FoundLogs};
pub use ledger::{Ledger, StoredBlock, StoredReceipts, StoredRows};
pub use natives::{StoredNative, StoredOutside};
pub use options::LedgerOptions;
pub use tables::LedgerTables;
