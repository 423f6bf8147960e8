//! `testing_buildBlockV1`: builds a block on the head from given or pending transactions; the block
//! is not kept.

use super::{Answer, send::decode};
use alloy_primitives::{Address, B256, Bytes};
use hearth_chain::BlockAttributes;
use hearth_engine::{Attributes, Contents, Sidecars, build_payload, sidecar_of, write_envelope};
use hearth_evm::{BlockEnvironment, MAX_EXTRA_DATA, recover_sender};
use hearth_home::{Home, NodeError};
use hearth_pool::strip_sidecar;
use hearth_primitives::{Failure, Header, Transaction};

/// The decoded parameters of `testing_buildBlockV1`.
pub(super) struct Asked {
    pub parent: B256,
    pub attributes: Attributes,
    /// Exactly these; what waits in the pool where absent.
    pub transactions: Option<Vec<Bytes>>,
    pub extra_data: Option<Bytes>,
}

/// Version of the envelope of `engine_getPayload` that has all members.
const ENVELOPE_VERSION: u8 = 5;

pub(super) fn build(home: &Home, asked: Asked) -> Answer {
    let parent = home.head()?;
    if parent.hash != asked.parent {
        return Err(NodeError::NotTheHead);
    }
    let attributes = attributes(home, &asked, &parent.block.header)?;
    let mut sidecars = Sidecars::default();
    let given = match &asked.transactions {
        Some(list) => {
            let header = home.chain().header_after(&parent.block.header, &attributes);
            Some(read(home, list, &header, &mut sidecars)?)
        }
        None => None,
    };
    let contents = given.as_deref().map_or(Contents::Pool, Contents::Exactly);
    let mut built = build_payload(home, &parent, &attributes, contents)?;
    // Blobs that were given come before those that wait.
    built.sidecars.extend(sidecars);
    Ok(write_envelope(&built, ENVELOPE_VERSION))
}

fn attributes(home: &Home, asked: &Asked, parent: &Header) -> Result<BlockAttributes, NodeError> {
    let extra_data = asked.extra_data.clone().unwrap_or_default();
    if extra_data.len() > MAX_EXTRA_DATA {
        let message = format!("extra data too long: {} bytes, at most {MAX_EXTRA_DATA}", extra_data.len());
        return Err(NodeError::invalid_params(message));
    }
    let extra_data =
        if extra_data.is_empty() { home.chain().next_chain_id().mark(extra_data) } else { extra_data };
    let given = &asked.attributes;
    let timestamp = given.timestamp.to::<u64>();
    if timestamp <= parent.timestamp {
        let message = format!("invalid timestamp, parent {} given {timestamp}", parent.timestamp);
        return Err(NodeError::ExecutionFailed { source: message.into() });
    }
    Ok(BlockAttributes {
        timestamp,
        beneficiary: given.suggested_fee_recipient,
        prev_randao: given.prev_randao,
        parent_beacon_block_root: given.parent_beacon_block_root.unwrap_or_default(),
        withdrawals: given.withdrawals.clone().unwrap_or_default(),
        extra_data,
        gas_limit: home.next_gas_limit(parent),
        misbehavior: alloy_primitives::Bytes::new(),
    })
}

/// Decodes transactions and recovers their senders; puts their blobs aside.
fn read(
    home: &Home,
    list: &[Bytes],
    header: &Header,
    sidecars: &mut Sidecars,
) -> Result<Vec<(Transaction, Address)>, NodeError> {
    let spec = home.chain().spec();
    let environment = BlockEnvironment::from_header(spec, header);
    let read = list.iter().map(|bytes| {
        let pooled = decode(bytes)?;
        if let Some(sidecar) = sidecar_of(&pooled) {
            sidecars.insert(*pooled.tx_hash(), sidecar.clone());
        }
        let transaction = strip_sidecar(pooled);
        let sender = recover_sender(spec, &environment, &transaction)
            .map_err(|error| NodeError::ExecutionFailed { source: Failure::open(error) })?;
        Ok((transaction, sender))
    });
    read.collect()
}
