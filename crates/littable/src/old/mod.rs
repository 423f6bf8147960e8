//! Append-only segment store for bulk data: blocks, receipts, whatever is written once and read by key.
//!
//! A [`Littable`] is a folder with one folder a [`Table`]. A table is a row of segment files of bounded size;
//! a segment is a header and records; a record is one group (a primary key, secondary keys on sub-ranges of the
//! value) with checksums. The file format is in [`format`].
//!
//! What holds:
//! - A group is there whole or not at all: it is one record, and a record that was cut off is dropped at open.
//! - A key is written once. The same bytes again are fine, other bytes are [`LittError::Conflict`].
//! - No wrong bytes are ever returned: what fails its checksum is [`LittError::Corrupt`].
//! - After a failed write or fsync that cannot be taken back the table is read-only until it is opened again.
//! - Reads use `pread` on shared handles; no lock is held around input or output of readers.
//!
//! The key index lives in memory and is rebuilt at open from the record headers (values are skipped, not read).
//! That makes opening cost one small read a record; an index on disk comes when that is felt.

mod error;
pub mod format;
mod scan;
mod segment;
mod table;

pub use error::LittError;
pub use table::{Table, TableSpec};

use hearth_metrics::LittMetrics;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of tables.
#[derive(Debug)]
pub struct Littable {
    dir: PathBuf,
    tables: HashMap<&'static str, Arc<Table>>,
}

impl Littable {
    /// Opens the tables in `dir`, creating what is missing. Torn tails are cut off.
    ///
    /// # Errors
    /// [`LittError::Io`], [`LittError::NewerFormat`], [`LittError::BadName`], or [`LittError::Corrupt`] where the
    /// header of a segment is damaged. Damaged records do not keep a table from opening; see [`Table::get`].
    pub fn open(dir: &Path, specs: &[TableSpec], metrics: &LittMetrics) -> Result<Self, LittError> {
        let mut tables = HashMap::with_capacity(specs.len());
        for spec in specs {
            tables.insert(spec.name, Arc::new(Table::open(dir, spec, metrics)?));
        }
        segment::sync_dir(dir)?;
        Ok(Self { dir: dir.to_owned(), tables })
    }

    /// A table by name; `None` where it was not among the specs.
    pub fn table(&self, name: &str) -> Option<Arc<Table>> {
        self.tables.get(name).cloned()
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes everything durable that was put before the call.
    ///
    /// # Errors
    /// The first table's error; the others are flushed all the same.
    pub fn flush(&self) -> Result<(), LittError> {
        let mut result = Ok(());
        for table in self.tables.values() {
            let flushed = table.flush();
            if result.is_ok() {
                result = flushed;
            }
        }
        result
    }
}
