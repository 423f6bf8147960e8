//! toyTracer: the whole file of a tracer, for the tests of the table. It counts the frames of a
//! transaction.

use crate::{ConfigError, FrameView, JsonWriter, Recorder, RecorderOptions, TxContext};

/// toyTracer and its options.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct ToyTracer {
    greeting: Option<String>,
}

impl ToyTracer {
    /// Reads `tracerConfig`.
    pub(crate) fn parse(json: &str) -> Result<Self, ConfigError> {
        let options: Option<Self> =
            serde_json::from_str(json).map_err(|error| ConfigError::Syntax(error.to_string()))?;
        Ok(options.unwrap_or_default())
    }
}

impl FrameView for ToyTracer {
    fn options(&self) -> RecorderOptions {
        RecorderOptions { nested: true, logs: false }
    }

    fn render(&self, recording: &Recorder, _: &TxContext, json: &mut JsonWriter<'_>) {
        json.string(&format!("{} {}", self.greeting.as_deref().unwrap_or("hello"), recording.frames().len()));
    }
}
