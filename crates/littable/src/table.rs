//! A table: what callers see of it. Writing is in `write`, sealing and merging in `upkeep`.

use crate::LittError;
use crate::ctx::Ctx;
use crate::flush::FlushGate;
use crate::keys::NO_NUMBER;
use crate::names::TakenName;
use crate::shard::{Hit, Shard};
use crate::store::StoreInner;
use crate::value::Value;
use crate::writer::Writer;
use crate::{Keys, MAX_KEY_BYTES, MAX_SEQUENCE_KEY_BYTES, recover};
use parking_lot::Mutex;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A value with its keys, to be put: all of it or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Primary key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// Secondary keys with their byte ranges of the value.
    pub secondary: &'a [(&'a [u8], Range<u32>)],
    /// What retention goes by, a height for example.
    pub number: Option<u64>,
}

impl<'a> Group<'a> {
    /// A value under one key, without a number.
    pub fn new(key: &'a [u8], value: &'a [u8]) -> Self {
        Self { key, value, secondary: &[], number: None }
    }
}

/// An append-only table of values by key. All methods may be called from any thread.
pub struct Table {
    pub(crate) ctx: Arc<Ctx>,
    pub(crate) lanes: Vec<Shard>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) gate: FlushGate<LittError>,
    /// Held while segments are sealed. Taken after `merging`, before `writer`.
    pub(crate) sealing: Mutex<()>,
    /// Held while runs are merged and segments collected or cut.
    pub(crate) merging: Mutex<()>,
    /// What kept background work from being done last.
    pub(crate) last_trouble: Mutex<Option<LittError>>,
    /// Keeps locks and threads for as long as a table is used.
    pub(crate) store: Arc<StoreInner>,
    /// The last field: the name is free once the end of the table is written and its files are
    /// closed.
    _name: TakenName,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.ctx.name).finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn open(ctx: Arc<Ctx>, store: Arc<StoreInner>, name: TakenName) -> Result<Self, LittError> {
        let (shards, cutting) = {
            let state = ctx.state.lock();
            (state.shards, state.cutting)
        };
        if let (Some(cutting), true) = (cutting, ctx.may_write()) {
            crate::drop_behind::drop_behind(&ctx, 0, cutting)?;
        }
        let mut writer = Writer::default();
        let mut lanes = Vec::new();
        for shard in 0..shards {
            let loaded = recover::load(&ctx, shard)?;
            writer.push_lane(&loaded);
            lanes.push(Shard::new(ctx.clone(), shard, loaded.state));
        }
        raise_age(&ctx, &lanes);
        let table = Self {
            ctx,
            lanes,
            writer: Mutex::new(writer),
            gate: FlushGate::default(),
            sealing: Mutex::default(),
            merging: Mutex::default(),
            last_trouble: Mutex::default(),
            store,
            _name: name,
        };
        table.recount();
        Ok(table)
    }

    /// Looks again at what a writer has done, in a store that is open for reading; nothing to do in
    /// others.
    ///
    /// # Errors
    /// As [`crate::Littable::table`].
    pub fn refresh(&self) -> Result<(), LittError> {
        if !self.ctx.read_only {
            return Ok(());
        }
        self.ctx.reread_state()?;
        let mut writer = Writer::default();
        for lane in &self.lanes {
            let loaded = recover::load(&self.ctx, lane.shard)?;
            writer.push_lane(&loaded);
            *lane.state.write() = loaded.state;
        }
        *self.writer.lock() = writer;
        self.recount();
        Ok(())
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.ctx.name
    }

    /// The bytes under a primary or secondary key; `None` where the key was never written, or was
    /// collected and forgotten. See [`Table::get_numbered`] for an answer that does not depend on
    /// whether collection has come by.
    ///
    /// # Errors
    /// [`LittError::Pruned`] where the record's number is below the floor and the record, or its
    /// index entry, is still there. [`LittError::Corrupt`] where the stored bytes fail their
    /// checksum, or where the key is not found and a damaged stretch of the table may have held it;
    /// a key index that is damaged is made again behind the scenes, and its keys are found from
    /// then on. [`LittError::Io`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>, LittError> {
        self.read(key, |len| Ok(0..len))
    }

    /// A range of the bytes under a key. Only the frames that it covers are read.
    ///
    /// # Errors
    /// [`LittError::BadRange`] where it lies outside; as [`Table::get`].
    pub fn get_range(&self, key: &[u8], range: Range<u32>) -> Result<Option<Value>, LittError> {
        self.read(key, |len| match range.start <= range.end && range.end <= len {
            true => Ok(range.clone()),
            false => {
                let (table, start, end) = (self.ctx.name.clone(), range.start, range.end);
                Err(LittError::BadRange { table, start, end, len: len.into() })
            }
        })
    }

    /// The first bytes under a key, at most so many. Only the frames that they lie in are read.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get_front(&self, key: &[u8], most: u32) -> Result<Option<Value>, LittError> {
        self.read(key, |len| Ok(0..len.min(most)))
    }

    /// The bytes under the key of a record with a number: below the floor the answer is
    /// [`LittError::Pruned`] at once.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get_numbered(&self, key: &[u8], number: u64) -> Result<Option<Value>, LittError> {
        if number < self.ctx.floor() {
            return Err(self.ctx.pruned());
        }
        self.get(key)
    }

    /// The bytes under each of several keys, in their order.
    pub fn multi_get(&self, keys: &[&[u8]]) -> Vec<Result<Option<Value>, LittError>> {
        keys.iter().map(|key| self.get(key)).collect()
    }

    /// Whether a key is there. Its bytes are not read.
    ///
    /// # Errors
    /// As [`Table::get`], but for bytes that are damaged.
    pub fn exists(&self, key: &[u8]) -> Result<bool, LittError> {
        match self.find_or_rebuild(key)? {
            None | Some((_, Hit::Gone)) => Ok(false),
            Some((_, hit)) => Ok(!self.is_pruned(&hit)),
        }
    }

    fn read(
        &self,
        key: &[u8],
        range: impl Fn(u32) -> Result<Range<u32>, LittError>,
    ) -> Result<Option<Value>, LittError> {
        let start = Instant::now();
        let Some((lane, hit)) = self.find_or_rebuild(key)? else { return Ok(None) };
        if self.is_pruned(&hit) {
            return Err(self.ctx.pruned());
        }
        let Some(place) = hit.place() else { return Err(self.ctx.pruned()) };
        let (value, cached) = lane.load(&hit, range(place.len)?)?;
        let metrics = &self.ctx.metrics;
        metrics.keys_read.add(1);
        metrics.bytes_read.add(value.len() as u64);
        let elapsed = start.elapsed();
        metrics.read.record_duration(elapsed);
        if cached {
            metrics.cache_hits.add(1);
        } else {
            metrics.cache_misses.add(1);
            metrics.cache_miss.record_duration(elapsed);
        }
        Ok(Some(value))
    }

    pub(crate) fn is_pruned(&self, hit: &Hit) -> bool {
        hit.place().is_some_and(|place| place.number != NO_NUMBER && place.number < self.ctx.floor())
    }

    /// The shard that has a key, and where.
    pub(crate) fn find(&self, key: &[u8]) -> Result<Option<(&Shard, Hit)>, LittError> {
        if key.len() > self.max_key_bytes() {
            return Ok(None);
        }
        self.find_id(&self.ctx.id(key), true)
    }

    /// As [`Table::find`]; has key indexes made again that turn out to be damaged.
    pub(crate) fn find_or_rebuild(&self, key: &[u8]) -> Result<Option<(&Shard, Hit)>, LittError> {
        match self.find(key) {
            Err(LittError::Corrupt { .. }) if self.is_broken() && self.ctx.may_write() => {
                self.store.poke(self);
                self.find(key)
            }
            found => found,
        }
    }

    /// Whether a look-up met a damaged key index that is still to be made again.
    pub(crate) fn is_broken(&self) -> bool {
        self.lanes.iter().any(|lane| lane.broken.lock().is_some())
    }

    pub(crate) fn find_id(
        &self,
        id: &crate::keys::Id,
        likely: bool,
    ) -> Result<Option<(&Shard, Hit)>, LittError> {
        let mut gone = None;
        let mut damage = None;
        for lane in &self.lanes {
            match lane.find(id, likely) {
                Ok(Some(Hit::Gone)) => gone = Some((lane, Hit::Gone)),
                Ok(Some(hit)) => return Ok(Some((lane, hit))),
                Ok(None) => {}
                // Another shard may have it.
                Err(error) => damage = Some(error),
            }
        }
        damage.map_or(Ok(gone), Err)
    }

    pub(crate) fn max_key_bytes(&self) -> usize {
        match self.ctx.options.keys {
            Keys::Hash => MAX_KEY_BYTES,
            Keys::Sequence => MAX_SEQUENCE_KEY_BYTES,
        }
    }

    /// Keys, primary and secondary. One that was put again in another group counts again.
    pub fn len(&self) -> u64 {
        self.writer.lock().total_keys
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the table's segments and key indexes.
    pub fn size(&self) -> u64 {
        self.writer.lock().total_bytes
    }

    /// Lowest number that is kept; 0 where none was ever set.
    pub fn floor(&self) -> u64 {
        self.ctx.floor()
    }

    /// Sets how long records are kept at least; for records that are there as well.
    pub fn set_ttl(&self, ttl: Option<Duration>) {
        *self.ctx.ttl.lock() = ttl;
    }

    /// Sizes and heights of the table.
    pub fn info(&self) -> TableInfo {
        let mut info = TableInfo {
            name: self.name().to_owned(),
            shards: self.lanes.len() as u8,
            ..TableInfo::default()
        };
        for lane in &self.lanes {
            let state = lane.state.read();
            info.segments += state.segments.len() as u64;
            info.open_segments += state.open.len() as u64;
            info.runs += state.runs.len() as u64;
            info.index_memory_bytes += state.runs.iter().map(|run| run.memory() as u64).sum::<u64>();
            info.index_memory_bytes +=
                state.open.iter().map(|open| open.keys.read().memory() as u64).sum::<u64>();
            info.value_bytes += state.sealed().map(|(_, covered)| covered.summary.value_bytes).sum::<u64>();
            info.records +=
                state.sealed().map(|(_, covered)| u64::from(covered.summary.records)).sum::<u64>();
            let numbered = state.sealed().map(|(_, covered)| covered.summary).filter(|s| s.numbered > 0);
            let open: Vec<_> = state.open.iter().map(|open| open.progress.lock().summary).collect();
            for summary in numbered.chain(open.iter().copied().filter(|s| s.numbered > 0)) {
                let (low, high) = info.numbers.unwrap_or((summary.min_number, summary.max_number));
                info.numbers = Some((low.min(summary.min_number), high.max(summary.max_number)));
            }
            info.value_bytes += open.iter().map(|summary| summary.value_bytes).sum::<u64>();
            info.records += open.iter().map(|summary| u64::from(summary.records)).sum::<u64>();
            info.value_bytes_read += lane.value_bytes_read.load(Ordering::Relaxed);
            info.value_reads += lane.value_reads.load(Ordering::Relaxed);
            info.index_reads += lane.index_reads.load(Ordering::Relaxed);
            info.indexes_rebuilt += lane.rebuilt.load(Ordering::Relaxed);
        }
        info.keys = self.len();
        info.bytes = self.size();
        info.floor = self.floor();
        info
    }
}

