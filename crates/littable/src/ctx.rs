//! What all parts of an open table share.

use crate::cache::Cache;
use crate::codec::{Dictionary, Encoder};
use crate::format::{be32, take};
use crate::handles::Handles;
use crate::keys::{Id, id_of};
use crate::lease::Leases;
use crate::pages::Budget;
use crate::state::State;
use crate::{Compression, LittError, TableOptions, doc};
use hearth_disk::{Clock, Disk};
use hearth_metrics::TableMetrics;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const DICTIONARY_MAGIC: [u8; 4] = *b"HLDC";
const DICTIONARY_VERSION: u16 = 1;

/// What all parts of an open table share.
#[derive(Debug)]
pub(crate) struct Ctx {
    pub name: Arc<str>,
    /// The table's folder in each root.
    pub dirs: Vec<PathBuf>,
    /// The one of them that has state, key indexes and dictionaries.
    pub home: PathBuf,
    pub options: TableOptions,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<TableMetrics>,
    pub handles: Arc<Handles>,
    pub budget: Arc<Budget>,
    pub read_cache: Option<Cache>,
    pub write_cache: Option<Cache>,
    pub read_only: bool,
    pub secret: [u8; 32],
    pub state: Mutex<State>,
    /// A copy of the state's floor that reads need no lock for.
    pub floor: std::sync::atomic::AtomicU64,
    pub ttl: Mutex<Option<Duration>>,
    pub age: Mutex<Age>,
    pub leases: Leases,
    pub dictionaries: RwLock<HashMap<u32, Arc<Dictionary>>>,
    failed: OnceLock<Arc<str>>,
}

/// Time that passed while the table was open.
#[derive(Debug)]
pub(crate) struct Age {
    pub total: Duration,
    pub last: Duration,
    /// Longest time that counts between two looks: a clock that jumps expires nothing.
    pub max_step: Duration,
}

impl Age {
    pub fn tick(&mut self, now: Duration) -> Duration {
        self.total += now.saturating_sub(self.last).min(self.max_step);
        self.last = now;
        self.total
    }
}

/// What a table is opened with, beside its options and its state.
pub(crate) struct Parts {
    pub dirs: Vec<PathBuf>,
    pub home: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<hearth_metrics::LittMetrics>,
    pub handles: Arc<Handles>,
    pub budget: Arc<Budget>,
    pub read_only: bool,
    pub gc_period: Duration,
    pub lease: Duration,
}

impl Ctx {
    pub fn new(parts: Parts, options: TableOptions, state: State) -> Self {
        let metrics = parts.metrics.table(&options.name);
        let cache = |bytes, metrics: &hearth_metrics::CacheMetrics| {
            Cache::new(bytes, parts.clock.clone(), metrics.clone())
        };
        let age = Age {
            total: Duration::from_millis(state.age_ms),
            last: parts.clock.monotonic(),
            max_step: parts.gc_period * 2,
        };
        Self {
            name: options.name.as_str().into(),
            read_cache: cache(options.read_cache_bytes, &parts.metrics.chunk_read),
            write_cache: cache(options.write_cache_bytes, &parts.metrics.chunk_write),
            leases: Leases::new(parts.lease, parts.clock.clone(), metrics.open_iterators.clone()),
            ttl: Mutex::new(options.ttl),
            secret: state.secret,
            floor: state.floor.into(),
            state: Mutex::new(state),
            age: Mutex::new(age),
            dictionaries: RwLock::default(),
            failed: OnceLock::new(),
            dirs: parts.dirs,
            home: parts.home,
            disk: parts.disk,
            clock: parts.clock,
            handles: parts.handles,
            budget: parts.budget,
            read_only: parts.read_only,
            metrics,
            options,
        }
    }

    pub fn id(&self, key: &[u8]) -> Id {
        id_of(self.options.keys, &self.secret, key)
    }

    /// Refuses writing to a table that failed or was opened for reading.
    pub fn check_writable(&self) -> Result<(), LittError> {
        let cause = match self.failed.get() {
            Some(cause) => cause.clone(),
            None if self.read_only => "it was opened for reading".into(),
            None => return Ok(()),
        };
        Err(LittError::ReadOnly { table: self.name.clone(), cause })
    }

    /// Whether files may be changed.
    pub fn may_write(&self) -> bool {
        !self.read_only && self.failed.get().is_none()
    }

