use super::*;
use crate::staking::{self, Staking};
use alloy_primitives::{address, hex};
use alloy_sol_types::SolCall as _;

/// Transactions that cosmjs 0.38.1 signed with the first key of the mnemonic "test test … junk" on
/// chain hearth-7357.
const VECTORS: &str = include_str!("vectors.json");
const CHAIN: &str = "hearth-7357";
const SIGNER: Address = address!("f39fd6e51aad88f6f4ce6ab8827279cfffb92266");
const VALIDATOR: Address = Address::repeat_byte(0x22);

fn vector(name: &str) -> (Vec<u8>, B256) {
    let all: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    let field = |key: &str| hex::decode(all[name][key].as_str().unwrap()).unwrap();
    (field("raw"), B256::from_slice(&field("hash")))
}

fn decoded(name: &str) -> Decoded {
    let (raw, hash) = vector(name);
    let decoded = decode(&raw, CHAIN).unwrap();
    assert_eq!((decoded.transaction.hash, &decoded.transaction.bytes[..]), (hash, &raw[..]));
    assert_eq!(decode_included(&raw, decoded.transaction.sender).unwrap(), decoded);
    assert_eq!(decode_unsigned_as(&raw), decoded.transaction);
    decoded
}

fn decode_unsigned_as(raw: &[u8]) -> NativeTransaction {
    crate::decode_unsigned(raw).unwrap().transaction
}

fn refusal(name: &str) -> (u32, String) {
    let error = decode(&vector(name).0, CHAIN).unwrap_err();
    (error.code(), error.to_string())
}

#[test]
fn a_send_is_a_call_with_a_log_in_the_form_of_eip_7708() {
    let Decoded { transaction, message, fee, .. } = decoded("send");
    let to = Address::repeat_byte(0x11);
    assert_eq!(message, Message::Send { to, amount: U256::from(123_456_789) });
    assert_eq!(fee, U256::from(42_000_000_000_000u64));
    assert_eq!((transaction.sender, transaction.nonce, transaction.timeout_height), (SIGNER, 7, 0));
    assert_eq!((transaction.gas_limit, transaction.gas_price), (21_000, 2_000_000_000));
    assert_eq!((transaction.to, transaction.value), (to, U256::from(123_456_789)));
    assert!(transaction.input.is_empty());
    let log = transaction.log.unwrap();
    assert_eq!(log.address, address!("fffffffffffffffffffffffffffffffffffffffe"));
    let topic = keccak256("Transfer(address,address,uint256)");
    assert_eq!(log.topics(), [topic, SIGNER.into_word(), to.into_word()]);
    assert_eq!(U256::from_be_slice(&log.data.data), U256::from(123_456_789));
}

#[test]
fn staking_messages_are_calls_of_the_contract() {
    let call = |name: &str| {
        let transaction = decoded(name).transaction;
        assert_eq!((transaction.to, transaction.log), (staking::ADDRESS, None));
        (transaction.value, transaction.input)
    };
    let ether = U256::from(10u64.pow(18));
    let (value, input) = call("delegate");
    assert_eq!(value, U256::from(5) * ether);
    assert_eq!(Staking::delegateCall::abi_decode(&input).unwrap().operator, VALIDATOR);
    let (value, input) = call("undelegate");
    let undelegate = Staking::undelegateCall::abi_decode(&input).unwrap();
    assert_eq!((value, undelegate.operator), (U256::ZERO, VALIDATOR));
    assert_eq!(undelegate.amount, U256::from(1_000_000_000));
    let (_, input) = call("cancel");
    let cancel = Staking::cancelUnbondingCall::abi_decode(&input).unwrap();
    assert_eq!((cancel.operator, cancel.height), (VALIDATOR, 12));
    let (value, input) = call("create");
    let create = Staking::createValidatorCall::abi_decode(&input).unwrap();
    assert_eq!((value, create.key), (U256::from(2) * ether, B256::repeat_byte(9)));
    assert_eq!(create.description, ["node9", "i", "w", "s", "d"]);
    assert_eq!(create.rate, U256::from(5 * 10u64.pow(16)));
    let (_, input) = call("edit");
    let edit = Staking::editValidatorCall::abi_decode(&input).unwrap();
    assert_eq!((edit.description[0].as_str(), edit.description[4].as_str()), ("m", "[do-not-modify]"));
    assert_eq!(edit.rate, U256::MAX);
    assert_eq!(call("unjail").1[..], Staking::unjailCall {}.abi_encode());
}

