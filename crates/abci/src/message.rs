//! The outer messages: one of many requests, one of many responses.
//!
//! They are written here because those of `tendermint-proto` end before InsertTx and ReapTxs, which
//! came with CometBFT v0.40 (proto/tendermint/abci/types.proto there).

use crate::pb;
use bytes::Bytes;

/// A transaction that a peer sent, for the application's own mempool.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestInsertTx {
    /// The transaction.
    #[prost(bytes = "bytes", tag = "1")]
    pub tx: Bytes,
}

/// Requests transactions for peers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct RequestReapTxs {
    /// Most bytes of all together; 0 is no limit.
    #[prost(uint64, tag = "1")]
    pub max_bytes: u64,
    /// Most gas of all together; 0 is no limit.
    #[prost(uint64, tag = "2")]
    pub max_gas: u64,
}

/// What became of a transaction of a peer: 0 taken, 1 refused for good, from 32,000 on refused for
/// now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseInsertTx {
    /// The code.
    #[prost(uint32, tag = "1")]
    pub code: u32,
}

/// Transactions to gossip to peers.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ResponseReapTxs {
    /// The transactions.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub txs: Vec<Bytes>,
}

/// What CometBFT sends.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Request {
    /// The kind of request; `None` for a request that this version of ABCI does not have.
    #[prost(
        oneof = "request::Value",
        tags = "1, 2, 3, 5, 6, 8, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22"
    )]
    pub value: Option<request::Value>,
}

/// What the application answers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Response {
    /// Which response.
    #[prost(
        oneof = "response::Value",
        tags = "1, 2, 3, 4, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23"
    )]
    pub value: Option<response::Value>,
}

/// The kinds of requests.
#[allow(missing_docs, reason = "the names are those of the specification")]
pub mod request {
    use super::{RequestInsertTx, RequestReapTxs, pb};

    /// A request.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        #[prost(message, tag = "1")]
        Echo(pb::RequestEcho),
        #[prost(message, tag = "2")]
        Flush(pb::RequestFlush),
        #[prost(message, tag = "3")]
        Info(pb::RequestInfo),
        #[prost(message, tag = "5")]
        InitChain(pb::RequestInitChain),
        #[prost(message, tag = "6")]
        Query(pb::RequestQuery),
        #[prost(message, tag = "8")]
        CheckTx(pb::RequestCheckTx),
        #[prost(message, tag = "11")]
        Commit(pb::RequestCommit),
        #[prost(message, tag = "12")]
        ListSnapshots(pb::RequestListSnapshots),
        #[prost(message, tag = "13")]
        OfferSnapshot(pb::RequestOfferSnapshot),
        #[prost(message, tag = "14")]
        LoadSnapshotChunk(pb::RequestLoadSnapshotChunk),
        #[prost(message, tag = "15")]
        ApplySnapshotChunk(pb::RequestApplySnapshotChunk),
        #[prost(message, tag = "16")]
        PrepareProposal(pb::RequestPrepareProposal),
        #[prost(message, tag = "17")]
        ProcessProposal(pb::RequestProcessProposal),
        #[prost(message, tag = "18")]
        ExtendVote(pb::RequestExtendVote),
        #[prost(message, tag = "19")]
        VerifyVoteExtension(pb::RequestVerifyVoteExtension),
        #[prost(message, tag = "20")]
        FinalizeBlock(pb::RequestFinalizeBlock),
        #[prost(message, tag = "21")]
        InsertTx(RequestInsertTx),
        #[prost(message, tag = "22")]
        ReapTxs(RequestReapTxs),
    }

    impl Value {
        /// The method's name in the specification.
        pub fn name(&self) -> &'static str {
            match self {
                Self::Echo(_) => "Echo",
                Self::Flush(_) => "Flush",
                Self::Info(_) => "Info",
                Self::InitChain(_) => "InitChain",
                Self::Query(_) => "Query",
                Self::CheckTx(_) => "CheckTx",
                Self::Commit(_) => "Commit",
                Self::ListSnapshots(_) => "ListSnapshots",
                Self::OfferSnapshot(_) => "OfferSnapshot",
                Self::LoadSnapshotChunk(_) => "LoadSnapshotChunk",
                Self::ApplySnapshotChunk(_) => "ApplySnapshotChunk",
                Self::PrepareProposal(_) => "PrepareProposal",
                Self::ProcessProposal(_) => "ProcessProposal",
                Self::ExtendVote(_) => "ExtendVote",
                Self::VerifyVoteExtension(_) => "VerifyVoteExtension",
                Self::FinalizeBlock(_) => "FinalizeBlock",
                Self::InsertTx(_) => "InsertTx",
                Self::ReapTxs(_) => "ReapTxs",
            }
        }
    }
}

