//! What a snapshot says about itself, in the file `snapshot` beside its database.

use crate::{CommitmentKind, FlatKvError, Snapshot};
use hearth_disk::Disk;
use hearth_flatkv_storage::fields::Fields;
use std::path::Path;

const FILE: &str = "snapshot";
/// Format of the file that this version reads and writes.
const FORMAT: u32 = 1;

impl Snapshot {
    /// Writes the description into the snapshot's folder, durably.
    pub(super) fn write(&self, disk: &dyn Disk, dir: &Path) -> Result<(), FlatKvError> {
        let mut fields = Fields::default();
        fields.put("format", FORMAT).put("height", self.height).put("hash", self.hash);
        fields.put("kind", self.kind).put("commitment", self.commitment).put("oldest", self.oldest);
        fields.put("wal", self.wal_sequence).put_numbers("positions", &self.positions);
        fields.write(disk, &dir.join(FILE))
    }

    /// Reads the description of the snapshot in a folder.
    pub(super) fn read(disk: &dyn Disk, dir: &Path) -> Result<Self, FlatKvError> {
        let path = dir.join(FILE);
        let bad = |why: &str| FlatKvError::BadFile { path: path.clone(), why: why.to_owned() };
        let fields = Fields::read(disk, &path)?.ok_or_else(|| bad("it is missing"))?;
        let found = fields.get(&path, "format")?;
        if found > FORMAT {
            return Err(FlatKvError::NewerFormat { found, supported: FORMAT });
        }
        let kind = fields.text(&path, "kind")?;
        let kind = CommitmentKind::from_name(kind).ok_or_else(|| bad("kind does not read"))?;
        Ok(Self {
            height: fields.get(&path, "height")?,
            hash: fields.hash(&path, "hash")?,
            kind,
            commitment: fields.hash(&path, "commitment")?,
            oldest: fields.get(&path, "oldest")?,
            wal_sequence: fields.get(&path, "wal")?,
            positions: fields.numbers(&path, "positions")?,
            dir: dir.to_owned(),
        })
    }
}
