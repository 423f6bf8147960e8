//! Offline work on a home. Each job runs on its own thread and reports its progress.

use crate::answer::{Answer, guarded, on_thread, promise};
use hearth_node::NodeError;
use hearth_node::jobs::{Job, JobControl, JobError, JobOutput};
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use parking_lot::Mutex;
use std::sync::Arc;

/// A job.
#[napi]
pub struct NativeJob {
    control: Arc<JobControl>,
    /// Taken by `wait`, which does the work.
    json: Mutex<Option<String>>,
}

/// Prepares a job, described in JSON; `wait` does it.
#[napi(catch_unwind)]
pub fn start_job(json: String) -> NativeJob {
    NativeJob { control: Arc::default(), json: Mutex::new(Some(json)) }
}

#[napi]
impl NativeJob {
    /// How far the job is, as JSON.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> String {
        serde_json::json!(self.control.progress()).to_string()
    }

    /// Does the work; resolves to its result or an error value. To be called once.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn wait<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = promise::<Answer>(env)?;
        let failed = |error: NodeError| Answer::from(Err(error));
        let Some(json) = self.json.lock().take() else {
            deferred.resolve(failed(NodeError::Config { reason: "the job has run already".into() }));
            return Ok(promise);
        };
        let control = self.control.clone();
        on_thread("hearth-job", deferred, failed, move || {
            let run = || -> std::result::Result<JobOutput, JobError> { Job::from_json(&json)?.run(&control) };
            match guarded(|| Ok(run())) {
                Ok(Ok(result)) => Answer::ok(serde_json::json!(result).to_string().into_bytes()),
                Ok(Err(error)) => Answer::failed(error.to_json()),
                Err(panic) => failed(panic),
            }
        });
        Ok(promise)
    }

    /// Stops after the block under way; what was done stays done.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.control.cancel();
    }
}
