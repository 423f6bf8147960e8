//! Answers that are never built as a whole: a bounded channel of byte chunks between a job and its
//! reader.

mod chunk;
mod deadlines;
mod pull;

use crate::{NodeError, TraceSourceKind, workers};
use chunk::Chunk;
pub use deadlines::{AnswerAlarm, DEADLINE_GRACE, Deadlines};
use hearth_tracers::{DeadlineAlarm as _, Sink, SinkClosed};
use parking_lot::{Condvar, Mutex, MutexGuard};
pub use pull::Feed;
use pull::Pull;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Size of a chunk, in bytes; the last may be smaller.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Chunks that may wait for the reader; the job pauses beyond.
pub const CHUNKS_WAITING: usize = 8;

/// How long a full stream waits for a reader within the process before the job is aborted. Servers
/// cut off clients that stop reading much earlier, by cancelling; a stream may wait long for its
/// turn in the answer to a batch.
pub const STALL_LIMIT: Duration = Duration::from_secs(3600);

/// Chunks that accumulate before the reader is woken, while more are to come: a wake-up costs more
/// than copying a chunk.
const CHUNKS_WAKE: usize = CHUNKS_WAITING / 2;

/// What [`ByteStream::next`] gives: a chunk, or `None` at the end.
pub type NextChunk = Result<Option<Vec<u8>>, NodeError>;

type Waiter = Box<dyn FnOnce(Result<usize, NodeError>) + Send>;

#[derive(Default)]
struct State {
    chunks: VecDeque<Chunk>,
    /// Bytes of the first chunk that were read already.
    read: usize,
    /// Memory of chunks that were read, for the next ones.
    spare: Vec<Vec<u8>>,
    /// The job's last word; taken by the reader after the chunks.
    end: Option<Result<(), NodeError>>,
    /// Whether the reader took anything.
    taken: bool,
    /// The reader has disconnected: the job should stop.
    cancelled: bool,
    /// The answer was ended at its deadline: whatever the job still says does not count.
    expired: bool,
    waiter: Option<Waiter>,
    /// What the answer was made from, where that is of interest; known before its first byte.
    origin: Option<TraceSourceKind>,
    /// Bytes of the whole stream if it is one gzip member with its envelope; known before the first
    /// byte.
    packed_bytes: Option<u64>,
    /// Whether it is about a block that is further below the head than traces may look back.
    historical: bool,
    /// How long the job waited for its thread; known once it has one.
    waited: Option<Duration>,
    /// Where more chunks come from, while no job fetches them.
    pull: Option<Pull>,
}

impl State {
    /// Bytes that wait.
    fn waiting(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum::<usize>() - self.read
    }

    /// The next chunk for the reader, if there is one already.
    fn take(&mut self) -> Option<NextChunk> {
        if let Some(chunk) = self.chunks.pop_front() {
            let mut chunk = chunk.into_vec();
            chunk.drain(..std::mem::take(&mut self.read));
            self.taken = true;
            return Some(Ok(Some(chunk)));
        }
        self.take_end().map(|end| end.map(|()| None))
    }

    /// The end of the job, if it has ended. A success stays for further calls; an error is returned
    /// once, after it the stream is over.
    fn take_end(&mut self) -> Option<Result<(), NodeError>> {
        let end = self.end.take()?;
        self.end = Some(Ok(()));
        Some(end)
    }

    /// Bytes that a reader should come for now; 0 at the end. None while it is better to wait.
    fn take_ready(&mut self) -> Option<Result<usize, NodeError>> {
        let waiting = self.waiting();
        if self.end.is_none() {
            return (waiting >= CHUNKS_WAKE * CHUNK_BYTES).then_some(Ok(waiting));
        }
        match waiting {
            0 => self.take_end().map(|end| end.map(|()| 0)),
            bytes => Some(Ok(bytes)),
        }
    }

    /// Takes what waits, as much as `into` holds.
    fn read(&mut self, into: &mut [u8]) -> usize {
        let mut filled = 0;
        while let Some(chunk) = self.chunks.front() {
            let rest = &chunk[self.read..];
            let room = &mut into[filled..];
            let now = rest.len().min(room.len());
            room[..now].copy_from_slice(&rest[..now]);
            filled += now;
            self.read += now;
            if now < rest.len() {
                break;
            }
            self.read = 0;
            if let Some(Chunk::Owned(mut chunk)) = self.chunks.pop_front()
                && self.spare.len() < CHUNKS_WAITING
            {
                chunk.clear();
                self.spare.push(chunk);
            }
        }
        self.taken |= filled > 0;
        filled
    }
}

