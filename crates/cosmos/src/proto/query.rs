//! Requests and responses of queries. In JSON they are as the SDK's gateway writes them: field
//! names of the definition, 64-bit numbers as
//! text, bytes in base64, defaults written out.

use super::{Any, Coin, Description, Duration, Timestamp};
use crate::query::json;
use prost::Message;
use serde::Serialize;

#[derive(Clone, PartialEq, Eq, Message)]
pub struct PageRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    #[prost(uint64, tag = "3")]
    pub limit: u64,
    #[prost(bool, tag = "4")]
    pub count_total: bool,
    #[prost(bool, tag = "5")]
    pub reverse: bool,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct PageResponse {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::key")]
    pub next_key: Vec<u8>,
    #[prost(uint64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub total: u64,
}

/// A request that names nothing.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Nothing {}

/// Requests that name an address and a page: of an account's balances, a validator's delegations
/// and so on.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct AddressPage {
    #[prost(string, tag = "1")]
    pub address: String,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageRequest>,
}

/// Requests that name one text: an address, a denomination.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct OneText {
    #[prost(string, tag = "1")]
    pub text: String,
}

/// Requests that name two texts: delegator and validator, or address and denomination.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TwoTexts {
    #[prost(string, tag = "1")]
    pub first: String,
    #[prost(string, tag = "2")]
    pub second: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct QueryValidatorsRequest {
    #[prost(string, tag = "1")]
    pub status: String,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageRequest>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct CommissionRatesShown {
    #[prost(string, tag = "1")]
    #[serde(serialize_with = "json::dec")]
    pub rate: String,
    #[prost(string, tag = "2")]
    #[serde(serialize_with = "json::dec")]
    pub max_rate: String,
    #[prost(string, tag = "3")]
    #[serde(serialize_with = "json::dec")]
    pub max_change_rate: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Commission {
    #[prost(message, optional, tag = "1")]
    pub commission_rates: Option<CommissionRatesShown>,
    #[prost(message, optional, tag = "2")]
    pub update_time: Option<Timestamp>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Validator {
    #[prost(string, tag = "1")]
    pub operator_address: String,
    #[prost(message, optional, tag = "2")]
    pub consensus_pubkey: Option<Any>,
    #[prost(bool, tag = "3")]
    pub jailed: bool,
    #[prost(int32, tag = "4")]
    #[serde(serialize_with = "json::bond_status")]
    pub status: i32,
    #[prost(string, tag = "5")]
    pub tokens: String,
    #[prost(string, tag = "6")]
    #[serde(serialize_with = "json::dec")]
    pub delegator_shares: String,
    #[prost(message, optional, tag = "7")]
    pub description: Option<Description>,
    #[prost(int64, tag = "8")]
    #[serde(serialize_with = "json::text")]
    pub unbonding_height: i64,
    #[prost(message, optional, tag = "9")]
    pub unbonding_time: Option<Timestamp>,
    #[prost(message, optional, tag = "10")]
    pub commission: Option<Commission>,
    #[prost(string, tag = "11")]
    pub min_self_delegation: String,
}

/// Responses with validators.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct ValidatorsResponse {
    #[prost(message, repeated, tag = "1")]
    pub validators: Vec<Validator>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageResponse>,
}

/// Responses with one validator.
#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct ValidatorResponse {
    #[prost(message, optional, tag = "1")]
    pub validator: Option<Validator>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Delegation {
    #[prost(string, tag = "1")]
    pub delegator_address: String,
    #[prost(string, tag = "2")]
    pub validator_address: String,
    #[prost(string, tag = "3")]
    #[serde(serialize_with = "json::dec")]
    pub shares: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct DelegationResponse {
    #[prost(message, optional, tag = "1")]
    pub delegation: Option<Delegation>,
    #[prost(message, optional, tag = "2")]
    pub balance: Option<Coin>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct DelegationsResponse {
    #[prost(message, repeated, tag = "1")]
    pub delegation_responses: Vec<DelegationResponse>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageResponse>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct QueryDelegationResponse {
    #[prost(message, optional, tag = "1")]
    pub delegation_response: Option<DelegationResponse>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct UnbondingEntry {
    #[prost(int64, tag = "1")]
    #[serde(serialize_with = "json::text")]
    pub creation_height: i64,
    #[prost(message, optional, tag = "2")]
    pub completion_time: Option<Timestamp>,
    #[prost(string, tag = "3")]
    pub initial_balance: String,
    #[prost(string, tag = "4")]
    pub balance: String,
    #[prost(uint64, tag = "5")]
    #[serde(serialize_with = "json::text")]
    pub unbonding_id: u64,
    #[prost(int64, tag = "6")]
    #[serde(serialize_with = "json::text")]
    pub unbonding_on_hold_ref_count: i64,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct UnbondingDelegation {
    #[prost(string, tag = "1")]
    pub delegator_address: String,
    #[prost(string, tag = "2")]
    pub validator_address: String,
    #[prost(message, repeated, tag = "3")]
    pub entries: Vec<UnbondingEntry>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct UnbondingsResponse {
    #[prost(message, repeated, tag = "1")]
    pub unbonding_responses: Vec<UnbondingDelegation>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageResponse>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct UnbondingResponse {
    #[prost(message, optional, tag = "1")]
    pub unbond: Option<UnbondingDelegation>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Pool {
    #[prost(string, tag = "1")]
    pub not_bonded_tokens: String,
    #[prost(string, tag = "2")]
    pub bonded_tokens: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct PoolResponse {
    #[prost(message, optional, tag = "1")]
    pub pool: Option<Pool>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct StakingParams {
    #[prost(message, optional, tag = "1")]
    pub unbonding_time: Option<Duration>,
    #[prost(uint32, tag = "2")]
    pub max_validators: u32,
    #[prost(uint32, tag = "3")]
    pub max_entries: u32,
    #[prost(uint32, tag = "4")]
    pub historical_entries: u32,
    #[prost(string, tag = "5")]
    pub bond_denom: String,
    #[prost(string, tag = "6")]
    #[serde(serialize_with = "json::dec")]
    pub min_commission_rate: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct StakingParamsResponse {
    #[prost(message, optional, tag = "1")]
    pub params: Option<StakingParams>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct BalanceResponse {
    #[prost(message, optional, tag = "1")]
    pub balance: Option<Coin>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct BalancesResponse {
    #[prost(message, repeated, tag = "1")]
    pub balances: Vec<Coin>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageResponse>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct DenomUnit {
    #[prost(string, tag = "1")]
    pub denom: String,
    #[prost(uint32, tag = "2")]
    pub exponent: u32,
    #[prost(string, repeated, tag = "3")]
    pub aliases: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Metadata {
    #[prost(string, tag = "1")]
    pub description: String,
    #[prost(message, repeated, tag = "2")]
    pub denom_units: Vec<DenomUnit>,
    #[prost(string, tag = "3")]
    pub base: String,
    #[prost(string, tag = "4")]
    pub display: String,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(string, tag = "6")]
    pub symbol: String,
    #[prost(string, tag = "7")]
    pub uri: String,
    #[prost(string, tag = "8")]
    pub uri_hash: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct MetadatasResponse {
    #[prost(message, repeated, tag = "1")]
    pub metadatas: Vec<Metadata>,
    #[prost(message, optional, tag = "2")]
    pub pagination: Option<PageResponse>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct MetadataResponse {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct SendEnabled {
    #[prost(string, tag = "1")]
    pub denom: String,
    #[prost(bool, tag = "2")]
    pub enabled: bool,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct BankParams {
    #[prost(message, repeated, tag = "1")]
    pub send_enabled: Vec<SendEnabled>,
    #[prost(bool, tag = "2")]
    pub default_send_enabled: bool,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct BankParamsResponse {
    #[prost(message, optional, tag = "1")]
    pub params: Option<BankParams>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct BaseAccount {
    #[prost(string, tag = "1")]
    pub address: String,
    #[prost(message, optional, tag = "2")]
    pub pub_key: Option<Any>,
    #[prost(uint64, tag = "3")]
    #[serde(serialize_with = "json::text")]
    pub account_number: u64,
    #[prost(uint64, tag = "4")]
    #[serde(serialize_with = "json::text")]
    pub sequence: u64,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct AccountResponse {
    #[prost(message, optional, tag = "1")]
    pub account: Option<Any>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct AccountInfoResponse {
    #[prost(message, optional, tag = "1")]
    pub info: Option<BaseAccount>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize)]
pub struct AuthParams {
    #[prost(uint64, tag = "1")]
    #[serde(serialize_with = "json::text")]
    pub max_memo_characters: u64,
    #[prost(uint64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub tx_sig_limit: u64,
    #[prost(uint64, tag = "3")]
    #[serde(serialize_with = "json::text")]
    pub tx_size_cost_per_byte: u64,
    #[prost(uint64, tag = "4")]
    #[serde(serialize_with = "json::text")]
    pub sig_verify_cost_ed25519: u64,
    #[prost(uint64, tag = "5")]
    #[serde(serialize_with = "json::text")]
    pub sig_verify_cost_secp256k1: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize)]
pub struct AuthParamsResponse {
    #[prost(message, optional, tag = "1")]
    pub params: Option<AuthParams>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Bech32PrefixResponse {
    #[prost(string, tag = "1")]
    pub bech32_prefix: String,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct ConfigResponse {
    #[prost(string, tag = "1")]
    pub minimum_gas_price: String,
    #[prost(string, tag = "2")]
    pub pruning_keep_recent: String,
    #[prost(string, tag = "3")]
    pub pruning_interval: String,
    #[prost(uint64, tag = "4")]
    #[serde(serialize_with = "json::text")]
    pub halt_height: u64,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct StatusResponse {
    #[prost(uint64, tag = "1")]
    #[serde(serialize_with = "json::text")]
    pub earliest_store_height: u64,
    #[prost(uint64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub height: u64,
    #[prost(message, optional, tag = "3")]
    pub timestamp: Option<Timestamp>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "json::bytes")]
    pub app_hash: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(serialize_with = "json::bytes")]
    pub validator_hash: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct SimulateRequest {
    /// A `Tx`, whose bytes are those of a `TxRaw` with its parts in it.
    #[prost(bytes = "vec", tag = "1")]
    pub tx: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub tx_bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize)]
pub struct GasInfo {
    #[prost(uint64, tag = "1")]
    #[serde(serialize_with = "json::text")]
    pub gas_wanted: u64,
    #[prost(uint64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub gas_used: u64,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct EventAttribute {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
    #[prost(bool, tag = "3")]
    pub index: bool,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct EventShown {
    #[prost(string, tag = "1")]
    #[serde(rename = "type")]
    pub kind: String,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<EventAttribute>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct SimulationResult {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::bytes")]
    pub data: Vec<u8>,
    #[prost(string, tag = "2")]
    pub log: String,
    #[prost(message, repeated, tag = "3")]
    pub events: Vec<EventShown>,
}

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct SimulateResponse {
    #[prost(message, optional, tag = "1")]
    pub gas_info: Option<GasInfo>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<SimulationResult>,
}
