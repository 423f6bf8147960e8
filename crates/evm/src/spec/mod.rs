//! The chain specification: which rules hold at which block.
//!
//! Forks are scheduled by block number up to London's difficulty delays, by terminal total
//! difficulty for the merge, and by timestamp afterwards, as in the `config` of go-ethereum's
//! genesis.

mod blob;
mod builtin;
mod chain_id;
mod config;
mod networks;
mod timeline;

pub use blob::{BlobParams, BlobScheduleEntry, GAS_PER_BLOB};
pub use timeline::named_precompiles;

use crate::tx_check::max_init_code;
use alloy_consensus::Header;
use alloy_primitives::{Address, U256};
use revm::primitives::hardfork::SpecId;
use std::fmt;

/// Rules in force, in order of activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    /// The rules of the first block.
    Frontier,
    /// EIP-2, EIP-7.
    Homestead,
    /// EIP-150.
    TangerineWhistle,
    /// EIP-158, 160, 161, 170.
    SpuriousDragon,
    /// EIP-100, 140, 196, 197, 198, 211, 214, 649, 658.
    Byzantium,
    /// EIP-145, 1014, 1052, 1234, 1283.
    Constantinople,
    /// Constantinople without EIP-1283.
    Petersburg,
    /// EIP-152, 1108, 1344, 1884, 2028, 2200.
    Istanbul,
    /// EIP-2384: difficulty bomb only.
    MuirGlacier,
    /// EIP-2565, 2718, 2929, 2930.
    Berlin,
    /// EIP-1559, 3198, 3529, 3541, 3554.
    London,
    /// EIP-4345: difficulty bomb only.
    ArrowGlacier,
    /// EIP-5133: difficulty bomb only.
    GrayGlacier,
    /// EIP-3675, 4399: proof of stake.
    Paris,
    /// EIP-3651, 3855, 3860, 4895.
    Shanghai,
    /// EIP-1153, 4788, 4844, 5656, 6780, 7516.
    Cancun,
    /// EIP-2537, 2935, 6110, 7002, 7251, 7623, 7685, 7691, 7702.
    Prague,
    /// EIP-7594, 7823, 7825, 7883, 7918, 7934, 7939, 7951 (blob parameters change by schedule,
    /// EIP-7892).
    Osaka,
}

impl Fork {
    /// Name as the specifications write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frontier => "Frontier",
            Self::Homestead => "Homestead",
            Self::TangerineWhistle => "Tangerine Whistle",
            Self::SpuriousDragon => "Spurious Dragon",
            Self::Byzantium => "Byzantium",
            Self::Constantinople => "Constantinople",
            Self::Petersburg => "Petersburg",
            Self::Istanbul => "Istanbul",
            Self::MuirGlacier => "Muir Glacier",
            Self::Berlin => "Berlin",
            Self::London => "London",
            Self::ArrowGlacier => "Arrow Glacier",
            Self::GrayGlacier => "Gray Glacier",
            Self::Paris => "Paris",
            Self::Shanghai => "Shanghai",
            Self::Cancun => "Cancun",
            Self::Prague => "Prague",
            Self::Osaka => "Osaka",
        }
    }

    /// The interpreter's rule set. Constantinople uses that of Petersburg, with another `SSTORE`.
    pub fn spec_id(self) -> SpecId {
        match self {
            Self::Frontier => SpecId::FRONTIER,
            Self::Homestead => SpecId::HOMESTEAD,
            Self::TangerineWhistle => SpecId::TANGERINE,
            Self::SpuriousDragon => SpecId::SPURIOUS_DRAGON,
            Self::Byzantium => SpecId::BYZANTIUM,
            Self::Constantinople | Self::Petersburg => SpecId::PETERSBURG,
            Self::Istanbul | Self::MuirGlacier => SpecId::ISTANBUL,
            Self::Berlin => SpecId::BERLIN,
            Self::London | Self::ArrowGlacier | Self::GrayGlacier => SpecId::LONDON,
            Self::Paris => SpecId::MERGE,
            Self::Shanghai => SpecId::SHANGHAI,
            Self::Cancun => SpecId::CANCUN,
            Self::Prague => SpecId::PRAGUE,
            Self::Osaka => SpecId::OSAKA,
        }
    }
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which rules hold at which block of one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSpec {
    pub(crate) chain_id: u64,
    pub(crate) blocks: BlockForks,
    pub(crate) times: TimeForks,
    /// The DAO fork's block and whether this chain follows it.
    pub(crate) dao: Option<DaoFork>,
    pub(crate) terminal_total_difficulty: Option<U256>,
    /// Blob parameters in ascending order of their activation.
    pub(crate) blobs: Vec<BlobScheduleEntry>,
    pub(crate) deposit_contract: Address,
    /// Largest contract in bytes in place of EIP-170's limit.
    pub(crate) code_size_limit: Option<usize>,
    /// Difficulty of every block in place of the formulas: Besu's `ethash.fixeddifficulty`.
    pub(crate) fixed_difficulty: Option<u64>,
    /// The rules of blocks that CometBFT decides on.
    pub(crate) bft: Option<BftRules>,
    /// Whether the extra data of a block may begin with a chain id of its own.
    pub(crate) chain_id_in_extra_data: bool,
}

