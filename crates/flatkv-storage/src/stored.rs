//! What a database says about itself in its metadata rows.

use crate::{
    FlatKvError, Head,
    db::{Db, Family},
    error::corrupt,
    rows::{meta, read_head},
};
use hearth_primitives::{Height, StateError};

/// What a database that has a head says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its head.
    pub head: Head,
    /// Oldest height with state.
    pub oldest: Height,
    /// Last WAL record that it is known to hold.
    pub synced: u64,
    /// End positions of the joined tables in that record, in bytes.
    pub positions: Vec<u64>,
}

impl Db {
    /// What the database says about itself; `None` where it has no head.
    pub fn stored(&self) -> Result<Option<Stored>, FlatKvError> {
        let Some(head) = self.get(Family::Metadata, meta::HEAD)? else { return Ok(None) };
        let positions = self.get(Family::Metadata, meta::POSITIONS)?;
        Ok(Some(Stored {
            head: read_head(&head)?,
            oldest: self.number(meta::OLDEST)?.unwrap_or(0),
            synced: self.number(meta::SYNCED)?.unwrap_or(0),
            positions: positions.map_or(Ok(Vec::new()), |row| read_positions(&row))?,
        }))
    }

    /// About how many rows a family has.
    pub fn estimate(&self, family: Family) -> Result<u64, StateError> {
        self.property(family, rocksdb::properties::ESTIMATE_NUM_KEYS)
    }

    /// The number in a metadata row.
    pub fn number(&self, name: &[u8]) -> Result<Option<u64>, StateError> {
        let Some(row) = self.get(Family::Metadata, name)? else { return Ok(None) };
        Ok(Some(u64::from_be_bytes(row.as_ref().try_into().map_err(|_| corrupt("metadata"))?)))
    }
}

/// Value of the positions row.
pub fn positions_value(positions: &[u64]) -> Vec<u8> {
    positions.iter().flat_map(|position| position.to_be_bytes()).collect()
}

fn read_positions(row: &[u8]) -> Result<Vec<u64>, StateError> {
    let (numbers, rest) = row.as_chunks::<8>();
    match rest {
        [] => Ok(numbers.iter().map(|number| u64::from_be_bytes(*number)).collect()),
        _ => Err(corrupt("positions")),
    }
}
