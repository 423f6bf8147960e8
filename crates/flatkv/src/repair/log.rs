//! Writing the log again from the records that can be used.

use super::{Repair, RepairAction, RepairReport};
use crate::{
    FlatKvError,
    intent::{Moves, NEW_WAL, Replaced, StorePath, bad_name},
    open::ROCKS_DIR,
    rollback::unwind_record,
    snapshot::{self, SNAPSHOTS_DIR},
};
use hearth_flatkv_storage::{
    db::Db,
    files::{remove_tree, sync_tree},
    stored::Stored,
    wal::{
        Wal,
        salvage::{Salvaged, salvage},
    },
};
use std::path::PathBuf;

impl Repair<'_> {
    /// Writes the log again with what follows the database, or the newest snapshot where there is
    /// no database.
    pub(super) fn mend_log(&self, report: &mut RepairReport) -> Result<(), FlatKvError> {
        let stored = self.stored()?;
        let held = stored.as_ref().map_or(0, |stored| stored.synced);
        let records = salvage(&*self.options.disk, &self.options.wal_dir)?;
        let first = records.partition_point(|record| record.number <= held);
        let above = &records[first..];
        let usable =
            above.iter().zip(held + 1..).take_while(|(record, number)| record.number == *number).count();
        let (kept, lost) = above.split_at(usable);
        if let [first, .., last] | [first @ last] = lost {
            let known = kept.last().map(|record| record.head.head.height);
            let from =
                known.or(stored.as_ref().map(|stored| stored.head.height)).map_or(0, |height| height + 1);
            let to = lost.iter().map(|record| record.head.head.height).max().unwrap_or(from).max(from);
            if !self.accept_loss {
                let (first, last) = (first.number, last.number);
                return Err(FlatKvError::WouldLose { from, to, first, last });
            }
            report.lost = Some((from, to));
        }
        let written = self.write_log(held + 1, kept, stored.as_ref())?;
        let aside = bad_name(self.options, &self.options.wal_dir)?;
        let place = aside.path(self.options);
        let new = StorePath::State(NEW_WAL.to_owned());
        self.put_in_place(Moves {
            replaced: vec![Replaced { new, at: StorePath::Wal, aside }],
            ..Moves::default()
        })?;
        report.actions.push(RepairAction::LogRewritten { records: written, aside: place });
        Ok(())
    }

    /// What the database says of itself, or the newest snapshot.
    fn stored(&self) -> Result<Option<Stored>, FlatKvError> {
        let at = |path: PathBuf| {
            Db::open_read_only(&path, self.options).ok().and_then(|db| db.stored().ok().flatten())
        };
        if let Some(stored) = at(self.options.dir.join(ROCKS_DIR)) {
            return Ok(Some(stored));
        }
        let snapshots = snapshot::list(&*self.options.disk, &self.options.dir.join(SNAPSHOTS_DIR))?;
        Ok(snapshots.iter().rev().find_map(|snapshot| at(snapshot.database())))
    }

    fn write_log(&self, first: u64, kept: &[Salvaged], stored: Option<&Stored>) -> Result<u64, FlatKvError> {
        let (disk, dir) = (&self.options.disk, self.options.dir.join(NEW_WAL));
        remove_tree(&**disk, &dir)?;
        disk.create_dir_all(&dir).map_err(FlatKvError::io(&dir))?;
        let mut wal = Wal::starting_at(disk.clone(), &dir, self.options.segment_bytes, first);
        for record in kept {
            wal.append(&record.payload)?;
        }
        if let (Some(stored), []) = (stored, kept) {
            // A log that ends before what the database holds would look like one that lost its end.
            let (_, payload) = unwind_record(stored, (first - 1, stored.positions.clone()));
            wal.append(&payload)?;
        }
        let written = wal.last() + 1 - first;
        wal.sync()?;
        sync_tree(&**disk, &dir)?;
        Ok(written)
    }
}