/// The rules of blocks that CometBFT decides on (`bft` of the genesis).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BftRules {
    /// The first block that CometBFT decides on (`bft.initialHeight`): from it on a block may have
    /// its parent's time, since times ascend by milliseconds there, and the gas limit is a
    /// parameter of the consensus and takes no steps.
    pub start: u64,
    /// Whether the state root of a header is the checksum of a lattice hash (`bft.commitment`) in
    /// place of the root of the state trie.
    pub is_lthash: bool,
}

/// Forks by block number; `None` where not scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockForks {
    pub homestead: Option<u64>,
    pub eip150: Option<u64>,
    pub eip155: Option<u64>,
    pub eip158: Option<u64>,
    pub byzantium: Option<u64>,
    pub constantinople: Option<u64>,
    pub petersburg: Option<u64>,
    pub istanbul: Option<u64>,
    pub muir_glacier: Option<u64>,
    pub berlin: Option<u64>,
    pub london: Option<u64>,
    pub arrow_glacier: Option<u64>,
    pub gray_glacier: Option<u64>,
    pub merge_netsplit: Option<u64>,
}

/// Forks by timestamp in seconds; `None` where not scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeForks {
    pub shanghai: Option<u64>,
    pub cancun: Option<u64>,
    pub prague: Option<u64>,
    pub osaka: Option<u64>,
}

/// The DAO fork (EIP-779).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DaoFork {
    pub block: u64,
    pub support: bool,
}

fn active(at: Option<u64>, value: u64) -> bool {
    at.is_some_and(|at| at <= value)
}

impl ChainSpec {
    /// Rules for a block before or after the merge. A time fork counts only after the merge.
    pub fn fork_with_merge(&self, number: u64, timestamp: u64, post_merge: bool) -> Fork {
        let b = &self.blocks;
        if post_merge && active(b.london, number) {
            let t = &self.times;
            let by_time = [
                (t.osaka, Fork::Osaka),
                (t.prague, Fork::Prague),
                (t.cancun, Fork::Cancun),
                (t.shanghai, Fork::Shanghai),
            ];
            return by_time
                .iter()
                .find(|(at, _)| active(*at, timestamp))
                .map_or(Fork::Paris, |(_, fork)| *fork);
        }
        // A chain that names Constantinople alone goes straight to Petersburg.
        let petersburg = b.petersburg.or(b.constantinople);
        let by_block = [
            (b.gray_glacier, Fork::GrayGlacier),
            (b.arrow_glacier, Fork::ArrowGlacier),
            (b.london, Fork::London),
            (b.berlin, Fork::Berlin),
            (b.muir_glacier, Fork::MuirGlacier),
            (b.istanbul, Fork::Istanbul),
            (petersburg, Fork::Petersburg),
            (b.constantinople, Fork::Constantinople),
            (b.byzantium, Fork::Byzantium),
            (b.eip158, Fork::SpuriousDragon),
            (b.eip150, Fork::TangerineWhistle),
            (b.homestead, Fork::Homestead),
        ];
        by_block.iter().find(|(at, _)| active(*at, number)).map_or(Fork::Frontier, |(_, fork)| *fork)
    }

