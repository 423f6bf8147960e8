//! The sessions of one request's scripts, out of the pool of processes.

use super::Caller;
use hearth_sandbox::{Ended, Lease, LeaseRequest, Pool, Refused, Verdict};
use hearth_tracers::{
    Cancel, ScriptGone, ScriptHost, ScriptLimits, ScriptPlan, ScriptSession, ScriptVerdict, TraceError,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The processes of one request, and the way to get more: to replace a killed one, and for a thread
/// that helps.
pub struct RequestScripts {
    pool: Arc<Pool>,
    client: Arc<str>,
    script: u64,
    arrived: Mutex<Option<Instant>>,
    free: Arc<Mutex<IdleChildren>>,
}

/// Child processes of a request that are currently idle.
#[derive(Default)]
struct IdleChildren {
    /// Nothing was begun on these.
    unused: Vec<Lease>,
    used: Vec<Lease>,
}

impl std::fmt::Debug for RequestScripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestScripts").field("client", &self.client).finish_non_exhaustive()
    }
}

impl RequestScripts {
    pub fn new(pool: Arc<Pool>, asker: Caller, script: u64, granted: Vec<Lease>) -> Self {
        let free = Arc::new(Mutex::new(IdleChildren { unused: granted, used: Vec::new() }));
        Self { pool, client: asker.client, script, arrived: Mutex::new(Some(asker.arrived)), free }
    }

    fn session(&self, lease: Lease) -> Box<dyn ScriptSession> {
        Box::new(ProcessSession { lease, ended: None, free: self.free.clone() })
    }

    fn take_free(&self) -> Option<Lease> {
        let mut free = self.free.lock();
        free.used.pop().or_else(|| free.unused.pop())
    }
}

impl Drop for RequestScripts {
    fn drop(&mut self) {
        let IdleChildren { unused, used } = std::mem::take(&mut *self.free.lock());
        unused.into_iter().for_each(|lease| lease.end(Verdict::Unused));
        used.into_iter().for_each(|lease| lease.end(Verdict::Clean));
    }
}

impl ScriptHost for RequestScripts {
    fn open(
        &self,
        _: &ScriptPlan,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<Box<dyn ScriptSession>, TraceError> {
        if let Some(lease) = self.take_free() {
            return Ok(self.session(lease));
        }
        let cancelled = cancel.clone();
        let ask = LeaseRequest {
            client: self.client.clone(),
            script: self.script,
            children: 1,
            until,
            is_wanted: Box::new(move || !cancelled.is_cancelled()),
        };
        match self.pool.lease(ask).map(|mut leases| leases.pop()) {
            Ok(Some(lease)) => Ok(self.session(lease)),
            Ok(None) | Err(Refused::Closed | Refused::Unwanted) => Err(TraceError::Cancelled),
            Err(Refused::Late) => Err(TraceError::ExecutionTimeout),
            Err(full @ Refused::Full { .. }) => Err(TraceError::ScriptsBusy { message: full.to_string() }),
            Err(other) => Err(TraceError::Script(other.to_string())),
        }
    }

    fn try_open(&self, _: &ScriptPlan) -> Option<Box<dyn ScriptSession>> {
        let lease = self.pool.try_lease(&self.client, self.script)?;
        Some(self.session(lease))
    }

    fn limits(&self) -> ScriptLimits {
        let options = self.pool.options();
        ScriptLimits { memory_bytes: options.memory_bytes, output_bytes: options.output_bytes }
    }

    fn arrived(&self) -> Option<Instant> {
        self.arrived.lock().take()
    }
}

/// A process as a channel.
struct ProcessSession {
    lease: Lease,
    /// Why the process is gone, once it is.
    ended: Option<Ended>,
    free: Arc<Mutex<IdleChildren>>,
}

impl ProcessSession {
    fn note_end<T>(&mut self, outcome: Result<T, Ended>) -> Result<T, ScriptGone> {
        outcome.map_err(|ended| {
            let text = ended.to_string();
            self.ended = Some(ended);
            ScriptGone(text)
        })
    }
}

impl ScriptSession for ProcessSession {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ScriptGone> {
        let outcome = self.lease.write(bytes);
        self.note_end(outcome)
    }

    fn read(&mut self) -> Result<Option<(u8, Vec<u8>)>, ScriptGone> {
        let outcome = self.lease.read();
        Ok(self.note_end(outcome)?.map(|message| (message.kind, message.payload)))
    }

    fn wait(&self, to_write: bool, at_most: Duration) {
        self.lease.wait(to_write, at_most);
    }

    fn end(self: Box<Self>, verdict: ScriptVerdict) {
        let Self { lease, ended, free } = *self;
        if verdict == ScriptVerdict::Clean && ended.is_none() {
            return free.lock().used.push(lease);
        }
        lease.end(match (verdict, ended) {
            (_, Some(ended)) => Verdict::Ended(ended),
            (ScriptVerdict::Clean, None) => Verdict::Clean,
            (ScriptVerdict::Late, None) => Verdict::Late,
            (ScriptVerdict::Unwanted, None) => Verdict::Unwanted,
            (ScriptVerdict::Gone, None) => Verdict::Ended(Ended::Protocol),
        });
    }
}
