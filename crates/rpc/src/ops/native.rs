//! Transactions that came from outside the EVM, and queries of the Cosmos SDK's clients.

use super::{Answer, null, receipts, short};
use crate::{
    json::{LogPlace, log_members},
    request::NativeRequest,
};
use alloy_consensus::TxReceipt as _;
use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::{B256, Bloom, hex};
use hearth_cosmos::{
    bech32, chain_id, decode, is_native,
    query::{Input, Params},
    sha256,
};
use hearth_evm::{BlockEnvironment, recover_sender};
use hearth_home::{Home, JsonWriter, NodeError, QueryAnswer};
use hearth_ledger::{StoredBlock, StoredNative, StoredOutside};

/// Type of the receipt of a native transaction: higher than any of EIP-2718.
const NATIVE_TYPE: u64 = 0xffff_ffff;

/// Room for a receipt with a log or two, in bytes.
const RECEIPT_BYTES: usize = 2048;

pub(super) fn answer(home: &Home, request: NativeRequest) -> Answer {
    match request {
        NativeRequest::NativeReceipt { hash } => receipt(home, &hash),
        NativeRequest::IsNative { hash } => {
            let is_native = home.chain().ledger().native_place(&hash)?.is_some();
            short(|w| w.bool(is_native))
        }
        NativeRequest::CosmosQuery { path, data, height } => in_protobuf(home, &path, &data, height),
        NativeRequest::CosmosRest { query, params, height } => in_json(home, &query, &params, height),
        NativeRequest::SenderOf { raw } => sender(home, &raw),
        NativeRequest::CosmosTxOf { hash } => {
            let Some((block, index)) = home.chain().ledger().transaction(&hash)? else { return null() };
            let Some(transaction) = block.block.body.transactions.get(index) else { return null() };
            let hash = hex::encode_upper(sha256(&transaction.encoded_2718()));
            short(|w| w.begin_object().key("sha256").string(&hash).end_object())
        }
        NativeRequest::Bech32Of { address } => short(|w| w.string(&bech32::account(&address))),
        NativeRequest::AddressOf { account } => {
            let prefixes = [bech32::ACCOUNT, bech32::OPERATOR];
            match prefixes.iter().find_map(|prefix| bech32::decode(prefix, &account).ok()) {
                Some(address) => short(|w| w.string(&address.to_checksum(None))),
                None => null(),
            }
        }
    }
}

fn receipt(home: &Home, hash: &B256) -> Answer {
    let ledger = home.chain().ledger();
    let Some(place) = ledger.native_place(hash)? else {
        let Some(place) = ledger.transaction_place(hash)? else { return null() };
        let natives = ledger.outside(&place.hash)?.natives;
        let logs = natives.iter().map(|native| native.logs.len() as u64).sum();
        return receipts::of_transaction_behind(home, hash, natives.len() as u64, logs);
    };
    let block = home.stored(&place.hash)?;
    let outside = ledger.outside(&place.hash)?;
    let index = place.index as usize;
    let missing = || NodeError::Store { message: format!("block {} has no native transaction {index}", block.hash) };
    let native = outside.natives.get(index).ok_or_else(missing)?;
    if native.code != 0 {
        return null();
    }
    let decoded = hearth_cosmos::decode_included(&native.bytes)
        .map_err(|error| NodeError::Store { message: format!("native transaction {hash}: {error}") })?;
    Ok(write_receipt(&block, &outside, (index, native), hash, decoded.transaction.gas_price))
}

fn write_receipt(
    block: &StoredBlock,
    outside: &StoredOutside,
    (index, native): (usize, &StoredNative),
    hash: &B256,
    gas_price: u128,
) -> Vec<u8> {
    let before = outside.natives.iter().take(index);
    let (gas, logs) = before.fold((0, 0), |(gas, logs), native| {
        (gas + native.gas_used, logs + native.logs.len() as u64)
    });
    let header = &block.block.header;
    let place = LogPlace {
        block_hash: &block.hash,
        number: header.number,
        timestamp: header.timestamp,
        tx_hash: hash,
        tx_index: index as u64,
    };
    let mut w = JsonWriter::with_capacity(RECEIPT_BYTES);
    w.begin_object();
    w.key("blockHash").hash(&block.hash);
    w.key("blockNumber").quantity(header.number);
    w.key("contractAddress").null();
    w.key("cumulativeGasUsed").quantity(gas + native.gas_used);
    w.key("effectiveGasPrice").quantity_u128(gas_price);
    w.key("from").address(&native.sender);
    w.key("gasUsed").quantity(native.gas_used);
    w.key("logs").begin_array();
    for (number, log) in (logs..).zip(&native.logs) {
        w.begin_object();
        log_members(&mut w, log, &place, number, false);
        w.key("synthetic").bool(true).end_object();
    }
    w.end_array();
    let bloom: Bloom = native.logs.iter().collect();
    w.key("logsBloom").bytes(bloom.as_slice());
    w.key("status").quantity(1);
    w.key("to").null();
    w.key("transactionHash").hash(hash);
    w.key("transactionIndex").quantity(place.tx_index);
    w.key("type").quantity(NATIVE_TYPE);
    w.end_object();
    w.into_bytes()
}

fn in_protobuf(home: &Home, path: &str, data: &[u8], height: Option<u64>) -> Answer {
    let QueryAnswer { height, result } =
        home.cosmos_query(path.trim_start_matches('/'), Input::Protobuf(data), height)?;
    let (code, log, value) = match &result {
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

fn in_json(home: &Home, query: &str, params: &Params, height: Option<u64>) -> Answer {
    let QueryAnswer { height, result } = home.cosmos_query(query, Input::Params(params), height)?;
    let mut w = JsonWriter::with_capacity(128 + result.as_ref().map_or(0, |body| body.len()));
    w.begin_object();
    match &result {
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

fn sender(home: &Home, raw: &[u8]) -> Answer {
    let spec = home.chain().spec();
    if is_native(raw) {
        return match decode(raw, &chain_id(spec.chain_id())) {
            Ok(decoded) => short(|w| w.address(&decoded.transaction.sender)),
            Err(_) => null(),
        };
    }
    let Ok(transaction) = hearth_chain::pool::decode_transaction(raw) else { return null() };
    let transaction = hearth_chain::pool::strip_sidecar(transaction);
    let environment = BlockEnvironment::from_header(spec, &home.head()?.block.header);
    match recover_sender(spec, &environment, &transaction) {
        Ok(sender) => short(|w| w.address(&sender)),
        Err(_) => null(),
    }
}
