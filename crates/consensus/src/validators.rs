//! Validators of the staking contract and those of CometBFT.

use crate::exception::ConsensusError;
use alloy_primitives::{Address, B256, U256};
use hearth_abci::{
    crypto::{PublicKey, public_key::Sum},
    pb,
};
use hearth_cosmos::genesis::{operator_slot, power_of, record_slot};
use hearth_evm::{STAKING_ADDRESS, VALIDATOR_REQUEST, VALIDATOR_UPDATE_BYTES};
use hearth_primitives::{BlockOutput, StateError, StateReader};

/// The operator of the validator with a consensus address, where the staking contract knows it.
pub(crate) fn operator_of(
    state: &dyn StateReader,
    consensus: Address,
) -> Result<Option<Address>, StateError> {
    let word = state.storage(&STAKING_ADDRESS, &operator_slot(consensus))?;
    Ok((!word.is_zero()).then(|| Address::from_word(B256::from(word))))
}

/// Whether the chain has the staking contract.
pub(crate) fn has_staking(state: &dyn StateReader) -> Result<bool, StateError> {
    Ok(state.account(&STAKING_ADDRESS)?.is_some_and(|account| account.has_code()))
}

/// The power of the validator with a key, as CometBFT has it; 0 for one that is not known.
pub(crate) fn power(state: &dyn StateReader, key: &B256) -> Result<u64, StateError> {
    let consensus = hearth_cosmos::genesis::consensus_address(key);
    let Some(operator) = operator_of(state, consensus)? else { return Ok(0) };
    let word = state.storage(&STAKING_ADDRESS, &record_slot(operator))?;
    Ok(power_of(word))
}

/// Number of the validators that take part.
pub(crate) fn active_count(state: &dyn StateReader) -> Result<U256, StateError> {
    state.storage(&STAKING_ADDRESS, &U256::from(hearth_cosmos::genesis::ACTIVE_SLOT))
}

/// The ed25519 key of a validator of CometBFT.
pub(crate) fn ed25519(update: &pb::ValidatorUpdate) -> Option<B256> {
    match update.pub_key.as_ref()?.sum.as_ref()? {
        Sum::Ed25519(key) => B256::try_from(&key[..]).ok(),
        Sum::Secp256k1(_) => None,
    }
}

/// The validators that a block changed, ascending by their keys.
pub(crate) fn updates(output: &BlockOutput) -> Result<Vec<pb::ValidatorUpdate>, ConsensusError> {
    let requests = output.requests.iter().flat_map(|all| all.iter());
    let of_kind = requests.filter_map(|request| request.strip_prefix(&[VALIDATOR_REQUEST]));
    let mut updates = Vec::new();
    for entry in of_kind.flat_map(|all| all.chunks(VALIDATOR_UPDATE_BYTES)) {
        let (Some((&[_], rest)), true) = (entry.split_first_chunk(), entry.len() == VALIDATOR_UPDATE_BYTES)
        else {
            continue;
        };
        let (key, power) = rest.split_at(32);
        let power = power.iter().fold(0u64, |sum, byte| (sum << 8) | u64::from(*byte));
        let power = i64::try_from(power).map_err(|_| ConsensusError::Power { power })?;
        let sum = Some(Sum::Ed25519(key.to_vec()));
        updates.push((key.to_vec(), pb::ValidatorUpdate { pub_key: Some(PublicKey { sum }), power }));
    }
    updates.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(updates.into_iter().map(|(_, update)| update).collect())
}
