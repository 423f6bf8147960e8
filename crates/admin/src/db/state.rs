//! Tasks on the state of a home: contents, verify, repair, rollback, snapshots, a height as a
//! stream, dumps, backups.

use crate::inbox::{self, Client, InboxCommand};
use crate::jobs::{Job, JobControl, JobError, JobProgress};
use hearth_chain::operate::{self, BlockRecord, LedgerRepair, LedgerReport, Reading, Repaired};
use hearth_chain::{Chain, ChainError, HOME_FORMAT, home_format};
use hearth_flatkv::{
    DataDb, Exported, FlatKvError, Head, Imported, RepairAction, RowRange, Snapshot, StreamCounts,
    TransferProgress, VerifyProgress, VerifyReport,
};
use hearth_ledger::LedgerError;
use hearth_ledger::posting_index::{IndexProgress, RebuiltIndex};
use hearth_primitives::Height;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Buffer of a stream's file, in bytes.
const BUFFER_BYTES: usize = 1 << 20;
/// Rows of a dump between two reports of progress.
const DUMP_REPORT_ROWS: u64 = 4_096;

/// The state of a job's home.
pub(super) struct State<'a> {
    job: &'a Job,
    control: &'a JobControl,
}

impl<'a> State<'a> {
    pub fn new(job: &'a Job, control: &'a JobControl) -> Self {
        Self { job, control }
    }

    fn home(&self) -> &Path {
        &self.job.home
    }

    fn reading(&self, height: Option<Height>) -> Result<Reading, JobError> {
        let options = self.job.chain_options();
        self.with_snapshot(|| Reading::open(self.home(), &options, height))
    }

    /// Reads the home; beside a node that has no snapshot of it to read, the node takes one first.
    fn with_snapshot<T>(&self, read: impl FnMut() -> Result<T, ChainError>) -> Result<T, JobError> {
        inbox::with_snapshot(self.home(), self.control, read).map_err(|error| match error {
            JobError::Chain(error) => job_error(error),
            other => other,
        })
    }

    pub fn info(&self) -> Result<Value, JobError> {
        let format = home_format(self.home()).map_err(job_error)?;
        let reading = self.reading(None)?;
        let kv = reading.kv();
        let (blocks, receipts) = reading.ledger().floors();
        let snapshots = operate::snapshots(self.home(), &self.job.chain_options()).map_err(job_error)?;
        let data = self.home().join("data");
        let report = json!({
            "home": self.home(),
            "format": format,
            "head": kv.head().map(head),
            "oldestState": kv.oldest(),
            "base": reading.base(),
            "oldestBlock": blocks,
            "oldestReceipts": receipts,
            "snapshot": reading.snapshot(),
            "snapshots": snapshots.iter().map(snapshot_report).collect::<Vec<_>>(),
            "bytes": {
                "state": bytes_in(&data.join("state/db")),
                "snapshots": bytes_in(&data.join("state/snapshots")),
                "wal": bytes_in(&data.join("wal")),
                "ledger": bytes_in(&data.join("ledger")),
            },
        });
        reading.close().map_err(job_error)?;
        Ok(report)
    }

    pub fn verify(&self) -> Result<Value, JobError> {
        let reading = self.reading(None)?;
        let state = reading.kv().verify(&mut |progress| self.verifying(progress)).map_err(kv_error)?;
        let ledger = reading.verify_ledger(&mut |done, total| {
            self.control.report(JobProgress { done, total, ..JobProgress::default() });
            self.control.check().is_ok()
        });
        let ledger = ledger.map_err(job_error)?;
        let snapshot = reading.snapshot();
        reading.close().map_err(job_error)?;
        Ok(verified(&state, &ledger, snapshot))
    }

    fn verifying(&self, VerifyProgress { done, total, .. }: VerifyProgress) -> bool {
        self.control.report(JobProgress { done, total, ..JobProgress::default() });
        self.control.check().is_ok()
    }

