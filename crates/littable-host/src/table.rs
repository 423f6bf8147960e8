//! A table that a script has open.

use super::store::{Opened, Shared};
use super::{ScriptError, ScriptIter};
use hearth_littable::{Direction, Group, Table, Value};
use parking_lot::RwLock;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A value with its keys, as it comes from a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedGroup {
    /// Primary key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
    /// Secondary keys with their byte ranges of the value.
    pub secondary: Vec<(Vec<u8>, Range<u32>)>,
    /// What retention goes by.
    pub number: Option<u64>,
}

/// A table. Closing it lets it be opened again or dropped; calls after that are refused.
pub struct ScriptTable {
    table: RwLock<Option<Arc<Table>>>,
    shared: Arc<Shared>,
}

impl ScriptTable {
    pub(super) fn new(table: Arc<Table>, shared: Arc<Shared>) -> Self {
        Self { table: RwLock::new(Some(table)), shared }
    }

    /// Runs work on one of the store's threads; see [`super::ScriptStore::spawn`].
    pub fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, ScriptError> + Send + 'static,
        done: impl FnOnce(Result<T, ScriptError>) + Send + 'static,
    ) {
        let table = self.clone();
        self.shared.spawn(move || work(&table), done);
    }

    fn open(&self) -> Result<Arc<Table>, ScriptError> {
        self.table.read().clone().ok_or(ScriptError::Closed("table"))
    }

    /// Puts groups, each whole or not at all, in their order.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn put(&self, groups: &[OwnedGroup]) -> Result<(), ScriptError> {
        let table = self.open()?;
        let secondary: Vec<Vec<(&[u8], Range<u32>)>> = groups
            .iter()
            .map(|group| group.secondary.iter().map(|(key, range)| (&**key, range.clone())).collect())
            .collect();
        let groups: Vec<Group<'_>> = groups
            .iter()
            .zip(&secondary)
            .map(|(OwnedGroup { key, value, number, .. }, secondary)| Group {
                key,
                value,
                secondary,
                number: *number,
            })
            .collect();
        Ok(table.put_batch(&groups)?)
    }

    /// The bytes under a key, or a range of them.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn get(&self, key: &[u8], range: Option<Range<u32>>) -> Result<Option<Value>, ScriptError> {
        let table = self.open()?;
        Ok(match range {
            Some(range) => table.get_range(key, range)?,
            None => table.get(key)?,
        })
    }

    /// The bytes under each of several keys.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; what is wrong with a single key is said in its place.
    pub fn multi_get(
        &self,
        keys: &[Vec<u8>],
    ) -> Result<Vec<Result<Option<Value>, ScriptError>>, ScriptError> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        Ok(self.open()?.multi_get(&keys).into_iter().map(|value| Ok(value?)).collect())
    }

    /// Whether a key is there.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn exists(&self, key: &[u8]) -> Result<bool, ScriptError> {
        Ok(self.open()?.exists(key)?)
    }

    /// Makes everything durable that was put before the call.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn flush(&self) -> Result<(), ScriptError> {
        Ok(self.open()?.flush()?)
    }

    /// Sees what a writer has done meanwhile, in a store that is open for reading.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn refresh(&self) -> Result<(), ScriptError> {
        Ok(self.open()?.refresh()?)
    }

    /// Raises the lowest number that is kept.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn set_floor(&self, floor: u64) -> Result<(), ScriptError> {
        Ok(self.open()?.set_floor(floor)?)
    }

    /// Sets how long records are kept at least.
    ///
    /// # Errors
    /// [`ScriptError::Closed`].
    pub fn set_ttl(&self, ttl: Option<Duration>) -> Result<(), ScriptError> {
        self.open()?.set_ttl(ttl);
        Ok(())
    }

    /// Removes the segments that retention lets go; how many.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn collect(&self) -> Result<u32, ScriptError> {
        Ok(self.open()?.collect()?)
    }

    /// Takes away everything behind a position.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn truncate(&self, position: u64) -> Result<(), ScriptError> {
        Ok(self.open()?.truncate(position)?)
    }

    /// Where the last group ends.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn position(&self) -> Result<u64, ScriptError> {
        Ok(self.open()?.position()?)
    }

    /// Keys, bytes and floor.
    ///
    /// # Errors
    /// [`ScriptError::Closed`].
    pub fn totals(&self) -> Result<(u64, u64, u64), ScriptError> {
        let table = self.open()?;
        Ok((table.len(), table.size(), table.floor()))
    }

    /// Iterates, from a key on where one is given; `None` where that is not there.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn iterate(
        &self,
        direction: Direction,
        from: Option<&[u8]>,
    ) -> Result<Option<Arc<ScriptIter>>, ScriptError> {
        let table = self.open()?;
        let iter = match from {
            None => Some(table.iter(direction)?),
            Some(key) => table.iter_from(key, direction)?,
        };
        Ok(iter.map(|iter| {
            let iter = Arc::new(ScriptIter::new(iter, self.shared.clone()));
            self.shared.remember(Opened::Iter(Arc::downgrade(&iter)));
            iter
        }))
    }

    /// Lets go of the table, after the calls under way.
    pub fn close(&self) {
        drop(self.table.write().take());
    }
}
