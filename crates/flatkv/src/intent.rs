//! The intent record: what an operator's work on the store is in the middle of, in the file
//! `intent` of the state's folder. It is written before the first thing that cannot be left
//! half-done; an opening that finds it finishes the work, from whatever step it stopped at.

use crate::{FlatKvError, Options, open::ROCKS_DIR, shared::Core};
use alloy_primitives::{B256, hex};
use hearth_flatkv_storage::{
    fields::Fields,
    files::{exists, remove_file, remove_tree, sync_parent},
    wal::{Wal, scan::WalScan},
};
use hearth_primitives::Height;
use std::{
    fmt,
    path::{Path, PathBuf},
};

const FILE: &str = "intent";
const ROLLBACK: &str = "rollback";
const MOVE: &str = "move";
const IMPORT: &str = "import";
/// The database that is being made to replace the one there is; without an intent it is nothing.
pub(crate) const NEW_DATABASE: &str = "db.new";
/// The database that was replaced, until it is deleted.
pub(crate) const OLD_DATABASE: &str = "db.old";
/// The WAL that is being made to replace the one there is; without an intent it is nothing.
pub(crate) const NEW_WAL: &str = "wal.new";

/// The snapshots that take the place of those there are; without an intent they are nothing.
pub(crate) const NEW_SNAPSHOTS: &str = "snapshots.new";
/// A store that is being made by executing the ledger; without an intent it is nothing.
pub(crate) const REBUILT: &str = "rebuilt";

/// Work that must not stay half-done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The head is being taken back to this block, whose state is in the history.
    Rollback { to: Height, hash: B256 },
    /// Parts of the store are being replaced.
    Move(Moves),
    /// The rows of a stream are being written: nothing there counts.
    Import,
}

/// Parts of the store that are being replaced. The replacements are complete and durable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// What is replaced.
    pub(crate) replaced: Vec<Replaced>,
    /// A record that the WAL must end with, after the moves: its number and its payload.
    pub(crate) record: Option<(u64, Vec<u8>)>,
    /// What goes at the end.
    pub(crate) delete: Option<StorePath>,
}

/// A part that is being replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// Where the new one is; nothing is there any more once it was moved.
    pub(crate) new: StorePath,
    /// Where it belongs.
    pub(crate) at: StorePath,
    /// Where the old one goes; nothing is there before.
    pub(crate) aside: StorePath,
}

/// Path of a file or folder of the store, relative to the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StorePath {
    /// In the state's folder.
    State(String),
    /// The WAL's folder.
    Wal,
    /// Beside the state's folder.
    Beside(String),
}

impl StorePath {
    pub(crate) fn path(&self, options: &Options) -> PathBuf {
        match self {
            Self::State(name) => options.dir.join(name),
            Self::Wal => options.wal_dir.clone(),
            Self::Beside(name) => options.dir.with_file_name(name),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once('/') {
            Some(("state", name)) => Self::State(name.to_owned()),
            Some(("beside", name)) => Self::Beside(name.to_owned()),
            None if text == "wal" => Self::Wal,
            _ => return None,
        })
    }
}

impl fmt::Display for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State(name) => write!(f, "state/{name}"),
            Self::Wal => f.write_str("wal"),
            Self::Beside(name) => write!(f, "beside/{name}"),
        }
    }
}

fn path(options: &Options) -> PathBuf {
    options.dir.join(FILE)
}

impl Intent {
    /// Notes the intent, durably.
    pub(crate) fn write(&self, options: &Options) -> Result<(), FlatKvError> {
        let mut fields = Fields::default();
        match self {
            Self::Rollback { to, hash } => {
                fields.put("work", ROLLBACK).put("to", to).put("hash", hash);
            }
            Self::Import => {
                fields.put("work", IMPORT);
            }
            Self::Move(Moves { replaced, record, delete }) => {
                let one = |part: &Replaced| format!("{}>{}>{}", part.new, part.at, part.aside);
                let replaced: Vec<_> = replaced.iter().map(one).collect();
                let (number, payload) = record.clone().unwrap_or_default();
                fields.put("work", MOVE).put("replaced", replaced.join(","));
                fields.put("number", number).put("payload", hex::encode(payload));
                fields.put("delete", delete.as_ref().map(StorePath::to_string).unwrap_or_default());
            }
        }
        fields.write(&*options.disk, &path(options))
    }

