//! Offline work on a home: making it, import, export. Each job runs on a thread of its own and tells its progress.

use crate::answer::{Answer, on_thread, promise};
use alloy_primitives::B256;
use hearth_chain::import::{ImportJob, Progress};
use hearth_chain::{Chain, ChainError, ChainOptions, ExportRange};
use hearth_flatkv::{FlatKvError, Fsync};
use hearth_node::{FsyncPolicy, NodeError};
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Buffer of an export's file, in bytes.
const EXPORT_BUFFER_BYTES: usize = 1024 * 1024;

/// What to do, read from JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    home: PathBuf,
    fsync: FsyncPolicy,
    cache_bytes: usize,
    #[serde(flatten)]
    work: Work,
}

#[derive(Deserialize)]
#[serde(tag = "job", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Work {
    Init {
        genesis: PathBuf,
    },
    Import {
        #[serde(default)]
        genesis: Option<PathBuf>,
        files: Vec<PathBuf>,
        #[serde(default)]
        head: Option<B256>,
    },
    ImportCase {
        #[serde(default)]
        genesis: Option<PathBuf>,
        case: PathBuf,
    },
    Export {
        file: PathBuf,
        #[serde(default)]
        from: Option<u64>,
        #[serde(default)]
        to: Option<u64>,
        #[serde(default)]
        with_genesis: bool,
    },
}

/// How far a job is, as it crosses.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobProgress {
    blocks: u64,
    gas: u64,
    bytes: u64,
    bytes_total: u64,
    height: Option<u64>,
}

/// What a job did, as it crosses.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobResult {
    blocks: u64,
    known: u64,
    gas: u64,
    head: Option<JobHead>,
    skipped: Vec<String>,
}

#[derive(Serialize)]
struct JobHead {
    height: u64,
    hash: B256,
}

/// Why a job ended without a result.
enum JobError {
    Chain(ChainError),
    Io { path: PathBuf, error: std::io::Error },
    Request(String),
    Panic(String),
}

impl From<ChainError> for JobError {
    fn from(error: ChainError) -> Self {
        Self::Chain(error)
    }
}

impl JobError {
    fn to_json(&self) -> Vec<u8> {
        let (kind, message) = match self {
            Self::Chain(error) => (chain_kind(error), error.to_string()),
            Self::Io { path, error } => ("io", format!("{}: {error}", path.display())),
            Self::Request(why) => ("config", why.clone()),
            Self::Panic(text) => ("internal", format!("internal error: {text}")),
        };
        serde_json::json!({ "kind": kind, "message": message }).to_string().into_bytes()
    }
}

fn chain_kind(error: &ChainError) -> &'static str {
    match error {
        ChainError::Cancelled => "cancelled",
        ChainError::NotInitialised { .. } => "home_empty",
        ChainError::Store(FlatKvError::Locked { .. }) => "home_in_use",
        ChainError::OtherChain { .. } | ChainError::NewerFormat { .. } | ChainError::BadHome { .. } => {
            "home_incompatible"
        }
        ChainError::Genesis { .. } => "genesis",
        ChainError::Io { .. } => "io",
        ChainError::Store(_) | ChainError::State(_) | ChainError::Ledger(_) => "store",
        _ => "import",
    }
}

/// What the job's thread and JavaScript share.
#[derive(Default)]
struct Shared {
    progress: Mutex<JobProgress>,
    cancel: AtomicBool,
}

/// A job under way.
#[napi]
pub struct NativeJob {
    shared: Arc<Shared>,
    /// Taken by `wait`, which starts the work.
    json: Mutex<Option<String>>,
}

/// Prepares a job; [`NativeJob::wait`] runs it.
#[napi(catch_unwind)]
pub fn start_job(json: String) -> NativeJob {
    NativeJob { shared: Arc::default(), json: Mutex::new(Some(json)) }
}

#[napi]
impl NativeJob {
    /// `{"blocks":…,"gas":…,"bytes":…,"bytesTotal":…,"height":…}`.
    #[napi(catch_unwind)]
    pub fn progress(&self) -> String {
        serde_json::json!(*self.shared.progress.lock()).to_string()
    }

    /// Runs the job. To be called once.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
    pub fn wait<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (settle, promise) = promise::<Answer>(env)?;
        let json = self.json.lock().take();
        let shared = self.shared.clone();
        on_thread(
            "hearth-job",
            settle,
            |error: NodeError| Answer::from(Err(error)),
            move || match run_caught(json, &shared) {
                Ok(result) => Answer::ok(serde_json::json!(result).to_string().into_bytes()),
                Err(error) => Answer::failed(error.to_json()),
            },
        );
        Ok(promise)
    }

    /// Stops after the block under way; what was done stays done.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.shared.cancel.store(true, Ordering::Relaxed);
    }
}

