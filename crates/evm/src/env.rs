//! The environment that one block gives to its transactions.

use crate::{
    spec::{ChainSpec, Fork},
    tx_check::max_init_code,
};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, U256};
use revm::{
    context::{BlockEnv, CfgEnv},
    context_interface::block::BlobExcessGasAndPrice,
};

/// What execution needs to know of a block's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEnvironment {
    /// Chain id that `CHAINID` gives and that transactions must name.
    pub chain_id: u64,
    /// Number of the block.
    pub number: u64,
    /// Time in seconds.
    pub timestamp: u64,
    /// Who gets the fees (and the reward before the merge).
    pub beneficiary: Address,
    /// Gas limit.
    pub gas_limit: u64,
    /// Base fee in wei (EIP-1559); `None` before London.
    pub base_fee: Option<u64>,
    /// Difficulty; zero after the merge.
    pub difficulty: U256,
    /// `PREVRANDAO` (EIP-4399); `None` before the merge.
    pub prev_randao: Option<B256>,
    /// Excess blob gas (EIP-4844).
    pub excess_blob_gas: Option<u64>,
    /// Blob base fee in wei (EIP-4844).
    pub blob_base_fee: Option<u128>,
    /// Hash of the parent block.
    pub parent_hash: B256,
    /// Root of the parent beacon block (EIP-4788).
    pub parent_beacon_root: Option<B256>,
    /// Rules in force.
    pub fork: Fork,
    /// Highest blob gas of the block; zero before Cancun.
    pub max_blob_gas: u64,
    /// Largest contract in bytes in place of EIP-170's limit.
    pub code_size_limit: Option<usize>,
}

impl BlockEnvironment {
    /// The environment of the block with this header.
    pub fn from_header(spec: &ChainSpec, header: &Header) -> Self {
        let merged = spec.is_post_merge(header);
        let fork = spec.fork_of(header);
        let params = spec.blob_params(header.timestamp).filter(|_| fork >= Fork::Cancun);
        let excess = header.excess_blob_gas.filter(|_| params.is_some());
        Self {
            chain_id: spec.chain_id_of(header),
            number: header.number,
            timestamp: header.timestamp,
            beneficiary: header.beneficiary,
            gas_limit: header.gas_limit,
            base_fee: header.base_fee_per_gas.filter(|_| fork >= Fork::London),
            difficulty: header.difficulty,
            prev_randao: merged.then_some(header.mix_hash),
            excess_blob_gas: excess,
            blob_base_fee: params.map(|params| params.blob_base_fee(excess.unwrap_or(0))),
            parent_hash: header.parent_hash,
            parent_beacon_root: header.parent_beacon_block_root,
            fork,
            max_blob_gas: params.map_or(0, |params| params.max_blob_gas()),
            code_size_limit: spec.code_size_limit(),
        }
    }

    /// Longest init code in bytes (EIP-3860).
    pub(crate) fn max_init_code(&self) -> usize {
        max_init_code(self.code_size_limit)
    }

    pub(crate) fn block_env(&self) -> BlockEnv {
        let blob = self.blob_base_fee.map(|price| BlobExcessGasAndPrice {
            excess_blob_gas: self.excess_blob_gas.unwrap_or(0),
            blob_gasprice: price,
        });
        BlockEnv {
            number: U256::from(self.number),
            beneficiary: self.beneficiary,
            timestamp: U256::from(self.timestamp),
            gas_limit: self.gas_limit,
            basefee: self.base_fee.unwrap_or(0),
            difficulty: self.difficulty,
            prevrandao: self.prev_randao,
            blob_excess_gas_and_price: blob,
            slot_num: 0,
        }
    }

    pub(crate) fn cfg_env(&self) -> CfgEnv {
        let mut cfg = CfgEnv::new_with_spec(self.fork.spec_id()).with_chain_id(self.chain_id);
        // The caller has checked chain id, gas caps and the code of the sender already.
        cfg.tx_chain_id_check = false;
        cfg.tx_gas_limit_cap = Some(u64::MAX);
        cfg.disable_block_gas_limit = true;
        cfg.disable_eip3607 = true;
        // The limit of init code follows from it.
        cfg.limit_contract_code_size = self.code_size_limit;
        cfg
    }
}
