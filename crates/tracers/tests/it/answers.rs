//! Reading fixtures and comparing with go-ethereum's answers.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The configurations of this crate's tests: the name in the answer files, and the configuration as
/// JSON.
pub const CONFIGS: [(&str, &str); 14] = [
    ("callTracer", r#"{"tracer":"callTracer"}"#),
    ("callTracer.withLog", r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#),
    ("callTracer.onlyTopCall", r#"{"tracer":"callTracer","tracerConfig":{"onlyTopCall":true}}"#),
    ("flatCallTracer", r#"{"tracer":"flatCallTracer"}"#),
    (
        "flatCallTracer.parity",
        r#"{"tracer":"flatCallTracer","tracerConfig":{"convertParityErrors":true,"includePrecompiles":true}}"#,
    ),
    ("prestateTracer", r#"{"tracer":"prestateTracer"}"#),
    ("prestateTracer.diffMode", r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#),
    (
        "prestateTracer.noCodeNoStorage",
        r#"{"tracer":"prestateTracer","tracerConfig":{"disableCode":true,"disableStorage":true}}"#,
    ),
    ("4byteTracer", r#"{"tracer":"4byteTracer"}"#),
    ("noopTracer", r#"{"tracer":"noopTracer"}"#),
    (
        "muxTracer",
        r#"{"tracer":"muxTracer","tracerConfig":{"callTracer":{"onlyTopCall":true},"4byteTracer":null,"prestateTracer":{"diffMode":true}}}"#,
    ),
    ("erc7562Tracer", r#"{"tracer":"erc7562Tracer"}"#),
    ("structLogs", "{}"),
    ("structLogs.full", r#"{"enableMemory":true,"enableReturnData":true}"#),
];

/// The folder of fixtures, or `None` (with a line that says so) where it is missing.
pub fn fixtures() -> Option<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let dir = std::env::var_os("HEARTH_FIXTURES").map_or(default, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no fixtures in {} (HEARTH_FIXTURES)", dir.display());
    None
}

/// Whether only a part of the cases is wanted.
pub fn quick() -> bool {
    std::env::var("HEARTH_TEST").is_ok_and(|v| v == "quick")
}

pub fn read_json(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = if path.extension().is_some_and(|e| e == "gz") {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut out).unwrap();
        out
    } else {
        bytes
    };
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Files with this ending directly in the folder, sorted.
pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    out.sort();
    out
}

/// Whether everything is wanted, however long it takes.
pub fn full() -> bool {
    std::env::var("HEARTH_TEST").is_ok_and(|v| v == "full")
}

/// [`digest`] of a struct log's text, step by step: as values in memory it may be very large.
pub fn digest_of_steps(text: &[u8]) -> String {
    struct Steps(Sha256, bool);
    impl<'de> serde::de::Visitor<'de> for &mut Steps {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("steps")
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut steps: A) -> Result<(), A::Error> {
            while let Some(step) = steps.next_element::<Value>()? {
                self.0.update(if self.1 { "," } else { "" });
                self.0.update(step.to_string());
                self.1 = true;
            }
            Ok(())
        }
    }
    const HEAD: &[u8] = b"{\"structLogs\":";
    const TAIL: &[u8] = b"],\"gas\":";
    assert!(text.starts_with(HEAD), "structLogs come first");
    let end = text.windows(TAIL.len()).rposition(|window| window == TAIL).unwrap() + 1;
    let totals: Value = serde_json::from_slice(&[b"{", &text[end + 1..]].concat()).unwrap();
    assert!(totals.as_object().unwrap().keys().all(|key| key.as_str() < "structLogs"), "{totals}");
    let mut steps = Steps(Sha256::new(), false);
    steps.0.update(totals.to_string().strip_suffix('}').unwrap());
    steps.0.update(",\"structLogs\":[");
    let mut deserializer = serde_json::Deserializer::from_slice(&text[HEAD.len()..end]);
    serde::Deserializer::deserialize_seq(&mut deserializer, &mut steps).unwrap();
    deserializer.end().unwrap();
    steps.0.update("]}");
    steps.0.finalize()[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// First 8 bytes of SHA-256 over the JSON with sorted keys and no white space, in hex.
pub fn digest(value: &Value) -> String {
    // The map of serde_json is sorted by key, so its text is canonical.
    let hash = Sha256::digest(value.to_string());
    hash[..8].iter().map(|b| format!("{b:02x}")).collect()
}

/// Path of the first difference, for a reader.
pub fn first_difference(have: &Value, want: &Value, at: &str) -> Option<String> {
    if have == want {
        return None;
    }
    let show =
        |v: Option<&Value>| v.map_or("absent".to_owned(), |v| v.to_string().chars().take(120).collect());
    match (have, want) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys()) {
                let at = format!("{at}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => {
                        if let Some(found) = first_difference(a, b, &at) {
                            return Some(found);
                        }
                    }
                    (a, b) => return Some(format!("{at}: have {}, want {}", show(a), show(b))),
                }
            }
            None
        }
        (Value::Array(a), Value::Array(b)) => {
            (0..a.len().max(b.len())).find_map(|i| match (a.get(i), b.get(i)) {
                (Some(a), Some(b)) => first_difference(a, b, &format!("{at}[{i}]")),
                (a, b) => Some(format!("{at}[{i}]: have {}, want {}", show(a), show(b))),
            })
        }
        _ => Some(format!("{at}: have {}, want {}", show(Some(have)), show(Some(want)))),
    }
}

/// Collects failures so that a test can name all of them.
#[derive(Default)]
pub struct Table {
    passed: usize,
    failures: Vec<String>,
}

impl Table {
    pub fn check(&mut self, name: &str, difference: Option<String>) {
        match difference {
            None => self.passed += 1,
            Some(why) => self.failures.push(format!("{name}: {why}")),
        }
    }

    /// Fails with the first differences unless all `expected` checks passed.
    pub fn finish(self, expected: usize) {
        let shown: Vec<&str> = self.failures.iter().take(40).map(String::as_str).collect();
        assert!(
            self.failures.is_empty(),
            "{} passed, {} failed\n{}",
            self.passed,
            self.failures.len(),
            shown.join("\n")
        );
        assert_eq!(self.passed, expected, "number of checks");
    }
}