    pub fn repair(&self, accept_loss: bool, from: &[PathBuf]) -> Result<Value, JobError> {
        let options = self.job.chain_options();
        let watch = &mut |progress| self.verifying(progress);
        let report = operate::repair(self.home(), &options, accept_loss, from, watch);
        Ok(repaired(&report.map_err(job_error)?))
    }

    /// Writes damaged records of the ledger again.
    pub fn restore_blocks(&self, from: &[PathBuf]) -> Result<Value, JobError> {
        let options = self.job.chain_options();
        let watch = &mut |progress| self.verifying(progress);
        let done = operate::restore_blocks(self.home(), &options, from, watch).map_err(job_error)?;
        Ok(records(&done))
    }

    /// The head before, and the head afterwards; `null` where nothing was changed.
    pub fn rollback(&self, to: Height, from_snapshot: bool, dry_run: bool) -> Result<Value, JobError> {
        let options = self.job.chain_options();
        let planned = |plan| (plan, None);
        let (plan, now) = match dry_run {
            true => operate::plan_roll_back(self.home(), &options, to, from_snapshot).map(planned),
            false => operate::roll_back(self.home(), &options, to, from_snapshot)
                .map(|(plan, now)| (plan, Some(now))),
        }
        .map_err(job_error)?;
        let target = json!({ "height": to, "hash": plan.to });
        Ok(json!({ "from": head(plan.from), "to": target, "head": now.map(head) }))
    }

    /// Removes the address index and builds it again of the trace capsules.
    pub fn reindex(&self) -> Result<Value, JobError> {
        let chain = Chain::open(self.home(), &self.job.chain_options()).map_err(job_error)?;
        let rebuilt = chain.rebuild_address_index(&mut |IndexProgress { done, total }| {
            self.control.report(JobProgress { done, total, ..JobProgress::default() });
            self.control.check().is_ok()
        });
        let (first, of) = (chain.reader().first_indexed(), chain.head());
        chain.close().map_err(job_error)?;
        let RebuiltIndex { pages, unknown } = rebuilt.map_err(job_error)?.ok_or(JobError::Cancelled)?;
        let first = first.map_err(ledger_error)?;
        Ok(json!({ "pages": pages, "unknown": unknown, "first": first, "head": head(of) }))
    }

    /// Takes a snapshot of the head, or has the node take it that has the home.
    pub fn snapshot(&self) -> Result<Value, JobError> {
        let chain = match Chain::open(self.home(), &self.job.chain_options()) {
            Err(error) if error.home_in_use().is_some() => {
                return Client::new(self.home()).request(&InboxCommand::Snapshot, self.control);
            }
            opened => opened.map_err(job_error)?,
        };
        let taken = chain.kv().snapshot();
        chain.close().map_err(job_error)?;
        Ok(snapshot_report(&taken.map_err(kv_error)?))
    }

    pub fn export(&self, height: Option<Height>, file: &Path) -> Result<Value, JobError> {
        let options = self.job.chain_options();
        let (exported, snapshot) = self.write_whole(file, |out| {
            let watch = &mut |progress| self.transferring(progress, None);
            self.with_snapshot(|| operate::export_state(self.home(), &options, height, out, watch))
        })?;
        let Exported { head: of, counts, bytes, digest } = exported;
        Ok(json!({
            "file": file, "head": head(of), "rows": rows(counts), "bytes": bytes, "digest": digest,
            "snapshot": snapshot,
        }))
    }

    pub fn import(&self, file: &Path) -> Result<Value, JobError> {
        let failed = |source| JobError::Io { path: file.to_owned(), source };
        let input = File::open(file).map_err(failed)?;
        let size = input.metadata().map_err(failed)?.len();
        let input = &mut BufReader::with_capacity(BUFFER_BYTES, input);
        let watch = &mut |progress| self.transferring(progress, Some(size));
        let imported = operate::import_state(self.home(), &self.job.chain_options(), input, watch);
        let Imported { head: of, counts, bytes, .. } = imported.map_err(job_error)?;
        Ok(json!({ "file": file, "head": head(of), "rows": rows(counts), "bytes": bytes }))
    }

