//! Streams whose bytes are fetched when the reader has room for them: a slow reader blocks no
//! thread.

use super::{ByteSender, CHUNK_BYTES, CHUNKS_WAITING, CHUNKS_WAKE, Channel, Chunk, State, wake_reader};
use crate::{
    NodeError, TraceSourceKind,
    workers::{Submitter, guarded},
};
use hearth_bake::AnswerBytes;
use parking_lot::MutexGuard;
use std::sync::Arc;

/// Gives the next bytes; `None` at the end.
type FetchChunk = Box<dyn FnMut() -> Result<Option<AnswerBytes>, NodeError> + Send>;

/// Where the chunks of a stream come from.
pub(super) struct Pull {
    fetch: FetchChunk,
    /// The threads that fetch.
    pool: Submitter,
}

/// An answer that is there to be read.
pub struct Feed {
    /// Its first bytes.
    pub first: Vec<AnswerBytes>,
    /// What gives the rest, where there is one.
    pub rest: Option<FetchChunk>,
    /// Bytes of all of it, where they are one gzip member with its envelope.
    pub packed_bytes: Option<u64>,
}

impl ByteSender {
    /// Continues the stream with a feed, which is read at the pace of the reader.
    pub fn feed(mut self, origin: TraceSourceKind, feed: Feed, pool: Submitter) {
        self.finished = true;
        let Feed { first, rest, packed_bytes } = feed;
        let mut state = self.channel.state.lock();
        if state.cancelled {
            state.end.get_or_insert(Err(NodeError::Cancelled));
            wake_reader(state);
            self.channel.readable.notify_all();
            return;
        }
        (state.origin, state.packed_bytes) = (Some(origin), packed_bytes);
        state.chunks.extend(first.into_iter().filter(|bytes| !bytes.is_empty()).map(Chunk::Shared));
        match rest {
            Some(fetch) => state.pull = Some(Pull { fetch, pool }),
            None => state.end = Some(Ok(())),
        }
        wake_reader(state);
        self.channel.readable.notify_all();
        refill(&self.channel, self.channel.state.lock());
    }
}

/// Starts fetching more chunks if few are waiting, more are to come, and no fetch is in progress.
pub(super) fn refill(channel: &Arc<Channel>, mut state: MutexGuard<'_, State>) {
    if state.pull.is_none() || state.waiting() >= CHUNKS_WAKE * CHUNK_BYTES {
        return;
    }
    let Some(pull) = state.pull.take() else { return };
    drop(state);
    let pool = pull.pool.clone();
    let due = DuePull { channel: channel.clone(), pull: Some(pull) };
    if let Err((due, _)) = pool.submit_with(due, DuePull::run) {
        // The threads are busy: a few chunks on this one are better than a torn answer.
        due.run();
    }
}

/// A pull on its way to a thread of the pool. One that is dropped before it runs fetches where it
/// is dropped: a full queue makes room for another client by refusing a job that waits, and the
/// reader of the stream would wait forever.
struct DuePull {
    channel: Arc<Channel>,
    pull: Option<Pull>,
}

impl DuePull {
    fn run(mut self) {
        self.fetch();
    }

    fn fetch(&mut self) {
        if let Some(pull) = self.pull.take() {
            fetch(&self.channel, pull);
        }
    }
}

impl Drop for DuePull {
    fn drop(&mut self) {
        self.fetch();
    }
}

/// Fetches chunks until enough of them wait.
fn fetch(channel: &Channel, mut pull: Pull) {
    loop {
        // A panic must become the end of the stream: its reader waits for one.
        let bytes = guarded(&mut pull.fetch);
        let mut state = channel.state.lock();
        if state.cancelled {
            state.end.get_or_insert(Err(NodeError::Cancelled));
            wake_reader(state);
            channel.readable.notify_all();
            return;
        }
        match bytes {
            Ok(Some(bytes)) => {
                if !bytes.is_empty() {
                    state.chunks.push_back(Chunk::Shared(bytes));
                }
                if state.waiting() >= CHUNKS_WAITING * CHUNK_BYTES {
                    state.pull = Some(pull);
                    wake_reader(state);
                    channel.readable.notify_all();
                    return;
                }
                wake_reader(state);
            }
            end => {
                state.end = Some(end.map(drop));
                wake_reader(state);
                channel.readable.notify_all();
                return;
            }
        }
        channel.readable.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        WorkerConfig, stream,
        workers::{Kind, Order, WorkerPool},
    };
    use hearth_tracers::Cancel;
    use std::{panic::resume_unwind, sync::mpsc, time::Duration};

    #[test]
    fn a_fetch_that_panics_is_the_end_of_the_stream() {
        let pool = WorkerPool::new("test", WorkerConfig { threads: 1, queue: 1 }).expect("a thread");
        let (sender, stream) = stream::channel(|| {});
        let rest: FetchChunk = Box::new(|| resume_unwind(Box::new("planted")));
        let feed = Feed { first: Vec::new(), rest: Some(rest), packed_bytes: None };
        sender.feed(TraceSourceKind::Baked, feed, pool.submitter());
        let (notify, answer) = mpsc::channel();
        stream.ready_with(move |ready| notify.send(ready).expect("the test listens"));
        let ready = answer.recv_timeout(Duration::from_secs(60)).expect("the stream ends");
        assert_eq!(
            ready.expect_err("it failed").to_string(),
            NodeError::Internal { message: "planted".into() }.to_string()
        );
    }

    #[test]
    fn a_fetch_that_a_full_queue_refuses_ends_its_stream() {
        let pool = WorkerPool::new("test", WorkerConfig { threads: 1, queue: 2 }).expect("a thread");
        let (started, begun) = mpsc::channel();
        let (release, gate) = mpsc::channel::<()>();
        let hold = move || {
            started.send(()).expect("the test waits");
            let _ = gate.recv();
        };
        pool.submit(hold).expect("room");
        begun.recv().expect("it runs");
        let streams = [0, 1].map(|_| {
            let (sender, stream) = stream::channel(|| {});
            let rest: FetchChunk = Box::new(|| Ok(None));
            let feed = Feed { first: Vec::new(), rest: Some(rest), packed_bytes: None };
            sender.feed(TraceSourceKind::Baked, feed, pool.submitter());
            stream
        });
        // Both fetches wait. The newer one makes room for a client that has nothing in the queue.
        let order = Order { client: Arc::from("c"), kind: Kind::Other, cancel: Cancel::new() };
        pool.submitter().submit_for(order, |go| go.expect("it has room"));
        let (notify, answer) = mpsc::channel();
        streams[1].ready_with(move |ready| notify.send(ready).expect("the test listens"));
        let ready = answer.recv_timeout(Duration::from_secs(60)).expect("the stream ends");
        assert_eq!(ready.expect("no error"), 0);
        drop(release);
    }
}
