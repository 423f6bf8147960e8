//! Chain ids of blocks. On a development chain they may change while it runs.
//!
//! A block that is executed under another id than the chain's first one carries that id at the
//! start of its extra data. The id of a block thus follows from its header: on every branch, after
//! a restart, and in a copy of the chain. Extra data is only read so on a chain whose rules have
//! `chainIdInExtraData`. Which id the next blocks have is no rule: see `hearth_chain::NextChainId`.

use super::ChainSpec;
use alloy_consensus::Header;
use alloy_primitives::Bytes;

/// What extra data begins with where a chain id follows, as eight bytes with the highest first.
const MARK: [u8; 8] = *b"chain id";
/// Bytes of the mark with its id.
const MARKED_BYTES: usize = MARK.len() + size_of::<u64>();

impl ChainSpec {
    /// The id that the chain began with (EIP-155).
    pub fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// Whether blocks may have other ids.
    pub fn chain_id_moves(&self) -> bool {
        self.chain_id_in_extra_data
    }

    /// The id under which the block with this header is executed.
    pub fn chain_id_of(&self, header: &Header) -> u64 {
        let marked = || header.extra_data.strip_prefix(&MARK)?.first_chunk::<8>();
        match self.chain_id_in_extra_data.then(marked).flatten() {
            Some(id) => u64::from_be_bytes(*id),
            None => self.chain_id,
        }
    }

    /// The extra data of a block under this id that would otherwise have this extra data: the id is
    /// prefixed unless it is the chain's first one, and the result is truncated to 32 bytes.
    pub fn mark_chain_id(&self, id: u64, extra_data: Bytes) -> Bytes {
        if id == self.chain_id {
            return extra_data;
        }
        let mut marked = [MARK, id.to_be_bytes()].concat();
        marked.extend(extra_data.iter().take(crate::MAX_EXTRA_DATA - MARKED_BYTES));
        marked.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(config: &str) -> ChainSpec {
        ChainSpec::from_config_json(config).unwrap()
    }

    fn header(extra_data: Bytes) -> Header {
        Header { extra_data, ..Header::default() }
    }

    #[test]
    fn a_block_says_under_which_id_it_is_executed() {
        let spec = spec(r#"{"chainId": 7, "chainIdInExtraData": true}"#);
        let given = Bytes::from_static(&[9; 32]);
        let before = header(spec.mark_chain_id(7, given.clone()));
        assert_eq!((&before.extra_data, spec.chain_id_of(&before)), (&given, 7));
        let after = header(spec.mark_chain_id(0x1234, Bytes::new()));
        let long = header(spec.mark_chain_id(0x1234, given));
        assert_eq!(after.extra_data.len(), 16);
        assert_eq!(long.extra_data.len(), 32);
        assert_eq!(&long.extra_data[16..], [9; 16]);
        assert_eq!([&after, &long, &before].map(|header| spec.chain_id_of(header)), [0x1234, 0x1234, 7]);
        assert_eq!(spec.chain_id(), 7);
    }

    #[test]
    fn on_other_chains_extra_data_means_nothing() {
        let (moving, other) =
            (spec(r#"{"chainId": 7, "chainIdInExtraData": true}"#), spec(r#"{"chainId": 7}"#));
        let marked = header(moving.mark_chain_id(8, Bytes::new()));
        assert_eq!((moving.chain_id_of(&marked), other.chain_id_of(&marked)), (8, 7));
        assert!(other != moving && moving.chain_id_moves() && !other.chain_id_moves());
    }
}
