//! Latest rows against history: both are read in the order of their keys and compared pair by pair.

use super::report::{Finding, Reporter, fixed};
use crate::FlatKvError;
use alloy_primitives::{Address, Bytes};
use hearth_flatkv_storage::{
    db::{Db, Family, Rows},
    error::corrupt,
    rows::{
        ACCOUNT, STORAGE, at_height, history_height, history_prefix, legacy_history, read_account, read_slot,
        split_stamp,
    },
};
use hearth_primitives::{Height, StateError};

/// A row's height and its value without it.
type Stamped = (Height, Vec<u8>);
/// Key of a latest row and what history says of it; `None` where it says that there is none.
type HistoryRow = (Vec<u8>, Option<Stamped>);

pub(super) fn accounts(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        join(db, reporter, Family::Account, ACCOUNT, |reporter, key, value| {
            reporter.report.counts.accounts += 1;
            let address = Address::from(*fixed::<20>(key)?);
            let account = read_account(value)?;
            if account.has_code() && db.get(Family::Code, account.code_hash.as_slice())?.is_none() {
                reporter.find(Finding::MissingCode { address, hash: account.code_hash });
            }
            Ok(())
        })
    }
}

pub(super) fn storage(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        join(db, reporter, Family::Storage, STORAGE, |reporter, key, value| {
            reporter.report.counts.slots += 1;
            fixed::<52>(key)?;
            read_slot(value).map(drop)
        })
    }
}

/// Rows of modules: their keys have any length, so that history has another order, and pairs are
/// looked up.
pub(super) fn legacy(db: &Db) -> impl FnOnce(&mut Reporter<'_>) -> Result<(), FlatKvError> {
    |reporter| {
        reporter.total(db.estimate(Family::Legacy)?);
        let mut rows = db.prefix(Family::Legacy, &[])?;
        while let Some((key, row)) = rows.row() {
            reporter.step()?;
            reporter.report.counts.legacy += 1;
            let prefix = legacy_history(key);
            let first = db.history(&prefix, &at_height(prefix.clone(), Height::MAX))?;
            let history: Option<Result<_, StateError>> =
                first.row().map(|(key, value)| Ok((history_height(key)?, value.to_vec())));
            let history = history.transpose()?.filter(|(_, value): &Stamped| !value.is_empty());
            match split_stamp(row) {
                Ok((stamp, value)) => {
                    compare(reporter, Family::Legacy, key, Some((stamp, value.to_vec())), history);
                }
                Err(_) => reporter.undecodable(Family::Legacy, key),
            }
            rows.next();
        }
        Ok(rows.finish()?)
    }
}

/// The newest rows of history of one kind, one for each key.
struct Newest<'a> {
    rows: Rows<'a>,
    kind: u8,
}

impl Newest<'_> {
    /// The next key's newest row: the latest row's key and what history says of it. Older rows are
    /// passed and counted.
    fn next(&mut self, counted: &mut u64) -> Result<Option<HistoryRow>, StateError> {
        let Some((key, value)) = self.rows.row() else { return self.rows.finish().map(|()| None) };
        let prefix = history_prefix(key).to_vec();
        let stamp = history_height(key)?;
        let newest = (!value.is_empty()).then(|| (stamp, value.to_vec()));
        while self.rows.row().is_some_and(|(key, _)| history_prefix(key) == prefix) {
            *counted += 1;
            self.rows.next();
        }
        let (kind, latest) = prefix.split_first().ok_or_else(|| corrupt("history"))?;
        debug_assert_eq!(*kind, self.kind);
        Ok(Some((latest.to_vec(), newest)))
    }
}

/// Goes through a family and its history side by side; `each` looks at every latest row.
fn join(
    db: &Db,
    reporter: &mut Reporter<'_>,
    family: Family,
    kind: u8,
    mut each: impl FnMut(&mut Reporter<'_>, &[u8], &[u8]) -> Result<(), StateError>,
) -> Result<(), FlatKvError> {
    reporter.total(db.estimate(family)?);
    let mut history = Newest { rows: db.prefix(Family::History, &[kind])?, kind };
    let mut counted = 0;
    let mut newest = history.next(&mut counted)?;
    let mut rows = db.prefix(family, &[])?;
    while let Some((key, row)) = rows.row() {
        reporter.step()?;
        while let Some((other, stamped)) = newest.take_if(|(other, _)| other.as_slice() < key) {
            compare(reporter, family, &other, None, stamped);
            newest = history.next(&mut counted)?;
        }
        let stamped = match newest.take_if(|(other, _)| other == key) {
            Some((_, stamped)) => {
                newest = history.next(&mut counted)?;
                stamped
            }
            None => None,
        };
        let looked_at = split_stamp(row).and_then(|(stamp, value)| {
            compare(reporter, family, key, Some((stamp, value.to_vec())), stamped);
            each(reporter, key, value)
        });
        if looked_at.is_err() {
            reporter.undecodable(family, key);
        }
        rows.next();
    }
    rows.finish()?;
    while let Some((other, stamped)) = newest {
        reporter.step()?;
        compare(reporter, family, &other, None, stamped);
        newest = history.next(&mut counted)?;
    }
    reporter.report.counts.history += counted;
    Ok(())
}

fn compare(
    reporter: &mut Reporter<'_>,
    family: Family,
    key: &[u8],
    latest: Option<Stamped>,
    history: Option<Stamped>,
) {
    let head = reporter.report.head.height;
    let (family, name) = (family.name(), Bytes::copy_from_slice(key));
    let stamp = |row: &Option<Stamped>| row.as_ref().map(|(stamp, _)| *stamp);
    if let Some(stamp) = stamp(&latest).filter(|stamp| *stamp > head) {
        reporter.find(Finding::FutureStamp { family, key: name.clone(), stamp });
    }
    if latest != history {
        let (latest, history) = (stamp(&latest), stamp(&history));
        reporter.find(Finding::History { family, key: name, latest, history });
    }
}
