//! Revert reasons: `Error(string)` and `Panic(uint256)` of Solidity.

use alloy_primitives::U256;
use std::borrow::Cow;

/// Selector of `Error(string)`.
const ERROR_SELECTOR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// Selector of `Panic(uint256)`.
const PANIC_SELECTOR: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
/// Bytes of an ABI word.
const WORD: usize = 32;

/// What go-ethereum says about a panic code of the compiler (accounts/abi/abi.go: panicReasons).
fn panic_text(code: u64) -> Option<&'static str> {
    Some(match code {
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
        _ => return None,
    })
}

/// The reason in a reverted call's output, or `None` where it carries none that decodes.
/// Bytes of a reason that are not UTF-8 become U+FFFD, as in go-ethereum's JSON.
pub fn revert_reason(output: &[u8]) -> Option<Cow<'_, str>> {
    let (selector, data) = output.split_first_chunk::<4>()?;
    match *selector {
        ERROR_SELECTOR => string_argument(data).map(go_string),
        PANIC_SELECTOR => {
            let code = U256::from_be_slice(data.get(..WORD)?);
            let known = u64::try_from(code).ok().and_then(panic_text);
            Some(known.map_or_else(|| format!("unknown panic code: {code:#x}").into(), Cow::Borrowed))
        }
        _ => None,
    }
}

/// The bytes of the only argument, a dynamic string: offset word, length word, bytes.
fn string_argument(data: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| -> Option<usize> {
        usize::try_from(U256::from_be_slice(data.get(at..at.checked_add(WORD)?)?)).ok()
    };
    let offset = word(0)?;
    let start = offset.checked_add(WORD)?;
    let length = word(offset)?;
    data.get(start..start.checked_add(length)?)
}

/// Replaces invalid UTF-8 as Go does: each invalid byte on its own, where Rust replaces maximal
/// prefixes.
fn go_string(bytes: &[u8]) -> Cow<'_, str> {
    let mut rest = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(_) => bytes,
    };
    let mut out = String::with_capacity(bytes.len());
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                break;
            }
            Err(error) => {
                let (valid, tail) = rest.split_at(error.valid_up_to());
                out.push_str(&String::from_utf8_lossy(valid));
                out.push(char::REPLACEMENT_CHARACTER);
                rest = &tail[1..];
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(offset: u64, length: u64, tail: &[u8]) -> Vec<u8> {
        let mut out = ERROR_SELECTOR.to_vec();
        out.extend(U256::from(offset).to_be_bytes::<32>());
        out.extend(U256::from(length).to_be_bytes::<32>());
        out.extend(tail);
        out
    }

    fn panic(code: U256) -> Vec<u8> {
        [&PANIC_SELECTOR[..], &code.to_be_bytes::<32>()].concat()
    }

    #[test]
    fn strings_decode_without_padding() {
        assert_eq!(revert_reason(&error(32, 2, b"no")).as_deref(), Some("no"));
        assert_eq!(revert_reason(&error(32, 0, b"")).as_deref(), Some(""));
        assert_eq!(revert_reason(&error(32, 3, b"no")), None);
        assert_eq!(revert_reason(&error(u64::MAX, 2, b"no")), None);
        // An offset of zero makes the offset word its own length word: zero bytes.
        assert_eq!(revert_reason(&error(0, 2, b"no")).as_deref(), Some(""));
    }

    #[test]
    fn invalid_utf8_is_replaced_byte_by_byte() {
        assert_eq!(
            revert_reason(&error(32, 5, b"a\xe2\x82b\xff")).as_deref(),
            Some("a\u{fffd}\u{fffd}b\u{fffd}")
        );
    }

    #[test]
    fn panics_have_texts() {
        assert_eq!(
            revert_reason(&panic(U256::from(0x11))).as_deref(),
            Some("arithmetic underflow or overflow")
        );
        assert_eq!(revert_reason(&panic(U256::from(0x99))).as_deref(), Some("unknown panic code: 0x99"));
        assert!(revert_reason(&panic(U256::MAX)).unwrap().starts_with("unknown panic code: 0xffff"));
        assert_eq!(revert_reason(&panic(U256::ZERO)[..20]), None);
    }

    #[test]
    fn other_data_has_no_reason() {
        for data in [&b""[..], b"abc", b"abcdefgh"] {
            assert_eq!(revert_reason(data), None);
        }
    }
}