    /// The intent that there is.
    pub(crate) fn read(options: &Options) -> Result<Option<Self>, FlatKvError> {
        let path = path(options);
        let Some(fields) = Fields::read(&*options.disk, &path)? else { return Ok(None) };
        let bad = |why: &str| FlatKvError::BadFile { path: path.clone(), why: why.to_owned() };
        Ok(Some(match fields.text(&path, "work")? {
            ROLLBACK => Self::Rollback { to: fields.get(&path, "to")?, hash: fields.hash(&path, "hash")? },
            IMPORT => Self::Import,
            MOVE => {
                let place = |text: &str| StorePath::parse(text).ok_or_else(|| bad("a place does not read"));
                let part = |text: &str| {
                    let places: Vec<_> = text.split('>').map(place).collect::<Result<_, _>>()?;
                    let [new, at, aside] = places.try_into().map_err(|_| bad("replaced does not read"))?;
                    Ok(Replaced { new, at, aside })
                };
                let replaced = fields.text(&path, "replaced")?.split(',').filter(|text| !text.is_empty());
                let number = fields.get(&path, "number")?;
                let payload = hex::decode(fields.text(&path, "payload")?);
                let payload = payload.map_err(|_| bad("payload does not read"))?;
                let delete = Some(fields.text(&path, "delete")?).filter(|text| !text.is_empty());
                Self::Move(Moves {
                    replaced: replaced.map(part).collect::<Result<_, FlatKvError>>()?,
                    record: (number > 0).then_some((number, payload)),
                    delete: delete.map(place).transpose()?,
                })
            }
            other => return Err(bad(&format!("{other:?} is no work that this version knows"))),
        }))
    }

    /// Takes the note away, durably: the work is done.
    pub(crate) fn clear(options: &Options) -> Result<(), FlatKvError> {
        let path = path(options);
        remove_file(&*options.disk, &path)?;
        sync_parent(&*options.disk, &path)
    }
}

/// Before a store is opened: finishes what was begun on its files, and removes what only an intent
/// would make count.
pub(crate) fn finish_files(options: &Options) -> Result<(), FlatKvError> {
    match Intent::read(options)? {
        None => remove_leftovers(options),
        Some(Intent::Rollback { .. }) => Ok(()),
        Some(Intent::Move(moves)) => {
            moves.finish(options)?;
            Intent::clear(options)?;
            remove_leftovers(options)
        }
        Some(Intent::Import) => {
            let disk = &*options.disk;
            remove_tree(disk, &options.dir.join(ROCKS_DIR))?;
            disk.sync_dir(&options.dir).map_err(FlatKvError::io(&options.dir))?;
            remove_wal(options)?;
            Intent::clear(options)
        }
    }
}

fn remove_wal(options: &Options) -> Result<(), FlatKvError> {
    let (disk, dir) = (&*options.disk, &options.wal_dir);
    if exists(disk, dir)? {
        remove_tree(disk, dir)?;
        sync_parent(disk, dir)?;
    }
    disk.create_dir_all(dir).map_err(FlatKvError::io(dir))
}

fn remove_leftovers(options: &Options) -> Result<(), FlatKvError> {
    for name in [NEW_DATABASE, OLD_DATABASE, NEW_WAL, NEW_SNAPSHOTS, REBUILT] {
        let path = options.dir.join(name);
        if exists(&*options.disk, &path)? {
            remove_tree(&*options.disk, &path)?;
            sync_parent(&*options.disk, &path)?;
        }
    }
    Ok(())
}

impl Moves {
    /// Does what is not done yet.
    fn finish(&self, options: &Options) -> Result<(), FlatKvError> {
        let disk = &*options.disk;
        for Replaced { new, at, aside } in &self.replaced {
            let [new, at, aside] = [new, at, aside].map(|place| place.path(options));
            let moved = !exists(disk, &new)?;
            if !moved && exists(disk, &at)? {
                disk.rename(&at, &aside).map_err(FlatKvError::io(&at))?;
                sync_parent(disk, &at)?;
                sync_parent(disk, &aside)?;
            }
            if !moved {
                disk.rename(&new, &at).map_err(FlatKvError::io(&new))?;
            }
            // The names are made durable also where an earlier process moved and died before it got
            // to that.
            sync_parent(disk, &new)?;
            sync_parent(disk, &at)?;
        }
        if let Some((number, payload)) = &self.record {
            append(options, *number, payload)?;
        }
        match &self.delete {
            Some(place) => remove_tree(disk, &place.path(options)),
            None => Ok(()),
        }
    }
}

