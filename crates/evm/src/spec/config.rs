//! Reading a geth-format genesis file: the `config` object.

use super::{BftRules, BlobParams, BlobScheduleEntry, BlockForks, ChainSpec, DaoFork, TimeForks};
use crate::{
    error::SpecError,
    genesis::Genesis,
    json::{Fields, parse_object},
};
use alloy_primitives::Address;

/// Names of the block-number forks in their order, for the check that the schedule ascends.
type Scheduled = (&'static str, Option<u64>);

impl ChainSpec {
    /// Reads a geth-format genesis file: its chain specification and its genesis block.
    ///
    /// # Errors
    /// [`SpecError`] names the JSON field and what would be right.
    pub fn from_genesis_json(text: &str) -> Result<(Self, Genesis), SpecError> {
        let root = parse_object("genesis", text)?;
        let spec = Self::from_config(
            &root.object("config")?.ok_or_else(|| SpecError::missing("config", "an object"))?,
            true,
        )?;
        let genesis = Genesis::from_fields(&root, &spec)?;
        Ok((spec, genesis))
    }

    /// Reads only the `config` object, for tracer tests and blob schedules. Forks need not be
    /// complete and in order here, as in a genesis: go-ethereum runs its tracer tests on configs
    /// that are not.
    ///
    /// # Errors
    /// [`SpecError`] names the JSON field and the expected value.
    pub fn from_config_json(text: &str) -> Result<Self, SpecError> {
        Self::from_config(&parse_object("config", text)?, false)
    }

    pub(crate) fn from_config(config: &Fields, strict: bool) -> Result<Self, SpecError> {
        let chain_id =
            config.u64("chainId")?.ok_or_else(|| SpecError::missing("config.chainId", "a number"))?;
        let blocks = block_forks(config)?;
        let times = TimeForks {
            shanghai: config.u64("shanghaiTime")?,
            cancun: config.u64("cancunTime")?,
            prague: config.u64("pragueTime")?,
            osaka: config.u64("osakaTime")?,
        };
        for unsupported in ["amsterdamTime", "verkleTime", "ubtTime"] {
            if config.u64(unsupported)?.is_some() {
                return Err(SpecError::Unsupported {
                    field: config.path(unsupported),
                    reason: "rules up to Osaka are known",
                });
            }
        }
        if strict {
            check_order(config, &blocks, &times)?;
        }
        let mut terminal_total_difficulty = config.u256("terminalTotalDifficulty")?;
        let passed = config.bool("terminalTotalDifficultyPassed")?.unwrap_or(false);
        if terminal_total_difficulty.is_none() && passed {
            terminal_total_difficulty = Some(alloy_primitives::U256::ZERO);
        }
        if strict && terminal_total_difficulty.is_none() && times.shanghai.is_some() {
            return Err(SpecError::missing(
                &config.path("terminalTotalDifficulty"),
                "a number, since forks by time need the merge",
            ));
        }
        let dao = config.u64("daoForkBlock")?.map(|block| -> Result<DaoFork, SpecError> {
            Ok(DaoFork { block, support: config.bool("daoForkSupport")?.unwrap_or(false) })
        });
        Ok(Self {
            chain_id,
            blocks,
            times,
            dao: dao.transpose()?,
            terminal_total_difficulty,
            blobs: blob_schedule(config, &times)?,
            deposit_contract: config.address("depositContractAddress")?.unwrap_or(Address::ZERO),
            code_size_limit: code_size_limit(config)?,
            fixed_difficulty: fixed_difficulty(config)?,
            bft: bft_rules(config, blocks.byzantium)?,
            chain_id_in_extra_data: config.bool("chainIdInExtraData")?.unwrap_or(false),
        })
    }
}

/// `ethash.fixeddifficulty`, as Besu's genesis files have it
/// (`JsonGenesisConfigOptions.getFixedDifficulty`).
fn fixed_difficulty(config: &Fields) -> Result<Option<u64>, SpecError> {
    match config.object("ethash")? {
        Some(ethash) => ethash.u64("fixeddifficulty"),
        None => Ok(None),
    }
}

/// `bft.engine`, `bft.initialHeight` and `bft.commitment`: what decides on the blocks, from which
/// one on, and what their state root is. One engine is known.
fn bft_rules(config: &Fields, byzantium: Option<u64>) -> Result<Option<BftRules>, SpecError> {
    /// The engine that is known.
    const ENGINE: &str = "cometbft";
    let Some(bft) = config.object("bft")? else { return Ok(None) };
    match bft.text("engine")?.as_deref() {
        Some(ENGINE) => {}
        Some(other) => return Err(SpecError::invalid(&bft.path("engine"), other, ENGINE)),
        None => return Err(SpecError::missing(&bft.path("engine"), ENGINE)),
    }
    let start = match bft.u64("initialHeight")? {
        Some(0) => return Err(SpecError::invalid(&bft.path("initialHeight"), "0", "1 or more")),
        height => height.unwrap_or(1),
    };
    Ok(Some(BftRules { start, is_lthash: is_lthash(&bft, start, byzantium)? }))
}

/// Whether `bft.commitment` names the lattice hash. All blocks of a chain have the same commitment,
/// so that a chain with earlier blocks of its own keeps the state trie; receipts before Byzantium
/// have the root of a trie (EIP-658).
fn is_lthash(bft: &Fields, start: u64, byzantium: Option<u64>) -> Result<bool, SpecError> {
    const MPT: &str = "mpt";
    const LTHASH: &str = "lthash";
    let path = bft.path("commitment");
    match bft.text("commitment")?.as_deref() {
        None | Some(MPT) => Ok(false),
        Some(LTHASH) if start != 1 => {
            Err(SpecError::invalid(&path, LTHASH, "mpt, since bft.initialHeight is not 1"))
        }
        Some(LTHASH) if byzantium != Some(0) => {
            Err(SpecError::invalid(&path, LTHASH, "mpt, since byzantiumBlock is not 0"))
        }
        Some(LTHASH) => Ok(true),
        Some(other) => Err(SpecError::invalid(&path, other, "mpt or lthash")),
    }
}

/// `codeSizeLimit`: the size in bytes of the largest contract, instead of the limit of EIP-170.
/// Development chains write it.
fn code_size_limit(config: &Fields) -> Result<Option<usize>, SpecError> {
    let limit = config.u64("codeSizeLimit")?;
    Ok(limit.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)))
}

