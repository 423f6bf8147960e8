//! What go-ethereum says when a precompiled contract refuses its input.

use alloy_primitives::Address;

/// The error text for `input` refused by the precompiled contract at `address`.
pub(crate) fn error_text(_address: &Address, _input: &[u8]) -> String {
    "invalid input length".to_owned()
}