struct Channel {
    /// Called once if the reader leaves before the end.
    on_cancel: Box<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
    /// Signalled when a chunk was taken or the reader went.
    writable: Condvar,
    /// Signalled when a chunk or the end was put.
    readable: Condvar,
}

impl Channel {
    fn cancel(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.cancelled, true) {
            return;
        }
        // The pull holds a store open, and nothing else would end the stream.
        let pull = state.pull.take();
        if pull.is_some() {
            state.end.get_or_insert(Err(NodeError::Cancelled));
        }
        wake_reader(state);
        drop(pull);
        self.readable.notify_all();
        self.writable.notify_all();
        (self.on_cancel)();
    }
}

/// The reader's end. Dropping it cancels the job.
pub struct ByteStream {
    channel: Arc<Channel>,
}

impl ByteStream {
    /// Waits for the next chunk; `None` at the end. An error ends the stream.
    pub fn next(&self) -> NextChunk {
        let mut state = self.channel.state.lock();
        loop {
            if let Some(answer) = state.take() {
                self.channel.writable.notify_one();
                pull::refill(&self.channel, state);
                return answer;
            }
            self.channel.readable.wait(&mut state);
        }
    }

    /// Bytes that can be read now: `None` once all was read and the job succeeded, 0 if nothing is
    /// available yet or only an error is.
    pub fn waiting(&self) -> Option<usize> {
        let state = self.channel.state.lock();
        match (state.waiting(), &state.end) {
            (0, Some(Ok(()))) => None,
            (bytes, _) => Some(bytes),
        }
    }

    /// Reads what waits, as much as `into` holds; the number of bytes that were read.
    pub fn read(&self, into: &mut [u8]) -> usize {
        let mut state = self.channel.state.lock();
        let read = state.read(into);
        self.channel.writable.notify_one();
        pull::refill(&self.channel, state);
        read
    }

    /// Calls back with the number of available bytes, 0 at the end, once a few chunks or the end
    /// have arrived: at once, or from the job's thread. An error ends the stream. One call at a
    /// time: a second waiter is refused.
    pub fn ready_with(&self, callback: impl FnOnce(Result<usize, NodeError>) + Send + 'static) {
        let mut state = self.channel.state.lock();
        if state.waiter.is_some() {
            drop(state);
            callback(Err(NodeError::Internal { message: "a stream was read twice at the same time".into() }));
            return;
        }
        match state.take_ready() {
            Some(answer) => {
                drop(state);
                callback(answer);
            }
            None => state.waiter = Some(Box::new(callback)),
        }
    }

    /// The source of the trace. Known once a byte is available; `None` if the answer is no trace of
    /// a block.
    pub fn origin(&self) -> Option<TraceSourceKind> {
        self.channel.state.lock().origin
    }

    /// Whether the block is further below the head than the lookback. Known once a byte is
    /// available or the stream has ended.
    pub fn is_historical(&self) -> bool {
        self.channel.state.lock().historical
    }

    /// How long the job waited for its thread. Known once a byte is available; `None` if it needed
    /// none.
    pub fn waited(&self) -> Option<Duration> {
        self.channel.state.lock().waited
    }

    /// Bytes that can be read now, where nothing comes after them.
    pub fn rest(&self) -> Option<usize> {
        let state = self.channel.state.lock();
        matches!(state.end, Some(Ok(()))).then(|| state.waiting())
    }

    /// Bytes of the whole stream if it is one gzip member with its envelope. To be called once
    /// bytes are available.
    pub fn packed_bytes(&self) -> Option<u64> {
        self.channel.state.lock().packed_bytes
    }

    /// Stops the job; bytes written so far can still be read.
    pub fn cancel(&self) {
        self.channel.cancel();
    }

    /// Something that can stop the job without keeping the stream alive.
    pub fn canceller(&self) -> Canceller {
        Canceller(Arc::downgrade(&self.channel))
    }
}

