//! The header of a block: the fields of a request that its execution depends on, and the header
//! that follows from them.
//!
//! | field | value |
//! |---|---|
//! | number | the height |
//! | timestamp | seconds of the time; may equal the parent's, since times ascend by milliseconds |
//! | beneficiary | the operator of the proposer in the staking contract, else the proposer's address |
//! | prevRandao | keccak256("hearth randao" ‖ parent's hash ‖ time in nanoseconds, BE8 ‖ proposer): predictable, no source of randomness |
//! | parentBeaconBlockRoot | CometBFT's hash of the block before, which EIP-4788 exposes to contracts; zero in the first block |
//! | extraData | CometBFT's hash of this block, invisible to execution; set when the block is decided |
//! | gasLimit | that of the genesis, which is CometBFT's `consensus_params.block.max_gas` |

use crate::{exception::ConsensusError, misbehavior::misbehavior_bytes, validators::operator_of};
use alloy_primitives::{Address, B256, keccak256};
use bytes::Bytes;
use hearth_abci::{Timestamp, pb};
use hearth_chain::BlockAttributes;
use hearth_ledger::StoredBlock;
use hearth_primitives::{Height, StateReader};

/// What makes the randomness of this chain another than that of others.
const RANDAO_DOMAIN: &[u8] = b"hearth randao";

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Everything that the execution of a block on the head depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proposed<'a> {
    pub height: i64,
    pub time: &'a Timestamp,
    pub proposer: &'a [u8],
    pub txs: &'a [Bytes],
    pub misbehavior: &'a [pb::Misbehavior],
}

impl<'a> Proposed<'a> {
    /// The fields of a request.
    pub fn of(
        method: &'static str,
        height: i64,
        time: Option<&'a Timestamp>,
        proposer: &'a [u8],
        txs: &'a [Bytes],
        misbehavior: &'a [pb::Misbehavior],
    ) -> Result<Self, ConsensusError> {
        let time = time.ok_or(ConsensusError::Missing { method, field: "time" })?;
        Ok(Self { height, time, proposer, txs, misbehavior })
    }

    /// Equal for two requests about blocks whose execution is the same.
    pub fn key(&self) -> B256 {
        let mut hash = blake3::Hasher::new();
        hash.update(&self.height.to_be_bytes());
        hash.update(&self.time.seconds.to_be_bytes());
        hash.update(&self.time.nanos.to_be_bytes());
        hash.update(&(self.proposer.len() as u64).to_be_bytes());
        hash.update(self.proposer);
        let misbehavior = misbehavior_bytes(self.misbehavior);
        hash.update(&(misbehavior.len() as u64).to_be_bytes());
        hash.update(&misbehavior);
        for tx in self.txs {
            hash.update(&(tx.len() as u64).to_be_bytes());
            hash.update(tx);
        }
        B256::from(*hash.finalize().as_bytes())
    }

    /// What decides on the block's header, but for its extra data; `start` is the first block that
    /// CometBFT decides on.
    ///
    /// # Errors
    /// [`ConsensusError::Height`], [`ConsensusError::Time`], the state's.
    pub fn attributes(
        &self,
        method: &'static str,
        parent: &StoredBlock,
        (start, state): (Height, &dyn StateReader),
    ) -> Result<BlockAttributes, ConsensusError> {
        let above = &parent.block.header;
        let next = above.number + 1;
        if u64::try_from(self.height) != Ok(next) {
            return Err(ConsensusError::Height { method, height: self.height, next });
        }
        let wrong_time =
            ConsensusError::Time { height: self.height, seconds: self.time.seconds, parent: above.timestamp };
        let Some(timestamp) = u64::try_from(self.time.seconds).ok().filter(|time| *time >= above.timestamp)
        else {
            return Err(wrong_time);
        };
        let nanos = u64::try_from(self.time.nanos).unwrap_or(0);
        let nanos = timestamp.saturating_mul(NANOS_PER_SECOND).saturating_add(nanos);
        let randao = [RANDAO_DOMAIN, parent.hash.as_slice(), &nanos.to_be_bytes(), self.proposer].concat();
        // What is before the first block of CometBFT has no hash of CometBFT's, whatever its extra
        // data is.
        let root = if next <= start { B256::ZERO } else { cometbft_hash(&above.extra_data) };
        let consensus = Address::try_from(self.proposer).unwrap_or_default();
        let beneficiary = operator_of(state, consensus)?.unwrap_or(consensus);
        Ok(BlockAttributes {
            timestamp,
            beneficiary,
            prev_randao: keccak256(randao),
            parent_beacon_block_root: root,
            withdrawals: Vec::new(),
            extra_data: alloy_primitives::Bytes::new(),
            gas_limit: above.gas_limit,
            misbehavior: misbehavior_bytes(self.misbehavior),
        })
    }
}

/// CometBFT's hash of a block, as its Ethereum block carries it.
fn cometbft_hash(extra_data: &[u8]) -> B256 {
    B256::try_from(extra_data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_that_of_what_execution_depends_on() {
        let (time, later) = (Timestamp { seconds: 5, nanos: 6 }, Timestamp { seconds: 5, nanos: 7 });
        let txs = [Bytes::from_static(b"ab"), Bytes::from_static(b"c")];
        let other = [Bytes::from_static(b"a"), Bytes::from_static(b"bc")];
        let validator = pb::Validator { address: vec![3; 20].into(), power: 1 };
        let misbehavior =
            [pb::Misbehavior { r#type: 1, validator: Some(validator), height: 9, ..Default::default() }];
        let one = Proposed { height: 1, time: &time, proposer: &[1; 20], txs: &txs, misbehavior: &[] };
        let keys = [
            one.key(),
            Proposed { height: 2, ..one }.key(),
            Proposed { time: &later, ..one }.key(),
            Proposed { proposer: &[2; 20], ..one }.key(),
            Proposed { txs: &other, ..one }.key(),
            Proposed { txs: &txs[..1], ..one }.key(),
            Proposed { misbehavior: &misbehavior, ..one }.key(),
        ];
        let distinct: std::collections::BTreeSet<B256> = keys.into_iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(one.key(), Proposed { txs: &txs.clone(), ..one }.key());
    }
}
