//! Several tracers over one execution, without duplicates.
//!
//! The request is a list of plans, each of which may be a muxTracer of others. The execution is
//! observed by a flat set: one recording of call frames for all tracers that render those, one
//! instance of any other plan however often it occurs, and the struct loggers with their writers. A
//! [`View`] maps a plan to its part of that set.

use crate::frame_tracer::{FrameView, Frames};
use crate::struct_log_config::StructLogConfig;
use crate::struct_logger::StepWriter;
use alloy_primitives::{Address, Log, U256};
use hearth_evm::EvmContext;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder::RecorderOptions;
use hearth_recorder::sink::SinkClosed;
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use hearth_recorder::{ScriptPlan, StateReads};
use hearth_script_tracer::ScriptTracer;
use revm::Inspector;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, Interpreter};
use std::time::Duration;

/// Bytes that all struct loggers within a muxTracer may write for one transaction: their text is
/// held until the transaction has ended. A struct logger outside of a muxTracer has no such limit,
/// because its text is sent while it writes.
pub const MUX_STEPS_BYTES: usize = 64 << 20;

/// How a plan's result comes from an ensemble.
pub(crate) enum View {
    /// From the recording of frames.
    Frames(Box<dyn FrameView>),
    /// From the tracer at this position.
    Tracer(usize),
    /// From the struct logger at this position, which keeps what it writes.
    Steps(usize),
    /// One member for each, by these names.
    Mux(Vec<(String, View)>),
}

/// A plan that an ensemble can serve. Plans are generic here, because the plans of tracers include
/// that of muxTracer, which is an ensemble.
pub(crate) trait Member: Clone + PartialEq {
    /// Adds what the plan needs, and returns the view of its result.
    fn add_to(&self, ensemble: &mut Ensemble<'_, Self>) -> View;
}

/// Tracers that watch the same execution.
pub(crate) struct Ensemble<'s, P> {
    frames: Frames,
    /// What the recording of frames must hold, where there is one.
    recorded: Option<RecorderOptions>,
    tracers: Vec<(P, Box<dyn Tracing>)>,
    /// Struct loggers that keep what they write.
    kept: Vec<(StructLogConfig, StepWriter<'static>)>,
    /// Struct loggers that write to sinks of their own.
    streaming: Vec<StepWriter<'s>>,
    /// No transaction is executed again: what struct loggers have sent cannot be taken back.
    once: bool,
}

impl<'s, P: Member> Ensemble<'s, P> {
    /// No tracers. With `once` those that are added need only one execution.
    pub(crate) fn new(once: bool) -> Self {
        Self {
            frames: Frames::default(),
            recorded: None,
            tracers: Vec::new(),
            kept: Vec::new(),
            streaming: Vec::new(),
            once,
        }
    }

    /// Takes in tracers by the names of their results.
    pub(crate) fn add_mux(&mut self, plans: &[(String, P)]) -> View {
        View::Mux(plans.iter().map(|(name, plan)| (name.clone(), plan.add_to(self))).collect())
    }

    /// Takes in a JavaScript tracer.
    pub(crate) fn add_script(&mut self, plan: &P, script: &ScriptPlan, no_host: fn() -> TraceError) -> View {
        let make: fn(&ScriptPlan, fn() -> TraceError) -> ScriptTracer = match self.once {
            false => ScriptTracer::new,
            true => ScriptTracer::recording_everything,
        };
        self.add_tracer(plan, || Box::new(make(script, no_host)))
    }

    /// Adds a struct logger that writes into `json` while the transaction runs. Returns its
    /// position among those.
    pub(crate) fn add_streaming(&mut self, config: StructLogConfig, json: JsonWriter<'s>) -> usize {
        self.streaming.push(StepWriter::new(config, json));
        self.streaming.len() - 1
    }

    /// The struct logger that was taken in to write while the transaction runs.
    pub(crate) fn streaming(&mut self, position: usize) -> Option<&mut StepWriter<'s>> {
        self.streaming.get_mut(position)
    }

    /// Closes the JSON that struct loggers with sinks left open for a transaction that did not run
    /// to its end.
    pub(crate) fn cut_short(&mut self) {
        self.streaming.iter_mut().for_each(StepWriter::cut_short);
    }

    /// Hands what the struct loggers still have to their sinks.
    pub(crate) fn end_streams(self) -> Result<(), SinkClosed> {
        self.streaming.into_iter().try_for_each(|steps| steps.json.finish().map(drop))
    }

    /// Takes in a view of the recording of frames.
    pub(crate) fn add_frames(&mut self, view: Box<dyn FrameView>) -> View {
        let (had, more) = (self.recorded.unwrap_or_default(), view.options());
        self.recorded =
            Some(RecorderOptions { nested: had.nested || more.nested, logs: had.logs || more.logs });
        View::Frames(view)
    }

    /// Takes in a tracer, unless an equal plan has one already.
    pub(crate) fn add_tracer(&mut self, plan: &P, make: impl FnOnce() -> Box<dyn Tracing>) -> View {
        let known = self.tracers.iter().position(|(known, _)| known == plan);
        View::Tracer(known.unwrap_or_else(|| {
            self.tracers.push((plan.clone(), make()));
            self.tracers.len() - 1
        }))
    }

