//! What callers hand in and get back: options, commits, heads, the joined tables.

use crate::settings::StateSettings;
use alloy_primitives::B256;
use hearth_disk::{Disk, RealDisk, TransientDisk};
use hearth_metrics::Registry;
use hearth_primitives::{Changeset, Height, RemoteState, StateError};
use hearth_trie::TrieUpdate;
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// Default size at which a WAL segment is closed, in bytes.
pub const DEFAULT_SEGMENT_BYTES: u64 = 64 << 20;

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of RocksDB and the lock file (`<home>/data/state`); made where missing.
    pub dir: PathBuf,
    /// Folder of the changelog WAL (`<home>/data/wal`); made where missing.
    pub wal_dir: PathBuf,
    /// Commitment of a new home; must equal that of an old one.
    pub commitment: CommitmentKind,
    /// When WAL and joined tables are synced.
    pub fsync: Fsync,
    /// What users choose.
    pub settings: StateSettings,
    /// Size at which a WAL segment is closed, in bytes.
    pub segment_bytes: u64,
    /// Where the WAL's files are. RocksDB writes its own.
    pub disk: Arc<dyn Disk>,
    /// Where the store's metrics go.
    pub metrics: Registry,
    /// What lies beneath rows that were never written here, for a home that began as a fork.
    pub origin: Option<Arc<dyn RemoteState>>,
}

impl Options {
    /// Options with the default bounds.
    pub fn new(
        dir: impl Into<PathBuf>,
        wal_dir: impl Into<PathBuf>,
        commitment: CommitmentKind,
        fsync: Fsync,
    ) -> Self {
        Self {
            dir: dir.into(),
            wal_dir: wal_dir.into(),
            commitment,
            fsync,
            settings: StateSettings::default(),
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            disk: if fsync == Fsync::Never { Arc::new(TransientDisk) } else { Arc::new(RealDisk) },
            metrics: Registry::new(),
            origin: None,
        }
    }
}

/// What [`Head::commitment`] is. Fixed when the home is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitmentKind {
    /// The Merkle Patricia state root of the header.
    Mpt,
    /// The BLAKE3 checksum of a lattice hash over the latest rows.
    LtHash,
    /// No commitment; the root is zero. Used for partial states.
    None,
}

impl CommitmentKind {
    /// The commitment of a name that [`Display`](fmt::Display) gives.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Mpt, Self::LtHash, Self::None].into_iter().find(|kind| kind.to_string() == name)
    }
}

impl fmt::Display for CommitmentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mpt => "mpt",
            Self::LtHash => "lthash",
            Self::None => "none",
        })
    }
}

/// When WAL and joined tables reach the disk. In every mode but [`Fsync::Never`] a commit survives
/// the death of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before each commit is acknowledged.
    Block,
    /// In the background, this often.
    Interval(Duration),
    /// Only before RocksDB is flushed.
    None,
    /// Not at all, for a store that is useless after its process ends: the death of the process
    /// may lose all of it.
    Never,
}

/// The block whose state is the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Height of the block.
    pub height: Height,
    /// Hash of the block.
    pub hash: B256,
    /// Commitment to the state after the block; see [`CommitmentKind`].
    pub commitment: B256,
}

/// One row to write in the data DB `legacy` (`FlatKv::apply`) or in the canonical index
/// ([`Commit::index`]); both go with the state, and unwind reverts both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// Key of the row.
    pub key: Vec<u8>,
    /// Its new value; `None` deletes the row.
    pub value: Option<Vec<u8>>,
}

/// A row of the canonical index.
pub type IndexWrite = RowWrite;

/// Longest key of a row of the data DB `legacy`, in bytes.
pub const MAX_LEGACY_KEY_BYTES: usize = 4096;
/// Longest value of a row of the data DB `legacy`, in bytes.
pub const MAX_LEGACY_VALUE_BYTES: usize = 16 << 20;

/// One block's worth of change.
#[derive(Debug)]
pub struct Commit<'a> {
    /// Height of the block.
    pub height: Height,
    /// Hash of the block.
    pub hash: B256,
    /// Hash of its parent, which must be the head.
    pub parent: B256,
    /// What the block changed against its parent, or against what was applied on it; see
    /// `FlatKv::apply`.
    pub changes: &'a Changeset,
    /// The trie after the block, for [`CommitmentKind::Mpt`]; computed from `changes` where it is
    /// missing.
    pub trie: Option<TrieUpdate>,
    /// State root that the header names; checked under [`CommitmentKind::Mpt`].
    pub state_root: Option<B256>,
    /// Index rows to write.
    pub index: Vec<IndexWrite>,
    /// End positions of the joined tables after the block's rows were appended, in bytes.
    pub positions: Vec<u64>,
}

/// The append-only tables that are written before the WAL and truncated with it (blocks, receipts).
pub trait JoinedTables: Send + Sync {
    /// Whether a whole record ends at each position. Position 0 verifies always.
    ///
    /// # Errors
    /// Where a table cannot be read. Damage is no error: no whole record ends there.
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError>;

    /// Truncates the tables to these positions, in bytes. Missing entries count as 0.
    fn truncate(&self, positions: &[u64]) -> Result<(), StateError>;

    /// Syncs all appended data to the disk.
    fn sync(&self) -> Result<(), StateError>;

    /// End positions of the tables, in bytes.
    fn positions(&self) -> Vec<u64>;

    /// Whether the contents of the tables match this store. False while the store is rebuilt from
    /// the tables.
    #[doc(hidden)]
    fn are_its_own(&self) -> bool {
        true
    }
}

/// A store that no table is joined to.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTables;

impl JoinedTables for NoTables {
    fn verify(&self, _: &[u64]) -> Result<bool, StateError> {
        Ok(true)
    }

    fn truncate(&self, _: &[u64]) -> Result<(), StateError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StateError> {
        Ok(())
    }

    fn positions(&self) -> Vec<u64> {
        Vec::new()
    }
}
