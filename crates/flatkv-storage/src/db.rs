//! RocksDB: column families, their options, and the few calls that the store needs.

use crate::{
    Fsync, Options,
    batch::Batch,
    budget::Shares,
    error::{corrupt, rocks},
    gate::Gate,
    manifest,
    marks::Marks,
    nodes::{GATHERED_BYTES_MAX, GatheredNodes, NodeRow},
    opening::opening_threads,
    priority::lower_compaction_threads,
    rows::history_prefix,
};
use hearth_metrics::DataDb;
use hearth_primitives::StateError;
use parking_lot::Mutex;
use rocksdb::{
    BlockBasedOptions, BoundColumnFamily, Cache, ColumnFamilyDescriptor, DB, DBCompressionType,
    DBPinnableSlice, DBRawIterator, Env, FlushOptions, LogLevel, ReadOptions, ReadTier, SliceTransform,
    SnapshotWithThreadMode, WriteBatch, WriteBufferManager, WriteOptions, checkpoint::Checkpoint, properties,
};
use std::{
    ffi::CStr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Bits a key in the Bloom filters: about one false positive in a hundred.
const BLOOM_BITS: f64 = 10.0;
/// Memtables of a family, the one being written included, before writes wait.
const WRITE_BUFFERS: i32 = 4;
/// Part of a memtable's size that its Bloom filter takes: 1.3 MiB of a usual one, ten bits for each
/// of a million rows, where all families together are flushed at about so many. A filter is written
/// whole when its memtable is made, at each opening and flush.
const MEMTABLE_BLOOM_RATIO: f64 = 0.005;
/// Uncompressed bytes of a data block.
const BLOCK_BYTES: usize = 8 << 10;
/// Number of background threads: one flushes, the others compact several families in parallel.
const BACKGROUND_JOBS: i32 = 4;
/// Flushed files of a family before they are merged into the rest, all of which that rewrites: rows
/// of a block are spread over all keys.
const MERGED_FILES: i32 = 8;
/// The same of a store that goes with its process and is mostly small: it flushes early, and few
/// such files are read as soon as fewer larger ones.
const MERGED_FILES_TRANSIENT: i32 = 12;
/// [`MERGED_FILES`] of history and the trie, of which few files are looked into. Rows of history
/// never change, so that a merge brings nothing but fewer files, and a look-up passes over most of
/// those anyway: see `history.rs`. Of the trie most nodes that are read are in memory.
const MERGED_MANY_FILES: i32 = 16;
/// Flushed files of these two at which commits are slowed down.
const SLOW_FILES: i32 = 40;
/// Flushed files of these two at which commits wait.
const MOST_FILES: i32 = 64;
/// RocksDB's own text logs that are kept.
const LOG_FILES: usize = 2;

#[cfg(feature = "bench")]
thread_local! {
    static CALLS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Look-ups of RocksDB that this thread made so far: gets, seeks and batches of gets.
#[cfg(feature = "bench")]
pub fn rocksdb_calls() -> u64 {
    CALLS.get()
}

/// Counts a look-up, for benches.
#[cfg(feature = "bench")]
pub(crate) fn count_call() {
    CALLS.set(CALLS.get() + 1);
}
#[cfg(not(feature = "bench"))]
pub(crate) const fn count_call() {}

/// A column family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Latest accounts.
    Account,
    /// Code by its hash.
    Code,
    /// Latest slots.
    Storage,
    /// Committed rows outside the other three, of native modules: see `FlatKv::apply`.
    Legacy,
    /// What the database says about itself.
    Metadata,
    /// Values at earlier heights.
    History,
    /// What each block changed.
    Changes,
    /// Nodes of the state trie.
    Trie,
    /// The canonical index.
    Index,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 9] = [
        Self::Account,
        Self::Code,
        Self::Storage,
        Self::Legacy,
        Self::Metadata,
        Self::History,
        Self::Changes,
        Self::Trie,
        Self::Index,
    ];

    /// The family of a data DB.
    pub fn of(db: DataDb) -> Self {
        match db {
            DataDb::Account => Self::Account,
            DataDb::Code => Self::Code,
            DataDb::Storage => Self::Storage,
            DataDb::Legacy => Self::Legacy,
            DataDb::Metadata => Self::Metadata,
        }
    }

    /// Its name, in RocksDB and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Code => "code",
            Self::Storage => "storage",
            Self::Legacy => "legacy",
            Self::Metadata => "metadata",
            Self::History => "history",
            Self::Changes => "changes",
            Self::Trie => "trie",
            Self::Index => "index",
        }
    }

    fn options(
        self,
        Budgeted { cache, shares }: &Budgeted,
        transient: bool,
    ) -> Result<rocksdb::Options, StateError> {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(cache);
        table.set_block_size(BLOCK_BYTES);
        table.set_bloom_filter(BLOOM_BITS, false);
        table.set_cache_index_and_filter_blocks(true);
        table.set_cache_index_and_filter_blocks_with_high_priority(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
        // Only the string form has this option.
        let hint = format!("memtable_insert_with_hint_prefix_extractor=fixed:{}", self.hint_bytes());
        let mut options = rocksdb::Options::default().get_options_from_string(hint).map_err(rocks)?;
        // Nodes of the trie consist of hashes, which do not compress; and what goes with the
        // process need not be small.
        options.set_compression_type(match self {
            Self::Trie => DBCompressionType::None,
            _ if transient => DBCompressionType::None,
            _ => DBCompressionType::Lz4,
        });
        options.set_write_buffer_size(shares.memtable);
        options.set_max_write_buffer_number(WRITE_BUFFERS);
        let merged_files = if transient { MERGED_FILES_TRANSIENT } else { MERGED_FILES };
        options.set_level_zero_file_num_compaction_trigger(merged_files);
        match self {
            Self::Account | Self::Trie | Self::Index => {
                options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
                options.set_memtable_whole_key_filtering(true);
            }
            Self::Storage => {
                options.set_prefix_extractor(SliceTransform::create_fixed_prefix(20));
                options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
                options.set_memtable_whole_key_filtering(true);
            }
            Self::History => {
                table.set_whole_key_filtering(false);
                let prefix = SliceTransform::create("hearth.history", history_prefix, None);
                options.set_prefix_extractor(prefix);
                options.set_memtable_prefix_bloom_ratio(MEMTABLE_BLOOM_RATIO);
            }
            Self::Code | Self::Legacy | Self::Metadata | Self::Changes => {}
        }
        if !transient && matches!(self, Self::History | Self::Trie) {
            options.set_level_zero_file_num_compaction_trigger(MERGED_MANY_FILES);
            options.set_level_zero_slowdown_writes_trigger(SLOW_FILES);
            options.set_level_zero_stop_writes_trigger(MOST_FILES);
        }
        options.set_block_based_table_factory(&table);
        Ok(options)
    }

    /// Bytes of a key by which rows of one block follow each other in order: where one was put is
    /// where the search for the place of the next one begins.
    fn hint_bytes(self) -> usize {
        match self {
            // The kind of the row.
            Self::History => 1,
            _ => 0,
        }
    }
}

