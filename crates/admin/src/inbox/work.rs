//! What a node does for the requests of its home.

use super::protocol::{InboxCommand, Outcome};
use crate::{
    db::snapshot_report,
    jobs::{self, JobControl, JobError, JobProgress, JobResult},
};
use alloy_primitives::B256;
use hearth_bake::{BakeWorker, RangeControl, RangeProgress};
use hearth_chain::import::ImportJob;
use hearth_home::{Home, workers::guarded};
use hearth_metrics::{Level, Log, LogEntry};
use hearth_primitives::Height;
use hearth_traces::checked_range;
use parking_lot::Mutex;
use serde_json::Value;
use std::{io, path::PathBuf, sync::Arc, thread::JoinHandle, time::Instant};

/// Work for one request.
pub(super) enum Running {
    /// Nothing is done.
    Refused(Outcome),
    /// A range that the bake worker has.
    Bake(Arc<RangeControl>),
    /// Work on a thread of its own.
    Thread(Arc<ThreadWork>),
}

/// What the thread of a request and the inbox share.
#[derive(Default)]
pub(super) struct ThreadWork {
    control: JobControl,
    outcome: Mutex<Option<Outcome>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Outcome {
    fn failed(error: &JobError) -> Self {
        Self::Failed { kind: error.kind().to_owned(), message: error.to_string() }
    }

    /// Whether this is more than that the work was cancelled.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Failed { kind, .. } if kind == JobError::Cancelled.kind())
    }
}

impl Running {
    pub fn refused(kind: &str, message: String) -> Self {
        Self::Refused(Outcome::Failed { kind: kind.to_owned(), message })
    }

    pub fn progress(&self) -> JobProgress {
        match self {
            Self::Refused(_) => JobProgress::default(),
            Self::Bake(range) => crate::bake_job::job_progress(&range.progress()),
            Self::Thread(work) => work.control.progress(),
        }
    }

    /// What came of it, once nothing more will happen.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Refused(outcome) => Some(outcome.clone()),
            Self::Bake(range) => {
                let progress = range.progress();
                let report = || serde_json::to_value(&progress).unwrap_or_default();
                progress.finished.then(|| Outcome::Done(report()))
            }
            Self::Thread(work) => work.outcome.lock().clone(),
        }
    }

    /// Whether nothing of it runs any more. A range is left by the bake worker in its own time.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Bake(_)) || self.outcome().is_some()
    }

    pub fn cancel(&self) {
        match self {
            Self::Refused(_) => {}
            Self::Bake(range) => range.cancel(),
            Self::Thread(work) => work.control.cancel(),
        }
    }

    /// Waits until its thread has ended.
    pub fn end(&self) {
        if let Self::Thread(work) = self
            && let Some(thread) = work.thread.lock().take()
        {
            let _ = thread.join();
        }
    }

    /// Whether the next node takes it up.
    pub fn outlives_node(&self) -> bool {
        matches!(self, Self::Bake(_))
    }
}

/// What a node can do for requests.
pub(super) struct Handlers {
    home: Arc<Home>,
    baker: Option<Arc<BakeWorker>>,
    log: Log,
    /// One import at a time: others wait for it.
    importing: Arc<Mutex<()>>,
    /// Called when work on a thread has ended.
    ended: Arc<dyn Fn() + Send + Sync>,
}

impl Handlers {
    pub fn new(
        home: Arc<Home>,
        baker: Option<Arc<BakeWorker>>,
        log: Log,
        ended: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self { home, baker, log, importing: Arc::default(), ended: Arc::new(ended) }
    }

    /// Begins the work for a request.
    pub fn begin(&self, command: InboxCommand) -> Running {
        match command {
            InboxCommand::Bake { from, to } => self.bake(from, to),
            InboxCommand::Snapshot => {
                let home = self.home.clone();
                self.on_thread("hearth-snapshot", move |_| take_snapshot(&home))
            }
            InboxCommand::Import { .. } if self.home.dev().is_some() => {
                let home = self.home.config().home.display();
                Running::refused(
                    "unsupported",
                    format!(
                        "{home} is a development chain that makes its own blocks: stop it, import, and start it again"
                    ),
                )
            }
            InboxCommand::Import { files, head } => {
                let (home, log, turn) = (self.home.clone(), self.log.clone(), self.importing.clone());
                self.on_thread("hearth-import", move |control| {
                    let _one_at_a_time = turn.lock();
                    control.check()?;
                    import(&home, &log, files, head, control)
                })
            }
        }
    }

