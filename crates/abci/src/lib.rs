//! ABCI 2.0 on a socket: what CometBFT sends to an application and what the application answers.
//!
//! - [`Request`] and [`Response`]: the outer messages, with InsertTx and ReapTxs of CometBFT v0.40;
//!   the messages inside are those of `tendermint-proto` ([`pb`]).
//! - [`read_frame`], [`write_frame`]: each message behind its length as an unsigned varint.
//! - [`Server`]: a Unix or TCP socket with the four connections of one CometBFT (query, snapshot,
//!   mempool, consensus), each served by a thread of its own, in the order of its requests.
//!
//! Knows nothing of blocks, transactions or stores. Source: CometBFT, spec/abci and
//! abci/client/socket_client.go.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod frame;
mod message;
mod server;

pub use address::{Address, AddressError};
pub use frame::{FRAME_BYTES_MAX, FrameError, read_frame, write_frame};
pub use message::{
    Request, RequestInsertTx, RequestReapTxs, Response, ResponseInsertTx, ResponseReapTxs, request, response,
};
pub use server::{Application, CONNECTIONS, Exception, Server, ServerError, ServerStatus};
/// The messages of ABCI 2.0, as CometBFT v0.38 has them.
pub use tendermint_proto::v0_38::{abci as pb, crypto, types};

/// Points in time, in the messages.
pub use tendermint_proto::google::protobuf::Timestamp;