fn block_forks(config: &Fields) -> Result<BlockForks, SpecError> {
    Ok(BlockForks {
        homestead: config.u64("homesteadBlock")?,
        eip150: config.u64("eip150Block")?,
        eip155: config.u64("eip155Block")?,
        eip158: config.u64("eip158Block")?,
        byzantium: config.u64("byzantiumBlock")?,
        constantinople: config.u64("constantinopleBlock")?,
        petersburg: config.u64("petersburgBlock")?,
        istanbul: config.u64("istanbulBlock")?,
        muir_glacier: config.u64("muirGlacierBlock")?,
        berlin: config.u64("berlinBlock")?,
        london: config.u64("londonBlock")?,
        arrow_glacier: config.u64("arrowGlacierBlock")?,
        gray_glacier: config.u64("grayGlacierBlock")?,
        merge_netsplit: config.u64("mergeNetsplitBlock")?,
    })
}

/// Forks must be in order and complete; only the difficulty delays and Petersburg may be absent.
fn check_order(config: &Fields, b: &BlockForks, t: &TimeForks) -> Result<(), SpecError> {
    let needed: [Scheduled; 9] = [
        ("homesteadBlock", b.homestead),
        ("eip150Block", b.eip150),
        ("eip155Block", b.eip155),
        ("eip158Block", b.eip158),
        ("byzantiumBlock", b.byzantium),
        ("constantinopleBlock", b.constantinople),
        ("istanbulBlock", b.istanbul),
        ("berlinBlock", b.berlin),
        ("londonBlock", b.london),
    ];
    ascending(config, &needed)?;
    let all: [Scheduled; 13] = [
        needed[0],
        needed[1],
        needed[2],
        needed[3],
        needed[4],
        needed[5],
        ("petersburgBlock", b.petersburg),
        needed[6],
        ("muirGlacierBlock", b.muir_glacier),
        needed[7],
        needed[8],
        ("arrowGlacierBlock", b.arrow_glacier),
        ("grayGlacierBlock", b.gray_glacier),
    ];
    let present: Vec<Scheduled> = all.into_iter().filter(|(_, at)| at.is_some()).collect();
    ascending(config, &present)?;
    // Those that may be absent need the fork before them: the rules of a block follow from its
    // newest fork alone.
    let petersburg = ("petersburgBlock", b.petersburg);
    let [constantinople, istanbul, london] = [needed[5], needed[6], needed[8]];
    ascending(config, &[constantinople, petersburg])?;
    ascending(config, &[istanbul, ("muirGlacierBlock", b.muir_glacier)])?;
    ascending(config, &[london, ("arrowGlacierBlock", b.arrow_glacier)])?;
    ascending(config, &[london, ("grayGlacierBlock", b.gray_glacier)])?;
    let times: [Scheduled; 4] = [
        ("shanghaiTime", t.shanghai),
        ("cancunTime", t.cancun),
        ("pragueTime", t.prague),
        ("osakaTime", t.osaka),
    ];
    ascending(config, &times)?;
    if t.shanghai.is_some() && b.london.is_none() {
        return Err(SpecError::missing(
            &config.path("londonBlock"),
            "a number, since forks by time need London",
        ));
    }
    Ok(())
}

