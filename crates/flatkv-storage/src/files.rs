//! Files and folders of the store as a whole: written at once, removed, synced, cloned by hard
//! links.

use crate::FlatKvError;
use hearth_disk::{Disk, EntryKind, OpenMode};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What a half-written small file is called beside its name.
const PART: &str = "part";

/// Writes a file so that it is there whole or not at all, and durable.
pub fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), FlatKvError> {
    let part = path.with_extension(PART);
    remove_file(disk, &part)?;
    let written = disk.create(&part).and_then(|file| {
        file.write_all_at(bytes, 0)?;
        file.sync_all()
    });
    written.map_err(FlatKvError::io(&part))?;
    move_to(disk, &part, path)
}

/// Moves a file or folder within its folder, durably.
pub fn move_to(disk: &dyn Disk, from: &Path, to: &Path) -> Result<(), FlatKvError> {
    disk.rename(from, to).map_err(FlatKvError::io(from))?;
    sync_parent(disk, to)
}

/// Makes the names in a path's folder durable.
pub fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), FlatKvError> {
    let dir = path.parent().unwrap_or(path);
    disk.sync_dir(dir).map_err(FlatKvError::io(dir))
}

/// Makes the names in a folder of the machine's own file system durable, and the folder's name in
/// the one above.
pub fn sync_names(dir: &Path) -> Result<(), FlatKvError> {
    for dir in dir.ancestors().take(2).filter(|dir| !dir.as_os_str().is_empty()) {
        fs::File::open(dir).and_then(|file| file.sync_all()).map_err(FlatKvError::io(dir))?;
    }
    Ok(())
}

/// Whether something is at a path.
pub fn exists(disk: &dyn Disk, path: &Path) -> Result<bool, FlatKvError> {
    disk.exists(path).map_err(FlatKvError::io(path))
}

/// Removes a file if it is there; durable once its folder is synced.
pub fn remove_file(disk: &dyn Disk, path: &Path) -> Result<(), FlatKvError> {
    match disk.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FlatKvError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it, if it is there; durable once the folder above is
/// synced.
pub fn remove_tree(disk: &dyn Disk, dir: &Path) -> Result<(), FlatKvError> {
    let entries = match disk.list(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(FlatKvError::io(dir)(error)),
    };
    for entry in entries {
        let path = dir.join(entry.name);
        match entry.kind {
            EntryKind::Dir => remove_tree(disk, &path)?,
            EntryKind::File | EntryKind::Other => remove_file(disk, &path)?,
        }
    }
    disk.remove_dir(dir).map_err(FlatKvError::io(dir))
}

/// Makes a folder, its files and their names durable.
pub fn sync_tree(disk: &dyn Disk, dir: &Path) -> Result<(), FlatKvError> {
    for entry in disk.list(dir).map_err(FlatKvError::io(dir))? {
        let path = dir.join(entry.name);
        match entry.kind {
            EntryKind::Dir => sync_tree(disk, &path)?,
            EntryKind::File => disk
                .open(&path, OpenMode::Read)
                .and_then(|file| file.sync_all())
                .map_err(FlatKvError::io(&path))?,
            EntryKind::Other => {}
        }
    }
    disk.sync_dir(dir).map_err(FlatKvError::io(dir))
}

/// Whether RocksDB never changes a file of this name once it is there.
pub fn is_table_file(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "sst")
}

/// Clones a database that is not written into a new folder: table files by hard links where that
/// can be, the others as copies. What RocksDB only writes for people (`LOG`) is left out.
pub fn clone_database(from: &Path, to: &Path) -> Result<(), FlatKvError> {
    fs::create_dir_all(to).map_err(FlatKvError::io(to))?;
    for (name, path) in database_files(from)? {
        let target = to.join(&name);
        let linked = is_table_file(&name) && fs::hard_link(&path, &target).is_ok();
        if !linked {
            fs::copy(&path, &target).map_err(FlatKvError::io(&path))?;
        }
    }
    Ok(())
}

/// The files that make a database: name and path, sorted.
pub fn database_files(dir: &Path) -> Result<Vec<(PathBuf, PathBuf)>, FlatKvError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(FlatKvError::io(dir))? {
        let entry = entry.map_err(FlatKvError::io(dir))?;
        let name = PathBuf::from(entry.file_name());
        let text = name.to_string_lossy();
        let kind = entry.file_type().map_err(FlatKvError::io(entry.path()))?;
        if kind.is_file() && text != "LOCK" && !text.starts_with("LOG") {
            files.push((name, entry.path()));
        }
    }
    files.sort();
    Ok(files)
}
