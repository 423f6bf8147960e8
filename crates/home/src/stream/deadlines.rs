//! Answers at a deadline that do not wait for the thread of their job.
//!
//! A job looks at the clock itself and ends its answer. On a busy machine its thread, which has a
//! low priority, may wait for a processor for tens of milliseconds just then. A thread of its own,
//! at the priority of the process, ends the answers of such jobs; the job notices its deadline at
//! its next look and stops.

use super::{ByteSender, Channel, wake_reader};
use crate::NodeError;
use hearth_priority::shorten_turns;
use hearth_tracers::DeadlineAlarm;
use parking_lot::{Condvar, Mutex};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// How much later than its deadline an answer is ended from here: its job, where it runs, is first.
pub const DEADLINE_GRACE: Duration = Duration::from_millis(1);

/// Time and number of an alarm that is armed.
type AlarmKey = (Instant, u64);

/// The answer that an alarm ends, and what the answer is then.
type Ringing = (Weak<Channel>, fn() -> NodeError);

#[derive(Default)]
struct Armed {
    /// At most one alarm for each job that waits or runs, whose number the pools bound.
    alarms: BTreeMap<AlarmKey, Ringing>,
    /// When the thread wakes up by itself; `None` while it waits for an alarm.
    wakes_at: Option<Instant>,
    closed: bool,
}

#[derive(Default)]
struct AlarmQueue {
    armed: Mutex<Armed>,
    /// Signalled when the thread has to wake up earlier, or to end.
    earlier: Condvar,
    next: AtomicU64,
}

/// The thread that ends answers at their deadlines.
pub struct Deadlines {
    shared: Arc<AlarmQueue>,
    thread: Option<JoinHandle<()>>,
}

impl Deadlines {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where it cannot be started.
    pub fn start() -> Result<Self, NodeError> {
        let shared = Arc::<AlarmQueue>::default();
        let its_own = shared.clone();
        let builder = std::thread::Builder::new().name("hearth-deadlines".to_owned());
        let thread = builder.spawn(move || run(&its_own));
        let thread =
            thread.map_err(|e| NodeError::Internal { message: format!("cannot start a thread: {e}") })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// An alarm for the answer of `sender`, which is not armed. Once it rings, the answer is
    /// `error`, unless the job has ended or handed on a part of its answer.
    pub fn alarm(&self, sender: &ByteSender, error: fn() -> NodeError) -> AnswerAlarm {
        AnswerAlarm {
            shared: self.shared.clone(),
            number: self.shared.next.fetch_add(1, Ordering::Relaxed),
            channel: Arc::downgrade(&sender.channel),
            error,
            armed: Mutex::new(None),
        }
    }
}

impl Drop for Deadlines {
    fn drop(&mut self) {
        self.shared.armed.lock().closed = true;
        self.shared.earlier.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

/// Ends one answer at a deadline. Dropping it disarms it.
pub struct AnswerAlarm {
    shared: Arc<AlarmQueue>,
    number: u64,
    channel: Weak<Channel>,
    error: fn() -> NodeError,
    /// When it rings.
    armed: Mutex<Option<Instant>>,
}

impl DeadlineAlarm for AnswerAlarm {
    /// Lets the alarm ring [`DEADLINE_GRACE`] after `deadline`, in place of the time before.
    fn arm(&self, deadline: Instant) {
        let at = deadline.checked_add(DEADLINE_GRACE);
        let before = std::mem::replace(&mut *self.armed.lock(), at);
        let mut armed = self.shared.armed.lock();
        if let Some(before) = before {
            armed.alarms.remove(&(before, self.number));
        }
        let Some(at) = at else { return };
        armed.alarms.insert((at, self.number), (self.channel.clone(), self.error));
        // A thread that wakes up too early costs less than one that is woken for each alarm.
        if armed.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            self.shared.earlier.notify_one();
        }
    }

    fn disarm(&self) {
        if let Some(at) = self.armed.lock().take() {
            self.shared.armed.lock().alarms.remove(&(at, self.number));
        }
    }
}

impl Drop for AnswerAlarm {
    fn drop(&mut self) {
        self.disarm();
    }
}

impl std::fmt::Debug for AnswerAlarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerAlarm").field("armed", &self.armed).finish_non_exhaustive()
    }
}

