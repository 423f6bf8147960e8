//! Unsigned transactions: filling in absent fields, and signing for the development accounts.

use super::{Answer, fee_defaults, send, short, simulate::at_site};
use crate::json::write_bare_transaction;
use alloy_consensus::{
    EthereumTypedTransaction, SignableTransaction, Transaction as _, TxEip1559, TxEip2930, TxEip4844,
    TxEip7702, TxLegacy,
};
use alloy_eips::{BlockNumberOrTag, eip2718::Encodable2718};
use alloy_primitives::{Address, B256, Signature, TxKind, U64, U256, keccak256};
use alloy_rlp::Encodable as _;
use hearth_dev_chain::placeholder_signature;
use hearth_evm::{CallLimits, CallRequest, MAX_TX_BLOBS, estimate_gas};
use hearth_home::{BlockRef, Home, JsonWriter, NodeError};
use hearth_primitives::Transaction;
use hearth_tracers::Cancel;

/// Most bytes of the head of an RLP list.
const LIST_HEAD_BYTES: usize = 9;

type Unsigned = EthereumTypedTransaction<TxEip4844>;

fn refused(message: impl Into<String>) -> NodeError {
    NodeError::ExecutionFailed { source: message.into().into() }
}

/// The accounts whose keys are here.
pub(super) fn accounts(home: &Home) -> Answer {
    short(|w| {
        w.begin_array();
        home.signer().into_iter().flat_map(|signer| signer.accounts()).for_each(|account| {
            w.address(account);
        });
        w.end_array()
    })
}

/// A signature of a digest as 65 bytes, the last one 27 or 28.
pub(super) fn sign_digest(home: &Home, account: &Address, digest: &B256) -> Answer {
    let signature = signature(home, account, digest)?;
    short(|w| w.bytes(&signature.as_bytes()))
}

fn signature(home: &Home, account: &Address, digest: &B256) -> Result<Signature, NodeError> {
    home.signer().and_then(|signer| signer.sign(account, digest)).ok_or(NodeError::UnknownAccount)
}

/// What is missing filled in: `{raw, tx}` without a signature.
pub(super) fn fill(home: &Home, request: CallRequest, stop: &Cancel) -> Answer {
    let unsigned = filled(home, request, stop)?;
    let bare = matches!(unsigned, Unsigned::Legacy(_));
    let transaction = with_signature(unsigned, Signature::new(U256::ZERO, U256::ZERO, false));
    let raw = if bare { unsigned_legacy(&transaction) } else { transaction.encoded_2718() };
    Ok(render(&transaction, &raw))
}

/// A legacy transaction as go-ethereum encodes it before it is signed: `v`, `r` and `s` are zero.
/// With a signature the chain id would be in `v` (EIP-155).
fn unsigned_legacy(transaction: &Transaction) -> Vec<u8> {
    let mut fields = Vec::new();
    transaction.nonce().encode(&mut fields);
    transaction.max_fee_per_gas().encode(&mut fields);
    transaction.gas_limit().encode(&mut fields);
    transaction.kind().encode(&mut fields);
    transaction.value().encode(&mut fields);
    transaction.input().encode(&mut fields);
    (0..3).for_each(|_| 0u8.encode(&mut fields));
    let mut raw = Vec::with_capacity(fields.len() + LIST_HEAD_BYTES);
    alloy_rlp::Header { list: true, payload_length: fields.len() }.encode(&mut raw);
    raw.extend(fields);
    raw
}

/// Filled in and signed: `{raw, tx}`.
pub(super) fn sign(home: &Home, request: CallRequest, stop: &Cancel) -> Answer {
    let from = request.from.ok_or(NodeError::MissingSender)?;
    // Before any work is done for an account whose key is not here.
    if !has_key(home, &from) {
        return Err(NodeError::UnknownAccount);
    }
    let transaction = signed(home, &from, filled(home, request, stop)?)?;
    Ok(render(&transaction, &transaction.encoded_2718()))
}

