//! A script over consecutive transactions: its session, the data recorded for it, and its answer.

use crate::chunk::{ACK, Chunk};
use crate::fields::Fields;
use crate::journal::JournalCursor;
use crate::link::{Awaited, Link, NoState, Stop, Time};
use crate::message::{Begin, End, HostMessage, put_json, to};
use alloy_primitives::{Address, Bytes, U256};
use hearth_evm::Fork;
use hearth_recorder::ScriptPlan;
use hearth_recorder::ScriptVerdict;
use hearth_recorder::StateReads;
use hearth_recorder::error::TraceError;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder::{Recorder, RecorderOptions};
use hearth_recorder::tracing::{TxContext, TxEnd};
use revm::precompile::{PrecompileSpecId, Precompiles};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Numbers of requests: the script host keeps nothing between two requests.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// How far the script of a transaction is.
#[derive(Debug, Default)]
pub(crate) enum Phase {
    /// Nothing is under way.
    #[default]
    Idle,
    /// It is replayed, or about to be.
    Running,
    /// It has answered.
    Answered(Vec<u8>),
    /// There is no answer.
    Failed(TraceError),
    /// The transaction is to be executed once more, with more fields.
    Rerun,
}

/// A frame that is open, as far as steps are concerned.
#[derive(Debug, Default)]
pub(crate) struct Inner {
    /// A step of it has been shown.
    pub shown: bool,
    /// Height of the stack that was shown last.
    pub height: usize,
    /// Opcode that was shown last.
    pub opcode: u8,
    /// Where that writes to memory.
    pub write: Option<(usize, usize)>,
    /// What the journal's cursor called touched before the frame.
    pub touched: usize,
}

/// The transaction's own frame, for `ctx`.
#[derive(Debug, Default)]
pub(crate) struct Top {
    pub block: u64,
    pub is_create: bool,
    pub from: Address,
    pub to: Address,
    pub value: U256,
    pub input: Bytes,
    pub output: Bytes,
    pub error: Option<String>,
}

/// A JavaScript tracer.
pub struct ScriptTracer {
    plan: ScriptPlan,
    /// The error where nothing runs scripts.
    no_host: fn() -> TraceError,
    request: u64,
    limits: Option<Limits>,
    link: Option<Link>,
    time: Option<Time>,
    /// What the script reaches, once that is known.
    known: Option<Fields>,
    rules: Option<(Fork, Vec<Address>)>,
    tx: Option<TxContext>,
    pub(crate) phase: Phase,
    pub(crate) fields: Fields,
    pub(crate) chunk: Chunk,
    pub(crate) frames: Recorder,
    pub(crate) cursor: JournalCursor,
    pub(crate) inner: Vec<Inner>,
    pub(crate) top: Top,
    pub(crate) opcode: u8,
    /// Size of memory before the last instruction whose cost is recorded, in bytes.
    pub(crate) memory: u64,
    /// The running frame is a creation without init code, in which the reference runs nothing.
    pub(crate) idle: bool,
    /// The last frame that ended by itself gave bytes back.
    pub(crate) returned: bool,
    pub(crate) refund_base: i64,
    pub(crate) refunds: Vec<i64>,
}

impl ScriptTracer {
    /// A tracer of this script. [`Tracing::open`] connects it to the script host.
    ///
    /// [`Tracing::open`]: hearth_recorder::Tracing::open
    ///
    /// `no_host` is the error where nothing runs scripts.
    pub fn new(plan: &ScriptPlan, no_host: fn() -> TraceError) -> Self {
        Self {
            plan: plan.clone(),
            no_host,
            request: REQUESTS.fetch_add(1, Ordering::Relaxed),
            limits: None,
            link: None,
            time: None,
            known: None,
            rules: None,
            tx: None,
            phase: Phase::Idle,
            fields: Fields::default(),
            chunk: Chunk::default(),
            frames: Recorder::new(),
            cursor: JournalCursor::default(),
            inner: Vec::new(),
            top: Top::default(),
            opcode: 0,
            memory: 0,
            idle: false,
            returned: false,
            refund_base: 0,
            refunds: Vec::new(),
        }
    }

    /// Same as [`Self::new`], but records everything from the start: for executions that cannot be
    /// repeated.
    pub fn recording_everything(plan: &ScriptPlan, no_host: fn() -> TraceError) -> Self {
        let mut tracer = Self::new(plan, no_host);
        tracer.known = Some(Fields::ALL);
        tracer
    }

