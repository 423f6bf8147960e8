//! Queries of the Cosmos SDK's clients, and names of accounts and transactions there.

use alloy_primitives::{Address, B256, Bytes};
use hearth_cosmos::query::Params;
use serde::Deserialize;

/// One operation with its arguments, in the form of [`crate::Request`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CosmosRequest {
    /// An answer in protobuf: `{code, log, value, height}`.
    CosmosQuery {
        /// Path of gRPC.
        path: String,
        /// The request's bytes.
        data: Bytes,
        /// State after this block; the head where absent.
        #[serde(default)]
        height: Option<u64>,
    },
    /// An answer in JSON: `{code, height, body}`, or `{code, height, message}`.
    CosmosRest {
        /// Path of gRPC without the leading slash.
        query: String,
        /// Parameters of path and query string.
        #[serde(default)]
        params: Params,
        /// State after this block; the head where absent.
        #[serde(default)]
        height: Option<u64>,
    },
    /// The receipt of a native transaction that succeeded, or of an Ethereum one with the indices
    /// of the whole block; or `null`.
    NativeReceipt {
        /// The hash of the transaction.
        hash: B256,
    },
    /// Whether a native transaction of the canonical chain has this hash.
    IsNative {
        /// The hash of the transaction.
        hash: B256,
    },
    /// SHA-256 of a canonical transaction as CometBFT has it: `{sha256}` in upper-case digits, or
    /// `null`.
    CosmosTxOf {
        /// Its hash as Ethereum has it.
        hash: B256,
    },
    /// An account as text of the Cosmos SDK.
    Bech32Of {
        /// The account.
        address: Address,
    },
    /// The address of an account or an operator in the text of the Cosmos SDK, or `null`.
    AddressOf {
        /// The text.
        account: String,
    },
}
