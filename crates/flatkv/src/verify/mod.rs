//! Verification: everything that the store says is computed again from its rows and compared.
//!
//! - Code lies under its hash; an account's code is there.
//! - A latest row has a history row of the same height with the same value, and a history row that
//!   is the newest of its key has a latest row.
//! - The commitment of the head is that of the latest rows: the Merkle Patricia root from scratch,
//!   or the lattice vector.
//! - Every trie node hangs below the root under its hash, and there are no others.
//! - The blocks from the oldest height to the head are known.
//! - The log's records are whole and sound, also those that RocksDB holds already.

mod codes;
mod commitment;
mod joined;
mod report;
mod root;

pub use report::{Counts, Finding, ProgressFn, VerifyProgress, VerifyReport};

use crate::{CommitmentKind, FlatKv, FlatKvError, Head, trie::check_nodes};
use hearth_flatkv_storage::{
    db::{Db, Family},
    rows::read_changes,
    wal::{LogFault, Wal},
};
use report::Reporter;

impl FlatKv {
    /// Verifies the store at its head. Commits wait meanwhile: for use on a home that no node has
    /// open, or on a snapshot ([`FlatKv::open_snapshot`]).
    ///
    /// # Errors
    /// [`FlatKvError::Empty`]; [`FlatKvError::Cancelled`] where `watch` says so. What is wrong with
    /// the store is no error but a finding.
    pub fn verify(&self, watch: ProgressFn<'_>) -> Result<VerifyReport, FlatKvError> {
        let writer = self.core.lock_writer();
        self.core.bring_nodes()?;
        let head = self.head().ok_or(FlatKvError::Empty)?;
        let oldest = self.oldest().unwrap_or(head.height);
        let mut reporter = Reporter::new(head, oldest, self.core.kind, watch);
        verify_rows(&self.core.db, self.core.kind, &mut reporter)?;
        reporter.phase("log", log(&writer.wal))?;
        Ok(reporter.report)
    }

    /// As [`Self::verify`], without the log.
    pub(crate) fn verify_rows(&self, watch: ProgressFn<'_>) -> Result<VerifyReport, FlatKvError> {
        let _nobody_commits = self.core.lock_writer();
        self.core.bring_nodes()?;
        let head = self.head().ok_or(FlatKvError::Empty)?;
        let oldest = self.oldest().unwrap_or(head.height);
        let mut reporter = Reporter::new(head, oldest, self.core.kind, watch);
        verify_rows(&self.core.db, self.core.kind, &mut reporter)?;
        Ok(reporter.report)
    }
}

fn verify_rows(
    db: &std::sync::Arc<Db>,
    kind: CommitmentKind,
    reporter: &mut Reporter<'_>,
) -> Result<(), FlatKvError> {
    reporter.phase("code", codes::check(db))?;
    reporter.phase("accounts", joined::accounts(db))?;
    reporter.phase("storage", joined::storage(db))?;
    reporter.phase("legacy", joined::legacy(db))?;
    reporter.phase("blocks", blocks(db))?;
    reporter.phase("commitment", commitment::check(db))?;
    if kind == CommitmentKind::Mpt {
        reporter.phase("trie", trie(db))?;
    }
    Ok(())
}

/// The segments of the log.
fn log(wal: &Wal) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        reporter.total(wal.segment_count());
        wal.check(|fault| {
            if let Some(LogFault { file, offset }) = fault {
                reporter.find(Finding::Log { file, offset });
            }
            reporter.step()
        })
    }
}

/// The rows of the blocks from the oldest height to the head.
fn blocks(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        let VerifyReport { head, oldest, .. } = reporter.report;
        reporter.total(head.height - oldest + 1);
        for height in oldest..=head.height {
            reporter.step()?;
            reporter.report.counts.blocks += 1;
            let row = db.get(Family::Changes, &height.to_be_bytes())?;
            let read = row.map(|row| read_changes(&row)).transpose();
            match read {
                Ok(None) => reporter.find(Finding::MissingBlock { height }),
                Err(_) => reporter.undecodable(Family::Changes, &height.to_be_bytes()),
                Ok(Some(block)) if height == head.height => {
                    let stored = Head { height, hash: block.hash, commitment: block.commitment };
                    if stored != head {
                        reporter.find(Finding::OtherHead { head, block: stored });
                    }
                }
                Ok(Some(_)) => {}
            }
        }
        Ok(())
    }
}

fn trie(db: &std::sync::Arc<Db>) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        let root = reporter.report.head.commitment;
        reporter.total(db.estimate(Family::Trie)?);
        let mut stopped = None;
        let checked = check_nodes(db, root, &mut |fault| {
            if let Some(fault) = fault {
                reporter.find(Finding::TrieNode { owner: fault.owner, path: fault.path, hash: fault.hash });
            }
            stopped = reporter.step().err();
            stopped.is_none()
        });
        if let Some(stopped) = stopped {
            return Err(stopped);
        }
        let reached = checked?;
        reporter.report.counts.trie_nodes = reached;
        let mut rows = db.prefix(Family::Trie, &[])?;
        let mut stored = 0;
        while rows.row().is_some() {
            stored += 1;
            rows.next();
        }
        rows.finish()?;
        if stored > reached {
            reporter.find(Finding::StrayTrieNodes { number: stored - reached });
        }
        Ok(())
    }
}
