//! Repair: a damaged database or log is set aside, never deleted, and made again from what is
//! sound.
//!
//! - The log: everything that the database does not hold yet is read record by record. Where a bad
//!   record stands in the middle, what follows it cannot be used, which is reported, and done only
//!   with the caller's word.
//! - The database: from the newest snapshot that verifies, brought forward by the log; from the log
//!   alone where it begins with the first record; or by executing the ledger again, which is the
//!   caller's part.

mod database;
mod log;

use crate::{
    Finding, FlatKv, FlatKvError, Head, JoinedTables, Options, ProgressFn, VerifyReport,
    intent::{self, Intent, Moves},
    open::{LOCK_FILE, is_gone},
};
use hearth_primitives::Height;
use std::{path::PathBuf, sync::Arc};

/// Times that a store is opened and repaired: the log, the database, and a look at the end.
const ROUNDS: usize = 4;

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairAction {
    /// The log was written again from the records that can be used.
    LogRewritten {
        /// Records in it.
        records: u64,
        /// Where the old one is.
        aside: PathBuf,
    },
    /// The database was made from a snapshot and the log.
    FromSnapshot {
        /// Height of the snapshot.
        height: Height,
        /// Where the old database is.
        aside: PathBuf,
    },
    /// The database was made from the log alone.
    FromLog {
        /// Where the old database is.
        aside: PathBuf,
    },
    /// Database and log were made by executing the ledger again.
    FromLedger {
        /// Where the old database is.
        aside: PathBuf,
    },
}

/// What a repair found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// What was wrong, in the order in which it was found: what the opening said.
    pub problems: Vec<String>,
    /// What the first verification found.
    pub findings: Vec<Finding>,
    /// What was done; nothing where the store is sound.
    pub actions: Vec<RepairAction>,
    /// Heights that were lost, with the caller's word.
    pub lost: Option<(Height, Height)>,
    /// The head now; none in an empty store.
    pub head: Option<Head>,
}

/// Executes the ledger's blocks again into a store that is empty; `last` is the last head that the
/// log names.
pub trait Executor {
    /// Fills the store. What it commits counts once this returns.
    ///
    /// # Errors
    /// Whatever keeps it from that; the old store stays as it is then.
    fn execute(&mut self, store: &Arc<FlatKv>, last: Option<Head>) -> Result<(), FlatKvError>;
}

/// How to repair.
pub struct Repair<'a> {
    /// The store.
    pub options: &'a Options,
    /// The tables joined to it.
    pub tables: &'a Arc<dyn JoinedTables>,
    /// Whether blocks may be lost where nothing else helps.
    pub accept_loss: bool,
    /// Who executes the ledger, where that can be.
    pub executor: Option<&'a mut dyn Executor>,
}

impl Repair<'_> {
    /// Looks for damage and repairs it. No node may have the home open.
    ///
    /// # Errors
    /// [`FlatKvError::WouldLose`] says what is lost without [`Repair::accept_loss`], before
    /// anything is changed; [`FlatKvError::Unrepairable`]; [`FlatKvError::Locked`]; errors of the
    /// disk.
    pub fn run(mut self, watch: ProgressFn<'_>) -> Result<RepairReport, FlatKvError> {
        let mut report = RepairReport {
            problems: Vec::new(),
            findings: Vec::new(),
            actions: Vec::new(),
            lost: None,
            head: None,
        };
        for _ in 0..ROUNDS {
            let problem = match self.look(watch)? {
                Ok((head, None)) => {
                    report.head = head;
                    return Ok(report);
                }
                Ok((_, Some(found))) => {
                    if report.findings.is_empty() {
                        report.findings = found.findings;
                    }
                    None
                }
                Err(error) => Some(error),
            };
            report.problems.extend(problem.as_ref().map(FlatKvError::to_string));
            let (disk, dir) = (&self.options.disk, &self.options.dir);
            disk.create_dir_all(dir).map_err(FlatKvError::io(dir))?;
            let _lock = disk.lock(&dir.join(LOCK_FILE))?;
            match problem {
                Some(FlatKvError::WalDamaged { .. } | FlatKvError::WalTruncated { .. }) => {
                    self.mend_log(&mut report)?;
                }
                _ => {
                    let action = self.make_database(watch)?;
                    report.actions.push(action);
                }
            }
        }
        Err(FlatKvError::Unrepairable { why: report.problems.last().cloned().unwrap_or_default() })
    }

    /// Opens the store and verifies it: its head and what was found, or what kept it from opening
    /// and may be repaired.
    #[allow(clippy::type_complexity)]
    fn look(
        &self,
        watch: ProgressFn<'_>,
    ) -> Result<Result<(Option<Head>, Option<VerifyReport>), FlatKvError>, FlatKvError> {
        if is_gone(self.options, &**self.tables)? {
            let dir = self.options.dir.clone();
            return Ok(Err(FlatKvError::Gone { dir }));
        }
        let kv = match FlatKv::open(self.options.clone(), self.tables.clone()) {
            Ok(kv) => kv,
            Err(
                error @ (FlatKvError::WalDamaged { .. }
                | FlatKvError::WalTruncated { .. }
                | FlatKvError::Diverged { .. }
                | FlatKvError::BadCommitment { .. }
                | FlatKvError::State(_)),
            ) => return Ok(Err(error)),
            Err(other) => return Err(other),
        };
        let head = kv.head();
        let found = match head {
            Some(_) => Some(kv.verify_rows(watch)?).filter(|report| !report.is_sound()),
            None => None,
        };
        // Damaged tables can keep a flush from its end; what counts is in the log.
        let closed = kv.close();
        if found.is_none() {
            closed?;
        }
        Ok(Ok((head, found)))
    }

    /// Puts new parts in the place of old ones, whatever happens in between.
    fn put_in_place(&self, moves: Moves) -> Result<(), FlatKvError> {
        Intent::Move(moves).write(self.options)?;
        intent::finish_files(self.options)
    }
}
