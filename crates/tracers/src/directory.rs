//! Tracers by name.

use crate::table::{TRACERS, TracerRow};
use hearth_recorder::SCRIPTS;
use hearth_recorder::error::TraceError;

/// Longest piece of an unknown tracer's text that an error repeats, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A tracer as a request names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named<'a> {
    /// A built-in tracer.
    Tracer(&'static TracerRow),
    /// The source of a JavaScript tracer, or the name of one of go-ethereum's scripts.
    Script(&'a str),
}

fn names() -> String {
    TRACERS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// The error for a JavaScript tracer on a node without a script host.
pub(crate) fn no_scripts() -> TraceError {
    TraceError::JavaScript { available: names() }
}

impl<'a> Named<'a> {
    /// Finds a usable tracer by its exact name; what is no word is source.
    ///
    /// # Errors
    /// [`TraceError::UnknownTracer`]; [`TraceError::JavaScript`] for an empty text.
    pub fn find(text: &'a str) -> Result<Self, TraceError> {
        if SCRIPTS.contains(&text) {
            return Ok(Self::Script(text));
        }
        if let Some(row) = TracerRow::find(text) {
            return Ok(Self::Tracer(row));
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            let cut = text.get(..MAX_NAME_BYTES).unwrap_or(text);
            let known = format!("{}, {}", names(), SCRIPTS.join(", "));
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
        for row in TRACERS {
            assert_eq!(Named::find(row.name).unwrap(), Named::Tracer(row));
            row.plan("null").unwrap();
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
