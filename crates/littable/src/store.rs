//! A store: its roots, its locks, and its tables.

use crate::LittError;
use crate::ctx::{Ctx, Parts};
use crate::format::random;
use crate::handles::Handles;
use crate::handover::Handover;
use crate::keeper::Keeper;
use crate::manifest::{LOCK_FILE, settle_roots};
use crate::names::Names;
use crate::pages::Budget;
use crate::run::parse_run_name;
use crate::segment::{OpenSegment, parse_segment_name};
use crate::state::{STATE_FILE, State};
use crate::table::Table;
use crate::{MAX_SEGMENT_BYTES, MAX_SHARDS, StoreOptions, TableOptions};
use hearth_disk::{EntryKind, FsKind, Lock};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A folder, or several on as many volumes, with tables.
#[derive(Debug)]
pub struct Littable {
    inner: Arc<StoreInner>,
}

/// What lives as long as the store or any of its tables.
#[derive(Debug)]
pub(crate) struct StoreInner {
    options: StoreOptions,
    roots: Vec<PathBuf>,
    read_only: bool,
    handles: Arc<Handles>,
    budget: Arc<Budget>,
    keeper: Keeper,
    handover: Handover,
    tables: Mutex<HashMap<String, Weak<Table>>>,
    names: Arc<Names>,
    _locks: Vec<Lock>,
}

impl Littable {
    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// [`LittError::Locked`], [`LittError::NetworkFs`], [`LittError::RootMissing`],
    /// [`LittError::ForeignRoot`], [`LittError::BadSetting`], [`LittError::Io`].
    pub fn open(options: StoreOptions) -> Result<Self, LittError> {
        Self::open_as(options, false)
    }

    /// Opens the store for reading, beside a process that may have it open for writing. Tables show
    /// what had reached the operating system when they were opened or refreshed last.
    ///
    /// # Errors
    /// As [`Littable::open`], but for the lock, which is not taken.
    pub fn open_read_only(options: StoreOptions) -> Result<Self, LittError> {
        Self::open_as(options, true)
    }

