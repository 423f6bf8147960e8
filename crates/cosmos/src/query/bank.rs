//! Balances, and what the one denomination is.

use super::{QueryError, View, page::page};
use crate::{
    bech32,
    message::DENOM,
    proto::{
        AddressPage, BalanceResponse, BalancesResponse, BankParams, BankParamsResponse, Coin, DenomUnit,
        Metadata, MetadataResponse, MetadatasResponse, Nothing, OneText, TwoTexts,
    },
};
use alloy_primitives::{Address, U256};

fn account(text: &str) -> Result<Address, QueryError> {
    Ok(bech32::decode(bech32::ACCOUNT, text)?)
}

fn wei(view: &dyn View, address: &Address) -> Result<U256, QueryError> {
    Ok(view.account(address)?.map(|account| account.balance).unwrap_or_default())
}

fn coin(denom: &str, amount: &U256) -> Coin {
    Coin { denom: denom.to_owned(), amount: amount.to_string() }
}

pub(super) fn balance(view: &dyn View, request: TwoTexts) -> Result<BalanceResponse, QueryError> {
    let address = account(&request.first)?;
    if request.second.is_empty() {
        return Err(QueryError::invalid("invalid denom"));
    }
    // An account has 0 of what does not exist.
    let amount = if request.second == DENOM { wei(view, &address)? } else { U256::ZERO };
    Ok(BalanceResponse { balance: Some(coin(&request.second, &amount)) })
}

pub(super) fn balances(view: &dyn View, request: AddressPage) -> Result<BalancesResponse, QueryError> {
    let amount = wei(view, &account(&request.address)?)?;
    let all = if amount.is_zero() { Vec::new() } else { vec![coin(DENOM, &amount)] };
    let (balances, pagination) = page(request.pagination.as_ref(), of_list(&all), |_| true)?;
    Ok(BalancesResponse { balances, pagination: Some(pagination) })
}

/// A list that is there already, in parts.
fn of_list<T: Clone>(all: &[T]) -> impl Fn(u64, u64) -> Result<Vec<T>, QueryError> {
    |from, n| {
        let part = |n| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(all.iter().skip(part(from)).take(part(n)).cloned().collect())
    }
}

fn metadata() -> Metadata {
    let unit = |denom: &str, exponent| DenomUnit { denom: denom.to_owned(), exponent, aliases: Vec::new() };
    Metadata {
        description: "The currency in which gas is paid".to_owned(),
        denom_units: vec![unit(DENOM, 0), unit("gwei", 9), unit("ether", 18)],
        base: DENOM.to_owned(),
        display: "ether".to_owned(),
        name: "Ether".to_owned(),
        symbol: "ETH".to_owned(),
        uri: String::new(),
        uri_hash: String::new(),
    }
}

pub(super) fn denoms_metadata(_: &dyn View, _: Nothing) -> Result<MetadatasResponse, QueryError> {
    let pagination = Some(crate::proto::PageResponse { next_key: Vec::new(), total: 1 });
    Ok(MetadatasResponse { metadatas: vec![metadata()], pagination })
}

pub(super) fn denom_metadata(_: &dyn View, request: OneText) -> Result<MetadataResponse, QueryError> {
    match request.text.as_str() {
        DENOM => Ok(MetadataResponse { metadata: Some(metadata()) }),
        "" => Err(QueryError::invalid("invalid denom")),
        other => Err(QueryError::not_found(format!("client metadata for denom {other}"))),
    }
}

pub(super) fn params(_: &dyn View, _: Nothing) -> Result<BankParamsResponse, QueryError> {
    let params = BankParams { send_enabled: Vec::new(), default_send_enabled: true };
    Ok(BankParamsResponse { params: Some(params) })
}
