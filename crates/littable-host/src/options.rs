//! Options as scripts give them, and as littable takes them. What a script leaves out is littable's
//! default.

use super::ScriptError;
use hearth_home::WorkerConfig;
use hearth_littable::{Compression, Keys, StoreOptions, TableOptions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::Duration;

/// Threads of a store, where a script does not say.
const THREADS: usize = 4;
/// Calls that may wait for a thread, where a script does not say.
const QUEUE: usize = 4096;
/// Level of zstd, where a script does not say.
const ZSTD_LEVEL: i32 = 1;

/// Of a store.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptStoreOptions {
    roots: Vec<PathBuf>,
    /// Whether the store is opened for reading, beside a writer.
    #[serde(default)]
    pub(super) read_only: bool,
    allow_network_fs: Option<bool>,
    index_memory_bytes: Option<usize>,
    max_open_files: Option<usize>,
    background_threads: Option<usize>,
    gc_period_ms: Option<u64>,
    iterator_lease_ms: Option<u64>,
    threads: Option<usize>,
    queue: Option<usize>,
}

/// Of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptTableOptions {
    pub(super) name: String,
    shards: Option<u8>,
    keys: Option<ScriptKeys>,
    compression: Option<ScriptCompression>,
    compression_level: Option<i32>,
    segment_bytes: Option<u64>,
    segment_keys: Option<u32>,
    segment_age_ms: Option<u64>,
    ttl_ms: Option<u64>,
    write_buffer_bytes: Option<usize>,
    write_cache_bytes: Option<usize>,
    read_cache_bytes: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScriptKeys {
    Hash,
    Sequence,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScriptCompression {
    None,
    PassThrough,
    Zstd,
    ZstdDictionary,
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, ScriptError> {
    serde_json::from_str(text).map_err(|error| ScriptError::Options(error.to_string()))
}

impl ScriptStoreOptions {
    pub(super) fn store(&self) -> StoreOptions {
        let mut options = StoreOptions { roots: self.roots.clone(), ..StoreOptions::new("") };
        set(&mut options.allow_network_fs, self.allow_network_fs);
        set(&mut options.index_memory_bytes, self.index_memory_bytes);
        set(&mut options.max_open_files, self.max_open_files);
        set(&mut options.background_threads, self.background_threads);
        set(&mut options.gc_period, self.gc_period_ms.map(Duration::from_millis));
        set(&mut options.iterator_lease, self.iterator_lease_ms.map(Duration::from_millis));
        options
    }

    pub(super) fn workers(&self) -> WorkerConfig {
        WorkerConfig {
            threads: self.threads.unwrap_or(THREADS).max(1),
            queue: self.queue.unwrap_or(QUEUE).max(1),
        }
    }
}

impl ScriptTableOptions {
    /// The options over those that a table has which is there already.
    pub(super) fn over(&self, mut options: TableOptions) -> TableOptions {
        set(&mut options.shards, self.shards);
        set(&mut options.keys, self.keys.map(Keys::from));
        let level = self.compression_level.unwrap_or(ZSTD_LEVEL);
        set(&mut options.compression, self.compression.map(|compression| compression.at(level)));
        set(&mut options.segment_bytes, self.segment_bytes);
        set(&mut options.segment_keys, self.segment_keys);
        options.segment_age = self.segment_age_ms.map(Duration::from_millis);
        options.ttl = self.ttl_ms.map(Duration::from_millis);
        set(&mut options.write_buffer_bytes, self.write_buffer_bytes);
        set(&mut options.write_cache_bytes, self.write_cache_bytes);
        set(&mut options.read_cache_bytes, self.read_cache_bytes);
        options
    }
}

impl From<ScriptKeys> for Keys {
    fn from(keys: ScriptKeys) -> Self {
        match keys {
            ScriptKeys::Hash => Self::Hash,
            ScriptKeys::Sequence => Self::Sequence,
        }
    }
}

impl ScriptCompression {
    fn at(self, level: i32) -> Compression {
        match self {
            Self::None => Compression::None,
            Self::PassThrough => Compression::PassThrough,
            Self::Zstd => Compression::Zstd(level),
            Self::ZstdDictionary => Compression::ZstdDict(level),
        }
    }
}

fn set<T>(field: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *field = given;
    }
}