    /// Gets a session; without `blocking` only one that is free at once. Returns whether there is
    /// one.
    pub(crate) fn connect(&mut self, limits: &Limits, blocking: bool) -> Result<bool, TraceError> {
        self.limits = Some(limits.clone());
        if self.link.is_some() {
            return Ok(true);
        }
        let host = limits.scripts.as_ref().ok_or_else(self.no_host)?;
        let session = if blocking {
            let until = Instant::now() + limits.timeout;
            Some(host.open(&self.plan, until, &limits.cancel)?)
        } else {
            host.try_open(&self.plan)
        };
        self.link = session.map(Link::new);
        Ok(self.link.is_some())
    }

    /// Forgets the last transaction and begins the next.
    pub(crate) fn start(&mut self, tx: &TxContext) {
        self.abandon(ScriptVerdict::Unwanted);
        let again = matches!(self.phase, Phase::Rerun);
        self.phase = Phase::Idle;
        self.reset(tx);
        if let Err(stop) = self.send_begin(tx, again) {
            self.over(stop);
        }
    }

    fn reset(&mut self, tx: &TxContext) {
        self.tx = Some(tx.clone());
        self.chunk.clear();
        self.frames.begin(RecorderOptions { nested: true, logs: false }, 0);
        self.cursor.begin();
        self.inner.clear();
        self.refunds.clear();
        self.top = Top::default();
        (self.opcode, self.memory, self.idle, self.returned, self.refund_base) = (0, 0, false, false, 0);
    }

    fn send_begin(&mut self, tx: &TxContext, again: bool) -> Result<(), Stop> {
        let error = |error| Stop::Error(error, ScriptVerdict::Clean);
        let limits = self.limits.clone().ok_or_else(|| error((self.no_host)()))?;
        self.connect(&limits, true).map_err(error)?;
        let (Some(link), Some(host)) = (&mut self.link, &limits.scripts) else {
            return Err(error((self.no_host)()));
        };
        // A transaction that is executed once more has no more time for that.
        let time = match self.time.take() {
            Some(time) if again => time,
            _ => Time::new(&limits, host.arrived().unwrap_or_else(Instant::now)),
        };
        let precompiles = match &mut self.rules {
            Some((fork, list)) if *fork == tx.fork => list,
            rules => {
                let list = Precompiles::new(PrecompileSpecId::from_spec_id(tx.fork.spec_id()));
                let mut list: Vec<Address> = list.addresses().copied().collect();
                list.sort_unstable();
                &mut rules.insert((tx.fork, list)).1
            }
        };
        let begin = Begin::new(&self.plan, self.known, precompiles, host.limits(), self.request);
        put_json(&mut link.out, to::BEGIN, &begin);
        let loaded = match self.known {
            Some(_) => Ok(None),
            None => link.pump(Awaited::Loaded, &time, &mut NoState),
        };
        self.time = Some(time);
        if let Some(HostMessage::Loaded(fields)) = loaded? {
            self.known = Some(fields);
        }
        self.fields = self.known.unwrap_or_default();
        self.chunk.begin(self.fields);
        self.phase = Phase::Running;
        Ok(())
    }

    /// The script goes no further.
    fn over(&mut self, stop: Stop) {
        self.phase = match stop {
            Stop::Script(message) => Phase::Failed(TraceError::Script(message)),
            Stop::Needs(more) => {
                let had = self.known.unwrap_or_default();
                self.known = Some(had | more);
                if more.is_within(had) {
                    let text = "the JavaScript tracer requests what it was given".to_owned();
                    Phase::Failed(TraceError::Script(text))
                } else {
                    Phase::Rerun
                }
            }
            Stop::Error(error, verdict) => {
                if let Some(link) = self.link.take() {
                    link.end(verdict);
                }
                Phase::Failed(error)
            }
        };
    }

    /// Whether something is recorded.
    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// Whether the transaction is to be executed once more.
    pub(crate) fn is_rerun(&self) -> bool {
        matches!(self.phase, Phase::Rerun)
    }

    /// Why there is no result, where that is known.
    pub(crate) fn why_none(&self) -> Option<TraceError> {
        match &self.phase {
            Phase::Failed(error) => Some(error.clone()),
            Phase::Rerun => Some(TraceError::Replay("the transaction is executed once more".into())),
            Phase::Running => self.time.as_ref()?.over().map(|(error, _)| error),
            _ => None,
        }
    }

