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

/// Bytes of answers to reads that may wait to go out. A script waits for each answer: a process
/// that has more of them to come reads on and takes none.
const WAITING_ANSWERS_BYTES: usize = 1 << 20;

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

    /// Why it is over. A script that is late stays late where its client is gone: the client may
    /// have the error already.
    pub fn over(&self) -> Option<(TraceError, ScriptVerdict)> {
        if self.limits.call_is_over() {
            return Some((TraceError::CallTimeout, ScriptVerdict::Late));
        }
        if Instant::now() >= self.deadline {
            return Some((TraceError::ExecutionTimeout, ScriptVerdict::Late));
        }
        let cancelled = self.limits.cancel.is_cancelled();
        cancelled.then_some((TraceError::Cancelled, ScriptVerdict::Unwanted))
    }
}

/// An open channel.
pub(crate) struct Link {
    session: Box<dyn ScriptSession>,
    /// What is to go out.
    pub out: Vec<u8>,
    sent: usize,
    /// Bytes of `out` that are answers to reads.
    answers: usize,
    /// The process has said that it is ready, which it does once.
    is_ready: bool,
}

impl Link {
    pub fn new(session: Box<dyn ScriptSession>) -> Self {
        Self { session, out: Vec::new(), sent: 0, answers: 0, is_ready: false }
    }

    /// Sends and listens until the goal is reached.
    pub fn pump(
        &mut self,
        goal: Awaited,
        time: &Time,
        state: &mut dyn StateReads,
    ) -> Result<Option<HostMessage>, Stop> {
        loop {
            if let Some(said) = self.listen(goal, time, state)? {
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
    fn listen(
        &mut self,
        goal: Awaited,
        time: &Time,
        state: &mut dyn StateReads,
    ) -> Result<Option<HostMessage>, Stop> {
        while self.answers < WAITING_ANSWERS_BYTES
            && let Some((kind, payload)) = self.session.read()?
        {
            match (said(kind, payload), goal) {
                (Some(HostMessage::Ready), _) if !self.is_ready => self.is_ready = true,
                (Some(HostMessage::Read(read)), _) => {
                    let before = self.out.len();
                    put_answer(&mut self.out, read, state);
                    self.answers += self.out.len() - before;
                }
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
            // A process that sends without end keeps the request no longer than its deadline.
            if let Some((error, verdict)) = time.over() {
                return Err(Stop::Error(error, verdict));
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
        (self.sent, self.answers) = (0, 0);
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
                        if Instant::now() >= until {
                            return false;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A process that sends the same message without end, and takes what it is sent, or nothing.
    struct Flood {
        kind: u8,
        payload: Vec<u8>,
        takes: bool,
        verdicts: Arc<Mutex<Vec<ScriptVerdict>>>,
    }

    impl ScriptSession for Flood {
        fn write(&mut self, bytes: &[u8]) -> Result<usize, ScriptGone> {
            Ok(if self.takes { bytes.len() } else { 0 })
        }

        fn read(&mut self) -> Result<Option<(u8, Vec<u8>)>, ScriptGone> {
            Ok(Some((self.kind, self.payload.clone())))
        }

        fn wait(&self, _: bool, at_most: Duration) {
            std::thread::sleep(at_most.min(Duration::from_millis(1)));
        }

        fn end(self: Box<Self>, verdict: ScriptVerdict) {
            self.verdicts.lock().unwrap().push(verdict);
        }
    }

    /// A link to a process that floods it, and how its sessions ended.
    fn flooded(kind: u8, payload: &[u8], takes: bool) -> (Link, Arc<Mutex<Vec<ScriptVerdict>>>) {
        let verdicts = Arc::<Mutex<Vec<ScriptVerdict>>>::default();
        let flood = Flood { kind, payload: payload.to_vec(), takes, verdicts: Arc::clone(&verdicts) };
        (Link::new(Box::new(flood)), verdicts)
    }

    fn soon() -> Time {
        let limits = Limits { timeout: Duration::from_millis(50), ..Limits::default() };
        Time::new(&limits, Instant::now())
    }

    #[test]
    fn a_process_that_reads_without_end_is_stopped_in_time() {
        for takes in [false, true] {
            let (mut link, _) = flooded(11, &[0; 21], takes);
            let outcome = link.pump(Awaited::Result, &soon(), &mut NoState);
            let Err(Stop::Error(TraceError::ExecutionTimeout, ScriptVerdict::Late)) = outcome else {
                panic!("takes {takes}: another end");
            };
            assert!(link.out.len() < WAITING_ANSWERS_BYTES + 100, "takes {takes}: {}", link.out.len());
        }
    }

    #[test]
    fn a_late_script_stays_late_once_its_client_is_gone() {
        let limits = Limits { timeout: Duration::from_secs(60), ..Limits::default() };
        let verdict = |since: Instant| Time::new(&limits, since).over().map(|(_, verdict)| verdict);
        let (now, late) = (Instant::now(), Instant::now() - Duration::from_secs(61));
        assert_eq!((verdict(now), verdict(late)), (None, Some(ScriptVerdict::Late)));
        limits.cancel.cancel();
        let gone = (Some(ScriptVerdict::Unwanted), Some(ScriptVerdict::Late));
        assert_eq!((verdict(now), verdict(late)), gone);
    }

    #[test]
    fn a_process_is_ready_once() {
        let (mut link, _) = flooded(10, &[], true);
        let outcome = link.pump(Awaited::Result, &soon(), &mut NoState);
        let Err(Stop::Error(TraceError::Script(text), ScriptVerdict::Gone)) = outcome else {
            panic!("another end");
        };
        assert_eq!(text, "the process of the JavaScript tracer sent a message that is none");
    }

    #[test]
    fn a_script_that_is_stopped_and_sends_on_ends_in_time() {
        let (link, verdicts) = flooded(11, &[0; 21], true);
        let began = Instant::now();
        link.stop(ScriptVerdict::Unwanted);
        assert!(began.elapsed() >= STOP_PATIENCE);
        assert_eq!(*verdicts.lock().unwrap(), [ScriptVerdict::Unwanted]);
    }
}
