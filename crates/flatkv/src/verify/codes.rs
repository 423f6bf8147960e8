//! Code lies under its hash.

use super::report::{Finding, Reporter, fixed};
use crate::FlatKvError;
use alloy_primitives::{B256, keccak256};
use hearth_flatkv_storage::db::{Db, Family};

pub(super) fn check(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        reporter.total(db.estimate(Family::Code)?);
        let mut rows = db.prefix(Family::Code, &[])?;
        while let Some((key, code)) = rows.row() {
            reporter.step()?;
            reporter.report.counts.codes += 1;
            let got = keccak256(code);
            match fixed::<32>(key).map(|hash| B256::from(*hash)) {
                Ok(hash) if hash == got => {}
                Ok(hash) => reporter.find(Finding::WrongCode { hash, got }),
                Err(_) => reporter.undecodable(Family::Code, key),
            }
            rows.next();
        }
        Ok(rows.finish()?)
    }
}
