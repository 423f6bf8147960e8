//! Work that operators start: making, importing, exporting, checking and repairing a home, baking
//! ranges, replaying recorded blocks, and requests that other processes leave in the home of a
//! running node.
//!
//! Nothing in here depends on the command line or the environment.

mod bake_job;
pub mod db;
mod inbox;
pub mod jobs;
mod replay;
mod sink;

pub use bake_job::BakeJob;
pub use inbox::{Inbox, InboxCommand, open_with_snapshot};
pub use replay::Replay;
