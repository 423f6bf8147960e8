//! The chains that need no file: Ethereum mainnet, its test networks and the development chain.
//! Times and numbers of the test networks are those of go-ethereum v1.17.0, params/config.go.

use super::{BlobParams, BlobScheduleEntry, BlockForks, ChainSpec, DaoFork, TimeForks};
use alloy_primitives::{Address, U256, address};

/// Mainnet's deposit contract (EIP-6110).
const MAINNET_DEPOSIT_CONTRACT: Address = address!("0x00000000219ab540356cBB839Cbe05303d7705Fa");
/// Mainnet's terminal total difficulty (EIP-3675).
const MAINNET_TTD: u128 = 58_750_000_000_000_000_000_000;

/// The two changes of the blob schedule after Osaka, the same on mainnet and its test networks.
const BLOB_CHANGES: [BlobParams; 2] = [
    BlobParams { target: 10, max: 15, update_fraction: 8_346_193 },
    BlobParams { target: 14, max: 21, update_fraction: 11_684_671 },
];

impl BlockForks {
    /// London's rules from the genesis on, without the forks that only delay the difficulty bomb.
    fn london_from_genesis() -> Self {
        let start = Some(0);
        Self {
            homestead: start,
            eip150: start,
            eip155: start,
            eip158: start,
            byzantium: start,
            constantinople: start,
            petersburg: start,
            istanbul: start,
            berlin: start,
            london: start,
            ..Self::default()
        }
    }
}

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
                BlobScheduleEntry { time: 1_765_290_071, params: BLOB_CHANGES[0] },
                BlobScheduleEntry { time: 1_767_747_671, params: BLOB_CHANGES[1] },
            ],
            deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            chain_id_in_extra_data: false,
        }
    }

    /// Sepolia.
    pub fn sepolia() -> Self {
        let times = [1_741_159_776, 1_760_427_360, 1_761_017_184, 1_761_607_008];
        Self {
            blocks: BlockForks {
                muir_glacier: Some(0),
                merge_netsplit: Some(1_735_371),
                ..BlockForks::london_from_genesis()
            },
            terminal_total_difficulty: Some(U256::from(17_000_000_000_000_000_u64)),
            deposit_contract: address!("0x7f02c3e3c98b133055b8b348b2ac625669ed295d"),
            ..Self::test_network(11_155_111, 1_677_557_088, 1_706_655_072, times)
        }
    }

    /// Holesky.
    pub fn holesky() -> Self {
        let times = [1_740_434_112, 1_759_308_480, 1_759_800_000, 1_760_389_824];
        Self {
            deposit_contract: address!("0x4242424242424242424242424242424242424242"),
            ..Self::test_network(17_000, 1_696_000_704, 1_707_305_664, times)
        }
    }

    /// Hoodi.
    pub fn hoodi() -> Self {
        let times = [1_742_999_832, 1_761_677_592, 1_762_365_720, 1_762_955_544];
        Self {
            blocks: BlockForks {
                muir_glacier: Some(0),
                merge_netsplit: Some(0),
                ..BlockForks::london_from_genesis()
            },
            ..Self::test_network(560_048, 0, 0, times)
        }
    }

    /// A test network with London's rules and proof of stake from its genesis on. `later` are the
    /// times of Prague, Osaka, and of two changes of the blob schedule (EIP-7892).
    fn test_network(chain_id: u64, shanghai: u64, cancun: u64, later: [u64; 4]) -> Self {
        let [prague, osaka, first, second] = later;
        let [first_params, second_params] = BLOB_CHANGES;
        Self {
            chain_id,
            blocks: BlockForks::london_from_genesis(),
            times: TimeForks {
                shanghai: Some(shanghai),
                cancun: Some(cancun),
                prague: Some(prague),
                osaka: Some(osaka),
            },
            dao: None,
            terminal_total_difficulty: Some(U256::ZERO),
            blobs: vec![
                BlobScheduleEntry { time: cancun, params: BlobParams::CANCUN },
                BlobScheduleEntry { time: prague, params: BlobParams::PRAGUE },
                BlobScheduleEntry { time: osaka, params: BlobParams::PRAGUE },
                BlobScheduleEntry { time: first, params: first_params },
                BlobScheduleEntry { time: second, params: second_params },
            ],
            deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            chain_id_in_extra_data: false,
        }
    }

    /// The development chain: every fork up to Osaka from the first block on, proof of stake from
    /// genesis.
    pub fn dev(chain_id: u64) -> Self {
        let start = Some(0);
        Self {
            chain_id,
            blocks: BlockForks {
                muir_glacier: start,
                arrow_glacier: start,
                gray_glacier: start,
                merge_netsplit: start,
                ..BlockForks::london_from_genesis()
            },
            times: TimeForks { shanghai: start, cancun: start, prague: start, osaka: start },
            dao: None,
            terminal_total_difficulty: Some(U256::ZERO),
            blobs: vec![BlobScheduleEntry { time: 0, params: BlobParams::PRAGUE }],
            deposit_contract: MAINNET_DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            chain_id_in_extra_data: false,
        }
    }
}
