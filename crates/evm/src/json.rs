//! Reads JSON objects field by field, so that an error names the field and the expected value.
//!
//! Numbers keep their text: one above 2^64, such as the terminal total difficulty of mainnet, loses
//! no digit.

use crate::error::SpecError;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// An element of a list: its path and its text.
type Element = (String, Box<RawValue>);

/// Longest piece of a wrong value that an error repeats, in characters.
const QUOTED_CHARS: usize = 40;

/// The fields of one JSON object with the path that leads to it.
pub(crate) struct Fields {
    path: String,
    fields: BTreeMap<String, Box<RawValue>>,
}

/// Parses a JSON object whose fields are read later.
pub(crate) fn parse_object(path: &str, text: &str) -> Result<Fields, SpecError> {
    let fields = serde_json::from_str(text).map_err(|source| SpecError::Json {
        field: path.to_string(),
        line: source.line(),
        column: source.column(),
        message: source.to_string(),
    })?;
    Ok(Fields { path: if path == "genesis" { String::new() } else { path.to_string() }, fields })
}

fn quoted(text: &str) -> String {
    if text.chars().count() <= QUOTED_CHARS {
        return text.to_string();
    }
    let head: String = text.chars().take(QUOTED_CHARS).collect();
    format!("{head}…")
}

impl Fields {
    /// Path of a field from the root of the document.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }

    /// The text of a field; `None` if it is absent or null. Names ignore case, as in Go's decoder;
    /// an exact match comes first.
    pub fn raw(&self, name: &str) -> Option<&str> {
        let folded =
            || self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, raw)| raw);
        self.fields.get(name).or_else(folded).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    /// Names and texts of all fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, raw)| (name.as_str(), raw.get()))
    }

    /// A nested object.
    pub fn object(&self, name: &str) -> Result<Option<Fields>, SpecError> {
        let Some(text) = self.raw(name) else { return Ok(None) };
        if !text.starts_with('{') {
            return Err(self.wrong(name, text, "an object"));
        }
        Ok(Some(Fields { path: self.path(name), fields: parse_object(&self.path(name), text)?.fields }))
    }

    /// The elements of a list, as texts with their paths.
    fn elements(&self, name: &str) -> Result<Option<Vec<Element>>, SpecError> {
        let Some(text) = self.raw(name) else { return Ok(None) };
        let list: Vec<Box<RawValue>> =
            serde_json::from_str(text).map_err(|_| self.wrong(name, &quoted(text), "a list"))?;
        let path = self.path(name);
        Ok(Some(list.into_iter().enumerate().map(|(index, raw)| (format!("{path}[{index}]"), raw)).collect()))
    }

    /// A list of objects.
    pub fn objects(&self, name: &str) -> Result<Option<Vec<Fields>>, SpecError> {
        let Some(list) = self.elements(name)? else { return Ok(None) };
        list.into_iter().map(|(path, raw)| parse_object(&path, raw.get())).collect::<Result<_, _>>().map(Some)
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Result<Option<Vec<String>>, SpecError> {
        let Some(list) = self.elements(name)? else { return Ok(None) };
        let parse = |(path, raw): Element| {
            serde_json::from_str(raw.get())
                .map_err(|_| SpecError::invalid(&path, &quoted(raw.get()), "a string"))
        };
        list.into_iter().map(parse).collect::<Result<_, _>>().map(Some)
    }

    /// A list of 32-byte words.
    pub fn words(&self, name: &str) -> Result<Option<Vec<B256>>, SpecError> {
        let Some(list) = self.strings(name)? else { return Ok(None) };
        let parse = |(index, text): (usize, String)| {
            parse_word(&text).ok_or_else(|| {
                SpecError::invalid(
                    &format!("{}[{index}]", self.path(name)),
                    &quoted(&text),
                    "0x and 64 hexadecimal digits",
                )
            })
        };
        list.into_iter().enumerate().map(parse).collect::<Result<_, _>>().map(Some)
    }

    fn wrong(&self, name: &str, text: &str, expected: &str) -> SpecError {
        SpecError::invalid(&self.path(name), &quoted(text), expected)
    }

    /// A string, or the text of a number.
    pub fn text(&self, name: &str) -> Result<Option<String>, SpecError> {
        let Some(text) = self.raw(name) else { return Ok(None) };
        if text.starts_with('"') {
            return serde_json::from_str(text).map(Some).map_err(|_| self.wrong(name, text, "a string"));
        }
        Ok(Some(text.to_string()))
    }

    /// A number, decimal or `0x` hexadecimal, as a number or in a string.
    pub fn u256(&self, name: &str) -> Result<Option<U256>, SpecError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse_u256(&text).map(Some).ok_or_else(|| {
            self.wrong(name, &text, "a whole number, decimal or 0x hexadecimal, of at most 256 bits")
        })
    }

    /// A number that fits 64 bits.
    pub fn u64(&self, name: &str) -> Result<Option<u64>, SpecError> {
        let Some(value) = self.u256(name)? else { return Ok(None) };
        let text = value.to_string();
        u64::try_from(value).map(Some).map_err(|_| self.wrong(name, &text, "a whole number below 2^64"))
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, SpecError> {
        match self.raw(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(self.wrong(name, other, "true or false")),
        }
    }

    /// A string of hexadecimal bytes with or without `0x`.
    pub fn bytes(&self, name: &str) -> Result<Option<Bytes>, SpecError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse_bytes(&text)
            .map(Some)
            .ok_or_else(|| self.wrong(name, &text, "hexadecimal bytes, 0x and an even number of digits"))
    }

    /// A 32-byte word; shorter texts are padded on the left, as go-ethereum does for storage.
    pub fn b256(&self, name: &str) -> Result<Option<B256>, SpecError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse_word(&text)
            .map(Some)
            .ok_or_else(|| self.wrong(name, &text, "0x and at most 64 hexadecimal digits"))
    }

    /// A 20-byte address.
    pub fn address(&self, name: &str) -> Result<Option<Address>, SpecError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse_address(&text).map(Some).ok_or_else(|| self.wrong(name, &text, "0x and 40 hexadecimal digits"))
    }
}

/// Reads a decimal or `0x` hexadecimal number of at most 256 bits.
pub(crate) fn parse_u256(text: &str) -> Option<U256> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        if hex.is_empty() {
            return Some(U256::ZERO);
        }
        return hex
            .bytes()
            .all(|c| c.is_ascii_hexdigit())
            .then(|| U256::from_str_radix(hex, 16).ok())
            .flatten();
    }
    (!text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()))
        .then(|| U256::from_str_radix(text, 10).ok())
        .flatten()
}

/// Reads hexadecimal bytes with or without `0x`.
pub(crate) fn parse_bytes(text: &str) -> Option<Bytes> {
    alloy_primitives::hex::decode(text).ok().map(Bytes::from)
}

/// Reads up to 32 bytes of hexadecimal, padded on the left.
pub(crate) fn parse_word(text: &str) -> Option<B256> {
    let hex = text.strip_prefix("0x").unwrap_or(text);
    if hex.len() > 64 {
        return None;
    }
    let padded = if hex.len() % 2 == 1 { format!("0{hex}") } else { hex.to_string() };
    let bytes = alloy_primitives::hex::decode(padded).ok()?;
    Some(B256::left_padding_from(&bytes))
}

/// Reads an address with or without `0x`.
pub(crate) fn parse_address(text: &str) -> Option<Address> {
    let bytes = alloy_primitives::hex::decode(text).ok()?;
    (bytes.len() == 20).then(|| Address::from_slice(&bytes))
}
