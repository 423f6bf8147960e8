//! Settings of the development chain.

use crate::NodeError;
use alloy_primitives::U256;
use hearth_dev_chain::{
    DEV_ACCOUNTS, DEV_ACCOUNTS_MAX, DEV_MNEMONIC, DevAccount, DevFork, GenesisOptions, MiningOptions,
    TIME_MAX, dev_accounts_of,
};
use hearth_pool::Order;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// In which order waiting transactions are taken into a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MiningOrder {
    /// The best tip first.
    #[default]
    Fees,
    /// In the order in which they came.
    Fifo,
}

/// Settings of the development chain. What is absent is as [`GenesisOptions`] has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DevConfig {
    /// Gas limit of every block.
    pub gas_limit: u64,
    /// Id of a new chain; a home that has a chain must have one of this id.
    #[serde(default)]
    pub chain_id: Option<u64>,
    /// The newest fork, in force from block 0 on.
    #[serde(default)]
    pub hardfork: Option<String>,
    /// Base fee of block 0, in wei.
    #[serde(default)]
    pub base_fee_wei: Option<u64>,
    /// Time of block 0, in seconds, at which the chain's clock starts; absent for the machine's
    /// time.
    #[serde(default)]
    pub timestamp: Option<u64>,
    /// How many accounts are funded and sign.
    #[serde(default)]
    pub accounts: Option<usize>,
    /// The phrase that they come from.
    #[serde(default)]
    pub mnemonic: Option<String>,
    /// Balance of each account in wei, decimal or `0x`.
    #[serde(default)]
    pub balance_wei: Option<String>,
    /// Milliseconds between two blocks; there is a block for each transaction instead where absent.
    #[serde(default)]
    pub block_time_ms: Option<u64>,
    /// Both.
    #[serde(default)]
    pub mixed_mining: bool,
    /// Neither.
    #[serde(default)]
    pub no_mining: bool,
    /// In which order waiting transactions are taken.
    #[serde(default)]
    pub order: Option<MiningOrder>,
    /// Whether everyone may send from any account.
    #[serde(default)]
    pub auto_impersonate: bool,
    /// Bytes of the largest contract on a new chain; EIP-170's limit where absent.
    #[serde(default)]
    pub code_size_limit: Option<u64>,
    /// Whether a transaction that reverts is answered with an error when it is sent. Absent: from
    /// the first `hardhat_metadata` on.
    #[serde(default)]
    pub throw_on_revert: Option<bool>,
}

fn wrong(field: &str, reason: impl std::fmt::Display) -> NodeError {
    NodeError::Config { reason: format!("dev.{field}: {reason}") }
}

