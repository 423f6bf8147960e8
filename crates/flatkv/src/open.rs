//! Opening: the last sound WAL record whose table positions verify becomes the head, and everything
//! follows it.

use crate::{
    CommitmentKind, FlatKvError, Fsync, Head, JoinedTables, Options, TrieSession, TrieUpdate,
    codes::CodeCache,
    commit::{BATCH_BYTES_A_CHANGE, Block, put_block, put_lattice, put_trie},
    intent::{self, Intent},
    pruning::Pruning,
    shared::{Core, SpaceRule, Writer},
    snapshot::{self, SNAPSHOTS_DIR, Snapshots},
    trie::Kept,
    unflushed::Unflushed,
    unwind::{block_changes, undo},
};
use alloy_primitives::{B256, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use hearth_flatkv_storage::{
    batch::Batch,
    budget::Shares,
    commitment::Lattice,
    db::{Db, Family},
    error::corrupt,
    files::{exists, sync_names},
    manifest,
    measure::{BatchRows, Pairs},
    rows::{meta, read_head},
    wal::{
        Wal,
        record::{RecordBody, RecordHead},
        salvage::salvage,
        scan::{Found, WalScan},
    },
};
use hearth_metrics::FlatkvMetrics;
use hearth_primitives::{Height, RootTracker, StateError};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

/// Format version of the store that this version writes.
const FORMAT: u32 = 2;
/// Blocks replayed in one batch, for which the trie is brought up to date once.
const REPLAY_BLOCKS: usize = 4096;
/// Bytes of WAL replayed in one batch, but for a block that is larger.
const REPLAY_BYTES: u64 = 8 << 20;

/// Name of the lock file in the folder of the state store.
pub const LOCK_FILE: &str = "hearth.lock";
pub(crate) const ROCKS_DIR: &str = "db";

/// Whether there is neither database nor log, but tables that hold something: who takes the store
/// for a new one cuts them to nothing.
pub(crate) fn is_gone(options: &Options, tables: &dyn JoinedTables) -> Result<bool, FlatKvError> {
    let Options { disk, dir, wal_dir, .. } = options;
    let database = exists(&**disk, &dir.join(ROCKS_DIR).join(manifest::CURRENT))?;
    let begun = Intent::read(options)?.is_some();
    if database || begun || tables.positions().iter().all(|position| *position == 0) {
        return Ok(false);
    }
    Ok(!exists(&**disk, wal_dir)? || salvage(&**disk, wal_dir)?.is_empty())
}

/// Opens the store as [`FlatKv::open`](crate::FlatKv::open) says.
pub(crate) fn open(
    options: Options,
    tables: Arc<dyn JoinedTables>,
    metrics: &FlatkvMetrics,
) -> Result<Core, FlatKvError> {
    fs::create_dir_all(&options.dir).map_err(FlatKvError::io(&options.dir))?;
    options.disk.create_dir_all(&options.wal_dir).map_err(FlatKvError::io(&options.wal_dir))?;
    let lock = options.disk.lock(&options.dir.join(LOCK_FILE))?;
    if tables.are_its_own() && is_gone(&options, &*tables)? {
        return Err(FlatKvError::Gone { dir: options.dir });
    }
    if Intent::read(&options)? == Some(Intent::Import) {
        // While the intent still says why: without database and log, rows in the tables mean that a
        // store was lost.
        tables.truncate(&[])?;
        tables.sync()?;
    }
    intent::finish_files(&options)?;
    let db = Arc::new(open_database(&options)?);
    // RocksDB makes its folder and leaves the folder's own name to us: without it a power cut takes
    // all of the database.
    let lasts = options.fsync != Fsync::Never;
    if lasts {
        sync_names(&options.dir)?;
    }
    check_format(&db, options.commitment, lasts)?;

    // Written in the same flush as the rows of these records, after the WAL was synced.
    let flushed = db.number(meta::SYNCED)?.unwrap_or(0);
    let mut scan = WalScan::read(&options.disk, &options.wal_dir, flushed)?;
    let chosen = choose(&scan, &*tables, &options.wal_dir, flushed)?;
    scan.truncate(chosen)?;
    let positions = match scan.records.last() {
        Some(last) => last.head.positions.clone(),
        None => vec![0; tables.positions().len()],
    };
    tables.truncate(&positions)?;
    tables.sync()?;

    let shares = Shares::of_store(&options);
    let mut replay = Replay::new(db.clone(), options.commitment, shares, metrics)?;
    metrics.catchup.measure(|| replay.follow(&scan, None))?;
    let Replay { head, oldest, lattice, kept, unflushed, .. } = replay;
    // What RocksDB holds now is what the last record says, byte for byte of its hash.
    if let Some(last) = scan.records.last()
        && head != Some(last.head.head)
    {
        return Err(corrupt("WAL").into());
    }
    if let Some(head) = &head {
        check_commitment(&db, options.commitment, head, lattice.as_ref())?;
    }
    let pruned = db.number(meta::PRUNED)?.unwrap_or(oldest);
    let snapshots = snapshots(&options, &scan)?;
    let wal = Wal::resume(scan, options.segment_bytes)?;
    wal.sync()?;
    let writer = Writer {
        wal,
        lattice,
        unflushed,
        positions,
        failed: None,
        late: false,
        closed: false,
        read_only: false,
    };
    Ok(Core {
        kind: options.commitment,
        fsync: options.fsync,
        db,
        tables,
        writer: writer.into(),
        head: head.into(),
        oldest: AtomicU64::new(oldest),
        history_blocks: options.settings.state_history_blocks,
        pruning: Pruning::new(pruned),
        space: SpaceRule {
            disk: options.disk.clone(),
            dirs: vec![options.dir.clone(), options.wal_dir.clone()],
            min_free_bytes: options.settings.min_free_bytes,
        },
        staged: Default::default(),
        upcoming: AtomicU64::new(head.map_or(0, |head| head.height)),
        unwinds: AtomicU64::new(0),
        views: Default::default(),
        codes: CodeCache::new(shares.codes),
        kept,
        nodes_of: Default::default(),
        pasts: Default::default(),
        metrics: metrics.clone(),
        dirty: AtomicBool::new(false),
        deferred: AtomicBool::new(false),
        applier: Default::default(),
        _lock: Some(lock),
        snapshots,
        origin: options.origin,
    })
}

/// Opens RocksDB. If that fails, removes the torn tail of the MANIFEST and tries again.
fn open_database(options: &Options) -> Result<Db, FlatKvError> {
    let dir = options.dir.join(ROCKS_DIR);
    manifest::go_back_to_what_is_there(&*options.disk, &dir)?;
    match Db::open(&dir, options) {
        Err(_) if manifest::cut_torn_tail(&*options.disk, &dir)? => Ok(Db::open(&dir, options)?),
        opened => Ok(opened?),
    }
}

/// Removes snapshots that a crash left incomplete, and lists the others.
fn snapshots(options: &Options, scan: &WalScan) -> Result<Snapshots, FlatKvError> {
    let dir = options.dir.join(SNAPSHOTS_DIR);
    snapshot::remove_unfinished(&*options.disk, &dir)?;
    let kept = snapshot::list(&*options.disk, &dir)?;
    let newest = kept.last().map_or(0, |newest| newest.wal_sequence);
    let behind = scan.records.iter().rev().take_while(|found| found.number > newest);
    let wal_bytes = behind.map(Found::bytes).sum::<u64>() + scan.older_bytes(newest)?;
    Ok(Snapshots::new(options.clone(), kept, wal_bytes))
}

/// Writes format and commitment into a new home, on the disk at once where it lasts; compares them
/// in an old one.
fn check_format(db: &Db, kind: CommitmentKind, lasts: bool) -> Result<(), FlatKvError> {
    let Some(format) = db.get(Family::Metadata, meta::FORMAT)? else {
        if db.get(Family::Metadata, meta::HEAD)?.is_some() {
            return Err(corrupt("format").into());
        }
        let mut batch = db.batch()?;
        batch.put(Family::Metadata, meta::FORMAT, &FORMAT.to_be_bytes());
        batch.put(Family::Metadata, meta::COMMITMENT, kind.to_string().as_bytes());
        batch.write()?;
        return if lasts { Ok(db.flush(true)?) } else { Ok(()) };
    };
    let found = u32::from_be_bytes(format.as_ref().try_into().map_err(|_| corrupt("format"))?);
    if found > FORMAT {
        return Err(FlatKvError::NewerFormat { found, supported: FORMAT });
    }
    if found < FORMAT {
        migrate(db)?;
    }
    let home = db.get(Family::Metadata, meta::COMMITMENT)?.ok_or_else(|| corrupt("commitment"))?;
    let (home, asked) = (String::from_utf8_lossy(&home).into_owned(), kind.to_string());
    if home != asked {
        return Err(FlatKvError::Commitment { home, asked });
    }
    Ok(())
}

/// Makes format 2 of format 1, whose rows and records all read as they are: it had no rows in
/// `legacy` and pruned nothing.
fn migrate(db: &Db) -> Result<(), FlatKvError> {
    let mut batch = db.batch()?;
    if let Some(oldest) = db.number(meta::OLDEST)? {
        batch.put(Family::Metadata, meta::PRUNED, &oldest.to_be_bytes());
    }
    batch.put(Family::Metadata, meta::FORMAT, &FORMAT.to_be_bytes());
    batch.write()?;
    Ok(db.flush(true)?)
}

/// The last record whose table positions verify. Nothing that was synced may be given up for it,
/// and nothing at all where the tables cannot be read.
fn choose(
    scan: &WalScan,
    tables: &dyn JoinedTables,
    wal_dir: &Path,
    synced: u64,
) -> Result<Option<usize>, FlatKvError> {
    let mut chosen = None;
    for (index, found) in scan.records.iter().enumerate().rev() {
        if tables.verify(&found.head.positions)? {
            chosen = Some(index);
            break;
        }
    }
    let last = chosen.map_or(0, |index| scan.records[index].number);
    if last < synced {
        return Err(FlatKvError::WalTruncated { path: wal_dir.to_owned(), last, synced });
    }
    Ok(chosen)
}

fn check_commitment(
    db: &Db,
    kind: CommitmentKind,
    head: &Head,
    lattice: Option<&Lattice>,
) -> Result<(), FlatKvError> {
    let computed = match kind {
        CommitmentKind::None => B256::ZERO,
        CommitmentKind::LtHash => lattice.ok_or_else(|| corrupt("lattice"))?.checksum(),
        CommitmentKind::Mpt => db.get(Family::Trie, &[0])?.map_or(EMPTY_ROOT_HASH, |root| keccak256(&*root)),
    };
    if computed != head.commitment {
        let recorded = head.commitment;
        return Err(FlatKvError::BadCommitment { height: head.height, recorded, computed });
    }
    Ok(())
}

/// The canonical chain according to the WAL: blocks that were unwound are not in it.
struct CanonicalWal<'a> {
    /// The block below the first of `blocks`, where it is known.
    base: Option<(Height, B256)>,
    blocks: Vec<&'a Found>,
}