/// The cache of blocks, and what of the memory budget is whose.
struct Budgeted {
    cache: Cache,
    shares: Shares,
}

/// The open database.
pub struct Db {
    rocks: DB,
    budgeted: Budgeted,
    write: WriteOptions,
    /// For look-ups that must not wait for the disk.
    in_memory: ReadOptions,
    /// Whether one half of a batch was written and the other one failed: see [`Db::readable`].
    halved: AtomicBool,
    /// Nodes that are not in RocksDB yet, where the store is never synced. Locked while a batch
    /// with nodes is written, so that a reader finds the nodes of the head.
    nodes: Option<Mutex<GatheredNodes>>,
    /// Closed while the batch of the head is being written.
    pub gate: Arc<Gate>,
    /// Up to which write of RocksDB there are rows of history up to a height.
    pub(crate) marks: Marks,
}

impl Db {
    /// Opens the database, or makes it.
    pub fn open(path: &Path, options: &Options) -> Result<Self, StateError> {
        Self::open_as(path, options, false)
    }

    /// Opens a snapshot's database, which is never written.
    pub fn open_read_only(path: &Path, options: &Options) -> Result<Self, StateError> {
        Self::open_as(path, options, true)
    }

    fn open_as(path: &Path, options: &Options, read_only: bool) -> Result<Self, StateError> {
        manifest::refuse_endless(&*options.disk, path)?;
        let transient = options.fsync == Fsync::Never;
        let shares = Shares::of_store(options);
        let budgeted = Budgeted { cache: Cache::new_lru_cache(shares.cache), shares };
        // What is not flushed when the store ends without a flush of ours is in the WAL, and
        // RocksDB must not get ahead of that. Only the string form has this option.
        let no_last_flush = "avoid_flush_during_shutdown=true";
        let mut rocks_options =
            rocksdb::Options::default().get_options_from_string(no_last_flush).map_err(rocks)?;
        // Memtables count as part of the cache; without a limit of their own, since a flush that
        // this would start is not one of ours.
        let memtables =
            WriteBufferManager::new_write_buffer_manager_with_cache(0, false, budgeted.cache.clone());
        rocks_options.set_write_buffer_manager(&memtables);
        rocks_options.create_if_missing(!read_only);
        rocks_options.create_missing_column_families(true);
        rocks_options.set_atomic_flush(true);
        rocks_options.set_max_open_files(options.settings.max_open_files);
        rocks_options.set_max_background_jobs(BACKGROUND_JOBS);
        rocks_options.set_keep_log_file_num(LOG_FILES);
        rocks_options.set_log_level(LogLevel::Warn);
        rocks_options.set_max_file_opening_threads(opening_threads(&*options.disk, path));
        if transient {
            // Threads that make blocks go first: what is not compacted yet only makes reads slower.
            // The environment, and so the priority, is that of all stores of the process, and
            // compactions of all stay behind only where the processors are all busy.
            Env::new().map_err(rocks)?.lower_thread_pool_cpu_priority();
        } else {
            rocks_options.set_bytes_per_sync(1 << 20);
        }
        let descriptor = |family: &Family| {
            Ok(ColumnFamilyDescriptor::new(family.name(), family.options(&budgeted, transient)?))
        };
        let families = Family::ALL.iter().map(descriptor);
        let families = families.collect::<Result<Vec<_>, StateError>>()?;
        let opened = match read_only {
            false => DB::open_cf_descriptors(&rocks_options, path, families),
            true => DB::open_cf_descriptors_read_only(&rocks_options, path, families, false),
        };
        let rocks = opened.map_err(rocks)?;
        if !transient {
            lower_compaction_threads();
        }
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        // Where two threads put rows in at once, as well: see `Family::hint_bytes`.
        write.set_memtable_insert_hint_per_batch(true);
        let mut in_memory = ReadOptions::default();
        in_memory.set_read_tier(ReadTier::BlockCache);
        let halved = AtomicBool::new(false);
        let nodes = (transient && !read_only).then(Mutex::default);
        let (gate, marks) = (Arc::default(), Marks::default());
        let db = Self { rocks, budgeted, write, in_memory, halved, nodes, gate, marks };
        db.read_marks()?;
        Ok(db)
    }

