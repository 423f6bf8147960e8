//! The head's commitment from its latest rows.

use super::{Finding, Reporter, root::state_root};
use crate::{
    CommitmentKind, FlatKvError,
    db::{Db, Family},
    lthash::LtHash,
    rows::{ACCOUNT, STORAGE, legacy_history, meta, split_stamp},
};

pub(super) fn check(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        let recorded = reporter.report.head.commitment;
        let computed = match reporter.report.kind {
            CommitmentKind::None => return Ok(()),
            CommitmentKind::Mpt => state_root(db, reporter)?,
            CommitmentKind::LtHash => {
                let vector = lattice(db, reporter)?;
                let stored = db.get(Family::Metadata, meta::LATTICE)?;
                if let Some(stored) = stored.filter(|stored| **stored != *vector.to_bytes()) {
                    let recorded = LtHash::from_bytes(&stored).map(|vector| vector.checksum());
                    let (recorded, computed) = (recorded.unwrap_or_default(), vector.checksum());
                    reporter.find(Finding::Commitment { recorded, computed });
                }
                vector.checksum()
            }
        };
        if computed != recorded {
            reporter.find(Finding::Commitment { recorded, computed });
        }
        Ok(())
    }
}

/// The lattice vector of the latest rows.
fn lattice(db: &Db, reporter: &mut Reporter<'_>) -> Result<LtHash, FlatKvError> {
    let counts = reporter.report.counts;
    reporter.total(counts.accounts + counts.slots + counts.legacy);
    let mut vector = LtHash::default();
    for family in [Family::Account, Family::Storage, Family::Legacy] {
        let mut rows = db.prefix(family, &[])?;
        while let Some((key, row)) = rows.row() {
            reporter.step()?;
            let element = match family {
                Family::Account => [&[ACCOUNT], key].concat(),
                Family::Storage => [&[STORAGE], key].concat(),
                _ => legacy_history(key),
            };
            vector.add(&element, split_stamp(row)?.1);
            rows.next();
        }
        rows.finish()?;
    }
    Ok(vector)
}
