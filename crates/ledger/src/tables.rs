//! The four tables, as the state store joins them to its commits.

use crate::{LedgerError, LedgerOptions};
use hearth_flatkv::JoinedTables;
use hearth_littable::{Compression, LittError, Littable, StoreOptions, Table, TableOptions};
use hearth_metrics::{LittMetrics, Registry};
use hearth_primitives::StateError;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const BLOCKS: &str = "blocks";
pub(crate) const RECEIPTS: &str = "receipts";
pub(crate) const CAPSULES: &str = "capsules";
pub(crate) const NATIVES: &str = "natives";
/// Level of zstd: most of the gain at a speed that no import feels.
const COMPRESSION: Compression = Compression::Zstd(1);

/// Blocks, receipts, trace capsules and native transactions on disk.
#[derive(Debug)]
pub struct LedgerTables {
    pub(crate) blocks: Arc<Table>,
    pub(crate) receipts: Arc<Table>,
    pub(crate) capsules: Arc<Table>,
    /// Absent if a home of an older version, which does not have it yet, is opened for reading.
    pub(crate) natives: Option<Arc<Table>>,
    /// Whether capsules are written.
    pub(crate) keeps_capsules: bool,
    /// Newest blocks whose capsules are kept; those of all without it.
    pub(crate) capsule_window: Option<NonZeroU64>,
    /// Whether blocks are indexed by account.
    pub(crate) has_address_index: bool,
    /// Newest blocks that the address index keeps; all without it.
    pub(crate) address_index_window: Option<NonZeroU64>,
    /// Series of the home.
    metrics: Registry,
    /// Whether the tables go with the process.
    transient: bool,
    /// Its threads seal and merge for the tables.
    store: Littable,
}

impl LedgerTables {
    pub(crate) fn open(dir: &Path, options: &LedgerOptions, metrics: &Registry) -> Result<Self, LedgerError> {
        Self::open_as(dir, options, metrics, Littable::open)
    }

    /// Opens the tables for reading, beside a process that may have them.
    pub(crate) fn open_read_only(dir: &Path, options: &LedgerOptions) -> Result<Self, LedgerError> {
        Self::open_as(dir, options, &Registry::new(), Littable::open_read_only)
    }

    fn open_as(
        dir: &Path,
        options: &LedgerOptions,
        metrics: &Registry,
        open: impl FnOnce(StoreOptions) -> Result<Littable, LittError>,
    ) -> Result<Self, LedgerError> {
        let settings = &options.settings;
        let roots = std::iter::once(dir.to_owned()).chain(settings.extra_roots.iter().cloned());
        let store = open(StoreOptions {
            roots: roots.collect(),
            allow_network_fs: settings.allow_network_fs,
            index_memory_bytes: settings.index_memory_bytes,
            max_open_files: settings.max_open_files,
            gc_period: Duration::from_millis(settings.gc_period_ms),
            iterator_lease: Duration::from_millis(settings.iterator_lease_ms),
            metrics: LittMetrics::new(metrics),
            ..if options.transient { StoreOptions::transient(dir) } else { StoreOptions::new(dir) }
        })
        .map_err(LedgerError::of_opening)?;
        let table = |name| {
            store
                .table(TableOptions {
                    // What goes with the process need not be small.
                    compression: if options.transient { Compression::None } else { COMPRESSION },
                    segment_bytes: settings.segment_bytes,
                    segment_keys: settings.segment_keys,
                    read_cache_bytes: settings.read_cache_bytes,
                    write_cache_bytes: settings.write_cache_bytes,
                    ..TableOptions::new(name)
                })
                .map_err(LedgerError::of_opening)
        };
        let (blocks, receipts, capsules) = (table(BLOCKS)?, table(RECEIPTS)?, table(CAPSULES)?);
        let natives = match table(NATIVES) {
            Err(LedgerError::Table(LittError::NoSuchTable(_))) => None,
            natives => Some(natives?),
        };
        Ok(Self {
            blocks,
            receipts,
            capsules,
            natives,
            keeps_capsules: options.capsules,
            capsule_window: settings.capsule_window_blocks,
            has_address_index: settings.address_index,
            address_index_window: settings.address_index_window_blocks,
            metrics: metrics.clone(),
            transient: options.transient,
            store,
        })
    }

    /// Series of the home.
    pub(crate) fn metrics(&self) -> &Registry {
        &self.metrics
    }

    /// Memory of the key indexes, in bytes.
    pub(crate) fn index_bytes(&self) -> usize {
        self.store.index_memory_bytes() as usize
    }

    /// Bounds what is kept in memory to `part` of `whole` of what the settings allow.
    pub(crate) fn set_cache_fraction(&self, part: usize, whole: usize) {
        self.store.set_cache_fraction(part, whole);
    }

    /// Writes appended records to the operating system: from then on they survive the death of the
    /// process. Transient tables write full buffers only.
    pub(crate) fn drain(&self) -> Result<(), LedgerError> {
        if self.transient {
            return Ok(());
        }
        Ok(self.all().try_for_each(Table::drain)?)
    }

    /// The tables in the order of [`JoinedTables::positions`].
    fn all(&self) -> impl Iterator<Item = &Table> {
        // One that a version before this did not have comes last: a position that is missing is 0.
        let tables = [&self.blocks, &self.receipts, &self.capsules].into_iter().chain(&self.natives);
        tables.map(|table| &**table)
    }
}

impl JoinedTables for LedgerTables {
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError> {
        if positions.len() > self.all().count() {
            return Ok(false);
        }
        for (i, table) in self.all().enumerate() {
            match table.verify(positions.get(i).copied().unwrap_or(0)) {
                Ok(true) => {}
                Ok(false) | Err(LittError::Corrupt { .. }) => return Ok(false),
                // The record may be whole: what follows from its absence would cut it off.
                Err(error) => return Err(store(error)),
            }
        }
        Ok(true)
    }

    fn truncate(&self, positions: &[u64]) -> Result<(), StateError> {
        let tables = self.all().count();
        if positions.len() > tables {
            return Err(StateError::Store(format!("{} positions for {tables} tables", positions.len())));
        }
        let at = |i: usize| positions.get(i).copied().unwrap_or(0);
        self.all().enumerate().try_for_each(|(i, t)| t.truncate(at(i))).map_err(store)
    }

    fn sync(&self) -> Result<(), StateError> {
        flush_together(&self.all().collect::<Vec<_>>()).map_err(store)
    }

    fn positions(&self) -> Vec<u64> {
        // They have one shard each, so they have positions.
        self.all().map(|t| t.position().unwrap_or_default()).collect()
    }
}

/// Makes tables durable, at the same time those that have anything new: a disk syncs several files
/// in hardly more time than one.
fn flush_together(tables: &[&Table]) -> Result<(), LittError> {
    let (unsynced, synced): (Vec<&Table>, Vec<&Table>) =
        tables.iter().copied().partition(|table| table.has_unsynced());
    std::thread::scope(|scope| {
        let mut here = synced;
        let mut running = Vec::new();
        for (number, table) in unsynced.into_iter().enumerate() {
            let started = (number > 0)
                .then(|| std::thread::Builder::new().name("ledger-sync".into()))
                .and_then(|builder| builder.spawn_scoped(scope, || table.flush()).ok());
            match started {
                Some(thread) => running.push(thread),
                // The first one, and one that the system gives no thread for.
                None => here.push(table),
            }
        }
        let flushed = here.into_iter().try_for_each(Table::flush);
        let joined = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.fold(flushed, |all, one| all.and(one))
    })
}

fn store(error: LittError) -> StateError {
    StateError::failed("a table of the ledger", error)
}
