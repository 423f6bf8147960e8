//! What can go wrong in a store or a table.

use hearth_disk::LockError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Errors of [`crate::Littable`] and [`crate::Table`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum LittError {
    /// The file system failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Stored bytes fail their checksum, do not decode or are missing.
    #[error("{path} is damaged at byte {offset}: {what}", path = path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte offset in the file.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The key is there with other bytes. Nothing was written.
    #[error("table {table}: key 0x{} is already written with other bytes", hex(key))]
    Conflict {
        /// Table.
        table: Arc<str>,
        /// The key.
        key: Vec<u8>,
    },
    /// The record's number lies below the table's floor: it is gone, or about to go.
    #[error("table {table}: pruned below {floor}")]
    Pruned {
        /// Table.
        table: Arc<str>,
        /// Lowest number that is kept.
        floor: u64,
    },
    /// A write that cannot be taken back or a sync failed earlier; the table serves reads until it
    /// is opened again.
    #[error("table {table} is read-only until it is opened again: {cause}")]
    ReadOnly {
        /// Table.
        table: Arc<str>,
        /// The failure that made it so, or that the store was opened for reading.
        cause: Arc<str>,
    },
    /// A key, value or group exceeds its limit.
    #[error("table {table}: {what} is {size}, the limit is {limit}")]
    TooLarge {
        /// Table.
        table: Arc<str>,
        /// What is too large, with its unit.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A range lies outside of the value.
    #[error("table {table}: range {start}..{end} lies outside of a value of {len} bytes")]
    BadRange {
        /// Table.
        table: Arc<str>,
        /// Start of the range in bytes.
        start: u32,
        /// End of the range in bytes.
        end: u32,
        /// Length of the value in bytes.
        len: u64,
    },
    /// No record ends at the position.
    #[error("table {table}: no record ends at position {position}")]
    NoSuchPosition {
        /// Table.
        table: Arc<str>,
        /// The requested position, in bytes.
        position: u64,
    },
    /// Positions exist in tables of one shard only.
    #[error("table {table} has {shards} shards; positions need exactly one")]
    Sharded {
        /// Table.
        table: Arc<str>,
        /// Its shards.
        shards: u8,
    },
    /// The iterator was held longer than its lease, and what it held may be gone.
    #[error("table {table}: the iterator's lease of {seconds} s has ended")]
    LeaseExpired {
        /// Table.
        table: Arc<str>,
        /// Length of the lease.
        seconds: u64,
    },
    /// The file was written by a newer version.
    #[error("{path}: format {found} is newer than this version's {known}", path = path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Format version found.
        found: u16,
        /// Newest known format version.
        known: u16,
    },
    /// A table's name is not `[A-Za-z0-9_-]{1,64}`.
    #[error("{0:?} is no name for a table: 1 to 64 of letters, digits, _ and -")]
    BadName(String),
    /// A setting has a value that it must not have, or one that differs from what the table was
    /// made with.
    #[error("{setting}: {why}")]
    BadSetting {
        /// Name of the setting.
        setting: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A root that belongs to the store is not among those given: a volume is not mounted, or a
    /// path is wrong.
    #[error("root {id} of the store is missing; it was at {path} last", path = path.display())]
    RootMissing {
        /// Identity of the root.
        id: String,
        /// Where it was when the store was opened last.
        path: PathBuf,
    },
    /// A folder is no root of this store.
    #[error("{path}: {why}", path = path.display())]
    ForeignRoot {
        /// The folder.
        path: PathBuf,
        /// Why it is none.
        why: &'static str,
    },
    /// A root lies on a file system of another machine, and the options do not say that this is
    /// meant.
    #[error("{path} lies on {kind}; set allow_network_fs if this is meant", path = path.display())]
    NetworkFs {
        /// The root.
        path: PathBuf,
        /// Kind of file system.
        kind: &'static str,
    },
    /// Another process has the store open for writing.
    #[error(transparent)]
    Locked(Arc<LockError>),
    /// There is no such table, or it was dropped.
    #[error("table {0} does not exist")]
    NoSuchTable(String),
    /// The table is open in this store already.
    #[error("table {0} is open already")]
    AlreadyOpen(String),
}

impl LittError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(path: &Path, offset: u64, what: &'static str) -> Self {
        Self::Corrupt { path: path.to_owned(), offset, what }
    }

    /// The lock that another process has, where that is the error.
    pub fn held(&self) -> Option<&LockError> {
        match self {
            Self::Locked(error) if matches!(**error, LockError::Held { .. }) => Some(error),
            _ => None,
        }
    }

    /// Whether the disk was full.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Whether a file was not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
