//! The cost of state roots for an import: `roots_cost DIR OUT PAIRS BLOCKS` imports the chain that
//! `generate_chain` wrote into `DIR` into two stores, in turn `BLOCKS` blocks with roots and the
//! same without, `PAIRS` times, and writes JSON to `OUT`: seconds and CPU seconds of the process
//! for each, both sides, and the last state root.
//!
//! Both recover the senders, execute, check everything that needs no root, append to the ledger and
//! commit. With roots the trie is updated, its root compared with the header's, and its nodes
//! stored; without, nothing commits to the state. Making the genesis is not measured.

use alloy_primitives::B256;
use alloy_rlp::Decodable as _;
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, Genesis, check_output, recover_senders};
use hearth_flatkv::{Commit, CommitmentKind, FlatKv, Fsync, Options};
use hearth_ledger::{Ledger, LedgerOptions};
use hearth_metrics::Registry;
use hearth_primitives::{Block, RootTracker as _};
use std::{
    error::Error,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

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
        for block in blocks {
            self.block(spec, block, roots)?;
        }
        self.seconds.push(began.elapsed().as_secs_f64());
        self.cpu.push(cpu_seconds()? - cpu);
        Ok(())
    }

    fn block(&self, spec: &ChainSpec, block: &Block, roots: bool) -> Fallible<()> {
        let (header, hash) = (&block.header, block.header.hash_slow());
        let state = self.kv.latest().ok_or("no head")?;
        let env = BlockEnvironment::from_header(spec, header);
        let senders = recover_senders(spec, &env, &block.body.transactions)?;
        let executor = BlockExecutor::new(spec, env, &state, &self.ledger);
        let (output, trie) = if roots {
            let mut trie = self.kv.trie()?;
            let output = executor.run(block, &senders, Some(&mut trie))?;
            if trie.root()? != header.state_root {
                return Err(format!("another state root at height {}", header.number).into());
            }
            (output, Some(trie.into_update()?))
        } else {
            (executor.run(block, &senders, None)?, None)
        };
        check_output(spec, header, &output)?;
        self.ledger.append(block, hash, header.difficulty, &output.receipts, &output.senders)?;
        self.kv.commit(Commit {
            height: header.number,
            hash,
            parent: header.parent_hash,
            changes: &output.changes,
            trie,
            state_root: None,
            index: self.ledger.index_rows(block, hash, &output.receipts, None),
            positions: self.ledger.positions(),
        })?;
        Ok(())
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
