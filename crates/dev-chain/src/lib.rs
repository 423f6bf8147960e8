//! The development chain: funded accounts, blocks on demand, and operations between blocks.
//!
//! Must not be in here: JSON-RPC, settings, stores beside those of the chain.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod accounts;
mod blobs;
mod clock;
mod control;
mod empty_run;
mod genesis;
mod impersonation;
mod interval;
mod next_block;
mod options;
mod producer;
mod signer;
mod snapshots;

pub use accounts::{
    AccountsError, DEV_ACCOUNTS, DEV_ACCOUNTS_MAX, DEV_BALANCE_ETHER, DEV_DERIVATION_PATH, DEV_MNEMONIC,
    DevAccount, dev_accounts, dev_accounts_of,
};
pub use blobs::{MINED_BLOBS_BYTES_MAX, MinedBlobs};
pub use clock::{Clock, TIME_MAX, TimeError};
pub use control::{BranchTransaction, ControlError};
pub use genesis::{DEV_CHAIN_ID, dev_genesis, dev_genesis_json};
pub use impersonation::{IMPERSONATED_MAX, Impersonation, placeholder_account, placeholder_signature};
pub use interval::IntervalMiner;
pub use next_block::NextBlock;
pub use options::{DevFork, GenesisOptions, MiningOptions};
pub use producer::{BLOCKS_MAX, DevChain, Mined, Mining, Steps, Submitted};
pub use signer::DevSigner;
pub use snapshots::SNAPSHOTS_MAX;
