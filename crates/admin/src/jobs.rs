//! Work on a home that no node has open (creation, import, export), and requests to the node of a
//! home. One typed job, parsed from JSON.

pub use crate::bake_job::BakeJob;
use crate::db::{DbTask, TablesError};
use crate::inbox::{Client, InboxCommand};
use crate::sink;
use alloy_primitives::B256;
use hearth_bake::RangeProgress;
use hearth_chain::import::{ImportJob, Progress};
use hearth_chain::{Chain, ChainError, ChainOptions, ExportRange, ExportReport};
use hearth_flatkv::StateSettings;
use hearth_flatkv::{Fsync, Holder};
use hearth_home::{FsyncPolicy, NodeError, who};
use hearth_ledger::{LedgerOptions, LedgerSettings};
use hearth_primitives::Height;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A job: the data directory and the work to do on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The home.
    pub home: PathBuf,
    /// When the logs are forced to the disk.
    pub fsync: FsyncPolicy,
    /// The state store.
    pub flatkv: StateSettings,
    /// The ledger's tables.
    pub littable: LedgerSettings,
    /// The work.
    #[serde(flatten)]
    pub work: Work,
}

/// The kinds of work.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "job", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Work {
    /// Makes the home of a genesis.
    Init {
        /// A geth-format genesis file.
        genesis: PathBuf,
    },
    /// Executes and verifies block files.
    Import {
        /// Makes the home where it is new; must equal the home's otherwise.
        #[serde(default)]
        genesis: Option<PathBuf>,
        /// Block files in order; `-` is standard input.
        files: Vec<PathBuf>,
        /// Head to choose in place of what fork choice says.
        #[serde(default)]
        head: Option<B256>,
    },
    /// Executes and verifies one recorded block on its recorded pre-state.
    ImportCase {
        /// Fork rules; mainnet's where absent.
        #[serde(default)]
        genesis: Option<PathBuf>,
        /// The recorded block, JSON or gzipped JSON.
        case: PathBuf,
    },
    /// Writes the canonical chain as RLP blocks.
    Export {
        /// File to write, replaced whole at the end; `-` is standard output.
        file: PathBuf,
        /// First block; the first one above the genesis where absent.
        #[serde(default)]
        from: Option<Height>,
        /// Last block. Default: the head.
        #[serde(default)]
        to: Option<Height>,
        /// Whether block 0 is written too, where `from` is absent.
        #[serde(default)]
        with_genesis: bool,
    },
    /// Bakes blocks of a home that no node has.
    Bake(Box<BakeJob>),
    /// Inspects or repairs the stores.
    Db(DbTask),
    /// Sends a request to the node that has the home open.
    NodeCommand {
        /// What.
        command: InboxCommand,
    },
}

/// The progress of a job. `done` and `total` are counted in bytes of input for an import, in blocks
/// for an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobProgress {
    /// Blocks executed or written.
    pub blocks: u64,
    /// Gas that they used.
    pub gas: u64,
    /// Part that is done.
    pub done: u64,
    /// The whole; 0 while it is not known.
    pub total: u64,
    /// Number of the last block.
    pub height: Option<Height>,
}

/// What a job did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobResult {
    /// Blocks executed or written.
    pub blocks: u64,
    /// Blocks that were there already.
    pub known: u64,
    /// Those of them whose record was damaged and was written again.
    pub restored: u64,
    /// Gas of the executed ones.
    pub gas: u64,
    /// Nanoseconds that executing took by itself, where it was measured: a recorded block.
    pub execution_nanos: Option<u64>,
    /// The head afterwards.
    pub head: Option<JobHead>,
    /// Checks that the input made impossible, one sentence each.
    pub skipped: Vec<String>,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum JobOutput {
    /// Of work on the chain.
    Chain(JobResult),
    /// Of a task on the stores: a report of its own.
    Db(serde_json::Value),
    /// Of baking.
    Bake(RangeProgress),
    /// The report of the work that a node was requested to do.
    NodeReport(serde_json::Value),
}

/// A head, for a line at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JobHead {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: B256,
}

