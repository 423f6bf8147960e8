//! Shared execution of block traces: equal requests that arrive while a trace runs are executed
//! once.
//!
//! The first request keeps its output, up to a limit, and the others read it. A request that cannot
//! follow (the output is too large, the trace was cancelled or is too slow) executes the block
//! itself and skips the bytes that it has sent already. They are compared by their hash: a trace
//! that is cut at its timeout is another one each time.

use alloy_primitives::{B256, Keccak256};
use hearth_home::{ByteSender, NodeError, TraceSourceKind};
use hearth_tracers::{Limits, Sink, SinkClosed, TracePlan};
use parking_lot::{Condvar, Mutex};
use std::{sync::Arc, time::Duration};

/// Bytes of a running trace that others may read along.
pub const SHARED_TRACE_BYTES: usize = 16 << 20;

/// How long a request waits for bytes of another one's trace before it executes the block itself:
/// the other reader may be slow.
const PATIENCE: Duration = Duration::from_millis(500);

/// Bytes that are handed on at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// Whole-block traces that run at the moment.
#[derive(Default)]
pub struct SharedTraces(Mutex<Vec<(B256, TracePlan, Arc<Running>)>>);

/// A trace that runs, as far as it has come.
#[derive(Default)]
pub struct Running {
    buffer: Mutex<SharedBuffer>,
    more: Condvar,
}

#[derive(Default)]
struct SharedBuffer {
    origin: Option<TraceSourceKind>,
    bytes: Vec<u8>,
    end: End,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum End {
    /// More may come.
    #[default]
    Open,
    /// That was all.
    Whole,
    /// What is missing never comes.
    Lost,
}

/// The part that one has in a trace.
pub enum Part<'a> {
    /// It runs it.
    Leads(Leader<'a>),
    /// Another does.
    Follows(Arc<Running>),
}

/// The one that runs a trace. Dropping it without [`Leader::whole`] gives the trace up.
pub struct Leader<'a> {
    traces: &'a SharedTraces,
    running: Arc<Running>,
}

impl SharedTraces {
    /// Joins the trace of a block, or begins it.
    pub fn join(&self, hash: B256, plan: &TracePlan) -> Part<'_> {
        let mut all = self.0.lock();
        let same = all.iter().find(|(known, asked, _)| *known == hash && asked == plan);
        if let Some((_, _, running)) = same {
            return Part::Follows(running.clone());
        }
        let running = Arc::new(Running::default());
        all.push((hash, plan.clone(), running.clone()));
        Part::Leads(Leader { traces: self, running })
    }
}

impl Leader<'_> {
    /// Everything was written.
    pub fn whole(&self) {
        self.running.ends(End::Whole);
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.traces.0.lock().retain(|(_, _, running)| !Arc::ptr_eq(running, &self.running));
        self.running.ends(End::Lost);
    }
}

impl Running {
    /// The first end counts.
    fn ends(&self, end: End) {
        let mut buffer = self.buffer.lock();
        if buffer.end == End::Open {
            buffer.end = end;
        }
        self.more.notify_all();
    }

    fn add(&self, chunk: &[u8]) {
        let mut buffer = self.buffer.lock();
        if buffer.end != End::Open {
            return;
        }
        if buffer.bytes.len() + chunk.len() > SHARED_TRACE_BYTES {
            buffer.bytes = Vec::new();
            buffer.end = End::Lost;
        } else {
            buffer.bytes.extend_from_slice(chunk);
        }
        self.more.notify_all();
    }

