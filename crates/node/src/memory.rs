//! The memory budget of the process, checked a few times a second: caches shrink before memory
//! reaches the budget, and long requests are refused if it exceeds the budget nevertheless.

use hearth_home::NodeError;
use hearth_metrics::{Level, Log, LogEntry, MemoryMetrics, Registry};
use hearth_traces::Traces;
use parking_lot::{Condvar, Mutex};
use std::{
    fs,
    num::NonZeroU64,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Caches that fill their whole bounds.
pub(crate) const WHOLE: u32 = 16;

/// What is left of them at the least, in sixteenths.
const LEAST: u32 = 1;

/// Percent of the budget from which on caches shrink, below which they grow again, and below which
/// refusals end.
const TIGHT_PERCENT: u64 = 85;
const EASY_PERCENT: u64 = 75;
const REFUSE_UNTIL_PERCENT: u64 = 95;

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pressure {
    /// Part of their bounds that caches may fill, in sixteenths.
    share: u32,
    /// Whether long requests are refused.
    refuses: bool,
}

impl Pressure {
    const NONE: Self = Self { share: WHOLE, refuses: false };

    /// Returns the next state after a check. Caches halve with each check that finds memory tight,
    /// and shrink to the minimum at once if the budget is reached. Requests are refused from the
    /// following check on only, so that the memory freed by the caches counts.
    fn after(self, used: u64, budget: u64) -> Self {
        let over = |percent: u64| used >= budget / 100 * percent;
        let share = if used >= budget {
            LEAST
        } else if over(TIGHT_PERCENT) {
            (self.share / 2).max(LEAST)
        } else if !over(EASY_PERCENT) {
            (self.share * 2).min(WHOLE)
        } else {
            self.share
        };
        let refuses = match self.refuses {
            true => over(REFUSE_UNTIL_PERCENT),
            false => used >= budget && self.share == LEAST,
        };
        Self { share, refuses }
    }
}

/// What requests look at.
struct BudgetState {
    used: AtomicU64,
    refuses: AtomicBool,
    metrics: MemoryMetrics,
    stopped: Mutex<bool>,
    stop: Condvar,
}

/// Watches the memory of the process for one node.
pub(crate) struct Memory {
    budget: Option<NonZeroU64>,
    shared: Arc<BudgetState>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Memory {
    /// Begins to watch; without a budget nothing is watched.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where the thread cannot be started.
    pub fn watch(
        traces: &Arc<Traces>,
        budget: Option<NonZeroU64>,
        registry: &Registry,
    ) -> Result<Self, NodeError> {
        let metrics = MemoryMetrics::new(registry);
        metrics.budget.set_unsigned(budget.map_or(0, NonZeroU64::get));
        metrics.cache_percent.set_unsigned(100);
        let (kept, of_scrape) = (metrics.kept.clone(), Arc::downgrade(traces));
        registry.collect_with(move || {
            let traces = of_scrape.upgrade();
            traces.iter().for_each(|traces| kept.set(&traces.kept()));
            traces.is_some()
        });
        let shared = Arc::new(BudgetState {
            used: AtomicU64::new(0),
            refuses: AtomicBool::new(false),
            metrics,
            stopped: Mutex::new(false),
            stop: Condvar::new(),
        });
        let start = |budget: NonZeroU64| {
            let (of_thread, traces, log) = (shared.clone(), Arc::downgrade(traces), registry.log().clone());
            let builder = std::thread::Builder::new().name("hearth-memory".to_owned());
            let started = builder.spawn(move || run(&of_thread, budget.get(), &traces, &log));
            let failed = |e| NodeError::Internal { message: format!("cannot start a thread: {e}") };
            started.map_err(failed)
        };
        let thread = Mutex::new(budget.map(start).transpose()?);
        Ok(Self { budget, shared, thread })
    }

    /// # Errors
    /// [`NodeError::ShortOfMemory`] where long requests are refused.
    pub fn admit(&self) -> Result<(), NodeError> {
        let refusing = self.budget.filter(|_| self.shared.refuses.load(Ordering::Relaxed));
        let Some(budget) = refusing else { return Ok(()) };
        self.shared.metrics.refusals.add(1);
        let used = self.shared.used.load(Ordering::Relaxed);
        Err(NodeError::ShortOfMemory { used, budget: budget.get() })
    }

    /// Ends the watch. A second call does nothing.
    pub fn stop(&self) {
        *self.shared.stopped.lock() = true;
        self.shared.stop.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &BudgetState, budget: u64, traces: &Weak<Traces>, log: &Log) {
    let mut pressure = Pressure::NONE;
    while let Some(traces) = traces.upgrade() {
        if let Some(used) = resident() {
            let next = pressure.after(used, budget);
            shared.used.store(used, Ordering::Relaxed);
            shared.refuses.store(next.refuses, Ordering::Relaxed);
            shared.metrics.used.set_unsigned(used);
            if next.share != pressure.share {
                traces.set_cache_fraction(next.share as usize, WHOLE as usize);
                shared.metrics.cache_percent.set_unsigned(u64::from(next.share * 100 / WHOLE));
            }
            log_pressure(log, pressure, next, used, budget);
            pressure = next;
        }
        drop(traces);
        let mut stopped = shared.stopped.lock();
        if !*stopped {
            shared.stop.wait_for(&mut stopped, LOOK_EVERY);
        }
        if *stopped {
            return;
        }
    }
}

/// Says what changed.
fn log_pressure(log: &Log, before: Pressure, now: Pressure, used: u64, budget: u64) {
    let (level, what) = match (before.refuses, now.refuses) {
        (false, true) => (Level::Error, "memory is short: long requests are refused"),
        (true, false) => (Level::Info, "memory is enough: long requests are served again"),
        _ if now.share < before.share => (Level::Warn, "memory gets short: caches shrink"),
        _ if now.share > before.share => (Level::Info, "memory gets free: caches may grow"),
        _ => return,
    };
    let entry = LogEntry::new(level, "memory", what).number("usedBytes", used).number("budgetBytes", budget);
    log.add(entry.number("cachePercent", u64::from(now.share * 100 / WHOLE)));
}

/// Resident memory of this process, in bytes; `None` where the system does not say.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: u64 = 1000;

    fn after(looks: &[u64]) -> Vec<(u32, bool)> {
        let mut pressure = Pressure::NONE;
        let mut seen = Vec::new();
        for used in looks {
            pressure = pressure.after(*used, BUDGET);
            seen.push((pressure.share, pressure.refuses));
        }
        seen
    }

    #[test]
    fn caches_shrink_before_anything_is_refused() {
        assert_eq!(
            after(&[100, 850, 900, 860, 850, 999]),
            [(16, false), (8, false), (4, false), (2, false), (1, false), (1, false)]
        );
        assert_eq!(after(&[1000, 1000]), [(1, false), (1, true)], "what caches gave up counts first");
        assert_eq!(after(&[5000, 900]), [(1, false), (1, false)]);
    }

    #[test]
    fn refusing_ends_below_the_budget_and_caches_grow_back_slowly() {
        assert_eq!(
            after(&[1000, 1000, 990, 950, 949, 800, 749, 100, 100, 100, 100]),
            [
                (1, false),
                (1, true),
                (1, true),
                (1, true),
                (1, false),
                (1, false),
                (2, false),
                (4, false),
                (8, false),
                (16, false),
                (16, false)
            ]
        );
    }

    #[test]
    fn the_process_says_what_it_takes() {
        if cfg!(target_os = "linux") {
            assert!(resident().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
