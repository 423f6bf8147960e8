//! An open home as the bake worker sees it.

use super::recent::RecentCapsules;
use crate::Traces;
use hearth_bake::{
    AnswerBuilder, BakeError, BakeFailure, BakeSource, Baked, BakedAnswer, BakedTracer, BlockKey, TraceDb,
};
use hearth_home::{LookbackPolicy, NodeError, TraceSource};
use hearth_ledger::StoredBlock;
use hearth_primitives::Height;
use hearth_tracers::{
    BlockReplay, Cancel, ElementSink, Limits, TraceConfig, TraceError, TracePlan, trace_elements,
};
use std::{sync::Arc, time::Duration};

/// Blocks of a home's ledger, and its trace cache.
pub struct HomeSource {
    traces: Arc<Traces>,
    db: Arc<TraceDb>,
    /// Longest bake of one block.
    timeout: Duration,
    /// Level of deflate.
    level: u32,
    /// Capsules in memory, where the settings have that.
    recent: Option<Arc<RecentCapsules>>,
}

impl HomeSource {
    /// The source of a home whose trace cache is open.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`] where it is not.
    pub fn new(traces: Arc<Traces>) -> Result<Self, NodeError> {
        let none = || NodeError::Store { message: "the trace cache is not open".to_owned() };
        let db = traces.db().ok_or_else(none)?.clone();
        let config = &traces.home().config().bake;
        let (timeout, level) = (config.timeout(), config.gzip_level);
        Ok(Self { traces, db, timeout, level, recent: None })
    }

    /// The same, which looks for capsules in memory first.
    pub fn with_recent(self, recent: Arc<RecentCapsules>) -> Self {
        Self { recent: Some(recent), ..self }
    }

    fn plan(&self, tracer: BakedTracer) -> Result<TracePlan, BakeFailure> {
        let failed = |error: &dyn std::fmt::Display| BakeFailure::Failed { reason: error.to_string() };
        let config = TraceConfig::parse(tracer.config_json()).map_err(|error| failed(&error))?;
        let plan = TracePlan::new(&config).map_err(|error| failed(&error))?;
        Ok(TracePlan { timeout: self.timeout, ..plan })
    }

    /// The stored answers of a block, from one execution.
    fn answers(
        &self,
        block: &StoredBlock,
        tracers: &[BakedTracer],
        stop: &Cancel,
    ) -> Result<Vec<BakedAnswer>, BakeFailure> {
        let plans = tracers.iter().map(|tracer| self.plan(*tracer)).collect::<Result<Vec<_>, _>>()?;
        let number = block.number();
        let mut builders: Vec<AnswerBuilder> =
            tracers.iter().map(|_| AnswerBuilder::new(number, self.level)).collect();
        let limits = Limits { call_timeout: self.timeout, cancel: stop.clone(), ..Limits::default() };
        let done = {
            let mut sinks: Vec<&mut dyn ElementSink> =
                builders.iter_mut().map(|builder| builder as &mut dyn ElementSink).collect();
            self.replay(block, |replay| trace_elements(replay, &plans, &limits, &mut sinks))
        };
        // A failed sink ends the trace in the same way as a client that disconnects.
        if let Some(failure) = builders.iter().find_map(AnswerBuilder::failure) {
            return Err(BakeFailure::Failed { reason: failure.to_string() });
        }
        match done.map_err(|error| BakeFailure::Transient { reason: error.to_string() })? {
            Ok(()) => builders.into_iter().map(|builder| builder.finish().map_err(of_store)).collect(),
            // Together they may be too large where each alone is not.
            Err(TraceError::TooLarge { .. }) if tracers.len() > 1 => {
                let alone = |tracer: &BakedTracer| self.answers(block, &[*tracer], stop);
                let answers = tracers.iter().map(alone).collect::<Result<Vec<_>, _>>()?;
                Ok(answers.into_iter().flatten().collect())
            }
            Err(TraceError::Cancelled) => Err(BakeFailure::Stopped),
            Err(error @ TraceError::Replay(_)) => Err(BakeFailure::Failed { reason: error.to_string() }),
            Err(error) => Err(BakeFailure::Transient { reason: error.to_string() }),
        }
    }

    /// Runs something over a block's transactions, from its capsule in memory where that is kept.
    fn replay(
        &self,
        block: &StoredBlock,
        run: impl FnOnce(&mut BlockReplay<'_>) -> Result<(), TraceError>,
    ) -> Result<Result<(), TraceError>, NodeError> {
        let (traces, home, header) = (&*self.traces, self.traces.home(), &block.block.header);
        let kept = self.recent.as_ref().and_then(|recent| recent.get(&block.hash));
        let Some(capsule) = kept.filter(|_| home.config().rpc.trace_source != TraceSource::History) else {
            return traces.replay_stored(block, |replay, _| Ok(run(replay)));
        };
        let senders = home.senders_of(block)?;
        traces.with_capsule(header, &capsule, LookbackPolicy::Any, |source| {
            let replay = source.replay(home.chain().spec(), (&block.block, block.hash), Some(&senders));
            Ok(replay.and_then(|mut replay| run(&mut replay)))
        })
    }
}

/// What the cache says, in the worker's terms.
fn of_store(error: BakeError) -> BakeFailure {
    let reason = error.to_string();
    if error.is_disk_full() { BakeFailure::DiskFull { reason } } else { BakeFailure::Failed { reason } }
}

impl BakeSource for HomeSource {
    fn head(&self) -> Height {
        self.traces.home().chain().head().height
    }

    fn first_block(&self) -> Height {
        // Block 0 is not executed.
        self.traces.home().first_block().max(1)
    }

    fn canonical(&self, number: Height) -> Option<BlockKey> {
        let hash = self.traces.home().chain().reader().canonical_hash(number).ok()??;
        Some(BlockKey { chain_id: self.traces.home().chain().spec().chain_id(), number, hash })
    }

    fn has(&self, key: &BlockKey, tracer: BakedTracer) -> bool {
        self.db.has(key, tracer)
    }

    fn bake(&self, key: &BlockKey, tracers: &[BakedTracer], stop: &Cancel) -> Result<Baked, BakeFailure> {
        let transient = |reason: String| BakeFailure::Transient { reason };
        let block =
            self.traces.home().block_by_hash(&key.hash).map_err(|error| transient(error.to_string()))?;
        let block = block.ok_or_else(|| transient(format!("block {} is not in the ledger", key.hash)))?;
        let answers = self.answers(&block, tracers, stop)?;
        let mut bytes = 0;
        for (tracer, answer) in tracers.iter().zip(&answers) {
            self.db.put(key, *tracer, answer).map_err(of_store)?;
            bytes += answer.stored_bytes() as u64;
        }
        Ok(Baked { bytes, gas: block.block.header.gas_used })
    }

    fn flush(&self) -> Result<(), BakeFailure> {
        self.db.flush().map_err(of_store)
    }

    fn damaged(&self) -> Vec<Height> {
        let heights = self.db.dropped().into_iter().map(|(_, height, _)| height);
        heights.filter(|height| *height > 0).collect()
    }

    fn prune_below(&self, height: Height) -> Result<(), BakeFailure> {
        self.db.prune_below(height).map_err(of_store)
    }
}
