//! Fees that follow from headers: the next block's base fee and blob prices.

pub use hearth_evm::next_base_fee;

use hearth_evm::{ChainSpec, next_excess_blob_gas};
use hearth_primitives::Header;

/// Price of blob gas in a block, in wei (EIP-4844); `None` before Cancun.
pub fn blob_base_fee(spec: &ChainSpec, header: &Header) -> Option<u128> {
    let excess = header.excess_blob_gas?;
    Some(spec.blob_params(header.timestamp)?.blob_base_fee(excess))
}

/// Price of blob gas in the block after `parent`, in wei, if it comes at `timestamp`; `None` before
/// Cancun.
pub fn next_blob_base_fee(spec: &ChainSpec, parent: &Header, timestamp: u64) -> Option<u128> {
    let excess = next_excess_blob_gas(spec, timestamp, parent)?;
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