    /// Progress of a stream: rows of rows, or bytes of its file where that is known.
    fn transferring(&self, progress: TransferProgress, size: Option<u64>) -> bool {
        let TransferProgress { rows, bytes, total_rows } = progress;
        let (done, total) = match size {
            Some(size) => (bytes, size),
            None => (rows, total_rows.max(rows)),
        };
        self.control.report(JobProgress { done, total, ..JobProgress::default() });
        self.control.check().is_ok()
    }

    /// Writes the rows of a data DB as lines: key, height of the last change (`-` if there is
    /// none), value; hexadecimal.
    pub fn dump(&self, db: &str, file: &Path) -> Result<Value, JobError> {
        let known = DataDb::ALL.into_iter().find(|known| known.name() == db);
        let names = || DataDb::ALL.map(DataDb::name).join(", ");
        let known = known.ok_or_else(|| JobError::NoDataDb { asked: db.to_owned(), known: names() })?;
        let reading = self.reading(None)?;
        let (kv, mut number) = (reading.kv(), 0);
        self.write_whole(file, |out| {
            for row in kv.rows(known, &RowRange::default()).map_err(|error| kv_error(error.into()))? {
                let row = row.map_err(kv_error)?;
                let height = row.height.map_or("-".to_owned(), |height| height.to_string());
                let (key, value) =
                    (alloy_primitives::hex::encode(&row.key), alloy_primitives::hex::encode(&row.value));
                writeln!(out, "{key} {height} {value}")
                    .map_err(|source| JobError::Io { path: file.to_owned(), source })?;
                number += 1;
                if number % DUMP_REPORT_ROWS == 0 {
                    self.control.report(JobProgress { done: number, ..JobProgress::default() });
                    self.control.check()?;
                }
            }
            Ok(())
        })?;
        let report = json!({
            "db": db, "file": file, "rows": number, "head": kv.head().map(head), "snapshot": reading.snapshot(),
        });
        reading.close().map_err(job_error)?;
        Ok(report)
    }

    /// Opening a home of an older format makes it one of this version's.
    pub fn migrate(&self) -> Result<Value, JobError> {
        let from = home_format(self.home()).map_err(job_error)?;
        let chain = Chain::open(self.home(), &self.job.chain_options()).map_err(job_error)?;
        let now = chain.head();
        chain.close().map_err(job_error)?;
        Ok(json!({ "from": from, "to": HOME_FORMAT, "head": head(now) }))
    }

    pub fn backup(&self, to: &Path, how: operate::BackupOptions) -> Result<Value, JobError> {
        let options = self.job.chain_options();
        let watch = &mut |progress: operate::BackupProgress| {
            let operate::BackupProgress { done, total } = progress;
            self.control.report(JobProgress { done, total, ..JobProgress::default() });
            self.control.check().is_ok()
        };
        let made = self.with_snapshot(|| operate::back_up(self.home(), to, how, &options, watch))?;
        let files = |(files, bytes): (u64, u64)| json!({ "files": files, "bytes": bytes });
        Ok(json!({
            "dir": made.dir, "head": head(made.head), "besideNode": made.beside_node,
            "snapshot": made.snapshot, "copied": files(made.copied), "linked": files(made.linked), "removed": made.removed,
        }))
    }

    /// Writes a file under a temporary name and renames it at the end, so that a failure leaves no
    /// partial file.
    fn write_whole<T>(
        &self,
        file: &Path,
        write: impl FnOnce(&mut dyn Write) -> Result<T, JobError>,
    ) -> Result<T, JobError> {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let partial = PathBuf::from(name);
        let failed = |source| JobError::Io { path: file.to_owned(), source };
        let written = File::create(&partial).map_err(failed).and_then(|out| {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
            let done = write(&mut out)?;
            let out = out.into_inner().map_err(|error| failed(error.into_error()))?;
            out.sync_all().and_then(|()| std::fs::rename(&partial, file)).map_err(failed)?;
            Ok(done)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&partial);
        }
        written
    }
}

