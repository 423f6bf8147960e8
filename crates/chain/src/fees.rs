//! Fees that follow from headers: the next block's base fee, blob prices, and a tip to suggest.

use alloy_eips::eip1559::{BaseFeeParams, INITIAL_BASE_FEE, calc_next_block_base_fee};
use hearth_evm::{ChainSpec, Fork};
use hearth_primitives::Header;

/// Base fee of the block after `parent`, in wei (EIP-1559); `None` where that block is before London.
pub fn next_base_fee(spec: &ChainSpec, parent: &Header) -> Option<u64> {
    if !spec.is_london(parent.number + 1) {
        return None;
    }
    Some(match parent.base_fee_per_gas {
        Some(base_fee) => {
            calc_next_block_base_fee(parent.gas_used, parent.gas_limit, base_fee, BaseFeeParams::ethereum())
        }
        None => INITIAL_BASE_FEE,
    })
}

/// Price of blob gas in a block, in wei (EIP-4844); `None` before Cancun.
pub fn blob_base_fee(spec: &ChainSpec, header: &Header) -> Option<u128> {
    let excess = header.excess_blob_gas?;
    Some(spec.blob_params(header.timestamp)?.blob_base_fee(excess))
}

/// Excess blob gas of the block after `parent` at `timestamp` (EIP-4844, EIP-7918); `None` before Cancun.
pub fn next_excess_blob_gas(spec: &ChainSpec, parent: &Header, timestamp: u64) -> Option<u64> {
    let params = spec.blob_params(timestamp)?;
    let fork = spec.fork_with_merge(parent.number + 1, timestamp, spec.is_post_merge(parent));
    let reserve = if fork >= Fork::Osaka { parent.base_fee_per_gas } else { None };
    let (excess, used) = (parent.excess_blob_gas.unwrap_or(0), parent.blob_gas_used.unwrap_or(0));
    Some(params.next_excess(excess, used, reserve))
}

/// Price of blob gas in the block after `parent`, in wei, if it comes at `timestamp`; `None` before Cancun.
pub fn next_blob_base_fee(spec: &ChainSpec, parent: &Header, timestamp: u64) -> Option<u128> {
    let excess = next_excess_blob_gas(spec, parent, timestamp)?;
    Some(spec.blob_params(timestamp)?.blob_base_fee(excess))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(gas_used: u64) -> Header {
        Header {
            number: 5,
            gas_limit: 30_000_000,
            gas_used,
            base_fee_per_gas: Some(1_000_000_000),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            ..Header::default()
        }
    }

    #[test]
    fn the_base_fee_moves_by_an_eighth_at_most() {
        let spec = ChainSpec::dev(1);
        assert_eq!(next_base_fee(&spec, &parent(30_000_000)), Some(1_125_000_000));
        assert_eq!(next_base_fee(&spec, &parent(15_000_000)), Some(1_000_000_000));
        assert_eq!(next_base_fee(&spec, &parent(0)), Some(875_000_000));
    }

    #[test]
    fn blob_gas_is_cheapest_without_excess() {
        let spec = ChainSpec::dev(1);
        assert_eq!(blob_base_fee(&spec, &parent(0)), Some(1));
        assert_eq!(next_blob_base_fee(&spec, &parent(0), 12), Some(1));
        assert_eq!(blob_base_fee(&spec, &Header::default()), None);
    }
}
