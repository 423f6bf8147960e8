//! Scripts that run in this process, on the thread of the caller: a bounded queue of messages in
//! each direction replaces the child process.
//!
//! The tracer and the owner of the [`HookLink`] interpret the messages; each has a kind and a
//! payload.

use hearth_sandbox::HEADER_BYTES;
use hearth_tracers::{Cancel, ScriptGone, ScriptHost, ScriptLimits, ScriptPlan, ScriptSession};
use hearth_tracers::{ScriptVerdict, TraceError};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes queued for the hooks beyond which the execution waits; the limit may be exceeded by one
/// write.
const AHEAD_BYTES: usize = 1 << 20;

/// Messages queued for the execution beyond which no more are taken; the hooks send a few for each
/// transaction.
const SAID_MAX: usize = 1024;

type Message = (u8, Vec<u8>);
type Waker = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queues {
    to_hooks: VecDeque<Message>,
    /// Bytes of the payloads in it.
    bytes: usize,
    to_core: VecDeque<Message>,
    /// The thread of the hooks stands still until something comes, so the bound does not hold.
    stuck: bool,
    /// A session is out.
    taken: bool,
    /// Nothing more goes either way, for this reason.
    over: Option<TraceError>,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    for_core: Condvar,
    for_hooks: Condvar,
}

impl Shared {
    /// Wakes the thread that waits for messages to the hooks.
    fn wake_hooks(&self, mut queues: MutexGuard<'_, Queues>) {
        let waker = queues.waker.take();
        drop(queues);
        self.for_hooks.notify_all();
        if let Some(waker) = waker {
            waker();
        }
    }

    fn end(&self, why: TraceError) {
        let mut queues = self.queues.lock();
        queues.over.get_or_insert(why);
        self.for_core.notify_all();
        self.wake_hooks(queues);
    }
}

/// The end of the hooks: takes what was recorded, and says what came of it.
#[derive(Clone)]
pub struct HookLink(Arc<Shared>);

impl HookLink {
    /// Kind and length in bytes of the next message; `None` where none waits.
    pub fn next(&self) -> Option<(u8, usize)> {
        self.0.queues.lock().to_hooks.front().map(|(kind, payload)| (*kind, payload.len()))
    }

    /// Whether nothing waits and nothing will.
    pub fn is_over(&self) -> bool {
        let queues = self.0.queues.lock();
        queues.over.is_some() && queues.to_hooks.is_empty()
    }

    /// Takes the next message: its payload goes to the front of `into`, as much as fits.
    pub fn take(&self, into: &mut [u8]) {
        let mut queues = self.0.queues.lock();
        let Some((_, payload)) = queues.to_hooks.pop_front() else { return };
        queues.bytes -= payload.len();
        drop(queues);
        self.0.for_core.notify_all();
        let length = payload.len().min(into.len());
        into[..length].copy_from_slice(&payload[..length]);
    }

    /// Calls back once a message is waiting or none will come any more: at once, or from the thread
    /// that executes. Only the callback of the last call is kept.
    pub fn ready_with(&self, callback: impl FnOnce() + Send + 'static) {
        let mut queues = self.0.queues.lock();
        if queues.to_hooks.is_empty() && queues.over.is_none() {
            queues.waker = Some(Box::new(callback));
            return;
        }
        drop(queues);
        callback();
    }

    /// Sends a message to the execution.
    pub fn send_to_execution(&self, kind: u8, payload: Vec<u8>) {
        let mut queues = self.0.queues.lock();
        if queues.to_core.len() < SAID_MAX {
            queues.to_core.push_back((kind, payload));
        } else {
            let many = "the hooks name more than a trace can record".to_owned();
            queues.over.get_or_insert(TraceError::Script(many));
        }
        self.0.for_core.notify_all();
    }

