//! Backups: complete copies of homes in their own folders, made while a node is running or without
//! one.
//!
//! `DIR/<height>-<n>/` is a home: copied elsewhere or opened in place, it continues from its head.
//! The state is copied from the newest snapshot, then the log from there on, then the ledger's
//! tables, in this order, so that the tables contain everything that the log refers to. The copy is
//! opened before it gets its name, which brings all of it to one height and proves that it opens.
//! Sealed files are not copied again by default: table files of RocksDB are hard links to those of
//! the snapshot, segments of the ledger that an earlier backup has are hard links to those.

use super::{described, state_options};
use crate::home::HomePaths;
use crate::{Chain, ChainError, ChainOptions};
use hearth_flatkv::{Head, Options, Snapshot, list_snapshots};
use hearth_primitives::Height;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Attempts at a copy; the node may change files during one.
const TRIES: usize = 3;
/// Newest files of a table that may still be written: they are copied, never linked.
const UNSEALED: usize = 2;
/// What the name of a backup begins with while it is made.
const MAKING: &str = "making";

/// How a backup is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// Whether every file is copied and none is a hard link.
    pub copy: bool,
    /// Newest backups that stay in the folder; `None` keeps all.
    pub keep: Option<NonZeroUsize>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupProgress {
    /// Bytes copied or linked.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// What a backup has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Its folder.
    pub dir: PathBuf,
    /// Its head.
    pub head: Head,
    /// Whether a node had the home meanwhile.
    pub beside_node: bool,
    /// Height of the snapshot that the state comes from.
    pub snapshot: Height,
    /// Files and bytes that were copied.
    pub copied: (u64, u64),
    /// Files and bytes that were linked, because they never change.
    pub linked: (u64, u64),
    /// Older backups that were removed.
    pub removed: Vec<PathBuf>,
}

/// Backs a home up into a new folder in `to`. Without a node, a snapshot is taken first if the
/// newest is not of the head; a node's newest snapshot is used as it is.
///
/// # Errors
/// [`hearth_flatkv::FlatKvError::NoSnapshot`] if a node is running that has taken none;
/// [`ChainError::Cancelled`]; [`ChainError::Io`]; errors of opening the copy.
pub fn back_up(
    home: &Path,
    to: &Path,
    how: BackupOptions,
    options: &ChainOptions,
    watch: &mut dyn FnMut(BackupProgress) -> bool,
) -> Result<BackupReport, ChainError> {
    let (paths, file) = described(home)?;
    let roots = options.ledger.settings.extra_roots.len();
    if roots > 0 {
        return Err(ChainError::LedgerElsewhere { home: home.to_owned(), roots });
    }
    let beside_node = match Chain::open(home, options) {
        Ok(chain) => {
            chain.kv.snapshot()?;
            chain.close()?;
            false
        }
        Err(error) if error.home_in_use().is_some() => true,
        Err(other) => return Err(other),
    };
    let state = state_options(&paths, &file, options);
    // Held while the files are copied, so that no node starts meanwhile; a running node holds it
    // itself.
    let lock = state.dir.join(hearth_flatkv::LOCK_FILE);
    let _lock = if beside_node {
        None
    } else {
        Some(state.disk.lock(&lock).map_err(hearth_flatkv::FlatKvError::from)?)
    };
    fs::create_dir_all(to).map_err(ChainError::io(to))?;
    let mut tries = 0;
    loop {
        tries += 1;
        let mut work = Work::new(&paths, to, how, &state, watch)?;
        let made = work.make().and_then(|()| open_copy(&work.making, options));
        match made {
            Ok(head) => return work.publish(head, beside_node),
            Err(ChainError::Cancelled) => return Err(ChainError::Cancelled),
            Err(error) if tries == TRIES || !beside_node => return Err(error),
            Err(_) => {}
        }
    }
}

/// Opens the copy, which brings it to one height, and closes it.
fn open_copy(making: &Path, options: &ChainOptions) -> Result<Head, ChainError> {
    let quiet = ChainOptions { metrics: Default::default(), ..options.clone() };
    let chain = Chain::open(making, &quiet)?;
    let head = chain.head();
    chain.close()?;
    Ok(head)
}

