//! What a power cut leaves of what was not synced.
//!
//! A file is sectors of [`SECTOR`] bytes, each written whole or not at all. Since the last sync a
//! sector had a number of versions; the platter holds one of them. The size is kept apart: it may
//! be durable where the bytes are not (they read as zeros), or the other way round. Names are kept
//! apart from both.

use super::{rng::Rng, state::DataOp};

/// What the disk writes whole or not at all, in bytes.
pub const SECTOR: usize = 512;
/// What the page cache zeroes when a file is cut off inside it, in bytes.
const PAGE: usize = 4096;

/// How a cut treats what was not synced. Chosen once a cut, so that the plain cases are as frequent
/// as the mixed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// All of it is lost.
    Lose,
    /// All of it is kept.
    Keep,
    /// What came before a moment is kept, the write at that moment torn, the rest lost: a disk that
    /// keeps the order.
    Before(u64),
    /// Sizes and names are kept, bytes are lost.
    Zeros,
    /// Each name, size and sector goes its own way; the number is the share kept, of 8.
    Mixed(u64),
}

impl Style {
    /// Chooses a style; `first..=last` are the moments of what was not synced.
    pub(crate) fn choose(rng: &mut Rng, first: u64, last: u64) -> Self {
        match rng.below(10) {
            0 => Self::Lose,
            1 => Self::Keep,
            2..=4 => Self::Before(first + rng.below(last.saturating_sub(first) + 1)),
            5 => Self::Zeros,
            _ => Self::Mixed(1 + rng.below(7)),
        }
    }

    /// Whether a change of names survives.
    pub(crate) fn keeps_name(self, rng: &mut Rng, at: u64) -> bool {
        match self {
            Self::Lose => false,
            Self::Keep | Self::Zeros => true,
            Self::Before(moment) => at < moment,
            Self::Mixed(share) => rng.chance(share, 8),
        }
    }

    /// How many of the first `ops` decide the size.
    fn size_after(self, rng: &mut Rng, ops: &[(u64, DataOp)]) -> usize {
        match self {
            Self::Lose => 0,
            Self::Keep | Self::Zeros => ops.len(),
            // The size of the write at that moment may or may not have made it.
            Self::Before(moment) => {
                let before = ops.partition_point(|(at, _)| *at < moment);
                before + usize::from(is_at(ops, before, moment) && rng.chance(1, 2))
            }
            Self::Mixed(share) if rng.chance(share, 8) => ops.len(),
            Self::Mixed(_) => rng.below(ops.len() as u64 + 1) as usize,
        }
    }

    /// How many of the ops reached a sector; `touching` are the indexes of those that are about it.
    fn sector_after(self, rng: &mut Rng, ops: &[(u64, DataOp)], touching: &[usize]) -> usize {
        match self {
            Self::Lose | Self::Zeros => 0,
            Self::Keep => ops.len(),
            Self::Before(moment) => {
                let before = ops.partition_point(|(at, _)| *at < moment);
                before + usize::from(is_at(ops, before, moment) && rng.chance(1, 2))
            }
            Self::Mixed(share) if rng.chance(share, 8) => ops.len(),
            Self::Mixed(_) => {
                let count = rng.below(touching.len() as u64 + 1) as usize;
                touching.get(count).copied().unwrap_or(ops.len())
            }
        }
    }
}

/// Whether the op with that index is the one of a moment.
fn is_at(ops: &[(u64, DataOp)], index: usize, moment: u64) -> bool {
    ops.get(index).is_some_and(|(at, _)| *at == moment)
}

/// The bytes of a file after a cut: those it had when it was last synced, and what got through of
/// the ops since.
pub(crate) fn image(durable: &[u8], ops: &[(u64, DataOp)], style: Style, rng: &mut Rng) -> Vec<u8> {
    let mut lens = vec![durable.len()];
    for (_, op) in ops {
        let len = lens[lens.len() - 1];
        lens.push(op.len_after(len));
    }
    let sized = style.size_after(rng, ops);
    let len = lens[sized];
    let mut out = durable.to_vec();
    out.resize(len, 0);

    // Ops about each sector of the result.
    let mut touching = vec![Vec::new(); len.div_ceil(SECTOR)];
    for (index, (_, op)) in ops.iter().enumerate() {
        let range = op.touches(lens[index]);
        let sectors = range.start / SECTOR..range.end.div_ceil(SECTOR).min(touching.len());
        touching.get_mut(sectors).into_iter().flatten().for_each(|of| of.push(index));
    }
    for (sector, touching) in touching.iter().enumerate().filter(|(_, touching)| !touching.is_empty()) {
        let start = sector * SECTOR;
        let (lo, hi) = bounds(ops, &lens, sized, start);
        let after = style.sector_after(rng, ops, touching).clamp(lo, hi);
        let end = (start + SECTOR).min(len);
        let mut bytes = [0; SECTOR];
        let had = durable.get(start..).unwrap_or_default();
        let had = &had[..had.len().min(SECTOR)];
        bytes[..had.len()].copy_from_slice(had);
        for index in touching.iter().take_while(|index| **index < after) {
            ops[*index].1.apply_to_sector(&mut bytes, start);
        }
        out[start..end].copy_from_slice(&bytes[..end - start]);
    }
    out
}

/// Least and greatest number of ops that a sector can have seen. Behind the page in which a file is
/// cut off, blocks are given back together with the size: while the old size stands, so do the old
/// bytes, and what was written there later is nowhere.
fn bounds(ops: &[(u64, DataOp)], lens: &[usize], sized: usize, start: usize) -> (usize, usize) {
    let cuts = ops.iter().enumerate().filter(|(index, (_, op))| {
        let cut = op.len_after(lens[*index]);
        cut < lens[*index] && start >= cut.next_multiple_of(PAGE)
    });
    let (mut lo, mut hi) = (0, ops.len());
    for (index, _) in cuts {
        if index < sized {
            lo = index + 1;
        } else {
            hi = hi.min(index);
        }
    }
    (lo, hi.max(lo))
}
