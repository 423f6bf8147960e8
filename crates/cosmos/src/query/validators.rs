//! `cosmos.staking.v1beta1.Query/Validators` and `/Validator`.

use super::{QueryError, View, page::page, view::staking};
use crate::{
    bech32,
    proto::{
        Any, Commission, CommissionRatesShown, Description, OneText, PubKey, QueryValidatorsRequest,
        Timestamp, Validator, ValidatorResponse, ValidatorsResponse,
    },
    staking::Staking,
};
use alloy_primitives::{Address, U256};
use prost::Message as _;

/// The states of a validator (`cosmos.staking.v1beta1.BondStatus`).
pub(crate) const STATUSES: [(&str, i32); 3] =
    [("BOND_STATUS_UNBONDED", 1), ("BOND_STATUS_UNBONDING", 2), ("BOND_STATUS_BONDED", 3)];

pub(super) fn list(
    view: &dyn View,
    request: QueryValidatorsRequest,
) -> Result<ValidatorsResponse, QueryError> {
    let wanted = match request.status.as_str() {
        "" => None,
        text => {
            let known = STATUSES.iter().find(|(name, _)| *name == text);
            Some(known.ok_or_else(|| QueryError::invalid(format!("invalid validator status {text}")))?.1)
        }
    };
    let read = |from, n| {
        let call = Staking::validatorsCall { from: U256::from(from), n: U256::from(n) };
        Ok(staking(view, &call)?.list)
    };
    let keep = |it: &Staking::Validator| wanted.is_none_or(|status| i32::from(it.status) == status);
    let (validators, pagination) = page(request.pagination.as_ref(), read, keep)?;
    Ok(ValidatorsResponse {
        validators: validators.iter().map(shown).collect(),
        pagination: Some(pagination),
    })
}

pub(super) fn one(view: &dyn View, request: OneText) -> Result<ValidatorResponse, QueryError> {
    let operator = operator(&request.text)?;
    Ok(ValidatorResponse { validator: Some(shown(&find(view, operator)?)) })
}

/// The operator that a request names.
pub(super) fn operator(text: &str) -> Result<Address, QueryError> {
    if text.is_empty() {
        return Err(QueryError::invalid("validator address cannot be empty"));
    }
    Ok(bech32::decode(bech32::OPERATOR, text)?)
}

/// The validator of an operator.
pub(super) fn find(view: &dyn View, operator: Address) -> Result<Staking::Validator, QueryError> {
    let found = staking(view, &Staking::validatorCall { operator })?;
    if found.operator.is_zero() {
        let text = bech32::operator(&operator);
        return Err(QueryError::not_found(format!("validator {text} not found")));
    }
    Ok(found)
}

/// Shares as a decimal of the SDK (`LegacyDec`): the contract counts whole ones, protobuf has 18
/// decimals.
pub(super) fn shares(shares: &U256) -> String {
    shares.saturating_mul(U256::from(10u64.pow(18))).to_string()
}

/// A validator as clients see it.
pub(super) fn shown(validator: &Staking::Validator) -> Validator {
    let one = U256::from(10u64.pow(18)).to_string();
    let at = |time: u64| Some(Timestamp { seconds: i64::try_from(time).unwrap_or(i64::MAX), nanos: 0 });
    let [moniker, identity, website, security_contact, details] = validator.description.clone();
    Validator {
        operator_address: bech32::operator(&validator.operator),
        consensus_pubkey: Some(Any {
            type_url: "/cosmos.crypto.ed25519.PubKey".to_owned(),
            value: PubKey { key: validator.key.to_vec() }.encode_to_vec(),
        }),
        jailed: validator.jailed,
        status: i32::from(validator.status),
        tokens: validator.tokens.to_string(),
        delegator_shares: shares(&validator.shares),
        description: Some(Description { moniker, identity, website, security_contact, details }),
        unbonding_height: i64::try_from(validator.unbondingHeight).unwrap_or(i64::MAX),
        unbonding_time: at(validator.unbondingTime),
        commission: Some(Commission {
            commission_rates: Some(CommissionRatesShown {
                rate: validator.rate.to_string(),
                max_rate: one.clone(),
                max_change_rate: one,
            }),
            update_time: at(validator.updateTime),
        }),
        min_self_delegation: validator.minSelfDelegation.to_string(),
    }
}