fn run_caught(json: Option<String>, shared: &Shared) -> std::result::Result<JobResult, JobError> {
    let json = json.ok_or_else(|| JobError::Request("the job has run already".into()))?;
    catch_unwind(AssertUnwindSafe(|| run(&json, shared))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(JobError::Panic(text.unwrap_or_else(|| "a job panicked".into())))
    })
}

fn run(json: &str, shared: &Shared) -> std::result::Result<JobResult, JobError> {
    let job: Job = serde_json::from_str(json).map_err(|e| JobError::Request(format!("the job: {e}")))?;
    let fsync = match job.fsync {
        FsyncPolicy::Block => Fsync::Block,
        FsyncPolicy::Interval(every) => Fsync::Interval(every),
        FsyncPolicy::None => Fsync::None,
    };
    let options = ChainOptions { fsync, cache_bytes: job.cache_bytes };
    match job.work {
        Work::Init { genesis } => {
            let chain = open(&job.home, Some(&genesis), &options)?;
            finish(&chain, JobResult::default())
        }
        Work::Import { genesis, files, head } => {
            let chain = open(&job.home, genesis.as_deref(), &options)?;
            let mut report = |p: &Progress| {
                *shared.progress.lock() = JobProgress {
                    blocks: p.blocks,
                    gas: p.gas,
                    bytes: p.bytes_done,
                    bytes_total: p.bytes_total,
                    height: Some(p.number),
                };
            };
            let imported = chain.import(&ImportJob { files, head }, &mut report, &shared.cancel);
            closing(&chain, imported, |done| JobResult {
                blocks: done.progress.blocks,
                known: done.progress.known,
                gas: done.progress.gas,
                ..JobResult::default()
            })
        }
        Work::ImportCase { genesis, case } => {
            let _ = (genesis, case);
            Err(JobError::Request("not there yet".into()))
        }
        Work::Export { file, from, to, with_genesis } => {
            let chain = open(&job.home, None, &options)?;
            let exported = export(&chain, &ExportRange { from, to, with_genesis }, &file, shared);
            closing(&chain, exported, |blocks| JobResult { blocks, ..JobResult::default() })
        }
    }
}

/// Opens the home's chain; with a genesis makes it where it is new.
fn open(home: &Path, genesis: Option<&Path>, options: &ChainOptions) -> std::result::Result<Chain, JobError> {
    let Some(path) = genesis else { return Ok(Chain::open(home, options)?) };
    let text =
        std::fs::read_to_string(path).map_err(|error| JobError::Io { path: path.to_owned(), error })?;
    Ok(Chain::create(home, &text, options)?)
}

/// Closes the chain whatever happened; the work's own error is told first.
fn closing<T, E: Into<JobError>>(
    chain: &Chain,
    work: std::result::Result<T, E>,
    result: impl FnOnce(T) -> JobResult,
) -> std::result::Result<JobResult, JobError> {
    match work {
        Ok(done) => finish(chain, result(done)),
        Err(error) => {
            let _ = chain.close();
            Err(error.into())
        }
    }
}

fn finish(chain: &Chain, result: JobResult) -> std::result::Result<JobResult, JobError> {
    let head = chain.head();
    chain.close()?;
    Ok(JobResult { head: Some(JobHead { height: head.height, hash: head.hash }), ..result })
}

/// Exports into a file beside the one that is wanted and renames it at the end, so that no half export is left.
fn export(
    chain: &Chain,
    range: &ExportRange,
    file: &Path,
    shared: &Shared,
) -> std::result::Result<u64, JobError> {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(name);
    let failed = |error| JobError::Io { path: file.to_owned(), error };
    let written = File::create(&partial).map_err(failed).and_then(|out| {
        let mut out = BufWriter::with_capacity(EXPORT_BUFFER_BYTES, out);
        let mut report = |done: &hearth_chain::ExportReport, all: u64| {
            let progress = JobProgress {
                blocks: done.blocks,
                bytes: done.blocks,
                bytes_total: all,
                ..JobProgress::default()
            };
            *shared.progress.lock() = progress;
        };
        let done = chain.export(range, file, &mut out, &mut report, &shared.cancel)?;
        std::fs::rename(&partial, file).map_err(failed)?;
        Ok(done.blocks)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}
