//! Who answers a trace: the resolvers, in the order in which they are tried.
//!
//! 1. Memory: what is baked and in memory, on the thread of the request.
//! 2. Disk: what is baked, on the pool of short reads.
//! 3. Shared execution: the bytes of the same trace, if one runs already. From here on the heavy
//!    pool works.
//! 4. The capsule of the block, on which it is executed again.
//! 5. The history of its parent, as far back as the settings allow.

use crate::{
    Envelope, TraceRequest, Traces,
    shared_traces::{Part, TraceOutput},
};
use alloy_primitives::{Address, B256};
use hearth_home::{
    ByteSender, NodeError, TraceSourceKind,
    workers::{Kind, Order, Submitter, guarded},
};
use hearth_primitives::Block;
use hearth_tracers::{Cancel, Limits, TracePlan};
use std::sync::Arc;

/// A trace without a script that a client waits for.
pub struct TraceJob {
    /// The traces of the home.
    pub traces: Arc<Traces>,
    /// What is traced, and how.
    pub request: TraceRequest,
    /// Whose it is: clients take turns.
    pub client: Arc<str>,
    /// Set once the result is no longer needed.
    pub cancel: Cancel,
    /// Where the result goes.
    pub sender: ByteSender,
    /// The pool of short reads.
    pub read: Submitter,
    /// The pool of traces.
    pub heavy: Submitter,
    /// Refuses long work while memory is short.
    pub admit: Box<dyn Fn() -> Result<(), NodeError> + Send + Sync>,
}

impl TraceJob {
    /// Tries the resolvers in their order. With an envelope, a baked answer is sent together with
    /// it as one gzip member if possible.
    pub fn resolve(self, envelope: Option<Envelope>) {
        let Some(baked) = self.traces.baked().cloned() else { return self.execute() };
        let Some(ask) = baked.ask(&self.request) else { return self.execute() };
        let read = self.read.clone();
        // 1: memory.
        if let Some(answer) = baked.hot(&ask, envelope.as_ref()) {
            self.traces.home().mark_height(answer.height, &self.sender);
            return self.sender.feed(TraceSourceKind::Baked, answer.into(), read);
        }
        // 2: disk.
        let feeder = read.clone();
        let submitted = read.submit_with(self, move |mut job| {
            match guarded(|| Ok(baked.stored(&ask, envelope.as_ref()))) {
                Ok(Some((height, answer))) => {
                    job.traces.home().mark_height(height, &job.sender);
                    match answer {
                        Ok(feed) => job.sender.feed(TraceSourceKind::Baked, feed, feeder),
                        Err(error) => {
                            job.sender.set_origin(TraceSourceKind::Baked);
                            job.sender.finish(Err(error));
                        }
                    }
                }
                Ok(None) | Err(_) => job.execute(),
            }
        });
        if let Err((job, _)) = submitted {
            job.execute();
        }
    }

    /// Queues resolvers 3 to 5. The trace is refused if memory is short or the queue is full, and
    /// if it has waited too long.
    fn execute(self) {
        let Self { traces, request, client, cancel, sender, heavy, admit, .. } = self;
        if let Err(error) = admit() {
            return sender.finish(Err(error));
        }
        let order = Order { client, kind: Kind::Trace, cancel: cancel.clone() };
        heavy.submit_for(order, move |go| match go {
            Ok(()) if cancel.is_cancelled() => sender.finish(Err(traces.home().interrupted())),
            Ok(()) => traces.run_trace(request, cancel, sender, None),
            Err(error) => sender.finish(Err(error)),
        });
    }
}

impl Traces {
    /// Resolvers 3 to 5, for a block or one of its transactions: the same trace if it runs already,
    /// else an execution, for which [`Traces::with_source`] finds the capsule or the history.
    pub(crate) fn share_or_execute(
        &self,
        (block, hash): (&Block, B256),
        senders: &[Address],
        index: Option<usize>,
        plan: &TracePlan,
        limits: &Limits,
        sender: &mut ByteSender,
    ) -> Result<(), NodeError> {
        // Two runs of a script need not give the same bytes.
        if index.is_some() || !plan.scripts().is_empty() {
            return self.trace_into((block, hash), senders, index, plan, limits, TraceOutput::alone(sender));
        }
        let sent = match self.capsules().shared.join(hash, plan) {
            Part::Leads(leader) => {
                let out = TraceOutput::leading(sender, &leader);
                self.trace_into((block, hash), senders, None, plan, limits, out)?;
                leader.whole();
                return Ok(());
            }
            Part::Follows(running) => running.follow(sender, limits)?,
        };
        let Some(mut sent) = sent else { return Ok(()) };
        let out = TraceOutput::resuming(sender, &mut sent);
        match self.trace_into((block, hash), senders, None, plan, limits, out) {
            Ok(()) | Err(NodeError::Cancelled) if sent.differs() && !limits.cancel.is_cancelled() => {
                let message = "the same trace gave another result this time (was it cut at its timeout?)";
                Err(NodeError::LimitExceeded { message: message.to_owned() })
            }
            done => done,
        }
    }
}
