//! Parameters of consensus and flags of votes (proto/tendermint/types in CometBFT v0.38).

use crate::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum BlockIdFlag {
    Unknown = 0,
    Absent = 1,
    Commit = 2,
    Nil = 3,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ConsensusParams {
    #[prost(message, optional, tag = "1")]
    pub block: Option<BlockParams>,
    #[prost(message, optional, tag = "2")]
    pub evidence: Option<EvidenceParams>,
    #[prost(message, optional, tag = "3")]
    pub validator: Option<ValidatorParams>,
    #[prost(message, optional, tag = "4")]
    pub version: Option<VersionParams>,
    #[prost(message, optional, tag = "5")]
    pub abci: Option<AbciParams>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct BlockParams {
    #[prost(int64, tag = "1")]
    pub max_bytes: i64,
    #[prost(int64, tag = "2")]
    pub max_gas: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct EvidenceParams {
    #[prost(int64, tag = "1")]
    pub max_age_num_blocks: i64,
    #[prost(message, optional, tag = "2")]
    pub max_age_duration: Option<Duration>,
    #[prost(int64, tag = "3")]
    pub max_bytes: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ValidatorParams {
    #[prost(string, repeated, tag = "1")]
    pub pub_key_types: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct VersionParams {
    #[prost(uint64, tag = "1")]
    pub app: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct AbciParams {
    #[prost(int64, tag = "1")]
    pub vote_extensions_enable_height: i64,
}