    /// Waits, on this thread, for a message of one of the kinds whose bits are set, which is the
    /// next message then. Without bits it waits for any message. False if none will come.
    pub fn wait(&self, kinds: u32) -> bool {
        let wanted =
            |kind: u8| kinds == 0 || 1u32.checked_shl(u32::from(kind)).is_some_and(|bit| kinds & bit != 0);
        let mut queues = self.0.queues.lock();
        queues.stuck = true;
        self.0.for_core.notify_all();
        let found = loop {
            if let Some(at) = queues.to_hooks.iter().position(|(kind, _)| wanted(*kind)) {
                break Some(at);
            }
            if queues.over.is_some() {
                break None;
            }
            self.0.for_hooks.wait(&mut queues);
        };
        queues.stuck = false;
        if let Some(message) = found.and_then(|at| queues.to_hooks.remove(at)) {
            queues.to_hooks.push_front(message);
        }
        found.is_some()
    }

    /// Cancels the trace; the rest is not needed.
    pub fn cancel(&self) {
        self.0.end(TraceError::Cancelled);
    }
}

/// Gives the one session that there is, as often as it is free.
pub struct HookHost {
    shared: Arc<Shared>,
    arrived: Mutex<Option<Instant>>,
}

impl std::fmt::Debug for HookHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookHost").finish_non_exhaustive()
    }
}

/// Both ends.
pub fn hook_link(arrived: Instant) -> (HookLink, HookHost) {
    let shared = Arc::<Shared>::default();
    (HookLink(shared.clone()), HookHost { shared, arrived: Mutex::new(Some(arrived)) })
}

impl ScriptHost for HookHost {
    fn open(&self, _: &ScriptPlan, _: Instant, _: &Cancel) -> Result<Box<dyn ScriptSession>, TraceError> {
        let mut queues = self.shared.queues.lock();
        if let Some(why) = &queues.over {
            return Err(why.clone());
        }
        if std::mem::replace(&mut queues.taken, true) {
            return Err(TraceError::Script("hooks watch one execution at a time".to_owned()));
        }
        Ok(Box::new(HookSession(self.shared.clone())))
    }

    fn try_open(&self, _: &ScriptPlan) -> Option<Box<dyn ScriptSession>> {
        // A helper would show them another transaction at the same time.
        None
    }

    fn limits(&self) -> ScriptLimits {
        ScriptLimits { memory_bytes: u64::MAX, output_bytes: u64::MAX }
    }

    fn arrived(&self) -> Option<Instant> {
        self.arrived.lock().take()
    }
}

impl Drop for HookHost {
    fn drop(&mut self) {
        self.shared.end(TraceError::Cancelled);
    }
}

/// The end of the execution.
struct HookSession(Arc<Shared>);

fn gone(why: &TraceError) -> ScriptGone {
    ScriptGone(why.to_string())
}

/// The next message in a text of whole ones.
fn split(bytes: &[u8]) -> Option<(Message, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let (payload, rest) = rest.split_at_checked(length as usize)?;
    Some(((header[4], payload.to_vec()), rest))
}

impl ScriptSession for HookSession {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ScriptGone> {
        let mut queues = self.0.queues.lock();
        if let Some(why) = &queues.over {
            return Err(gone(why));
        }
        if queues.bytes > AHEAD_BYTES && !queues.stuck {
            return Ok(0);
        }
        // The tracer hands on whole messages, and all of them are taken.
        let mut rest = bytes;
        while let Some((message, behind)) = split(rest) {
            queues.bytes += message.1.len();
            queues.to_hooks.push_back(message);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(ScriptGone("a message for the hooks came in pieces".to_owned()));
        }
        self.0.wake_hooks(queues);
        Ok(bytes.len())
    }

    fn read(&mut self) -> Result<Option<Message>, ScriptGone> {
        let mut queues = self.0.queues.lock();
        match (queues.to_core.pop_front(), &queues.over) {
            (Some(message), _) => Ok(Some(message)),
            (None, Some(why)) => Err(gone(why)),
            (None, None) => Ok(None),
        }
    }

    fn wait(&self, to_write: bool, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut queues = self.0.queues.lock();
        while queues.to_core.is_empty()
            && queues.over.is_none()
            && !(to_write && (queues.bytes <= AHEAD_BYTES || queues.stuck))
        {
            if self.0.for_core.wait_until(&mut queues, until).timed_out() {
                return;
            }
        }
    }