    /// Notes a failure after which nothing may be written.
    pub fn fail(&self, error: &LittError) {
        let _ = self.failed.set(error.to_string().into());
    }

    pub fn floor(&self) -> u64 {
        self.floor.load(std::sync::atomic::Ordering::Acquire)
    }

    pub fn pruned(&self) -> LittError {
        LittError::Pruned { table: self.name.clone(), floor: self.floor() }
    }

    /// The age of the table now.
    pub fn age(&self) -> Duration {
        self.age.lock().tick(self.clock.monotonic())
    }

    /// Raises the age of the table to what it was in an earlier life; gives the age, in
    /// milliseconds.
    pub fn raise_age(&self, age_ms: u64) -> u64 {
        let mut age = self.age.lock();
        age.total = age.total.max(Duration::from_millis(age_ms));
        age.total.as_millis() as u64
    }

    /// The folder for a new segment: they go round the roots.
    pub fn dir_for(&self, shard: u8, segment: u32) -> &Path {
        &self.dirs[(segment as usize + usize::from(shard)) % self.dirs.len()]
    }

    /// A dictionary by number; `None` for 0.
    pub fn dictionary(&self, number: u32) -> Result<Option<Arc<Dictionary>>, LittError> {
        if number == 0 {
            return Ok(None);
        }
        if let Some(dictionary) = self.dictionaries.read().get(&number) {
            return Ok(Some(dictionary.clone()));
        }
        let path = self.dictionary_path(number);
        let bytes = doc::read(&*self.disk, &path, DICTIONARY_MAGIC, DICTIONARY_VERSION)?;
        let bytes = bytes.ok_or_else(|| LittError::corrupt(&path, 0, "dictionary is missing"))?;
        let mut rest = &bytes[..];
        let named = take(&mut rest, 4).map(be32);
        if named != Some(number) {
            return Err(LittError::corrupt(&path, 0, "dictionary of another number"));
        }
        let dictionary = Arc::new(Dictionary::new(number, rest.to_vec()));
        Ok(Some(self.dictionaries.write().entry(number).or_insert(dictionary).clone()))
    }

    fn dictionary_path(&self, number: u32) -> PathBuf {
        self.home.join(format!("{number:010}.dict"))
    }

    /// Stores a new dictionary and makes it the newest.
    pub fn add_dictionary(&self, bytes: &[u8]) -> Result<(), LittError> {
        let number = self.state.lock().dictionary + 1;
        let payload = [&number.to_be_bytes()[..], bytes].concat();
        let path = self.dictionary_path(number);
        doc::replace(&*self.disk, &path, DICTIONARY_MAGIC, DICTIONARY_VERSION, &payload)?;
        self.update_state(|state| state.dictionary = number)
    }

    /// The newest dictionary, if the table uses one.
    pub fn newest_dictionary(&self) -> Result<Option<Arc<Dictionary>>, LittError> {
        match self.options.compression {
            Compression::ZstdDict(_) => {
                let number = self.state.lock().dictionary;
                self.dictionary(number)
            }
            _ => Ok(None),
        }
    }

    pub fn encoder(&self, dictionary: Option<&Dictionary>) -> Encoder {
        Encoder::new(self.options.compression, dictionary)
    }

    /// Reads the state again that another process writes, which has the table open for writing.
    pub fn reread_state(&self) -> Result<(), LittError> {
        if let Some(state) = State::read(&*self.disk, &self.home)? {
            self.floor.store(state.floor, std::sync::atomic::Ordering::Release);
            *self.state.lock() = state;
        }
        Ok(())
    }

    /// Whether another process collected a segment since the table was opened for reading.
    pub fn was_collected(&self, shard: u8, segment: u32) -> bool {
        self.read_only && self.reread_state().is_ok() && self.state.lock().is_gone(shard, segment)
    }

    /// Changes the state and makes it durable. The change is kept in memory only where the file was
    /// written.
    pub fn update_state(&self, change: impl FnOnce(&mut State)) -> Result<(), LittError> {
        let age_ms = self.age().as_millis() as u64;
        let mut state = self.state.lock();
        let mut next = state.clone();
        next.age_ms = next.age_ms.max(age_ms);
        change(&mut next);
        next.write(&*self.disk, &self.home)?;
        self.floor.store(next.floor, std::sync::atomic::Ordering::Release);
        *state = next;
        Ok(())
    }
}
