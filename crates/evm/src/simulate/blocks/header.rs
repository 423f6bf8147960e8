//! The header of a simulated block before it is executed.

use super::{SimulateError, plan::Planned};
use crate::{
    header::{next_base_fee, next_excess_blob_gas},
    simulate::BlockOverrides,
    spec::{ChainSpec, Fork},
};
use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes, U256};

/// The fields of a header that its parent determines: go-ethereum's defaults
/// (internal/ethapi/simulate.go: makeHeaders), then the overrides. Without validation the base fee
/// is zero unless the overrides set it, since calls need no gas price then.
pub(super) fn preliminary(
    (spec, chain_id): (&ChainSpec, u64),
    planned: &Planned<'_>,
    parent: &Header,
    parent_hash: B256,
    validation: bool,
) -> Result<Header, SimulateError> {
    let none = BlockOverrides::default();
    let overrides = planned.overrides.unwrap_or(&none);
    let (number, timestamp) = (planned.number, planned.timestamp);
    let merged = spec.fork_at(number, timestamp) >= Fork::Paris;
    let mut header = Header {
        parent_hash,
        number,
        timestamp,
        beneficiary: overrides.fee_recipient.unwrap_or(parent.beneficiary),
        difficulty: overrides.difficulty.unwrap_or(if merged { U256::ZERO } else { parent.difficulty }),
        gas_limit: overrides.gas_limit.map_or(parent.gas_limit, |limit| limit.to()),
        mix_hash: overrides.prev_randao.unwrap_or_default(),
        extra_data: spec.mark_chain_id(chain_id, Bytes::new()),
        ..Header::default()
    };
    let fork = spec.fork_of(&header);
    if fork >= Fork::London {
        header.base_fee_per_gas = match overrides.base_fee()? {
            Some(fee) => Some(fee),
            None if validation => next_base_fee(spec, parent),
            None => Some(0),
        };
    }
    if fork >= Fork::Cancun {
        // A parent without blobs has no excess to hand on.
        let excess = next_excess_blob_gas(spec, timestamp, parent);
        header.excess_blob_gas = Some(excess.filter(|_| spec.fork_of(parent) >= Fork::Cancun).unwrap_or(0));
        header.parent_beacon_block_root = Some(overrides.beacon_root.unwrap_or_default());
    }
    Ok(header)
}
