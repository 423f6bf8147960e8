//! The cost of trace capsules for an import: `capsule_cost DIR OUT ROUNDS [BLOCKS]` imports the
//! chain that `generate_chain` wrote into `DIR`, up to `BLOCKS` blocks of it, with and without
//! capsules in turn, and writes JSON to `OUT`: CPU seconds of the process for each import, and the
//! bytes of the capsules.
//!
//! Each round is with, without, without, with; the difference of the two without capsules is the
//! noise of the machine. Neither side has the address index, which is made from capsules and would
//! be counted as part of their cost (its own is a row of `npm run bench -- trace-parity`).

use alloy_rlp::Decodable as _;
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::Fsync;
use hearth_ledger::{LedgerOptions, LedgerSettings};
use hearth_primitives::Block;
use std::{error::Error, fs, path::Path};

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Ticks of the clock in `/proc/self/stat` a second (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS: f64 = 100.0;

/// CPU seconds of this process so far, all threads, user and system.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or("no process name")?.1.split(' ');
    let mut ticks = fields.skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next().ok_or("no user time")??, ticks.next().ok_or("no system time")??);
    Ok((user + system) as f64 / TICKS)
}

/// Imports blocks into a new home; CPU seconds, and bytes of the capsules' files.
fn import(genesis: &str, blocks: &[Block], capsules: bool) -> Result<(f64, u64), Box<dyn Error>> {
    let home = std::env::temp_dir().join(format!("hearth-capsule-cost-{}", std::process::id()));
    let _ = fs::remove_dir_all(&home);
    let settings = LedgerSettings { address_index: false, ..LedgerSettings::default() };
    let ledger = LedgerOptions { settings, capsules, ..LedgerOptions::default() };
    let options = ChainOptions { fsync: Fsync::None, ledger, ..ChainOptions::default() };
    let began = cpu_seconds()?;
    let chain = Chain::create(&home, genesis, &options)?;
    for block in blocks {
        chain.insert_block(block.clone())?;
    }
    chain.close()?;
    drop(chain);
    let seconds = cpu_seconds()? - began;
    let bytes = bytes_in(&home.join("data/ledger/capsules"));
    fs::remove_dir_all(&home)?;
    Ok((seconds, bytes))
}

fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|of| of.len()).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, out, rounds, most @ ..] = arguments.as_slice() else {
        return Err("usage: capsule_cost DIR OUT ROUNDS [BLOCKS]".into());
    };
    let most = most.first().map_or(Ok(usize::MAX), |most| most.parse())?;
    let genesis = fs::read_to_string(Path::new(dir).join("genesis.json"))?;
    let bytes = fs::read(Path::new(dir).join("chain.rlp"))?;
    let (mut rest, mut blocks) = (&bytes[..], Vec::new());
    while !rest.is_empty() && blocks.len() < most {
        blocks.push(Block::decode(&mut rest)?);
    }
    blocks.retain(|block| block.header.number > 0);
    let (mut with, mut without, mut stored) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds.parse::<usize>()? {
        for capsules in [true, false, false, true] {
            let (seconds, bytes) = import(&genesis, &blocks, capsules)?;
            if capsules { &mut with } else { &mut without }.push(seconds);
            stored = stored.max(bytes);
            eprintln!("{} {seconds:.2} s", if capsules { "with" } else { "without" });
        }
    }
    let transactions: usize = blocks.iter().map(|block| block.body.transactions.len()).sum();
    let gas: u64 = blocks.iter().map(|block| block.header.gas_used).sum();
    let report = format!(
        r#"{{"with":{with:?},"without":{without:?},"bytes":{stored},"blocks":{},"transactions":{transactions},"gas":{gas}}}"#,
        blocks.len()
    );
    Ok(fs::write(out, report)?)
}
