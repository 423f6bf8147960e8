//! The cost of state roots for an import: `roots_cost DIR OUT PAIRS BLOCKS` imports the chain that
//! `generate_chain` wrote into `DIR` into two stores, in turn `BLOCKS` blocks with roots and the
//! same without, `PAIRS` times, and writes JSON to `OUT`: seconds and CPU seconds of the process
//! for each, both sides, and the last state root.
//!
//! Both recover the senders, execute, check everything that needs no root, append to the ledger and
//! commit, runs of blocks in one step as an import does. With roots the trie is updated and its
//! root compared with the header's for each block, and the nodes behind the last block of a run are
//! stored; without, nothing commits to the state. Making the genesis is not measured.

use alloy_primitives::B256;
use alloy_rlp::Decodable as _;
use hearth_chain::{
    Overlay,
    import::{MAX_RUN_BLOCKS, MAX_RUN_CHANGES},
};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, Genesis, check_output, recover_senders};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, Options, TrieSession};
use hearth_ledger::{Ledger, LedgerOptions, RunBlock};
use hearth_metrics::Registry;
use hearth_primitives::{Block, RootTracker as _};
use std::{
    error::Error,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// How often the logs are synced, as `hearth import` has it.
const SYNC_EVERY: Duration = Duration::from_millis(1_000);
/// Ticks of the clock in `/proc/self/stat` a second (`sysconf(_SC_CLK_TCK)`, 100 on Linux).
const TICKS: f64 = 100.0;

/// CPU seconds of this process so far, all threads, user and system.
fn cpu_seconds() -> Fallible<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").ok_or("no process name")?.1.split(' ');
    let mut ticks = fields.skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next().ok_or("no user time")??, ticks.next().ok_or("no system time")??);
    Ok((user + system) as f64 / TICKS)
}

/// A store with its ledger, and how far the import into it is.
struct Side {
    kv: Arc<FlatKv>,
    ledger: Ledger,
    seconds: Vec<f64>,
    cpu: Vec<f64>,
}

impl Side {
    /// A store that holds the state of the genesis, whose block has this hash.
    fn new(dir: &Path, kind: CommitmentKind, genesis: &Genesis, hash: B256) -> Fallible<Self> {
        let tables = Ledger::open(&dir.join("ledger"), &LedgerOptions::default(), &Registry::new())?;
        let options = Options::new(dir.join("state"), dir.join("wal"), kind, Fsync::Interval(SYNC_EVERY));
        let kv = FlatKv::open(options, tables.clone())?;
        let ledger = Ledger::new(tables, kv.clone());
        kv.init(Commit {
            height: 0,
            hash,
            parent: B256::ZERO,
            changes: &genesis.changes(),
            trie: None,
            state_root: None,
            index: Vec::new(),
            positions: ledger.positions(),
        })?;
        Ok(Self { kv, ledger, seconds: Vec::new(), cpu: Vec::new() })
    }

    fn import(&mut self, spec: &ChainSpec, blocks: &[Block], roots: bool) -> Fallible<()> {
        let (cpu, began) = (cpu_seconds()?, Instant::now());
        let mut left = blocks;
        while !left.is_empty() {
            left = &left[self.run(spec, left, roots)?..];
        }
        self.seconds.push(began.elapsed().as_secs_f64());
        self.cpu.push(cpu_seconds()? - cpu);
        Ok(())
    }

