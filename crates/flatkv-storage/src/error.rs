//! What can go wrong in the store, with the data that a caller needs to act on it.

use crate::{MAX_LEGACY_KEY_BYTES, MAX_LEGACY_VALUE_BYTES};
use alloy_primitives::{Address, B256, U256};
use hearth_disk::LockError;
use hearth_primitives::{Height, REPAIR, StateError};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A failure of the state store. Nothing was written unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum FlatKvError {
    /// A process has the home open, maybe this one; the error says which.
    #[error(transparent)]
    Locked(LockError),
    /// The home was made with another commitment.
    #[error("this data directory was made with commitment \"{home}\" and cannot be opened with \"{asked}\"")]
    Commitment {
        /// Commitment written in the home.
        home: String,
        /// The requested commitment.
        asked: String,
    },
    /// The home was written by a newer version.
    #[error(
        "the state store has format {found}; this version reads formats up to {supported}: use a newer hearth"
    )]
    NewerFormat {
        /// Format written in the home.
        found: u32,
        /// Newest format that this version reads.
        supported: u32,
    },
    /// The store is empty where a head is needed.
    #[error("the state store is empty: it needs a genesis or a recorded pre-state first")]
    Empty,
    /// `init` on a store that has a head already.
    #[error("the state store already has a head, at height {head}")]
    NotEmpty {
        /// Height of the head.
        head: Height,
    },
    /// A commit whose height does not follow the head.
    #[error("commit of height {got} does not follow the head: height {expected} comes next")]
    Height {
        /// Height that comes next.
        expected: Height,
        /// Height of the commit.
        got: Height,
    },
    /// A commit whose parent is not the head.
    #[error("commit of height {height} has parent {got}, but the head is {expected}")]
    Parent {
        /// Height of the commit.
        height: Height,
        /// Hash of the head.
        expected: B256,
        /// Parent that the commit names.
        got: B256,
    },
    /// A record about to be written, or just written, breaks the order that all records keep.
    /// Nothing is written after it.
    #[error(
        "the state store stops before it writes something wrong: the {what} of block {height} is {got}, expected {expected}; please report this"
    )]
    Invariant {
        /// What is wrong.
        what: &'static str,
        /// Height of the block.
        height: Height,
        /// Value that it must have, or the least that it may have.
        expected: u64,
        /// Value that it has.
        got: u64,
    },
    /// The state root is not the one that was expected.
    #[error("state root of height {height}: expected {expected}, got {got}")]
    StateRoot {
        /// Height of the commit.
        height: Height,
        /// Root that the header names.
        expected: B256,
        /// Root that the state has.
        got: B256,
    },
    /// A trie update that was not made on top of the head.
    #[error("the trie update was made on root {got}, but the head has root {expected}")]
    TrieBase {
        /// Root of the head.
        expected: B256,
        /// Root that the update starts from.
        got: B256,
    },
    /// An unwind to a height outside what the store has.
    #[error("cannot unwind to height {to}: the store has heights {oldest} to {newest}")]
    UnwindTarget {
        /// The requested height.
        to: Height,
        /// Oldest height with history.
        oldest: Height,
        /// Height of the head.
        newest: Height,
    },
    /// Accounts, slots or code of a changeset that are not in ascending order.
    #[error("the changeset is not in order: accounts and slots must ascend, each once, and code by its hash")]
    Unordered,
    /// A change whose old value differs from the value that an earlier change wrote.
    #[error("the change of {address}{} does not begin at the value that was applied before", .slot.map_or_else(String::new, |slot| format!(", slot {slot:#x},")))]
    Stale {
        /// The account.
        address: Address,
        /// Its slot; `None` where it is the account itself.
        slot: Option<U256>,
    },
    /// A row of the data DB `legacy` that cannot be kept.
    #[error(
        "a legacy row with a key of {key} bytes and a value of {value:?} bytes: keys have 1 to {MAX_LEGACY_KEY_BYTES} bytes, values 1 to {MAX_LEGACY_VALUE_BYTES}"
    )]
    LegacyRow {
        /// Length of the key.
        key: usize,
        /// Length of the value; `None` where the row is deleted.
        value: Option<usize>,
    },
    /// More applied than one log record holds.
    #[error("{bytes} bytes would be applied and not committed; at most {limit} are possible")]
    TooMuchApplied {
        /// Bytes that there would be.
        bytes: u64,
        /// Largest record in bytes.
        limit: u64,
    },
    /// The disk is nearly full. Nothing was committed; commits continue when there is space.
    #[error(
        "{path} has {free} bytes free, fewer than the {needed} of state-commit.flatkv.min_free_bytes: nothing is committed until there is space"
    )]
    DiskNearlyFull {
        /// Folder on that file system.
        path: PathBuf,
        /// Bytes free there.
        free: u64,
        /// Bytes that must be.
        needed: u64,
    },
    /// An iterator that was used for too long.
    #[error("the iterator is older than {after:?}; begin again at the key where it stopped")]
    IteratorExpired {
        /// How long it may be used.
        after: Duration,
    },
    /// One commit too large for a log record.
    #[error(
        "the commit of height {height} needs a log record of {bytes} bytes; at most {limit} are possible"
    )]
    RecordTooLarge {
        /// Height of the commit.
        height: Height,
        /// Bytes needed.
        bytes: u64,
        /// Largest record in bytes.
        limit: u64,
    },
    /// The changelog WAL is damaged where no crash could have damaged it.
    #[error("{}{}", bad_record(path, *offset, what), REPAIR)]
    WalDamaged {
        /// Segment file.
        path: PathBuf,
        /// Offset of the first bad byte in the segment.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// Records that were synced to disk are gone from the end of the WAL, or their table positions
    /// do not verify.
    #[error("{}{}", records_missing(path, *last, *synced), REPAIR)]
    WalTruncated {
        /// Folder of the WAL.
        path: PathBuf,
        /// Last record that is there and whose table positions verify; 0 without any.
        last: u64,
        /// Last record known to be synced.
        synced: u64,
    },
    /// RocksDB and the WAL have no common height: the stores do not belong together, or one is
    /// damaged.
    #[error("{}{}", no_common_block(*store, *base, *head), REPAIR)]
    Diverged {
        /// Height of RocksDB.
        store: Height,
        /// Oldest height that the WAL knows.
        base: Height,
        /// Newest height in the WAL.
        head: Height,
    },
    /// The commitment computed from the store is not the one that was recorded.
    #[error("{}{}", bad_commitment(*height, recorded, computed), REPAIR)]
    BadCommitment {
        /// Height of the head.
        height: Height,
        /// Commitment in the record.
        recorded: B256,
        /// Commitment computed.
        computed: B256,
    },
    /// An earlier failure of a write left the store and its log apart; opening again brings them
    /// together.
    #[error("the state store failed earlier and must be opened again: {cause}")]
    Failed {
        /// The earlier failure.
        cause: String,
    },
    /// A change of a store that is open for reading: a snapshot.
    #[error("the state store is open for reading only")]
    ReadOnly,
    /// A height that the store cannot be taken back to. Nothing was changed.
    #[error("the state store cannot be taken back to height {to}: {}", reachable(*oldest, *newest, snapshots))]
    Unreachable {
        /// The requested height.
        to: Height,
        /// Oldest height with history.
        oldest: Height,
        /// Height of the head.
        newest: Height,
        /// Oldest and newest height of each snapshot.
        snapshots: Vec<(Height, Height)>,
    },
    /// No snapshot has the requested height.
    #[error("{}", no_snapshot(dir, *asked, there))]
    NoSnapshot {
        /// Folder of the snapshots.
        dir: PathBuf,
        /// The requested height; any where absent.
        asked: Option<Height>,
        /// Oldest and newest height of each snapshot that is there.
        there: Vec<(Height, Height)>,
    },
    /// A small file of the store that does not read.
    #[error("{path}: {why}")]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Neither database nor log are there, but the tables joined to them hold something.
    #[error("{}{}", store_gone(dir), REPAIR)]
    Gone {
        /// Folder of the state.
        dir: PathBuf,
    },
    /// A repair that would lose blocks and has no permission to. Nothing was changed.
    #[error(
        "the log has a bad record before record {first}: records {first} to {last} cannot be used and blocks {from} to {to} would be lost; run `hearth db repair --yes` to give them up"
    )]
    WouldLose {
        /// First height that would be lost.
        from: Height,
        /// Last height that would be lost.
        to: Height,
        /// First record that is sound and cannot be used.
        first: u64,
        /// Last record.
        last: u64,
    },
    /// Nothing that is sound can make the store again. Nothing was changed.
    #[error("the state store cannot be repaired: {why}")]
    Unrepairable {
        /// What is missing.
        why: String,
    },
    /// A stream of a state that does not read. Nothing of it counts.
    #[error("the stream at byte {offset}: {what}")]
    BadStream {
        /// Offset in the stream, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The work was stopped by who watched it.
    #[error("stopped")]
    Cancelled,
    /// The store was closed.
    #[error("the state store is closed")]
    Closed,
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A read failed, a trie node is missing, or a joined table failed.
    #[error(transparent)]
    State(#[from] StateError),
}

impl FlatKvError {
    /// Whether something is damaged that a repair may make again.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::State(error) => error.is_damage(),
            Self::WalDamaged { .. }
            | Self::WalTruncated { .. }
            | Self::Diverged { .. }
            | Self::BadCommitment { .. }
            | Self::BadFile { .. }
            | Self::Gone { .. } => true,
            _ => false,
        }
    }

    /// The message without [`REPAIR`], for a caller that names the command with its arguments.
    pub fn finding(&self) -> String {
        match self {
            Self::State(error) => error.finding(),
            Self::WalDamaged { path, offset, what } => bad_record(path, *offset, what),
            Self::WalTruncated { path, last, synced } => records_missing(path, *last, *synced),
            Self::Diverged { store, base, head } => no_common_block(*store, *base, *head),
            Self::BadCommitment { height, recorded, computed } => bad_commitment(*height, recorded, computed),
            Self::Gone { dir } => store_gone(dir),
            other => other.to_string(),
        }
    }

    /// This error as that of a read of state; one that began as a [`StateError`] is that again.
    pub fn into_state(self) -> StateError {
        match self {
            Self::State(error) => error,
            other => StateError::failed("the state store", other),
        }
    }

    /// Wraps an I/O error with the path that it concerns.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl From<LockError> for FlatKvError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Io { path, source } => Self::Io { path, source },
            held @ LockError::Held { .. } => Self::Locked(held),
        }
    }
}