/// Raises the age of a table to that of its segments: where the process was killed, the state may
/// have a lower one. What is not sealed counts as written now.
fn raise_age(ctx: &Ctx, lanes: &[Shard]) {
    let mut highest = 0;
    for lane in lanes {
        let state = lane.state.read();
        let sealed = state.sealed().map(|(_, covered)| covered.summary.age_ms);
        let open = state.open.iter().map(|open| open.progress.lock().summary.age_ms);
        highest = sealed.chain(open).fold(highest, u64::max);
    }
    let age_ms = ctx.raise_age(highest);
    for lane in lanes {
        for open in &lane.state.read().open {
            let mut progress = open.progress.lock();
            if !progress.sealed && progress.summary.records > 0 {
                progress.summary.age_ms = progress.summary.age_ms.max(age_ms);
            }
        }
    }
}

/// Sizes and heights of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// Its shards.
    pub shards: u8,
    /// Segments, sealed or not, without those prepared for later.
    pub segments: u64,
    /// Of those, the ones that are not sealed yet.
    pub open_segments: u64,
    /// Key indexes on disk.
    pub runs: u64,
    /// Memory of filters, fences and the keys of open segments, in bytes.
    pub index_memory_bytes: u64,
    /// Groups.
    pub records: u64,
    /// Keys, primary and secondary.
    pub keys: u64,
    /// Bytes of values before compression.
    pub value_bytes: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Lowest number that is kept.
    pub floor: u64,
    /// Lowest and highest number of the records.
    pub numbers: Option<(u64, u64)>,
    /// Bytes of values read from files since the table was opened.
    pub value_bytes_read: u64,
    /// Reads of values from files since the table was opened.
    pub value_reads: u64,
    /// Reads of index pages since the table was opened.
    pub index_reads: u64,
    /// Damaged key indexes that were made again since the table was opened.
    pub indexes_rebuilt: u64,
}
