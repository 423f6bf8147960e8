//! Ordered iteration over one data DB, committed and pending rows, as of one moment.

use crate::{FlatKv, FlatKvError, shared::Core, staging::Staged};
use hearth_flatkv_storage::{
    db::{Family, Scan, successor},
    rows::{account_value, slot_key, slot_value, split_stamp},
};
use hearth_metrics::DataDb;
use hearth_primitives::{Height, StateError};
use std::{
    cmp::Ordering,
    collections::VecDeque,
    ops::Bound,
    time::{Duration, Instant},
};

/// How long an iterator may be used: as long as it is there, RocksDB cannot let go of what was
/// replaced.
pub const MAX_ITERATOR_AGE: Duration = Duration::from_secs(600);

/// Which rows, and in which order. By default all of them, in ascending order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowRange {
    /// Lowest key; `None`: from the first row on.
    pub from: Option<Vec<u8>>,
    /// Keys below this one alone; `None`: up to the last row.
    pub to: Option<Vec<u8>>,
    /// From the highest key down.
    pub reverse: bool,
}

impl RowRange {
    /// The rows whose keys begin so.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { from: Some(prefix.to_vec()), to: successor(prefix), reverse: false }
    }

    /// The same rows, from the last one to the first.
    pub fn reversed(self) -> Self {
        Self { reverse: !self.reverse, ..self }
    }

    fn has(&self, key: &[u8]) -> bool {
        self.from.as_deref().is_none_or(|from| from <= key) && self.to.as_deref().is_none_or(|to| key < to)
    }
}

/// A row of a data DB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Account: address. Storage: address and slot, 32 bytes big-endian. Code: hash. Legacy: the
    /// caller's. Metadata: a name.
    pub key: Vec<u8>,
    /// The value as the store encodes it, without its height.
    pub value: Vec<u8>,
    /// Height of its last change; `None` where it is not committed yet, and for code and metadata.
    pub height: Option<Height>,
}

/// Rows in order, as of the moment when this was made. Ends with an error when it is older than
/// [`MAX_ITERATOR_AGE`].
pub struct RowIter<'a> {
    family: Family,
    reverse: bool,
    committed: Option<Scan<'a>>,
    /// Newest value by key, in the order of the iteration; `None`: deleted.
    pending: VecDeque<(Vec<u8>, Option<Vec<u8>>)>,
    since: Instant,
    max_age: Duration,
}

impl FlatKv {
    /// The rows of a data DB, pending ones included, as of this moment.
    pub fn rows(&self, db: DataDb, range: &RowRange) -> Result<RowIter<'_>, StateError> {
        if matches!(db, DataDb::Account | DataDb::Storage) {
            self.core.check_listing()?;
        }
        RowIter::new(&self.core, db, range)
    }
}

impl<'a> RowIter<'a> {
    pub(crate) fn new(core: &'a Core, db: DataDb, range: &RowRange) -> Result<Self, StateError> {
        let family = Family::of(db);
        // A commit changes rows and what is staged under this lock, so both are of one moment.
        let staged = core.staged.read();
        let committed = core.db.scan(family, range.from.as_deref(), range.to.as_deref(), range.reverse)?;
        let mut pending = pending_rows(&staged, db, range);
        drop(staged);
        if range.reverse {
            pending.make_contiguous().reverse();
        }
        let committed = Some(committed);
        let (since, max_age) = (Instant::now(), MAX_ITERATOR_AGE);
        Ok(Self { family, reverse: range.reverse, committed, pending, since, max_age })
    }

    /// Ends the iteration after another time than [`MAX_ITERATOR_AGE`]; a longer one counts as
    /// that.
    pub fn with_max_age(mut self, age: Duration) -> Self {
        self.max_age = age.min(MAX_ITERATOR_AGE);
        self
    }

    /// Whether the pending rows come first, or have the place of the committed one.
    fn order(&self) -> Option<Ordering> {
        let committed = self.committed.as_ref().and_then(Scan::row);
        match (self.pending.front(), committed) {
            (None, None) => None,
            (Some(_), None) => Some(Ordering::Less),
            (None, Some(_)) => Some(Ordering::Greater),
            (Some((pending, _)), Some((key, _))) => {
                let order = pending.as_slice().cmp(key);
                Some(if self.reverse { order.reverse() } else { order })
            }
        }
    }

    fn take_committed(&mut self) -> Result<Option<Row>, FlatKvError> {
        let Some(rows) = &mut self.committed else { return Ok(None) };
        let Some((key, row)) = rows.row() else { return Ok(None) };
        let stamped = matches!(self.family, Family::Account | Family::Storage | Family::Legacy);
        let (height, value) = match stamped.then(|| split_stamp(row)).transpose()? {
            Some((height, value)) => (Some(height), value),
            None => (None, row),
        };
        let row = Row { key: key.to_vec(), value: value.to_vec(), height };
        rows.next();
        Ok(Some(row))
    }

    fn step(&mut self) -> Result<Option<Row>, FlatKvError> {
        if self.since.elapsed() > self.max_age {
            // RocksDB is let go now, not when the caller gets to it.
            self.committed = None;
            self.pending.clear();
            return Err(FlatKvError::IteratorExpired { after: self.max_age });
        }
        loop {
            let Some(order) = self.order() else {
                // The rows may have ended for an error.
                return match self.committed.take() {
                    Some(rows) => rows.finish().map(|()| None).map_err(FlatKvError::from),
                    None => Ok(None),
                };
            };
            if order == Ordering::Greater {
                return self.take_committed();
            }
            if order == Ordering::Equal
                && let Some(rows) = &mut self.committed
            {
                rows.next();
            }
            if let Some((key, Some(value))) = self.pending.pop_front() {
                return Ok(Some(Row { key, value, height: None }));
            }
        }
    }
}

impl Iterator for RowIter<'_> {
    type Item = Result<Row, FlatKvError>;

    fn next(&mut self) -> Option<Self::Item> {
        // After an error there is nothing more to have.
        if self.committed.is_none() && self.pending.is_empty() {
            return None;
        }
        let step = self.step();
        if step.is_err() {
            self.committed = None;
            self.pending.clear();
        }
        step.transpose()
    }
}

/// The staged rows of a data DB in the range, ascending.
fn pending_rows(staged: &Staged, db: DataDb, range: &RowRange) -> VecDeque<(Vec<u8>, Option<Vec<u8>>)> {
    let row = |key: Vec<u8>, value: Option<Vec<u8>>| range.has(&key).then_some((key, value));
    match db {
        DataDb::Account => {
            let accounts = staged.accounts.iter();
            accounts
                .filter_map(|(address, staged)| row(address.to_vec(), staged.new.as_ref().map(account_value)))
                .collect()
        }
        DataDb::Storage => {
            let slots = staged.accounts.iter().flat_map(|(address, account)| {
                account.slots.iter().map(move |(slot, (_, new))| (slot_key(address, slot), new))
            });
            let value = |new: &alloy_primitives::U256| (!new.is_zero()).then(|| slot_value(new));
            slots.filter_map(|(key, new)| row(key.to_vec(), value(new))).collect()
        }
        DataDb::Code => {
            staged.codes.iter().filter_map(|(hash, code)| row(hash.to_vec(), Some(code.to_vec()))).collect()
        }
        DataDb::Legacy => {
            let lower = range.from.as_ref().map_or(Bound::Unbounded, Bound::Included);
            let rows = staged.legacy.range::<Vec<u8>, _>((lower, Bound::Unbounded));
            rows.map_while(|(key, (_, new))| row(key.clone(), new.clone())).collect()
        }
        DataDb::Metadata => VecDeque::new(),
    }
}
