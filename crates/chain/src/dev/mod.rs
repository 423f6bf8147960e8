//! The development chain: ten funded accounts, every fork to Osaka, a block for every transaction.

mod accounts;
mod fork;
mod genesis;
mod producer;
mod signer;

pub use accounts::{
    DEV_ACCOUNTS, DEV_BALANCE_ETHER, DEV_DERIVATION_PATH, DEV_MNEMONIC, DevAccount, dev_accounts,
};
pub use fork::ForkBlock;
pub use genesis::{DEV_CHAIN_ID, dev_genesis_json};
pub use producer::{DevChain, Mined};
pub use signer::DevSigner;
