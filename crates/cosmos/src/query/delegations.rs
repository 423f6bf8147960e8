//! Delegations: of a validator, of a delegator, one, and the validators of a delegator.

use super::{
    QueryError, View,
    page::page,
    validators::{find, operator, shares, shown as shown_validator},
    view::staking,
};
use crate::{
    bech32,
    message::DENOM,
    proto::{
        AddressPage, Coin, Delegation, DelegationResponse, DelegationsResponse, QueryDelegationResponse,
        TwoTexts, ValidatorResponse, ValidatorsResponse,
    },
    staking::Staking,
};
use alloy_primitives::{Address, U256};

/// The delegator that a request names.
pub(super) fn delegator(text: &str) -> Result<Address, QueryError> {
    if text.is_empty() {
        return Err(QueryError::invalid("delegator address cannot be empty"));
    }
    Ok(bech32::decode(bech32::ACCOUNT, text)?)
}

fn shown(delegation: &Staking::Delegation) -> DelegationResponse {
    DelegationResponse {
        delegation: Some(Delegation {
            delegator_address: bech32::account(&delegation.delegator),
            validator_address: bech32::operator(&delegation.operator),
            shares: shares(&delegation.shares),
        }),
        balance: Some(Coin { denom: DENOM.to_owned(), amount: delegation.tokens.to_string() }),
    }
}

pub(super) fn to_validator(view: &dyn View, request: AddressPage) -> Result<DelegationsResponse, QueryError> {
    let operator = operator(&request.address)?;
    find(view, operator)?;
    let read = |from, n| {
        let (from, n) = (U256::from(from), U256::from(n));
        Ok(staking(view, &Staking::delegationsToCall { operator, from, n })?.list)
    };
    let (found, pagination) = page(request.pagination.as_ref(), read, |_| true)?;
    let delegation_responses = found.iter().map(shown).collect();
    Ok(DelegationsResponse { delegation_responses, pagination: Some(pagination) })
}

/// Delegations of an account, from a place on.
fn of(
    view: &dyn View,
    delegator: Address,
    from: u64,
    n: u64,
) -> Result<Vec<Staking::Delegation>, QueryError> {
    let (from, n) = (U256::from(from), U256::from(n));
    Ok(staking(view, &Staking::delegationsOfCall { delegator, from, n })?.list)
}

pub(super) fn of_delegator(view: &dyn View, request: AddressPage) -> Result<DelegationsResponse, QueryError> {
    let delegator = delegator(&request.address)?;
    let read = |from, n| of(view, delegator, from, n);
    let (found, pagination) = page(request.pagination.as_ref(), read, |_| true)?;
    let delegation_responses = found.iter().map(shown).collect();
    Ok(DelegationsResponse { delegation_responses, pagination: Some(pagination) })
}

fn between(view: &dyn View, request: &TwoTexts) -> Result<Staking::Delegation, QueryError> {
    let (delegator, operator) = (delegator(&request.first)?, operator(&request.second)?);
    let found = staking(view, &Staking::delegationCall { delegator, operator })?;
    if found.shares.is_zero() {
        let (delegator, operator) = (&request.first, &request.second);
        let text = format!("delegation with delegator {delegator} not found for validator {operator}");
        return Err(QueryError::not_found(text));
    }
    Ok(found)
}

pub(super) fn one(view: &dyn View, request: TwoTexts) -> Result<QueryDelegationResponse, QueryError> {
    Ok(QueryDelegationResponse { delegation_response: Some(shown(&between(view, &request)?)) })
}

pub(super) fn validators(view: &dyn View, request: AddressPage) -> Result<ValidatorsResponse, QueryError> {
    let delegator = delegator(&request.address)?;
    let read = |from, n| of(view, delegator, from, n);
    let (found, pagination) = page(request.pagination.as_ref(), read, |_| true)?;
    let one = |delegation: &Staking::Delegation| Ok(shown_validator(&find(view, delegation.operator)?));
    let validators = found.iter().map(one).collect::<Result<_, QueryError>>()?;
    Ok(ValidatorsResponse { validators, pagination: Some(pagination) })
}

pub(super) fn validator(view: &dyn View, request: TwoTexts) -> Result<ValidatorResponse, QueryError> {
    let operator = between(view, &request)?.operator;
    Ok(ValidatorResponse { validator: Some(shown_validator(&find(view, operator)?)) })
}