    /// Whether the time of the transaction is over.
    pub(crate) fn is_late(&self) -> bool {
        let over = self.time.as_ref().and_then(Time::over);
        over.is_some_and(|(_, verdict)| verdict == ScriptVerdict::Late)
    }

    /// Gives up a transaction that is under way.
    pub(crate) fn abandon(&mut self, verdict: ScriptVerdict) {
        if self.is_running() {
            self.phase = Phase::Idle;
            if let Some(link) = self.link.take() {
                link.stop(verdict);
            }
        }
    }

    /// Sends the data recorded so far, and meanwhile answers the reads of the script.
    #[cold]
    #[inline(never)]
    pub(crate) fn flush(&mut self, state: &mut dyn StateReads) {
        self.send_chunk(0);
        self.pump(Awaited::Sent, state);
    }

    /// Sends the rest of the steps and waits until the script has seen them.
    pub(crate) fn conclude(&mut self, state: &mut dyn StateReads) {
        self.send_chunk(ACK);
        self.pump(Awaited::Done, state);
    }

    fn send_chunk(&mut self, flags: u32) {
        match &mut self.link {
            Some(link) if matches!(self.phase, Phase::Running) => self.chunk.send(&mut link.out, flags),
            _ => self.chunk.clear(),
        }
    }

    fn pump(&mut self, goal: Awaited, state: &mut dyn StateReads) -> Option<HostMessage> {
        if !self.is_running() {
            return None;
        }
        let (Some(link), Some(time)) = (&mut self.link, &self.time) else { return None };
        match link.pump(goal, time, state) {
            Ok(said) => said,
            Err(stop) => {
                self.over(stop);
                None
            }
        }
    }

    /// Sends how the transaction ended.
    pub(crate) fn record_end(&mut self, end: &TxEnd<'_>) {
        if !self.is_running() {
            return;
        }
        if self.fields.has(Fields::JOURNAL) {
            self.cursor.record_end(end.writes, &mut self.chunk);
        }
        if !self.chunk.is_empty() {
            self.send_chunk(0);
        }
        let ctx = self.ctx(end);
        if let Some(link) = &mut self.link {
            put_json(&mut link.out, to::END, &ctx);
        }
    }

    /// `ctx` as go-ethereum makes it (eth/tracers/js/goja.go: OnTxStart and GetResult): its gas
    /// price is the tip, and the index of a transaction is known only within a block.
    fn ctx(&mut self, end: &TxEnd<'_>) -> End {
        let Top { block, is_create, from, to, value, input, output, error } = std::mem::take(&mut self.top);
        let tx = self.tx.as_ref();
        let block_hash = tx.map(|tx| tx.block_hash).filter(|hash| !hash.is_zero());
        let tx_hash = tx.map(|tx| tx.hash).filter(|hash| !hash.is_zero() && block_hash.is_some());
        let tip = tx.map_or(0, |tx| tx.gas_price.saturating_sub(u128::from(tx.base_fee.unwrap_or(0))));
        End {
            r#type: if is_create { "CREATE" } else { "CALL" },
            from,
            to,
            input,
            gas: end.gas_limit,
            gas_used: end.gas_used,
            gas_price: tip.to_string(),
            value: value.to_string(),
            output,
            block,
            coinbase: tx.map(|tx| tx.coinbase).unwrap_or_default(),
            error,
            block_hash,
            tx_hash,
            tx_index: tx_hash.and(tx.map(|tx| tx.index)),
        }
    }

    /// Waits for the result. `state` is that after the transaction.
    pub(crate) fn answer(&mut self, state: &mut dyn StateReads) {
        if let Some(HostMessage::Result(bytes)) = self.pump(Awaited::Result, state) {
            self.phase = Phase::Answered(bytes);
        }
    }

    /// Bytes of the recording.
    pub(crate) fn recorded_bytes(&self) -> usize {
        self.chunk.size_bytes()
            + self.frames.size_bytes()
            + self.link.as_ref().map_or(0, |link| link.out.len())
    }
}

impl Drop for ScriptTracer {
    fn drop(&mut self) {
        self.abandon(ScriptVerdict::Unwanted);
        if let Some(link) = self.link.take() {
            link.end(ScriptVerdict::Clean);
        }
    }
}