fn ledger_error(error: LedgerError) -> JobError {
    job_error(ChainError::Ledger(error))
}

fn kv_error(error: FlatKvError) -> JobError {
    job_error(ChainError::Store(error))
}

fn job_error(error: ChainError) -> JobError {
    match error {
        ChainError::Cancelled | ChainError::Store(FlatKvError::Cancelled) => JobError::Cancelled,
        other => JobError::Chain(other),
    }
}

fn head(Head { height, hash, commitment }: Head) -> Value {
    json!({ "height": height, "hash": hash, "commitment": commitment })
}

/// What a report says of a snapshot.
pub(crate) fn snapshot_report(of: &Snapshot) -> Value {
    json!({ "height": of.height, "hash": of.hash, "oldest": of.oldest, "walRecord": of.wal_sequence, "dir": of.dir })
}

fn rows(StreamCounts { codes, accounts, slots, legacy }: StreamCounts) -> Value {
    json!({ "codes": codes, "accounts": accounts, "slots": slots, "legacy": legacy })
}

fn verified(state: &VerifyReport, ledger: &LedgerReport, snapshot: Option<Height>) -> Value {
    let named = |name: &str, text: String, repair: Option<&str>| json!({ "name": name, "text": text, "repair": repair });
    let mut findings: Vec<_> = state
        .findings
        .iter()
        .map(|finding| named(finding.name(), finding.to_string(), Some("hearth db repair")))
        .collect();
    findings.extend(
        ledger.findings.iter().map(|finding| named(finding.name(), finding.to_string(), finding.repair())),
    );
    let counts = state.counts;
    json!({
        "head": head(state.head),
        "oldestState": state.oldest,
        "commitment": state.kind.to_string(),
        "snapshot": snapshot,
        "rows": {
            "accounts": counts.accounts, "slots": counts.slots, "codes": counts.codes, "legacy": counts.legacy,
            "history": counts.history, "trieNodes": counts.trie_nodes, "changes": counts.blocks,
            "blocks": ledger.blocks, "transactions": ledger.transactions, "indexedBlocks": ledger.indexed,
        },
        "found": state.found + ledger.found,
        "findings": findings,
    })
}

fn record(BlockRecord { number, hash, what }: &BlockRecord) -> Value {
    json!({ "number": number, "hash": hash, "what": what })
}

fn records(LedgerRepair { restored, broken, more_restored, more_broken }: &LedgerRepair) -> Value {
    let with_reason = |(of, why): &(BlockRecord, String)| json!({ "number": of.number, "hash": of.hash, "what": of.what, "why": why });
    json!({
        "restored": restored.iter().map(record).collect::<Vec<_>>(),
        "broken": broken.iter().map(with_reason).collect::<Vec<_>>(),
        "moreRestored": more_restored,
        "moreBroken": more_broken,
    })
}

fn repaired(Repaired { state: report, ledger, capsules }: &Repaired) -> Value {
    let action = |action: &RepairAction| match action {
        RepairAction::LogRewritten { records, aside } => {
            json!({ "action": "log_rewritten", "records": records, "aside": aside })
        }
        RepairAction::FromSnapshot { height, aside } => {
            json!({ "action": "from_snapshot", "height": height, "aside": aside })
        }
        RepairAction::FromLog { aside } => json!({ "action": "from_log", "aside": aside }),
        RepairAction::FromLedger { aside } => json!({ "action": "from_ledger", "aside": aside }),
    };
    json!({
        "problems": report.problems,
        "findings": report.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "actions": report.actions.iter().map(action).collect::<Vec<_>>(),
        "lost": report.lost.map(|(from, to)| json!({ "from": from, "to": to })),
        "head": report.head.map(head),
        "ledger": records(ledger),
        "capsules": { "made": capsules.made, "left": capsules.left },
    })
}

/// Bytes of the files in a folder and below.
fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(of) if of.is_dir() => bytes_in(&entry.path()),
        Ok(of) => of.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
