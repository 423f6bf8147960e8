//! Reads JSON as Go's decoder does: the last of repeated keys counts, and errors have Go's texts.

use hearth_recorder::error::ConfigError;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The entries of a JSON object in order, repetitions included; none for `null`.
pub(crate) fn entries(
    json: &str,
    go_type: &'static str,
) -> Result<Vec<(String, Box<RawValue>)>, ConfigError> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, Box<RawValue>)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(entry) = map.next_entry()? {
                out.push(entry);
            }
            Ok(out)
        }
    }
    let text = json.trim_start_matches([' ', '\t', '\r', '\n']);
    match text.as_bytes().first() {
        Some(b'{') => {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            let found =
                deserializer.deserialize_map(Entries).and_then(|found| deserializer.end().map(|()| found));
            found.map_err(|e| ConfigError::Syntax(e.to_string()))
        }
        Some(_) => {
            let value: &RawValue =
                serde_json::from_str(text).map_err(|e| ConfigError::Syntax(e.to_string()))?;
            match value.get() {
                "null" => Ok(Vec::new()),
                other => Err(ConfigError::Value { got: kind(other, go_type), wanted: go_type }),
            }
        }
        None => Err(ConfigError::Syntax("unexpected end of JSON input".to_owned())),
    }
}

/// What Go's decoder calls a JSON value; integers name the value where the target is a number.
fn kind(value: &str, wanted: &str) -> String {
    match value.as_bytes().first() {
        Some(b'"') => "string".to_owned(),
        Some(b'{') => "object".to_owned(),
        Some(b'[') => "array".to_owned(),
        Some(b't' | b'f') => "bool".to_owned(),
        _ if matches!(wanted, "int" | "uint64") => format!("number {value}"),
        _ => "number".to_owned(),
    }
}

/// The error for a field whose value has another type.
pub(crate) fn wrong(value: &str, field: &'static str, wanted: &'static str) -> ConfigError {
    ConfigError::Field { got: kind(value, wanted), field, wanted }
}

/// Reads a string; `None` for `null`.
pub(crate) fn string(value: &str, field: &'static str) -> Result<Option<String>, ConfigError> {
    serde_json::from_str(value).map_err(|_| wrong(value, field, "string"))
}

/// Reads a number; `None` for `null`.
pub(crate) fn number<T: std::str::FromStr>(
    value: &str,
    field: &'static str,
    wanted: &'static str,
) -> Result<Option<T>, ConfigError> {
    if value == "null" {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| wrong(value, field, wanted))
}

/// Reads a hexadecimal number as go-ethereum's `hexutil.Uint64` does (common/hexutil/json.go:
/// Uint64.UnmarshalJSON), for which an empty text is zero.
pub(crate) fn hex_number(value: &str, field: &'static str) -> Result<u64, ConfigError> {
    let refused = |got: &str| ConfigError::Field { got: got.to_owned(), field, wanted: "hexutil.Uint64" };
    let text = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let text = text.ok_or_else(|| refused("non-string"))?;
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = digits.ok_or_else(|| refused("hex string without 0x prefix"))?;
    if digits.is_empty() {
        return Err(refused("hex string \"0x\""));
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return Err(refused("hex number with leading zero digits"));
    }
    if digits.len() > 16 {
        return Err(refused("hex number > 64 bits"));
    }
    if digits.starts_with('+') {
        return Err(refused("invalid hex string"));
    }
    u64::from_str_radix(digits, 16).map_err(|_| refused("invalid hex string"))
}

/// Sets a flag; `null` leaves it as it is.
pub(crate) fn boolean(value: &str, field: &'static str, target: &mut bool) -> Result<(), ConfigError> {
    match value {
        "true" => *target = true,
        "false" => *target = false,
        "null" => {}
        _ => return Err(wrong(value, field, "bool")),
    }
    Ok(())
}