fn ascending(config: &Fields, forks: &[Scheduled]) -> Result<(), SpecError> {
    for pair in forks.windows(2) {
        let [(first, a), (second, b)] = pair else { continue };
        match (a, b) {
            (None, Some(_)) => {
                return Err(SpecError::missing(
                    &config.path(first),
                    &format!("a number, since {second} is set"),
                ));
            }
            (Some(a), Some(b)) if a > b => {
                return Err(SpecError::Order {
                    first: config.path(first),
                    at: *a,
                    second: config.path(second),
                    before: *b,
                });
            }
            _ => {}
        }
    }
    Ok(())
}

fn blob_schedule(config: &Fields, times: &TimeForks) -> Result<Vec<BlobScheduleEntry>, SpecError> {
    let mut forks: Vec<(&str, Option<u64>)> =
        vec![("cancun", times.cancun), ("prague", times.prague), ("osaka", times.osaka)];
    for name in ["bpo1", "bpo2", "bpo3", "bpo4", "bpo5"] {
        forks.push((name, config.u64(&format!("{name}Time"))?));
    }
    let schedule = config.object("blobSchedule")?;
    let mut entries: Vec<BlobScheduleEntry> = Vec::new();
    for (name, time) in forks {
        let Some(time) = time else { continue };
        let given = match &schedule {
            Some(schedule) => schedule.object(name)?.map(|entry| blob_params(&entry)).transpose()?,
            None => None,
        };
        let default = match name {
            "cancun" => Some(BlobParams::CANCUN),
            "prague" | "osaka" => Some(BlobParams::PRAGUE),
            _ => None,
        };
        let params = given.or(default).ok_or_else(|| {
            SpecError::missing(
                &config.path(&format!("blobSchedule.{name}")),
                "an object with target, max and baseFeeUpdateFraction",
            )
        })?;
        if let Some(last) = entries.last().filter(|last| last.time > time) {
            return Err(SpecError::Order {
                first: config.path("blobSchedule"),
                at: last.time,
                second: config.path(&format!("{name}Time")),
                before: time,
            });
        }
        entries.push(BlobScheduleEntry { time, params });
    }
    Ok(entries)
}

fn blob_params(entry: &Fields) -> Result<BlobParams, SpecError> {
    let need = |name: &str| entry.u64(name)?.ok_or_else(|| SpecError::missing(&entry.path(name), "a number"));
    let params = BlobParams {
        target: need("target")?,
        max: need("max")?,
        update_fraction: need("baseFeeUpdateFraction")?,
    };
    if params.update_fraction == 0 {
        return Err(SpecError::invalid(&entry.path("baseFeeUpdateFraction"), "0", "a number above 0"));
    }
    if params.target > params.max {
        return Err(SpecError::invalid(&entry.path("target"), &params.target.to_string(), "at most max"));
    }
    Ok(params)
}
