//! Tasks on littable tables: those of a home's ledger, or of a littable elsewhere.

use crate::jobs::{Job, JobControl, JobError, JobProgress};
use hearth_chain::{ChainError, HomePaths};
use hearth_ledger::LedgerError;
use hearth_littable::{LittError, Littable, RebaseReport, ScrubReport, StoreOptions, Table, TableInfo};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// What keeps a task from its tables.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// There is no littable.
    #[error("{} holds no tables: is it a home, or a folder of a littable?", root.display())]
    NoStore {
        /// Where it would be.
        root: PathBuf,
    },
    /// There is no such table.
    #[error("there is no table {table:?}; the tables are {}", known.join(", "))]
    NoTable {
        /// The requested table.
        table: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A floor above every record would remove them all.
    #[error(
        "table {table} has numbers up to {highest}: a floor of {floor} would remove everything; at most {highest} is allowed"
    )]
    FloorTooHigh {
        /// The table.
        table: String,
        /// The requested floor.
        floor: u64,
        /// Highest number of a record.
        highest: u64,
    },
    /// A home's ledger is always opened in its own folder too.
    #[error("{} must stay: a node opens the ledger there; name it with --to", ledger.display())]
    LedgerLeaves {
        /// The folder.
        ledger: PathBuf,
    },
    /// The table's records have no numbers, so that no floor applies to them.
    #[error("the records of table {table} have no numbers: they are not pruned by height")]
    NoNumbers {
        /// The table.
        table: String,
    },
}

/// A littable to work on.
pub(super) struct Store {
    roots: Vec<PathBuf>,
    /// The ledger's own folder, where the littable is that of a home.
    ledger: Option<PathBuf>,
    allow_network_fs: bool,
}

/// A name and what stands beside it in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    tables: Vec<ListedTable>,
    roots: Vec<PathBuf>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTable {
    name: String,
    keys: u64,
    bytes: u64,
}

/// [`TableInfo`] as it crosses.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info {
    name: String,
    shards: u8,
    segments: u64,
    open_segments: u64,
    key_indexes: u64,
    index_memory_bytes: u64,
    records: u64,
    keys: u64,
    value_bytes: u64,
    file_bytes: u64,
    floor: u64,
    lowest: Option<u64>,
    highest: Option<u64>,
}

/// What a scrub of one table found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scrubbed {
    table: String,
    segments: u64,
    records: u64,
    index_pages: u64,
    bytes: u64,
    damaged: u64,
    /// Damaged records that were written again elsewhere.
    replaced: u64,
    /// The first of the damaged places, each as a sentence with file and offset.
    damage: Vec<String>,
}

/// What pruning did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pruned {
    table: String,
    floor: u64,
    segments_removed: u32,
    bytes_before: u64,
    bytes_after: u64,
}

/// What a rebase did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rebased {
    roots: Vec<PathBuf>,
    files_moved: u64,
    bytes_moved: u64,
}

impl Store {
    pub fn new(job: &Job, roots: &[PathBuf]) -> Self {
        let ledger = roots.is_empty().then(|| HomePaths::new(&job.home).ledger());
        let extra: &[PathBuf] = if ledger.is_some() { &job.littable.extra_roots } else { roots };
        let roots = ledger.iter().chain(extra).cloned().collect();
        Self { roots, ledger, allow_network_fs: job.littable.allow_network_fs }
    }

    pub fn ls(&self) -> Result<Listed, JobError> {
        let store = self.read()?;
        let mut tables = Vec::new();
        for name in store.table_names().map_err(failed)? {
            let table = table(&store, &name)?;
            tables.push(ListedTable { name, keys: table.len(), bytes: table.size() });
        }
        Ok(Listed { tables, roots: self.roots.clone() })
    }

    pub fn info(&self, only: Option<&str>) -> Result<Vec<Info>, JobError> {
        let store = self.read()?;
        let tables = chosen(&store, only)?;
        tables.iter().map(|name| Ok(info(table(&store, name)?.info()))).collect()
    }

    pub fn scrub(&self, only: Option<&str>, control: &JobControl) -> Result<Vec<Scrubbed>, JobError> {
        let store = self.read()?;
        let mut tables = Vec::new();
        for name in chosen(&store, only)? {
            tables.push(table(&store, &name)?);
        }
        let total = tables.iter().map(|table| table.size()).sum();
        let (mut done, mut reports) = (0, Vec::new());
        for table in tables {
            let seen = &mut |report: &ScrubReport| {
                let done = done + report.bytes;
                control.report(JobProgress { done, total, ..JobProgress::default() });
                control.check().is_ok()
            };
            let report = table.scrub_with(seen).map_err(failed)?;
            control.check()?;
            done += table.size();
            reports.push(scrubbed(table.name(), &report));
        }
        Ok(reports)
    }

