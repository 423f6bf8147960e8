//! How far baking is: from which height on, up to which without a gap, and the file that keeps it.

use super::options::MAX_FINISHED_AHEAD;
use crate::{BakeError, BakedTracer, BlockKey};
use alloy_primitives::B256;
use hearth_primitives::Height;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write,
    path::Path,
};

/// Version of the file.
const FORMAT: u32 = 1;

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4096;

/// The file's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    format: u32,
    chain_id: u64,
    /// First height that is to be baked.
    start: Height,
    /// Last height below which nothing is missing.
    cursor: Height,
    /// Hash of the block at the cursor.
    hash: B256,
    /// Labels of the tracers that the cursor holds for.
    tracers: Vec<String>,
}

impl Kept {
    /// What is to be written.
    pub(crate) fn new(start: Height, cursor: &BlockKey, tracers: &[BakedTracer]) -> Self {
        let tracers = tracers.iter().map(|tracer| tracer.label().to_owned()).collect();
        let (chain_id, hash) = (cursor.chain_id, cursor.hash);
        Self { format: FORMAT, chain_id, start, cursor: cursor.number, hash, tracers }
    }

    /// Reads the file; `None` where there is none, or one that does not read: then everything is
    /// looked at again.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let length = fs::metadata(path).ok()?.len();
        let text = (length <= MAX_FILE_BYTES).then(|| fs::read(path).ok()).flatten()?;
        serde_json::from_slice(&text).ok().filter(|kept: &Self| kept.format == FORMAT)
    }

    /// Replaces the file whole.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn write(&self, path: &Path) -> Result<(), BakeError> {
        let failed = |source| BakeError::Io { path: path.to_owned(), source };
        let text = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        let new = path.with_extension("json.new");
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.sync_data()).map_err(failed)?;
        fs::rename(&new, path).map_err(failed)
    }

    /// The progress of a home, where the file is of this chain. `baked` says whether the block that
    /// the cursor names is canonical and in the cache under each tracer: if not, or if a tracer was
    /// added, everything from the start on is looked at again.
    pub(crate) fn progress(
        &self,
        chain_id: u64,
        tracers: &[BakedTracer],
        baked: impl FnOnce(&BlockKey) -> bool,
    ) -> Option<Progress> {
        if self.chain_id != chain_id {
            return None;
        }
        let mut progress = Progress::from(self.start);
        let added = tracers.iter().any(|tracer| !self.tracers.iter().any(|label| label == tracer.label()));
        let key = BlockKey { chain_id, number: self.cursor, hash: self.hash };
        if !added && self.cursor >= self.start && baked(&key) {
            progress.cursor = self.cursor;
        }
        Some(progress)
    }
}

/// Which heights are baked, as far as anyone has to know: all from `start` to the cursor, and some
/// above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    start: Height,
    cursor: Height,
    /// Finished heights above the cursor.
    ahead: BTreeSet<Height>,
}

impl Progress {
    /// Nothing is baked; baking begins at `start`, which is above 0.
    pub(crate) fn from(start: Height) -> Self {
        let start = start.max(1);
        Self { start, cursor: start - 1, ahead: BTreeSet::new() }
    }

    /// First height that is to be baked.
    pub(crate) fn start(&self) -> Height {
        self.start
    }

    /// Last height below which nothing is missing, and which is baked itself; `start - 1` where
    /// there is none.
    pub(crate) fn cursor(&self) -> Height {
        self.cursor
    }

    /// Heights below this one are of no interest.
    pub(crate) fn start_at(&mut self, height: Height) {
        let height = height.max(1);
        self.start = self.start.max(height);
        if self.cursor < height - 1 {
            self.cursor = height - 1;
            self.ahead = self.ahead.split_off(&height);
            self.catch_up();
        }
    }

