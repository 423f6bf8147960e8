//! Queries of the Cosmos SDK's clients, and names of accounts and transactions there.

use super::{Answer, native, null, short};
use crate::request::CosmosRequest;
use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::hex;
use hearth_cosmos::{bech32, query::Input, sha256};
use hearth_home::{Home, JsonWriter, NodeError, QueryAnswer};

pub(super) fn answer(home: &Home, request: CosmosRequest) -> Answer {
    match request {
        CosmosRequest::CosmosQuery { path, data, height } => {
            in_protobuf(&home.cosmos_query(path.trim_start_matches('/'), Input::Protobuf(&data), height)?)
        }
        CosmosRequest::CosmosRest { query, params, height } => {
            in_json(&home.cosmos_query(&query, Input::Params(&params), height)?)
        }
        CosmosRequest::NativeReceipt { hash } => native::receipt(home, &hash),
        CosmosRequest::IsNative { hash } => {
            let is_native = home.chain().reader().native_place(&hash)?.is_some();
            short(|w| w.bool(is_native))
        }
        CosmosRequest::CosmosTxOf { hash } => {
            let Some((block, index)) = home.chain().reader().transaction(&hash)? else { return null() };
            let Some(transaction) = block.block.body.transactions.get(index) else { return null() };
            let hash = hex::encode_upper(sha256(&transaction.encoded_2718()));
            short(|w| w.begin_object().key("sha256").string(&hash).end_object())
        }
        CosmosRequest::Bech32Of { address } => short(|w| w.string(&bech32::account(&address))),
        CosmosRequest::AddressOf { account } => {
            let prefixes = [bech32::ACCOUNT, bech32::OPERATOR];
            match prefixes.iter().find_map(|prefix| bech32::decode(prefix, &account).ok()) {
                Some(address) => short(|w| w.string(&address.to_checksum(None))),
                None => null(),
            }
        }
    }
}

/// The answer to a query at the head, where it is kept.
pub(super) fn at_once(home: &Home, request: &CosmosRequest) -> Option<Answer> {
    match request {
        CosmosRequest::CosmosQuery { path, data, height: None } => {
            let answer = home.kept_cosmos_answer(path.trim_start_matches('/'), Input::Protobuf(data))?;
            Some(in_protobuf(&answer))
        }
        CosmosRequest::CosmosRest { query, params, height: None } => {
            Some(in_json(&home.kept_cosmos_answer(query, Input::Params(params))?))
        }
        _ => None,
    }
}

fn in_protobuf(QueryAnswer { height, result }: &QueryAnswer) -> Answer {
    let (code, log, value) = match result {
        Ok(value) => (0, "", value.as_slice()),
        Err((status, message)) => (*status as u32, message.as_str(), &[][..]),
    };
    let mut w = JsonWriter::with_capacity(64 + log.len() + 2 * value.len());
    w.begin_object();
    w.key("code").raw(&code.to_string());
    w.key("log").string(log);
    w.key("value").bytes(value);
    w.key("height").string(&height.to_string());
    w.end_object();
    Ok(w.into_bytes())
}

fn in_json(QueryAnswer { height, result }: &QueryAnswer) -> Answer {
    let mut w = JsonWriter::with_capacity(128 + result.as_ref().map_or(0, |body| body.len()));
    w.begin_object();
    match result {
        Ok(body) => {
            w.key("code").raw("0");
            w.key("height").string(&height.to_string());
            let body = std::str::from_utf8(body)
                .map_err(|error| NodeError::Internal { message: format!("a query's answer: {error}") })?;
            w.key("body").raw(body);
        }
        Err((status, message)) => {
            w.key("code").raw(&(*status as u32).to_string());
            w.key("height").string(&height.to_string());
            w.key("message").string(message);
        }
    }
    w.end_object();
    Ok(w.into_bytes())
}
