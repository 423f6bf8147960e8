//! What is staked, and the rules.

use super::{QueryError, View, view::staking};
use crate::{
    message::DENOM,
    proto::{Duration, Nothing, Pool, PoolResponse, StakingParams, StakingParamsResponse},
    staking::Staking,
};

pub(super) fn pool(view: &dyn View, _: Nothing) -> Result<PoolResponse, QueryError> {
    let found = staking(view, &Staking::poolCall {})?;
    Ok(PoolResponse {
        pool: Some(Pool {
            not_bonded_tokens: found.notBonded.to_string(),
            bonded_tokens: found.bonded.to_string(),
        }),
    })
}

pub(super) fn params(view: &dyn View, _: Nothing) -> Result<StakingParamsResponse, QueryError> {
    let unbonding = staking(view, &Staking::unbondingTimeCall {})?;
    let most = staking(view, &Staking::maxValidatorsCall {})?;
    let entries = staking(view, &Staking::maxEntriesCall {})?;
    let seconds = i64::try_from(unbonding).unwrap_or(i64::MAX);
    Ok(StakingParamsResponse {
        params: Some(StakingParams {
            unbonding_time: Some(Duration { seconds, nanos: 0 }),
            max_validators: u32::try_from(most).unwrap_or(u32::MAX),
            max_entries: u32::try_from(entries).unwrap_or(u32::MAX),
            // No old validator sets are kept here: CometBFT has those.
            historical_entries: 0,
            bond_denom: DENOM.to_owned(),
            min_commission_rate: "0".to_owned(),
        }),
    })
}
