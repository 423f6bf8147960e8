//! The origin of a fork: requests of core threads reach a JavaScript function, and its answers
//! return by request number.

use hearth_node::{Fetch, OriginFetcher};
use napi::{
    Status,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode, UnknownReturnValue},
};
use napi_derive::napi;
use parking_lot::{Condvar, Mutex};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Requests that may wait for the function at the same time. A thread has at most one, so the
/// node's own never reach this.
const WAITING_MAX: usize = 4096;

/// How long a thread waits beyond the function's own deadline, so that the error of the function is
/// the answer.
const GRACE: Duration = Duration::from_secs(2);

type Function = ThreadsafeFunction<String, UnknownReturnValue, String, Status, false, true, { WAITING_MAX }>;

/// A JavaScript function that reads a remote node: it gets
/// `{"id":…,"requests":[[METHOD,PARAMS],…],"timeoutMs":…}` and answers with
/// [`NativeOrigin::answer`] or [`NativeOrigin::fail`].
#[napi]
pub struct NativeOrigin {
    fetcher: Arc<Caller>,
}

struct Caller {
    function: Function,
    next: AtomicU32,
    waiting: Mutex<HashMap<u32, Option<Result<String, String>>>>,
    answered: Condvar,
}

#[napi]
impl NativeOrigin {
    /// Wraps a function, which is called on the thread of this environment and does not keep the
    /// process alive.
    #[napi(constructor, catch_unwind, ts_args_type = "fetch: (request: string) => void")]
    pub fn new(fetch: Function) -> Self {
        let (next, waiting, answered) = Default::default();
        Self { fetcher: Arc::new(Caller { function: fetch, next, waiting, answered }) }
    }

    /// The results of a request, as a JSON array. Dropped if the request is no longer waiting.
    #[napi(catch_unwind)]
    pub fn answer(&self, id: u32, results: String) {
        self.fetcher.complete(id, Ok(results));
    }

    /// Why a request has no answer.
    #[napi(catch_unwind)]
    pub fn fail(&self, id: u32, why: String) {
        self.fetcher.complete(id, Err(why));
    }
}

impl NativeOrigin {
    /// The fetcher for the node's configuration.
    pub(crate) fn fetcher(&self) -> OriginFetcher {
        OriginFetcher(self.fetcher.clone())
    }
}

/// Whether an answer of eth_getProof, as JSON, proves what an account of the state with this root
/// is, or that there is none.
#[napi(catch_unwind)]
pub fn proves_account(state_root: String, address: String, proof: String) -> bool {
    hearth_node::proves_account(&state_root, &address, &proof)
}

impl Caller {
    fn complete(&self, id: u32, answer: Result<String, String>) {
        if let Some(slot) = self.waiting.lock().get_mut(&id) {
            *slot = Some(answer);
        }
        self.answered.notify_all();
    }
}

impl Fetch for Caller {
    fn fetch(&self, requests: String, timeout: Duration) -> Result<String, String> {
        let deadline = Instant::now() + timeout + GRACE;
        let id = self.next.fetch_add(1, Relaxed);
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            return Err(format!("{WAITING_MAX} requests wait for it"));
        }
        waiting.insert(id, None);
        let text = format!(r#"{{"id":{id},"requests":{requests},"timeoutMs":{}}}"#, timeout.as_millis());
        if self.function.call(text, ThreadsafeFunctionCallMode::NonBlocking) != Status::Ok {
            waiting.remove(&id);
            return Err("the process ends".to_owned());
        }
        loop {
            if let Some(Some(_)) = waiting.get(&id) {
                return waiting.remove(&id).flatten().unwrap_or_else(|| Err("no answer".to_owned()));
            }
            if self.answered.wait_until(&mut waiting, deadline).timed_out() {
                let late = waiting.remove(&id).flatten();
                return late.unwrap_or_else(|| Err(format!("no answer in {} ms", timeout.as_millis())));
            }
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}
