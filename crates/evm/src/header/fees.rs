//! Base fee and blob gas of the block that follows a parent (EIP-1559, EIP-4844, EIP-7918).

use crate::spec::{ChainSpec, Fork};
use alloy_consensus::Header;

/// Base fee in wei of the first block with one (EIP-1559).
pub const INITIAL_BASE_FEE: u64 = 1_000_000_000;
/// The gas limit is this many times the target (EIP-1559).
pub const ELASTICITY: u64 = 2;
/// A step of the base fee is at most the base fee divided by this (EIP-1559).
const CHANGE_DENOMINATOR: u128 = 8;

/// Base fee in wei of the block after `parent`; `None` before London.
pub fn next_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u64> {
    if !spec.is_london(parent.number.saturating_add(1)) {
        return None;
    }
    let Some(base_fee) = parent.base_fee_per_gas.filter(|_| spec.is_london(parent.number)) else {
        return Some(INITIAL_BASE_FEE);
    };
    Some(base_fee_after(base_fee, parent.gas_used, parent.gas_limit))
}

fn base_fee_after(base_fee: u64, gas_used: u64, gas_limit: u64) -> u64 {
    let target = u128::from(gas_limit / ELASTICITY);
    let (fee, used) = (u128::from(base_fee), u128::from(gas_used));
    if target == 0 || used == target {
        return base_fee;
    }
    let next = if used > target {
        fee + (fee * (used - target) / target / CHANGE_DENOMINATOR).max(1)
    } else {
        fee.saturating_sub(fee * (target - used) / target / CHANGE_DENOMINATOR)
    };
    u64::try_from(next).unwrap_or(u64::MAX)
}

/// Excess blob gas of the block at `timestamp` (seconds) after `parent`; `None` before Cancun.
pub fn next_excess_blob_gas(spec: &ChainSpec, timestamp: u64, parent: &Header) -> Option<u64> {
    let params = spec.blob_params(timestamp)?;
    let number = parent.number.saturating_add(1);
    let osaka = spec.fork_with_merge(number, timestamp, true) >= Fork::Osaka;
    let reserve = osaka.then(|| parent.base_fee_per_gas.unwrap_or(0));
    Some(params.next_excess(parent.excess_blob_gas.unwrap_or(0), parent.blob_gas_used.unwrap_or(0), reserve))
}
