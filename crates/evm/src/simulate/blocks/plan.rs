//! The order of the blocks: numbers and times, and the empty blocks that fill gaps.

use super::{BlockCalls, SimulateError};
use crate::simulate::{BlockOverrides, CallRequest, StateOverrides};
use alloy_consensus::Header;
use alloy_primitives::{U64, U256};
use hearth_primitives::Height;

/// Most blocks of one simulation, those that fill gaps included (internal/ethapi/simulate.go of
/// go-ethereum: maxSimulateBlocks).
pub const MAX_SIMULATED_BLOCKS: usize = 256;
/// Seconds from a block to the next one that names no time: a slot.
const SLOT_SECONDS: u64 = 12;

/// A block that is to be built.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<'r> {
    pub number: Height,
    /// In seconds.
    pub timestamp: u64,
    pub overrides: Option<&'r BlockOverrides>,
    pub state: Option<&'r StateOverrides>,
    pub calls: &'r [CallRequest],
}

/// Gives every block its number and its time.
pub(super) fn plan<'r>(base: &Header, blocks: &'r [BlockCalls]) -> Result<Vec<Planned<'r>>, SimulateError> {
    let mut planned: Vec<Planned<'r>> = Vec::with_capacity(blocks.len());
    let (mut number, mut timestamp) = (base.number, base.timestamp);
    for block in blocks {
        let overrides = block.block_overrides.as_ref();
        let next = next_number(base.number, number, overrides.and_then(|fields| fields.number))?;
        for filler in number + 1..next {
            timestamp = next_slot(timestamp)?;
            planned.push(Planned { number: filler, timestamp, overrides: None, state: None, calls: &[] });
        }
        timestamp = next_time(timestamp, overrides.and_then(|fields| fields.time))?;
        number = next;
        let state = block.state_overrides.as_ref();
        planned.push(Planned { number, timestamp, overrides, state, calls: &block.calls });
    }
    Ok(planned)
}

fn next_number(base: Height, previous: Height, asked: Option<U256>) -> Result<Height, SimulateError> {
    let asked = asked.unwrap_or(U256::from(previous) + U256::from(1));
    if asked <= U256::from(previous) {
        return Err(SimulateError::NumberOrder { number: asked.saturating_to(), previous });
    }
    if asked - U256::from(base) > U256::from(MAX_SIMULATED_BLOCKS) {
        return Err(SimulateError::TooManyBlocks);
    }
    // The base of a chain that ends at the highest number there is has no next block.
    Height::try_from(asked).map_err(|_| SimulateError::TooManyBlocks)
}

fn next_time(previous: u64, asked: Option<U64>) -> Result<u64, SimulateError> {
    let Some(timestamp) = asked.map(|time| time.to::<u64>()) else { return next_slot(previous) };
    if timestamp <= previous {
        return Err(SimulateError::TimestampOrder { timestamp, previous });
    }
    Ok(timestamp)
}

fn next_slot(previous: u64) -> Result<u64, SimulateError> {
    let timestamp = previous.wrapping_add(SLOT_SECONDS);
    if timestamp < previous {
        return Err(SimulateError::TimestampOrder { timestamp, previous });
    }
    Ok(timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Header {
        Header { number: 10, timestamp: 1_000, ..Header::default() }
    }

    fn block(number: Option<u64>, time: Option<u64>) -> BlockCalls {
        let overrides = BlockOverrides {
            number: number.map(U256::from),
            time: time.map(U64::from),
            ..BlockOverrides::default()
        };
        BlockCalls { block_overrides: Some(overrides), ..BlockCalls::default() }
    }

    fn places(blocks: &[BlockCalls]) -> Result<Vec<(u64, u64)>, String> {
        let planned = plan(&base(), blocks).map_err(|error| error.to_string())?;
        Ok(planned.iter().map(|block| (block.number, block.timestamp)).collect())
    }

    #[test]
    fn blocks_follow_each_other_a_slot_apart() {
        let blocks = [BlockCalls::default(), block(None, Some(5_000)), block(None, None)];
        assert_eq!(places(&blocks), Ok(vec![(11, 1_012), (12, 5_000), (13, 5_012)]));
    }

    #[test]
    fn gaps_are_filled_before_the_time_is_looked_at() {
        assert_eq!(
            places(&[block(Some(13), None), block(Some(15), Some(1_049))]),
            Ok(vec![(11, 1_012), (12, 1_024), (13, 1_036), (14, 1_048), (15, 1_049)])
        );
        assert_eq!(
            places(&[block(Some(13), Some(1_024))]),
            Err("block timestamps must be in order: 1024 <= 1024".to_owned())
        );
    }

    #[test]
    fn numbers_and_times_ascend() {
        assert_eq!(
            places(&[block(Some(10), None)]),
            Err("block numbers must be in order: 10 <= 10".to_owned())
        );
        assert_eq!(
            places(&[block(Some(12), None), block(Some(12), None)]),
            Err("block numbers must be in order: 12 <= 12".to_owned())
        );
        assert_eq!(
            places(&[block(None, Some(999))]),
            Err("block timestamps must be in order: 999 <= 1000".to_owned())
        );
        assert_eq!(
            places(&[block(None, Some(u64::MAX)), block(None, None)]),
            Err(format!("block timestamps must be in order: 11 <= {}", u64::MAX))
        );
    }

    #[test]
    fn no_more_than_256_blocks_above_the_base() {
        assert_eq!(places(&[block(Some(266), None)]).map(|blocks| blocks.len()), Ok(MAX_SIMULATED_BLOCKS));
        let refused = plan(&base(), &[block(Some(267), None)]).expect_err("one too many");
        assert_eq!((refused.to_string().as_str(), refused.kind()), ("too many blocks", "client_limit"));
        let huge = BlockOverrides { number: Some(U256::MAX), ..BlockOverrides::default() };
        let huge = [BlockCalls { block_overrides: Some(huge), ..BlockCalls::default() }];
        assert!(matches!(plan(&base(), &huge), Err(SimulateError::TooManyBlocks)));
        let last = Header { number: u64::MAX, ..Header::default() };
        assert!(matches!(plan(&last, &[BlockCalls::default()]), Err(SimulateError::TooManyBlocks)));
    }
}
