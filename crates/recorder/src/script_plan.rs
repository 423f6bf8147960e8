//! What a request names as a script.

/// go-ethereum's own scripts (eth/tracers/js/internal/tracers). They answer by name, wherever
/// scripts run.
pub const SCRIPTS: &[&str] = &[
    "opcountTracer",
    "unigramTracer",
    "bigramTracer",
    "trigramTracer",
    "evmdisTracer",
    "4byteTracerLegacy",
    "callTracerLegacy",
    "prestateTracerLegacy",
    "noopTracerLegacy",
];

/// A script and its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScriptPlan {
    /// Source of an expression that is an object, or the name of one of [`SCRIPTS`].
    pub text: String,
    /// JSON text of `tracerConfig`; `None` where the request has none.
    pub config: Option<String>,
}

impl ScriptPlan {
    /// Whether the text is a name.
    pub fn is_named(&self) -> bool {
        SCRIPTS.contains(&self.text.as_str())
    }
}