fn bad_record(path: &Path, offset: u64, what: &str) -> String {
    format!("{}: bad record at byte {offset} ({what})", path.display())
}

fn records_missing(path: &Path, last: u64, synced: u64) -> String {
    format!("the WAL in {} ends at record {last}, but record {synced} was synced", path.display())
}

fn no_common_block(store: Height, base: Height, head: Height) -> String {
    format!("the state store (height {store}) and its WAL (heights {base} to {head}) share no block")
}

fn bad_commitment(height: Height, recorded: &B256, computed: &B256) -> String {
    format!("commitment of height {height}: recorded {recorded}, computed {computed}")
}

fn store_gone(dir: &Path) -> String {
    format!("the state store in {} is gone, but not what its tables hold", dir.display())
}

fn heights(of: &[(Height, Height)]) -> String {
    let heights: Vec<_> = of.iter().map(|(oldest, newest)| format!("{oldest} to {newest}")).collect();
    heights.join(", ")
}

fn reachable(oldest: Height, newest: Height, snapshots: &[(Height, Height)]) -> String {
    match snapshots {
        [] => format!("it has heights {oldest} to {newest} and no snapshot below"),
        _ => format!("it has heights {oldest} to {newest}, its snapshots {}", heights(snapshots)),
    }
}

fn no_snapshot(dir: &Path, asked: Option<Height>, there: &[(Height, Height)]) -> String {
    let dir = dir.display();
    match (asked, there) {
        (_, []) => format!(
            "there is no snapshot in {dir}: a node takes one every snapshot_interval_blocks, `hearth db snapshot` at once"
        ),
        (Some(asked), _) => {
            format!("no snapshot has height {asked}: those in {dir} have heights {}", heights(there))
        }
        (None, _) => format!("no snapshot in {dir} can be used"),
    }
}

/// A failure of RocksDB as the error of a read.
pub fn rocks(error: rocksdb::Error) -> StateError {
    let damaged = error.kind() == rocksdb::ErrorKind::Corruption;
    StateError::Database { damaged, source: Arc::new(error) }
}

/// An error that RocksDB's C interface gives as a text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RocksText(String);

/// The same of such a text.
pub(crate) fn rocks_text(text: String) -> StateError {
    let damaged = text.starts_with("Corruption");
    StateError::Database { damaged, source: Arc::new(RocksText(text)) }
}

/// Bytes in the store that do not decode.
pub fn corrupt(what: &'static str) -> StateError {
    StateError::Damaged { what }
}