    /// The rules for a block, from number and timestamp only. If the configuration does not name
    /// the merge's block, a block counts as proof of stake once a time fork is active, or if the
    /// merge is at genesis. Prefer [`Self::fork_of`] with a header.
    pub fn fork_at(&self, number: u64, timestamp: u64) -> Fork {
        let merged = self.terminal_total_difficulty.is_some()
            && (active(self.times.shanghai, timestamp)
                || active(self.blocks.merge_netsplit, number)
                || self.terminal_total_difficulty == Some(U256::ZERO));
        self.fork_with_merge(number, timestamp, merged)
    }

    /// Rules for the block with this header.
    pub fn fork_of(&self, header: &Header) -> Fork {
        self.fork_with_merge(header.number, header.timestamp, self.is_post_merge(header))
    }

    /// Whether a header is one of proof of stake: the chain has a merge and the header's difficulty
    /// is zero (EIP-3675).
    pub fn is_post_merge(&self, header: &Header) -> bool {
        self.terminal_total_difficulty.is_some() && header.difficulty.is_zero()
    }

    /// Whether CometBFT decides on the blocks (`bft.engine` of the genesis).
    pub fn is_bft(&self) -> bool {
        self.bft.is_some()
    }

    /// The first block that CometBFT decides on: 1, or the one after the head of a chain that
    /// became a network
    /// (`bft.initialHeight`). `None` where it decides on none.
    pub fn bft_start(&self) -> Option<u64> {
        self.bft.map(|rules| rules.start)
    }

    /// Whether the state root of a header is the checksum of a lattice hash over the state, which
    /// has no proofs (`bft.commitment` is `lthash`), in place of the root of the state trie.
    pub fn is_lthash(&self) -> bool {
        self.bft.is_some_and(|rules| rules.is_lthash)
    }

    /// Whether CometBFT decides on the block of this number.
    pub(crate) fn is_bft_block(&self, number: u64) -> bool {
        self.bft.is_some_and(|rules| number >= rules.start)
    }

    /// The total difficulty that ends proof of work (EIP-3675); `None` where no merge is scheduled.
    pub fn terminal_total_difficulty(&self) -> Option<U256> {
        self.terminal_total_difficulty
    }

    /// Whether transactions may carry replay protection (EIP-155) at this block.
    pub fn is_eip155(&self, number: u64) -> bool {
        active(self.blocks.eip155, number)
    }

    /// Blob parameters in force at a timestamp; `None` before Cancun.
    pub fn blob_params(&self, timestamp: u64) -> Option<&BlobParams> {
        self.blobs.iter().rev().find(|entry| entry.time <= timestamp).map(|entry| &entry.params)
    }

    /// Every scheduled set of blob parameters in ascending order of time (EIP-7840, EIP-7892).
    pub fn blob_schedule(&self) -> &[BlobScheduleEntry] {
        &self.blobs
    }

    /// Address of the deposit contract whose logs become requests (EIP-6110).
    pub fn deposit_contract(&self) -> Address {
        self.deposit_contract
    }

    /// The size in bytes of the largest contract, on a development chain that replaces the limit of
    /// EIP-170.
    pub fn code_size_limit(&self) -> Option<usize> {
        self.code_size_limit
    }

    /// Longest init code in bytes (EIP-3860): twice the size of the largest contract.
    pub fn max_init_code(&self) -> usize {
        max_init_code(self.code_size_limit)
    }

    /// The DAO fork's block where this chain follows it.
    pub fn dao_fork_block(&self) -> Option<u64> {
        self.dao.filter(|dao| dao.support).map(|dao| dao.block)
    }

    /// Whether London's base fee (EIP-1559) is in force at this block number.
    pub fn is_london(&self, number: u64) -> bool {
        active(self.blocks.london, number)
    }
}