impl<'a> CanonicalWal<'a> {
    fn new(records: &'a [Found]) -> Result<Self, StateError> {
        let mut wal_blocks = Self { base: None, blocks: Vec::new() };
        for found in records {
            let head = &found.head.head;
            if !found.head.unwind {
                let follows = match wal_blocks.top() {
                    Some((height, hash)) => height + 1 == head.height && hash == found.head.parent,
                    None => true,
                };
                if !follows {
                    return Err(corrupt("WAL"));
                }
                if wal_blocks.top().is_none() && found.number > 1 {
                    wal_blocks.base = head.height.checked_sub(1).map(|below| (below, found.head.parent));
                }
                wal_blocks.blocks.push(found);
                continue;
            }
            while wal_blocks.blocks.last().is_some_and(|block| block.head.head.height > head.height) {
                wal_blocks.blocks.pop();
            }
            match wal_blocks.blocks.last() {
                Some(block) if block.head.head.hash != head.hash => return Err(corrupt("WAL")),
                Some(_) => {}
                None => wal_blocks.base = Some((head.height, head.hash)),
            }
        }
        Ok(wal_blocks)
    }

    fn top(&self) -> Option<(Height, B256)> {
        self.blocks.last().map(|block| (block.head.head.height, block.head.head.hash)).or(self.base)
    }

