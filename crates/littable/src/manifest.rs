//! Which folders belong to a store: each root says who it is and who the others are.

use crate::format::{be32, random, take};
use crate::{LittError, doc};
use hearth_disk::Disk;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 4] = *b"HLMF";
const VERSION: u16 = 1;
/// Name of the manifest of a root.
pub(crate) const MANIFEST_FILE: &str = "littable.manifest";
/// Name of the lock file of a root.
pub(crate) const LOCK_FILE: &str = "littable.lock";

type Identity = [u8; 16];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub store: Identity,
    pub root: Identity,
    /// All roots in order, with the places where they were last.
    pub roots: Vec<(Identity, PathBuf)>,
    /// Counts how often roots were taken away: a list of more is newer. 0 in files without it.
    pub generation: u64,
}

impl Manifest {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = [self.store, self.root].concat();
        out.extend_from_slice(&(self.roots.len() as u32).to_be_bytes());
        for (id, path) in &self.roots {
            let path = path.as_os_str().as_bytes();
            out.extend_from_slice(id);
            out.extend_from_slice(&(path.len() as u32).to_be_bytes());
            out.extend_from_slice(path);
        }
        out.extend_from_slice(&self.generation.to_be_bytes());
        out
    }

    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let at = &mut bytes;
        let store = take(at, 16)?.try_into().ok()?;
        let root = take(at, 16)?.try_into().ok()?;
        let mut roots = Vec::new();
        for _ in 0..be32(take(at, 4)?) {
            let id = take(at, 16)?.try_into().ok()?;
            let len = be32(take(at, 4)?) as usize;
            roots.push((id, PathBuf::from(std::ffi::OsString::from_vec(take(at, len)?.to_vec()))));
        }
        let generation = match at.is_empty() {
            true => 0,
            false => u64::from_be_bytes(take(at, 8)?.try_into().ok()?),
        };
        Some(Self { store, root, roots, generation })
    }

    fn read(disk: &dyn Disk, root: &Path) -> Result<Option<Self>, LittError> {
        let path = root.join(MANIFEST_FILE);
        let Some(bytes) = doc::read(disk, &path, MAGIC, VERSION)? else { return Ok(None) };
        let found = Self::decode(&bytes);
        found.map(Some).ok_or_else(|| LittError::corrupt(&path, 0, "manifest does not decode"))
    }
}

