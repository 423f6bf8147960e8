//! Which canonical blocks of a home that follows are not proven: a row of the canonical index for
//! each, so that an unwind takes it back.

use crate::{Chain, ChainError};
use hearth_flatkv::{FlatKv, IndexWrite};
use hearth_primitives::{Height, StateError};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// First byte of the rows; the height follows.
const ROW: u8 = b'v';
/// Value of a block whose state root was not checked.
const EXECUTED: u8 = 1;
/// Value of a block that was not executed.
const HOLE: u8 = 2;
/// Rows that are read at once when they are counted.
const PAGE_ROWS: usize = 4096;

/// How a block is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockMark {
    Executed,
    Hole,
}

/// Numbers of marked blocks, and of the changes of what a home that follows holds.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// `None` until they are counted.
    counts: Mutex<Option<Counts>>,
    changes: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub executed: u64,
    pub holes: u64,
}

impl Counts {
    fn add(&mut self, mark: BlockMark) {
        match mark {
            BlockMark::Executed => self.executed += 1,
            BlockMark::Hole => self.holes += 1,
        }
    }
}

impl Marks {
    /// A block with this mark is canonical now.
    pub(crate) fn added(&self, mark: Option<BlockMark>) {
        if let (Some(counts), Some(mark)) = (&mut *self.counts.lock(), mark) {
            counts.add(mark);
        }
        self.changed();
    }

    /// Blocks have left the chain.
    pub(crate) fn unwound(&self) {
        *self.counts.lock() = None;
        self.changed();
    }

    /// Head, marks or finality are others now, and can be read.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}

fn key(height: Height) -> Vec<u8> {
    [&[ROW][..], &height.to_be_bytes()].concat()
}

/// The row of a block.
pub(crate) fn row(height: Height, mark: BlockMark) -> IndexWrite {
    let value = match mark {
        BlockMark::Executed => EXECUTED,
        BlockMark::Hole => HOLE,
    };
    IndexWrite { key: key(height), value: Some(vec![value]) }
}

fn read(value: &[u8]) -> Result<BlockMark, StateError> {
    match value {
        [EXECUTED] => Ok(BlockMark::Executed),
        [HOLE] => Ok(BlockMark::Hole),
        _ => Err(StateError::Damaged { what: "mark" }),
    }
}

/// Whether the canonical block at a height is a hole.
pub(crate) fn is_hole(kv: &FlatKv, height: Height) -> Result<bool, StateError> {
    let row = kv.index_get(&key(height))?;
    Ok(row.map(|value| read(&value)).transpose()? == Some(BlockMark::Hole))
}

impl Chain {
    /// The first hole of a range of canonical heights, bounds included; `None` in a home that does
    /// not follow.
    ///
    /// # Errors
    /// The state store's.
    pub fn first_hole(&self, from: Height, to: Height) -> Result<Option<Height>, ChainError> {
        if !self.is_follower() {
            return Ok(None);
        }
        let mut hole = None;
        self.each_mark(from, to, |height, mark| {
            hole = (mark == BlockMark::Hole).then_some(height);
            hole.is_none()
        })?;
        Ok(hole)
    }

    /// A number that differs after each change of [`Chain::followed_state`]. Read before the state,
    /// it says as long as it is the same that the state is.
    pub fn followed_changes(&self) -> u64 {
        self.marks.changes.load(Ordering::Acquire)
    }

    /// Numbers of marked blocks.
    pub(crate) fn count_marks(&self) -> Result<Counts, ChainError> {
        let mut kept = self.marks.counts.lock();
        if let Some(counts) = *kept {
            return Ok(counts);
        }
        let mut counts = Counts::default();
        self.each_mark(0, Height::MAX, |_, mark| {
            counts.add(mark);
            true
        })?;
        *kept = Some(counts);
        Ok(counts)
    }

    /// Visits the marks of a range in ascending order, as long as `visit` returns true.
    fn each_mark(
        &self,
        from: Height,
        to: Height,
        mut visit: impl FnMut(Height, BlockMark) -> bool,
    ) -> Result<(), ChainError> {
        let end = to.checked_add(1).map_or_else(|| vec![ROW + 1], key);
        let mut start = key(from);
        loop {
            let rows = self.kv.index_range(&start, &end, PAGE_ROWS)?;
            for (key, value) in &rows {
                let height = key.get(1..).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
                let height = height.ok_or(StateError::Damaged { what: "mark" })?;
                if !visit(height, read(value)?) {
                    return Ok(());
                }
            }
            match rows.last() {
                // The next key after the last one.
                Some((last, _)) if rows.len() == PAGE_ROWS => start = [last, &[0][..]].concat(),
                _ => return Ok(()),
            }
        }
    }
}