struct Work<'a> {
    paths: &'a HomePaths,
    to: &'a Path,
    how: BackupOptions,
    making: PathBuf,
    /// The backup before this one.
    last: Option<PathBuf>,
    snapshot: Snapshot,
    watch: &'a mut dyn FnMut(BackupProgress) -> bool,
    progress: BackupProgress,
    copied: (u64, u64),
    linked: (u64, u64),
}

impl<'a> Work<'a> {
    fn new(
        paths: &'a HomePaths,
        to: &'a Path,
        how: BackupOptions,
        state: &Options,
        watch: &'a mut dyn FnMut(BackupProgress) -> bool,
    ) -> Result<Self, ChainError> {
        let snapshot = list_snapshots(state)?.pop().ok_or_else(|| {
            let dir = state.dir.join("snapshots");
            hearth_flatkv::FlatKvError::NoSnapshot { dir, asked: None, there: Vec::new() }
        })?;
        let (copied, linked) = ((0, 0), (0, 0));
        let (making, last) = (to.join(MAKING), backups(to)?.pop());
        Ok(Self {
            paths,
            to,
            how,
            making,
            last,
            snapshot,
            watch,
            progress: BackupProgress::default(),
            copied,
            linked,
        })
    }

    fn make(&mut self) -> Result<(), ChainError> {
        if self.making.exists() {
            fs::remove_dir_all(&self.making).map_err(ChainError::io(&self.making))?;
        }
        let copy = HomePaths::new(&self.making);
        let (paths, database) = (self.paths, self.snapshot.database());
        self.progress.total =
            [&database, &paths.wal(), &paths.ledger()].into_iter().map(|dir| bytes_in(dir)).sum();
        self.folder(&paths.config(), &copy.config(), usize::MAX)?;
        if paths.format().exists() {
            self.copy(&paths.format(), &copy.format())?;
        }
        self.state(&database, &copy.state().join("db"))?;
        self.log(&paths.wal(), &copy.wal())?;
        self.ledger(&paths.ledger(), &copy.ledger())
    }

    /// The snapshot's database: table files by links.
    fn state(&mut self, from: &Path, to: &Path) -> Result<(), ChainError> {
        fs::create_dir_all(to).map_err(ChainError::io(to))?;
        for name in names(from)? {
            if name == "LOCK" || name.starts_with("LOG") {
                continue;
            }
            let (from, to) = (from.join(&name), to.join(&name));
            if !self.how.copy && name.ends_with(".sst") && fs::hard_link(&from, &to).is_ok() {
                self.count(&to, true)?;
            } else {
                self.copy(&from, &to)?;
            }
        }
        Ok(())
    }

    /// The log from the snapshot's last record on.
    fn log(&mut self, from: &Path, to: &Path) -> Result<(), ChainError> {
        fs::create_dir_all(to).map_err(ChainError::io(to))?;
        let names = names(from)?;
        let first = |name: &String| name.split_once('.').and_then(|(number, _)| number.parse::<u64>().ok());
        let needed =
            names.iter().rposition(|name| first(name).is_some_and(|n| n <= self.snapshot.wal_sequence + 1));
        for name in names.iter().skip(needed.unwrap_or(0)) {
            self.copy(&from.join(name), &to.join(name))?;
        }
        Ok(())
    }

    /// The tables: each in a folder, small files beside them.
    fn ledger(&mut self, from: &Path, to: &Path) -> Result<(), ChainError> {
        self.folder(from, to, usize::MAX)?;
        for name in names(from)? {
            if from.join(&name).is_dir() {
                self.folder(&from.join(&name), &to.join(&name), UNSEALED)?;
            }
        }
        Ok(())
    }

