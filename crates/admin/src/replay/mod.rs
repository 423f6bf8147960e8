//! `hearth replay`: traces of files, without a home.
//!
//! The output is one line of JSON for each file and configuration, in that order: the bare result
//! for a tracer test and for a single transaction, the array of `debug_traceBlockByNumber` for a
//! block. Several configurations of a file need one execution. A trace that fails has the line
//! `{"error":{"code":…,"message":…}}`; the rest follows, and the stream ends with an error.

mod input;
mod scripts;
mod shared;

use hearth_home::{ByteSender, ByteStream, NodeError, ScriptsConfig, stream, workers::guarded};
use hearth_tracers::{Cancel, Sink, TraceConfig, TraceError, TracePlan};
use hearth_traces::{
    Counted,
    replayed::{trace_block, trace_transaction},
};
use input::Input;
use scripts::Scripts;
use serde::Deserialize;
use std::path::PathBuf;

/// JSON-RPC code of a failed trace, as go-ethereum answers it.
const TRACE_ERROR_CODE: i32 = -32_000;

/// What to trace, as `hearth replay` hands it over.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// Tracer tests and recorded blocks, plain or gzipped.
    pub files: Vec<PathBuf>,
    /// Configurations, each the second parameter of `debug_traceTransaction`; an empty list stands
    /// for the default one.
    #[serde(default)]
    pub traces: Vec<serde_json::Value>,
    /// Position of the only transaction that is wanted; all where absent.
    #[serde(default)]
    pub tx: Option<usize>,
    /// Who runs JavaScript tracers; absent where they are not allowed.
    #[serde(default)]
    pub scripts: Option<ScriptsConfig>,
}

impl Replay {
    /// Reads a replay from JSON.
    ///
    /// # Errors
    /// [`NodeError::InvalidParams`] naming the field.
    pub fn from_json(text: &[u8]) -> Result<Self, NodeError> {
        serde_json::from_slice(text).map_err(|error| NodeError::invalid_params(error.to_string()))
    }

    /// Starts the work on its own thread. The first item of the stream is an error if the work
    /// cannot start.
    pub fn start(self) -> ByteStream {
        let cancel = Cancel::new();
        let on_cancel = cancel.clone();
        let (sender, stream) = stream::channel(move || on_cancel.cancel());
        let slot = std::sync::Arc::new(parking_lot::Mutex::new(Some(sender)));
        let of_thread = slot.clone();
        let started = std::thread::Builder::new().name("hearth-replay".into()).spawn(move || {
            let Some(mut sender) = of_thread.lock().take() else { return };
            let end = guarded(|| self.run(&cancel, &mut sender));
            sender.finish(end);
        });
        if let Err(error) = started
            && let Some(sender) = slot.lock().take()
        {
            sender.finish(Err(NodeError::Internal { message: format!("cannot start a thread: {error}") }));
        }
        stream
    }

    fn plans(&self) -> Result<Vec<TracePlan>, NodeError> {
        let plan = |config: &serde_json::Value| {
            let config = TraceConfig::parse(&config.to_string()).map_err(TraceError::from)?;
            TracePlan::new(&config)
        };
        let default = [serde_json::Value::Null];
        let configs = if self.traces.is_empty() { &default[..] } else { &self.traces };
        configs.iter().map(|config| plan(config).map_err(hearth_traces::trace_error)).collect()
    }

    fn run(&self, cancel: &Cancel, sender: &mut ByteSender) -> Result<(), NodeError> {
        let plans = self.plans()?;
        let scripts = Scripts::new(self.scripts.as_ref(), &plans)?;
        let mut failed = None;
        for path in &self.files {
            let input = Input::read(path)?;
            let index = self.index(&input, path)?;
            let outcome = match &plans[..] {
                [plan] => line(&input, index, plan, &scripts, cancel, sender),
                plans => shared::lines(&input, index, plans, &scripts, cancel, sender),
            };
            let Err(error) = outcome else { continue };
            if cancel.is_cancelled() {
                return Ok(());
            }
            failed.get_or_insert(NodeError::Trace { source: format!("{}: {error}", path.display()).into() });
        }
        failed.map_or(Ok(()), |error| {
            sender.flush();
            Err(error)
        })
    }

    /// Position of the only transaction that is wanted of a file; `None` for the block as a whole.
    fn index(&self, input: &Input, path: &std::path::Path) -> Result<Option<usize>, NodeError> {
        let count = input.count();
        match self.tx.or(input.is_single().then_some(0)) {
            Some(index) if index >= count => Err(NodeError::Input {
                file: path.to_owned(),
                reason: TraceError::IndexOutOfRange { index, count }.to_string(),
            }),
            index => Ok(index),
        }
    }
}

/// Writes the line of one file under one configuration. The line of a trace that fails says so.
fn line(
    input: &Input,
    index: Option<usize>,
    plan: &TracePlan,
    scripts: &Scripts,
    cancel: &Cancel,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let mut line = Line::new(sender);
    let outcome = input.replay().and_then(|mut replay| {
        let limits = scripts.limits(cancel)?;
        match index {
            Some(index) => trace_transaction(&mut replay, index, plan, &limits, line.sink()).map(drop),
            None => trace_block(&mut replay, plan, &limits, line.sink()).map(drop),
        }
        .map_err(hearth_traces::trace_error)
    });
    line.end(outcome)
}

/// A line of the output: a result as it comes.
struct Line<'a>(Counted<'a>);

impl<'a> Line<'a> {
    fn new(sender: &'a mut ByteSender) -> Self {
        Self(Counted { sender, written: 0 })
    }

    /// Where the result goes.
    fn sink(&mut self) -> &mut dyn Sink {
        &mut self.0
    }

    /// Ends the line. If nothing of a result was written, the error takes its place; otherwise the
    /// result is a complete JSON value that ends early.
    fn end(self, outcome: Result<(), NodeError>) -> Result<(), NodeError> {
        let Counted { sender, written } = self.0;
        if let Err(error) = &outcome
            && written == 0
        {
            failure(error, sender)?;
        }
        sender.write(b"\n").map_err(|_| NodeError::Cancelled)?;
        outcome
    }
}

/// Writes an error in place of a result.
fn failure(error: &NodeError, sender: &mut ByteSender) -> Result<(), NodeError> {
    let message = error.to_string();
    let value = serde_json::json!({ "error": { "code": TRACE_ERROR_CODE, "message": message } });
    sender.write(value.to_string().as_bytes()).map_err(|_| NodeError::Cancelled)
}
