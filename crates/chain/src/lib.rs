//! A home's chain: its rules, state and ledger together, and the sources of its blocks.
//!
//! [`Chain`] opens and creates homes, executes, verifies and stores blocks of any branch, and
//! chooses the head. Further parts: block files and recorded blocks ([`import`]),
//! [`Chain::export`] and fees ([`fees`]).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bad_blocks;
mod branch;
mod build;
mod capsules;
mod chain;
mod commit;
mod commit_run;
mod edits;
mod error;
mod export;
pub mod fees;
mod follow;
mod fork;
mod format;
mod home;
pub mod import;
mod insert;
mod natives;
mod network;
mod next_chain_id;
pub mod operate;
mod reader;
mod watch;
mod witness;
mod working;

pub use bad_blocks::{MAX_BAD_BLOCK_BYTES, MAX_BAD_BLOCKS};
pub use branch::{
    BRANCH_BLOCKS_MAX, Branch, Candidate, ExecutedBlock, Finality, FinalityTag, FindExecuted, Mark,
    OverlaidState, Overlay,
};
pub use build::{AllOf, BlockAttributes, Draft, EmptyDraft, TransactionSource, gas_limit_after};
pub use chain::{Chain, ChainOptions, genesis_hash};
pub use commit_run::{Built, BuiltOutput, INDEX_PAGE_HEIGHTS};
pub use edits::{AccountEdit, EDITS_MAX, Edits, OverlayState, StateAt};
pub use error::ChainError;
pub use export::{ExportRange, ExportReport};
pub use follow::{
    FollowAnswer, FollowMeta, FollowSource, FollowedBlock, FollowedRules, FollowedState, FollowedTo,
    GivenBlock, Verified,
};
pub use fork::ForkBlock;
pub use format::home_format;
pub use home::{HOME_FORMAT, HomePaths, RulesFrom};
pub use insert::{Inserted, Prepared};
pub use network::Network;
pub use next_chain_id::NextChainId;
pub use reader::ChainReader;
pub use watch::{AddedBlock, BlockNumHash, ChainWatcher};
