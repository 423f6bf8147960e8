//! Imports a stream into an empty store. Until the whole stream is verified, an intent file marks
//! the import as incomplete; opening a store with that intent deletes the imported rows.

use super::{
    Attachment, MAX_ATTACHMENTS, StreamCounts, StreamHead, Trailer, TransferProgress, WatchTransfer, bad,
    frame::{FrameReader, Kind},
};
use crate::{
    Commit, CommitmentKind, FlatKv, FlatKvError, Head, IndexWrite, JoinedTables, Options, Snapshot,
    commit::{put_trie, set_account, set_legacy, set_slot},
    intent::Intent,
};
use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use hearth_flatkv_storage::{
    batch::Batch,
    codec::{Reader, RowChange},
    commitment::Lattice,
    db::Family,
    rows::{BlockRows, account_history, at_height, legacy_history, read_account, read_slot, slot_history},
};
use hearth_metrics::{DataDb, FlatkvMetrics};
use hearth_primitives::{Account, AccountChange, Changeset, RootTracker, SlotChange, StateError};
use hearth_trie::TrieUpdate;
use std::{collections::HashSet, io::Read, sync::Arc, time::Instant};

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The head of the store now.
    pub head: Head,
    /// Rows of the stream.
    pub counts: StreamCounts,
    /// Bytes of the stream.
    pub bytes: u64,
    /// A snapshot of the state, for the WAL alone does not have it.
    pub snapshot: Snapshot,
}

/// A stream whose beginning was read.
pub struct ImportSource<'a> {
    frames: FrameReader<'a>,
    head: StreamHead,
    attachments: Vec<Attachment>,
    /// The first frame that is no attachment.
    next: Option<(Kind, Vec<u8>, B256)>,
}

impl<'a> ImportSource<'a> {
    /// Reads what the stream is of, and its attachments.
    ///
    /// # Errors
    /// [`FlatKvError::BadStream`] with the offset.
    pub fn open(input: &'a mut dyn Read) -> Result<Self, FlatKvError> {
        let mut frames = FrameReader::new(input)?;
        let (Kind::Head, head, _) = frames.frame()? else {
            return Err(bad(0, "it does not begin with its head"));
        };
        let head = StreamHead::from_bytes(&head)?;
        let mut attachments = Vec::new();
        loop {
            let offset = frames.offset;
            let next = frames.frame()?;
            if next.0 != Kind::Attachment {
                return Ok(Self { frames, head, attachments, next: Some(next) });
            }
            if attachments.len() == MAX_ATTACHMENTS {
                return Err(bad(offset, format!("more than {MAX_ATTACHMENTS} attachments")));
            }
            let mut reader = Reader::new(&next.1, "stream");
            let name = String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| bad(offset, "a name"))?;
            attachments.push((name, reader.rest().to_vec()));
        }
    }

    /// What the stream is of.
    pub fn head(&self) -> &StreamHead {
        &self.head
    }

    /// An attachment's bytes.
    pub fn attachment(&self, name: &str) -> Option<&[u8]> {
        self.attachments.iter().find(|(found, _)| found == name).map(|(_, bytes)| bytes.as_slice())
    }

    fn frame(&mut self) -> Result<(Kind, Vec<u8>, B256), FlatKvError> {
        match self.next.take() {
            Some(next) => Ok(next),
            None => self.frames.frame(),
        }
    }
}

/// What makes the imported block canonical: its index rows, and the end of the tables with it.
pub type Anchor = (Vec<IndexWrite>, Vec<u64>);

impl FlatKv {
    /// Reads a stream into a store that is empty. When everything was checked and before anything
    /// counts, `anchor` writes to the tables. A snapshot is taken at the end.
    ///
    /// # Errors
    /// [`FlatKvError::NotEmpty`]; [`FlatKvError::BadStream`]; [`FlatKvError::BadCommitment`] where
    /// the rows are not those that the head commits to; [`FlatKvError::Cancelled`]; the caller's.
    /// After an error the store is as empty as before once it is opened again.
    pub fn import<E: From<FlatKvError>>(
        options: &Options,
        tables: Arc<dyn JoinedTables>,
        source: ImportSource<'_>,
        anchor: impl FnOnce(&Arc<FlatKv>) -> Result<Anchor, E>,
        watch: WatchTransfer<'_>,
    ) -> Result<(Arc<FlatKv>, Imported), E> {
        let metrics = FlatkvMetrics::new(&options.metrics);
        metrics.import.measure(|| Self::import_unmeasured(options, tables, source, anchor, watch))
    }