    /// Height of the oldest block that is known.
    fn bottom(&self) -> Height {
        let first = self.blocks.first().map(|block| block.head.head.height);
        self.base.map(|(height, _)| height).or(first).unwrap_or(0)
    }

    fn hash(&self, height: Height) -> Option<B256> {
        let first = self.blocks.first().map(|block| block.head.head.height);
        let block =
            first.and_then(|first| self.blocks.get(usize::try_from(height.checked_sub(first)?).ok()?));
        match (block, self.base) {
            (Some(block), _) => Some(block.head.head.hash),
            (None, Some((base, hash))) if base == height => Some(hash),
            _ => None,
        }
    }
}

/// Brings a database to a height of the chain in the WAL, as far as that can be.
pub(crate) fn replay_to(
    db: &Arc<Db>,
    options: &Options,
    metrics: &FlatkvMetrics,
    scan: &WalScan,
    to: Height,
) -> Result<(), FlatKvError> {
    let shares = Shares::of_store(options);
    Replay::new(db.clone(), options.commitment, shares, metrics)?.follow(scan, Some(to))
}

/// Brings RocksDB to the state of the WAL.
struct Replay<'a> {
    metrics: &'a FlatkvMetrics,
    db: Arc<Db>,
    kind: CommitmentKind,
    head: Option<Head>,
    oldest: Height,
    lattice: Option<Lattice>,
    /// The trie from one batch to the next.
    kept: Kept,
    unflushed: Unflushed,
}

