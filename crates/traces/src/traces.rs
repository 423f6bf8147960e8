//! The traces of one open home: its capsules and its trace cache.

use crate::{bake, baked::Baked, capsules::Capsules, step_indexes::StepIndexes};
use hearth_bake::TraceDb;
use hearth_home::{Home, NodeError, stream::Deadlines};
use hearth_metrics::{Kept, Registry};
use std::sync::Arc;

/// What traces of one home share: decoded capsules, running executions and the trace cache.
pub struct Traces {
    home: Arc<Home>,
    capsules: Capsules,
    step_indexes: StepIndexes,
    /// Where baking is enabled.
    db: Option<Arc<TraceDb>>,
    /// The trace cache as requests use it.
    baked: Option<Arc<Baked>>,
    deadlines: Deadlines,
}

impl Traces {
    /// Opens the trace cache of a home if baking is enabled; `metrics` gets the instruments of
    /// cache and capsules.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`] if the cache cannot be opened; [`NodeError::Internal`] if a
    /// thread cannot be started.
    pub fn open(home: Arc<Home>, metrics: &Registry) -> Result<Self, NodeError> {
        let capsules = Capsules::new(metrics);
        let config = home.config();
        let db = config.bake.enabled.then(|| bake::open_cache(config, metrics)).transpose()?;
        let baked =
            db.as_ref().map(|db| Arc::new(Baked::new(db.clone(), home.chain().clone(), &config.bake)));
        let (step_indexes, deadlines) = (StepIndexes::default(), Deadlines::start()?);
        Ok(Self { home, capsules, step_indexes, db, baked, deadlines })
    }

    /// The home whose blocks are traced.
    pub fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// Decoded trace capsules, and the processors that traces share.
    pub fn capsules(&self) -> &Capsules {
        &self.capsules
    }

    /// Indexes of steps that were made.
    pub(crate) fn step_indexes(&self) -> &StepIndexes {
        &self.step_indexes
    }

    /// What ends traces at their deadlines.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    /// The trace cache, where baking is enabled.
    pub fn db(&self) -> Option<&Arc<TraceDb>> {
        self.db.as_ref()
    }

    /// What is baked, where baking is enabled.
    pub fn baked(&self) -> Option<&Arc<Baked>> {
        self.baked.as_ref()
    }

    /// Writes out what the trace cache holds back.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`].
    pub fn flush(&self) -> Result<(), NodeError> {
        let flushed = self.db.as_ref().map_or(Ok(()), |db| db.flush());
        flushed.map_err(NodeError::store_failed)
    }

    /// Bytes that the caches of home and traces keep.
    pub fn kept(&self) -> Kept {
        let [blocks, receipts, senders, of_ledger] = self.home.chain().cached_bytes();
        let (capsules, new_capsules) = self.capsules.bytes();
        let (traces, of_traces) = self.db.as_ref().map_or((0, 0), |db| (db.hot_bytes(), db.index_bytes()));
        let (key_indexes, step_indexes) = (of_ledger + of_traces, self.step_indexes.bytes());
        Kept { blocks, receipts, senders, capsules, new_capsules, traces, key_indexes, step_indexes }
    }

    /// Bounds the caches of home and traces to `part` of `whole` of what the settings allow.
    pub fn set_cache_fraction(&self, part: usize, whole: usize) {
        self.capsules.set_capacity_fraction(part, whole);
        self.step_indexes.set_capacity_fraction(part, whole);
        if let Some(db) = &self.db {
            db.set_cache_fraction(self.home.config().bake.hot_bytes / whole * part, part, whole);
        }
        self.home.chain().set_cache_fraction(part, whole);
        if part < whole {
            hearth_evm::forget_code();
        }
    }
}