    fn import_unmeasured<E: From<FlatKvError>>(
        options: &Options,
        tables: Arc<dyn JoinedTables>,
        mut source: ImportSource<'_>,
        anchor: impl FnOnce(&Arc<FlatKv>) -> Result<Anchor, E>,
        watch: WatchTransfer<'_>,
    ) -> Result<(Arc<FlatKv>, Imported), E> {
        let options = Options { commitment: source.head.kind, ..options.clone() };
        let kv = FlatKv::open(options.clone(), tables)?;
        if let Some(head) = kv.head() {
            return Err(FlatKvError::NotEmpty { head: head.height }.into());
        }
        Intent::Import.write(&options)?;
        let trailer = Import::new(&kv, source.head).run(&mut source, watch)?;
        let (index, positions) = anchor(&kv)?;
        let StreamHead { head, parent, kind } = source.head;
        let mpt = kind == CommitmentKind::Mpt;
        kv.init(Commit {
            height: head.height,
            hash: head.hash,
            parent,
            changes: &Changeset::default(),
            trie: mpt.then(|| TrieUpdate::stored(head.commitment)),
            state_root: mpt.then_some(head.commitment),
            index,
            positions,
        })?;
        Intent::clear(&options)?;
        let snapshot = kv.snapshot()?;
        Ok((kv, Imported { head, counts: trailer.counts, bytes: source.frames.offset, snapshot }))
    }
}

/// Rows on their way into the store.
struct Import<'a> {
    kv: &'a Arc<FlatKv>,
    head: StreamHead,
    root: B256,
    lattice: Lattice,
    counts: StreamCounts,
    /// Family and key of the last row.
    last: (u8, Vec<u8>),
    /// Code of the chunk at hand.
    codes: HashSet<B256>,
    /// The account whose slots may come next.
    account: Option<(Address, Account)>,
}

/// A row of a chunk.
struct ChunkRow<'a> {
    family: u8,
    key: &'a [u8],
    stamp: u64,
    value: &'a [u8],
}

impl<'a> Import<'a> {
    fn new(kv: &'a Arc<FlatKv>, head: StreamHead) -> Self {
        let (lattice, counts) = (Lattice::default(), StreamCounts::default());
        let last = (0, Vec::new());
        Self { kv, head, root: EMPTY_ROOT_HASH, lattice, counts, last, codes: HashSet::new(), account: None }
    }

    fn run(
        mut self,
        source: &mut ImportSource<'_>,
        watch: WatchTransfer<'_>,
    ) -> Result<Trailer, FlatKvError> {
        loop {
            let offset = source.frames.offset;
            let (kind, bytes, before) = source.frame()?;
            match kind {
                Kind::Rows => self.chunk(&bytes).map_err(|error| at(offset, error))?,
                Kind::Trailer => {
                    let trailer = Trailer::from_bytes(&bytes)?;
                    if trailer.digest != before || trailer.counts != self.counts {
                        return Err(bad(offset, "the trailer is of another stream"));
                    }
                    source.frames.end()?;
                    self.check(trailer)?;
                    return Ok(trailer);
                }
                Kind::Head | Kind::Attachment => return Err(bad(offset, "a frame out of order")),
            }
            let StreamCounts { accounts, slots, legacy, .. } = self.counts;
            let rows = accounts + slots + legacy;
            if !watch(TransferProgress { rows, bytes: source.frames.offset, total_rows: 0 }) {
                return Err(FlatKvError::Cancelled);
            }
        }
    }

    /// The rows must be those that the head commits to.
    fn check(self, trailer: Trailer) -> Result<(), FlatKvError> {
        let recorded = self.head.head.commitment;
        let computed = match self.head.kind {
            CommitmentKind::Mpt => self.root,
            CommitmentKind::LtHash => self.lattice.checksum(),
            CommitmentKind::None => recorded,
        };
        if computed != recorded || trailer.commitment != recorded {
            return Err(FlatKvError::BadCommitment { height: self.head.head.height, recorded, computed });
        }
        if self.head.kind == CommitmentKind::LtHash {
            self.kv.core.lock_writer().lattice = Some(self.lattice);
        }
        Ok(())
    }

    /// Writes one chunk's rows, latest and history, and the trie nodes that they make.
    fn chunk(&mut self, bytes: &[u8]) -> Result<(), FlatKvError> {
        let db = self.kv.core.db.clone();
        self.codes.clear();
        let before = self.counts;
        let mut batch = db.batch()?;
        let (mut changes, mut legacy) = (Changeset::default(), Vec::new());
        let mut reader = Reader::new(bytes, "stream");
        while !reader.is_at_end() {
            let row = ChunkRow {
                family: reader.byte()?,
                key: reader.bytes()?,
                stamp: reader.uvarint()?,
                value: reader.bytes()?,
            };
            self.order(&row)?;
            self.row(&mut batch, &row, &mut changes, &mut legacy)?;
        }
        let rows = BlockRows { changes: &changes, legacy: &legacy };
        match self.head.kind {
            CommitmentKind::None => {}
            CommitmentKind::LtHash => self.lattice.update(rows),
            CommitmentKind::Mpt => {
                let core = &self.kv.core;
                let mut trie = core.kept.session(&db, self.root);
                trie.apply(&changes)?;
                let mut update = trie.into_update()?;
                put_trie(&mut batch, Some(&mut update));
                self.root = update.root();
                core.kept.keep(&mut update);
            }
        }
        self.write(batch, before)
    }