/// Why a job ended without a result. What was done until then stays done.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The home, its stores or the blocks.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Another process has the home open.
    #[error("{} is in use by {}", home.display(), who(holder))]
    InUse {
        /// The home.
        home: PathBuf,
        /// That process, where it is known.
        holder: Option<Holder>,
    },
    /// A file that is not the chain's own.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The tables are not those that the task means.
    #[error(transparent)]
    Tables(#[from] TablesError),
    /// There is no such data DB.
    #[error("there is no data DB {asked:?}; those of the state are {known}")]
    NoDataDb {
        /// The requested one.
        asked: String,
        /// Those that there are.
        known: String,
    },
    /// The job was stopped before its end.
    #[error("cancelled")]
    Cancelled,
    /// Opening the home, or its trace cache.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The requested heights cannot be baked.
    #[error("{0}")]
    Heights(String),
    /// The node that has the home open failed to do the requested work.
    #[error("{message}")]
    FromNode {
        /// Machine name of the kind of error there.
        kind: String,
        /// What went wrong.
        message: String,
    },
    /// The node that has the home gives no answer.
    #[error("{} is in use by {holder}, and that process did not answer the request: {why}", home.display())]
    NoAnswer {
        /// The home.
        home: PathBuf,
        /// That process.
        holder: String,
        /// Why the command gave up.
        why: String,
    },
    /// The node has the home open, there is no snapshot to read, and the node took none when
    /// requested to.
    #[error("{why}; the request to the node failed: {failed}")]
    NoSnapshot {
        /// What the store says.
        why: String,
        /// What the node said.
        failed: String,
    },
    /// The job's description does not read.
    #[error("the job: {0}")]
    Description(#[from] serde_json::Error),
}

impl JobError {
    /// A stable machine name of the kind.
    pub fn kind(&self) -> &str {
        match self {
            Self::FromNode { kind, .. } => kind,
            Self::NoAnswer { .. } => "no_answer",
            Self::NoSnapshot { .. } => "no_snapshot",
            Self::Io { .. } | Self::Chain(ChainError::Io { .. }) => "io",
            Self::Description(_) => "config",
            Self::Tables(_) | Self::NoDataDb { .. } | Self::Heights(_) => "invalid_params",
            Self::Node(error) => error.kind(),
            Self::Cancelled => "cancelled",
            Self::InUse { .. } => "home_in_use",
            Self::Chain(error) => match error {
                ChainError::Cancelled => "cancelled",
                ChainError::NotInitialised { .. } => "home_empty",
                ChainError::OtherChain { .. }
                | ChainError::NewerFormat { .. }
                | ChainError::OlderFormat { .. }
                | ChainError::BadHome { .. }
                | ChainError::DescriptionMissing { .. }
                | ChainError::DescriptionDamaged { .. }
                | ChainError::GenesisMissing { .. }
                | ChainError::HomeIsFile { .. } => "home_incompatible",
                ChainError::Genesis { .. } => "genesis",
                ChainError::Store(_) | ChainError::State(_) | ChainError::Ledger(_) => "store",
                _ => "import",
            },
        }
    }

    /// `{"kind":…,"message":…}`.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::json!({ "kind": self.kind(), "message": self.to_string() }).to_string().into_bytes()
    }
}

/// What the thread of a job and its watchers share.
#[derive(Debug, Default)]
pub struct JobControl {
    progress: Mutex<JobProgress>,
    cancel: AtomicBool,
}

impl JobControl {
    /// How far the job is.
    pub fn progress(&self) -> JobProgress {
        *self.progress.lock()
    }

    /// Stops the job after the block under way.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Reports the progress of the job to its watchers.
    pub(crate) fn report(&self, progress: JobProgress) {
        *self.progress.lock() = progress;
    }

    /// An error where the job is to stop.
    pub(crate) fn check(&self) -> Result<(), JobError> {
        if self.cancel.load(Ordering::Relaxed) { Err(JobError::Cancelled) } else { Ok(()) }
    }
}