    /// Takes in a struct logger whose text is held until the transaction has ended.
    pub(crate) fn add_steps(&mut self, config: StructLogConfig) -> View {
        let known = self.kept.iter().position(|(known, _)| *known == config);
        View::Steps(known.unwrap_or_else(|| {
            self.kept.push((config, StepWriter::new(config, JsonWriter::keeping(0))));
            let share = MUX_STEPS_BYTES / self.kept.len();
            for (_, steps) in &mut self.kept {
                steps.json = JsonWriter::keeping(share);
            }
            self.kept.len() - 1
        }))
    }

    /// Writes the result of a view for the transaction that was recorded last.
    pub(crate) fn render_view(&mut self, view: &View, json: &mut JsonWriter<'_>) {
        match view {
            View::Frames(view) => self.frames.render(view.as_ref(), json),
            View::Tracer(position) => self.tracers[*position].1.render(json),
            View::Steps(position) => json.raw(self.kept[*position].1.json.kept()),
            View::Mux(members) => {
                json.raw(b"{");
                for (i, (name, view)) in members.iter().enumerate() {
                    json.raw(if i > 0 { b"," } else { b"" });
                    json.string(name);
                    json.raw(b":");
                    self.render_view(view, json);
                }
                json.raw(b"}");
            }
        }
    }
}

/// Does something to everything that watches, whatever its type.
macro_rules! each {
    ($ensemble:expr, $watcher:ident => $hook:expr) => {{
        let ensemble = $ensemble;
        if ensemble.recorded.is_some() {
            let $watcher = &mut ensemble.frames.recorder;
            $hook;
        }
        for (_, tracer) in &mut ensemble.tracers {
            let $watcher = tracer.as_mut();
            $hook;
        }
        for (_, $watcher) in &mut ensemble.kept {
            $hook;
        }
        for $watcher in &mut ensemble.streaming {
            $hook;
        }
    }};
}

// A tracer only watches: none of them answers a call itself.
impl<'a, P> Inspector<EvmContext<'a>> for Ensemble<'_, P> {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        each!(self, watcher => watcher.initialize_interp(interpreter, context));
    }

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        each!(self, watcher => watcher.step(interpreter, context));
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        each!(self, watcher => watcher.step_end(interpreter, context));
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        each!(self, watcher => watcher.log(context, log.clone()));
    }

    fn log_full(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>, log: Log) {
        each!(self, watcher => watcher.log_full(interpreter, context, log.clone()));
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        each!(self, watcher => watcher.call(context, inputs));
        None
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        each!(self, watcher => watcher.call_end(context, inputs, outcome));
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        each!(self, watcher => watcher.create(context, inputs));
        None
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        each!(self, watcher => watcher.create_end(context, inputs, outcome));
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        each!(self, watcher => Inspector::<EvmContext<'a>>::selfdestruct(watcher, contract, target, value));
    }
}

impl<P> Observed for Ensemble<'_, P> {
    fn size_bytes(&self) -> usize {
        let recorded = if self.recorded.is_some() { self.frames.recorder.size_bytes() } else { 0 };
        let tracers: usize = self.tracers.iter().map(|(_, tracer)| tracer.size_bytes()).sum();
        let kept: usize = self.kept.iter().map(|(_, steps)| steps.size_bytes()).sum();
        let streaming: usize = self.streaming.iter().map(Observed::size_bytes).sum();
        recorded + tracers + kept + streaming
    }

    fn waited(&self) -> Duration {
        self.streaming.iter().map(Observed::waited).sum()
    }

    fn is_closed(&self) -> bool {
        self.streaming.iter().any(Observed::is_closed)
    }

    fn step_bytes(&self) -> u64 {
        let kept = self.kept.iter().map(|(_, steps)| steps.step_bytes());
        kept.chain(self.streaming.iter().map(Observed::step_bytes)).max().unwrap_or(0)
    }

    fn failure(&self) -> Option<TraceError> {
        if let Some(failure) = self.tracers.iter().find_map(|(_, tracer)| tracer.failure()) {
            return Some(failure);
        }
        let overflowed = self.kept.iter().any(|(_, steps)| steps.json.overflowed());
        overflowed.then(|| TraceError::StepsTooLarge { limit_bytes: MUX_STEPS_BYTES / self.kept.len() })
    }
}

impl<P> Tracing for Ensemble<'_, P> {
    fn open(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        for (_, tracer) in &mut self.tracers {
            if !tracer.open(limits, blocking)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn begin(&mut self, tx: &TxContext) {
        if let Some(options) = self.recorded {
            self.frames.begin(options, tx);
        }
        self.tracers.iter_mut().for_each(|(_, tracer)| tracer.begin(tx));
        for (_, steps) in &mut self.kept {
            steps.json.restart();
            steps.begin();
        }
        self.streaming.iter_mut().for_each(StepWriter::begin);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.frames.recorder.finish(end.gas_limit, end.gas_used);
        self.tracers.iter_mut().for_each(|(_, tracer)| tracer.finish(end));
        self.kept.iter_mut().for_each(|(_, steps)| steps.finish(end));
        self.streaming.iter_mut().for_each(|steps| steps.finish(end));
    }

    fn after_transaction(&mut self, state: &mut dyn StateReads) {
        self.tracers.iter_mut().for_each(|(_, tracer)| tracer.after_transaction(state));
    }

    fn needs_rerun(&self) -> bool {
        self.tracers.iter().any(|(_, tracer)| tracer.needs_rerun())
    }

    fn abort(&mut self, error: &TraceError) {
        self.tracers.iter_mut().for_each(|(_, tracer)| tracer.abort(error));
    }

    /// Renders nothing: the output depends on the view, see [`Ensemble::render_view`].
    fn render(&mut self, _: &mut JsonWriter<'_>) {}
}
