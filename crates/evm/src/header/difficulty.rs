//! Difficulty of proof-of-work blocks: every formula from Frontier to Gray Glacier.

use crate::spec::ChainSpec;
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_primitives::U256;

/// Lowest difficulty before the bomb is added.
const MINIMUM: u64 = 131_072;
/// A step is the parent's difficulty divided by this.
const BOUND_DIVISOR: u64 = 2_048;
/// Blocks of one period of the bomb.
const BOMB_PERIOD: u64 = 100_000;
/// Seconds under which Frontier's difficulty rises.
const FRONTIER_DURATION: u64 = 13;
/// Most steps by which the difficulty falls at once.
const MAX_FALL: u64 = 99;

/// Difficulty of the block at `timestamp` (seconds) that follows `parent`, which must be older.
pub fn next_difficulty(spec: &ChainSpec, timestamp: u64, parent: &Header) -> U256 {
    if let Some(fixed) = spec.fixed_difficulty {
        return U256::from(fixed);
    }
    let number = parent.number.saturating_add(1);
    let blocks = &spec.blocks;
    let reached = |at: Option<u64>| at.is_some_and(|at| at <= number);
    let elapsed = timestamp.saturating_sub(parent.timestamp);
    // Each delay of the bomb, the latest first: EIP-5133, 4345, 3554, 2384, 1234, 649.
    let delays = [
        (blocks.gray_glacier, 11_400_000),
        (blocks.arrow_glacier, 10_700_000),
        (blocks.london, 9_700_000),
        (blocks.muir_glacier, 9_000_000),
        (blocks.constantinople, 5_000_000),
        (blocks.byzantium, 3_000_000),
    ];
    if let Some((_, delay)) = delays.into_iter().find(|(at, _)| reached(*at)) {
        // EIP-100: a parent with ommers raises the difficulty one step more.
        let rise = if parent.ommers_hash == EMPTY_OMMER_ROOT_HASH { 1 } else { 2 };
        let base = adjusted(parent.difficulty, rise, elapsed / 9);
        return base.saturating_add(bomb(number.saturating_sub(delay)));
    }
    if reached(blocks.homestead) {
        return adjusted(parent.difficulty, 1, elapsed / 10).saturating_add(bomb(number));
    }
    let step = parent.difficulty / U256::from(BOUND_DIVISOR);
    let moved = if elapsed < FRONTIER_DURATION {
        parent.difficulty.saturating_add(step)
    } else {
        parent.difficulty.saturating_sub(step)
    };
    moved.max(U256::from(MINIMUM)).saturating_add(bomb(number))
}

/// `parent + parent / 2048 * max(rise - periods, -99)`, at least the minimum (EIP-2, EIP-100).
fn adjusted(parent: U256, rise: u64, periods: u64) -> U256 {
    let step = parent / U256::from(BOUND_DIVISOR);
    let moved = if periods <= rise {
        parent.saturating_add(step.saturating_mul(U256::from(rise - periods)))
    } else {
        parent.saturating_sub(step.saturating_mul(U256::from((periods - rise).min(MAX_FALL))))
    };
    moved.max(U256::from(MINIMUM))
}

/// `2^(number / 100000 - 2)` from the second period on.
fn bomb(number: u64) -> U256 {
    match (number / BOMB_PERIOD).checked_sub(2) {
        Some(exponent) if exponent < 256 => U256::from(1) << usize::try_from(exponent).unwrap_or(255),
        Some(_) => U256::MAX,
        None => U256::ZERO,
    }
}
