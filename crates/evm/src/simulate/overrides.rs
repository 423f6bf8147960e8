//! Overrides of state and block environment for one call.

use super::CallError;
use crate::{
    env::BlockEnvironment,
    overlay::{BlockState, StorageOverride},
    precompiles::Precompiles,
    spec::{ChainSpec, Fork},
};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What one account is to hold during a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AccountOverride {
    /// Nonce.
    pub nonce: Option<U64>,
    /// Code.
    pub code: Option<Bytes>,
    /// Balance in wei.
    pub balance: Option<U256>,
    /// Storage in place of all that is there.
    pub state: Option<BTreeMap<B256, B256>>,
    /// Slots that replace single slots of the account's storage.
    pub state_diff: Option<BTreeMap<B256, B256>>,
    /// Where the precompiled contract of this address is to answer.
    pub move_precompile_to_address: Option<Address>,
}

/// Overrides by account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateOverrides(pub BTreeMap<Address, AccountOverride>);

/// What state overrides mean for precompiled contracts. It depends on the method in go-ethereum
/// (internal/ethapi/api.go: doCall, DoEstimateGas, AccessList).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrecompileOverrides {
    /// An overridden one no longer answers at its address, and a moved one answers elsewhere.
    InForce,
    /// The same is checked, but all answer at their own addresses while the message runs.
    Checked,
    /// They are accounts like others, which cannot be moved.
    Unknown,
}

impl StateOverrides {
    pub(crate) fn apply(
        &self,
        state: &mut BlockState<'_>,
        precompiles: &mut Precompiles,
    ) -> Result<(), CallError> {
        let mut targets = BTreeSet::new();
        for (address, account) in &self.0 {
            if targets.contains(address) {
                return Err(CallError::OverriddenByPrecompile(*address));
            }
            let precompile = precompiles.answers_at(address);
            if let Some(target) = account.move_precompile_to_address {
                if !precompile {
                    return Err(CallError::NotPrecompile(*address));
                }
                if self.0.contains_key(&target) {
                    return Err(CallError::AlreadyOverridden(target));
                }
                precompiles.copy_to(*address, target);
                targets.insert(target);
            }
            if precompile {
                precompiles.remove(*address);
            }
            account.apply(*address, state)?;
        }
        Ok(())
    }
}

impl AccountOverride {
    fn apply(&self, address: Address, state: &mut BlockState<'_>) -> Result<(), CallError> {
        let slots = |map: &BTreeMap<B256, B256>| {
            map.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
        };
        let storage = match (&self.state, &self.state_diff) {
            (Some(_), Some(_)) => return Err(CallError::StateAndDiff(address)),
            (Some(all), None) => Some(StorageOverride::Replace(slots(all))),
            (None, Some(some)) => Some(StorageOverride::Change(slots(some))),
            (None, None) => None,
        };
        let nonce = self.nonce.map(|nonce| nonce.to::<u64>());
        if nonce.is_some() || self.balance.is_some() || self.code.is_some() || storage.is_some() {
            state.override_account(address, nonce, self.balance, self.code.clone(), storage)?;
        }
        Ok(())
    }
}

/// What the block environment is to say during a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BlockOverrides {
    /// Number.
    pub number: Option<U256>,
    /// Difficulty; without effect after the merge.
    pub difficulty: Option<U256>,
    /// Time in seconds.
    pub time: Option<U64>,
    /// Gas limit.
    pub gas_limit: Option<U64>,
    /// Who gets the fees.
    pub fee_recipient: Option<Address>,
    /// `PREVRANDAO`.
    pub prev_randao: Option<B256>,
    /// Base fee in wei.
    pub base_fee_per_gas: Option<U256>,
    /// Blob base fee in wei.
    pub blob_base_fee: Option<U256>,
    /// Root of the parent beacon block (EIP-4788); of whole blocks alone.
    pub beacon_root: Option<B256>,
    /// Withdrawals (EIP-4895); of whole blocks alone.
    pub withdrawals: Option<Vec<Withdrawal>>,
}

impl BlockOverrides {
    /// Applies the overrides to an environment. Number and time then determine the rules in force.
    ///
    /// # Errors
    /// [`CallError::BlockOverride`] for fields that need a whole block,
    /// [`CallError::BlockOverrideRange`].
    pub fn apply(&self, spec: &ChainSpec, env: &mut BlockEnvironment) -> Result<(), CallError> {
        if self.beacon_root.is_some() {
            return Err(CallError::BlockOverride("beaconRoot"));
        }
        if self.withdrawals.is_some() {
            return Err(CallError::BlockOverride("withdrawals"));
        }
        if let Some(number) = self.number {
            env.number = narrow("number", number)?;
        }
        if let Some(difficulty) = self.difficulty {
            env.difficulty = difficulty;
        }
        if let Some(time) = self.time {
            env.timestamp = time.to::<u64>();
        }
        if let Some(limit) = self.gas_limit {
            env.gas_limit = limit.to::<u64>();
        }
        if let Some(recipient) = self.fee_recipient {
            env.beneficiary = recipient;
        }
        if let Some(random) = self.prev_randao {
            env.prev_randao = Some(random);
        }
        if let Some(fee) = self.base_fee()? {
            env.base_fee = Some(fee);
        }
        if let Some(fee) = self.blob_fee()? {
            env.blob_base_fee = Some(u128::from(fee));
        }
        env.fork = spec.fork_with_merge(env.number, env.timestamp, env.prev_randao.is_some());
        if let Some(params) = spec.blob_params(env.timestamp).filter(|_| env.fork >= Fork::Cancun) {
            env.blob_base_fee.get_or_insert(params.blob_base_fee(env.excess_blob_gas.unwrap_or(0)));
        }
        Ok(())
    }
    /// The base fee in wei.
    pub(super) fn base_fee(&self) -> Result<Option<u64>, CallError> {
        self.base_fee_per_gas.map(|fee| narrow("baseFeePerGas", fee)).transpose()
    }

    /// The blob base fee in wei.
    pub(super) fn blob_fee(&self) -> Result<Option<u64>, CallError> {
        self.blob_base_fee.map(|fee| narrow("blobBaseFee", fee)).transpose()
    }
}

fn narrow(field: &'static str, value: U256) -> Result<u64, CallError> {
    u64::try_from(value).map_err(|_| CallError::BlockOverrideRange { field, value })
}
