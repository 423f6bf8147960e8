//! Tracers by name, and the tracers that a muxTracer names.

use crate::decode::entries;
use crate::table::{TRACERS, TracerPlan, TracerRow};
use hearth_recorder::error::{ConfigError, TraceError};
use hearth_recorder::{SCRIPTS, ScriptPlan};

/// Longest piece of an unknown tracer's text that an error repeats, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Name of the tracer whose options are tracers.
const MUX_TRACER: &str = "muxTracer";
/// Most tracers in a muxTracer, those of nested ones included.
pub const MAX_MUX_TRACERS: usize = 32;
/// Most muxTracers within each other.
pub const MAX_MUX_DEPTH: usize = 4;

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
    /// Finds a usable tracer by its exact name; what is no word is source, the empty text included.
    ///
    /// # Errors
    /// [`TraceError::UnknownTracer`].
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
        Ok(Self::Script(text))
    }

    /// The tracer with its `tracerConfig` as JSON.
    ///
    /// # Errors
    /// [`TraceError::Config`] names the option that cannot be used.
    pub(crate) fn plan(self, config: Option<&str>) -> Result<TracerPlan, TraceError> {
        match self {
            Self::Tracer(row) => row.plan(config.unwrap_or("null")),
            Self::Script(text) => {
                let (text, config) = (text.to_owned(), config.map(str::to_owned));
                Ok(TracerPlan::Script(ScriptPlan { text, config }))
            }
        }
    }
}

/// Parses `tracerConfig` of muxTracer: the configurations of the tracers by name. The last one of a
/// repeated name counts.
pub(crate) fn parse_mux(json: &str) -> Result<Vec<(String, TracerPlan)>, TraceError> {
    parse_mux_at(json, 0)
}

fn parse_mux_at(json: &str, depth: usize) -> Result<Vec<(String, TracerPlan)>, TraceError> {
    let too_many = TraceError::Config(ConfigError::TooManyTracers {
        limit: MAX_MUX_TRACERS,
        depth_limit: MAX_MUX_DEPTH,
    });
    let found = entries(json, "map[string]json.RawMessage")?;
    if depth >= MAX_MUX_DEPTH || found.len() > MAX_MUX_TRACERS {
        return Err(too_many);
    }
    let mut plans: Vec<(String, TracerPlan)> = Vec::new();
    for (name, options) in found {
        let named = Named::find(&name)?;
        let plan = if matches!(named, Named::Tracer(row) if row.name == MUX_TRACER) {
            TracerPlan::Mux(parse_mux_at(options.get(), depth + 1)?)
        } else {
            named.plan(Some(options.get()))?
        };
        plans.retain(|(other, _)| *other != name);
        plans.push((name, plan));
    }
    plans.sort_by(|a, b| a.0.cmp(&b.0));
    if plans.iter().map(|(_, plan)| weight(plan)).sum::<usize>() > MAX_MUX_TRACERS {
        return Err(too_many);
    }
    Ok(plans)
}

/// Number of tracers in a plan.
fn weight(plan: &TracerPlan) -> usize {
    match plan {
        TracerPlan::Mux(plans) => 1 + plans.iter().map(|(_, plan)| weight(plan)).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoOptions, TraceConfig, TracePlan};

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
        for source in ["{step:function(){}}", "function(){}", "opcountTracer", " callTracer ", ""] {
            assert_eq!(Named::find(source).unwrap(), Named::Script(source));
        }
        let long = Named::find(&"a".repeat(10_000)).unwrap_err().to_string();
        assert!(long.len() < 600, "{}", long.len());
    }

    fn plan(json: &str) -> Result<TracerPlan, String> {
        let config = TraceConfig::parse(json).unwrap();
        TracePlan::new(&config).map(|plan| plan.tracer).map_err(|error| error.to_string())
    }

    #[test]
    fn muxes_nest_up_to_a_limit() {
        assert_eq!(
            plan(
                r#"{"tracer":"muxTracer","tracerConfig":{"noopTracer":null,"muxTracer":{"4byteTracer":{}}}}"#
            ),
            Ok(TracerPlan::Mux(vec![
                (
                    "muxTracer".to_owned(),
                    TracerPlan::Mux(vec![("4byteTracer".to_owned(), TracerPlan::FourByte(NoOptions))])
                ),
                ("noopTracer".to_owned(), TracerPlan::Noop(NoOptions)),
            ]))
        );
        let nested = |depth: usize| {
            let inner = (1..depth).fold("{}".to_owned(), |inner, _| format!(r#"{{"muxTracer":{inner}}}"#));
            plan(&format!(r#"{{"tracer":"muxTracer","tracerConfig":{inner}}}"#))
        };
        assert!(nested(MAX_MUX_DEPTH).is_ok());
        assert!(nested(MAX_MUX_DEPTH + 1).unwrap_err().contains("at most 32 tracers"), "too deep");
        let unknown = plan(r#"{"tracer":"muxTracer","tracerConfig":{"nope":null}}"#).unwrap_err();
        assert!(unknown.starts_with("unknown tracer \"nope\""), "{unknown}");
        let steps =
            plan(r#"{"tracer":"muxTracer","tracerConfig":{"opcodeTracer":{"limit":"x"}}}"#).unwrap_err();
        assert!(steps.contains("TraceConfig.Config.Limit of type int"), "{steps}");
    }
}
