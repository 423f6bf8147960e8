//! Taking roots away from a store: what lies in them moves to those that stay.
//!
//! A file is copied, made durable under its name, and only then taken away where it was; the store
//! forgets a root when nothing of it is left. Until then it opens with all roots and no fewer, and
//! where a file was left in two places it does not open: the same call once more brings it to an
//! end.

use crate::doc::{self, TEMPORARY};
use crate::manifest::{LOCK_FILE, MANIFEST_FILE, forgotten, keep_roots};
use crate::run::parse_run_name;
use crate::segment::parse_segment_name;
use crate::state::STATE_FILE;
use crate::{LittError, Littable, StoreOptions};
use hearth_disk::{Disk, DiskFile, OpenMode};
use std::path::{Path, PathBuf};

/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 1 << 20;

/// What a rebase has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RebaseReport {
    /// Files that were moved.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were to be moved.
    pub total: u64,
}

impl Littable {
    /// Moves everything out of the roots that are not in `to`, and then forgets them. New roots in
    /// `to` are added. With `table`, only that table's files move, and no root is forgotten. `seen`
    /// is called after each file; where it says false the rest stays, for another call.
    ///
    /// # Errors
    /// As [`Littable::open`]; [`LittError::BadSetting`] where `to` is empty,
    /// [`LittError::NoSuchTable`], [`LittError::Corrupt`] where a file lies in two roots and the
    /// two differ, [`LittError::Io`].
    pub fn rebase(
        options: StoreOptions,
        to: &[PathBuf],
        table: Option<&str>,
        seen: &mut dyn FnMut(&RebaseReport) -> bool,
    ) -> Result<RebaseReport, LittError> {
        if to.is_empty() {
            return Err(LittError::BadSetting { setting: "to", why: "no root would stay".to_owned() });
        }
        let disk = options.disk.clone();
        let added = to.iter().filter(|root| !options.roots.contains(root)).cloned();
        let roots: Vec<PathBuf> = options.roots.iter().cloned().chain(added).collect();
        // Where a call before this one was stopped while it made the store forget roots, they are
        // forgotten first.
        for root in forgotten(&*disk, &roots)? {
            forget(&*disk, &root)?;
        }
        // Its locks keep everyone else away.
        let store = Self::open(StoreOptions { roots, background_threads: 0, ..options })?;
        let tables = match table {
            None => store.table_names()?,
            Some(name) => store.options_of(name).map(|options| vec![options.name])?,
        };
        let roots = store.roots().to_vec();
        let leaving: Vec<&PathBuf> = roots.iter().filter(|root| !to.contains(root)).collect();
        let mut mover = Mover { disk: &*disk, to, report: RebaseReport::default(), seen, next: 0 };
        for dir in tables.iter().flat_map(|name| leaving.iter().map(move |root| root.join(name))) {
            mover.report.total += mover.bytes_in(&dir)?;
        }
        for name in &tables {
            for root in &leaving {
                if !mover.table(root, name)? {
                    return Ok(mover.report);
                }
            }
        }
        let report = mover.report;
        if table.is_none() && !leaving.is_empty() {
            keep_roots(&*disk, &roots, to)?;
            leaving.into_iter().try_for_each(|root| forget(&*disk, root))?;
        }
        Ok(report)
    }
}

/// Takes away what says that a folder is a root. Nothing else of the store is in it.
fn forget(disk: &dyn Disk, root: &Path) -> Result<(), LittError> {
    for name in [MANIFEST_FILE, LOCK_FILE] {
        doc::remove_if_there(disk, &root.join(name))?;
    }
    disk.sync_dir(root).map_err(LittError::io(root))
}

struct Mover<'a> {
    disk: &'a dyn Disk,
    to: &'a [PathBuf],
    report: RebaseReport,
    seen: &'a mut dyn FnMut(&RebaseReport) -> bool,
    /// Root that the next segment goes to.
    next: usize,
}