/// Appends a record to the WAL, unless it ends with it already.
fn append(options: &Options, number: u64, payload: &[u8]) -> Result<(), FlatKvError> {
    let mut scan = WalScan::read(&options.disk, &options.wal_dir, number - 1)?;
    let last = scan.records.last().map_or(0, |found| found.number);
    if last != number && last + 1 != number {
        let path = options.wal_dir.clone();
        return Err(FlatKvError::WalTruncated { path, last, synced: number - 1 });
    }
    scan.truncate(scan.records.len().checked_sub(1))?;
    let mut wal = Wal::resume(scan, options.segment_bytes)?;
    if last + 1 == number {
        wal.append(payload)?;
    }
    wal.sync()
}

impl Core {
    /// Whether a rollback was begun and not finished.
    pub(crate) fn rollback_is_pending(&self, options: &Options) -> Result<bool, FlatKvError> {
        Ok(matches!(Intent::read(options)?, Some(Intent::Rollback { .. })))
    }

    /// After a store is opened: finishes a rollback that was begun.
    pub(crate) fn finish_rollback(&self, options: &Options) -> Result<(), FlatKvError> {
        let Some(Intent::Rollback { to, hash }) = Intent::read(options)? else { return Ok(()) };
        if self.head().is_some_and(|head| head.height > to) {
            self.unwind(to)?;
            self.flush()?;
        }
        match self.head() {
            Some(head) if (head.height, head.hash) == (to, hash) => Intent::clear(options),
            _ => Err(FlatKvError::BadFile {
                path: path(options),
                why: format!(
                    "a rollback to height {to} ({hash}) cannot be finished: the store has another block there"
                ),
            }),
        }
    }
}

/// A name beside the state's folder that nothing has yet: `<name>.bad-1`, `<name>.bad-2`, …
pub(crate) fn bad_name(options: &Options, of: &Path) -> Result<StorePath, FlatKvError> {
    let name = of.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for number in 1u32.. {
        let place = StorePath::Beside(format!("{name}.bad-{number}"));
        if !exists(&*options.disk, &place.path(options))? {
            return Ok(place);
        }
    }
    unreachable!("no folder holds 2^32 names")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommitmentKind, Fsync};

    #[test]
    fn each_intent_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let (state, wal) = (dir.path().join("state"), dir.path().join("wal"));
        std::fs::create_dir_all(&state).unwrap();
        let options = Options::new(state, wal, CommitmentKind::Mpt, Fsync::None);
        assert_eq!(Intent::read(&options).unwrap(), None);
        let place = |name: &str| StorePath::State(name.to_owned());
        let database = Replaced {
            new: place("db.new"),
            at: place("db"),
            aside: StorePath::Beside("state.bad-1".into()),
        };
        let wal = Replaced { new: place("wal.new"), at: StorePath::Wal, aside: place("x") };
        let record = Some((7, vec![1, 2, 255]));
        let moves = Moves { replaced: vec![database, wal.clone()], record, delete: Some(place("db.old")) };
        let none = Moves { replaced: vec![wal], ..Moves::default() };
        for intent in [
            Intent::Rollback { to: 5, hash: B256::repeat_byte(5) },
            Intent::Import,
            Intent::Move(moves),
            Intent::Move(none),
        ] {
            intent.write(&options).unwrap();
            assert_eq!(Intent::read(&options).unwrap(), Some(intent));
        }
        Intent::clear(&options).unwrap();
        assert_eq!(Intent::read(&options).unwrap(), None);
        let bad = bad_name(&options, &options.dir).unwrap();
        assert_eq!(bad, StorePath::Beside("state.bad-1".into()));
        std::fs::create_dir(bad.path(&options)).unwrap();
        assert_eq!(bad_name(&options, &options.dir).unwrap(), StorePath::Beside("state.bad-2".into()));
    }
}
