//! Reasons of reverts: `Error(string)` and `Panic(uint256)` of Solidity.

use alloy_primitives::U256;

/// Selector of `Error(string)`.
const ERROR_SELECTOR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Selector of `Panic(uint256)`.
const PANIC_SELECTOR: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// The reason that revert data carries, in go-ethereum's words; `None` where it carries none.
pub fn revert_reason(data: &[u8]) -> Option<String> {
    let (selector, arguments) = data.split_first_chunk::<4>()?;
    match *selector {
        ERROR_SELECTOR => error_string(arguments),
        PANIC_SELECTOR => Some(panic_text(word(arguments, 0)?)),
        _ => None,
    }
}

fn word(data: &[u8], at: usize) -> Option<U256> {
    Some(U256::from_be_slice(data.get(at..at.checked_add(32)?)?))
}

fn error_string(data: &[u8]) -> Option<String> {
    let offset = usize::try_from(word(data, 0)?).ok()?;
    let len = usize::try_from(word(data, offset)?).ok()?;
    let start = offset.checked_add(32)?;
    let bytes = data.get(start..start.checked_add(len)?)?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

fn panic_text(code: U256) -> String {
    let text = match u64::try_from(code).unwrap_or(u64::MAX) {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return format!("unknown panic code: {code:#x}"),
    };
    text.to_string()
}