impl<'m> Replay<'m> {
    fn new(
        db: Arc<Db>,
        kind: CommitmentKind,
        shares: Shares,
        metrics: &'m FlatkvMetrics,
    ) -> Result<Self, StateError> {
        let head = db.get(Family::Metadata, meta::HEAD)?.map(|row| read_head(&row)).transpose()?;
        let oldest = db.number(meta::OLDEST)?.unwrap_or(0);
        let lattice = (kind == CommitmentKind::LtHash).then(|| Lattice::open(&db)).transpose()?;
        let (kept, unflushed) = (Kept::new(shares.trie), Unflushed::new(shares));
        Ok(Self { metrics, db, kind, head, oldest, lattice, kept, unflushed })
    }

    /// Follows the WAL to its end, or to a height that the database then has.
    fn follow(&mut self, scan: &WalScan, to: Option<Height>) -> Result<(), FlatKvError> {
        let mut wal_blocks = CanonicalWal::new(&scan.records)?;
        if let Some(to) = to {
            wal_blocks
                .blocks
                .truncate(wal_blocks.blocks.partition_point(|block| block.head.head.height <= to));
        }
        if let Some((top, _)) = wal_blocks.top() {
            self.follow_wal(scan, &wal_blocks, top)?;
        }
        match (self.head, to) {
            (Some(head), Some(to)) if head.height > to && to >= self.oldest => self.unwind(head, to),
            (_, None) => self.raise_oldest(&scan.records),
            _ => Ok(()),
        }
    }

    /// Also blocks that were unwound have raised the oldest height, and it never falls; but for an
    /// operator's rollback to below it, through a snapshot, which no other unwind reaches.
    fn raise_oldest(&mut self, records: &[Found]) -> Result<(), FlatKvError> {
        let raised = records.iter().fold(0, |raised, found| match found.head.head.height < raised {
            true if found.head.unwind => found.head.oldest,
            _ => raised.max(found.head.oldest),
        });
        if raised <= self.oldest {
            return Ok(());
        }
        self.oldest = raised;
        let mut batch = self.db.batch()?;
        batch.put(Family::Metadata, meta::OLDEST, &raised.to_be_bytes());
        Ok(batch.write()?)
    }

    fn follow_wal(
        &mut self,
        scan: &WalScan,
        wal_blocks: &CanonicalWal<'_>,
        top: Height,
    ) -> Result<(), FlatKvError> {
        let above = match self.head {
            None if wal_blocks.base.is_none() => 0,
            None => return Err(FlatKvError::Diverged { store: 0, base: wal_blocks.bottom(), head: top }),
            Some(head) => {
                let shared = self.shared(wal_blocks, head, top)?;
                self.unwind(head, shared)?;
                shared + 1
            }
        };
        let first = wal_blocks.blocks.partition_point(|block| block.head.head.height < above);
        let mut left = &wal_blocks.blocks[first..];
        while !left.is_empty() {
            let done = self.replay(scan, left)?;
            left = &left[done..];
        }
        Ok(())
    }

    /// The highest block that RocksDB and WAL have both.
    fn shared(&self, wal_blocks: &CanonicalWal<'_>, head: Head, top: Height) -> Result<Height, FlatKvError> {
        for height in (wal_blocks.bottom().max(self.oldest)..=head.height.min(top)).rev() {
            if wal_blocks.hash(height) == Some(block_changes(&self.db, height)?.hash) {
                return Ok(height);
            }
        }
        Err(FlatKvError::Diverged { store: head.height, base: wal_blocks.bottom(), head: top })
    }

    fn unwind(&mut self, head: Head, to: Height) -> Result<(), FlatKvError> {
        if head.height == to {
            return Ok(());
        }
        let undone = undo(&self.db, self.kind, (&head, to), self.lattice.as_ref(), &self.kept, true)?;
        self.unflushed.add(0, undone.batch.bytes());
        undone.batch.write()?;
        self.head = Some(undone.head);
        self.lattice = undone.lattice;
        Ok(())
    }