    /// A height is baked. False where the cursor stands below it and it could not be remembered.
    pub(crate) fn done(&mut self, height: Height) -> bool {
        if height <= self.cursor {
            return true;
        }
        if height > self.cursor + 1 && self.ahead.len() >= MAX_FINISHED_AHEAD {
            return self.ahead.contains(&height);
        }
        self.ahead.insert(height);
        self.catch_up();
        true
    }

    /// Every height up to this one is baked, from one on that is not above the cursor's next.
    pub(crate) fn done_up_to(&mut self, height: Height) {
        if height > self.cursor {
            self.cursor = height;
            self.ahead = self.ahead.split_off(&(height + 1));
            self.catch_up();
        }
    }

    /// A block was committed: one below the start means that the chain went back, and baking goes
    /// on from there.
    pub(crate) fn committed(&mut self, height: Height) {
        if height < self.start && height > 0 {
            self.start = height;
            self.cursor = self.cursor.min(height - 1);
        }
    }

    /// The blocks above a height are gone.
    pub(crate) fn unwound(&mut self, to: Height) {
        self.cursor = self.cursor.min(to.max(self.start - 1));
        self.ahead.split_off(&to.saturating_add(1));
    }

    fn catch_up(&mut self) {
        while self.ahead.first() == Some(&(self.cursor + 1)) {
            self.ahead.pop_first();
            self.cursor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: Height) -> BlockKey {
        BlockKey { chain_id: 7, number, hash: B256::repeat_byte(number as u8) }
    }

    #[test]
    fn the_cursor_moves_over_heights_without_a_gap_alone() {
        let mut progress = Progress::from(5);
        assert_eq!(progress.cursor(), 4);
        for height in [6, 8, 7] {
            assert!(progress.done(height));
        }
        assert_eq!(progress.cursor(), 4);
        progress.done(5);
        assert_eq!(progress.cursor(), 8);
        progress.done(10);
        progress.unwound(9);
        progress.done(9);
        assert_eq!(progress.cursor(), 9, "10 is gone");
        progress.done(12);
        progress.done_up_to(11);
        assert_eq!(progress.cursor(), 12);
        progress.unwound(2);
        assert_eq!((progress.start(), progress.cursor()), (5, 4));
        progress.committed(3);
        assert_eq!((progress.start(), progress.cursor()), (3, 2));
        progress.done(20);
        progress.start_at(20);
        assert_eq!((progress.start(), progress.cursor()), (20, 20));
    }

    #[test]
    fn finished_heights_above_a_gap_are_bounded() {
        let mut progress = Progress::from(1);
        for height in 0..MAX_FINISHED_AHEAD as u64 {
            assert!(progress.done(2 + height));
        }
        assert!(!progress.done(1 << 40));
        assert!(progress.done(1));
        assert_eq!(progress.cursor(), 1 + MAX_FINISHED_AHEAD as u64);
    }

    #[test]
    fn the_progress_file_reads_back_unless_something_differs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker.json");
        assert_eq!(Kept::read(&path), None);
        let both = [BakedTracer::Call, BakedTracer::Prestate];
        let kept = Kept::new(3, &key(9), &both);
        kept.write(&path).unwrap();
        let read = Kept::read(&path).unwrap();
        assert_eq!(read, kept);
        let at = |chain, tracers: &[_], baked: bool| {
            read.progress(chain, tracers, |asked| baked && *asked == key(9)).map(|p| (p.start(), p.cursor()))
        };
        assert_eq!(at(7, &both, true), Some((3, 9)));
        assert_eq!(at(7, &both[..1], true), Some((3, 9)));
        assert_eq!(at(8, &both, true), None, "another chain");
        assert_eq!(at(7, &both, false), Some((3, 2)), "another branch, or the cache was deleted");
        assert_eq!(at(7, &BakedTracer::PLAIN, true), Some((3, 2)), "a tracer was added");
        fs::write(&path, b"{\"format\":1").unwrap();
        assert_eq!(Kept::read(&path), None);
    }
}
