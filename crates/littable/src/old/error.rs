//! What can go wrong in a table.

use std::path::{Path, PathBuf};

/// Errors of [`crate::old::Littable`] and [`crate::old::Table`].
#[derive(Debug, thiserror::Error)]
pub enum LittError {
    /// The file system failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Stored bytes fail their checksum or do not decode.
    #[error("table {table}: segment {segment} is damaged at byte {offset}: {what}")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Segment index.
        segment: u32,
        /// Byte offset in the segment file.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// The key is there with other bytes. Nothing was written.
    #[error("table {table}: key 0x{} is already written with other bytes", hex(key))]
    Conflict {
        /// Table.
        table: &'static str,
        /// The key.
        key: Vec<u8>,
    },
    /// A write or fsync failed earlier; the table serves reads until it is opened again.
    #[error("table {table} is read-only until it is opened again: {cause}")]
    ReadOnly {
        /// Table.
        table: &'static str,
        /// The failure that made it so.
        cause: String,
    },
    /// A key, value or group exceeds its limit.
    #[error("table {table}: {what} is {size}, the limit is {limit}")]
    TooLarge {
        /// Table.
        table: &'static str,
        /// What is too large, with its unit.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A secondary key names a range outside of the value.
    #[error("table {table}: range {start}..{end} lies outside of a value of {len} bytes")]
    BadRange {
        /// Table.
        table: &'static str,
        /// Start of the range in bytes.
        start: u32,
        /// End of the range in bytes.
        end: u32,
        /// Length of the value in bytes.
        len: usize,
    },
    /// No record ends at the position.
    #[error("table {table}: no record ends at position {position}")]
    NoSuchPosition {
        /// Table.
        table: &'static str,
        /// The position asked for, in bytes.
        position: u64,
    },
    /// The file was written by a newer version.
    #[error("{path}: format {found} is newer than this version's {known}", path = path.display())]
    NewerFormat {
        /// Segment file.
        path: PathBuf,
        /// Format version found.
        found: u16,
        /// Newest known format version.
        known: u16,
    },
    /// A table's name is not `[a-z0-9_]{1,64}`.
    #[error("{0:?} is no name for a table: 1 to 64 of a-z, 0-9 and _")]
    BadName(&'static str),
}

impl LittError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