    /// The files of a folder. All but the newest `unsealed` segments may be linked from the
    /// previous backup.
    fn folder(&mut self, from: &Path, to: &Path, unsealed: usize) -> Result<(), ChainError> {
        fs::create_dir_all(to).map_err(ChainError::io(to))?;
        let names = names(from)?;
        let segments = names.iter().filter(|name| name.ends_with(".seg")).count();
        let mut before = 0;
        for name in names {
            let path = from.join(&name);
            if path.is_dir() || name.ends_with(".lock") {
                continue;
            }
            let sealed = name.ends_with(".seg") && before + unsealed.min(segments) < segments;
            before += usize::from(name.ends_with(".seg"));
            let target = to.join(&name);
            if sealed && self.link_from_last(&path, &target)? {
                self.count(&target, true)?;
            } else {
                match self.copy(&path, &target) {
                    // The node removed it in between; the opening says whether it is missed.
                    Err(ChainError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                    copied => copied?,
                }
            }
        }
        Ok(())
    }

    /// Links a file from the backup before, where that has the same one: of the same size and time.
    fn link_from_last(&self, from: &Path, to: &Path) -> Result<bool, ChainError> {
        let last = self.last.as_ref().filter(|_| !self.how.copy);
        let (Some(last), Ok(name)) = (last, to.strip_prefix(&self.making)) else { return Ok(false) };
        let there = last.join(name);
        let of = |path: &Path| fs::metadata(path).ok().and_then(|of| Some((of.len(), of.modified().ok()?)));
        Ok(of(&there).is_some_and(|of_there| of(from) == Some(of_there)) && fs::hard_link(&there, to).is_ok())
    }

    /// Copies a file with its time, durably.
    fn copy(&mut self, from: &Path, to: &Path) -> Result<(), ChainError> {
        if let Some(dir) = to.parent() {
            fs::create_dir_all(dir).map_err(ChainError::io(dir))?;
        }
        let modified = fs::metadata(from).and_then(|of| of.modified()).map_err(ChainError::io(from))?;
        fs::copy(from, to).map_err(ChainError::io(from))?;
        let file = File::options().write(true).open(to).map_err(ChainError::io(to))?;
        file.set_modified(modified).and_then(|()| file.sync_all()).map_err(ChainError::io(to))?;
        self.count(to, false)
    }

    fn count(&mut self, path: &Path, linked: bool) -> Result<(), ChainError> {
        let bytes = fs::metadata(path).map_err(ChainError::io(path))?.len();
        let counted = if linked { &mut self.linked } else { &mut self.copied };
        counted.0 += 1;
        counted.1 += bytes;
        self.progress.done += bytes;
        if (self.watch)(self.progress) { Ok(()) } else { Err(ChainError::Cancelled) }
    }

    /// Makes all of it durable, gives it its name, and removes backups that are not to be kept.
    fn publish(self, head: Head, beside_node: bool) -> Result<BackupReport, ChainError> {
        sync_tree(&self.making)?;
        let number = numbered(self.to)?.last().map_or(1, |(number, _)| number + 1);
        let dir = self.to.join(format!("{:020}-{number:04}", head.height));
        fs::rename(&self.making, &dir).map_err(ChainError::io(&dir))?;
        sync_dir(self.to)?;
        let removed = self.remove_old()?;
        let (snapshot, copied, linked) = (self.snapshot.height, self.copied, self.linked);
        Ok(BackupReport { dir, head, beside_node, snapshot, copied, linked, removed })
    }

    fn remove_old(&self) -> Result<Vec<PathBuf>, ChainError> {
        let Some(keep) = self.how.keep else { return Ok(Vec::new()) };
        let mut old = backups(self.to)?;
        old.truncate(old.len().saturating_sub(keep.get()));
        for dir in &old {
            fs::remove_dir_all(dir).map_err(ChainError::io(dir))?;
        }
        Ok(old)
    }
}

/// The backups in a folder, oldest first by their number.
fn backups(to: &Path) -> Result<Vec<PathBuf>, ChainError> {
    Ok(numbered(to)?.into_iter().map(|(_, path)| path).collect())
}

/// The same with their numbers.
fn numbered(to: &Path) -> Result<Vec<(u64, PathBuf)>, ChainError> {
    let mut found = Vec::new();
    for name in names(to)? {
        let number = name.split_once('-').filter(|(height, _)| height.len() == 20);
        if let Some(number) = number.and_then(|(_, number)| number.parse::<u64>().ok()) {
            found.push((number, to.join(name)));
        }
    }
    found.sort();
    Ok(found)
}

/// Names in a folder, sorted; none where there is no folder.
fn names(dir: &Path) -> Result<Vec<String>, ChainError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ChainError::io(dir)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(ChainError::io(dir))?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(of) if of.is_dir() => bytes_in(&entry.path()),
        Ok(of) => of.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

fn sync_tree(dir: &Path) -> Result<(), ChainError> {
    for name in names(dir)? {
        let path = dir.join(name);
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path).and_then(|file| file.sync_all()).map_err(ChainError::io(&path))?;
        }
    }
    sync_dir(dir)
}

fn sync_dir(dir: &Path) -> Result<(), ChainError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(ChainError::io(dir))
}