/// Checks that the roots are all of one store's, and returns them in its order. New ones are added
/// at the end, and a store that does not exist yet is made, where `create` is set.
///
/// # Errors
/// [`LittError::RootMissing`] where one of the store's roots is not among them;
/// [`LittError::ForeignRoot`].
pub(crate) fn settle_roots(
    disk: &dyn Disk,
    roots: &[PathBuf],
    create: bool,
) -> Result<Vec<PathBuf>, LittError> {
    let foreign = |path: &Path, why| LittError::ForeignRoot { path: path.to_owned(), why };
    let mut known: Vec<(Manifest, PathBuf)> = Vec::new();
    let mut fresh = Vec::new();
    for root in roots {
        if create {
            // A manifest whose writer died may be there without being durable; what is written next
            // rests on it.
            disk.sync_dir(root).map_err(LittError::io(root))?;
        }
        match Manifest::read(disk, root)? {
            Some(manifest) => known.push((manifest, root.clone())),
            None => fresh.push(root.clone()),
        }
    }
    if known.is_empty() && !create {
        return Err(foreign(&roots[0], "there is no store"));
    }
    let newest = newest(known.iter().map(|(manifest, _)| manifest)).cloned();
    let generation = newest.as_ref().map_or(0, |m| m.generation);
    let mut list = newest.as_ref().map_or_else(Vec::new, |m| m.roots.clone());
    let store = newest.map_or_else(random, |m| m.store);
    for (manifest, path) in &known {
        if manifest.store != store {
            return Err(foreign(path, "it belongs to another store"));
        }
        let Some(entry) = list.iter_mut().find(|(id, _)| *id == manifest.root) else {
            return Err(foreign(path, "the store does not know this root"));
        };
        entry.1.clone_from(path);
    }
    for (id, path) in &list {
        if !known.iter().any(|(manifest, _)| manifest.root == *id) {
            // A death while roots were made leaves new ones without a manifest; a missing mount is
            // an empty folder elsewhere, or this path without one.
            return Err(LittError::RootMissing { id: hex(id), path: path.clone() });
        }
    }
    for path in &fresh {
        let others = |name: &std::ffi::OsStr| {
            name != LOCK_FILE && name != "lost+found" && !name.to_string_lossy().ends_with(doc::TEMPORARY)
        };
        let entries = disk.list(path).map_err(LittError::io(path))?;
        if entries.iter().any(|entry| others(&entry.name)) {
            return Err(foreign(path, "it has files but no manifest"));
        }
        let root = random();
        list.push((root, path.clone()));
        // One after the other, each with those before it: a death in between leaves fewer roots,
        // and none is missed.
        if create {
            let manifest = Manifest { store, root, roots: list.clone(), generation };
            doc::replace(disk, &path.join(MANIFEST_FILE), MAGIC, VERSION, &manifest.encode())?;
            known.push((manifest, path.clone()));
        }
    }
    let older = |there: &Manifest| there.roots != list || there.generation != generation;
    for (there, path) in known.iter().filter(|(there, _)| create && older(there)) {
        let manifest = Manifest { store, root: there.root, roots: list.clone(), generation };
        doc::replace(disk, &path.join(MANIFEST_FILE), MAGIC, VERSION, &manifest.encode())?;
    }
    Ok(list.into_iter().map(|(_, path)| path).collect())
}

/// The newest of a store's manifests: within a generation, roots are only ever added.
fn newest<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Option<&'a Manifest> {
    manifests.max_by_key(|manifest| (manifest.generation, manifest.roots.len()))
}

/// Of some roots, those that were taken away from the store of the others and still have a
/// manifest.
pub(crate) fn forgotten(disk: &dyn Disk, roots: &[PathBuf]) -> Result<Vec<PathBuf>, LittError> {
    let mut known = Vec::new();
    for path in roots {
        known.extend(Manifest::read(disk, path)?.map(|manifest| (manifest, path)));
    }
    let Some(newest) = newest(known.iter().map(|(manifest, _)| manifest)).cloned() else {
        return Ok(Vec::new());
    };
    let is_left = |manifest: &Manifest| {
        manifest.store == newest.store
            && manifest.generation < newest.generation
            && newest.roots.iter().all(|(id, _)| *id != manifest.root)
    };
    Ok(known.iter().filter(|(manifest, _)| is_left(manifest)).map(|(_, path)| (*path).clone()).collect())
}

/// Writes manifests into the roots of `keep` that name no others any more. `roots` are all of the
/// store, in its order.
pub(crate) fn keep_roots(disk: &dyn Disk, roots: &[PathBuf], keep: &[PathBuf]) -> Result<(), LittError> {
    let mut kept = Vec::new();
    for path in roots.iter().filter(|path| keep.contains(path)) {
        let missing = || LittError::ForeignRoot { path: path.clone(), why: "it has no manifest" };
        kept.push((Manifest::read(disk, path)?.ok_or_else(missing)?, path));
    }
    let list: Vec<_> = kept.iter().map(|(manifest, path)| (manifest.root, (*path).clone())).collect();
    let generation = kept.iter().map(|(manifest, _)| manifest.generation + 1).max().unwrap_or(0);
    for (manifest, path) in kept {
        let manifest = Manifest { roots: list.clone(), generation, ..manifest };
        doc::replace(disk, &path.join(MANIFEST_FILE), MAGIC, VERSION, &manifest.encode())?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