    fn bake(&self, from: Option<Height>, to: Option<Height>) -> Running {
        let Some(baker) = &self.baker else {
            let (home, pid) = (self.home.config().home.display(), std::process::id());
            let help = "start it with evm.trace_bake_enabled = true, or stop it";
            return Running::refused(
                "home_in_use",
                format!("{home} is in use by process {pid}, which does not bake: {help}"),
            );
        };
        let range = checked_range(&self.home, from, to).and_then(|(from, to)| {
            let range = baker.bake_range(from, to);
            range.ok_or_else(|| "too many ranges are being baked already".to_owned())
        });
        match range {
            Ok(range) => Running::Bake(range),
            Err(reason) => {
                let refused = RangeProgress { finished: true, stopped: Some(reason), ..Default::default() };
                Running::Refused(Outcome::Done(serde_json::to_value(refused).unwrap_or_default()))
            }
        }
    }

    fn on_thread(
        &self,
        name: &str,
        work: impl FnOnce(&JobControl) -> Result<Value, JobError> + Send + 'static,
    ) -> Running {
        let shared = Arc::new(ThreadWork::default());
        let (on_thread, ended) = (shared.clone(), self.ended.clone());
        let run = move || {
            let control = &on_thread.control;
            let done = guarded(|| Ok(work(control)));
            let outcome = match done.map_err(JobError::Node) {
                Ok(Ok(report)) => Outcome::Done(report),
                Ok(Err(error)) | Err(error) => Outcome::failed(&error),
            };
            *on_thread.outcome.lock() = Some(outcome);
            ended();
        };
        match std::thread::Builder::new().name(name.into()).spawn(run) {
            Ok(thread) => *shared.thread.lock() = Some(thread),
            Err(error) => return Running::refused("internal", format!("no thread: {error}")),
        }
        Running::Thread(shared)
    }
}

fn take_snapshot(home: &Home) -> Result<Value, JobError> {
    let taken = home.chain().kv().snapshot();
    Ok(snapshot_report(&taken.map_err(hearth_chain::ChainError::from)?))
}

fn import(
    home: &Home,
    log: &Log,
    files: Vec<PathBuf>,
    head: Option<B256>,
    control: &JobControl,
) -> Result<Value, JobError> {
    let began = Instant::now();
    let entry = |message: &'static str| LogEntry::new(Level::Info, "chain", message);
    log.add(entry("an import begins, on request").number("files", files.len() as u64));
    let done = jobs::import(home.chain(), &ImportJob { files, head }, control);
    let height = home.chain().head().height;
    let ended = match &done {
        Ok(done) => entry("the import is done").number("blocks", done.blocks).number("known", done.known),
        Err(JobError::Cancelled) => entry("the import was stopped"),
        Err(error) => LogEntry::new(Level::Warn, "chain", "the import failed").text("why", error),
    };
    log.add(ended.number("height", height).seconds(began.elapsed()));
    let done = done.map_err(explain)?;
    home.snapshot_if_moved(log);
    let report = JobResult { head: Some(jobs::head_of(home.chain())), ..done };
    Ok(serde_json::to_value(report)?)
}

/// A file that the requesting process can read may be hidden from the node.
fn explain(error: JobError) -> JobError {
    let unreadable = |source: &io::Error| {
        matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
    };
    match &error {
        JobError::Chain(hearth_chain::ChainError::Io { source, .. }) if unreadable(source) => {
            let message = format!("{error}; the node reads the file itself: it must be able to");
            JobError::FromNode { kind: error.kind().to_owned(), message }
        }
        _ => error,
    }
}
