//! Making the database again.

use super::{Repair, RepairAction};
use crate::{
    FlatKv, FlatKvError, Head, JoinedTables, Options, ProgressFn, Snapshot,
    intent::{Moves, NEW_DATABASE, NEW_SNAPSHOTS, NEW_WAL, REBUILT, Replaced, StorePath, bad_name},
    list_snapshots,
    open::ROCKS_DIR,
    rollback::wal_alone_is_enough,
    snapshot::SNAPSHOTS_DIR,
};
use hearth_flatkv_storage::{
    files::{clone_database, remove_tree, sync_tree},
    wal::{salvage::salvage, scan::WalScan},
};
use hearth_primitives::StateError;
use std::{path::PathBuf, sync::Arc};

impl Repair<'_> {
    /// Makes the database from what is best: a snapshot, the log, the ledger.
    pub(super) fn make_database(&mut self, watch: ProgressFn<'_>) -> Result<RepairAction, FlatKvError> {
        for snapshot in list_snapshots(self.options)?.into_iter().rev() {
            if self.is_usable(&snapshot, watch)? {
                return self.clone_snapshot(&snapshot);
            }
        }
        let scan = WalScan::read(&self.options.disk, &self.options.wal_dir, 0);
        if scan.is_ok_and(|scan| wal_alone_is_enough(self.options.commitment, &scan)) {
            return self.empty_for_log();
        }
        match self.executor.take() {
            Some(executor) => self.execute_ledger(executor),
            None => Err(FlatKvError::Unrepairable {
                why: "no snapshot verifies, and the log does not reach back to the first block".to_owned(),
            }),
        }
    }

    /// Whether a snapshot verifies and the log continues behind it.
    fn is_usable(&self, snapshot: &Snapshot, watch: ProgressFn<'_>) -> Result<bool, FlatKvError> {
        match FlatKv::open_in(self.options.clone(), snapshot).and_then(|kv| kv.verify_rows(watch)) {
            Ok(report) if report.is_sound() => {}
            Err(FlatKvError::Cancelled) => return Err(FlatKvError::Cancelled),
            _ => return Ok(false),
        }
        let scan = WalScan::read(&self.options.disk, &self.options.wal_dir, snapshot.wal_sequence);
        Ok(scan.is_ok_and(|scan| {
            scan.records.last().is_some_and(|last| last.number >= snapshot.wal_sequence)
                && scan.records[0].number <= snapshot.wal_sequence + 1
        }))
    }

    fn clone_snapshot(&self, snapshot: &Snapshot) -> Result<RepairAction, FlatKvError> {
        let new = self.options.dir.join(NEW_DATABASE);
        remove_tree(&*self.options.disk, &new)?;
        clone_database(&snapshot.database(), &new)?;
        sync_tree(&*self.options.disk, &new)?;
        let aside = self.replace_database(NEW_DATABASE, Vec::new())?;
        Ok(RepairAction::FromSnapshot { height: snapshot.height, aside })
    }

    /// An empty database: the opening replays the log into it.
    fn empty_for_log(&self) -> Result<RepairAction, FlatKvError> {
        let (disk, new) = (&*self.options.disk, self.options.dir.join(NEW_DATABASE));
        remove_tree(disk, &new)?;
        disk.create_dir_all(&new).map_err(FlatKvError::io(&new))?;
        let aside = self.replace_database(NEW_DATABASE, Vec::new())?;
        Ok(RepairAction::FromLog { aside })
    }

    /// A store of its own, beside the old one, into which the ledger is executed. The snapshots go
    /// with the old one: they count the records of its log.
    fn execute_ledger(&self, executor: &mut dyn super::Executor) -> Result<RepairAction, FlatKvError> {
        let (disk, dir) = (&*self.options.disk, &self.options.dir);
        let mut options =
            Options { dir: dir.join(REBUILT), wal_dir: dir.join(NEW_WAL), ..self.options.clone() };
        options.settings.snapshot_interval_blocks = None;
        options.settings.wal_max_bytes = None;
        remove_tree(disk, &options.dir)?;
        remove_tree(disk, &options.wal_dir)?;
        let kept = Arc::new(KeptTables(self.tables.clone()));
        let store = FlatKv::open(options.clone(), kept)?;
        executor.execute(&store, self.last_head()?)?;
        if store.head().is_none() {
            return Err(FlatKvError::Unrepairable { why: "the ledger has no block to execute".to_owned() });
        }
        store.close()?;
        drop(store);
        sync_tree(disk, &options.dir)?;
        sync_tree(disk, &options.wal_dir)?;
        let snapshots = dir.join(NEW_SNAPSHOTS);
        disk.create_dir_all(&snapshots).map_err(FlatKvError::io(&snapshots))?;
        let others = vec![
            (StorePath::State(NEW_WAL.to_owned()), StorePath::Wal),
            (StorePath::State(NEW_SNAPSHOTS.to_owned()), StorePath::State(SNAPSHOTS_DIR.to_owned())),
        ];
        let aside = self.replace_database(&format!("{REBUILT}/{ROCKS_DIR}"), others)?;
        Ok(RepairAction::FromLedger { aside })
    }

    /// The last head in the log.
    fn last_head(&self) -> Result<Option<Head>, FlatKvError> {
        let (disk, dir) = (&*self.options.disk, &self.options.wal_dir);
        disk.create_dir_all(dir).map_err(FlatKvError::io(dir))?;
        let records = salvage(disk, dir)?;
        Ok(records.last().map(|record| record.head.head))
    }

    /// Puts the new database, and others, in place; returns where the old one is.
    fn replace_database(
        &self,
        new: &str,
        others: Vec<(StorePath, StorePath)>,
    ) -> Result<PathBuf, FlatKvError> {
        let aside = bad_name(self.options, &self.options.dir)?;
        let path = aside.path(self.options);
        let mut replaced = vec![Replaced {
            new: StorePath::State(new.to_owned()),
            at: StorePath::State(ROCKS_DIR.to_owned()),
            aside,
        }];
        for (new, at) in others {
            let aside = bad_name(self.options, &at.path(self.options))?;
            replaced.push(Replaced { new, at, aside });
        }
        self.put_in_place(Moves { replaced, ..Moves::default() })?;
        Ok(path)
    }
}

/// Tables of another store, which this one must not cut: it begins empty, they do not.
struct KeptTables(Arc<dyn JoinedTables>);

impl JoinedTables for KeptTables {
    fn verify(&self, positions: &[u64]) -> Result<bool, StateError> {
        self.0.verify(positions)
    }

    fn truncate(&self, _: &[u64]) -> Result<(), StateError> {
        Ok(())
    }

    fn sync(&self) -> Result<(), StateError> {
        self.0.sync()
    }

    fn positions(&self) -> Vec<u64> {
        self.0.positions()
    }

    fn are_its_own(&self) -> bool {
        false
    }
}
