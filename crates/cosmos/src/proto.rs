//! The protobuf messages of the Cosmos SDK that this chain reads and writes, with the field numbers
//! of cosmos-sdk v0.50.

#![allow(missing_docs, reason = "the names are those of the specification")]

mod query;

pub use query::*;

use prost::Message;

/// A message with the address of its type (`google.protobuf.Any`).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Duration {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// `cosmos.base.v1beta1.Coin`: the amount is decimal text.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Coin {
    #[prost(string, tag = "1")]
    pub denom: String,
    #[prost(string, tag = "2")]
    pub amount: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct TxRaw {
    #[prost(bytes = "vec", tag = "1")]
    pub body_bytes: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub auth_info_bytes: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub signatures: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct TxBody {
    #[prost(message, repeated, tag = "1")]
    pub messages: Vec<Any>,
    #[prost(string, tag = "2")]
    pub memo: String,
    #[prost(uint64, tag = "3")]
    pub timeout_height: u64,
    #[prost(message, repeated, tag = "1023")]
    pub extension_options: Vec<Any>,
    #[prost(message, repeated, tag = "2047")]
    pub non_critical_extension_options: Vec<Any>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct AuthInfo {
    #[prost(message, repeated, tag = "1")]
    pub signer_infos: Vec<SignerInfo>,
    #[prost(message, optional, tag = "2")]
    pub fee: Option<Fee>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct SignerInfo {
    #[prost(message, optional, tag = "1")]
    pub public_key: Option<Any>,
    #[prost(message, optional, tag = "2")]
    pub mode_info: Option<ModeInfo>,
    #[prost(uint64, tag = "3")]
    pub sequence: u64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct ModeInfo {
    #[prost(message, optional, tag = "1")]
    pub single: Option<SingleMode>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct SingleMode {
    #[prost(int32, tag = "1")]
    pub mode: i32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Fee {
    #[prost(message, repeated, tag = "1")]
    pub amount: Vec<Coin>,
    #[prost(uint64, tag = "2")]
    pub gas_limit: u64,
    #[prost(string, tag = "3")]
    pub payer: String,
    #[prost(string, tag = "4")]
    pub granter: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct SignDoc {
    #[prost(bytes = "vec", tag = "1")]
    pub body_bytes: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub auth_info_bytes: Vec<u8>,
    #[prost(string, tag = "3")]
    pub chain_id: String,
    #[prost(uint64, tag = "4")]
    pub account_number: u64,
}

/// A public key: field 1 has its bytes, for all kinds of keys.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct PubKey {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgSend {
    #[prost(string, tag = "1")]
    pub from_address: String,
    #[prost(string, tag = "2")]
    pub to_address: String,
    #[prost(message, repeated, tag = "3")]
    pub amount: Vec<Coin>,
}

/// `MsgDelegate` and `MsgUndelegate`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgDelegate {
    #[prost(string, tag = "1")]
    pub delegator_address: String,
    #[prost(string, tag = "2")]
    pub validator_address: String,
    #[prost(message, optional, tag = "3")]
    pub amount: Option<Coin>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgCancelUnbondingDelegation {
    #[prost(string, tag = "1")]
    pub delegator_address: String,
    #[prost(string, tag = "2")]
    pub validator_address: String,
    #[prost(message, optional, tag = "3")]
    pub amount: Option<Coin>,
    #[prost(int64, tag = "4")]
    pub creation_height: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct Description {
    #[prost(string, tag = "1")]
    pub moniker: String,
    #[prost(string, tag = "2")]
    pub identity: String,
    #[prost(string, tag = "3")]
    pub website: String,
    #[prost(string, tag = "4")]
    pub security_contact: String,
    #[prost(string, tag = "5")]
    pub details: String,
}

/// Rates are decimal texts of 18-decimal atoms.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct CommissionRates {
    #[prost(string, tag = "1")]
    pub rate: String,
    #[prost(string, tag = "2")]
    pub max_rate: String,
    #[prost(string, tag = "3")]
    pub max_change_rate: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgCreateValidator {
    #[prost(message, optional, tag = "1")]
    pub description: Option<Description>,
    #[prost(message, optional, tag = "2")]
    pub commission: Option<CommissionRates>,
    #[prost(string, tag = "3")]
    pub min_self_delegation: String,
    #[prost(string, tag = "4")]
    pub delegator_address: String,
    #[prost(string, tag = "5")]
    pub validator_address: String,
    #[prost(message, optional, tag = "6")]
    pub pubkey: Option<Any>,
    #[prost(message, optional, tag = "7")]
    pub value: Option<Coin>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgEditValidator {
    #[prost(message, optional, tag = "1")]
    pub description: Option<Description>,
    #[prost(string, tag = "2")]
    pub validator_address: String,
    #[prost(string, tag = "3")]
    pub commission_rate: String,
    #[prost(string, tag = "4")]
    pub min_self_delegation: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgUnjail {
    #[prost(string, tag = "1")]
    pub validator_addr: String,
}

/// The response of `MsgUndelegate`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct MsgUndelegateResponse {
    #[prost(message, optional, tag = "1")]
    pub completion_time: Option<Timestamp>,
    #[prost(message, optional, tag = "2")]
    pub amount: Option<Coin>,
}

/// `ExecTxResult.data` of a native transaction (`cosmos.base.abci.v1beta1.TxMsgData`).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TxMsgData {
    #[prost(message, repeated, tag = "2")]
    pub msg_responses: Vec<Any>,
}