    /// Imports the first blocks, as many as an import commits in one step; how many these are.
    fn run(&self, spec: &ChainSpec, blocks: &[Block], roots: bool) -> Fallible<usize> {
        let below = self.kv.latest().ok_or("no head")?;
        let mut trie = if roots { Some(self.kv.trie()?) } else { None };
        let (mut done, mut overlay, mut changed) = (Vec::new(), Overlay::default(), 0);
        for block in blocks.iter().take(MAX_RUN_BLOCKS) {
            if changed >= MAX_RUN_CHANGES {
                break;
            }
            let header = &block.header;
            let env = BlockEnvironment::from_header(spec, header);
            let senders = recover_senders(spec, &env, &block.body.transactions)?;
            let state = overlay.over(below.clone());
            let output = BlockExecutor::new(spec, env, &state, &self.ledger).run(block, &senders, None)?;
            drop(state);
            check_output(spec, header, &output)?;
            if let Some(trie) = &mut trie {
                trie.apply(&output.changes)?;
                if trie.root()? != header.state_root {
                    return Err(format!("another state root at height {}", header.number).into());
                }
            }
            overlay.add(&output.changes);
            changed += output.changes.accounts.iter().map(|account| 1 + account.storage.len()).sum::<usize>();
            done.push((block, header.hash_slow(), output));
        }
        let run = done.iter().map(|(block, hash, output)| RunBlock {
            block,
            hash: *hash,
            total_difficulty: block.header.difficulty,
            output: Some(output),
            capsule: None,
        });
        let run: Vec<_> = run.collect();
        let positions = self.ledger.append_run(&run)?;
        let indexes = self.ledger.index_rows_of_run(&run);
        let commits = done.iter().zip(positions.into_iter().zip(indexes));
        let commits = commits.map(|((block, hash, output), (positions, index))| Commit {
            height: block.header.number,
            hash: *hash,
            parent: block.header.parent_hash,
            changes: &output.changes,
            trie: None,
            state_root: roots.then_some(block.header.state_root),
            index,
            positions,
        });
        self.kv.commit_run(commits.collect(), trie.map(TrieSession::into_update).transpose()?)?;
        Ok(done.len())
    }

    fn report(&self) -> String {
        format!(r#"{{"seconds":{:?},"cpu":{:?}}}"#, self.seconds, self.cpu)
    }
}

/// So many blocks of a chain file, from the first behind the genesis on.
fn read(dir: &Path, count: usize) -> Fallible<Vec<Block>> {
    let bytes = fs::read(dir.join("chain.rlp"))?;
    let mut rest = &bytes[..];
    let mut blocks = Vec::with_capacity(count);
    while blocks.len() < count && !rest.is_empty() {
        let block = Block::decode(&mut rest)?;
        if block.header.number > 0 {
            blocks.push(block);
        }
    }
    match blocks.first() {
        Some(first) if first.header.number == 1 && blocks.len() == count => Ok(blocks),
        _ => Err(format!("the chain has not the {count} blocks behind the genesis").into()),
    }
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, out, pairs, step] = arguments.as_slice() else {
        return Err("usage: roots_cost DIR OUT PAIRS BLOCKS".into());
    };
    let (dir, pairs, step) = (Path::new(dir), pairs.parse::<usize>()?, step.parse::<usize>()?);
    let (spec, genesis) = ChainSpec::from_genesis_json(&fs::read_to_string(dir.join("genesis.json"))?)?;
    let blocks = read(dir, pairs * step)?;
    let base = blocks.first().ok_or("no block")?.header.parent_hash;
    let home = tempfile::Builder::new().prefix("hearth-roots-cost-").tempdir()?;
    let mut with = Side::new(&home.path().join("with"), CommitmentKind::Mpt, &genesis, base)?;
    let mut without = Side::new(&home.path().join("without"), CommitmentKind::None, &genesis, base)?;
    for (pair, blocks) in blocks.chunks(step).enumerate() {
        // With first, without first, without first, with first.
        if pair % 4 == 0 || pair % 4 == 3 {
            with.import(&spec, blocks, true)?;
            without.import(&spec, blocks, false)?;
        } else {
            without.import(&spec, blocks, false)?;
            with.import(&spec, blocks, true)?;
        }
    }
    let root: B256 = with.kv.head().ok_or("no head")?.commitment;
    let report = format!(r#"{{"with":{},"without":{},"root":"{root}"}}"#, with.report(), without.report());
    Ok(fs::write(out, report)?)
}
