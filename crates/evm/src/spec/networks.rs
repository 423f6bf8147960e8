//! Chains by the names that the public Ethereum test suites give them.

use super::{BlobParams, BlobScheduleEntry, BlockForks, ChainSpec, DaoFork, TimeForks};
use alloy_primitives::{Address, U256, address};

/// The suites' deposit contract is mainnet's.
const DEPOSIT_CONTRACT: Address = address!("0x00000000219ab540356cBB839Cbe05303d7705Fa");
/// Where `…AtTime15k` transitions happen, in seconds.
const TRANSITION_TIME: u64 = 15_000;
/// Where `…At5` transitions happen.
const TRANSITION_BLOCK: u64 = 5;

/// The names in order of activation.
const NAMES: [&str; 21] = [
    "Frontier",
    "Homestead",
    "EIP150",
    "EIP158",
    "Byzantium",
    "Constantinople",
    "ConstantinopleFix",
    "Istanbul",
    "MuirGlacier",
    "Berlin",
    "London",
    "ArrowGlacier",
    "GrayGlacier",
    "Paris",
    "Shanghai",
    "Cancun",
    "Prague",
    "Osaka",
    "BPO1",
    "BPO2",
    "BPO3",
];
/// Position of the first fork by time.
const SHANGHAI: usize = 14;
/// Position of the merge.
const PARIS: usize = 13;

fn position(name: &str) -> Option<usize> {
    let name = match name {
        "Merge" => "Paris",
        "TangerineWhistle" => "EIP150",
        "SpuriousDragon" => "EIP158",
        "Petersburg" => "ConstantinopleFix",
        name => name,
    };
    NAMES.iter().position(|known| *known == name)
}

impl ChainSpec {
    /// The chain of a test suite's network name, such as `Cancun`, `ParisToShanghaiAtTime15k` or
    /// `HomesteadToDaoAt5`, with chain id 1; `None` for an unknown name.
    pub fn network(name: &str) -> Option<Self> {
        if let Some(reached) = position(name) {
            return Some(Self::up_to(reached, None));
        }
        let (from, rest) = name.split_once("To")?;
        let (to, at) = rest.split_once("At")?;
        let from = position(from)?;
        match at {
            "5" if to == "Dao" => {
                let mut spec = Self::up_to(from, None);
                spec.dao = Some(DaoFork { block: TRANSITION_BLOCK, support: true });
                Some(spec)
            }
            "5" => Some(Self::up_to(from, Some((position(to)?, TRANSITION_BLOCK)))),
            "Time15k" => Some(Self::up_to(from, Some((position(to)?, TRANSITION_TIME)))),
            _ => {
                let difficulty =
                    U256::from_str_radix(at.strip_prefix("Diff")?.trim_start_matches("0x"), 16).ok()?;
                let mut spec = Self::up_to(from, None);
                spec.terminal_total_difficulty = Some(difficulty);
                Some(spec)
            }
        }
    }

    /// A chain with the forks up to position `reached` from the start, and optionally those up to
    /// another position from a block or time on.
    fn up_to(reached: usize, then: Option<(usize, u64)>) -> Self {
        let at = |position: usize| match then {
            _ if position <= reached => Some(0),
            Some((next, at)) if position <= next => Some(at),
            _ => None,
        };
        let last = then.map_or(reached, |(next, _)| next);
        let blobs = [
            (15, BlobParams::CANCUN),
            (16, BlobParams::PRAGUE),
            (17, BlobParams::PRAGUE),
            (18, BlobParams { target: 10, max: 15, update_fraction: 8_346_193 }),
            (19, BlobParams { target: 14, max: 21, update_fraction: 11_684_671 }),
            (20, BlobParams { target: 21, max: 32, update_fraction: 20_609_697 }),
        ];
        let entries = blobs
            .into_iter()
            .filter_map(|(position, params)| Some(BlobScheduleEntry { time: at(position)?, params }));
        // A suite that names Constantinople means it without Petersburg.
        let petersburg = if last == 5 { Some(u64::MAX) } else { at(6) };
        Self {
            chain_id: 1,
            blocks: BlockForks {
                homestead: at(1),
                eip150: at(2),
                eip155: at(3),
                eip158: at(3),
                byzantium: at(4),
                constantinople: at(5),
                petersburg,
                istanbul: at(7),
                muir_glacier: at(8),
                berlin: at(9),
                london: at(10),
                arrow_glacier: at(11),
                gray_glacier: at(12),
                merge_netsplit: at(PARIS),
            },
            times: TimeForks { shanghai: at(SHANGHAI), cancun: at(15), prague: at(16), osaka: at(17) },
            dao: None,
            terminal_total_difficulty: (last >= PARIS).then_some(U256::ZERO),
            blobs: entries.collect(),
            deposit_contract: DEPOSIT_CONTRACT,
            code_size_limit: None,
            fixed_difficulty: None,
            bft: None,
            chain_id_in_extra_data: false,
        }
    }
}