    /// Replays the first of these blocks in one batch; returns how many.
    fn replay(&mut self, scan: &WalScan, blocks: &[&Found]) -> Result<usize, FlatKvError> {
        let blocks = read_ahead(scan, blocks)?;
        let Some((Found { head: RecordHead { head, .. }, .. }, _)) = blocks.last() else { return Ok(0) };
        let root = self.head.map_or(EMPTY_ROOT_HASH, |head| head.commitment);
        let mut lattice = self.lattice.take();
        let trie = (self.kind == CommitmentKind::Mpt).then(|| self.kept.session(&self.db, root));
        let (committed, encoded) =
            rayon::join(|| commit_to(&blocks, lattice.as_mut(), trie), || self.encode(&blocks));
        let (mut update, ReplayRows { mut batch, mut rows, oldest }) = (committed?, encoded?);
        put_trie(&mut batch, update.as_mut());
        put_lattice(&mut batch, lattice.as_ref(), None, &mut rows);
        let computed = match self.kind {
            CommitmentKind::Mpt => update.as_ref().map(|update| update.root()),
            CommitmentKind::LtHash => lattice.as_ref().map(Lattice::checksum),
            CommitmentKind::None => None,
        };
        if let Some(computed) = computed.filter(|computed| *computed != head.commitment) {
            let Head { height, commitment: recorded, .. } = *head;
            return Err(FlatKvError::BadCommitment { height, recorded, computed });
        }
        let batch_bytes = batch.bytes();
        rows.write(batch, self.metrics)?;
        for (found, body) in &blocks {
            Pairs::of(body.rows()).count(self.metrics);
            self.unflushed.add(found.bytes(), 0);
        }
        self.unflushed.fill(batch_bytes);
        if let Some(update) = &mut update {
            self.kept.keep(update);
        }
        (self.head, self.oldest, self.lattice) = (Some(*head), oldest, lattice);
        self.metrics.catchup_replay_num_blocks.add(blocks.len() as u64);
        Ok(blocks.len())
    }

    /// Puts the rows of blocks into a batch.
    fn encode(&self, blocks: &[(&Found, RecordBody)]) -> Result<ReplayRows<'_>, FlatKvError> {
        let bytes = blocks.iter().map(|(found, _)| found.bytes()).sum::<u64>() * BATCH_BYTES_A_CHANGE as u64;
        let mut batch = self.db.batch()?;
        if self.unflushed.has_room_for(bytes) {
            batch = batch.in_halves(bytes as usize);
        }
        let (mut rows, mut oldest) = (BatchRows::default(), self.oldest);
        for (found, body) in blocks {
            let applying = self.metrics.apply_changesets.timer();
            let (head, first) = (&found.head.head, found.number == 1);
            oldest = if first { head.height } else { oldest.max(found.head.oldest) };
            let block = Block { head, rows: body.rows(), index: &body.index, first, oldest };
            put_block(&mut batch, &block, &mut rows);
            applying.succeed();
        }
        Ok(ReplayRows { batch, rows, oldest })
    }
}

/// The rows of some blocks on their way into RocksDB, and the oldest height behind them.
struct ReplayRows<'a> {
    batch: Batch<'a>,
    rows: BatchRows,
    oldest: Height,
}

/// Reads the first of these blocks, as many as are replayed at once.
fn read_ahead<'a>(scan: &WalScan, blocks: &[&'a Found]) -> Result<Vec<(&'a Found, RecordBody)>, FlatKvError> {
    let (mut read, mut bytes) = (Vec::new(), 0);
    for found in blocks.iter().take(REPLAY_BLOCKS) {
        bytes += found.bytes();
        if bytes > REPLAY_BYTES && !read.is_empty() {
            break;
        }
        read.push((*found, scan.body(found)?));
    }
    Ok(read)
}

/// Brings a commitment up to date with blocks; the trie's nodes where there is one.
fn commit_to(
    blocks: &[(&Found, RecordBody)],
    lattice: Option<&mut Lattice>,
    trie: Option<TrieSession>,
) -> Result<Option<TrieUpdate>, FlatKvError> {
    if let Some(lattice) = lattice {
        blocks.iter().for_each(|(_, body)| lattice.update(body.rows()));
    }
    let Some(mut trie) = trie else { return Ok(None) };
    for (_, body) in blocks {
        trie.apply(&body.changes)?;
    }
    Ok(Some(trie.into_update()?))
}
