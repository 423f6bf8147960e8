//! The trace cache: baked blocks in a segment store of its own.

use super::block::BakedBlock;
use super::builder::BakedAnswer;
use super::hot::{Hot, MemorySize};
use super::layout::{Directory, FORMAT, Header, damaged};
use crate::{BakeError, BakedTracer, BlockKey};
use alloy_primitives::B256;
use hearth_disk::may_wait;
use hearth_littable::{Compression, Group, LittError, Littable, StoreOptions, Table, TableOptions, Value};
use hearth_metrics::{CacheResult, LittMetrics, Registry, TraceCacheMetrics};
use hearth_primitives::Height;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Name of the table.
const TABLE: &str = "traces";

/// Size at which a segment is sealed, in bytes: rows below the window go by whole segments.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Bytes of a row that are read together with its header, in which many a row lies as a whole: a
/// frame of the store, of which it never reads less.
const FRONT_BYTES: u32 = 64 << 10;

/// Most damaged rows that are remembered until they are baked again; further ones are found again
/// by each request.
const DROPPED_MAX: usize = 65_536;

/// Settings of the cache.
#[derive(Clone, Debug)]
pub struct TraceDbOptions {
    /// Bound of what is kept inflated, in bytes; 0 for nothing.
    pub hot_bytes: usize,
    /// Bound of the memory for key indexes, in bytes.
    pub index_memory_bytes: usize,
    /// Most files that are held open.
    pub max_open_files: usize,
    /// Whether the folder may lie on a network file system.
    pub allow_network_fs: bool,
    /// Time between two looks for segments that may go.
    pub gc_period: Duration,
}

impl Default for TraceDbOptions {
    /// 128 MiB of inflated answers, else as a segment store has it.
    fn default() -> Self {
        let store = StoreOptions::new("");
        Self {
            hot_bytes: 128 << 20,
            index_memory_bytes: 64 << 20,
            max_open_files: 64,
            allow_network_fs: store.allow_network_fs,
            gc_period: store.gc_period,
        }
    }
}

type OnDamage = Box<dyn Fn(Height) + Send + Sync>;

/// The trace cache. All methods may be called from any thread.
pub struct TraceDb {
    table: Arc<Table>,
    hot: Hot<HotKey, HotValue>,
    /// Rows whose bytes are damaged, until they are put again.
    dropped: Mutex<HashMap<RowId, Height>>,
    /// Called with the height of a row that was dropped.
    on_damage: OnceLock<OnDamage>,
    metrics: TraceCacheMetrics,
    set_aside: Option<PathBuf>,
    /// Its threads seal and merge for the table.
    store: Littable,
}

/// Which row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowId {
    pub chain_id: u64,
    pub hash: B256,
    pub tracer: BakedTracer,
}

/// Bytes of a row's key.
const KEY_BYTES: usize = 1 + 1 + 8 + 32;

impl RowId {
    /// Format, tracer with its options, chain, block.
    fn key(&self) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        (key[0], key[1]) = (FORMAT, self.tracer.id());
        key[2..10].copy_from_slice(&self.chain_id.to_be_bytes());
        key[10..].copy_from_slice(self.hash.as_slice());
        key
    }
}

/// Which part of a row: a piece, or the directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct HotKey {
    row: RowId,
    /// `None` for the directory.
    piece: Option<u32>,
}

enum HotValue {
    Directory(Directory),
    Piece(Vec<u8>),
}

impl MemorySize for HotValue {
    fn weight(&self) -> usize {
        match self {
            Self::Directory(directory) => directory.memory(),
            Self::Piece(bytes) => bytes.capacity(),
        }
    }
}

/// Inflated bytes, shared with the cache.
#[derive(Clone)]
pub(crate) struct HotBytes(Arc<HotValue>);

impl HotBytes {
    /// Bytes that the cache does not keep.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(HotValue::Piece(bytes)))
    }
}

impl AsRef<[u8]> for HotBytes {
    fn as_ref(&self) -> &[u8] {
        match &*self.0 {
            HotValue::Piece(bytes) => bytes,
            HotValue::Directory(_) => &[],
        }
    }
}

/// A directory, shared with the cache.
#[derive(Clone)]
pub(crate) struct HotDirectory(Arc<HotValue>);

impl HotDirectory {
    pub fn get(&self) -> Result<&Directory, BakeError> {
        match &*self.0 {
            HotValue::Directory(directory) => Ok(directory),
            HotValue::Piece(_) => Err(damaged("a piece stands in its directory's place")),
        }
    }
}

