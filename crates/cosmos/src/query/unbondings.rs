//! Delegations that are on their way back to their delegators. Each unbonding is an entry of its
//! own here.

use super::{QueryError, View, delegations::delegator, page::page, validators::operator, view::staking};
use crate::{
    bech32,
    proto::{
        AddressPage, Timestamp, TwoTexts, UnbondingDelegation, UnbondingEntry, UnbondingResponse,
        UnbondingsResponse,
    },
    staking::Staking,
};
use alloy_primitives::{Address, U256};

/// Most unbondings of one delegator that a query looks at.
const UNBONDINGS_MAX: u64 = 1000;

fn entry(unbonding: &Staking::Unbonding) -> UnbondingEntry {
    let seconds = i64::try_from(unbonding.completion).unwrap_or(i64::MAX);
    UnbondingEntry {
        creation_height: i64::try_from(unbonding.height).unwrap_or(i64::MAX),
        completion_time: Some(Timestamp { seconds, nanos: 0 }),
        initial_balance: unbonding.initial.to_string(),
        balance: unbonding.amount.to_string(),
        unbonding_id: u64::try_from(unbonding.id).unwrap_or(u64::MAX),
        unbonding_on_hold_ref_count: 0,
    }
}

fn shown(delegator: &Address, operator: &Address, entries: Vec<UnbondingEntry>) -> UnbondingDelegation {
    UnbondingDelegation {
        delegator_address: bech32::account(delegator),
        validator_address: bech32::operator(operator),
        entries,
    }
}

/// Unbondings that follow each other and are between the same two are one delegation with several
/// entries.
fn grouped(found: &[Staking::Unbonding]) -> Vec<UnbondingDelegation> {
    let pairs = found.chunk_by(|a, b| a.delegator == b.delegator && a.operator == b.operator);
    let one = |pair: &[Staking::Unbonding]| {
        let first = pair.first()?;
        Some(shown(&first.delegator, &first.operator, pair.iter().map(entry).collect()))
    };
    pairs.filter_map(one).collect()
}

fn of(view: &dyn View, delegator: Address, from: u64, n: u64) -> Result<Vec<Staking::Unbonding>, QueryError> {
    let (from, n) = (U256::from(from), U256::from(n));
    Ok(staking(view, &Staking::unbondingsOfCall { delegator, from, n })?.list)
}

pub(super) fn one(view: &dyn View, request: TwoTexts) -> Result<UnbondingResponse, QueryError> {
    let (delegator, operator) = (delegator(&request.first)?, operator(&request.second)?);
    let all = of(view, delegator, 0, UNBONDINGS_MAX)?;
    let entries: Vec<_> = all.iter().filter(|it| it.operator == operator).map(entry).collect();
    if entries.is_empty() {
        let (delegator, operator) = (&request.first, &request.second);
        let text =
            format!("unbonding delegation with delegator {delegator} not found for validator {operator}");
        return Err(QueryError::not_found(text));
    }
    Ok(UnbondingResponse { unbond: Some(shown(&delegator, &operator, entries)) })
}

pub(super) fn of_delegator(view: &dyn View, request: AddressPage) -> Result<UnbondingsResponse, QueryError> {
    let delegator = delegator(&request.address)?;
    let read = |from, n| of(view, delegator, from, n);
    let (found, pagination) = page(request.pagination.as_ref(), read, |_| true)?;
    Ok(UnbondingsResponse { unbonding_responses: grouped(&found), pagination: Some(pagination) })
}

pub(super) fn from_validator(
    view: &dyn View,
    request: AddressPage,
) -> Result<UnbondingsResponse, QueryError> {
    let operator = operator(&request.address)?;
    let read = |from, n| {
        let (from, n) = (U256::from(from), U256::from(n));
        Ok(staking(view, &Staking::unbondingsFromCall { operator, from, n })?.list)
    };
    let (found, pagination) = page(request.pagination.as_ref(), read, |_| true)?;
    Ok(UnbondingsResponse { unbonding_responses: grouped(&found), pagination: Some(pagination) })
}