/// Ends answers at their deadlines until it is closed.
fn run(shared: &AlarmQueue) {
    shorten_turns();
    let mut armed = shared.armed.lock();
    while !armed.closed {
        let first = armed.alarms.first_key_value().map(|((at, _), _)| *at);
        if first.is_some_and(|at| at <= Instant::now()) {
            let Some((_, (channel, error))) = armed.alarms.pop_first() else { continue };
            drop(armed);
            if let Some(channel) = channel.upgrade() {
                channel.expire(error);
            }
            armed = shared.armed.lock();
            continue;
        }
        armed.wakes_at = first;
        match first {
            Some(at) => drop(shared.earlier.wait_until(&mut armed, at)),
            None => shared.earlier.wait(&mut armed),
        }
    }
}

impl Channel {
    /// Makes an error the answer in place of the job, where the reader could not have anything of
    /// another one.
    fn expire(&self, error: fn() -> NodeError) {
        let mut state = self.state.lock();
        if state.end.is_some() || state.cancelled || state.taken || !state.chunks.is_empty() {
            return;
        }
        (state.end, state.expired) = (Some(Err(error())), true);
        wake_reader(state);
        self.readable.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::{super::channel, *};
    use std::sync::mpsc;

    fn late() -> NodeError {
        NodeError::Internal { message: "late".to_owned() }
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn an_answer_ends_at_its_deadline_while_its_job_is_away() {
        let deadlines = Deadlines::start().unwrap();
        let (cancelled, cancels) = mpsc::channel();
        let (mut sender, stream) = channel(move || cancelled.send(()).unwrap());
        sender.write(b"held back").unwrap();
        let (notify, ready) = mpsc::channel();
        stream.ready_with(move |answer| notify.send((answer, Instant::now())).unwrap());
        let alarm = deadlines.alarm(&sender, late);
        let began = Instant::now();
        alarm.arm(began + LONG);
        alarm.arm(began + Duration::from_millis(40));
        let (answer, at) = ready.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(matches!(answer, Err(NodeError::Internal { message }) if message == "late"));
        assert!(at - began >= Duration::from_millis(40) + DEADLINE_GRACE);
        // The job notices, and what it says does not count.
        assert_eq!(
            (sender.is_cancelled(), sender.write(&[0; 1 << 17])),
            (true, Err(super::super::Cancelled))
        );
        sender.finish(Ok(()));
        assert_eq!((stream.waiting(), stream.next().unwrap()), (None, None));
        assert!(cancels.try_recv().is_err());
        drop(stream);
        assert!(cancels.try_recv().is_ok(), "the job is cancelled once its reader is gone");
    }

    #[test]
    fn alarms_ring_in_order_and_not_once_disarmed_or_dropped() {
        let deadlines = Deadlines::start().unwrap();
        let jobs: Vec<_> = (0..4).map(|_| channel(|| {})).collect();
        let mut alarms: Vec<_> = jobs.iter().map(|(sender, _)| deadlines.alarm(sender, late)).collect();
        let soon = Instant::now() + Duration::from_millis(20);
        for (alarm, after) in alarms.iter().zip([30, 20, 10, 0]) {
            alarm.arm(soon + Duration::from_millis(after));
        }
        alarms[0].disarm();
        alarms.remove(1);
        assert!(jobs[2].1.next().is_err());
        assert!(jobs[3].0.is_cancelled(), "the earlier one");
        std::thread::sleep(Duration::from_millis(60));
        assert!(!jobs[0].0.is_cancelled() && !jobs[1].0.is_cancelled());
        assert!(deadlines.shared.armed.lock().alarms.is_empty());
    }

    #[test]
    fn what_was_handed_on_or_has_ended_stays() {
        let deadlines = Deadlines::start().unwrap();
        let (mut begun, begun_stream) = channel(|| {});
        begun.write(&[7; 1 << 16]).unwrap();
        let (ended, ended_stream) = channel(|| {});
        let alarms = [&begun, &ended].map(|sender| deadlines.alarm(sender, late));
        ended.finish(Ok(()));
        alarms.iter().for_each(|alarm| alarm.arm(Instant::now()));
        while !deadlines.shared.armed.lock().alarms.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        begun.write(b"8").unwrap();
        begun.finish(Ok(()));
        assert_eq!(begun_stream.next().unwrap().unwrap().len(), 1 << 16);
        assert_eq!(begun_stream.next().unwrap().unwrap(), b"8");
        assert_eq!((begun_stream.next().unwrap(), ended_stream.next().unwrap()), (None, None));
    }
}
