//! How the worker works.

use crate::BakedTracer;
use std::{num::NonZeroU64, path::PathBuf, time::Duration};

/// Time until a height that failed is tried again; twice as much after each further failure.
pub const RETRY_AFTER: Duration = Duration::from_secs(60);

/// How often a height that failed is tried again until the next start.
pub const MAX_RETRIES: u32 = 5;

/// Heights that are remembered as failed. Those beyond are found again by the gap scanner at the
/// next start.
pub const MAX_FAILED_HEIGHTS: usize = 65_536;

/// Finished heights above a gap that are remembered; the gap scanner looks again at those beyond
/// when the gap is closed.
pub const MAX_FINISHED_AHEAD: usize = 65_536;

/// Heights that the gap scanner looks at between two looks at the queue.
pub const SCAN_HEIGHTS: u64 = 4_096;

/// Gaps that the scanner hands out at once.
pub const SCAN_GAPS: usize = 64;

/// Time between two looks at a disk that was full.
pub const DISK_FULL_PAUSE: Duration = Duration::from_secs(15);

/// Time between two times that progress is made durable, and that old blocks are pruned.
pub const KEEP_EVERY: Duration = Duration::from_secs(10);

/// Ranges of `hearth bake` at the same time.
pub const MAX_RANGES: usize = 16;

/// Options of the bake worker. All of them except the times and the file come from settings.
#[derive(Clone, Debug)]
pub struct BakeOptions {
    /// Threads that bake; at least 1.
    pub workers: usize,
    /// Heights that may wait; at least 1.
    pub queue_size: usize,
    /// Tracers that each block is baked under; at least one.
    pub tracers: Vec<BakedTracer>,
    /// Newest blocks that are kept; all without it.
    pub window_blocks: Option<NonZeroU64>,
    /// Where progress is kept. Without it the worker bakes ranges alone: it takes no new blocks and
    /// looks for no gaps.
    pub progress_file: Option<PathBuf>,
    /// Time until a height that failed is tried again the first time.
    pub retry_after: Duration,
    /// Time between two looks at a disk that was full.
    pub disk_full_pause: Duration,
    /// Time between two times that progress is made durable.
    pub keep_every: Duration,
}

impl Default for BakeOptions {
    fn default() -> Self {
        Self {
            workers: 1,
            queue_size: 4096,
            tracers: vec![BakedTracer::Call],
            window_blocks: None,
            progress_file: None,
            retry_after: RETRY_AFTER,
            disk_full_pause: DISK_FULL_PAUSE,
            keep_every: KEEP_EVERY,
        }
    }
}