    fn end(self: Box<Self>, verdict: ScriptVerdict) {
        match verdict {
            ScriptVerdict::Clean => self.0.queues.lock().taken = false,
            ScriptVerdict::Late => self.0.end(TraceError::ExecutionTimeout),
            ScriptVerdict::Unwanted | ScriptVerdict::Gone => self.0.end(TraceError::Cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
        bytes.extend([kind, 0, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    fn opened() -> (HookLink, HookHost, Box<dyn ScriptSession>) {
        let (link, host) = hook_link(Instant::now());
        let session = host.open(&plan(), Instant::now(), &Cancel::new()).unwrap();
        (link, host, session)
    }

    fn plan() -> ScriptPlan {
        ScriptPlan { text: "{}".to_owned(), config: None }
    }

    fn taken(link: &HookLink) -> (u8, Vec<u8>) {
        let (kind, length) = link.next().unwrap();
        let mut into = vec![0; length];
        link.take(&mut into);
        (kind, into)
    }

    #[test]
    fn messages_go_both_ways_in_order() {
        let (link, _host, mut session) = opened();
        let both = [message(1, b"begin"), message(2, b"")].concat();
        assert_eq!(session.write(&both).unwrap(), both.len());
        assert_eq!(taken(&link), (1, b"begin".to_vec()));
        assert_eq!(taken(&link), (2, vec![]));
        assert_eq!((link.next(), link.is_over()), (None, false));
        assert_eq!(session.read().unwrap(), None);
        link.send_to_execution(12, vec![1, 2]);
        assert_eq!(session.read().unwrap(), Some((12, vec![1, 2])));
    }

    #[test]
    fn the_execution_waits_for_hooks_that_are_behind() {
        let (link, _host, mut session) = opened();
        let chunk = message(2, &vec![7; 256 << 10]);
        let mut written = 0;
        while session.write(&chunk).unwrap() > 0 {
            written += 1;
        }
        assert_eq!(written, 5, "a MiB and what exceeds it");
        let began = Instant::now();
        session.wait(true, Duration::from_millis(30));
        assert!(began.elapsed() >= Duration::from_millis(30));
        taken(&link);
        session.wait(true, Duration::from_secs(60));
        assert_eq!(session.write(&chunk).unwrap(), chunk.len());
    }

    #[test]
    fn an_answer_that_is_waited_for_overtakes_what_is_before_it() {
        let (link, _host, mut session) = opened();
        let chunk = message(2, &vec![7; 256 << 10]);
        while session.write(&chunk).unwrap() > 0 {}
        let waiting = link.clone();
        let hooks = std::thread::spawn(move || (waiting.wait(1 << 4 | 1 << 5), taken(&waiting)));
        // Blocked hooks lift the bound: else neither would continue.
        let answer = [chunk.clone(), message(4, b"state")].concat();
        while session.write(&answer).unwrap() == 0 {
            session.wait(true, Duration::from_secs(1));
        }
        assert_eq!(hooks.join().unwrap(), (true, (4, b"state".to_vec())));
        assert_eq!(link.next(), Some((2, 256 << 10)), "the chunks are still there");
    }

    #[test]
    fn the_end_wakes_everyone() {
        let (link, host, session) = opened();
        let waiting = link.clone();
        let hooks = std::thread::spawn(move || waiting.wait(0));
        let (sender, hears) = std::sync::mpsc::channel();
        link.ready_with(move || sender.send(()).unwrap());
        session.end(ScriptVerdict::Late);
        assert!(!hooks.join().unwrap());
        hears.recv().unwrap();
        assert!(link.is_over());
        let refused = host.open(&plan(), Instant::now(), &Cancel::new()).err();
        assert!(matches!(refused, Some(TraceError::ExecutionTimeout)), "{refused:?}");
    }

    #[test]
    fn a_session_is_given_again_once_it_came_back() {
        let (link, host, session) = opened();
        let again = || host.open(&plan(), Instant::now(), &Cancel::new());
        assert!(again().is_err() && host.try_open(&plan()).is_none());
        session.end(ScriptVerdict::Clean);
        let mut session = again().unwrap();
        link.cancel();
        assert!(session.write(&message(1, b"x")).is_err() && session.read().is_err());
        drop(host);
        assert!(again_is_over(&link));
    }

    fn again_is_over(link: &HookLink) -> bool {
        link.is_over() && !link.wait(0)
    }
}