    /// Bounds the block cache to a part of its share: `part` of `whole`. Gives the same part of the
    /// share of code by hash.
    pub fn share_cache(&self, part: usize, whole: usize) -> usize {
        let Budgeted { cache, shares } = &self.budgeted;
        // A clone is the same cache.
        cache.clone().set_capacity(shares.cache / whole * part);
        shares.codes / whole * part
    }

    fn family(&self, family: Family) -> Result<Arc<BoundColumnFamily<'_>>, StateError> {
        self.rocks.cf_handle(family.name()).ok_or_else(|| corrupt("column family"))
    }

    /// A family's handle for reading. Rows of state above the head do no harm, since a reader
    /// checks their heights; the trie and the index are as of the last batch, and are
    /// refused once half of one was written.
    pub(crate) fn readable(&self, family: Family) -> Result<Arc<BoundColumnFamily<'_>>, StateError> {
        if family == Family::Trie {
            // A batch on its way brings nodes too.
            self.gate.pass()?;
            self.write_nodes()?;
        }
        self.readable_as_is(family)
    }

    /// As [`Db::readable`], without the nodes that RocksDB does not have yet.
    fn readable_as_is(&self, family: Family) -> Result<Arc<BoundColumnFamily<'_>>, StateError> {
        self.gate.pass()?;
        if matches!(family, Family::Trie | Family::Index) && self.halved.load(Ordering::Acquire) {
            let what = "a commit failed half way, so that index and trie are not those of the head; start the node again";
            return Err(StateError::Store(what.to_owned()));
        }
        self.family(family)
    }

    /// From now on the trie and the index are not read any more.
    pub fn was_halved(&self) {
        self.halved.store(true, Ordering::Release);
    }

    /// The value of a row.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>, StateError> {
        count_call();
        self.rocks.get_pinned_cf(&self.readable(family)?, key).map_err(rocks)
    }

    /// The RLP of the node at a key of the trie family.
    pub fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StateError> {
        self.gate.pass()?;
        let own = |nodes: &Mutex<GatheredNodes>| nodes.lock().get(key).map(|node| node.map(<[u8]>::to_vec));
        if let Some(node) = self.nodes.as_ref().and_then(own) {
            return Ok(node);
        }
        count_call();
        let row = self.rocks.get_pinned_cf(&self.readable_as_is(Family::Trie)?, key).map_err(rocks)?;
        Ok(row.map(|row| row.to_vec()))
    }

    /// Whether nodes of the trie gather in memory.
    pub fn gathers_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    /// Brings the nodes that gathered in memory into RocksDB.
    pub fn write_nodes(&self) -> Result<(), StateError> {
        self.nodes.as_ref().map_or(Ok(()), |nodes| self.write_gathered(&mut nodes.lock()))
    }

    fn write_gathered(&self, nodes: &mut GatheredNodes) -> Result<(), StateError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let (family, mut batch) = (self.family(Family::Trie)?, WriteBatch::default());
        for (key, node) in nodes.rows() {
            match node {
                Some(rlp) => batch.put_cf(&family, key, rlp),
                None => batch.delete_cf(&family, key),
            }
        }
        self.write(batch)?;
        nodes.clear();
        Ok(())
    }

    /// Runs the write of a batch, with which `nodes` become those of the trie.
    pub(crate) fn write_with(
        &self,
        nodes: Vec<NodeRow>,
        write: impl FnOnce() -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        let Some(gathered) = self.nodes.as_ref().filter(|_| !nodes.is_empty()) else { return write() };
        let mut gathered = gathered.lock();
        write()?;
        nodes.iter().for_each(|(key, node)| gathered.put(key, node.as_deref()));
        match gathered.bytes() > GATHERED_BYTES_MAX {
            true => self.write_gathered(&mut gathered),
            false => Ok(()),
        }
    }

    /// About how many bytes on disk the rows of a family in `from..to` take.
    pub fn disk_bytes(&self, family: Family, from: &[u8], to: &[u8]) -> Result<u64, StateError> {
        let range = rocksdb::Range::new(from, to);
        let sizes = self.rocks.get_approximate_sizes_cf(&self.family(family)?, &[range]);
        Ok(sizes.iter().sum())
    }

    /// The value of a row, where memtables and block cache have it: nothing is read from the disk.
    /// `None` leaves the answer open.
    pub fn get_in_memory(&self, family: Family, key: &[u8]) -> Option<DBPinnableSlice<'_>> {
        if !self.gate.is_open() {
            return None;
        }
        count_call();
        self.rocks.get_pinned_cf_opt(&self.readable(family).ok()?, key, &self.in_memory).ok().flatten()
    }

    /// The values of many rows of a family in one batch of reads, in the order of the keys.
    pub fn get_many<'k>(
        &self,
        family: Family,
        keys: impl IntoIterator<Item = &'k (impl AsRef<[u8]> + ?Sized + 'k)>,
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, StateError> {
        count_call();
        let found = self.rocks.batched_multi_get_cf(&self.readable(family)?, keys, false);
        found.into_iter().map(|row| row.map_err(rocks)).collect()
    }

    /// The values of rows of a family, in the order of their keys, which ascend. The row that is
    /// found behind a missing one says that all keys up to it are missing: new keys that follow
    /// each other cost one look-up together.
    pub fn get_ascending(&self, family: Family, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, StateError> {
        debug_assert!(keys.is_sorted());
        let Some(last) = keys.last() else { return Ok(Vec::new()) };
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        // The key right behind the last one: rows that were deleted behind it are not passed.
        options.set_iterate_upper_bound([*last, &[0]].concat());
        let mut rows = self.rocks.raw_iterator_cf_opt(&self.readable(family)?, options);
        let mut is_placed = false;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            if !is_placed || rows.key().is_some_and(|at| at < *key) {
                count_call();
                rows.seek(key);
                is_placed = true;
            }
            values.push(rows.item().filter(|(at, _)| at == key).map(|(_, value)| value.to_vec()));
        }
        rows.status().map_err(rocks)?;
        Ok(values)
    }

    /// Rows of a family with keys in `from..to`, as of this moment, in ascending or descending
    /// order.
    pub fn scan(
        &self,
        family: Family,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        reverse: bool,
    ) -> Result<Scan<'_>, StateError> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        if let Some(from) = from {
            options.set_iterate_lower_bound(from);
        }
        if let Some(to) = to {
            options.set_iterate_upper_bound(to);
        }
        let mut rows = self.rocks.raw_iterator_cf_opt(&self.readable(family)?, options);
        if reverse {
            rows.seek_to_last()
        } else {
            rows.seek_to_first()
        }
        Ok(Scan { rows, reverse })
    }

    /// All rows whose key begins with `prefix`, in order.
    pub fn prefix(&self, family: Family, prefix: &[u8]) -> Result<Rows<'_>, StateError> {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        if let Some(end) = successor(prefix) {
            options.set_iterate_upper_bound(end);
        }
        self.seek(family, prefix, options)
    }

    /// The first history row of `prefix` at or after `key`, which is the prefix with a height.
    pub fn history(&self, prefix: &[u8], key: &[u8]) -> Result<Rows<'_>, StateError> {
        let mut options = ReadOptions::default();
        if let Some(end) = successor(prefix) {
            options.set_iterate_upper_bound(end);
        }
        self.seek(Family::History, key, options)
    }

    fn seek(&self, family: Family, from: &[u8], options: ReadOptions) -> Result<Rows<'_>, StateError> {
        let mut iterator = self.rocks.raw_iterator_cf_opt(&self.readable(family)?, options);
        count_call();
        iterator.seek(from);
        Ok(Rows(iterator))
    }

    /// All rows as of this moment.
    pub fn pin(&self) -> Result<Pinned<'_>, StateError> {
        self.gate.pass()?;
        // As of one moment too: no batch with nodes is written meanwhile.
        let mut nodes = self.nodes.as_ref().map(Mutex::lock);
        if let Some(nodes) = &mut nodes {
            self.write_gathered(nodes)?;
        }
        Ok(Pinned { db: self, snapshot: self.rocks.snapshot() })
    }

    /// RocksDB itself.
    pub(crate) fn rocks(&self) -> &DB {
        &self.rocks
    }

    /// An empty batch.
    pub fn batch(&self) -> Result<Batch<'_>, StateError> {
        Ok(Batch::new(self, self.families()?))
    }

    /// Writes what RocksDB takes in as one; it is durable with the next flush.
    pub fn write(&self, batch: WriteBatch) -> Result<(), StateError> {
        self.rocks.write_opt(batch, &self.write).map_err(rocks)
    }

    /// Handles in the order of [`Family::ALL`].
    pub fn families(&self) -> Result<Vec<Arc<BoundColumnFamily<'_>>>, StateError> {
        Family::ALL.iter().map(|family| self.family(*family)).collect()
    }

    /// Flushes all families together. Without `wait` it returns once everything written so far is
    /// set apart.
    pub fn flush(&self, wait: bool) -> Result<(), StateError> {
        let mut options = FlushOptions::default();
        options.set_wait(wait);
        let families = self.families()?;
        let families: Vec<_> = families.iter().collect();
        self.rocks.flush_cfs_opt(&families, &options).map_err(rocks)
    }

    /// Makes a copy of what is flushed in a new folder, of hard links where that can be. Nothing is
    /// flushed for it, for RocksDB must not be durably ahead of the WAL.
    pub fn checkpoint(&self, path: &Path) -> Result<(), StateError> {
        let checkpoint = Checkpoint::new(&self.rocks).map_err(rocks)?;
        checkpoint.create_checkpoint_with_log_size(path, u64::MAX).map_err(rocks)
    }

    /// Waits until no compaction is wanted.
    #[cfg(feature = "bench")]
    pub fn wait_for_compaction(&self) -> Result<(), StateError> {
        self.rocks.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).map_err(rocks)
    }

    /// Whether a flush is under way.
    ///
    /// # Errors
    /// Also where RocksDB failed in the background, with a compaction for example: it flushes no
    /// more then, and a thread that waits for the end of a flush would wait forever.
    pub fn flushing(&self) -> Result<bool, StateError> {
        for family in Family::ALL {
            if self.property(family, properties::NUM_IMMUTABLE_MEM_TABLE)? > 0 {
                return self.failed_in_background().map(|()| true);
            }
        }
        Ok(false)
    }

    /// An error where RocksDB failed in the background. It may come round, and flushes on its own
    /// then.
    pub fn failed_in_background(&self) -> Result<(), StateError> {
        match self.rocks.property_int_value(properties::BACKGROUND_ERRORS).map_err(rocks)? {
            None | Some(0) => Ok(()),
            Some(errors) => Err(StateError::Store(format!(
                "RocksDB failed {errors} times in the background and ends no flush any more; its file LOG says why"
            ))),
        }
    }

    /// A property of a family that RocksDB reports as a number; 0 without one.
    pub fn property(&self, family: Family, name: &CStr) -> Result<u64, StateError> {
        let number = self.rocks.property_int_value_cf(&self.family(family)?, name).map_err(rocks)?;
        Ok(number.unwrap_or(0))
    }

    /// Table files on a level of a family.
    pub fn files_at(&self, family: Family, level: usize) -> Result<u64, StateError> {
        let name = properties::num_files_at_level(level);
        Ok(self.text(family, &name)?.parse().unwrap_or(0))
    }

    /// A property of a family that RocksDB reports as text; empty without one.
    pub fn text(&self, family: Family, name: &CStr) -> Result<String, StateError> {
        let text = self.rocks.property_value_cf(&self.family(family)?, name).map_err(rocks)?;
        Ok(text.unwrap_or_default())
    }
}