impl Job {
    /// Reads a job from JSON.
    ///
    /// # Errors
    /// [`JobError::Description`] naming the field.
    pub fn from_json(text: &str) -> Result<Self, JobError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Does the work on this thread.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn run(&self, control: &JobControl) -> Result<JobOutput, JobError> {
        self.work(control).map_err(|error| match error {
            JobError::Chain(error) if error.home_in_use().is_some() => {
                JobError::InUse { home: self.home.clone(), holder: error.holder().cloned() }
            }
            other => other,
        })
    }

    /// How the job's home is opened.
    pub(crate) fn chain_options(&self) -> ChainOptions {
        let fsync = match self.fsync {
            FsyncPolicy::Block => Fsync::Block,
            FsyncPolicy::Interval(every) => Fsync::Interval(every),
            FsyncPolicy::None => Fsync::None,
            FsyncPolicy::Never => Fsync::Never,
        };
        ChainOptions {
            fsync,
            state: self.flatkv.clone(),
            ledger: LedgerOptions::new(self.littable.clone()),
            ..ChainOptions::default()
        }
    }

    fn work(&self, control: &JobControl) -> Result<JobOutput, JobError> {
        let options = self.chain_options();
        let home = self.home.as_path();
        let done = match &self.work {
            Work::Db(task) => return task.run(self, control).map(JobOutput::Db),
            Work::Bake(job) => return job.run(control).map(JobOutput::Bake),
            Work::NodeCommand { command } => {
                return Client::new(home).request(command, control).map(JobOutput::NodeReport);
            }
            Work::Init { genesis } => {
                let chain = open(home, Some(genesis), &options)?;
                finish(&chain, Ok(JobResult::default()))
            }
            Work::Import { genesis, files, head } => {
                let chain = open(home, genesis.as_deref(), &options)?;
                let job = ImportJob { files: files.clone(), head: *head };
                let done = import(&chain, &job, control);
                if done.is_ok() && self.flatkv.snapshot_on_stop {
                    // The import is complete without the snapshot. An error that prevents it is
                    // reported when a snapshot is needed.
                    let _ = chain.snapshot_if_moved();
                }
                finish(&chain, done)
            }
            Work::ImportCase { genesis, case } => {
                let rules = genesis.as_deref().map(read).transpose()?;
                let imported = Chain::import_case(home, case, rules.as_deref(), &options);
                let (chain, done) = imported.map_err(|e| of_given(e, genesis.as_deref()))?;
                let (blocks, known) = if done.known { (0, 1) } else { (1, 0) };
                let skipped = done.skipped.iter().map(|reason| (*reason).to_owned()).collect();
                let execution_nanos = u64::try_from(done.execution.as_nanos()).ok();
                let gas = done.gas_used;
                let result =
                    JobResult { blocks, known, gas, execution_nanos, skipped, ..JobResult::default() };
                finish(&chain, Ok(result))
            }
            Work::Export { file, from, to, with_genesis } => {
                let chain = open(home, None, &options)?;
                let range = ExportRange { from: *from, to: *to, with_genesis: *with_genesis };
                let blocks = export(&chain, &range, file, control);
                finish(&chain, blocks.map(|blocks| JobResult { blocks, ..JobResult::default() }))
            }
        };
        done.map(JobOutput::Chain)
    }
}

/// Imports block files into an open chain.
///
/// # Errors
/// Those of [`Chain::import`].
pub(crate) fn import(chain: &Chain, job: &ImportJob, control: &JobControl) -> Result<JobResult, JobError> {
    let report = &mut |p: &Progress| control.report(import_progress(p));
    let done = chain.import(job, report, &control.cancel)?;
    let Progress { blocks, known, restored, gas, .. } = done.progress;
    Ok(JobResult { blocks, known, restored, gas, ..JobResult::default() })
}

/// The head of a chain, for a report.
pub(crate) fn head_of(chain: &Chain) -> JobHead {
    let head = chain.head();
    JobHead { height: head.height, hash: head.hash }
}

fn import_progress(p: &Progress) -> JobProgress {
    JobProgress {
        blocks: p.blocks,
        gas: p.gas,
        done: p.bytes_done,
        total: p.bytes_total,
        height: Some(p.number),
    }
}

fn read(path: &Path) -> Result<String, JobError> {
    std::fs::read_to_string(path).map_err(|source| JobError::Io { path: path.to_owned(), source })
}

