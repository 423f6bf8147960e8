//! Tasks of `hearth db`: looking at the stores of a home and mending them. One file a subject; each task takes what the
//! job's JSON says and gives a report of its own, which crosses as JSON.
//!
//! Tasks that only read work beside a running node. Those that change something take the locks of the stores, so that
//! they refuse while a node has the home.

mod tables;

use crate::jobs::{Job, JobControl, JobError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

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
    /// What there is of each table.
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
        match self {
            Self::Ls { roots } => report(stores(roots).ls()?),
            Self::TableInfo { roots, table } => report(stores(roots).info(table.as_deref())?),
            Self::Scrub { roots, table } => report(stores(roots).scrub(table.as_deref(), control)?),
            Self::Rebase { roots, to, table } => {
                report(stores(roots).rebase(to, table.as_deref(), control)?)
            }
            Self::Prune { roots, table, floor } => report(stores(roots).prune(table, *floor)?),
        }
    }
}

fn report(report: impl Serialize) -> Result<Value, JobError> {
    Ok(serde_json::to_value(report)?)
}