    /// Writes a chunk's batch; records for each data DB how many rows it has and how long that
    /// took.
    fn write(&self, batch: Batch<'_>, before: StreamCounts) -> Result<(), FlatKvError> {
        let metrics = &self.kv.core.metrics;
        let started = Instant::now();
        let written = batch.write();
        let took = started.elapsed();
        let now = self.counts;
        for (db, rows) in [
            (DataDb::Account, now.accounts - before.accounts),
            (DataDb::Code, now.codes - before.codes),
            (DataDb::Storage, now.slots - before.slots),
            (DataDb::Legacy, now.legacy - before.legacy),
        ] {
            if rows > 0 {
                metrics.import_worker_flush[db].record_duration(written.is_ok(), took);
                metrics.import_kv_pairs[db].add(if written.is_ok() { rows } else { 0 });
            }
        }
        Ok(written?)
    }

    /// Rows come in one order, each once; only code may come again.
    fn order(&mut self, row: &ChunkRow<'_>) -> Result<(), FlatKvError> {
        let group = |family: u8| match family {
            code if code == Family::Code as u8 => 0,
            legacy if legacy == Family::Legacy as u8 => 2,
            _ => 1,
        };
        let sound = match group(row.family).cmp(&group(self.last.0)) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => self.last.1.is_empty(),
            std::cmp::Ordering::Equal if group(row.family) == 0 => true,
            std::cmp::Ordering::Equal => self.last.1.as_slice() < row.key,
        };
        if !sound || row.stamp > self.head.head.height {
            return Err(bad(0, "rows out of order, or of a later height"));
        }
        self.last = (row.family, row.key.to_vec());
        Ok(())
    }

    fn row(
        &mut self,
        batch: &mut Batch<'_>,
        row: &ChunkRow<'_>,
        changes: &mut Changeset,
        legacy: &mut Vec<RowChange>,
    ) -> Result<(), FlatKvError> {
        let ChunkRow { family, key, stamp, value } = *row;
        let wrong = |what: &str| bad(0, what);
        match family {
            code if code == Family::Code as u8 => {
                if keccak256(value).as_slice() != key {
                    return Err(wrong("code under another hash"));
                }
                self.counts.codes += 1;
                self.codes.insert(B256::from_slice(key));
                batch.put(Family::Code, key, value);
            }
            account if account == Family::Account as u8 => {
                let address = Address::try_from(key).map_err(|_| wrong("an address"))?;
                let account = read_account(value)?;
                self.need_code(&account)?;
                self.counts.accounts += 1;
                set_account(batch, &address, stamp, Some(&account));
                batch.put(Family::History, &at_height(account_history(&address), stamp), value);
                self.account = Some((address, account));
                changes.accounts.push(AccountChange {
                    address,
                    old: None,
                    new: Some(account),
                    wiped: false,
                    storage: Vec::new(),
                });
            }
            slot if slot == Family::Storage as u8 => {
                let (address, slot) = key.split_at_checked(20).ok_or_else(|| wrong("a slot"))?;
                let address = Address::from_slice(address);
                let slot = U256::try_from_be_slice(slot).ok_or_else(|| wrong("a slot"))?;
                let new = read_slot(value)?;
                let account = self.account.filter(|(owner, _)| *owner == address);
                let Some((_, account)) = account.filter(|_| key.len() == 52 && !new.is_zero()) else {
                    return Err(wrong("a slot that is zero or of no account"));
                };
                self.counts.slots += 1;
                set_slot(batch, &address, &slot, stamp, &new);
                batch.put(Family::History, &at_height(slot_history(&address, &slot), stamp), value);
                if changes.accounts.last().is_none_or(|last| last.address != address) {
                    // Its account came in an earlier chunk.
                    let (old, new) = (Some(account), Some(account));
                    let storage = Vec::new();
                    changes.accounts.push(AccountChange { address, old, new, wiped: false, storage });
                }
                if let Some(last) = changes.accounts.last_mut() {
                    last.storage.push(SlotChange { slot, old: U256::ZERO, new });
                }
            }
            other if other == Family::Legacy as u8 => {
                self.counts.legacy += 1;
                set_legacy(batch, key, stamp, Some(value));
                batch.put(Family::History, &at_height(legacy_history(key), stamp), value);
                let write = IndexWrite { key: key.to_vec(), value: Some(value.to_vec()) };
                legacy.push(RowChange { write, old: None });
            }
            _ => return Err(wrong("a row of an unknown family")),
        }
        Ok(())
    }

    fn need_code(&self, account: &Account) -> Result<(), FlatKvError> {
        let hash = account.code_hash;
        let there = !account.has_code()
            || self.codes.contains(&hash)
            || self.kv.core.db.get(Family::Code, hash.as_slice())?.is_some();
        if there { Ok(()) } else { Err(StateError::MissingCode(hash).into()) }
    }
}

/// Gives what is wrong in a chunk the chunk's place.
fn at(offset: u64, error: FlatKvError) -> FlatKvError {
    match error {
        FlatKvError::BadStream { what, .. } => bad(offset, what),
        FlatKvError::State(error @ StateError::Damaged { .. }) => bad(offset, error.to_string()),
        other => other,
    }
}