/// Opens the home's chain; with a genesis makes it where it is new.
fn open(home: &Path, genesis: Option<&Path>, options: &ChainOptions) -> Result<Chain, JobError> {
    let opened = match genesis {
        None => Chain::open(home, options),
        Some(path) => Chain::create(home, &read(path)?, options),
    };
    Ok(opened.map_err(|error| of_given(error, genesis))?)
}

/// Names the genesis file that was given instead of the home's copy of it, which the user does not
/// know.
fn of_given(error: ChainError, genesis: Option<&Path>) -> ChainError {
    match (error, genesis) {
        (ChainError::Genesis { source, .. }, Some(given)) => {
            ChainError::Genesis { path: given.to_owned(), source }
        }
        (other, _) => other,
    }
}

/// Closes the chain in any case; the error of the work takes precedence over that of closing.
fn finish(chain: &Chain, work: Result<JobResult, JobError>) -> Result<JobResult, JobError> {
    let head = head_of(chain);
    let closed = chain.close();
    let result = work?;
    closed?;
    Ok(JobResult { head: Some(head), ..result })
}

/// Exports into a file, or to standard output where the file is `-`.
fn export(chain: &Chain, range: &ExportRange, file: &Path, control: &JobControl) -> Result<u64, JobError> {
    let report = &mut |done: &ExportReport, all: u64| {
        *control.progress.lock() =
            JobProgress { blocks: done.blocks, done: done.blocks, total: all, ..JobProgress::default() };
    };
    let written = sink::write(file, &control.cancel, |out| {
        chain.export(range, file, out, report, &control.cancel).map_err(Failed::Chain)
    });
    match written {
        Ok(done) => Ok(done.blocks),
        // Standard output may take nothing until the work is cancelled.
        Err(_) if control.cancel.load(Ordering::Relaxed) => Err(ChainError::Cancelled.into()),
        Err(Failed::Chain(error)) => Err(error.into()),
        Err(Failed::Io(source)) => Err(JobError::Io { path: file.to_owned(), source }),
    }
}

/// Why an export failed.
enum Failed {
    Chain(ChainError),
    Io(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(source: std::io::Error) -> Self {
        Self::Io(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_reads_from_the_json_that_crosses() {
        let text = r#"{"home":"/h","fsync":"block","flatkv":{"enableKvdbMetrics":true,"memoryBudgetBytes":1,"stateHistoryBlocks":0,"snapshotIntervalBlocks":0,"snapshotKeep":1,"walMaxBytes":0,"minFreeBytes":0,"maxOpenFiles":1},"littable":{"extraRoots":[],"allowNetworkFs":false,"indexMemoryBytes":1,"maxOpenFiles":1,"gcPeriodMs":1,"iteratorLeaseMs":1,"segmentBytes":1,"segmentKeys":1,"readCacheBytes":0,"writeCacheBytes":0,"capsuleWindowBlocks":0,"addressIndex":true,"addressIndexWindowBlocks":0},"job":"export","file":"/f","to":7,"withGenesis":true}"#;
        let job = Job::from_json(text).expect("a good job");
        assert_eq!(job.home, Path::new("/h"));
        let Work::Export { file, from, to, with_genesis } = job.work else { panic!("an export") };
        assert_eq!((file.as_path(), from, to, with_genesis), (Path::new("/f"), None, Some(7), true));
        let error = Job::from_json(&text.replace("export", "exprt")).expect_err("no such work");
        assert_eq!(error.kind(), "config");
        assert!(error.to_string().contains("exprt"), "{error}");
    }

    #[test]
    fn an_export_of_a_home_without_a_chain_leaves_no_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("out.rlp");
        let work = Work::Export { file: file.clone(), from: None, to: None, with_genesis: false };
        let littable = LedgerSettings::default();
        let (home, fsync) = (dir.path().join("home"), FsyncPolicy::None);
        let flatkv = StateSettings::default();
        let job = Job { home, fsync, flatkv, littable, work };
        let error = job.run(&JobControl::default()).expect_err("nothing there");
        assert_eq!(error.kind(), "home_empty");
        assert!(!file.exists());
    }
}
