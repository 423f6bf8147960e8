//! Tasks of `hearth db`: inspection and repair of the stores of a home. One file per subject; each
//! task takes its part of the job's JSON and returns its own report as JSON.
//!
//! Tasks that only read work next to a running node. Those that change something take the locks of
//! the stores, so that they refuse while a node has the home open.

mod state;
mod tables;

use crate::jobs::{Job, JobControl, JobError};
use hearth_chain::operate::BackupOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub(crate) use state::snapshot_report;
pub use tables::TablesError;

/// What to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "task", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DbTask {
    /// Lists the tables of the ledger, or of a littable elsewhere.
    Ls {
        /// Folders of the littable; the home's ledger where there are none.
        #[serde(default)]
        roots: Vec<PathBuf>,
    },
    /// The contents of each table.
    TableInfo {
        /// As in `Ls`.
        #[serde(default)]
        roots: Vec<PathBuf>,
        /// The only table; all where absent.
        #[serde(default)]
        table: Option<String>,
    },
    /// Reads everything and checks every checksum.
    Scrub {
        /// As in `Ls`.
        #[serde(default)]
        roots: Vec<PathBuf>,
        /// The only table; all where absent.
        #[serde(default)]
        table: Option<String>,
    },
    /// Raises the floor of a table and removes the segments below it.
    Prune {
        /// As in `Ls`.
        #[serde(default)]
        roots: Vec<PathBuf>,
        /// The table.
        table: String,
        /// Lowest number (height) that is kept.
        floor: u64,
    },
    /// What the home's stores have: heights, snapshots, sizes.
    Info,
    /// Computes everything again that derives from the state, and compares the canonical index with
    /// the ledger.
    Verify,
    /// Sets what is damaged of state and log aside and makes it again.
    Repair {
        /// Whether blocks may be lost where nothing else helps.
        #[serde(default)]
        accept_loss: bool,
        /// Files of RLP blocks from which damaged blocks are taken.
        #[serde(default)]
        from: Vec<PathBuf>,
    },
    /// Writes damaged records of the ledger again; nothing else is looked at.
    RestoreBlocks {
        /// As in `Repair`.
        from: Vec<PathBuf>,
    },
    /// Takes the chain back to a height.
    Rollback {
        /// The height.
        to: u64,
        /// Makes the state from a snapshot even where history would do.
        #[serde(default)]
        from_snapshot: bool,
        /// Only says what would be done.
        #[serde(default)]
        dry_run: bool,
    },
    /// Takes a snapshot of the head.
    Snapshot,
    /// Writes the state of a height as a stream.
    ExportState {
        /// The height; the head where absent.
        #[serde(default)]
        height: Option<u64>,
        /// The file; replaced whole, at the end.
        file: PathBuf,
    },
    /// Makes a new home from a stream.
    ImportState {
        /// The file.
        file: PathBuf,
    },
    /// Writes the rows of a data DB as lines.
    Dump {
        /// Name of the data DB.
        db: String,
        /// The file; replaced whole, at the end.
        file: PathBuf,
    },
    /// Rebuilds the address index.
    Reindex,
    /// Makes the home one of this version's format.
    Migrate,
    /// Makes a copy of the home in a folder of its own.
    Backup {
        /// Folder of the backups.
        to: PathBuf,
        /// Whether every file is copied and none is a hard link.
        #[serde(default)]
        copy: bool,
        /// Newest backups that stay in the folder; all where absent.
        #[serde(default)]
        keep: Option<NonZeroUsize>,
    },
    /// Moves everything into some folders, and forgets the others.
    Rebase {
        /// As in `Ls`.
        #[serde(default)]
        roots: Vec<PathBuf>,
        /// Folders that stay or are new.
        to: Vec<PathBuf>,
        /// The only table to move; no folder is forgotten then.
        #[serde(default)]
        table: Option<String>,
    },
}

impl DbTask {
    /// Does the task on the home of a job.
    ///
    /// # Errors
    /// See [`JobError`].
    pub fn run(&self, job: &Job, control: &JobControl) -> Result<Value, JobError> {
        let stores = |roots| tables::Store::new(job, roots);
        let state = state::State::new(job, control);
        match self {
            Self::Ls { roots } => report(stores(roots).ls()?),
            Self::TableInfo { roots, table } => report(stores(roots).info(table.as_deref())?),
            Self::Scrub { roots, table } => report(stores(roots).scrub(table.as_deref(), control)?),
            Self::Rebase { roots, to, table } => {
                report(stores(roots).rebase(to, table.as_deref(), control)?)
            }
            Self::Info => state.info(),
            Self::Verify => state.verify(),
            Self::Repair { accept_loss, from } => state.repair(*accept_loss, from),
            Self::RestoreBlocks { from } => state.restore_blocks(from),
            Self::Rollback { to, from_snapshot, dry_run } => state.rollback(*to, *from_snapshot, *dry_run),
            Self::Snapshot => state.snapshot(),
            Self::ExportState { height, file } => state.export(*height, file),
            Self::ImportState { file } => state.import(file),
            Self::Dump { db, file } => state.dump(db, file),
            Self::Reindex => state.reindex(),
            Self::Migrate => state.migrate(),
            Self::Backup { to, copy, keep } => state.backup(to, BackupOptions { copy: *copy, keep: *keep }),
            Self::Prune { roots, table, floor } => report(stores(roots).prune(table, *floor)?),
        }
    }
}

fn report(report: impl Serialize) -> Result<Value, JobError> {
    Ok(serde_json::to_value(report)?)
}