/// Fills in, signs and sends a transaction; returns its hash. A transaction without a sender is
/// sent from the first account.
pub(super) fn send(home: &Home, mut request: CallRequest, stop: &Cancel) -> Answer {
    let first = || home.signer().and_then(|signer| signer.accounts().next().copied());
    let from = request.from.or_else(first).ok_or(NodeError::UnknownAccount)?;
    request.from = Some(from);
    if has_key(home, &from) {
        return submit(home, request, from, stop, |unsigned| signed(home, &from, unsigned));
    }
    match home.dev() {
        Some(dev) if dev.impersonation().allows(&from) => send_unsigned(home, request, stop),
        _ => Err(NodeError::UnknownAccount),
    }
}

/// Filled in and sent in the name of its sender, whose signature is not needed; its hash.
pub(super) fn send_unsigned(home: &Home, request: CallRequest, stop: &Cancel) -> Answer {
    let from = request.from.unwrap_or_default();
    submit(home, request, from, stop, |unsigned| Ok(with_signature(unsigned, placeholder_signature(&from))))
}

/// Fills in a transaction and adds it to the pool of a development chain. A nonce that the request
/// leaves open is chosen in the same step in which the transaction enters the pool, so that
/// concurrent requests get different ones. `sender` is not recovered from the signature that
/// `finish` makes: recovery takes longer than signing.
fn submit(
    home: &Home,
    mut request: CallRequest,
    sender: Address,
    stop: &Cancel,
    finish: impl FnOnce(Unsigned) -> Result<Transaction, NodeError>,
) -> Answer {
    let Some(dev) = home.dev() else {
        return Err(NodeError::UnknownAccount);
    };
    fill_but_nonce(home, &mut request, stop)?;
    let open = request.from.filter(|_| request.nonce.is_none());
    let done = dev.submit_next(open.as_ref(), Some(sender), |next| {
        request.nonce.get_or_insert(U64::from(next));
        let transaction = finish(typed(home, request)?)?.into();
        send::check_limits(home, &transaction)?;
        Ok::<_, NodeError>(transaction)
    });
    let hash = send::submitted(home, done)?;
    short(|w| w.hash(&hash))
}

/// Filled in, with a stand-in for the signature.
pub(super) fn unsigned(home: &Home, request: CallRequest, stop: &Cancel) -> Result<Transaction, NodeError> {
    let from = request.from.unwrap_or_default();
    Ok(with_signature(filled(home, request, stop)?, placeholder_signature(&from)))
}

fn has_key(home: &Home, account: &Address) -> bool {
    home.signer().is_some_and(|signer| signer.accounts().any(|known| known == account))
}

fn signed(home: &Home, account: &Address, unsigned: Unsigned) -> Result<Transaction, NodeError> {
    let signature = signature(home, account, &digest(&unsigned))?;
    Ok(with_signature(unsigned, signature))
}

fn digest(unsigned: &Unsigned) -> B256 {
    match unsigned {
        Unsigned::Legacy(tx) => tx.signature_hash(),
        Unsigned::Eip2930(tx) => tx.signature_hash(),
        Unsigned::Eip1559(tx) => tx.signature_hash(),
        Unsigned::Eip4844(tx) => tx.signature_hash(),
        Unsigned::Eip7702(tx) => tx.signature_hash(),
    }
}

fn with_signature(unsigned: Unsigned, signature: Signature) -> Transaction {
    match unsigned {
        Unsigned::Legacy(tx) => tx.into_signed(signature).into(),
        Unsigned::Eip2930(tx) => tx.into_signed(signature).into(),
        Unsigned::Eip1559(tx) => tx.into_signed(signature).into(),
        Unsigned::Eip4844(tx) => tx.into_signed(signature).into(),
        Unsigned::Eip7702(tx) => tx.into_signed(signature).into(),
    }
}

fn render(transaction: &Transaction, raw: &[u8]) -> Vec<u8> {
    let mut w = JsonWriter::default();
    w.begin_object().key("raw").bytes(raw).key("tx");
    write_bare_transaction(&mut w, transaction, &keccak256(raw));
    w.end_object();
    w.into_bytes()
}

/// Fills in what a request leaves open, in go-ethereum's way and with its refusals
/// (internal/ethapi/transaction_args.go: setDefaults).
fn filled(home: &Home, mut request: CallRequest, stop: &Cancel) -> Result<Unsigned, NodeError> {
    fill_but_nonce(home, &mut request, stop)?;
    if request.nonce.is_none() {
        let next = home.next_nonce(&request.from.unwrap_or_default())?;
        request.nonce = Some(U64::from(next));
    }
    typed(home, request)
}