impl Mover<'_> {
    fn names(&self, dir: &Path) -> Result<Vec<(String, u64)>, LittError> {
        if !self.disk.exists(dir).map_err(LittError::io(dir))? {
            return Ok(Vec::new());
        }
        let entries = self.disk.list(dir).map_err(LittError::io(dir))?;
        Ok(entries
            .into_iter()
            .filter_map(|entry| Some((entry.name.into_string().ok()?, entry.len)))
            .collect())
    }

    fn bytes_in(&self, dir: &Path) -> Result<u64, LittError> {
        Ok(self.names(dir)?.iter().map(|(_, len)| len).sum())
    }

    /// Moves a table out of a root. False where it is not to continue.
    fn table(&mut self, root: &Path, table: &str) -> Result<bool, LittError> {
        let dir = root.join(table);
        let names = self.names(&dir)?;
        let (bulk, small): (Vec<_>, Vec<_>) = names
            .iter()
            .partition(|(name, _)| parse_segment_name(name).is_some() || parse_run_name(name).is_some());
        for (name, len) in bulk {
            let target = self.to[self.next % self.to.len()].join(table);
            self.next += 1;
            self.copy(&dir.join(name), &target, name, *len)?;
            self.remove(&dir, name)?;
            if !(self.seen)(&self.report) {
                return Ok(false);
            }
        }
        // Beside the state lie files that it names: they are where it is, before and after it
        // moves.
        let small: Vec<_> = small.into_iter().filter(|(name, _)| !name.ends_with(TEMPORARY)).collect();
        let target = self.state_target(table)?;
        for (name, len) in small.iter().filter(|(name, _)| name != STATE_FILE) {
            self.copy(&dir.join(name), &target, name, *len)?;
        }
        if let Some((name, len)) = small.iter().find(|(name, _)| name == STATE_FILE) {
            self.copy(&dir.join(name), &target, name, *len)?;
            self.remove(&dir, name)?;
        }
        for (name, _) in self.names(&dir)? {
            self.remove(&dir, &name)?;
        }
        if self.disk.exists(&dir).map_err(LittError::io(&dir))? {
            self.disk.remove_dir(&dir).map_err(LittError::io(&dir))?;
            self.disk.sync_dir(root).map_err(LittError::io(root))?;
        }
        Ok((self.seen)(&self.report))
    }

    /// The folder that has the table's state among those that stay, or the first one.
    fn state_target(&self, table: &str) -> Result<PathBuf, LittError> {
        for root in self.to {
            let path = root.join(table).join(STATE_FILE);
            if self.disk.exists(&path).map_err(LittError::io(&path))? {
                return Ok(root.join(table));
            }
        }
        Ok(self.to[0].join(table))
    }

    /// Copies a file into a folder, durably. One that is there already must be the same.
    fn copy(&mut self, from: &Path, dir: &Path, name: &str, len: u64) -> Result<(), LittError> {
        self.disk.create_dir_all(dir).map_err(LittError::io(dir))?;
        let target = self.already(name, from)?.unwrap_or_else(|| dir.join(name));
        let source = self.disk.open(from, OpenMode::Read).map_err(LittError::io(from))?;
        if self.disk.exists(&target).map_err(LittError::io(&target))? {
            let there = self.disk.open(&target, OpenMode::Read).map_err(LittError::io(&target))?;
            if !is_same(&*source, &*there).map_err(LittError::io(&target))? {
                return Err(LittError::corrupt(&target, 0, "the file lies in two roots and differs"));
            }
            // Who copied it may have died before its name was durable.
            there.sync_data().map_err(LittError::io(&target))?;
            let parent = target.parent().unwrap_or(dir);
            self.disk.sync_dir(parent).map_err(LittError::io(parent))?;
        } else {
            doc::replace_with(self.disk, &target, |file| copy_bytes(&*source, file))?;
        }
        self.report.files += 1;
        self.report.bytes += len;
        Ok(())
    }

    /// Where an earlier call has put the file, if it has.
    fn already(&self, name: &str, from: &Path) -> Result<Option<PathBuf>, LittError> {
        let Some(table) = from.parent().and_then(Path::file_name) else { return Ok(None) };
        for root in self.to {
            let path = root.join(table).join(name);
            if self.disk.exists(&path).map_err(LittError::io(&path))? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn remove(&self, dir: &Path, name: &str) -> Result<(), LittError> {
        doc::remove_if_there(self.disk, &dir.join(name))?;
        self.disk.sync_dir(dir).map_err(LittError::io(dir))
    }
}

fn copy_bytes(from: &dyn DiskFile, to: &dyn DiskFile) -> std::io::Result<()> {
    let len = from.len()?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    while at < len {
        let part = &mut chunk[..CHUNK_BYTES.min((len - at) as usize)];
        from.read_exact_at(part, at)?;
        to.write_all_at(part, at)?;
        at += part.len() as u64;
    }
    Ok(())
}

fn is_same(a: &dyn DiskFile, b: &dyn DiskFile) -> std::io::Result<bool> {
    let len = a.len()?;
    if b.len()? != len {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    let mut at = 0;
    while at < len {
        let part = CHUNK_BYTES.min((len - at) as usize);
        a.read_exact_at(&mut left[..part], at)?;
        b.read_exact_at(&mut right[..part], at)?;
        if left[..part] != right[..part] {
            return Ok(false);
        }
        at += part as u64;
    }
    Ok(true)
}
