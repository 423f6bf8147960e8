//! What everything in the store shares: the database, the head, the writer. It knows the small
//! states that it holds, and none of the files that change them.

use crate::{
    CommitmentKind, FlatKvError, Fsync, Head, JoinedTables, codes::CodeCache, kept_pasts::KeptPasts,
    late_nodes::NodesOf, pruning::Pruning, snapshot::Snapshots, staging::Staged, trie::Kept,
    unflushed::Unflushed, views::Views,
};
use hearth_disk::{Disk, Lock, RealDisk};
use hearth_flatkv_storage::{commitment::Lattice, db::Db, gate, wal::Wal};
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::{RemoteState, StateError};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::{
    num::NonZeroU64,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    thread::JoinHandle,
};

/// What views, sessions and the syncer share.
pub(crate) struct Core {
    pub(crate) kind: CommitmentKind,
    pub(crate) fsync: Fsync,
    pub(crate) db: Arc<Db>,
    pub(crate) tables: Arc<dyn JoinedTables>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) head: RwLock<Option<Head>>,
    /// Oldest height that has state; only rises. A commit's record says it before any row goes for
    /// it.
    pub(crate) oldest: AtomicU64,
    /// Heights below the head that keep their state; 0: all.
    pub(crate) history_blocks: Option<NonZeroU64>,
    pub(crate) pruning: Pruning,
    pub(crate) space: SpaceRule,
    /// What is applied and not committed. Changes under the writer's lock.
    pub(crate) staged: RwLock<Staged>,
    /// Height of the head, and of the next one from before its batch is written. A row that is
    /// missing while this is the height of a view was not deleted after that height.
    pub(crate) upcoming: AtomicU64,
    /// Counts unwinds, between their batch and their change of `upcoming`.
    pub(crate) unwinds: AtomicU64,
    pub(crate) views: Mutex<Views>,
    pub(crate) codes: CodeCache,
    pub(crate) kept: Kept,
    /// The block whose nodes of the trie the store has, where that is not the head.
    pub(crate) nodes_of: Mutex<Option<NodesOf>>,
    /// Nodes of tries of earlier blocks.
    pub(crate) pasts: KeptPasts,
    pub(crate) metrics: FlatkvMetrics,
    /// Whether anything was appended that no sync reached yet.
    pub(crate) dirty: AtomicBool,
    /// Whether commits are synced together when their maker is done, and not each by itself.
    pub(crate) deferred: AtomicBool,
    /// Held while the store is open.
    pub(crate) _lock: Option<Lock>,
    pub(crate) snapshots: Snapshots,
    /// What lies beneath rows that were never written here.
    pub(crate) origin: Option<Arc<dyn RemoteState>>,
    /// The thread that writes the batch of the head, or wrote it.
    pub(crate) applier: Mutex<Option<JoinHandle<()>>>,
}

/// How much of the disk must stay free.
#[derive(Debug)]
pub(crate) struct SpaceRule {
    pub(crate) disk: Arc<dyn Disk>,
    /// Folders on the file systems in question.
    pub(crate) dirs: Vec<PathBuf>,
    /// Bytes.
    pub(crate) min_free_bytes: u64,
}

impl Default for SpaceRule {
    fn default() -> Self {
        Self { disk: Arc::new(RealDisk), dirs: Vec::new(), min_free_bytes: 0 }
    }
}

/// What only the writer touches.
pub(crate) struct Writer {
    pub(crate) wal: Wal,
    /// Kept for [`CommitmentKind::LtHash`].
    pub(crate) lattice: Option<Lattice>,
    pub(crate) unflushed: Unflushed,
    /// Table positions in the last record.
    pub(crate) positions: Vec<u64>,
    /// First failure that left WAL and RocksDB apart.
    pub(crate) failed: Option<String>,
    /// Whether the batch of the last commit was still on its way when the writer was locked last.
    /// That refuses what was to be done then, and nothing later.
    pub(crate) late: bool,
    pub(crate) closed: bool,
    /// Whether this is a snapshot, which is never written.
    pub(crate) read_only: bool,
}

impl Core {
    pub(crate) fn head(&self) -> Option<Head> {
        *self.head.read()
    }

    /// The writer, once no batch is on its way into RocksDB. A batch that failed is its failure.
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        // The next change meets the failure of the writer.
        let written = writer.fail(self.db.gate.is_written().map_err(FlatKvError::from));
        writer.late = written.is_ok_and(|written| !written);
        writer
    }

    /// Records the last committed height; 0 while the store is empty.
    pub(crate) fn report_version(&self) {
        self.metrics.current_version.set_unsigned(self.head().map_or(0, |head| head.height));
    }

    /// Why there is no trie under another commitment than [`CommitmentKind::Mpt`].
    pub(crate) fn no_trie(&self) -> StateError {
        // Where the state is elsewhere, so is what proves it.
        if let Err(elsewhere) = self.check_listing() {
            return elsewhere;
        }
        StateError::NoTrie {
            why: match self.kind {
                CommitmentKind::LtHash => {
                    "the genesis sets bft.commitment to lthash, a checksum of the state that proves no account"
                }
                CommitmentKind::Mpt | CommitmentKind::None => {
                    "this data directory has only a part of the state of its chain"
                }
            },
        }
    }

    /// Root of the head's trie; the empty trie's without a head.
    pub(crate) fn trie_root(&self) -> alloy_primitives::B256 {
        self.head().map_or(alloy_trie::EMPTY_ROOT_HASH, |head| head.commitment)
    }
}

impl Writer {
    /// Refuses changes once the store is closed or failed, or where the batch of the last commit
    /// takes too long.
    pub(crate) fn check(&self) -> Result<(), FlatKvError> {
        if self.read_only {
            return Err(FlatKvError::ReadOnly);
        }
        if self.closed {
            return Err(FlatKvError::Closed);
        }
        match &self.failed {
            Some(cause) => Err(FlatKvError::Failed { cause: cause.clone() }),
            None if self.late => Err(gate::late().into()),
            None => Ok(()),
        }
    }

    /// Remembers a failure after which WAL, tables and RocksDB may be apart until the store is
    /// opened again.
    pub(crate) fn fail<T>(&mut self, result: Result<T, FlatKvError>) -> Result<T, FlatKvError> {
        result.inspect_err(|error| {
            self.failed.get_or_insert_with(|| error.to_string());
        })
    }
}
