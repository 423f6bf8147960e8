//! The channel of one script: outgoing data waits here, and incoming data is read meanwhile.

use crate::message::{HostMessage, put, put_answer, said, to};
use hearth_recorder::StateReads;
use hearth_recorder::error::TraceError;
use hearth_recorder::limits::Limits;
use hearth_recorder::{ScriptGone, ScriptSession, ScriptVerdict};
use std::time::{Duration, Instant};

/// How long one waits before one looks at the cancel flag again.
const LOOK: Duration = Duration::from_millis(20);

/// How long a script may take to stop once its result is no longer needed.
const STOP_PATIENCE: Duration = Duration::from_millis(100);

/// Why a script goes no further.
pub(crate) enum Stop {
    /// It failed, with this message.
    Script(String),
    /// It reached for what was not recorded.
    Needs(crate::fields::Fields),
    /// It cannot continue, or may not.
    Error(TraceError, ScriptVerdict),
}

impl From<ScriptGone> for Stop {
    fn from(gone: ScriptGone) -> Self {
        Self::Error(TraceError::Script(gone.0), ScriptVerdict::Gone)
    }
}

/// The kind of message that the tracer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Everything went out.
    Sent,
    /// The script was loaded.
    Loaded,
    /// It has seen all steps.
    Done,
    /// Its result.
    Result,
}

/// Until when, and whether at all, a transaction's script may run.
#[derive(Clone, Debug)]
pub(crate) struct Time {
    limits: Limits,
    deadline: Instant,
}

impl Time {
    /// The time of a transaction that began then.
    pub fn new(limits: &Limits, since: Instant) -> Self {
        Self { limits: limits.clone(), deadline: since + limits.timeout }
    }

    /// Why it is over.
    pub fn over(&self) -> Option<(TraceError, ScriptVerdict)> {
        if self.limits.cancel.is_cancelled() {
            return Some((TraceError::Cancelled, ScriptVerdict::Unwanted));
        }
        if self.limits.call_is_over() {
            return Some((TraceError::CallTimeout, ScriptVerdict::Late));
        }
        (Instant::now() >= self.deadline).then_some((TraceError::ExecutionTimeout, ScriptVerdict::Late))
    }
}

/// An open channel.
pub(crate) struct Link {
    session: Box<dyn ScriptSession>,
    /// What is to go out.
    pub out: Vec<u8>,
    sent: usize,
}

impl Link {
    pub fn new(session: Box<dyn ScriptSession>) -> Self {
        Self { session, out: Vec::new(), sent: 0 }
    }

    /// Sends and listens until the goal is reached.
    pub fn pump(
        &mut self,
        goal: Awaited,
        time: &Time,
        state: &mut dyn StateReads,
    ) -> Result<Option<HostMessage>, Stop> {
        loop {
            if let Some(said) = self.listen(goal, state)? {
                return Ok(Some(said));
            }
            self.write()?;
            if self.out.is_empty() && goal == Awaited::Sent {
                return Ok(None);
            }
            if let Some((error, verdict)) = time.over() {
                return Err(Stop::Error(error, verdict));
            }
            let left = time.deadline.saturating_duration_since(Instant::now());
            self.session.wait(!self.out.is_empty(), left.min(LOOK));
        }
    }

    /// Reads what has come; what the goal is, where that is there.
    fn listen(&mut self, goal: Awaited, state: &mut dyn StateReads) -> Result<Option<HostMessage>, Stop> {
        while let Some((kind, payload)) = self.session.read()? {
            match (said(kind, payload), goal) {
                (Some(HostMessage::Ready), _) => {}
                (Some(HostMessage::Read(read)), _) => put_answer(&mut self.out, read, state),
                (Some(HostMessage::Failed(message)), _) => return Err(Stop::Script(message)),
                (Some(HostMessage::Needs(fields)), _) => return Err(Stop::Needs(fields)),
                (Some(said @ HostMessage::Loaded(_)), Awaited::Loaded)
                | (Some(said @ HostMessage::Done), Awaited::Done)
                | (Some(said @ HostMessage::Result(_)), Awaited::Result) => return Ok(Some(said)),
                _ => {
                    let text = "the process of the JavaScript tracer sent a message that is none";
                    return Err(ScriptGone(text.to_owned()).into());
                }
            }
        }
        Ok(None)
    }

    fn write(&mut self) -> Result<(), ScriptGone> {
        while self.sent < self.out.len() {
            match self.session.write(&self.out[self.sent..])? {
                0 => return Ok(()),
                written => self.sent += written,
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Ends the session. Where it may be used again, what is on its way goes out first.
    pub fn end(mut self, verdict: ScriptVerdict) {
        let clean = verdict == ScriptVerdict::Clean;
        let verdict = if clean && !self.drain(false) { ScriptVerdict::Unwanted } else { verdict };
        self.session.end(verdict);
    }

    /// Ends the session during a transaction: the script is notified, and killed if it does not
    /// react.
    pub fn stop(mut self, verdict: ScriptVerdict) {
        put(&mut self.out, to::STOP, &[]);
        let heard = self.drain(true);
        self.session.end(if heard { ScriptVerdict::Clean } else { verdict });
    }

    /// Sends the rest, and waits for the answer to it where there is one.
    fn drain(&mut self, answered: bool) -> bool {
        let until = Instant::now() + STOP_PATIENCE;
        loop {
            if answered {
                match self.session.read() {
                    Ok(Some((kind, payload))) => {
                        if said(kind, payload) == Some(HostMessage::Done) && self.out.is_empty() {
                            return true;
                        }
                        continue;
                    }
                    Ok(None) => {}
                    Err(_) => return false,
                }
            }
            if self.write().is_err() {
                return false;
            }
            if self.out.is_empty() && !answered {
                return true;
            }
            let now = Instant::now();
            if now >= until {
                return false;
            }
            self.session.wait(!self.out.is_empty(), until - now);
        }
    }
}

/// An empty state: reads before a transaction runs have no answer.
pub(crate) struct NoState;

impl StateReads for NoState {
    fn account(
        &mut self,
        _: alloy_primitives::Address,
    ) -> Result<Option<hearth_primitives::Account>, String> {
        Err(no_state())
    }

    fn slot(
        &mut self,
        _: alloy_primitives::Address,
        _: alloy_primitives::U256,
    ) -> Result<alloy_primitives::U256, String> {
        Err(no_state())
    }

    fn code(&mut self, _: alloy_primitives::Address) -> Result<alloy_primitives::Bytes, String> {
        Err(no_state())
    }
}

fn no_state() -> String {
    "there is no state before the transaction runs".to_owned()
}
