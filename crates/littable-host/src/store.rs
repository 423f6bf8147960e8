//! A store, its threads, and what was opened from it.

use super::options::from_json;
use super::{ScriptError, ScriptIter, ScriptStoreOptions, ScriptTable, ScriptTableOptions};
use hearth_home::workers::{WorkerPool, guarded};
use hearth_littable::{LittError, Littable, StoreOptions, TableOptions};
use hearth_metrics::{LittMetrics, Registry};
use parking_lot::{Mutex, RwLock};
use std::sync::{Arc, Weak};

/// A store that a script has open.
pub struct ScriptStore {
    shared: Arc<Shared>,
}

/// What a store and all that was opened from it share.
pub(super) struct Shared {
    store: RwLock<Option<Littable>>,
    read_only: bool,
    pool: WorkerPool,
    metrics: Registry,
    opened: Mutex<Vec<Opened>>,
}

/// What keeps the store's files from being let go.
pub(super) enum Opened {
    Table(Weak<ScriptTable>),
    Iter(Weak<ScriptIter>),
}

impl ScriptStore {
    /// Opens a store, or makes it; the options are JSON.
    ///
    /// # Errors
    /// [`ScriptError::Options`] naming the field; those of littable.
    pub fn open(options: &str) -> Result<Self, ScriptError> {
        let options: ScriptStoreOptions = from_json(options)?;
        let metrics = Registry::new();
        let store = StoreOptions { metrics: LittMetrics::new(&metrics), ..options.store() };
        let store = match options.read_only {
            true => Littable::open_read_only(store)?,
            false => Littable::open(store)?,
        };
        let pool = WorkerPool::new("littable", options.workers())?;
        let (store, opened) = (RwLock::new(Some(store)), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { store, read_only: options.read_only, pool, metrics, opened }) })
    }

    /// Runs work on one of the store's threads. The callback is called exactly once; at once where
    /// the queue is full or the store is closed. A panic inside is an error.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ScriptStore) -> Result<T, ScriptError> + Send + 'static,
        done: impl FnOnce(Result<T, ScriptError>) + Send + 'static,
    ) {
        let store = Self { shared: self.shared.clone() };
        self.shared.spawn(move || work(&store), done);
    }

    /// Opens a table, or makes it; the options are JSON.
    ///
    /// # Errors
    /// [`ScriptError::Options`], [`ScriptError::Closed`]; those of littable.
    pub fn table(&self, options: &str) -> Result<Arc<ScriptTable>, ScriptError> {
        let options: ScriptTableOptions = from_json(options)?;
        let table = self.shared.with(|store| {
            // A table that is there has its shards and its kind of keys; who opens it need not say
            // them again.
            let there = match store.options_of(&options.name) {
                Err(LittError::NoSuchTable(_)) => TableOptions::new(options.name.clone()),
                there => there?,
            };
            Ok(store.table(options.over(there))?)
        })?;
        let table = Arc::new(ScriptTable::new(table, self.shared.clone()));
        self.shared.remember(Opened::Table(Arc::downgrade(&table)));
        Ok(table)
    }

    /// Names of the tables, sorted.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn table_names(&self) -> Result<Vec<String>, ScriptError> {
        self.shared.with(|store| Ok(store.table_names()?))
    }

    /// Removes a table that is not open.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn drop_table(&self, name: &str) -> Result<(), ScriptError> {
        self.shared.with(|store| Ok(store.drop_table(name)?))
    }

    /// Makes everything durable that was put into any open table before the call.
    ///
    /// # Errors
    /// [`ScriptError::Closed`]; those of littable.
    pub fn flush(&self) -> Result<(), ScriptError> {
        self.shared.with(|store| Ok(store.flush()?))
    }

    /// The values of the store's instruments, see [`Registry::snapshot_json`].
    pub fn metrics_snapshot(&self) -> String {
        self.shared.metrics.snapshot_json()
    }

    /// Lets calls under way finish, flushes, and lets go of everything that was opened. A second
    /// call does nothing. Not to be called on one of the store's threads.
    ///
    /// # Errors
    /// Those of the flush; the store is closed all the same.
    pub fn close(&self) -> Result<(), ScriptError> {
        self.shared.pool.close();
        let store = self.shared.store.write().take();
        let flushed = match &store {
            Some(store) if !self.shared.read_only => store.flush(),
            _ => Ok(()),
        };
        for opened in std::mem::take(&mut *self.shared.opened.lock()) {
            match opened {
                Opened::Table(table) => table.upgrade().iter().for_each(|table| table.close()),
                Opened::Iter(iter) => iter.upgrade().iter().for_each(|iter| iter.close()),
            }
        }
        Ok(flushed?)
    }
}

impl Shared {
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ScriptError> + Send + 'static,
        done: impl FnOnce(Result<T, ScriptError>) + Send + 'static,
    ) {
        let submitted = self.pool.submit_with(done, |done| {
            done(guarded(|| Ok(work())).unwrap_or_else(|panic| Err(panic.into())));
        });
        if let Err((done, error)) = submitted {
            done(Err(error.into()));
        }
    }

    /// Notes what is to be let go when the store is closed.
    pub fn remember(&self, opened: Opened) {
        let mut all = self.opened.lock();
        all.retain(|opened| match opened {
            Opened::Table(table) => table.strong_count() > 0,
            Opened::Iter(iter) => iter.strong_count() > 0,
        });
        all.push(opened);
    }

    fn with<T>(&self, work: impl FnOnce(&Littable) -> Result<T, ScriptError>) -> Result<T, ScriptError> {
        work(self.store.read().as_ref().ok_or(ScriptError::Closed("store"))?)
    }
}
