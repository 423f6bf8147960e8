//! What several requests or responses have inside.

use crate::Timestamp;
use bytes::Bytes;

#[derive(Clone, PartialEq, prost::Message)]
pub struct CommitInfo {
    #[prost(int32, tag = "1")]
    pub round: i32,
    #[prost(message, repeated, tag = "2")]
    pub votes: Vec<VoteInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExtendedCommitInfo {
    #[prost(int32, tag = "1")]
    pub round: i32,
    #[prost(message, repeated, tag = "2")]
    pub votes: Vec<ExtendedVoteInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<EventAttribute>,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct EventAttribute {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
    #[prost(bool, tag = "3")]
    pub index: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecTxResult {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
    #[prost(string, tag = "3")]
    pub log: String,
    #[prost(string, tag = "4")]
    pub info: String,
    #[prost(int64, tag = "5")]
    pub gas_wanted: i64,
    #[prost(int64, tag = "6")]
    pub gas_used: i64,
    #[prost(message, repeated, tag = "7")]
    pub events: Vec<Event>,
    #[prost(string, tag = "8")]
    pub codespace: String,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Validator {
    #[prost(bytes = "bytes", tag = "1")]
    pub address: Bytes,
    #[prost(int64, tag = "3")]
    pub power: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ValidatorUpdate {
    #[prost(message, optional, tag = "1")]
    pub pub_key: Option<crate::crypto::PublicKey>,
    #[prost(int64, tag = "2")]
    pub power: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct VoteInfo {
    #[prost(message, optional, tag = "1")]
    pub validator: Option<Validator>,
    #[prost(enumeration = "crate::types::BlockIdFlag", tag = "3")]
    pub block_id_flag: i32,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ExtendedVoteInfo {
    #[prost(message, optional, tag = "1")]
    pub validator: Option<Validator>,
    #[prost(bytes = "bytes", tag = "3")]
    pub vote_extension: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub extension_signature: Bytes,
    #[prost(enumeration = "crate::types::BlockIdFlag", tag = "5")]
    pub block_id_flag: i32,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Misbehavior {
    #[prost(enumeration = "MisbehaviorType", tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub validator: Option<Validator>,
    #[prost(int64, tag = "3")]
    pub height: i64,
    #[prost(message, optional, tag = "4")]
    pub time: Option<Timestamp>,
    #[prost(int64, tag = "5")]
    pub total_voting_power: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Snapshot {
    #[prost(uint64, tag = "1")]
    pub height: u64,
    #[prost(uint32, tag = "2")]
    pub format: u32,
    #[prost(uint32, tag = "3")]
    pub chunks: u32,
    #[prost(bytes = "bytes", tag = "4")]
    pub hash: Bytes,
    #[prost(bytes = "bytes", tag = "5")]
    pub metadata: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum MisbehaviorType {
    Unknown = 0,
    DuplicateVote = 1,
    LightClientAttack = 2,
}
