//! The head's commitment from its latest rows.

use super::{
    report::{Finding, Reporter},
    root::state_root,
};
use crate::{CommitmentKind, FlatKvError};
use alloy_primitives::B256;
use hearth_flatkv_storage::{
    commitment::Lattice,
    db::{Db, Family},
    lthash::LtHash,
    rows::meta,
};

pub(super) fn check(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        let recorded = reporter.report.head.commitment;
        let computed = match reporter.report.kind {
            CommitmentKind::None => return Ok(()),
            CommitmentKind::Mpt => state_root(db, reporter)?,
            CommitmentKind::LtHash => {
                let lattice = lattice(db, reporter)?;
                check_vectors(db, &lattice, reporter)?;
                lattice.checksum()
            }
        };
        if computed != recorded {
            reporter.find(Finding::Commitment { recorded, computed });
        }
        Ok(())
    }
}

/// The lattice vectors of the latest rows.
fn lattice(db: &Db, reporter: &mut Reporter<'_>) -> Result<Lattice, FlatKvError> {
    let counts = reporter.report.counts;
    reporter.total(counts.accounts + counts.slots + counts.legacy);
    Lattice::of_rows(db, &mut || reporter.step())
}

/// The vectors that the database holds must be those of its rows, each and in total.
fn check_vectors(db: &Db, computed: &Lattice, reporter: &mut Reporter<'_>) -> Result<(), FlatKvError> {
    let mut compare = |name: &[u8], of_rows: &LtHash| -> Result<bool, FlatKvError> {
        let Some(stored) = db.get(Family::Metadata, name)? else { return Ok(false) };
        if *stored != *of_rows.to_bytes() {
            let recorded = LtHash::from_bytes(&stored).map(|vector| vector.checksum());
            let (recorded, computed) = (recorded.unwrap_or_default(), of_rows.checksum());
            reporter.find(Finding::Commitment { recorded, computed });
        }
        Ok(true)
    };
    let mut found = 0;
    for of in Lattice::DBS {
        if let Some(vector) = computed.of(of) {
            found += usize::from(compare(meta::lattice(of), vector)?);
        }
    }
    // One of them gone is damage; all of them is a database of an older version, which has the sum.
    if found < Lattice::DBS.len() && (found > 0 || !compare(meta::LATTICE, &computed.total())?) {
        reporter.find(Finding::Commitment { recorded: B256::ZERO, computed: computed.checksum() });
    }
    Ok(())
}