/// Stops the job of a stream from elsewhere.
#[derive(Clone)]
pub struct Canceller(Weak<Channel>);

impl Canceller {
    /// Stops the job if it is still running.
    pub fn cancel(&self) {
        if let Some(channel) = self.0.upgrade() {
            channel.cancel();
        }
    }

    /// Whether stream or job still live.
    pub fn is_live(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for ByteStream {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The job's end: collects bytes into chunks and waits while the reader is behind.
pub struct ByteSender {
    channel: Arc<Channel>,
    made: Instant,
    buffer: Vec<u8>,
    stall_limit: Duration,
    /// Time that went by while the reader was behind.
    stalled: Duration,
    /// Whether a chunk was handed on.
    sent: bool,
    /// Whether what was handed on is to be read even where an error follows that could stand alone.
    kept: bool,
    /// What ends the answer at a deadline, for as long as the job runs.
    alarm: Option<AnswerAlarm>,
    finished: bool,
}

/// The reader has left; the rest is not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader of the stream has gone")]
pub struct Cancelled;

impl ByteSender {
    /// Appends bytes, handing on full chunks. Waits while [`CHUNKS_WAITING`] chunks are unread.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Cancelled> {
        while self.buffer.len() + bytes.len() >= CHUNK_BYTES {
            let (now, later) = bytes.split_at(CHUNK_BYTES - self.buffer.len());
            self.buffer.extend_from_slice(now);
            bytes = later;
            let full = std::mem::take(&mut self.buffer);
            self.put(full)?;
            self.sent = true;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Says what the answer is made from. To be called before the first byte.
    pub fn set_origin(&mut self, origin: TraceSourceKind) {
        self.channel.state.lock().origin = Some(origin);
    }

    /// Says that the job has its thread now.
    pub fn begin(&self) {
        self.channel.state.lock().waited = Some(self.made.elapsed());
    }

    /// Marks the answer as one about a block far below the head. To be called before the first
    /// byte.
    pub fn set_historical(&self) {
        self.channel.state.lock().historical = true;
    }

    /// Hands on what is collected, so that the reader gets it before an error.
    pub fn flush(&mut self) {
        self.kept = true;
        let rest = std::mem::take(&mut self.buffer);
        if !rest.is_empty() {
            let _ = self.put(rest);
        }
    }

    /// Time that went by while the job waited for its reader.
    pub fn stalled(&self) -> Duration {
        self.stalled
    }

    /// Whether the rest is not needed: the reader has disconnected, or the answer has expired.
    pub fn is_cancelled(&self) -> bool {
        let state = self.channel.state.lock();
        state.cancelled || state.expired
    }

    /// Makes an error the answer if the job has not ended by a deadline, as
    /// [`Deadlines::alarm`].
    pub fn expire_at(&mut self, deadlines: &Deadlines, deadline: Instant, error: fn() -> NodeError) {
        let alarm = deadlines.alarm(self, error);
        alarm.arm(deadline);
        self.alarm = Some(alarm);
    }

    /// Passes on the remaining bytes and the outcome. After a failure, remaining bytes are only
    /// passed on if earlier ones were: they complete those.
    pub fn finish(mut self, end: Result<(), NodeError>) {
        let rest = std::mem::take(&mut self.buffer);
        if !rest.is_empty() && (end.is_ok() || self.sent) {
            let _ = self.put(rest);
        }
        self.end(end);
    }

    /// Hands on a chunk, and takes the memory of an old one.
    fn put(&mut self, chunk: Vec<u8>) -> Result<(), Cancelled> {
        let mut state = self.channel.state.lock();
        if state.chunks.len() >= CHUNKS_WAITING && !state.cancelled {
            let begun = Instant::now();
            // The slot of a pool goes to others meanwhile: a slow reader keeps no thread from them.
            let parked = workers::park();
            while state.chunks.len() >= CHUNKS_WAITING && !state.cancelled {
                let waited = self.channel.writable.wait_for(&mut state, self.stall_limit);
                if waited.timed_out() && state.chunks.len() >= CHUNKS_WAITING {
                    state.cancelled = true;
                }
            }
            drop(parked);
            self.stalled += begun.elapsed();
        }
        if state.cancelled || state.expired {
            return Err(Cancelled);
        }
        state.chunks.push_back(Chunk::Owned(chunk));
        self.buffer = state.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES));
        wake_reader(state);
        self.channel.readable.notify_one();
        Ok(())
    }

    fn end(&mut self, end: Result<(), NodeError>) {
        self.finished = true;
        let mut state = self.channel.state.lock();
        if state.expired {
            return;
        }
        // The reader has not read a byte so far: the error replaces the answer.
        if end.is_err() && !state.taken && !self.kept {
            state.chunks.clear();
        }
        state.end = Some(end);
        wake_reader(state);
        self.channel.readable.notify_all();
    }
}

/// Wakes the reader if it waits for a chunk.
fn wake_reader(mut state: MutexGuard<'_, State>) {
    if state.waiter.is_none() {
        return;
    }
    let Some(answer) = state.take_ready() else { return };
    let waiter = state.waiter.take();
    drop(state);
    if let Some(waiter) = waiter {
        waiter(answer);
    }
}

impl Sink for ByteSender {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        Self::write(self, chunk).map_err(|_| SinkClosed)
    }
}

impl Drop for ByteSender {
    // A job that disappears without an outcome (a panic, a closed pool) must not leave its reader
    // waiting.
    fn drop(&mut self) {
        if !self.finished {
            self.end(Err(NodeError::Internal {
                message: "the job ended without finishing its answer".into(),
            }));
        }
    }
}

/// A stream and the end that fills it; `on_cancel` is called when the reader goes.
pub fn channel(on_cancel: impl Fn() + Send + Sync + 'static) -> (ByteSender, ByteStream) {
    let channel = Arc::new(Channel {
        on_cancel: Box::new(on_cancel),
        state: Mutex::default(),
        writable: Condvar::new(),
        readable: Condvar::new(),
    });
    let sender = ByteSender {
        channel: channel.clone(),
        made: Instant::now(),
        buffer: Vec::new(),
        stall_limit: STALL_LIMIT,
        stalled: Duration::ZERO,
        sent: false,
        kept: false,
        alarm: None,
        finished: false,
    };
    (sender, ByteStream { channel })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc, time::Duration};