    /// Sends the output of another request's trace. `Ok(None)` if that was all of it; otherwise
    /// what was sent before this request had to execute the rest itself.
    ///
    /// # Errors
    /// [`NodeError::Cancelled`] if the client has left.
    pub fn follow(&self, sender: &mut ByteSender, limits: &Limits) -> Result<Option<SentPart>, NodeError> {
        let (mut sent, mut hash) = (0, Keccak256::new());
        loop {
            let piece = {
                let mut buffer = self.buffer.lock();
                if buffer.bytes.len() <= sent && buffer.end == End::Open {
                    let late = self.more.wait_for(&mut buffer, PATIENCE).timed_out();
                    if late && buffer.bytes.len() <= sent {
                        return Ok(Some(SentPart::new(sent, hash)));
                    }
                }
                if let Some(origin) = buffer.origin.filter(|_| sent == 0) {
                    sender.set_origin(origin);
                }
                match buffer.end {
                    End::Lost => return Ok(Some(SentPart::new(sent, hash))),
                    End::Whole if buffer.bytes.len() == sent => return Ok(None),
                    _ => buffer.bytes[sent..].iter().take(PIECE_BYTES).copied().collect::<Vec<u8>>(),
                }
            };
            if limits.cancel.is_cancelled() {
                return Err(NodeError::Cancelled);
            }
            sent += piece.len();
            hash.update(&piece);
            sender.write(&piece).map_err(|_| NodeError::Cancelled)?;
        }
    }
}

/// What a reader has of another request's trace, while the trace is made again.
pub struct SentPart {
    /// Bytes that were not made again so far.
    left: u64,
    hash: B256,
    again: Keccak256,
    differs: bool,
}

impl SentPart {
    fn new(bytes: usize, hash: Keccak256) -> Self {
        Self { left: bytes as u64, hash: hash.finalize(), again: Keccak256::new(), differs: false }
    }

    /// Takes off what of a chunk the reader has; how much of it that is.
    fn pass(&mut self, chunk: &[u8]) -> Result<usize, SinkClosed> {
        if self.left == 0 {
            return if self.differs { Err(SinkClosed) } else { Ok(0) };
        }
        let known = usize::try_from(self.left).unwrap_or(usize::MAX).min(chunk.len());
        self.left -= known as u64;
        self.again.update(&chunk[..known]);
        if self.left == 0 {
            self.differs = std::mem::take(&mut self.again).finalize() != self.hash;
        }
        if self.differs { Err(SinkClosed) } else { Ok(known) }
    }

    /// Whether the trace that was made again does not begin as the one that was read.
    pub fn differs(&self) -> bool {
        self.differs || self.left > 0
    }
}

/// Destination of a trace: its own client, and other clients that requested the same trace.
pub struct TraceOutput<'a> {
    sender: &'a mut ByteSender,
    /// What the reader has already.
    sent: Option<&'a mut SentPart>,
    running: Option<&'a Running>,
}

impl<'a> TraceOutput<'a> {
    /// To the reader alone.
    pub fn alone(sender: &'a mut ByteSender) -> Self {
        Self { sender, sent: None, running: None }
    }

    /// To the reader alone, who has a part already. Where the trace does not begin with it, the
    /// output closes; [`SentPart::differs`] says so.
    pub fn resuming(sender: &'a mut ByteSender, sent: &'a mut SentPart) -> Self {
        Self { sender, sent: Some(sent), running: None }
    }

    /// To the reader and to all who have joined.
    pub fn leading(sender: &'a mut ByteSender, leader: &'a Leader<'_>) -> Self {
        Self { sender, sent: None, running: Some(&leader.running) }
    }

    /// Says what the trace is made from, before its first byte.
    pub fn set_origin(&mut self, origin: TraceSourceKind) {
        if self.sent.as_ref().is_none_or(|sent| sent.left == 0) {
            self.sender.set_origin(origin);
        }
        if let Some(running) = self.running {
            running.buffer.lock().origin = Some(origin);
        }
    }
}