    fn open_as(options: StoreOptions, read_only: bool) -> Result<Self, LittError> {
        let disk = &*options.disk;
        check(&options)?;
        let mut locks = Vec::new();
        for root in &options.roots {
            if !read_only {
                disk.create_dir_all(root).map_err(LittError::io(root))?;
            }
            let kind = disk.fs_kind(root).map_err(LittError::io(root))?;
            if let FsKind::Network(kind) = kind
                && !options.allow_network_fs
            {
                return Err(LittError::NetworkFs { path: root.clone(), kind });
            }
            if !read_only {
                locks.push(
                    disk.lock(&root.join(LOCK_FILE)).map_err(|error| LittError::Locked(Arc::new(error)))?,
                );
            }
        }
        let roots = settle_roots(disk, &options.roots, !read_only)?;
        let threads = if read_only { 0 } else { options.background_threads };
        let keeper = Keeper::new(threads, options.gc_period).map_err(LittError::io(&roots[0]))?;
        let handover = Handover::new(threads > 0).map_err(LittError::io(&roots[0]))?;
        let inner = StoreInner {
            handles: Arc::new(Handles::new(options.disk.clone(), options.max_open_files)),
            budget: Arc::new(Budget::new(options.index_memory_bytes)),
            tables: Mutex::default(),
            names: Arc::default(),
            _locks: locks,
            keeper,
            handover,
            read_only,
            roots,
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a table, or makes it. Torn tails are cut off.
    ///
    /// # Errors
    /// [`LittError::AlreadyOpen`], [`LittError::BadName`], [`LittError::BadSetting`] where a
    /// setting is out of bounds or differs from what is fixed, [`LittError::NoSuchTable`] in a
    /// store that is open for reading, [`LittError::Corrupt`] where a segment is missing or its
    /// header is damaged, [`LittError::Io`]. Damaged records do not keep a table from opening; see
    /// [`Table::get`].
    pub fn table(&self, options: TableOptions) -> Result<Arc<Table>, LittError> {
        let inner = &self.inner;
        check_table(&options)?;
        let mut tables = inner.tables.lock();
        inner.check_closed(&tables, &options.name)?;
        let dirs = self.dirs(&options.name)?;
        let (home, state) = self.state(&options, &dirs)?;
        let mut options = options;
        options.shards = state.shards;
        let name = options.name.clone();
        let from = &inner.options;
        let parts = Parts {
            dirs,
            home,
            disk: from.disk.clone(),
            clock: from.clock.clone(),
            metrics: from.metrics.clone(),
            handles: inner.handles.clone(),
            budget: inner.budget.clone(),
            read_only: inner.read_only,
            gc_period: from.gc_period,
            lease: from.iterator_lease,
        };
        let ctx = Arc::new(Ctx::new(parts, options, state));
        let table = Arc::new(Table::open(ctx, inner.clone(), inner.names.take(&name))?);
        tables.insert(name, Arc::downgrade(&table));
        inner.keeper.add(Arc::downgrade(&table));
        drop(tables);
        inner.poke(&table);
        Ok(table)
    }

    /// The table's folders, one in each root.
    fn dirs(&self, name: &str) -> Result<Vec<PathBuf>, LittError> {
        let inner = &self.inner;
        let disk = &*inner.options.disk;
        let dirs: Vec<PathBuf> = inner.roots.iter().map(|root| root.join(name)).collect();
        if !inner.read_only {
            for dir in &dirs {
                disk.create_dir_all(dir).map_err(LittError::io(dir))?;
            }
            return Ok(dirs);
        }
        let mut there = Vec::new();
        for dir in dirs {
            if disk.exists(&dir).map_err(LittError::io(&dir))? {
                there.push(dir);
            }
        }
        if there.is_empty() { Err(LittError::NoSuchTable(name.to_owned())) } else { Ok(there) }
    }

    /// The table's state and the folder that has it; makes both for a new table.
    fn state(&self, options: &TableOptions, dirs: &[PathBuf]) -> Result<(PathBuf, State), LittError> {
        let disk = &*self.inner.options.disk;
        let read_only = self.inner.read_only;
        for dir in dirs {
            let Some(state) = State::read(disk, dir)? else { continue };
            let differs = |setting, there: String, asked: String| {
                Err(LittError::BadSetting {
                    setting,
                    why: format!("the table has {there}, {asked} was requested"),
                })
            };
            if state.keys != options.keys {
                return differs("keys", format!("{:?}", state.keys), format!("{:?}", options.keys));
            }
            if state.shards != options.shards {
                return differs("shards", state.shards.to_string(), options.shards.to_string());
            }
            if !read_only {
                state.write_again(disk, dir)?;
            }
            return Ok((dir.clone(), state));
        }
        if read_only {
            return Err(LittError::NoSuchTable(options.name.clone()));
        }
        // Without its state the secret of its keys is lost: segments that are there are not taken
        // for a new table's.
        for dir in dirs {
            for entry in disk.list(dir).map_err(LittError::io(dir))? {
                let name = entry.name.to_string_lossy();
                if parse_segment_name(&name).is_some() || parse_run_name(&name).is_some() {
                    return Err(LittError::corrupt(
                        &dirs[0].join(STATE_FILE),
                        0,
                        "state of the table is missing",
                    ));
                }
            }
        }
        let state = State {
            shards: options.shards,
            keys: options.keys,
            secret: random(),
            floor: 0,
            age_ms: 0,
            gone: vec![Vec::new(); usize::from(options.shards)],
            dictionary: 0,
            cuts: Vec::new(),
            cutting: None,
        };
        state.write(disk, &dirs[0])?;
        Ok((dirs[0].clone(), state))
    }

    /// The roots in the store's order.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.inner.roots
    }

    /// Names of the tables on disk, sorted.
    ///
    /// # Errors
    /// [`LittError::Io`].
    pub fn table_names(&self) -> Result<Vec<String>, LittError> {
        let disk = &*self.inner.options.disk;
        let mut names = Vec::new();
        for root in &self.inner.roots {
            for entry in disk.list(root).map_err(LittError::io(root))? {
                let path = root.join(&entry.name).join(STATE_FILE);
                if entry.kind == EntryKind::Dir && disk.exists(&path).map_err(LittError::io(&path))? {
                    names.extend(entry.name.into_string());
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Shards and keys of a table on disk, for opening it without knowing them; the other settings
    /// are the defaults.
    ///
    /// # Errors
    /// [`LittError::NoSuchTable`], [`LittError::Corrupt`], [`LittError::Io`].
    pub fn options_of(&self, name: &str) -> Result<TableOptions, LittError> {
        for root in &self.inner.roots {
            if let Some(state) = State::read(&*self.inner.options.disk, &root.join(name))? {
                return Ok(TableOptions {
                    shards: state.shards,
                    keys: state.keys,
                    ..TableOptions::new(name)
                });
            }
        }
        Err(LittError::NoSuchTable(name.to_owned()))
    }

    /// Removes a table that is not open, with everything in it.
    ///
    /// # Errors
    /// [`LittError::AlreadyOpen`], [`LittError::NoSuchTable`], [`LittError::ReadOnly`],
    /// [`LittError::Io`].
    pub fn drop_table(&self, name: &str) -> Result<(), LittError> {
        let inner = &self.inner;
        if inner.read_only {
            return Err(LittError::ReadOnly {
                table: name.into(),
                cause: "it was opened for reading".into(),
            });
        }
        let tables = inner.tables.lock();
        inner.check_closed(&tables, name)?;
        let disk = &*inner.options.disk;
        let mut dirs = Vec::new();
        for root in &inner.roots {
            let dir = root.join(name);
            if disk.exists(&dir).map_err(LittError::io(&dir))? {
                dirs.push(dir);
            }
        }
        if dirs.is_empty() {
            return Err(LittError::NoSuchTable(name.to_owned()));
        }
        // The state goes last: until then the table opens as damaged, never as a new one.
        for last in [false, true] {
            for dir in &dirs {
                for entry in disk.list(dir).map_err(LittError::io(dir))? {
                    let path = dir.join(&entry.name);
                    if last || entry.name != STATE_FILE {
                        disk.remove_file(&path).map_err(LittError::io(&path))?;
                    }
                }
                disk.sync_dir(dir).map_err(LittError::io(dir))?;
            }
        }
        for (dir, root) in dirs.iter().zip(&inner.roots) {
            disk.remove_dir(dir).map_err(LittError::io(dir))?;
            let root = dir.parent().unwrap_or(root);
            disk.sync_dir(root).map_err(LittError::io(root))?;
        }
        let metrics = inner.options.metrics.table(name);
        metrics.key_count.set(0);
        metrics.size_bytes.set(0);
        Ok(())
    }

    /// Makes everything durable that was put into any open table before the call.
    ///
    /// # Errors
    /// The first table's error; the others are flushed all the same.
    pub fn flush(&self) -> Result<(), LittError> {
        let tables: Vec<_> = self.inner.tables.lock().values().filter_map(Weak::upgrade).collect();
        let flushed: Vec<_> = tables.iter().map(|table| table.flush()).collect();
        flushed.into_iter().collect()
    }

    /// Bounds what may go from memory at any time (frames that are kept, pages of key indexes) to
    /// `part` of `whole` of what the settings allow, from now on.
    pub fn set_cache_fraction(&self, part: usize, whole: usize) {
        self.inner.budget.set_capacity_fraction(part, whole);
        // Locked until the end: references taken here are no use of a table that keeps it from
        // being opened again.
        for table in self.inner.tables.lock().values().filter_map(Weak::upgrade) {
            for cache in [&table.ctx.read_cache, &table.ctx.write_cache].into_iter().flatten() {
                cache.set_capacity_fraction(part, whole);
            }
        }
    }

    /// Memory that the key indexes of all open tables take, with pages of them that are kept after
    /// a read, in bytes. At most [`StoreOptions::index_memory_bytes`], but for what cannot be done
    /// without: the first keys of pages, and the keys of segments that are not sealed.
    pub fn index_memory_bytes(&self) -> u64 {
        self.inner.budget.memory() as u64
    }

    /// Bytes that may still be written to each root.
    ///
    /// # Errors
    /// [`LittError::Io`].
    pub fn free_bytes(&self) -> Result<Vec<(PathBuf, u64)>, LittError> {
        let disk = &*self.inner.options.disk;
        let free = |root: &PathBuf| Ok((root.clone(), disk.free_bytes(root).map_err(LittError::io(root))?));
        self.inner.roots.iter().map(free).collect()
    }
}

impl Drop for Littable {
    /// Ends the threads. Tables that are still used continue without them; the locks end with the
    /// last one.
    fn drop(&mut self) {
        self.inner.keeper.stop();
        self.inner.handover.stop();
    }
}

impl StoreInner {
    /// Refuses a table that is used. One that is not may still be writing its end, on the thread
    /// that dropped the last reference: that is waited for.
    fn check_closed(&self, tables: &HashMap<String, Weak<Table>>, name: &str) -> Result<(), LittError> {
        let is_used = tables.get(name).is_some_and(|table| self.keeper.has_users(table));
        match !is_used && self.names.wait_until_closed(name) {
            true => Ok(()),
            false => Err(LittError::AlreadyOpen(name.to_owned())),
        }
    }

    /// Has a segment's buffer written by another thread; false where there is none.
    pub fn write_soon(&self, open: &Arc<OpenSegment>) -> bool {
        self.handover.take(open)
    }

    /// Has a table's background work done: soon, or at once where there are no threads.
    pub fn poke(&self, table: &Table) {
        if self.keeper.has_threads() {
            self.keeper.poke(table);
        } else if !self.read_only {
            // What fails is tried again with the next put that makes it necessary.
            let _ = table.housekeep(false);
        }
    }
}

fn check(options: &StoreOptions) -> Result<(), LittError> {
    let bad = |setting, why: &str| Err(LittError::BadSetting { setting, why: why.to_owned() });
    if options.roots.is_empty() {
        return bad("roots", "there is none");
    }
    if options.gc_period < Duration::from_millis(1) {
        return bad("gc_period", "it is shorter than a millisecond");
    }
    if options.max_open_files == 0 {
        return bad("max_open_files", "it is zero");
    }
    Ok(())
}

fn check_table(options: &TableOptions) -> Result<(), LittError> {
    let bad = |setting, why: String| Err(LittError::BadSetting { setting, why });
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !(1..=64).contains(&options.name.len()) || !options.name.bytes().all(letter) {
        return Err(LittError::BadName(options.name.clone()));
    }
    if !(1..=MAX_SHARDS).contains(&options.shards) {
        return bad("shards", format!("{} is not 1 to {MAX_SHARDS}", options.shards));
    }
    if !(1..=MAX_SEGMENT_BYTES).contains(&options.segment_bytes) {
        return bad("segment_bytes", format!("{} is not 1 to {MAX_SEGMENT_BYTES}", options.segment_bytes));
    }
    if options.segment_keys == 0 {
        return bad("segment_keys", "it is zero".to_owned());
    }
    options.compression.check()
}
