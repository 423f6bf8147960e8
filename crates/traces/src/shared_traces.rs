//! Shared execution of block traces: equal requests that arrive while a trace runs are executed
//! once.
//!
//! The first request keeps its output, up to a limit, and the others read it. A request that cannot
//! follow (the output is too large, the trace was cancelled or is too slow) executes the block
//! itself and skips the bytes that it has sent already: the output is the same each time.

use alloy_primitives::B256;
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

    /// Sends the output of another request's trace. `Ok(None)` if that was all of it; otherwise the
    /// number of bytes that were sent before this request had to execute the rest itself.
    ///
    /// # Errors
    /// [`NodeError::Cancelled`] if the client has left.
    pub fn follow(&self, sender: &mut ByteSender, limits: &Limits) -> Result<Option<u64>, NodeError> {
        let mut sent = 0;
        loop {
            let piece = {
                let mut buffer = self.buffer.lock();
                if buffer.bytes.len() <= sent && buffer.end == End::Open {
                    let late = self.more.wait_for(&mut buffer, PATIENCE).timed_out();
                    if late && buffer.bytes.len() <= sent {
                        return Ok(Some(sent as u64));
                    }
                }
                if let Some(origin) = buffer.origin.filter(|_| sent == 0) {
                    sender.set_origin(origin);
                }
                match buffer.end {
                    End::Lost => return Ok(Some(sent as u64)),
                    End::Whole if buffer.bytes.len() == sent => return Ok(None),
                    _ => buffer.bytes[sent..].iter().take(PIECE_BYTES).copied().collect::<Vec<u8>>(),
                }
            };
            if limits.cancel.is_cancelled() {
                return Err(NodeError::Cancelled);
            }
            sent += piece.len();
            sender.write(&piece).map_err(|_| NodeError::Cancelled)?;
        }
    }
}

/// Destination of a trace: its own client, and other clients that requested the same trace.
pub struct TraceOutput<'a> {
    sender: &'a mut ByteSender,
    /// Bytes that the reader has already.
    skip: u64,
    running: Option<&'a Running>,
}

impl<'a> TraceOutput<'a> {
    /// To the reader alone, who has `skip` bytes already.
    pub fn alone(sender: &'a mut ByteSender, skip: u64) -> Self {
        Self { sender, skip, running: None }
    }

    /// To the reader and to all who have joined.
    pub fn leading(sender: &'a mut ByteSender, leader: &'a Leader<'_>) -> Self {
        Self { sender, skip: 0, running: Some(&leader.running) }
    }

    /// Says what the trace is made from, before its first byte.
    pub fn set_origin(&mut self, origin: TraceSourceKind) {
        if self.skip == 0 {
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
        let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(chunk.len());
        self.skip -= known as u64;
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
        assert_eq!(follower.join().expect("ends"), None);
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
        assert_eq!(lost.follow(&mut second, &limits).expect("reads"), Some(1), "nothing more came in time");
        let mut again = TraceOutput::alone(&mut second, 1);
        again.write(b"[").expect("room");
        again.write(b"7]").expect("room");
        second.finish(Ok(()));
        assert_eq!(read(&second_stream), b"[7]");
        out.write(&vec![b' '; SHARED_TRACE_BYTES]).expect("room");
        let (mut third, _third_stream) = stream::channel(|| {});
        assert_eq!(large.follow(&mut third, &limits).expect("reads"), Some(0), "too large");
        drop(leader);
        first.finish(Ok(()));
        assert_eq!(reader.join().expect("ends"), SHARED_TRACE_BYTES + 1);
    }
}
