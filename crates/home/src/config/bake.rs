//! Settings of the traces that are computed ahead of requests.

use crate::NodeError;
use hearth_bake::{BakedTracer, MAX_LEVEL};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

/// The bake worker and the trace cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BakeConfig {
    /// Whether new blocks are baked, and requests served from what is baked.
    pub enabled: bool,
    /// Threads that bake; at least 1.
    pub workers: usize,
    /// Heights that may wait to be baked; at least 1.
    pub queue_size: usize,
    /// Names of the tracers that each block is baked under; at least one.
    pub tracers: Vec<String>,
    /// Names of further tracers that each block is baked under.
    pub further_tracers: Vec<String>,
    /// Newest blocks whose baked traces are kept; those of all without it.
    #[serde(with = "hearth_primitives::zero_is_none")]
    pub window_blocks: Option<NonZeroU64>,
    /// Whether decoded capsules of the newest blocks stay in memory for baking.
    pub use_snapshot: bool,
    /// How many of them; at least 1.
    pub snapshot_window: usize,
    /// Longest bake of one block, in milliseconds.
    pub timeout_ms: u64,
    /// Level of deflate of what is baked from now on, 0 to 9; 0 stores answers as they are.
    pub gzip_level: u32,
    /// Bound of inflated answers in memory, in bytes; 0 for none.
    pub hot_bytes: usize,
    /// Whether tracers with their most used options are baked too.
    pub canonical_configs: bool,
}

impl BakeConfig {
    /// The tracers under which each block is baked, without options and, if configured, with them.
    ///
    /// # Errors
    /// [`NodeError::Config`], which names a tracer that cannot be baked, and those that can.
    pub fn baked_tracers(&self) -> Result<Vec<BakedTracer>, NodeError> {
        let mut tracers = named("bake.tracers", &self.tracers, &BakedTracer::PLAIN)?;
        if tracers.is_empty() {
            let reason = format!("bake.tracers is empty; known: {}", names(&BakedTracer::PLAIN));
            return Err(NodeError::Config { reason });
        }
        if self.canonical_configs {
            let plain = tracers.clone();
            let with_options = [BakedTracer::CallWithLog, BakedTracer::PrestateDiff].into_iter();
            tracers.extend(
                with_options.filter(|tracer| plain.iter().any(|known| known.name() == tracer.name())),
            );
        }
        for tracer in named("bake.furtherTracers", &self.further_tracers, &BakedTracer::FURTHER)? {
            tracers.push(tracer);
            if tracer == BakedTracer::Parity {
                // What `trace_transaction` and `trace_block` answer.
                tracers.push(BakedTracer::ParityLocalized);
            }
        }
        Ok(tracers)
    }

    /// Longest bake of one block.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Refuses values that no worker can run with.
    pub fn check(&self) -> Result<(), NodeError> {
        let positive = [
            ("bake.workers", self.workers as u64),
            ("bake.queueSize", self.queue_size as u64),
            ("bake.snapshotWindow", self.snapshot_window as u64),
            ("bake.timeoutMs", self.timeout_ms),
        ];
        if let Some((field, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(NodeError::Config { reason: format!("{field} must be at least 1") });
        }
        if self.gzip_level > MAX_LEVEL {
            let reason = format!("bake.gzipLevel must be 0 to {MAX_LEVEL}");
            return Err(NodeError::Config { reason });
        }
        self.baked_tracers().map(drop)
    }
}

/// The tracers of a list, each once.
fn named(field: &str, given: &[String], known: &[BakedTracer]) -> Result<Vec<BakedTracer>, NodeError> {
    let mut tracers = Vec::new();
    for name in given {
        match known.iter().find(|tracer| tracer.name() == name) {
            Some(tracer) if !tracers.contains(tracer) => tracers.push(*tracer),
            Some(_) => {}
            None => {
                let reason = format!("{field}: {name:?} cannot be baked; known: {}", names(known));
                return Err(NodeError::Config { reason });
            }
        }
    }
    Ok(tracers)
}

fn names(known: &[BakedTracer]) -> String {
    known.iter().map(|tracer| tracer.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BakeConfig {
        BakeConfig {
            enabled: true,
            workers: 1,
            queue_size: 1,
            tracers: vec!["prestateTracer".into(), "callTracer".into(), "prestateTracer".into()],
            further_tracers: Vec::new(),
            window_blocks: None,
            use_snapshot: false,
            snapshot_window: 1,
            timeout_ms: 60_000,
            gzip_level: hearth_bake::DEFAULT_LEVEL,
            hot_bytes: 0,
            canonical_configs: false,
        }
    }

    #[test]
    fn tracers_count_once_and_options_are_for_those_alone() {
        let mut config = config();
        let plain = [BakedTracer::Prestate, BakedTracer::Call];
        assert_eq!(config.baked_tracers().unwrap(), plain);
        config.canonical_configs = true;
        let both = [plain.as_slice(), &[BakedTracer::CallWithLog, BakedTracer::PrestateDiff]].concat();
        assert_eq!(config.baked_tracers().unwrap(), both);
        config.tracers.truncate(1);
        assert_eq!(config.baked_tracers().unwrap(), [BakedTracer::Prestate, BakedTracer::PrestateDiff]);
        config.canonical_configs = false;
        config.further_tracers = vec!["parityTracer".into(), "parityTracer".into()];
        let parity = [BakedTracer::Prestate, BakedTracer::Parity, BakedTracer::ParityLocalized];
        assert_eq!(config.baked_tracers().unwrap(), parity);
    }

    #[test]
    fn what_cannot_run_is_refused_by_name() {
        let refusal = |change: fn(&mut BakeConfig)| {
            let mut config = config();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let known = "known: callTracer, prestateTracer, flatCallTracer";
        let unknown = refusal(|config| config.tracers.push("muxTracer".into()));
        assert_eq!(unknown, format!("configuration: bake.tracers: \"muxTracer\" cannot be baked; {known}"));
        let parity = refusal(|config| config.tracers.push("parityTracer".into()));
        assert_eq!(parity, format!("configuration: bake.tracers: \"parityTracer\" cannot be baked; {known}"));
        let further = refusal(|config| config.further_tracers.push("callTracer".into()));
        assert_eq!(
            further,
            "configuration: bake.furtherTracers: \"callTracer\" cannot be baked; known: parityTracer"
        );
        let empty = refusal(|config| config.tracers.clear());
        assert_eq!(empty, format!("configuration: bake.tracers is empty; {known}"));
        assert_eq!(refusal(|config| config.workers = 0), "configuration: bake.workers must be at least 1");
        assert_eq!(
            refusal(|config| config.queue_size = 0),
            "configuration: bake.queueSize must be at least 1"
        );
        config().check().unwrap();
    }
}
