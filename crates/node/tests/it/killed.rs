//! Data directories as a killed process leaves them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// Free memory from which on homes are in memory, in bytes.
const IN_MEMORY_FREE_BYTES: u64 = 6 << 30;

/// A folder in memory where the system has room for one: a test that cuts no power gains nothing
/// from a disk that syncs.
pub fn temp_dir() -> tempfile::TempDir {
    let shm = Path::new("/dev/shm");
    let free = hearth_disk::Disk::free_bytes(&hearth_disk::RealDisk, shm).unwrap_or(0);
    let in_memory = (free >= IN_MEMORY_FREE_BYTES).then(|| tempfile::tempdir_in(shm).ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a folder"))
}

/// Copies files of a data directory as they are at this moment: what the process has only in its
/// memory is not in the copy. Files that never change are linked.
pub fn copy(from: &Path, to: &Path, parts: &[&str]) {
    for part in parts {
        copy_dir(&from.join(part), &to.join(part)).expect("a folder");
    }
}

/// RocksDB and the tables make and remove files and folders in the background: a copy during which
/// the names or the sizes changed is made again.
fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    loop {
        let before = listing(from)?;
        let copied = copy_listed(&before, to);
        if copied.is_ok() && listing(from).is_ok_and(|after| after == before) {
            return Ok(());
        }
        fs::remove_dir_all(to).expect("removes");
    }
}

/// Files by name, with their sizes; a folder has none.
type Listing = BTreeMap<OsString, (PathBuf, Option<u64>)>;

fn listing(dir: &Path) -> io::Result<Listing> {
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let kind = entry.file_type()?;
        let size = if kind.is_dir() { None } else { Some(entry.metadata()?.len()) };
        Ok((entry.file_name(), (entry.path(), size)))
    };
    fs::read_dir(dir)?.map(entry).collect()
}

fn copy_listed(files: &Listing, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for (name, (path, size)) in files {
        let target = to.join(name);
        if size.is_none() {
            copy_dir(path, &target)?;
        } else if is_immutable(name) {
            fs::hard_link(path, target)?;
        } else {
            fs::copy(path, target)?;
        }
    }
    Ok(())
}

/// Tables of RocksDB are written once.
fn is_immutable(name: &OsString) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "sst")
}
