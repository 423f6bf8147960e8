//! The state store: opening, the head, and the operations for readers.

use crate::{
    Commit, CommitmentKind, FlatKvError, Fsync, Head, JoinedTables, Options, ParentView, RowWrite, StateView,
    TrieSession,
    prune::Pruner,
    shared::Core,
    snapshot::{Keeper, Snapshot},
    sync::Syncer,
};
use hearth_flatkv_storage::db::Family;
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::{Changeset, Height, RemoteState, StateError};
use parking_lot::Mutex;
use std::{
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// A row of the canonical index: key and value.
pub type IndexRow = (Vec<u8>, Vec<u8>);

/// The state store: latest rows, history, canonical index, trie and the changelog WAL.
///
/// One writer at a time ([`commit`](Self::commit) and [`unwind`](Self::unwind) exclude each other);
/// any number of readers beside it. Dropping closes it; views that are still there keep the home
/// locked.
pub struct FlatKv {
    pub(crate) core: Arc<Core>,
    syncer: Mutex<Option<Syncer>>,
    keeper: Mutex<Option<Keeper>>,
    pruner: Mutex<Option<Pruner>>,
}

impl FlatKv {
    /// Opens the store, or makes an empty one.
    ///
    /// The head is the last sound WAL record whose table positions verify: WAL and tables are cut
    /// behind it, RocksDB is unwound or replayed to it, its commitment is checked.
    pub fn open(options: Options, tables: Arc<dyn JoinedTables>) -> Result<Arc<FlatKv>, FlatKvError> {
        let metrics = FlatkvMetrics::new(&options.metrics);
        let timer = metrics.open.of(false).timer();
        let internals = options.settings.enable_kvdb_metrics.then(|| options.metrics.clone());
        let core = Arc::new(crate::open::open(options.clone(), tables, &metrics)?);
        if core.rollback_is_pending(&options)? {
            metrics.rollback.measure(|| core.finish_rollback(&options))?;
        }
        let (syncer, keeper) = (Syncer::start(&core)?, Keeper::start(&core)?);
        let pruner = Pruner::start(&core)?;
        core.report_version();
        core.report_snapshot();
        if let Some(registry) = internals {
            hearth_flatkv_storage::internals::register(&registry, &core.db);
        }
        timer.succeed();
        let (syncer, keeper, pruner) = (Mutex::new(syncer), Mutex::new(keeper), Mutex::new(pruner));
        Ok(Arc::new(Self { core, syncer, keeper, pruner }))
    }

    /// A store over files that are not written.
    pub(crate) fn without_threads(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            syncer: Mutex::default(),
            keeper: Mutex::default(),
            pruner: Mutex::default(),
        }
    }

    /// The head; `None` while the store is empty.
    pub fn head(&self) -> Option<Head> {
        self.core.head()
    }

    /// What lies beneath this store, where its home began as a fork.
    pub fn origin(&self) -> Option<&Arc<dyn RemoteState>> {
        self.core.origin.as_ref()
    }

    /// Oldest height with state; `None` while the store is empty.
    pub fn oldest(&self) -> Option<Height> {
        self.head().map(|_| self.core.oldest.load(Ordering::SeqCst))
    }

    /// Heights below the head whose state is kept; `None` where all of it is.
    pub fn history_blocks(&self) -> Option<NonZeroU64> {
        self.core.history_blocks
    }

    /// The first commit of an empty store: the genesis state, or the recorded state before a block.
    /// Its parent is not checked. On disk when this returns.
    pub fn init(&self, base: Commit<'_>) -> Result<(), FlatKvError> {
        self.core.commit(base, true)
    }

    /// Applies changes for the block after the head: all of them, or none. [`Self::pending`] and
    /// [`Self::rows`] show them; the next commit takes them along. They may come in several calls,
    /// each beginning at the values that the one before left. An unwind drops them.
    ///
    /// # Errors
    /// [`FlatKvError::Unordered`], [`FlatKvError::Stale`], [`FlatKvError::LegacyRow`],
    /// [`FlatKvError::TooMuchApplied`]; nothing of the call is applied then.
    pub fn apply(&self, changes: &Changeset, legacy: &[RowWrite]) -> Result<(), FlatKvError> {
        self.core.apply(changes, legacy)
    }

    /// Drops everything that was applied and not committed.
    pub fn discard(&self) {
        let _writer = self.core.lock_writer();
        self.core.discard();
    }

    /// Commits the block after the head: what was applied, and the commit's own changes on top of
    /// it. Where it fails before the WAL record is written, nothing changed, and what was applied
    /// before stays applied.
    pub fn commit(&self, commit: Commit<'_>) -> Result<(), FlatKvError> {
        self.core.commit(commit, false)
    }

    /// Commits blocks that follow each other in one step, which costs much less than one commit
    /// each. `trie` is the trie after the last of them where the home keeps one; each commit names
    /// its state root and has no trie of its own. None of them may destroy an account, and no two
    /// may write the same row of the index. Where it fails before the WAL records are written,
    /// nothing changed.
    pub fn commit_run(
        &self,
        run: Vec<Commit<'_>>,
        trie: Option<crate::TrieUpdate>,
    ) -> Result<(), FlatKvError> {
        self.core.commit_run(run, trie)
    }

    /// Takes the head back to an earlier height: values, height stamps, trie, commitment and index
    /// become what they were. Views above that height answer [`StateError::Unwound`] from then on.
    pub fn unwind(&self, to: Height) -> Result<(), FlatKvError> {
        self.core.unwind(to)
    }

    /// Logs the head once more, with what the joined tables hold by now: what was appended to them
    /// since the last commit stays from then on. Nothing may be appended meanwhile.
    ///
    /// # Errors
    /// [`FlatKvError::Empty`]; the disk's.
    pub fn keep_tables(&self) -> Result<(), FlatKvError> {
        self.core.keep_tables()
    }

    /// How often the head was taken back since the store was opened. While it stays, what was
    /// canonical stays canonical.
    pub fn unwinds(&self) -> u64 {
        self.core.unwinds.load(Ordering::SeqCst)
    }

    /// Bounds block cache and code cache to a part of their shares of the memory budget: `part` of
    /// `whole`.
    pub fn set_cache_fraction(&self, part: usize, whole: usize) {
        let codes = self.core.db.share_cache(part, whole);
        self.core.codes.set_limit(codes);
    }

    /// The state of the head; `None` while the store is empty.
    pub fn latest(self: &Arc<Self>) -> Option<StateView> {
        let mut views = self.core.views.lock();
        let head = self.core.head()?;
        Some(StateView::new(self.core.clone(), views.at(head.height)))
    }

    /// The state after the block at a height, from [`oldest`](Self::oldest) to the head.
    pub fn at(self: &Arc<Self>, height: Height) -> Result<StateView, StateError> {
        let mut views = self.core.views.lock();
        let newest = self.head().map_or(0, |head| head.height);
        let oldest = self.oldest().unwrap_or(0);
        if self.head().is_none() || height < oldest || height > newest {
            return Err(StateError::NotRetained { height, oldest, newest });
        }
        Ok(StateView::new(self.core.clone(), views.at(height)))
    }

    /// The state that the block at a height was executed on, for executing it again.
    ///
    /// # Errors
    /// [`StateError::NotRetained`] where there is no such block, or no state below it.
    pub fn before(self: &Arc<Self>, block: Height) -> Result<ParentView<'_>, StateError> {
        let after = self.at(block)?;
        let missing = || StateError::NotRetained { height: block, oldest: block, newest: after.height() };
        let before = self.at(block.checked_sub(1).ok_or_else(missing)?)?;
        Ok(ParentView::new(&self.core, before, after))
    }

    /// The state trie of the head, for [`CommitmentKind::Mpt`]; an error under another commitment.
    pub fn trie(self: &Arc<Self>) -> Result<TrieSession, StateError> {
        if self.core.kind != CommitmentKind::Mpt {
            return Err(self.core.no_trie());
        }
        self.core.head_trie()
    }

    /// Refuses what needs the state trie on a data directory without one.
    ///
    /// # Errors
    /// [`StateError::NoTrie`].
    pub fn require_trie(&self) -> Result<(), StateError> {
        if self.has_trie() { Ok(()) } else { Err(self.core.no_trie()) }
    }

    /// Whether the home keeps a state trie.
    pub fn has_trie(&self) -> bool {
        self.core.kind == CommitmentKind::Mpt
    }

    /// Height at and below which the rows are gone that no height from [`Self::oldest`] on can
    /// read.
    pub fn pruned(&self) -> Height {
        self.core.pruning.pruned.load(Ordering::SeqCst)
    }

    /// A row of the canonical index.
    pub fn index_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        Ok(self.core.db.get(Family::Index, key)?.map(|value| value.to_vec()))
    }

    /// Rows of the canonical index with keys in `from..to`, in order, at most `limit`.
    pub fn index_range(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<IndexRow>, StateError> {
        self.index_rows(from, to, limit, false)
    }

    fn index_rows(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
        reverse: bool,
    ) -> Result<Vec<IndexRow>, StateError> {
        let mut rows = self.core.db.scan(Family::Index, Some(from), Some(to), reverse)?;
        let mut found = Vec::new();
        while let Some((key, value)) = rows.row()
            && found.len() < limit
        {
            found.push((key.to_vec(), value.to_vec()));
            rows.next();
        }
        rows.finish()?;
        Ok(found)
    }

    /// About how many bytes on disk the rows of the canonical index in `from..to` take, without
    /// those that are not flushed yet.
    ///
    /// # Errors
    /// The store's.
    pub fn index_bytes(&self, from: &[u8], to: &[u8]) -> Result<u64, StateError> {
        self.core.db.disk_bytes(Family::Index, from, to)
    }

    /// As [`FlatKv::index_range`], from the highest key down.
    ///
    /// # Errors
    /// The store's.
    pub fn index_range_back(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<IndexRow>, StateError> {
        self.index_rows(from, to, limit, true)
    }

    /// Syncs the commits that `work` makes when it is done, under [`Fsync::Block`]: who makes many
    /// blocks for one answer acknowledges them together.
    ///
    /// # Errors
    /// Those of `work`; of the sync.
    pub fn sync_together<T, E: From<FlatKvError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let deferral = Deferral::begin(&self.core.deferred);
        let done = work();
        drop(deferral);
        if self.core.fsync == Fsync::Block {
            let mut writer = self.core.lock_writer();
            self.core.sync(&mut writer)?;
        }
        done
    }

    /// Brings tables, WAL and RocksDB to the disk.
    pub fn flush(&self) -> Result<(), FlatKvError> {
        self.core.flush()
    }

    /// Takes a snapshot of the head and gives its description; the newest one where that is of the
    /// head already. Commits continue meanwhile. Older ones go, see [`Options::snapshot_keep`].
    pub fn snapshot(&self) -> Result<Snapshot, FlatKvError> {
        self.core.snapshot()
    }

    /// The snapshots that are there, oldest first.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.core.list_snapshots()
    }

    /// Flushes, then refuses every further change. Idempotent.
    pub fn close(&self) -> Result<(), FlatKvError> {
        drop(self.keeper.lock().take());
        drop(self.pruner.lock().take());
        drop(self.syncer.lock().take());
        self.core.join_applier();
        self.core.close()
    }
}

/// While this is there, commits are not synced one by one. A panic ends that too: later commits
/// would be acknowledged without a sync.
struct Deferral<'a>(&'a AtomicBool);

impl<'a> Deferral<'a> {
    fn begin(deferred: &'a AtomicBool) -> Self {
        deferred.store(true, Ordering::SeqCst);
        Self(deferred)
    }
}

impl Drop for Deferral<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Drop for FlatKv {
    fn drop(&mut self) {
        // No caller is left for the error; what was committed is in the WAL in any case.
        let _ = self.close();
    }
}