    fn read_all(stream: &ByteStream) -> Result<Vec<Vec<u8>>, NodeError> {
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.next()? {
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    #[test]
    fn bytes_arrive_in_order_in_chunks_of_the_named_size() {
        let (mut sender, stream) = channel(|| {});
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 20 + 17).map(|i| (i % 251) as u8).collect();
        let sent = bytes.clone();
        let job = std::thread::spawn(move || {
            for part in sent.chunks(1000) {
                sender.write(part).expect("reader is there");
            }
            sender.finish(Ok(()));
        });
        let chunks = read_all(&stream).expect("no error");
        job.join().expect("job ends");
        assert_eq!(chunks.len(), 21);
        assert!(chunks[..20].iter().all(|c| c.len() == CHUNK_BYTES));
        assert_eq!(chunks.concat(), bytes);
        assert!(stream.next().expect("still over").is_none());
    }

    #[test]
    fn the_job_waits_for_a_slow_reader_and_stops_when_it_goes() {
        let (mut sender, stream) = channel(|| {});
        let (progress, seen) = mpsc::channel();
        let job = std::thread::spawn(move || {
            let chunk = vec![0; CHUNK_BYTES];
            for i in 0.. {
                if sender.write(&chunk).is_err() {
                    return i;
                }
                progress.send(i).expect("test counts");
            }
            unreachable!("the loop has no end")
        });
        for _ in 0..CHUNKS_WAITING {
            seen.recv_timeout(Duration::from_secs(10)).expect("room for the first chunks");
        }
        assert!(seen.recv_timeout(Duration::from_millis(50)).is_err(), "the next one waits");
        drop(stream);
        assert_eq!(job.join().expect("job ends"), CHUNKS_WAITING);
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up() {
        let (mut sender, stream) = channel(|| {});
        sender.stall_limit = Duration::from_millis(20);
        let chunk = vec![0; CHUNK_BYTES];
        let written = (0..).find(|_| sender.write(&chunk).is_err());
        assert_eq!(written, Some(CHUNKS_WAITING));
        sender.finish(Err(NodeError::Trace { source: "given up".into() }));
        assert!(
            matches!(stream.next(), Err(NodeError::Trace { .. })),
            "nothing was sent: the error stands alone"
        );
        assert!(stream.next().expect("over").is_none());
    }

    #[test]
    fn an_error_comes_after_the_chunks_and_ends_the_stream() {
        let (mut sender, stream) = channel(|| {});
        sender.write(&vec![1; CHUNK_BYTES + 7]).expect("room");
        assert_eq!(stream.next().expect("chunk").map(|c| c.len()), Some(CHUNK_BYTES));
        sender.finish(Err(NodeError::TransactionNotFound));
        assert_eq!(stream.next().expect("the rest").map(|c| c.len()), Some(7));
        assert!(matches!(stream.next(), Err(NodeError::TransactionNotFound)));
        assert!(stream.next().expect("over").is_none());
    }

    #[test]
    fn an_error_stands_alone_where_nothing_was_taken() {
        for bytes in [2, CHUNK_BYTES * 2] {
            let (mut sender, stream) = channel(|| {});
            sender.write(&vec![b'['; bytes]).expect("room");
            sender.finish(Err(NodeError::TransactionNotFound));
            assert!(matches!(stream.next(), Err(NodeError::TransactionNotFound)));
            assert_eq!(stream.waiting(), None);
        }
    }

    #[test]
    fn what_was_flushed_comes_before_an_error() {
        let (mut sender, stream) = channel(|| {});
        sender.write(b"line\n").expect("room");
        sender.flush();
        sender.finish(Err(NodeError::TransactionNotFound));
        assert_eq!(stream.next().expect("flushed"), Some(b"line\n".to_vec()));
        assert!(matches!(stream.next(), Err(NodeError::TransactionNotFound)));
    }

    #[test]
    fn a_vanished_job_is_an_error_and_a_waiter_is_called() {
        let (sender, stream) = channel(|| {});
        let (notify, answer) = mpsc::channel();
        stream.ready_with(move |ready| notify.send(ready).expect("test waits"));
        drop(sender);
        assert!(matches!(answer.recv().expect("called"), Err(NodeError::Internal { .. })));
    }

    #[test]
    fn a_waiter_is_called_at_the_end_and_reads_what_came() {
        let (mut sender, stream) = channel(|| {});
        let (notify, answer) = mpsc::channel();
        stream.ready_with(move |ready| notify.send(ready).expect("test waits"));
        sender.write(b"abc").expect("room");
        sender.finish(Ok(()));
        assert_eq!(answer.recv().expect("called").expect("no error"), 3);
        let mut buffer = [0; 2];
        assert_eq!((stream.read(&mut buffer), &buffer), (2, b"ab"));
        assert_eq!(stream.waiting(), Some(1));
        assert_eq!((stream.read(&mut buffer), buffer[0]), (1, b'c'));
        assert_eq!(stream.waiting(), None);
        assert!(stream.next().expect("over").is_none());
    }

    #[test]
    fn a_waiter_is_called_once_and_a_second_is_refused() {
        let (mut sender, stream) = channel(|| {});
        let (notify, answer) = mpsc::channel();
        stream.ready_with(move |ready| notify.send(ready).expect("test waits"));
        let (refused, second) = mpsc::channel();
        stream.ready_with(move |ready| refused.send(ready).expect("test waits"));
        assert!(matches!(second.recv().expect("called"), Err(NodeError::Internal { .. })));
        for waiting in 1..CHUNKS_WAKE {
            sender.write(&vec![7; CHUNK_BYTES]).expect("room");
            assert_eq!(stream.waiting(), Some(waiting * CHUNK_BYTES));
            assert!(answer.try_recv().is_err(), "{waiting} chunks wake nobody");
        }
        sender.write(&vec![7; CHUNK_BYTES]).expect("room");
        assert_eq!(answer.recv().expect("called").expect("no error"), CHUNKS_WAKE * CHUNK_BYTES);
        let mut buffer = vec![0; CHUNK_BYTES + 1];
        assert_eq!(stream.read(&mut buffer), buffer.len());
        assert_eq!(buffer, vec![7; CHUNK_BYTES + 1]);
        let rest = stream.next().expect("chunk").expect("more");
        assert_eq!(rest.len(), CHUNK_BYTES - 1, "what was read of a chunk does not come again");
    }
}