fn machine_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl DevConfig {
    /// Refuses values that no chain can begin with.
    pub fn check(&self) -> Result<(), NodeError> {
        if self.gas_limit == 0 {
            return Err(wrong("gasLimit", "must be at least 1"));
        }
        if self.block_time_ms == Some(0) {
            return Err(wrong("blockTimeMs", "must be at least 1"));
        }
        if self.no_mining && (self.block_time_ms.is_some() || self.mixed_mining) {
            return Err(wrong("noMining", "goes with neither blockTimeMs nor mixedMining"));
        }
        if self.timestamp.is_some_and(|time| time > TIME_MAX) {
            return Err(wrong("timestamp", format!("must be at most {TIME_MAX}")));
        }
        if self.accounts.is_some_and(|count| count > DEV_ACCOUNTS_MAX) {
            return Err(wrong("accounts", format!("must be at most {DEV_ACCOUNTS_MAX}")));
        }
        self.genesis().map(drop)
    }

    /// What a new chain begins with.
    ///
    /// # Errors
    /// [`NodeError::Config`] with the field that is wrong.
    pub fn genesis(&self) -> Result<GenesisOptions, NodeError> {
        let defaults = GenesisOptions::default();
        let hardfork = self.hardfork.as_deref().map(|name| {
            let names = || DevFork::names().collect::<Vec<_>>().join(", ");
            DevFork::from_name(name)
                .ok_or_else(|| wrong("hardfork", format!("{name:?} is none of {}", names())))
        });
        let balance = self.balance_wei.as_deref().map(|text| {
            text.parse::<U256>().map_err(|error| wrong("balanceWei", format!("{text:?}: {error}")))
        });
        Ok(GenesisOptions {
            chain_id: self.chain_id.unwrap_or(defaults.chain_id),
            hardfork: hardfork.transpose()?.unwrap_or(defaults.hardfork),
            gas_limit: self.gas_limit,
            base_fee_wei: self.base_fee_wei.unwrap_or(defaults.base_fee_wei),
            timestamp: self.timestamp.unwrap_or_else(machine_time),
            mnemonic: self.phrase().to_owned(),
            accounts: self.accounts.unwrap_or(DEV_ACCOUNTS),
            balance_wei: balance.transpose()?.unwrap_or(defaults.balance_wei),
            code_size_limit: self.code_size_limit,
        })
    }

    /// How blocks are made.
    pub fn mining(&self) -> MiningOptions {
        let seconds = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        MiningOptions {
            automine: !self.no_mining && (self.block_time_ms.is_none() || self.mixed_mining),
            interval: self.block_time_ms.map(Duration::from_millis),
            order: match self.order.unwrap_or_default() {
                MiningOrder::Fees => Order::Fees,
                MiningOrder::Fifo => Order::Fifo,
            },
            clock_offset: self.clock_offset().map_or(0, |time| seconds(time) - seconds(machine_time())),
            gas_limit: None,
            auto_impersonate: self.auto_impersonate,
            throw_on_revert: self.throw_on_revert,
        }
    }

    /// Where the clock begins.
    fn clock_offset(&self) -> Option<u64> {
        self.timestamp
    }

    /// The accounts that sign.
    ///
    /// # Errors
    /// [`NodeError::Config`].
    pub fn signers(&self) -> Result<Vec<DevAccount>, NodeError> {
        dev_accounts_of(self.phrase(), self.accounts.unwrap_or(DEV_ACCOUNTS))
            .map_err(|error| wrong("mnemonic", error))
    }

    fn phrase(&self) -> &str {
        self.mnemonic.as_deref().unwrap_or(DEV_MNEMONIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut DevConfig)) -> String {
        let mut config = DevConfig { gas_limit: 30_000_000, ..DevConfig::default() };
        change(&mut config);
        let checked = config.check().and_then(|()| config.signers());
        checked.expect_err("refused").to_string()
    }

    #[test]
    fn what_no_chain_can_begin_with_is_refused_by_its_name() {
        assert!(refusal(|dev| dev.gas_limit = 0).contains("dev.gasLimit"));
        assert!(refusal(|dev| dev.block_time_ms = Some(0)).contains("dev.blockTimeMs"));
        assert!(
            refusal(|dev| dev.hardfork = Some("serenity".into())).contains("homestead, tangerineWhistle")
        );
        assert!(refusal(|dev| dev.mnemonic = Some("a b".into())).contains("dev.mnemonic"));
        assert!(refusal(|dev| dev.accounts = Some(usize::MAX)).contains("dev.accounts"));
        assert!(refusal(|dev| dev.balance_wei = Some("ten".into())).contains("dev.balanceWei"));
        let both = |dev: &mut DevConfig| (dev.no_mining, dev.block_time_ms) = (true, Some(5));
        assert!(refusal(both).contains("dev.noMining"));
    }

    #[test]
    fn blocks_come_for_transactions_at_an_interval_both_or_neither() {
        let base = DevConfig { gas_limit: 1, ..DevConfig::default() };
        let of = |config: DevConfig| {
            let mining = config.mining();
            (mining.automine, mining.interval.map(|every| every.as_millis()))
        };
        assert_eq!(of(base.clone()), (true, None));
        assert_eq!(of(DevConfig { block_time_ms: Some(500), ..base.clone() }), (false, Some(500)));
        let mixed = DevConfig { block_time_ms: Some(500), mixed_mining: true, ..base.clone() };
        assert_eq!(of(mixed), (true, Some(500)));
        assert_eq!(of(DevConfig { no_mining: true, ..base }), (false, None));
    }
}
