//! The traces of a node: answers of the trace cache that are available at once, and streams of
//! traces that run on the heavy pool.

use super::Node;
use hearth_home::{
    ByteSender, ByteStream, NodeError,
    stream::{self, Canceller},
};
use hearth_tracers::Cancel;
use hearth_traces::{
    Caller, Envelope, HookLink, NamedTrace, ScriptNeed, SharedAnswer, TraceJob, TraceRequest, Traces,
    hook_link, timed_out,
};
use std::sync::Arc;

/// Traces under hooks of this process that may run at the same time.
const HOOKED_TRACES_MAX: usize = 64;

impl Node {
    /// The answer to a trace, with its envelope, if it is baked and its bytes are in the memory of
    /// this process or of the system; never waits. `None` if the answer is not ready.
    pub fn ready(&self, trace: &NamedTrace<'_>, envelope: Envelope) -> Option<SharedAnswer> {
        let opened = self.opened().ok()?;
        let baked = opened.traces.baked()?;
        let (height, mut answer) = baked.ready(&baked.named(trace)?, envelope)?;
        answer.ready.historical = opened.home.is_historical(height);
        Some(answer)
    }

    /// Starts a trace for a client. A baked trace comes from the trace cache; with an envelope both
    /// are sent as one gzip member if possible, which [`ByteStream::packed_bytes`] reports. A trace
    /// with a script waits for a child process, any other for a thread of the heavy pool. The first
    /// item of the stream is an error if the trace cannot start.
    pub fn stream(&self, request: TraceRequest, asker: &Caller, envelope: Option<Envelope>) -> ByteStream {
        let cancel = Cancel::new();
        let on_cancel = cancel.clone();
        let (traces, mut sender, stream) = match self.open_stream(move || on_cancel.cancel()) {
            Ok(opened) => opened,
            Err(refused) => return refused,
        };
        if let Some(need) = ScriptNeed::of_all(std::slice::from_ref(&request.plan)) {
            if let Err(error) = self.memory.admit() {
                sender.finish(Err(error));
                return stream;
            }
            let (arrived, of_trace) = (asker.arrived, cancel.clone());
            if request.has_one_deadline()
                && let Some(deadline) = arrived.checked_add(request.plan.timeout)
            {
                sender.expire_at(traces.deadlines(), deadline, timed_out);
            }
            self.scripts.run(&need, asker, &cancel, sender, move |sender, host| {
                traces.run_trace(request, of_trace, sender, Some((host, arrived)));
            });
            return stream;
        }
        let memory = self.memory.clone();
        let job = TraceJob {
            traces,
            request,
            client: asker.client.clone(),
            cancel,
            sender,
            read: self.read.submitter(),
            heavy: self.heavy.submitter(),
            admit: Box::new(move || memory.admit()),
        };
        job.resolve(envelope);
        stream
    }

    /// Starts a trace under hooks of this process. Its configuration must be that of a script; its
    /// text is not used, because the hooks are at the other end of the link. Their answer to each
    /// transaction is in the stream unchanged.
    pub fn trace_hooked(&self, request: TraceRequest) -> (HookLink, ByteStream) {
        let (cancel, arrived) = (Cancel::new(), std::time::Instant::now());
        let (link, host) = hook_link(arrived);
        let (on_cancel, its_link) = (cancel.clone(), link.clone());
        let opened = self.open_stream(move || {
            on_cancel.cancel();
            its_link.cancel();
        });
        let (traces, sender, stream) = match opened {
            Ok(opened) => opened,
            Err(refused) => return (link, refused),
        };
        if self.hooked.count() >= HOOKED_TRACES_MAX {
            sender.finish(Err(NodeError::Busy { pool: "hooks", queue: HOOKED_TRACES_MAX }));
            return (link, stream);
        }
        self.hooked.start(sender, move |sender| {
            traces.run_trace(request, cancel, sender, Some((Arc::new(host), arrived)));
        });
        (link, stream)
    }

    /// A stream of an open home; one with the error alone where it is closed.
    fn open_stream(
        &self,
        on_cancel: impl Fn() + Send + Sync + 'static,
    ) -> Result<(Arc<Traces>, ByteSender, ByteStream), ByteStream> {
        let (sender, stream) = stream::channel(on_cancel);
        // Under the lock that closing takes first, so that no stream begins behind its back.
        let mut running = self.running.lock();
        match self.opened() {
            Ok(opened) => {
                running.retain(Canceller::is_live);
                running.push(stream.canceller());
                Ok((opened.traces.clone(), sender, stream))
            }
            Err(error) => {
                sender.finish(Err(error));
                Err(stream)
            }
        }
    }
}
