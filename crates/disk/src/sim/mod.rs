//! A disk in memory that fails as disks and power do, the same way each time from the same seed.

mod cut;
mod plan;
mod rng;
mod state;
#[cfg(test)]
mod tests;

pub use cut::SECTOR;
pub use plan::{Call, Fault};
pub use rng::Rng;

use crate::{DirEntry, Disk, DiskFile, EntryKind, FsKind, Holder, Lock, LockError, Metadata, OpenMode};
use plan::Verdict;
use state::{Id, Node, State};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A simulated file system, empty at first. Clones are the same disk.
///
/// What readers see and what is on the platter are two things. A file's bytes get there with its
/// sync, the names of a folder with the folder's. [`SimDisk::power_cut`] gives the disk as a cut
/// could leave it: of what was not synced it loses, keeps or tears any part. [`SimDisk::kill`]
/// gives it as the death of the process leaves it. After either this disk is dead: a caller that
/// still has it gets errors.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").field("changes", &self.changes()).finish_non_exhaustive()
    }
}

impl SimDisk {
    /// An empty disk without end.
    pub fn new() -> Self {
        Self::with_capacity(u64::MAX)
    }

    /// An empty disk for so many bytes of files.
    pub fn with_capacity(bytes: u64) -> Self {
        Self::from_state(State::new(bytes))
    }

    fn from_state(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn watched_as(self, before: &State) -> Self {
        let mut state = self.lock_state();
        state.plan.ignored.clone_from(&before.plan.ignored);
        state.plan.journal.clone_from(&before.plan.journal);
        state.plan.journal_len = before.plan.journal_len;
        drop(state);
        self
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls so far that may have changed the disk; see [`SimDisk::die_at`].
    pub fn changes(&self) -> u64 {
        self.lock_state().plan.changes
    }

    /// Whether nothing answers any more.
    pub fn is_dead(&self) -> bool {
        self.lock_state().plan.dead()
    }

    /// Lets the disk die in its `n`-th change counted from the first, in whatever thread: that call
    /// and every later one is an error. Of a write it dies in, a part was done.
    pub fn die_at(&self, n: u64) {
        self.lock_state().plan.dies_after = n;
    }

    /// Lets a call fail after `good` more of its kind. A sync that fails drops what it should have
    /// written, and the next one succeeds.
    pub fn fail(&self, call: Call, good: u64, fault: Fault) {
        self.lock_state().plan.faults.push((call, good, fault));
    }

    /// Takes back what [`SimDisk::fail`] set.
    pub fn fail_no_more(&self) {
        self.lock_state().plan.faults.clear();
    }

    /// Lets syncs, [`Call::Sync`] or [`Call::SyncDir`], do nothing and say they did, after cuts
    /// too: a planted bug that a suite must find.
    pub fn ignore(&self, sync: Call) {
        self.lock_state().plan.ignored.push(sync);
    }

    /// Cuts one in `one_in` reads and writes short, chosen by the seed; 0 ends it.
    pub fn short_calls(&self, one_in: u64, seed: u64) {
        let mut state = self.lock_state();
        state.plan.short_one_in = one_in;
        state.plan.rng = Rng::new(seed);
    }

    /// Sets how many bytes of files there is room for.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock_state().capacity = bytes;
    }

    /// Bytes that files take.
    pub fn used(&self) -> u64 {
        self.lock_state().used
    }

    /// Changes bits of a byte where it lies, as a failing medium does.
    ///
    /// # Errors
    /// `NotFound`, or `UnexpectedEof` where the file is shorter.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let mut state = self.lock_state();
        let id = state.find(path)?;
        state.flip(id, offset as usize, mask)
    }

    /// Keeps the newest `calls` calls for [`SimDisk::journal`], over cuts and deaths.
    pub fn keep_journal(&self, calls: usize) {
        self.lock_state().plan.journal_len = calls;
    }

    /// Puts a remark between the calls of the journal, where one is kept.
    pub fn remark(&self, what: impl FnOnce() -> String) {
        self.lock_state().plan.remark(what);
    }

    /// The newest calls, oldest first, each with the number of changes before it.
    pub fn journal(&self) -> Vec<String> {
        self.lock_state().plan.journal.iter().cloned().collect()
    }

    /// The disk after a power cut that the seed chooses. This one is dead from now on.
    #[must_use]
    pub fn power_cut(&self, seed: u64) -> Self {
        let mut state = self.lock_state();
        state.plan.dies_after = 0;
        Self::from_state(state.after_power_cut(seed)).watched_as(&state)
    }

    /// The disk after the death of the process: nothing is lost, nothing more is durable. This one
    /// is dead from now on.
    #[must_use]
    pub fn kill(&self) -> Self {
        let mut state = self.lock_state();
        state.plan.dies_after = 0;
        Self::from_state(state.killed()).watched_as(&state)
    }

    /// Another disk with the same content and without faults; this one continues.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self::from_state(self.lock_state().killed())
    }

    /// Gives a file one more name, as link(2) does.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, or `IsADirectory` where `from` is a folder.
    pub fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.enter(Call::Create, to)?.link(from, to)
    }

    /// Every file below a folder, sorted.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn files(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.lock_state();
        let mut todo = vec![(dir.to_owned(), state.find(dir)?)];
        let mut out = Vec::new();
        while let Some((path, id)) = todo.pop() {
            match state.node(id) {
                Node::File(_) => out.push(path),
                Node::Dir { live, .. } => todo.extend(live.iter().map(|(name, id)| (path.join(name), *id))),
            }
        }
        out.sort();
        Ok(out)
    }

    /// Counts a call on a path; the state, or the error that the call answers.
    fn enter(&self, call: Call, path: &Path) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock_state();
        match state.plan.enter(call, || path.display().to_string())? {
            Verdict::Goes | Verdict::Lies => Ok(state),
            Verdict::Fails(error) => Err(error),
        }
    }

    fn handle(&self, id: Id, path: &Path, mode: OpenMode) -> Arc<dyn DiskFile> {
        Arc::new(SimFile { disk: self.clone(), id, path: path.to_owned(), mode })
    }
}

