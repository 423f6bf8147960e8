//! JSON text of numbers and bytes in a buffer.

use alloy_primitives::{U256, hex};

/// Appends `"0x…"` without leading zeros.
pub(super) fn quantity(out: &mut Vec<u8>, value: U256) {
    out.extend_from_slice(format!("\"{value:#x}\"").as_bytes());
}

/// Appends `"0x…"` with two digits a byte.
pub(super) fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    let start = out.len() + 3;
    out.extend_from_slice(b"\"0x");
    out.resize(start + value.len() * 2, 0);
    // The buffer has exactly two places a byte.
    let _ = hex::encode_to_slice(value, &mut out[start..]);
    out.push(b'"');
}

/// Appends a decimal number.
pub(super) fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(value.to_string().as_bytes());
}
