//! What a table keeps beside its segments: what is fixed when it is made, and what of it is gone.

use crate::format::{be32, be64, take};
use crate::{Keys, LittError, doc};
use hearth_disk::Disk;
use std::path::Path;

const MAGIC: [u8; 4] = *b"HLTS";
const VERSION: u16 = 1;
/// Name of the file in a table's folder.
pub(crate) const STATE_FILE: &str = "table.state";

/// A table's state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub shards: u8,
    pub keys: Keys,
    /// Secret of the hash of keys.
    pub secret: [u8; 32],
    /// Lowest number that is kept.
    pub floor: u64,
    /// Time that passed while the table was open, in milliseconds.
    pub age_ms: u64,
    /// Segments that were collected, by shard: ascending ranges without those that border each other.
    pub gone: Vec<Vec<(u32, u32)>>,
    /// Number of the newest dictionary; 0 for none.
    pub dictionary: u32,
}

impl State {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.shards, u8::from(self.keys == Keys::Sequence)];
        out.extend_from_slice(&self.secret);
        out.extend_from_slice(&self.floor.to_be_bytes());
        out.extend_from_slice(&self.age_ms.to_be_bytes());
        out.extend_from_slice(&self.dictionary.to_be_bytes());
        for ranges in &self.gone {
            out.extend_from_slice(&(ranges.len() as u32).to_be_bytes());
            for (first, last) in ranges {
                out.extend_from_slice(&first.to_be_bytes());
                out.extend_from_slice(&last.to_be_bytes());
            }
        }
        out
    }

    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let at = &mut bytes;
        let fixed = take(at, 2)?;
        let (shards, keys) = (fixed[0], if fixed[1] == 1 { Keys::Sequence } else { Keys::Hash });
        let secret = take(at, 32)?.try_into().ok()?;
        let (floor, age_ms) = (be64(take(at, 8)?), be64(take(at, 8)?));
        let dictionary = be32(take(at, 4)?);
        let mut gone = Vec::new();
        for _ in 0..shards {
            let count = be32(take(at, 4)?);
            let range = |at: &mut &[u8]| Some((be32(take(at, 4)?), be32(take(at, 4)?)));
            gone.push((0..count).map(|_| range(at)).collect::<Option<Vec<_>>>()?);
        }
        (at.is_empty() && shards > 0).then_some(Self {
            shards,
            keys,
            secret,
            floor,
            age_ms,
            gone,
            dictionary,
        })
    }

    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Self>, LittError> {
        let path = dir.join(STATE_FILE);
        let Some(bytes) = doc::read(disk, &path, MAGIC, VERSION)? else { return Ok(None) };
        let state = Self::decode(&bytes);
        state.map(Some).ok_or_else(|| LittError::corrupt(&path, 0, "state of the table does not decode"))
    }

    pub fn write(&self, disk: &dyn Disk, dir: &Path) -> Result<(), LittError> {
        doc::replace(disk, &dir.join(STATE_FILE), MAGIC, VERSION, &self.encode())
    }

    /// Whether a segment was collected.
    pub fn is_gone(&self, shard: u8, segment: u32) -> bool {
        self.gone[usize::from(shard)].iter().any(|(first, last)| (*first..=*last).contains(&segment))
    }

    /// Notes that a segment is collected.
    pub fn add_gone(&mut self, shard: u8, segment: u32) {
        let ranges = &mut self.gone[usize::from(shard)];
        ranges.push((segment, segment));
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges.drain(..) {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        *ranges = merged;
    }

    /// Forgets that segments from an index on were collected: a cut makes their indexes free again.
    pub fn forget_gone_from(&mut self, shard: u8, segment: u32) {
        let ranges = &mut self.gone[usize::from(shard)];
        ranges.retain(|(first, _)| *first < segment);
        if let Some(last) = ranges.last_mut() {
            last.1 = last.1.min(segment.saturating_sub(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_collected_segments_merge() {
        let mut state = State {
            shards: 2,
            keys: Keys::Hash,
            secret: [7; 32],
            floor: 9,
            age_ms: 11,
            gone: vec![Vec::new(); 2],
            dictionary: 0,
        };
        [5, 3, 0, 4, 1].into_iter().for_each(|n| state.add_gone(1, n));
        assert_eq!(state.gone, [vec![], vec![(0, 1), (3, 5)]]);
        assert!(state.is_gone(1, 4) && !state.is_gone(1, 2) && !state.is_gone(0, 4));
        assert_eq!(State::decode(&state.encode()), Some(state.clone()));
        state.forget_gone_from(1, 4);
        assert_eq!(state.gone[1], [(0, 1), (3, 3)]);
    }
}
