//! The initial options of a development chain, and how it makes blocks until a request changes
//! that.

use super::{
    accounts::{DEV_ACCOUNTS, DEV_MNEMONIC},
    genesis::DEV_CHAIN_ID,
    producer::Mining,
};
use alloy_primitives::U256;
use hearth_pool::Order;
use std::time::Duration;

/// Wei in an ether.
const WEI_PER_ETHER: u64 = 1_000_000_000_000_000_000;

/// What the genesis of a development chain is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisOptions {
    /// The chain's id.
    pub chain_id: u64,
    /// The newest fork, in force from block 0 on.
    pub hardfork: DevFork,
    /// Gas limit of every block.
    pub gas_limit: u64,
    /// Base fee of block 0, in wei.
    pub base_fee_wei: u64,
    /// Time of block 0, in seconds.
    pub timestamp: u64,
    /// The phrase whose accounts are funded.
    pub mnemonic: String,
    /// How many are.
    pub accounts: usize,
    /// What each of them has, in wei.
    pub balance_wei: U256,
    /// Bytes of the largest contract in place of EIP-170's limit.
    pub code_size_limit: Option<u64>,
}

impl Default for GenesisOptions {
    fn default() -> Self {
        Self {
            chain_id: DEV_CHAIN_ID,
            hardfork: DevFork::Osaka,
            gas_limit: 30_000_000,
            base_fee_wei: 1_000_000_000,
            timestamp: 0,
            mnemonic: DEV_MNEMONIC.to_owned(),
            accounts: DEV_ACCOUNTS,
            balance_wei: U256::from(super::DEV_BALANCE_ETHER) * U256::from(WEI_PER_ETHER),
            code_size_limit: None,
        }
    }
}

/// When a development chain makes blocks by itself, and of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MiningOptions {
    /// A block for every transaction that can be executed, as soon as it comes.
    pub automine: bool,
    /// A block this often, empty or not.
    pub interval: Option<Duration>,
    /// Which of the waiting transactions comes first.
    pub order: Order,
    /// Seconds by which the chain's clock goes before the machine's.
    pub clock_offset: i64,
    /// Gas limit of the blocks; that of the parent where absent.
    pub gas_limit: Option<u64>,
    /// Whether everyone may send from any account.
    pub auto_impersonate: bool,
    /// Whether sending a transaction that reverts is an error; if absent, once Hardhat has
    /// identified the node.
    pub throw_on_revert: Option<bool>,
}

impl MiningOptions {
    /// When blocks are made. Blocks at an interval disable automine until they end; without either,
    /// automine stays off.
    pub fn mining(&self) -> Mining {
        let Self { automine, interval, .. } = *self;
        Mining { automine, interval, paused: !automine && interval.is_some() }
    }
}

/// The forks that a development chain can have from block 0 on, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DevFork {
    /// Homestead.
    Homestead,
    /// EIP-150.
    TangerineWhistle,
    /// EIP-155 and EIP-158.
    SpuriousDragon,
    /// Byzantium.
    Byzantium,
    /// Constantinople.
    Constantinople,
    /// Petersburg.
    Petersburg,
    /// Istanbul.
    Istanbul,
    /// Berlin.
    Berlin,
    /// London.
    London,
    /// The merge.
    Paris,
    /// Shanghai.
    Shanghai,
    /// Cancun.
    Cancun,
    /// Prague.
    Prague,
    /// Osaka.
    Osaka,
}

/// Each fork with its name and the fields of a genesis file's `config` that switch it on.
const FORKS: [(DevFork, &str, &[&str]); 14] = [
    (DevFork::Homestead, "homestead", &["homesteadBlock"]),
    (DevFork::TangerineWhistle, "tangerineWhistle", &["eip150Block"]),
    (DevFork::SpuriousDragon, "spuriousDragon", &["eip155Block", "eip158Block"]),
    (DevFork::Byzantium, "byzantium", &["byzantiumBlock"]),
    (DevFork::Constantinople, "constantinople", &["constantinopleBlock"]),
    (DevFork::Petersburg, "petersburg", &["petersburgBlock"]),
    (DevFork::Istanbul, "istanbul", &["istanbulBlock", "muirGlacierBlock"]),
    (DevFork::Berlin, "berlin", &["berlinBlock"]),
    (DevFork::London, "london", &["londonBlock", "arrowGlacierBlock", "grayGlacierBlock"]),
    (DevFork::Paris, "paris", &["mergeNetsplitBlock", "terminalTotalDifficulty"]),
    (DevFork::Shanghai, "shanghai", &["shanghaiTime"]),
    (DevFork::Cancun, "cancun", &["cancunTime"]),
    (DevFork::Prague, "prague", &["pragueTime"]),
    (DevFork::Osaka, "osaka", &["osakaTime"]),
];

impl DevFork {
    /// The fork of a name, in any case; `merge` is `paris`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("merge") { "paris" } else { name };
        FORKS.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(fork, ..)| *fork)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FORKS[self as usize].1
    }

    /// The names of all, oldest first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORKS.iter().map(|(_, name, _)| *name)
    }

    /// The fields of a genesis file's `config` that switch this one on and all before it.
    pub(super) fn config_fields(self) -> impl Iterator<Item = &'static str> {
        let until = FORKS.iter().take_while(move |(fork, ..)| *fork <= self);
        until.flat_map(|(_, _, fields)| fields.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_have_names_and_switch_on_what_came_before_them() {
        for (fork, name, _) in FORKS {
            assert_eq!((fork.name(), DevFork::from_name(name)), (name, Some(fork)));
        }
        assert_eq!(DevFork::from_name("MERGE"), Some(DevFork::Paris));
        assert_eq!(DevFork::from_name("serenity"), None);
        let berlin: Vec<_> = DevFork::SpuriousDragon.config_fields().collect();
        assert_eq!(berlin, ["homesteadBlock", "eip150Block", "eip155Block", "eip158Block"]);
    }
}