/// The kinds of responses.
#[allow(missing_docs, reason = "the names are those of the specification")]
pub mod response {
    use super::{ResponseInsertTx, ResponseReapTxs, pb};

    /// A response.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        #[prost(message, tag = "1")]
        Exception(pb::ResponseException),
        #[prost(message, tag = "2")]
        Echo(pb::ResponseEcho),
        #[prost(message, tag = "3")]
        Flush(pb::ResponseFlush),
        #[prost(message, tag = "4")]
        Info(pb::ResponseInfo),
        #[prost(message, tag = "6")]
        InitChain(pb::ResponseInitChain),
        #[prost(message, tag = "7")]
        Query(pb::ResponseQuery),
        #[prost(message, tag = "9")]
        CheckTx(pb::ResponseCheckTx),
        #[prost(message, tag = "12")]
        Commit(pb::ResponseCommit),
        #[prost(message, tag = "13")]
        ListSnapshots(pb::ResponseListSnapshots),
        #[prost(message, tag = "14")]
        OfferSnapshot(pb::ResponseOfferSnapshot),
        #[prost(message, tag = "15")]
        LoadSnapshotChunk(pb::ResponseLoadSnapshotChunk),
        #[prost(message, tag = "16")]
        ApplySnapshotChunk(pb::ResponseApplySnapshotChunk),
        #[prost(message, tag = "17")]
        PrepareProposal(pb::ResponsePrepareProposal),
        #[prost(message, tag = "18")]
        ProcessProposal(pb::ResponseProcessProposal),
        #[prost(message, tag = "19")]
        ExtendVote(pb::ResponseExtendVote),
        #[prost(message, tag = "20")]
        VerifyVoteExtension(pb::ResponseVerifyVoteExtension),
        #[prost(message, tag = "21")]
        FinalizeBlock(pb::ResponseFinalizeBlock),
        #[prost(message, tag = "22")]
        InsertTx(ResponseInsertTx),
        #[prost(message, tag = "23")]
        ReapTxs(ResponseReapTxs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    #[test]
    fn fields_have_the_numbers_of_the_specification() {
        let insert = RequestInsertTx { tx: Bytes::from_static(b"ab") };
        let request = Request { value: Some(request::Value::InsertTx(insert)) };
        // Field 21, wire type 2, four bytes: field 1, wire type 2, two bytes.
        assert_eq!(request.encode_to_vec(), [0xaa, 0x01, 4, 0x0a, 2, b'a', b'b']);
        let reap = ResponseReapTxs { txs: vec![Bytes::from_static(b"z")] };
        let response = Response { value: Some(response::Value::ReapTxs(reap)) };
        assert_eq!(response.encode_to_vec(), [0xba, 0x01, 3, 0x0a, 1, b'z']);
    }

    #[test]
    fn the_messages_of_both_definitions_have_the_same_bytes() {
        let finalize =
            pb::RequestFinalizeBlock { height: 7, hash: Bytes::from_static(&[9; 32]), ..Default::default() };
        let ours = Request { value: Some(request::Value::FinalizeBlock(finalize.clone())) };
        let theirs = pb::Request { value: Some(pb::request::Value::FinalizeBlock(finalize)) };
        assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
        let commit = pb::ResponseCommit { retain_height: 3 };
        let ours = Response { value: Some(response::Value::Commit(commit)) };
        let theirs = pb::Response { value: Some(pb::response::Value::Commit(commit)) };
        assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
    }
}
