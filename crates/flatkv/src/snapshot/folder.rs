//! The folder of snapshots: what is in it, what a crash left there, what goes when a newer one
//! comes.

use super::Snapshot;
use crate::FlatKvError;
use hearth_disk::Disk;
use hearth_flatkv_storage::files::{exists, move_to, remove_tree, sync_parent, sync_tree};
use std::path::{Path, PathBuf};

/// Folder of the snapshots in that of the state.
pub(crate) const SNAPSHOTS_DIR: &str = "snapshots";
/// The database in a snapshot's folder.
pub(crate) const DATABASE: &str = "db";
/// Prefix of the folder of a snapshot that is being taken.
const MAKING: &str = "making";
/// Prefix of the folder of a snapshot that is being deleted.
const REMOVING: &str = "removing-";

/// Durably removes snapshots that a crash left incomplete or partly deleted.
pub(crate) fn remove_unfinished(disk: &dyn Disk, dir: &Path) -> Result<(), FlatKvError> {
    if !exists(disk, dir)? {
        return Ok(());
    }
    let mut removed = false;
    for name in names(disk, dir)? {
        if name.starts_with(MAKING) || name.starts_with(REMOVING) {
            remove_tree(disk, &dir.join(name))?;
            removed = true;
        }
    }
    if removed { disk.sync_dir(dir).map_err(FlatKvError::io(dir)) } else { Ok(()) }
}

/// The snapshots in a folder whose descriptions read, oldest first.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<Snapshot>, FlatKvError> {
    if !exists(disk, dir)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for name in names(disk, dir)? {
        // What does not read is not offered; it stays where it is for inspection.
        if let Ok(snapshot) = Snapshot::read(disk, &dir.join(&name))
            && self::name(&snapshot) == name
        {
            found.push(snapshot);
        }
    }
    found.sort_by_key(|snapshot| snapshot.wal_sequence);
    Ok(found)
}

fn names(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, FlatKvError> {
    let entries = disk.list(dir).map_err(FlatKvError::io(dir))?;
    Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
}

/// Name of a snapshot's folder. No two snapshots ever have the same one: the WAL record is another.
fn name(snapshot: &Snapshot) -> String {
    format!("{:020}-{:020}", snapshot.height, snapshot.wal_sequence)
}

/// An empty folder for a snapshot to be made in.
pub(crate) fn begin(disk: &dyn Disk, dir: &Path) -> Result<PathBuf, FlatKvError> {
    disk.create_dir_all(dir).map_err(FlatKvError::io(dir))?;
    let making = dir.join(MAKING);
    remove_tree(disk, &making)?;
    disk.create_dir(&making).map_err(FlatKvError::io(&making))?;
    Ok(making)
}

/// Gives a snapshot that was made its name, once all of it is on disk. Returns it with its folder.
pub(crate) fn publish(disk: &dyn Disk, making: &Path, snapshot: Snapshot) -> Result<Snapshot, FlatKvError> {
    snapshot.write(disk, making)?;
    sync_tree(disk, making)?;
    let dir = making.with_file_name(name(&snapshot));
    move_to(disk, making, &dir)?;
    Ok(Snapshot { dir, ..snapshot })
}

/// Deletes a snapshot: first its name, then what was in it. A call after one that failed does what
/// is left.
pub(crate) fn remove(disk: &dyn Disk, snapshot: &Snapshot) -> Result<(), FlatKvError> {
    let removing = snapshot.dir.with_file_name(format!("{REMOVING}{}", name(snapshot)));
    if exists(disk, &snapshot.dir)? {
        disk.rename(&snapshot.dir, &removing).map_err(FlatKvError::io(&snapshot.dir))?;
    }
    sync_parent(disk, &removing)?;
    remove_tree(disk, &removing)?;
    sync_parent(disk, &removing)
}