#[test]
fn what_is_not_allowed_has_the_code_of_the_sdk() {
    assert_eq!(refusal("two"), (18, "a transaction has one message, and not 2: invalid request".to_owned()));
    assert_eq!(refusal("foreign").0, 8);
    assert_eq!(refusal("denom").0, 18);
    assert_eq!(refusal("feeDenom").0, 18);
    let text = "signature verification failed; please verify account number (0), sequence (0) and chain-id (hearth-7357): unauthorized";
    assert_eq!(refusal("chain"), (4, text.to_owned()));
    let text = "maximum number of characters is 256 but received 257 characters: memo too large";
    assert_eq!(refusal("memo"), (12, text.to_owned()));
    let text = "unknown message /cosmos.gov.v1beta1.MsgVote: unknown request";
    assert_eq!(refusal("vote"), (6, text.to_owned()));
    assert_eq!(decoded("timeout").transaction.timeout_height, 5);
}

/// Decodes a transaction that was changed after it was signed.
fn changed(change: impl FnOnce(&mut proto::TxRaw)) -> Result<Decoded, TxError> {
    let mut raw = proto::TxRaw::decode(vector("send").0.as_slice()).unwrap();
    change(&mut raw);
    decode(&raw.encode_to_vec(), CHAIN)
}

#[test]
fn one_signature_counts() {
    assert!(changed(|_| ()).is_ok());
    let code = |change: fn(&mut proto::TxRaw)| changed(change).map(drop).unwrap_err().code();
    assert_eq!(code(|raw| raw.signatures[0][10] ^= 1), 4);
    assert_eq!(code(|raw| raw.signatures[0].truncate(63)), 4);
    assert_eq!(code(|raw| raw.signatures.push(vec![1; 64])), 18);
    assert_eq!(code(|raw| raw.signatures.clear()), 18);
    assert_eq!(code(|raw| raw.body_bytes.extend([0x12, 1, b'x'])), 2);
    // The parity may stand behind it.
    assert!(changed(|raw| raw.signatures[0].push(27)).is_ok());
    assert_eq!(code(|raw| raw.signatures[0].push(5)), 4);
    // The other s of the same signature (EIP-2).
    let high = |raw: &mut proto::TxRaw| {
        let signature = Signature::from_slice(&raw.signatures[0]).unwrap();
        let (r, s) = signature.split_scalars();
        let high = Signature::from_scalars(r.to_bytes(), (-*s).to_bytes()).unwrap();
        raw.signatures[0] = high.to_bytes().to_vec();
    };
    assert_eq!(code(high), 4);
}

#[test]
fn bytes_have_one_form() {
    let (raw, _) = vector("send");
    let code = |bytes: &[u8]| decode(bytes, CHAIN).unwrap_err().code();
    let unknown = [&raw[..], &[0x22, 1, 0]].concat();
    assert_eq!(code(&unknown), 2);
    assert_eq!(code(&raw[..raw.len() - 1]), 2);
    assert_eq!(code(&[]), 18);
    assert_eq!(code(&vec![0x0a; TX_BYTES_MAX + 1]), 21);
    assert!(is_native(&raw) && !is_native(&[0x02, 0xf8]) && !is_native(&[]));
}

#[test]
fn a_key_of_another_kind_has_no_address_here() {
    let classic = |raw: &mut proto::TxRaw| {
        let mut auth = proto::AuthInfo::decode(raw.auth_info_bytes.as_slice()).unwrap();
        auth.signer_infos[0].public_key.as_mut().unwrap().type_url =
            "/cosmos.crypto.secp256k1.PubKey".to_owned();
        raw.auth_info_bytes = auth.encode_to_vec();
    };
    let error = changed(classic).unwrap_err();
    assert_eq!(error.code(), 8);
    assert!(error.to_string().contains("has no EVM address"), "{error}");
}
