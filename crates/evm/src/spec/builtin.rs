//! The chains that need no file: Ethereum mainnet and the development chain.

use super::{BlobParams, BlobScheduleEntry, BlockForks, ChainSpec, DaoFork, TimeForks};
use alloy_primitives::{Address, U256, address};

/// Mainnet's deposit contract (EIP-6110).
const MAINNET_DEPOSIT_CONTRACT: Address = address!("0x00000000219ab540356cBB839Cbe05303d7705Fa");
/// Mainnet's terminal total difficulty (EIP-3675).
const MAINNET_TTD: u128 = 58_750_000_000_000_000_000_000;

impl ChainSpec {
    /// Ethereum mainnet with every fork to the second blob schedule change after Osaka.
    pub fn mainnet() -> Self {
        let prague_time = 1_746_612_311;
        let osaka_time = 1_764_798_551;
        Self {
            chain_id: 1,
            blocks: BlockForks {
                homestead: Some(1_150_000),
                eip150: Some(2_463_000),
                eip155: Some(2_675_000),
                eip158: Some(2_675_000),
                byzantium: Some(4_370_000),
                constantinople: Some(7_280_000),
                petersburg: Some(7_280_000),
                istanbul: Some(9_069_000),
                muir_glacier: Some(9_200_000),
                berlin: Some(12_244_000),
                london: Some(12_965_000),
                arrow_glacier: Some(13_773_000),
                gray_glacier: Some(15_050_000),
                merge_netsplit: None,
            },
            times: TimeForks {
                shanghai: Some(1_681_338_455),
                cancun: Some(1_710_338_135),
                prague: Some(prague_time),
                osaka: Some(osaka_time),
            },
            dao: Some(DaoFork { block: 1_920_000, support: true }),
            terminal_total_difficulty: Some(U256::from(MAINNET_TTD)),
            blobs: vec![
                BlobScheduleEntry { time: 1_710_338_135, params: BlobParams::CANCUN },
                BlobScheduleEntry { time: prague_time, params: BlobParams::PRAGUE },
                BlobScheduleEntry { time: osaka_time, params: BlobParams::PRAGUE },
                BlobScheduleEntry {
                    time: 1_765_290_071,
                    params: BlobParams { target: 10, max: 15, update_fraction: 8_346_193 },
                },
                BlobScheduleEntry {
                    time: 1_767_747_671,
                    params: BlobParams { target: 14, max: 21, update_fraction: 11_684_671 },
                },
            ],
            deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            moved: Default::default(),
        }
    }

    /// The development chain: every fork up to Osaka from the first block on, proof of stake from
    /// genesis.
    pub fn dev(chain_id: u64) -> Self {
        let start = Some(0);
        Self {
            chain_id,
            blocks: BlockForks {
                homestead: start,
                eip150: start,
                eip155: start,
                eip158: start,
                byzantium: start,
                constantinople: start,
                petersburg: start,
                istanbul: start,
                muir_glacier: start,
                berlin: start,
                london: start,
                arrow_glacier: start,
                gray_glacier: start,
                merge_netsplit: start,
            },
            times: TimeForks { shanghai: start, cancun: start, prague: start, osaka: start },
            dao: None,
            terminal_total_difficulty: Some(U256::ZERO),
            blobs: vec![BlobScheduleEntry { time: 0, params: BlobParams::PRAGUE }],
            deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            moved: Default::default(),
        }
    }
}
