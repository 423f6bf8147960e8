//! What a table keeps beside its segments: what is fixed when it is made, and what of it is gone.

use crate::format::{be32, be64, split_position, take};
use crate::{Keys, LittError, doc};
use hearth_disk::Disk;
use std::path::Path;

const MAGIC: [u8; 4] = *b"HLTS";
const VERSION: u16 = 2;
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
    /// Segments that were collected, by shard: ascending ranges without those that border each
    /// other.
    pub gone: Vec<Vec<(u32, u32)>>,
    /// Number of the newest dictionary; 0 for none.
    pub dictionary: u32,
    /// Cuts back: the number of each and the segment it went to, both ascending. One that a later
    /// cut went below is left out. A key index that reaches to that segment and was made before the
    /// cut is none of this table any more.
    pub cuts: Vec<(u32, u32)>,
    /// A cut of the only shard that is under way: one that was interrupted is finished at the next
    /// opening.
    pub cutting: Option<Cutting>,
}

/// A cut back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cutting {
    /// The position to go back to.
    pub to: u64,
    /// The highest segment that there may be a file of.
    pub last: u32,
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
        out.extend_from_slice(&(self.cuts.len() as u32).to_be_bytes());
        for (number, segment) in &self.cuts {
            out.extend_from_slice(&number.to_be_bytes());
            out.extend_from_slice(&segment.to_be_bytes());
        }
        if let Some(Cutting { to, last }) = &self.cutting {
            out.extend_from_slice(&to.to_be_bytes());
            out.extend_from_slice(&last.to_be_bytes());
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
        let pairs = |at: &mut &[u8]| -> Option<Vec<(u32, u32)>> {
            let count = be32(take(at, 4)?);
            (0..count).map(|_| Some((be32(take(at, 4)?), be32(take(at, 4)?)))).collect()
        };
        let gone = (0..shards).map(|_| pairs(at)).collect::<Option<Vec<_>>>()?;
        let cuts = pairs(at)?;
        let cutting = match at.is_empty() {
            true => None,
            false => Some(Cutting { to: be64(take(at, 8)?), last: be32(take(at, 4)?) }),
        };
        (at.is_empty() && shards > 0).then_some(Self {
            shards,
            keys,
            secret,
            floor,
            age_ms,
            gone,
            dictionary,
            cuts,
            cutting,
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

    /// Writes what was read once more. A file that is there need not be durable: who wrote it may
    /// have died before its name was synced, or that sync may have failed, and the next write rests
    /// on it. On a full disk the sync of the folder has to do.
    pub fn write_again(&self, disk: &dyn Disk, dir: &Path) -> Result<(), LittError> {
        match self.write(disk, dir) {
            Err(error) if error.is_full() => disk.sync_dir(dir).map_err(LittError::io(dir)),
            written => written,
        }
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

    /// Number of the last cut; 0 where there was none.
    pub fn last_cut(&self) -> u32 {
        self.cuts.last().map_or(0, |(number, _)| *number)
    }

    /// Notes that a cut begins.
    pub fn begin_cut(&mut self, cutting: Cutting) {
        let (number, (segment, _)) = (self.last_cut() + 1, split_position(cutting.to));
        self.cuts.retain(|(_, other)| *other < segment);
        self.cuts.push((number, segment));
        self.cutting = Some(cutting);
    }

    /// Whether a key index that was made after so many cuts and reaches to a segment counts still.
    pub fn believes(&self, made_after: u32, last: u32) -> bool {
        self.cuts.iter().all(|(number, segment)| *number <= made_after || last < *segment)
    }

    /// Index behind the last segment that was collected; 0 where none was.
    pub fn behind_gone(&self, shard: u8) -> u32 {
        self.gone[usize::from(shard)].last().map_or(0, |(_, last)| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> State {
        State {
            shards: 2,
            keys: Keys::Hash,
            secret: [7; 32],
            floor: 9,
            age_ms: 11,
            gone: vec![Vec::new(); 2],
            dictionary: 0,
            cuts: Vec::new(),
            cutting: None,
        }
    }

    #[test]
    fn ranges_of_collected_segments_merge() {
        let mut state = sample();
        [5, 3, 0, 4, 1].into_iter().for_each(|n| state.add_gone(1, n));
        assert_eq!(state.gone, [vec![], vec![(0, 1), (3, 5)]]);
        assert!(state.is_gone(1, 4) && !state.is_gone(1, 2) && !state.is_gone(0, 4));
        assert_eq!(State::decode(&state.encode()), Some(state.clone()));
        (state.cuts, state.cutting) = (vec![(3, 8)], Some(Cutting { to: 0, last: 9 }));
        assert_eq!(State::decode(&state.encode()), Some(state.clone()));
        assert_eq!(State::decode(&state.encode()[..state.encode().len() - 1]), None);
        state.forget_gone_from(1, 4);
        assert_eq!(state.behind_gone(1), 4);
        assert_eq!(state.gone[1], [(0, 1), (3, 3)]);
    }
    #[test]
    fn key_indexes_from_before_a_cut_count_below_it_only() {
        let mut state = State::decode(&sample().encode()).unwrap();
        state.begin_cut(Cutting { to: crate::format::position(5, 900), last: 9 });
        assert!(state.believes(0, 4) && !state.believes(0, 5) && state.believes(1, 5));
        state.begin_cut(Cutting { to: crate::format::position(7, 100), last: 9 });
        assert!(
            !state.believes(0, 5) && state.believes(1, 6) && !state.believes(1, 7) && state.believes(2, 8)
        );
        state.begin_cut(Cutting { to: 0, last: 9 });
        assert_eq!(state.cuts, [(3, 0)]);
        assert!(!state.believes(2, 0) && state.believes(3, 0));
    }
}
