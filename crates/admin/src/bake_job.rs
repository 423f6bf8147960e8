//! Baking a range of blocks of a home that no node has open.

use crate::jobs::{JobControl, JobError, JobProgress};
use hearth_bake::RangeProgress;
use hearth_home::{Home, NodeConfig};
use hearth_metrics::Registry;
use hearth_traces::{RangeRequest, Traces, checked_range, start_range_worker};
use serde::Deserialize;
use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

/// Time between two looks at how far the work is.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What to bake on which home.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BakeJob {
    /// The home and its settings, as JSON text within the JSON: job descriptions are parsed through
    /// types that have no 128-bit integers. The range is baked whether or not the settings enable
    /// baking for a node.
    node: String,
    /// First and last height.
    range: RangeRequest,
}

impl BakeJob {
    /// Bakes the range on this thread; blocks that are baked already are skipped.
    ///
    /// # Errors
    /// [`JobError::Node`] if the home cannot be opened, [`JobError::Heights`],
    /// [`JobError::Cancelled`].
    pub(crate) fn run(&self, control: &JobControl) -> Result<RangeProgress, JobError> {
        let mut config = NodeConfig::from_json(&self.node)?;
        config.bake.enabled = true;
        config.check()?;
        let metrics = Registry::new();
        let home = Arc::new(Home::open(config, Arc::new(AtomicBool::new(false)), metrics.clone())?);
        let traces = Arc::new(Traces::open(home.clone(), &metrics)?);
        let done = self.bake(&traces, &metrics, control);
        let closed = traces.flush().and(home.close());
        let done = done?;
        closed?;
        if done.stopped.is_some() {
            control.check()?;
        }
        Ok(done)
    }

    fn bake(
        &self,
        traces: &Arc<Traces>,
        metrics: &Registry,
        control: &JobControl,
    ) -> Result<RangeProgress, JobError> {
        let (from, to) =
            checked_range(traces.home(), self.range.from, self.range.to).map_err(JobError::Heights)?;
        let worker = start_range_worker(traces, metrics)?;
        let range = worker.bake_range(from, to);
        let range =
            range.ok_or_else(|| JobError::Heights(format!("blocks {from} to {to} cannot be baked")))?;
        loop {
            let progress = range.wait(LOOK_EVERY);
            control.report(job_progress(&progress));
            if progress.finished {
                worker.stop();
                return Ok(progress);
            }
            if control.check().is_err() {
                range.cancel();
                // Ends what is being baked, and with it the range.
                worker.stop();
            }
        }
    }
}

/// The progress of a range as that of a job.
pub(crate) fn job_progress(progress: &RangeProgress) -> JobProgress {
    let RangeProgress { baked, gas, done, total, height, .. } = *progress;
    JobProgress { blocks: baked, gas, done, total, height }
}
