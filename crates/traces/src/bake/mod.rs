//! Baking: the worker on an open home, the events of the chain that it receives, and ranges of
//! blocks that are baked on request.

mod range;
mod recent;
mod source;

pub use range::{RangeRequest, checked_range};
pub use recent::{MAX_RECENT_BYTES, RecentCapsules};

use crate::Traces;
use alloy_primitives::B256;
use hearth_bake::{BakeError, BakeOptions, BakeWorker, TraceDb, TraceDbOptions};
use hearth_chain::ChainWatcher;
use hearth_home::{NodeConfig, NodeError};
use hearth_metrics::{BakeMetrics, Level, Log, LogEntry, Registry};
use hearth_primitives::{Height, TraceCapsule};
use source::HomeSource;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Folder of the trace cache in a home.
fn folder(home: &Path) -> PathBuf {
    home.join("data").join("trace_db")
}

/// Opens the trace cache of a home.
///
/// # Errors
/// [`NodeError::StoreFailed`].
pub(crate) fn open_cache(config: &NodeConfig, metrics: &Registry) -> Result<Arc<TraceDb>, NodeError> {
    let options = TraceDbOptions { hot_bytes: config.bake.hot_bytes, ..TraceDbOptions::default() };
    let db = TraceDb::open(&folder(&config.home).join("rows"), &options, metrics).map_err(store_error)?;
    Ok(Arc::new(db))
}

fn store_error(error: BakeError) -> NodeError {
    NodeError::store_failed(error)
}

/// How the worker of a home works; one that bakes ranges alone keeps no progress.
fn worker_options(config: &NodeConfig, ranges_alone: bool) -> Result<BakeOptions, NodeError> {
    let bake = &config.bake;
    let progress_file = (!ranges_alone).then(|| folder(&config.home).join("worker.json"));
    Ok(BakeOptions {
        workers: bake.workers,
        queue_size: bake.queue_size,
        tracers: bake.baked_tracers()?,
        window_blocks: bake.window_blocks.filter(|_| !ranges_alone),
        progress_file,
        ..BakeOptions::default()
    })
}

/// Starts a bake worker for ranges only: it neither follows the chain nor keeps a cursor.
///
/// # Errors
/// [`NodeError::StoreFailed`] if its threads or its cache cannot be created,
/// [`NodeError::Unsupported`] for tracers that cannot be baked.
pub fn start_range_worker(traces: &Arc<Traces>, metrics: &Registry) -> Result<BakeWorker, NodeError> {
    let source = Arc::new(HomeSource::new(traces.clone())?);
    let options = worker_options(traces.home().config(), true)?;
    // The progress of a range says all that there is to log.
    BakeWorker::start(source, options, BakeMetrics::new(metrics), drop).map_err(store_error)
}

/// Notifies the worker of changes of the chain.
struct Hook {
    worker: Arc<BakeWorker>,
    recent: Arc<RecentCapsules>,
}

impl ChainWatcher for Hook {
    fn committed(&self, height: Height, hash: B256, capsule: Option<&Arc<TraceCapsule>>) {
        if let Some(capsule) = capsule {
            self.recent.add(hash, capsule);
        }
        self.worker.committed(height);
    }

    fn unwound(&self, to: Height) {
        self.worker.unwound(to);
    }
}

/// The bake worker of a node that runs.
pub struct BakeService {
    worker: Arc<BakeWorker>,
    /// The chain keeps it weakly.
    _hook: Arc<dyn ChainWatcher>,
    log: Log,
}

impl BakeService {
    /// Starts baking: of new commits from now on, and of blocks committed since the last run.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`] if the home has no open trace cache, or a thread or a file cannot
    /// be created.
    pub fn start(traces: &Arc<Traces>, metrics: &Registry) -> Result<Self, NodeError> {
        let (log, home) = (metrics.log().clone(), traces.home());
        let bake = &home.config().bake;
        let blocks = if bake.use_snapshot { bake.snapshot_window } else { 0 };
        let recent = Arc::new(RecentCapsules::new(blocks, MAX_RECENT_BYTES));
        traces.capsules().note_recent(&recent);
        let source = Arc::new(HomeSource::new(traces.clone())?.with_recent(recent.clone()));
        let options = worker_options(home.config(), false)?;
        let notice_log = log.clone();
        let metrics = BakeMetrics::new(metrics);
        let worker = BakeWorker::start(source, options, metrics, move |notice| {
            notice_log.add(notice.entry());
        });
        let worker = Arc::new(worker.map_err(store_error)?);
        let began =
            LogEntry::new(Level::Info, "bake", "baking begins").number("height", home.chain().head().height);
        log.add(began.number("threads", bake.workers as u64).text("tracers", bake.tracers.join(",")));
        let hook: Arc<dyn ChainWatcher> = Arc::new(Hook { worker: worker.clone(), recent });
        home.chain().watch(&hook);
        Ok(Self { worker, _hook: hook, log })
    }

    /// The worker.
    pub fn worker(&self) -> &Arc<BakeWorker> {
        &self.worker
    }

    /// Ends running bakes within a second and makes durable what was baked.
    pub fn stop(&self) {
        let began = Instant::now();
        self.worker.stop();
        self.log.add(LogEntry::new(Level::Info, "bake", "baking stopped").seconds(began.elapsed()));
    }
}
