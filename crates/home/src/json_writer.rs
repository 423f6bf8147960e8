//! A writer of JSON bytes: no tree in between, hex straight into the buffer.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256, hex};

/// Appends JSON to a buffer. Callers keep the nesting right; commas are its own work.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: Vec<u8>,
}

impl JsonWriter {
    /// A writer with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Number of bytes written so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Puts the comma that a new member or element needs.
    fn separate(&mut self) {
        if !matches!(self.out.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }

    /// Opens an object, as a value or an element.
    pub fn begin_object(&mut self) -> &mut Self {
        self.separate();
        self.out.push(b'{');
        self
    }

    /// Closes an object.
    pub fn end_object(&mut self) -> &mut Self {
        self.out.push(b'}');
        self
    }

    /// Opens an array, as a value or an element.
    pub fn begin_array(&mut self) -> &mut Self {
        self.separate();
        self.out.push(b'[');
        self
    }

    /// Closes an array.
    pub fn end_array(&mut self) -> &mut Self {
        self.out.push(b']');
        self
    }

    /// A member's key; the key must need no escaping.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self
    }

    /// Begins a member whose name is an address, in lower case.
    pub fn address_key(&mut self, key: &Address) -> &mut Self {
        self.address(key);
        self.out.push(b':');
        self
    }

    /// Begins a member whose name is a hash.
    pub fn hash_key(&mut self, key: &B256) -> &mut Self {
        self.hash(key);
        self.out.push(b':');
        self
    }

    /// `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(if value { "true" } else { "false" })
    }

    /// Text that is JSON already.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(json.as_bytes());
        self
    }

    /// A number as `0x` hex without leading zeros, in quotes.
    pub fn quantity(&mut self, value: u64) -> &mut Self {
        self.separate();
        self.quoted_quantity(&value.to_be_bytes())
    }

    /// A number as `0x` hex without leading zeros, in quotes.
    pub fn quantity_u128(&mut self, value: u128) -> &mut Self {
        self.separate();
        self.quoted_quantity(&value.to_be_bytes())
    }

    /// A number as `0x` hex without leading zeros, in quotes.
    pub fn quantity_u256(&mut self, value: &U256) -> &mut Self {
        self.separate();
        self.quoted_quantity(&value.to_be_bytes::<32>())
    }

    fn quoted_quantity(&mut self, big_endian: &[u8]) -> &mut Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.out.extend_from_slice(b"\"0x");
        let start = big_endian.iter().position(|b| *b != 0).unwrap_or(big_endian.len());
        match &big_endian[start..] {
            [] => self.out.push(b'0'),
            [first, rest @ ..] => {
                if *first >= 16 {
                    self.out.push(DIGITS[usize::from(first >> 4)]);
                }
                self.out.push(DIGITS[usize::from(first & 15)]);
                self.hex_digits(rest);
            }
        }
        self.out.push(b'"');
        self
    }

    /// Text, escaped.
    pub fn string(&mut self, text: &str) -> &mut Self {
        let json = serde_json::to_string(text).expect("text always serialises");
        self.raw(&json)
    }

    /// Bytes as `0x` hex, in quotes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.separate();
        self.out.extend_from_slice(b"\"0x");
        self.hex_digits(bytes);
        self.out.push(b'"');
        self
    }

    /// A 32-byte hash.
    pub fn hash(&mut self, hash: &B256) -> &mut Self {
        self.bytes(hash.as_slice())
    }

    /// An address, in lower case.
    pub fn address(&mut self, address: &Address) -> &mut Self {
        self.bytes(address.as_slice())
    }

    /// An address or `null`.
    pub fn optional_address(&mut self, address: Option<&Address>) -> &mut Self {
        match address {
            Some(address) => self.address(address),
            None => self.null(),
        }
    }

    fn hex_digits(&mut self, bytes: &[u8]) {
        let start = self.out.len();
        self.out.resize(start + bytes.len() * 2, 0);
        hex::encode_to_slice(bytes, &mut self.out[start..])
            .expect("the buffer has space for exactly these digits");
    }
}

/// Writes the member `withdrawals` into an open object.
pub fn write_withdrawals(w: &mut JsonWriter, withdrawals: &[Withdrawal]) {
    w.key("withdrawals").begin_array();
    for withdrawal in withdrawals {
        w.begin_object().key("index").quantity(withdrawal.index);
        w.key("validatorIndex").quantity(withdrawal.validator_index);
        w.key("address").address(&withdrawal.address);
        w.key("amount").quantity(withdrawal.amount).end_object();
    }
    w.end_array();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut JsonWriter) -> &mut JsonWriter) -> String {
        let mut writer = JsonWriter::default();
        write(&mut writer);
        String::from_utf8(writer.into_bytes()).expect("JSON is UTF-8")
    }

    #[test]
    fn quantities_have_no_leading_zeros() {
        for (value, want) in
            [(0, "\"0x0\""), (1, "\"0x1\""), (16, "\"0x10\""), (0x0fff, "\"0xfff\""), (255, "\"0xff\"")]
        {
            assert_eq!(text(|w| w.quantity(value)), want);
            assert_eq!(text(|w| w.quantity_u256(&U256::from(value))), want);
            assert_eq!(text(|w| w.quantity_u128(value.into())), want);
        }
        let all = format!("\"0x{}\"", "f".repeat(64));
        assert_eq!(text(|w| w.quantity_u256(&U256::MAX)), all);
    }

    #[test]
    fn commas_stand_between_members_and_elements_only() {
        let json = text(|w| {
            w.begin_object()
                .key("a")
                .begin_array()
                .quantity(1)
                .null()
                .begin_object()
                .end_object()
                .end_array();
            w.key("b").bytes(&[]).key("c").begin_array().end_array().key("d").bool(true).end_object()
        });
        assert_eq!(json, r#"{"a":["0x1",null,{}],"b":"0x","c":[],"d":true}"#);
    }
}