/// All rows as of one moment.
pub struct Pinned<'a> {
    db: &'a Db,
    snapshot: SnapshotWithThreadMode<'a, DB>,
}

impl Pinned<'_> {
    /// The value of a row.
    pub fn get(&self, family: Family, key: &[u8]) -> Result<Option<DBPinnableSlice<'_>>, StateError> {
        self.snapshot.get_pinned_cf(&self.db.readable(family)?, key).map_err(rocks)
    }
}

/// Rows in key order, as of one moment. Check [`Rows::finish`] at the end.
pub struct Rows<'a>(DBRawIterator<'a>);

impl Rows<'_> {
    /// The row at hand, or `None` behind the last.
    pub fn row(&self) -> Option<(&[u8], &[u8])> {
        self.0.item()
    }

    /// Moves to the next row.
    pub fn next(&mut self) {
        self.0.next();
    }

    /// Goes to the first row at or after a key.
    pub fn seek(&mut self, key: &[u8]) {
        self.0.seek(key);
    }

    /// Whether the rows ended because there are no more, and not for an error.
    pub fn finish(&self) -> Result<(), StateError> {
        self.0.status().map_err(rocks)
    }
}

/// Rows in ascending or descending order, as of one moment. Check [`Scan::finish`] at the end.
pub struct Scan<'a> {
    rows: DBRawIterator<'a>,
    reverse: bool,
}

impl Scan<'_> {
    /// The row at hand, or `None` behind the last.
    pub fn row(&self) -> Option<(&[u8], &[u8])> {
        self.rows.item()
    }

    /// Moves to the next row in the order of the scan.
    pub fn next(&mut self) {
        if self.reverse { self.rows.prev() } else { self.rows.next() }
    }

    /// Whether the rows ended because there are no more, and not for an error.
    pub fn finish(&self) -> Result<(), StateError> {
        self.rows.status().map_err(rocks)
    }
}

/// The first key behind all that begin with `prefix`; `None` where there is none.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut key = prefix[..=end].to_vec();
    key[end] += 1;
    Some(key)
}