impl TraceDb {
    /// Opens the cache in a folder, or makes it. One that is damaged beyond opening is set aside
    /// ([`Self::set_aside`]), and an empty one made: everything in it can be baked again.
    ///
    /// # Errors
    /// [`BakeError::Store`] where another process has it, or the disk fails; [`BakeError::Io`].
    pub fn open(dir: &Path, options: &TraceDbOptions, registry: &Registry) -> Result<Self, BakeError> {
        let litt = LittMetrics::new(registry);
        let (opened, set_aside) = match open_table(dir, options, litt.clone()) {
            Err(LittError::Corrupt { .. }) => {
                let aside = dir.with_extension("damaged");
                let io = |source| BakeError::Io { path: aside.clone(), source };
                if aside.exists() {
                    std::fs::remove_dir_all(&aside).map_err(io)?;
                }
                std::fs::rename(dir, &aside).map_err(io)?;
                (open_table(dir, options, litt), Some(aside))
            }
            opened => (opened, None),
        };
        let (store, table) = opened?;
        Ok(Self {
            table,
            hot: Hot::new(options.hot_bytes),
            dropped: Mutex::default(),
            on_damage: OnceLock::new(),
            metrics: TraceCacheMetrics::new(registry),
            set_aside,
            store,
        })
    }

    /// Where a damaged cache was moved when this one was opened.
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    /// Sets a function that is called with the height of each row that is dropped from now on. The
    /// first one stays.
    pub fn on_damage(&self, callback: OnDamage) {
        let _ = self.on_damage.set(callback);
    }

    /// Keeps a block's answer. When this returns it survives the death of the process; a power cut
    /// only after [`Self::flush`]. The same again is fine. After a rollback heights come again that
    /// are lower than what was pruned: their rows go when those go that are the lowest now.
    ///
    /// # Errors
    /// [`BakeError::Store`]: the disk is full or fails, or the row is there with other bytes.
    pub fn put(&self, key: &BlockKey, tracer: BakedTracer, answer: &BakedAnswer) -> Result<(), BakeError> {
        let row = row_of(key, tracer);
        let number = Some(key.number.max(self.table.floor()));
        self.table.put_group(&Group { number, ..Group::new(&row.key(), &answer.value) })?;
        self.table.drain()?;
        self.dropped.lock().remove(&row);
        Ok(())
    }

    /// Whether a block's answer is there and not known to be damaged.
    pub fn has(&self, key: &BlockKey, tracer: BakedTracer) -> bool {
        let row = row_of(key, tracer);
        !self.dropped.lock().contains_key(&row) && self.table.exists(&row.key()).unwrap_or(false)
    }

    /// A block's answer, to be read; `None` where it is not there.
    ///
    /// # Errors
    /// [`BakeError::Damaged`], [`BakeError::Store`]. The row is dropped then: the next request
    /// finds none.
    pub fn block(
        self: &Arc<Self>,
        key: &BlockKey,
        tracer: BakedTracer,
    ) -> Result<Option<BakedBlock>, BakeError> {
        let row = row_of(key, tracer);
        if self.dropped.lock().contains_key(&row) {
            return Ok(None);
        }
        if let Some(block) = self.hot_block(key, tracer) {
            return Ok(Some(block));
        }
        match self.read_directory(&row) {
            Ok(Some((directory, front))) => {
                let value = Arc::new(HotValue::Directory(directory));
                self.hot.put(HotKey { row, piece: None }, value.clone());
                Ok(Some(BakedBlock::new(self.clone(), row, HotDirectory(value), Some(front))))
            }
            Ok(None) | Err(BakeError::Store(LittError::Pruned { .. })) => Ok(None),
            Err(error) => Err(self.drop_damaged(row, key.number, error)),
        }
    }

    /// A block's answer whose directory is in memory; nothing is read from the disk.
    pub fn hot_block(self: &Arc<Self>, key: &BlockKey, tracer: BakedTracer) -> Option<BakedBlock> {
        let row = row_of(key, tracer);
        let value = self.hot.get(&HotKey { row, piece: None })?;
        Some(BakedBlock::new(self.clone(), row, HotDirectory(value), None))
    }

    /// A row's directory, and the front of its value, which is all of it where that is short.
    fn read_directory(&self, row: &RowId) -> Result<Option<(Directory, Value)>, BakeError> {
        let Some(front) = self.table.get_front(&row.key(), FRONT_BYTES)? else { return Ok(None) };
        let header = Header::decode(&front)?;
        let directory = match front.get(header.body_end as usize..header.end as usize) {
            Some(bytes) => Directory::decode(header, bytes)?,
            None => Directory::decode(header, &self.read(row, header.body_end..header.end)?)?,
        };
        Ok(Some((directory, front)))
    }

