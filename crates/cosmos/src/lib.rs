//! What the Cosmos SDK's clients know of a chain, on an EVM chain: transactions in their envelope,
//! staking, queries.
//!
//! - [`decode`]: the bytes of a `TxRaw` become a
//!   [`NativeTransaction`](hearth_primitives::NativeTransaction), a call that the EVM executes.
//!   One message, one signer with an Ethereum key, `SIGN_MODE_DIRECT`; sequence is the account's
//!   nonce, fees are paid in wei.
//! - [`bech32`]: accounts and operators as text; their bytes are those of the Ethereum address.
//! - [`staking`]: the contract that keeps validators and delegations, as the block's system calls
//!   and queries see it.
//! - [`query`]: one function a query, from the parameters to protobuf or JSON.
//!
//! Knows neither disks nor sockets: state comes through traits.
//!
//! Sources: cosmos-sdk v0.50, `proto/cosmos/tx/v1beta1/tx.proto` and the modules' `tx.proto` and
//! `query.proto`; cosmos/evm,
//! `crypto/ethsecp256k1`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bech32;
mod error;
mod events;
pub mod genesis;
mod message;
pub mod proto;
pub mod query;
mod simulated;
pub mod staking;
mod tx;

pub use error::{CODESPACE, TxError};
pub use events::{Event, events};
pub use message::{DENOM, Message};
pub use simulated::decode_unsigned;
pub use tx::{Decoded, MEMO_BYTES_MAX, TX_BYTES_MAX, chain_id, decode, decode_included, is_native, sha256};