impl Sink for TraceOutput<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), SinkClosed> {
        if let Some(running) = self.running {
            running.add(chunk);
        }
        let known = match &mut self.sent {
            Some(sent) => sent.pass(chunk)?,
            None => 0,
        };
        Sink::write(self.sender, &chunk[known..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_home::stream;
    use hearth_tracers::TraceConfig;

    fn plan(text: &str) -> TracePlan {
        TracePlan::new(&TraceConfig::parse(text).expect("reads")).expect("a plan")
    }

    fn read(stream: &hearth_home::ByteStream) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(chunk) = stream.next().expect("no error") {
            all.extend(chunk);
        }
        all
    }

    fn lead<'a>(traces: &'a SharedTraces, plan: &'a TracePlan) -> Leader<'a> {
        match traces.join(B256::ZERO, plan) {
            Part::Leads(leader) => leader,
            Part::Follows(_) => panic!("nobody leads"),
        }
    }

    fn join(traces: &SharedTraces, plan: &TracePlan) -> Arc<Running> {
        match traces.join(B256::ZERO, plan) {
            Part::Follows(running) => running,
            Part::Leads(_) => panic!("somebody leads"),
        }
    }

    #[test]
    fn a_second_one_reads_along_and_another_plan_does_not() {
        let (traces, calls) = (SharedTraces::default(), plan(r#"{"tracer":"callTracer"}"#));
        let (mut first, first_stream) = stream::channel(|| {});
        let leader = lead(&traces, &calls);
        assert!(matches!(traces.join(B256::ZERO, &plan("{}")), Part::Leads(_)));
        assert!(matches!(traces.join(B256::repeat_byte(1), &calls), Part::Leads(_)));
        let (mut second, second_stream) = stream::channel(|| {});
        let running = join(&traces, &calls);
        let mut out = TraceOutput::leading(&mut first, &leader);
        out.set_origin(TraceSourceKind::Capsule);
        out.write(b"[1,").expect("room");
        let follower = std::thread::spawn(move || {
            let rest = running.follow(&mut second, &Limits::default()).expect("reads");
            second.finish(Ok(()));
            rest
        });
        out.write(b"2]").expect("room");
        leader.whole();
        drop(leader);
        first.finish(Ok(()));
        assert!(follower.join().expect("ends").is_none());
        assert_eq!(read(&first_stream), b"[1,2]");
        assert_eq!(read(&second_stream), b"[1,2]");
        assert_eq!(second_stream.origin(), Some(TraceSourceKind::Capsule));
        assert!(matches!(traces.join(B256::ZERO, &calls), Part::Leads(_)), "it is over");
    }

    #[test]
    fn a_trace_that_cannot_be_shared_resumes_where_it_was_sent() {
        let (traces, calls) = (SharedTraces::default(), plan(r#"{"tracer":"callTracer"}"#));
        let (mut first, first_stream) = stream::channel(|| {});
        let reader = std::thread::spawn(move || read(&first_stream).len());
        let leader = lead(&traces, &calls);
        let (large, lost) = (join(&traces, &calls), join(&traces, &calls));
        let mut out = TraceOutput::leading(&mut first, &leader);
        out.write(b"[").expect("room");
        let (mut second, second_stream) = stream::channel(|| {});
        let limits = Limits::default();
        let sent = lost.follow(&mut second, &limits).expect("reads");
        let mut sent = sent.expect("nothing more came in time");
        assert!(sent.left == 1 && sent.differs());
        let mut again = TraceOutput::resuming(&mut second, &mut sent);
        again.write(b"[").expect("room");
        again.write(b"7]").expect("room");
        assert!(!sent.differs());
        second.finish(Ok(()));
        assert_eq!(read(&second_stream), b"[7]");
        out.write(&vec![b' '; SHARED_TRACE_BYTES]).expect("room");
        let (mut third, _third_stream) = stream::channel(|| {});
        let mut none = large.follow(&mut third, &limits).expect("reads").expect("too large");
        assert!(none.left == 0 && !none.differs());
        assert_eq!(none.pass(b"[7"), Ok(0));
        drop(leader);
        first.finish(Ok(()));
        assert_eq!(reader.join().expect("ends"), SHARED_TRACE_BYTES + 1);
    }

    #[test]
    fn a_trace_that_begins_otherwise_is_not_continued() {
        let mut hash = Keccak256::new();
        hash.update(b"[1,2");
        let part = || SentPart::new(4, hash.clone());
        let mut same = part();
        assert_eq!((same.pass(b"[1,"), same.pass(b"2,3]"), same.pass(b"4")), (Ok(3), Ok(1), Ok(0)));
        assert!(!same.differs());
        let mut other = part();
        assert_eq!((other.pass(b"[1,"), other.pass(b"3,3]")), (Ok(3), Err(SinkClosed)));
        assert_eq!(other.pass(b"4"), Err(SinkClosed));
        assert!(other.differs());
        let mut short = part();
        assert_eq!(short.pass(b"[1"), Ok(2));
        assert!(short.differs());
    }
}
