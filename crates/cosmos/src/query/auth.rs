//! Accounts. Every account has the number 0: chain id and sequence keep a transaction from being
//! repeated.

use super::{QueryError, View};
use crate::{
    bech32,
    proto::{
        AccountInfoResponse, AccountResponse, Any, AuthParams, AuthParamsResponse, BaseAccount,
        Bech32PrefixResponse, Nothing, OneText,
    },
    tx::MEMO_BYTES_MAX,
};
use prost::Message as _;

/// Type of accounts; the default parser of cosmjs reads no other.
pub(crate) const BASE_ACCOUNT: &str = "/cosmos.auth.v1beta1.BaseAccount";

fn find(view: &dyn View, text: &str) -> Result<BaseAccount, QueryError> {
    if text.is_empty() {
        return Err(QueryError::invalid("Address cannot be empty"));
    }
    let address = bech32::decode(bech32::ACCOUNT, text)?;
    let account = view.account(&address)?;
    let account = account.ok_or_else(|| QueryError::not_found(format!("account {text} not found")))?;
    Ok(BaseAccount {
        address: bech32::account(&address),
        pub_key: None,
        account_number: 0,
        sequence: account.nonce,
    })
}

pub(super) fn account(view: &dyn View, request: OneText) -> Result<AccountResponse, QueryError> {
    let value = find(view, &request.text)?.encode_to_vec();
    Ok(AccountResponse { account: Some(Any { type_url: BASE_ACCOUNT.to_owned(), value }) })
}

pub(super) fn account_info(view: &dyn View, request: OneText) -> Result<AccountInfoResponse, QueryError> {
    Ok(AccountInfoResponse { info: Some(find(view, &request.text)?) })
}

/// Gas is the EVM's alone: neither bytes nor signatures have a price of their own.
pub(super) fn params(_: &dyn View, _: Nothing) -> Result<AuthParamsResponse, QueryError> {
    let params = AuthParams {
        max_memo_characters: MEMO_BYTES_MAX as u64,
        tx_sig_limit: 1,
        tx_size_cost_per_byte: 0,
        sig_verify_cost_ed25519: 0,
        sig_verify_cost_secp256k1: 0,
    };
    Ok(AuthParamsResponse { params: Some(params) })
}

pub(super) fn bech32_prefix(_: &dyn View, _: Nothing) -> Result<Bech32PrefixResponse, QueryError> {
    Ok(Bech32PrefixResponse { bech32_prefix: bech32::ACCOUNT.to_owned() })
}
