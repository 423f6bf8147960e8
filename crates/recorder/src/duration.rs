//! Durations as Go's `time.ParseDuration` reads them: `300ms`, `1.5h`, `2h45m`.

use std::time::Duration;

/// A text that is no duration, with the texts of Go's parser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not a sequence of decimal numbers with units, or too large for 64 bits of nanoseconds.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("time: unknown unit {} in duration {}", quote(.0), quote(.1))]
    UnknownUnit(String, String),
}

/// Go's quoting: control characters below the space, quotes and bytes outside ASCII are escaped.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            b' '..=0x7f => out.push(byte as char),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Parses a Go duration. Negative durations become zero: they have run out already.
pub fn parse_go_duration(text: &str) -> Result<Duration, DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (nanos, tail) = component(rest, text)?;
        rest = tail;
        total = total.checked_add(nanos).filter(|t| *t <= 1 << 63).ok_or_else(invalid)?;
    }
    if negative {
        return Ok(Duration::ZERO);
    }
    if total > i64::MAX as u64 {
        return Err(invalid());
    }
    Ok(Duration::from_nanos(total))
}

/// One number with its unit: nanoseconds, and what follows.
fn component<'a>(text: &'a str, whole: &str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(whole.to_owned());
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let int_len = digits(text);
    let (int, mut rest) = text.split_at(int_len);
    let mut fraction = "";
    if let Some(tail) = rest.strip_prefix('.') {
        (fraction, rest) = tail.split_at(digits(tail));
    }
    if int.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let value: u64 =
        if int.is_empty() { 0 } else { int.parse().ok().filter(|v| *v <= 1 << 63).ok_or_else(invalid)? };
    let unit_len = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_len);
    if unit.is_empty() {
        return Err(DurationError::MissingUnit(whole.to_owned()));
    }
    let scale =
        unit_nanos(unit).ok_or_else(|| DurationError::UnknownUnit(unit.to_owned(), whole.to_owned()))?;
    let mut nanos = value.checked_mul(scale).filter(|n| *n <= 1 << 63).ok_or_else(invalid)?;
    nanos =
        nanos.checked_add(fraction_nanos(fraction, scale)).filter(|n| *n <= 1 << 63).ok_or_else(invalid)?;
    Ok((nanos, rest))
}

/// The fraction's nanoseconds, cut like Go's floating-point product.
fn fraction_nanos(digits: &str, scale: u64) -> u64 {
    let (mut value, mut divisor) = (0u64, 1f64);
    for digit in digits.bytes() {
        let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0'))) else {
            break;
        };
        if next > i64::MAX as u64 {
            break;
        }
        value = next;
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_durations() {
        for (text, nanos) in [
            ("0", 0u64),
            ("5s", 5_000_000_000),
            ("+5s", 5_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("2h45m", 9_900_000_000_000),
            ("300ms", 300_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("12µs", 12_000),
            ("-3s", 0),
            ("9223372036854775807ns", i64::MAX as u64),
            ("0.3333333333333333333h", 1_200_000_000_000),
        ] {
            assert_eq!(parse_go_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn refuses_with_the_texts_of_go() {
        for (text, message) in [
            ("", r#"time: invalid duration """#),
            ("abc", r#"time: invalid duration "abc""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5y", r#"time: unknown unit "y" in duration "5y""#),
            ("5\u{7f}", "time: unknown unit \"\u{7f}\" in duration \"5\u{7f}\""),
            ("5\u{1f}", r#"time: unknown unit "\x1f" in duration "5\x1f""#),
            (".s", r#"time: invalid duration ".s""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
        ] {
            assert_eq!(parse_go_duration(text).unwrap_err().to_string(), message);
        }
    }
}
