//! The table of tracers by name: what exists, what is still to come.

use crate::error::TraceError;
use crate::script::SCRIPTS;

/// Longest piece of an unknown tracer's text that an error repeats, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A tracer as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A built-in tracer.
    Tracer(TracerName),
    /// The source of a JavaScript tracer, or the name of one of go-ethereum's scripts.
    Script(&'a str),
}

/// A built-in tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are go-ethereum's own.
pub enum TracerName {
    CallTracer,
    FlatCallTracer,
    PrestateTracer,
    FourByteTracer,
    NoopTracer,
    MuxTracer,
    Erc7562Tracer,
    Keccak256PreimageTracer,
    OpcodeTracer,
}

/// Whether a tracer can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It renders.
    Built,
    /// Known by name; asking for it is a clear error.
    NotYet,
}

/// Every built-in tracer, by the name that users type.
pub const TRACERS: &[(&str, TracerName, Availability)] = &[
    ("callTracer", TracerName::CallTracer, Availability::Built),
    ("flatCallTracer", TracerName::FlatCallTracer, Availability::Built),
    ("prestateTracer", TracerName::PrestateTracer, Availability::Built),
    ("4byteTracer", TracerName::FourByteTracer, Availability::Built),
    ("noopTracer", TracerName::NoopTracer, Availability::Built),
    ("muxTracer", TracerName::MuxTracer, Availability::Built),
    ("erc7562Tracer", TracerName::Erc7562Tracer, Availability::Built),
    ("keccak256PreimageTracer", TracerName::Keccak256PreimageTracer, Availability::Built),
    ("opcodeTracer", TracerName::OpcodeTracer, Availability::Built),
];

fn names(keep: impl Fn(Availability) -> bool) -> String {
    let names: Vec<&str> = TRACERS.iter().filter(|t| keep(t.2)).map(|t| t.0).collect();
    names.join(", ")
}

/// The error for a tracer that is known but not built.
pub(crate) fn not_built(name: &str) -> TraceError {
    TraceError::NotBuilt { name: name.to_owned(), available: names(|a| a == Availability::Built) }
}

/// The error for JavaScript where nobody runs it.
pub(crate) fn no_scripts() -> TraceError {
    TraceError::JavaScript { available: names(|a| a == Availability::Built) }
}

impl<'a> Named<'a> {
    /// Finds a usable tracer by its exact name; what is no word is source.
    ///
    /// # Errors
    /// [`TraceError::UnknownTracer`], [`TraceError::NotBuilt`]; [`TraceError::JavaScript`] for an empty text.
    pub fn find(text: &'a str) -> Result<Self, TraceError> {
        if SCRIPTS.contains(&text) {
            return Ok(Self::Script(text));
        }
        if let Some((name, tracer, availability)) = TRACERS.iter().find(|t| t.0 == text) {
            return match availability {
                Availability::Built => Ok(Self::Tracer(*tracer)),
                Availability::NotYet => Err(not_built(name)),
            };
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            let cut = text.get(..MAX_NAME_BYTES).unwrap_or(text);
            let known = format!("{}, {}", names(|_| true), SCRIPTS.join(", "));
            return Err(TraceError::UnknownTracer { name: cut.to_owned(), known });
        }
        if text.is_empty() { Err(no_scripts()) } else { Ok(Self::Script(text)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_answers() {
        for (name, tracer, availability) in TRACERS {
            match (Named::find(name), availability) {
                (Ok(found), Availability::Built) => assert_eq!(found, Named::Tracer(*tracer)),
                (Err(TraceError::NotBuilt { name: said, available }), Availability::NotYet) => {
                    assert_eq!(&said, name);
                    assert!(available.contains("callTracer"));
                }
                (other, _) => panic!("{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn unknown_names_list_the_known_and_source_is_told_apart() {
        let unknown = Named::find("calltracer").unwrap_err().to_string();
        assert!(unknown.starts_with("unknown tracer \"calltracer\"; known: callTracer, "), "{unknown}");
        for source in ["{step:function(){}}", "function(){}", "opcountTracer", " callTracer "] {
            assert_eq!(Named::find(source).unwrap(), Named::Script(source));
        }
        assert!(matches!(Named::find(""), Err(TraceError::JavaScript { .. })));
        let long = Named::find(&"a".repeat(10_000)).unwrap_err().to_string();
        assert!(long.len() < 600, "{}", long.len());
    }
}
