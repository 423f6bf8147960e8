//! What the next block of a development chain is to be like.

use super::clock::Clock;
use alloy_primitives::{Address, B256, U256};
use hearth_chain::{BlockAttributes, Chain, Edits};
use hearth_keccak::keccak256_one;
use hearth_primitives::Header;

/// Requested values for future blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextBlock {
    /// When it is made.
    pub clock: Clock,
    /// Who gets its tips; the zero address until it is set.
    pub coinbase: Address,
    /// Gas limit; that of the parent where absent.
    pub gas_limit: Option<u64>,
    /// Base fee of the next block alone, in wei.
    pub base_fee: Option<u64>,
    /// `prevrandao` of the next block only.
    pub prev_randao: Option<B256>,
    /// Lowest price for gas before there were base fees, in wei.
    pub min_gas_price: U256,
}

impl NextBlock {
    /// The header of the block after this one, without the fields that execution determines.
    /// `edits` are those that the block includes.
    pub(super) fn header(
        &self,
        chain: &Chain,
        (parent, parent_hash): (&Header, B256),
        edits: &Edits,
    ) -> Header {
        // There is no beacon chain to provide randomness, so a value that differs from block to
        // block replaces it. Edits are part of it, because two blocks with one hash must have been
        // executed on one state.
        let mut draw = [parent_hash.as_slice(), &(parent.number + 1).to_be_bytes()].concat();
        let digest = (!edits.is_empty()).then(|| edits.digest());
        draw.extend(digest.iter().flat_map(|digest| digest.0));
        let extra = digest.filter(|_| self.prev_randao.is_some());
        let attributes = BlockAttributes {
            timestamp: self.clock.peek(parent.timestamp),
            beneficiary: self.coinbase,
            gas_limit: self.gas_limit.unwrap_or(parent.gas_limit),
            misbehavior: alloy_primitives::Bytes::new(),
            prev_randao: self.prev_randao.unwrap_or_else(|| keccak256_one(&draw)),
            extra_data: chain
                .next_chain_id()
                .mark(extra.map(|digest| digest.to_vec().into()).unwrap_or_default()),
            ..BlockAttributes::default()
        };
        let mut header = chain.header_on(parent, parent_hash, &attributes);
        if let (Some(set), true) = (self.base_fee, header.base_fee_per_gas.is_some()) {
            header.base_fee_per_gas = Some(set);
        }
        header
    }

    /// A block was made.
    pub(super) fn made(&mut self, header: &Header) {
        self.clock.made(header.timestamp);
        (self.base_fee, self.prev_randao) = (None, None);
    }
}