/// Fills in the fees of a request, checks it and fills in its gas.
fn fill_but_nonce(home: &Home, request: &mut CallRequest, stop: &Cancel) -> Result<(), NodeError> {
    fill_fees(home, request)?;
    check(home, request)?;
    if request.gas.is_none() {
        let pending = Some(BlockRef::Number(BlockNumberOrTag::Pending));
        let gas = at_site(home, pending, stop, |site, limits: CallLimits<'_>| {
            estimate_gas(site, request, None, None, &limits)
        })?;
        request.gas = Some(gas.try_into().unwrap_or_default());
    }
    Ok(())
}

fn check(home: &Home, request: &CallRequest) -> Result<(), NodeError> {
    if let (Some(data), Some(input)) = (&request.data, &request.input)
        && data != input
    {
        return Err(refused(
            "both \"data\" and \"input\" are set and not equal. Please use \"input\" to pass transaction call data",
        ));
    }
    let want = U256::from(home.chain().next_chain_id().get());
    if let Some(have) = request.chain_id.filter(|have| *have != want) {
        return Err(refused(format!("chainId does not match node's (have={have}, want={want})")));
    }
    if let Some(hashes) = &request.blob_versioned_hashes {
        if hashes.is_empty() {
            return Err(refused("need at least 1 blob for a blob transaction"));
        }
        if hashes.len() > MAX_TX_BLOBS {
            let have = hashes.len();
            return Err(refused(format!("too many blobs in transaction (have={have}, max={MAX_TX_BLOBS})")));
        }
        if request.to.is_none() {
            return Err(refused("missing \"to\" in blob transaction"));
        }
    }
    let input = request.input.as_ref().or(request.data.as_ref());
    if request.to.is_none() && input.is_none_or(|input| input.is_empty()) {
        return Err(refused("contract creation without any data provided"));
    }
    Ok(())
}

fn fill_fees(home: &Home, request: &mut CallRequest) -> Result<(), NodeError> {
    let head = home.head()?;
    let tip = if fee_defaults::needs_tip(request) { home.suggested_tip()? } else { 0 };
    fee_defaults::fill(home.chain().spec(), &head.block.header, U256::from(tip), request).map_err(refused)
}

/// The transaction of the type that its fields determine.
fn typed(home: &Home, request: CallRequest) -> Result<Unsigned, NodeError> {
    let chain_id = home.chain().next_chain_id().get();
    let narrow = |value: Option<U256>| u128::try_from(value.unwrap_or_default()).unwrap_or(u128::MAX);
    let nonce = request.nonce.unwrap_or_default().to::<u64>();
    let gas_limit = request.gas.unwrap_or_default().to::<u64>();
    let max_fee_per_gas = narrow(request.max_fee_per_gas);
    let max_priority_fee_per_gas = narrow(request.max_priority_fee_per_gas);
    let value = request.value.unwrap_or_default();
    let input = request.input.or(request.data).unwrap_or_default();
    let access_list = request.access_list.clone().unwrap_or_default();
    let to = request.to.map_or(TxKind::Create, TxKind::Call);
    if let Some(gas_price) = request.gas_price {
        let gas_price = narrow(Some(gas_price));
        return Ok(match request.access_list {
            Some(access_list) => {
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input }.into()
            }
            None => {
                TxLegacy { chain_id: Some(chain_id), nonce, gas_price, gas_limit, to, value, input }.into()
            }
        });
    }
    if let Some(authorization_list) = request.authorization_list {
        let missing = || refused("missing \"to\" in set code transaction");
        let to = request.to.ok_or_else(missing)?;
        return Ok(TxEip7702 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list,
            authorization_list,
            input,
        }
        .into());
    }
    if let (Some(blob_versioned_hashes), Some(to)) = (request.blob_versioned_hashes, request.to) {
        return Ok(TxEip4844 {
            chain_id,
            nonce,
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to,
            value,
            access_list,
            blob_versioned_hashes,
            max_fee_per_blob_gas: narrow(request.max_fee_per_blob_gas),
            input,
        }
        .into());
    }
    Ok(TxEip1559 {
        chain_id,
        nonce,
        gas_limit,
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value,
        access_list,
        input,
    }
    .into())
}
