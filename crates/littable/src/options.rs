//! Settings of a store and of its tables.

use hearth_disk::{Clock, Disk, RealDisk, SystemClock, TransientDisk};
use hearth_metrics::{LittMetrics, Registry};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest key of a table with [`Keys::Hash`], in bytes.
pub const MAX_KEY_BYTES: usize = 4096;
/// Longest key of a table with [`Keys::Sequence`], in bytes.
pub const MAX_SEQUENCE_KEY_BYTES: usize = 11;
/// Most keys in one group.
pub const MAX_GROUP_KEYS: usize = 65_536;
/// Largest value, in bytes.
pub const MAX_VALUE_BYTES: usize = 1 << 30;
/// Most shards of a table.
pub const MAX_SHARDS: u8 = 64;
/// Largest [`TableOptions::segment_bytes`]: places in a segment are 32 bits wide and a last record
/// must fit behind it.
pub const MAX_SEGMENT_BYTES: u64 = 2 << 30;

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Folders that hold the store, on one volume each. Missing ones are made.
    pub roots: Vec<PathBuf>,
    /// Whether a root may lie on a network file system. Default false.
    pub allow_network_fs: bool,
    /// Bound of the memory for filters, fences and pages of key indexes, in bytes. Default 256 MiB.
    pub index_memory_bytes: usize,
    /// Most files of sealed segments and indexes held open. Default 256 (a quarter of the usual
    /// `ulimit -n`).
    pub max_open_files: usize,
    /// Threads for sealing, merging and collecting. Default 1; one more then writes full buffers.
    /// With 0, such work is done at once by the call that makes it necessary, so that a run depends
    /// on its calls alone.
    pub background_threads: usize,
    /// Time between two looks for segments that may go, and for segments that are old enough to be
    /// sealed. Default 10 s.
    pub gc_period: Duration,
    /// How long an iterator may hold segments back. Default 10 min.
    pub iterator_lease: Duration,
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What is measured.
    pub metrics: Arc<LittMetrics>,
}

impl StoreOptions {
    /// The defaults, on this machine's disk, with metrics of their own.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            roots: vec![root.into()],
            allow_network_fs: false,
            index_memory_bytes: 256 << 20,
            max_open_files: 256,
            background_threads: 1,
            gc_period: Duration::from_secs(10),
            iterator_lease: Duration::from_secs(600),
            disk: Arc::new(RealDisk),
            clock: Arc::new(SystemClock::default()),
            metrics: LittMetrics::new(&Registry::new()),
        }
    }

    /// The same for a store that is useless after its process ends: nothing is synced.
    pub fn transient(root: impl Into<PathBuf>) -> Self {
        Self { disk: Arc::new(TransientDisk), ..Self::new(root) }
    }
}

/// What a table's keys look like. Fixed when the table is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// Short keys, at most [`MAX_SEQUENCE_KEY_BYTES`], that mostly grow, as big-endian numbers do.
    /// A segment's index then covers a narrow range, and look-ups skip all others.
    Sequence,
    /// Any keys. They are indexed by a keyed hash of 96 bits.
    #[default]
    Hash,
}

/// How a table's values are stored. May change at each opening; each frame says how it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// As they are, because they are compressed already.
    PassThrough,
    /// zstd at a level of 1 to 19, frame by frame; a frame that does not get smaller is stored as
    /// it is.
    Zstd(i32),
    /// zstd with a dictionary that is trained on the first segments' values.
    ZstdDict(i32),
}

/// Name and settings of a table. `shards` and `keys` are fixed when it is made.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Name, and name of its folder: `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Independent rows of segments. Default 1; only then are the survivors of a crash a prefix of
    /// the write order, and only then are there positions.
    pub shards: u8,
    /// What the keys look like.
    pub keys: Keys,
    /// How values are stored.
    pub compression: Compression,
    /// Size at which a segment is sealed, in bytes. Default 256 MiB. A larger value has a segment
    /// of its own.
    pub segment_bytes: u64,
    /// Keys at which a segment is sealed. Default 65,536: their index is held in memory until then.
    pub segment_keys: u32,
    /// Age at which a segment that holds anything is sealed. Default none.
    pub segment_age: Option<Duration>,
    /// Records are kept at least this long after they were written, in time that passed while the
    /// store was open. Default none. A record with a number goes when that is below the floor and
    /// this has passed; one without a number goes when this has passed, and never where it is not
    /// set.
    pub ttl: Option<Duration>,
    /// Bytes that are gathered before they go to the operating system. Default 1 MiB.
    pub write_buffer_bytes: usize,
    /// Bound of the cache of recent puts, in bytes. Default 0: none.
    pub write_cache_bytes: usize,
    /// Bound of the cache of frames that were read, in bytes. Default 0: none.
    pub read_cache_bytes: usize,
}

impl TableOptions {
    /// A table with the defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            shards: 1,
            keys: Keys::Hash,
            compression: Compression::None,
            segment_bytes: 256 << 20,
            segment_keys: 65_536,
            segment_age: None,
            ttl: None,
            write_buffer_bytes: 1 << 20,
            write_cache_bytes: 0,
            read_cache_bytes: 0,
        }
    }
}
