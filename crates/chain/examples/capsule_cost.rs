//! The cost of trace capsules for an import: `capsule_cost DIR OUT STEP [BLOCKS]` imports the chain
//! that `generate_chain` wrote into `DIR`, up to `BLOCKS` blocks of it, into three homes in turn,
//! `STEP` blocks at a time: one with capsules, two without. Writes JSON to `OUT`: CPU seconds of
//! the process for each home, step by step, and the bytes of the capsules.
//!
//! The turns are short, so that all homes have the same machine where that gets faster or slower;
//! the difference of the two without capsules is the noise that is left. No home has the address
//! index, which is made from capsules and would be counted as part of their cost (its own is a row
//! of `npm run bench -- trace-parity`).

use alloy_rlp::Decodable as _;
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::Fsync;
use hearth_ledger::{LedgerOptions, LedgerSettings};
use hearth_primitives::Block;
use std::{error::Error, fs, path::Path, thread, time::Duration};

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

/// How long work in the background may take to end before the clock of processor time is read.
const SETTLE: Duration = Duration::from_millis(50);

/// A home, and the CPU seconds of each step.
struct Side {
    home: tempfile::TempDir,
    chain: Chain,
    seconds: Vec<f64>,
}

impl Side {
    fn new(genesis: &str, capsules: bool) -> Result<Self, Box<dyn Error>> {
        let home = tempfile::Builder::new().prefix("hearth-capsule-cost-").tempdir()?;
        let settings = LedgerSettings { address_index: false, ..LedgerSettings::default() };
        let ledger = LedgerOptions { settings, capsules, ..LedgerOptions::default() };
        let options = ChainOptions { fsync: Fsync::None, ledger, ..ChainOptions::default() };
        let chain = Chain::create(home.path(), genesis, &options)?;
        Ok(Self { home, chain, seconds: Vec::new() })
    }

    fn import(&mut self, blocks: &[Block]) -> Result<(), Box<dyn Error>> {
        let began = cpu_seconds()?;
        for block in blocks {
            self.chain.insert_block(block.clone())?;
        }
        thread::sleep(SETTLE);
        self.seconds.push(cpu_seconds()? - began);
        Ok(())
    }
}

fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|of| of.len()).sum()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, out, step, most @ ..] = arguments.as_slice() else {
        return Err("usage: capsule_cost DIR OUT STEP [BLOCKS]".into());
    };
    let most = most.first().map_or(Ok(usize::MAX), |most| most.parse())?;
    let genesis = fs::read_to_string(Path::new(dir).join("genesis.json"))?;
    let bytes = fs::read(Path::new(dir).join("chain.rlp"))?;
    let (mut rest, mut blocks) = (&bytes[..], Vec::new());
    while !rest.is_empty() && blocks.len() < most {
        blocks.push(Block::decode(&mut rest)?);
    }
    blocks.retain(|block| block.header.number > 0);
    let mut sides = [Side::new(&genesis, true)?, Side::new(&genesis, false)?, Side::new(&genesis, false)?];
    for (turn, blocks) in blocks.chunks(step.parse()?).enumerate() {
        for at in 0..sides.len() {
            let side = (at + turn) % sides.len();
            sides[side].import(blocks)?;
        }
    }
    let stored = bytes_in(&sides[0].home.path().join("data/ledger/capsules"));
    let [with, without, again] = sides.map(|side| side.seconds);
    let transactions: usize = blocks.iter().map(|block| block.body.transactions.len()).sum();
    let gas: u64 = blocks.iter().map(|block| block.header.gas_used).sum();
    let report = format!(
        r#"{{"with":{with:?},"without":{without:?},"again":{again:?},"bytes":{stored},"blocks":{},"transactions":{transactions},"gas":{gas}}}"#,
        blocks.len()
    );
    Ok(fs::write(out, report)?)
}