fn metadata(state: &State, id: Id) -> Metadata {
    match state.node(id) {
        Node::File(file) => Metadata { kind: EntryKind::File, len: file.live.len() as u64 },
        Node::Dir { .. } => Metadata { kind: EntryKind::Dir, len: 0 },
    }
}

impl Disk for SimDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.enter(Call::Create, path)?;
        let id = state.make(path, false)?;
        state.file(id)?.handles += 1;
        Ok(self.handle(id, path, OpenMode::ReadWrite))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.enter(Call::Open, path)?;
        let id = state.find(path)?;
        state.file(id)?.handles += 1;
        Ok(self.handle(id, path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.enter(Call::Rename, from)?.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::Remove, path)?.remove(path, false)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::CreateDir, path)?.make(path, true).map(drop)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::RemoveDir, path)?.remove(path, true)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let state = self.enter(Call::Look, dir)?;
        let names = state.dir(state.find(dir)?)?;
        let entry = |(name, id): (&std::ffi::OsString, &Id)| {
            let Metadata { kind, len } = metadata(&state, *id);
            DirEntry { name: name.clone(), kind, len }
        };
        Ok(names.iter().map(entry).collect())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        let verdict = state.plan.enter(Call::SyncDir, || dir.display().to_string())?;
        let id = state.find(dir)?;
        state.dir(id)?;
        match verdict {
            Verdict::Goes => {
                state.sync_dir(id);
                Ok(())
            }
            Verdict::Lies => Ok(()),
            Verdict::Fails(error) => {
                let mut rng = Rng::new(state.plan.changes);
                state.fail_sync_dir(id, &mut rng);
                Err(error)
            }
        }
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let state = self.enter(Call::Look, path)?;
        Ok(metadata(&state, state.find(path)?))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let state = self.enter(Call::Look, path)?;
        state.find(path)?;
        Ok(state.capacity.saturating_sub(state.used))
    }

    fn fs_kind(&self, path: &Path) -> io::Result<FsKind> {
        let state = self.enter(Call::Look, path)?;
        state.find(path).map(|_| FsKind::Local)
    }

    fn lock(&self, path: &Path) -> Result<Lock, LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        let mut state = self.enter(Call::Open, path).map_err(io)?;
        if let Some(holder) = state.locks.get(path) {
            return Err(LockError::Held { path: path.to_owned(), holder: Some(holder.clone()) });
        }
        match state.find(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                state.make(path, false).map_err(io)?;
            }
            Err(error) => return Err(io(error)),
        }
        state.locks.insert(path.to_owned(), Holder::this_process());
        Ok(Lock::new(path.to_owned(), Box::new(SimLock { disk: self.clone(), path: path.to_owned() })))
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.lock_state().locks.remove(&self.path);
    }
}

struct SimFile {
    disk: SimDisk,
    id: Id,
    path: PathBuf,
    mode: OpenMode,
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFile").field("path", &self.path).field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl SimFile {
    fn enter(&self, call: Call) -> io::Result<MutexGuard<'_, State>> {
        if call.changes() && call != Call::Sync && self.mode == OpenMode::Read {
            return Err(rustix::io::Errno::BADF.into());
        }
        self.disk.enter(call, &self.path)
    }

    /// A process may die in the middle of a write: then a part of it was done.
    fn die_writing(&self, buf: &[u8], offset: u64) {
        let mut state = self.disk.lock_state();
        if std::mem::take(&mut state.plan.dying) {
            let mut rng = Rng::new(state.plan.changes);
            let n = rng.below(buf.len() as u64 + 1) as usize;
            // Where there is no room, none of it was.
            let _ = state.write(self.id, &buf[..n], offset);
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock_state();
        match state.plan.enter(Call::Sync, || self.path.display().to_string())? {
            Verdict::Goes => state.sync(self.id),
            Verdict::Lies => Ok(()),
            Verdict::Fails(error) => {
                let mut rng = Rng::new(state.plan.changes);
                state.fail_sync(self.id, &mut rng)?;
                Err(error)
            }
        }
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.enter(Call::Read)?;
        let live = &state.file(self.id)?.live;
        let have = live.len().saturating_sub(offset as usize).min(buf.len());
        let n = state.plan.short(have);
        let start = offset as usize;
        buf[..n].copy_from_slice(state.file(self.id)?.live.get(start..start + n).unwrap_or_default());
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = match self.enter(Call::Write) {
            Ok(state) => state,
            Err(error) => {
                self.die_writing(buf, offset);
                return Err(error);
            }
        };
        let n = state.plan.short(buf.len());
        state.write(self.id, &buf[..n], offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.enter(Call::SetLen)?.set_len(self.id, len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.enter(Call::Look)?.file(self.id)?.live.len() as u64)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.lock_state();
        if let Ok(file) = state.file(self.id) {
            file.handles = file.handles.saturating_sub(1);
        }
        state.free_if_unused(self.id, true);
    }
}
