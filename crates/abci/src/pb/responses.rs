//! Answers of the application: what is inside the outer message.

use super::{Event, ExecTxResult, Snapshot, ValidatorUpdate};
use bytes::Bytes;

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseException {
    #[prost(string, tag = "1")]
    pub error: String,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseEcho {
    #[prost(string, tag = "1")]
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseFlush {}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseInfo {
    #[prost(string, tag = "1")]
    pub data: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(uint64, tag = "3")]
    pub app_version: u64,
    #[prost(int64, tag = "4")]
    pub last_block_height: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub last_block_app_hash: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResponseInitChain {
    #[prost(message, optional, tag = "1")]
    pub consensus_params: Option<crate::types::ConsensusParams>,
    #[prost(message, repeated, tag = "2")]
    pub validators: Vec<ValidatorUpdate>,
    #[prost(bytes = "bytes", tag = "3")]
    pub app_hash: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResponseQuery {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "3")]
    pub log: String,
    #[prost(string, tag = "4")]
    pub info: String,
    #[prost(int64, tag = "5")]
    pub index: i64,
    #[prost(bytes = "bytes", tag = "6")]
    pub key: Bytes,
    #[prost(bytes = "bytes", tag = "7")]
    pub value: Bytes,
    #[prost(message, optional, tag = "8")]
    pub proof_ops: Option<crate::crypto::ProofOps>,
    #[prost(int64, tag = "9")]
    pub height: i64,
    #[prost(string, tag = "10")]
    pub codespace: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResponseCheckTx {
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

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseCommit {
    #[prost(int64, tag = "3")]
    pub retain_height: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResponseListSnapshots {
    #[prost(message, repeated, tag = "1")]
    pub snapshots: Vec<Snapshot>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseOfferSnapshot {
    #[prost(enumeration = "response_offer_snapshot::Result", tag = "1")]
    pub result: i32,
}

pub mod response_offer_snapshot {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Result {
        Unknown = 0,
        Accept = 1,
        Abort = 2,
        Reject = 3,
        RejectFormat = 4,
        RejectSender = 5,
    }
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseLoadSnapshotChunk {
    #[prost(bytes = "bytes", tag = "1")]
    pub chunk: Bytes,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseApplySnapshotChunk {
    #[prost(enumeration = "response_apply_snapshot_chunk::Result", tag = "1")]
    pub result: i32,
    #[prost(uint32, repeated, tag = "2")]
    pub refetch_chunks: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    pub reject_senders: Vec<String>,
}

pub mod response_apply_snapshot_chunk {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum Result {
        Unknown = 0,
        Accept = 1,
        Abort = 2,
        Retry = 3,
        RetrySnapshot = 4,
        RejectSnapshot = 5,
    }
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponsePrepareProposal {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub txs: Vec<Bytes>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseProcessProposal {
    #[prost(enumeration = "response_process_proposal::ProposalStatus", tag = "1")]
    pub status: i32,
}

pub mod response_process_proposal {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum ProposalStatus {
        Unknown = 0,
        Accept = 1,
        Reject = 2,
    }
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseExtendVote {
    #[prost(bytes = "bytes", tag = "1")]
    pub vote_extension: Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseVerifyVoteExtension {
    #[prost(enumeration = "response_verify_vote_extension::VerifyStatus", tag = "1")]
    pub status: i32,
}

pub mod response_verify_vote_extension {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
    #[repr(i32)]
    pub enum VerifyStatus {
        Unknown = 0,
        Accept = 1,
        Reject = 2,
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ResponseFinalizeBlock {
    #[prost(message, repeated, tag = "1")]
    pub events: Vec<Event>,
    #[prost(message, repeated, tag = "2")]
    pub tx_results: Vec<ExecTxResult>,
    #[prost(message, repeated, tag = "3")]
    pub validator_updates: Vec<ValidatorUpdate>,
    #[prost(message, optional, tag = "4")]
    pub consensus_param_updates: Option<crate::types::ConsensusParams>,
    #[prost(bytes = "bytes", tag = "5")]
    pub app_hash: Bytes,
}