    pub fn prune(&self, name: &str, floor: u64) -> Result<Pruned, JobError> {
        known(&self.read()?, name)?;
        let store = Littable::open(self.options()).map_err(failed)?;
        let table = table(&store, name)?;
        let numbers = table.info().numbers;
        let (_, highest) = numbers.ok_or_else(|| TablesError::NoNumbers { table: name.to_owned() })?;
        if floor > highest {
            return Err(TablesError::FloorTooHigh { table: name.to_owned(), floor, highest }.into());
        }
        let bytes_before = table.size();
        table.set_floor(floor).map_err(failed)?;
        let segments_removed = table.collect().map_err(failed)?;
        let (floor, bytes_after) = (table.floor(), table.size());
        Ok(Pruned { table: name.to_owned(), floor, segments_removed, bytes_before, bytes_after })
    }

    pub fn rebase(
        &self,
        to: &[PathBuf],
        table: Option<&str>,
        control: &JobControl,
    ) -> Result<Rebased, JobError> {
        if let Some(ledger) = self.ledger.as_ref().filter(|ledger| !to.contains(ledger)) {
            return Err(TablesError::LedgerLeaves { ledger: ledger.clone() }.into());
        }
        let store = self.read()?;
        table.map_or(Ok(()), |table| known(&store, table))?;
        drop(store);
        let seen = &mut |report: &RebaseReport| {
            let (done, total) = (report.bytes, report.total);
            control.report(JobProgress { done, total, ..JobProgress::default() });
            control.check().is_ok()
        };
        let report = Littable::rebase(self.options(), to, table, seen).map_err(failed)?;
        control.check()?;
        let roots = if table.is_none() { to.to_vec() } else { self.roots.clone() };
        Ok(Rebased { roots, files_moved: report.files, bytes_moved: report.bytes })
    }

    fn options(&self) -> StoreOptions {
        let (roots, allow_network_fs) = (self.roots.clone(), self.allow_network_fs);
        StoreOptions { roots, allow_network_fs, ..StoreOptions::new("") }
    }

    fn read(&self) -> Result<Littable, JobError> {
        match Littable::open_read_only(self.options()) {
            Err(LittError::ForeignRoot { path, .. }) => Err(TablesError::NoStore { root: path }.into()),
            Err(LittError::Io { path, source }) if source.kind() == std::io::ErrorKind::NotFound => {
                Err(TablesError::NoStore { root: path }.into())
            }
            opened => opened.map_err(failed),
        }
    }
}

/// The tables that are meant, by name.
fn chosen(store: &Littable, only: Option<&str>) -> Result<Vec<String>, JobError> {
    match only {
        None => store.table_names().map_err(failed),
        Some(name) => known(store, name).map(|()| vec![name.to_owned()]),
    }
}

fn known(store: &Littable, table: &str) -> Result<(), JobError> {
    let known = store.table_names().map_err(failed)?;
    match known.iter().any(|name| name == table) {
        true => Ok(()),
        false => Err(TablesError::NoTable { table: table.to_owned(), known }.into()),
    }
}

fn table(store: &Littable, name: &str) -> Result<Arc<Table>, JobError> {
    store.options_of(name).and_then(|options| store.table(options)).map_err(failed)
}

fn failed(error: LittError) -> JobError {
    JobError::Chain(ChainError::Ledger(LedgerError::Table(error)))
}

fn info(info: TableInfo) -> Info {
    Info {
        name: info.name,
        shards: info.shards,
        segments: info.segments,
        open_segments: info.open_segments,
        key_indexes: info.runs,
        index_memory_bytes: info.index_memory_bytes,
        records: info.records,
        keys: info.keys,
        value_bytes: info.value_bytes,
        file_bytes: info.bytes,
        floor: info.floor,
        lowest: info.numbers.map(|(lowest, _)| lowest),
        highest: info.numbers.map(|(_, highest)| highest),
    }
}

fn scrubbed(table: &str, report: &ScrubReport) -> Scrubbed {
    Scrubbed {
        table: table.to_owned(),
        segments: report.segments,
        records: report.records,
        index_pages: report.index_pages,
        bytes: report.bytes,
        damaged: report.damaged,
        replaced: report.replaced,
        damage: report.damage.iter().map(ToString::to_string).collect(),
    }
}
