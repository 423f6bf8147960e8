//! Snapshots opened for reading: the state at every height that they retain, beside a node that
//! commits.

use crate::{
    FlatKv, FlatKvError, Fsync, NoTables, Options, Snapshot,
    codes::CodeCache,
    shared::{Core, Writer},
    snapshot::{self, SNAPSHOTS_DIR, Snapshots},
    trie::Kept,
    unflushed::Unflushed,
};
use hearth_flatkv_storage::{budget::Shares, db::Db, error::corrupt, wal::Wal};
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::Height;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

/// Times that a snapshot is chosen again where the node deleted the chosen one meanwhile.
const TRIES: usize = 3;

/// The snapshots of a home, oldest first, whether a node has it open or not.
///
/// # Errors
/// [`FlatKvError::Io`].
pub fn list_snapshots(options: &Options) -> Result<Vec<Snapshot>, FlatKvError> {
    snapshot::list(&*options.disk, &options.dir.join(SNAPSHOTS_DIR))
}

impl FlatKv {
    /// Opens the newest snapshot that has state at a height, or the newest of all, for reading.
    /// Takes no lock and changes nothing of the home; a node may have it open and delete the
    /// snapshot meanwhile.
    ///
    /// # Errors
    /// [`FlatKvError::NoSnapshot`] names the heights that there are.
    pub fn open_snapshot(options: Options, height: Option<Height>) -> Result<Arc<Self>, FlatKvError> {
        let mut tries = 0;
        loop {
            let snapshot = choose(&options, height)?;
            tries += 1;
            match Self::open_in(options.clone(), &snapshot) {
                Err(_) if tries < TRIES && !snapshot.dir.exists() => {}
                opened => return opened,
            }
        }
    }

    /// Opens one snapshot for reading, as [`Self::open_snapshot`] does.
    ///
    /// # Errors
    /// [`FlatKvError::BadFile`] where its database is not the one that it describes; what RocksDB
    /// says.
    pub fn open_in(options: Options, snapshot: &Snapshot) -> Result<Arc<Self>, FlatKvError> {
        let kind = snapshot.kind;
        let options = Options { commitment: kind, fsync: Fsync::None, ..options };
        let metrics = FlatkvMetrics::new(&options.metrics);
        let timer = metrics.open.of(true).timer();
        let db = Db::open_read_only(&snapshot.database(), &options)?;
        let core = core(db, &options, &snapshot.dir)?;
        if core.head() != Some(snapshot.head()) {
            let why = "its database has another head".to_owned();
            return Err(FlatKvError::BadFile { path: snapshot.dir.clone(), why });
        }
        timer.succeed();
        Ok(Arc::new(Self::without_threads(core)))
    }
}

fn choose(options: &Options, height: Option<Height>) -> Result<Snapshot, FlatKvError> {
    let mut there = list_snapshots(options)?;
    let has = |snapshot: &Snapshot, height| (snapshot.oldest..=snapshot.height).contains(&height);
    match there.iter().rposition(|snapshot| height.is_none_or(|height| has(snapshot, height))) {
        Some(index) => Ok(there.swap_remove(index)),
        None => Err(FlatKvError::NoSnapshot {
            dir: options.dir.join(SNAPSHOTS_DIR),
            asked: height,
            there: there.iter().map(|snapshot| (snapshot.oldest, snapshot.height)).collect(),
        }),
    }
}

/// A store over a database that is not written.
pub(crate) fn core(db: Db, options: &Options, dir: &Path) -> Result<Core, FlatKvError> {
    let stored = db.stored()?.ok_or_else(|| corrupt("head"))?;
    let shares = Shares::of_store(options);
    let writer = Writer {
        wal: Wal::closed(options.disk.clone(), dir),
        lattice: None,
        unflushed: Unflushed::new(shares),
        positions: stored.positions,
        failed: None,
        late: false,
        closed: false,
        read_only: true,
    };
    Ok(Core {
        kind: options.commitment,
        fsync: options.fsync,
        db: Arc::new(db),
        tables: Arc::new(NoTables),
        writer: writer.into(),
        head: Some(stored.head).into(),
        oldest: AtomicU64::new(stored.oldest),
        history_blocks: None,
        pruning: Default::default(),
        space: Default::default(),
        staged: Default::default(),
        upcoming: AtomicU64::new(stored.head.height),
        unwinds: AtomicU64::new(0),
        views: Default::default(),
        codes: CodeCache::new(shares.codes),
        kept: Kept::new(0),
        nodes_of: Default::default(),
        pasts: Default::default(),
        metrics: FlatkvMetrics::new(&options.metrics),
        dirty: AtomicBool::new(false),
        deferred: AtomicBool::new(false),
        applier: Default::default(),
        _lock: None,
        snapshots: Snapshots::none(options.clone()),
        origin: options.origin.clone(),
    })
}
