//! Requests with a JavaScript tracer. They wait for a child process before they take a thread, so
//! that scripts do not delay other requests.

mod hooks;
mod host;
mod threads;

pub use hooks::HookLink;
pub use hooks::hook_link;
pub use host::RequestScripts;
pub use threads::Threads;

use crate::trace::timed_out;
use hearth_home::ScriptsConfig;
use hearth_home::{ByteSender, NodeError};
use hearth_metrics::Registry;
use hearth_primitives::Failure;
use hearth_sandbox::{Layers, Lease, LeaseRequest, Options, Pool, Program, Refused};
use hearth_tracers::{Cancel, ScriptHost, ScriptPlan, TracePlan};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after the opening of a node at which its first process of scripts starts: the node has
/// answered its first requests then, and a request with a script finds a process that is ready.
const WARM_UP_AFTER: Duration = Duration::from_millis(500);

/// The client of a request, and the time of the request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The client, by an address or a name; empty if it is not known.
    pub client: Arc<str>,
    /// When the request came.
    pub arrived: Instant,
}

impl Default for Caller {
    fn default() -> Self {
        Self::now(None)
    }
}

impl Caller {
    /// Who sent a request that has come now; `None`: that is not known.
    pub fn now(client: Option<&str>) -> Self {
        Self { client: Arc::from(client.unwrap_or("")), arrived: Instant::now() }
    }
}

/// What a request with scripts needs.
pub struct ScriptNeed {
    /// A hash of all their texts.
    script: u64,
    children: usize,
    timeout: std::time::Duration,
}

impl ScriptNeed {
    /// The need of checked configurations that share an execution; `None` without scripts.
    pub fn of_all(plans: &[TracePlan]) -> Option<Self> {
        let scripts: Vec<&ScriptPlan> = plans.iter().flat_map(TracePlan::scripts).collect();
        let timeout = plans.iter().map(|plan| plan.timeout).max()?;
        let mut hasher = DefaultHasher::new();
        scripts.iter().for_each(|script| script.text.hash(&mut hasher));
        let children = scripts.len();
        (children > 0).then(|| Self { script: hasher.finish(), children, timeout })
    }

    /// The lease request for the pool, valid as long as the trace is not cancelled.
    fn ask(&self, asker: &Caller, cancel: &Cancel) -> LeaseRequest {
        let cancelled = cancel.clone();
        LeaseRequest {
            client: asker.client.clone(),
            script: self.script,
            children: self.children,
            until: asker.arrived + self.timeout,
            is_wanted: Box::new(move || !cancelled.is_cancelled()),
        }
    }

    /// Processes that are needed at once.
    pub fn children(&self) -> usize {
        self.children
    }
}

/// The processes that run scripts, as far as there are any.
pub enum JsTracers {
    /// They are not allowed.
    Off,
    /// They cannot run here, for this reason.
    Unavailable(String),
    /// They run in these.
    Pool {
        /// The processes.
        pool: Arc<Pool>,
        /// What traces while its script looks on.
        threads: Threads,
    },
}

impl JsTracers {
    /// What the configuration says; `nice` is the nice value of the threads that trace, 0 to 19.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where a thread cannot be started.
    pub fn new(config: Option<&ScriptsConfig>, nice: i32, metrics: &Registry) -> Result<Self, NodeError> {
        let children = match config {
            None => return Ok(Self::Off),
            Some(ScriptsConfig::Unavailable(why)) => return Ok(Self::Unavailable(why.unavailable.clone())),
            Some(ScriptsConfig::Children(children)) => children,
        };
        let options = Options {
            program: Program { path: children.program.clone(), args: children.args.clone() },
            workers: children.workers(),
            queue: children.queue_size,
            memory_bytes: children.memory_bytes,
            output_bytes: children.output_bytes,
            layers: Layers::ALL,
            require: children.require(),
            warm_up: Some(WARM_UP_AFTER),
        };
        let pool = Pool::new(options, metrics).map_err(refused)?;
        Ok(Self::Pool { pool: Arc::new(pool), threads: Threads::with_nice(nice) })
    }

    /// Waits for processes, then runs the work on a thread with them; without processes it writes
    /// the refusal into the stream.
    pub fn run(
        &self,
        need: &ScriptNeed,
        asker: &Caller,
        cancel: &Cancel,
        sender: ByteSender,
        work: impl FnOnce(ByteSender, Arc<dyn ScriptHost>) + Send + 'static,
    ) {
        let (pool, threads) = match self {
            Self::Off => return sender.finish(Err(not_available())),
            Self::Unavailable(why) => {
                return sender.finish(Err(NodeError::Unsupported { message: why.clone() }));
            }
            Self::Pool { pool, threads } => (pool.clone(), threads.same()),
        };
        let ask = need.ask(asker, cancel);
        let (asker, script) = (asker.clone(), need.script);
        let for_host = pool.clone();
        pool.request(ask, move |granted| match granted {
            Ok(leases) => {
                let host = RequestScripts::new(for_host, asker, script, leases);
                threads.start(sender, move |sender| work(sender, Arc::new(host)));
            }
            Err(why) => sender.finish(Err(refused(why))),
        });
    }

    /// Kills the processes and ends the threads; what waits is refused.
    pub fn close(&self) {
        if let Self::Pool { pool, threads } = self {
            pool.close();
            threads.wait();
        }
    }
}

/// The scripts of a trace that waits for its processes on its own thread.
///
/// # Errors
/// Why there are none.
pub fn lease_for(
    pool: &Arc<Pool>,
    need: &ScriptNeed,
    cancel: &Cancel,
) -> Result<Arc<dyn ScriptHost>, NodeError> {
    let asker = Caller::default();
    let leases: Vec<Lease> = pool.lease(need.ask(&asker, cancel)).map_err(refused)?;
    Ok(Arc::new(RequestScripts::new(pool.clone(), asker, need.script, leases)))
}

/// JavaScript where it is not allowed, or by a way that has no processes.
pub fn not_available() -> NodeError {
    NodeError::Unsupported { message: "JavaScript tracers are not allowed on this node".to_owned() }
}

/// What the pool says, in the node's terms.
fn refused(why: Refused) -> NodeError {
    match why {
        Refused::Full { queue } => NodeError::Busy { pool: "JavaScript tracer", queue },
        Refused::Late => timed_out(),
        why @ Refused::Unconfined { .. } => NodeError::Unsupported { message: why.to_string() },
        Refused::Unwanted => NodeError::Cancelled,
        Refused::Closed => NodeError::Closed,
        why @ Refused::TooMany { .. } => NodeError::LimitExceeded { message: why.to_string() },
        why @ Refused::Start { .. } => NodeError::Trace { source: Failure::open(why) },
    }
}