    /// A part of a row's value.
    pub(crate) fn read(&self, row: &RowId, range: Range<u32>) -> Result<Value, BakeError> {
        let value = self.table.get_range(&row.key(), range)?;
        value.ok_or_else(|| damaged("it is gone"))
    }

    pub(crate) fn hot_piece(&self, row: &RowId, piece: u32) -> Option<HotBytes> {
        self.hot.get(&HotKey { row: *row, piece: Some(piece) }).map(HotBytes)
    }

    /// Keeps the bytes of a piece for the next requests.
    pub(crate) fn keep_piece(&self, row: &RowId, piece: u32, bytes: Vec<u8>) -> HotBytes {
        let value = Arc::new(HotValue::Piece(bytes));
        self.hot.put(HotKey { row: *row, piece: Some(piece) }, value.clone());
        HotBytes(value)
    }

    /// Largest piece that is kept inflated, in bytes.
    pub(crate) fn hot_piece_max(&self) -> u64 {
        self.hot.entry_max() as u64
    }

    /// Drops a row whose bytes turned out to be damaged; other errors leave it, and so does who
    /// must not wait: that is a look, after which a thread reads. The error is handed on.
    pub(crate) fn drop_damaged(&self, row: RowId, number: Height, error: BakeError) -> BakeError {
        if !may_wait() {
            return error;
        }
        if matches!(error, BakeError::Damaged { .. } | BakeError::Store(LittError::Corrupt { .. })) {
            self.hot.retain(|key| key.row != row);
            let mut dropped = self.dropped.lock();
            if dropped.len() < DROPPED_MAX {
                dropped.insert(row, number);
            }
            drop(dropped);
            self.metrics.dropped.add(1);
            if let Some(callback) = self.on_damage.get() {
                callback(number);
            }
        }
        error
    }

    /// Rows that were dropped since their last put: block hash, height, tracer.
    pub fn dropped(&self) -> Vec<(B256, Height, BakedTracer)> {
        self.dropped.lock().iter().map(|(row, number)| (row.hash, *number, row.tracer)).collect()
    }

    /// Lets the rows of lower heights go. What is read of them from now on is gone.
    ///
    /// # Errors
    /// [`BakeError::Store`].
    pub fn prune_below(&self, height: Height) -> Result<(), BakeError> {
        Ok(self.table.set_floor(height)?)
    }

    /// Lowest height whose rows are kept.
    pub fn floor(&self) -> Height {
        self.table.floor()
    }

    /// Makes everything durable that was put before the call.
    ///
    /// # Errors
    /// [`BakeError::Store`].
    pub fn flush(&self) -> Result<(), BakeError> {
        Ok(self.table.flush()?)
    }

    /// Bytes on disk.
    pub fn size_bytes(&self) -> u64 {
        self.table.size()
    }

    /// Rows on disk, those of blocks that were reorganised away included.
    pub fn rows(&self) -> u64 {
        self.table.len()
    }

    /// Bytes that are kept inflated.
    pub fn hot_bytes(&self) -> usize {
        self.hot.bytes()
    }

    /// Memory of the key indexes, in bytes.
    pub fn index_bytes(&self) -> usize {
        self.store.index_memory_bytes() as usize
    }

    /// Keeps at most so many bytes inflated, and `part` of `whole` of the pages of key indexes,
    /// from now on.
    pub fn set_cache_fraction(&self, hot_bytes: usize, part: usize, whole: usize) {
        self.hot.set_bytes(hot_bytes);
        self.store.set_cache_fraction(part, whole);
        self.metrics.hot_bytes.set_unsigned(self.hot.bytes() as u64);
    }

    /// Counts an eligible request by how it was answered.
    pub fn count(&self, result: CacheResult) {
        self.metrics.count(result);
        // Only what is read from the disk makes the cache grow.
        if result == CacheResult::Stored {
            self.metrics.hot_bytes.set_unsigned(self.hot.bytes() as u64);
        }
    }
}

fn row_of(key: &BlockKey, tracer: BakedTracer) -> RowId {
    RowId { chain_id: key.chain_id, hash: key.hash, tracer }
}

fn open_table(
    dir: &Path,
    options: &TraceDbOptions,
    metrics: Arc<LittMetrics>,
) -> Result<(Littable, Arc<Table>), LittError> {
    let store = Littable::open(StoreOptions {
        index_memory_bytes: options.index_memory_bytes,
        max_open_files: options.max_open_files,
        allow_network_fs: options.allow_network_fs,
        gc_period: options.gc_period,
        metrics,
        ..StoreOptions::new(dir)
    })?;
    let table = store.table(TableOptions {
        compression: Compression::PassThrough,
        segment_bytes: SEGMENT_BYTES,
        ..TableOptions::new(TABLE)
    })?;
    Ok((store, table))
}
