//! Following recorded blocks of mainnet: `follow_recorded OUT ROUNDS FILE…` takes recordings with
//! trie nodes and executes each block `ROUNDS` times on both sides in turn: plainly on its state in
//! memory, and as a follower does, from the text of a witness to the capsule and to the state root.
//! Writes JSON to `OUT`: seconds of each side and round over all blocks, and bytes.
//!
//! Both sides recover the senders first, outside the time: that costs both the same.

use alloy_primitives::{Address, B256, Bytes};
use hearth_chain::{Chain, ChainOptions, import::case_text};
use hearth_evm::{AllocState, BlockEnvironment, BlockExecutor, ChainSpec, RecordedCase, recover_senders};
use hearth_primitives::{Block, BlockOutput, StateError, StateReader, TraceCapsule};
use hearth_witness::{CodeSource, Material, Supplement, Witness, WitnessState};
use serde_json::json;
use std::{error::Error, fs, hint::black_box, path::Path, time::Instant};

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A home that holds no code yet.
struct NoCodes;

impl CodeSource for NoCodes {
    fn code(&self, _: &B256) -> Result<Option<Bytes>, StateError> {
        Ok(None)
    }
}

struct Recorded {
    case: RecordedCase,
    block: Block,
    senders: Vec<Address>,
    state: AllocState,
    root: B256,
    /// The witness as another node sends it.
    text: Vec<u8>,
    witness_bytes: usize,
    /// Bytes of block, receipts and capsule in a home.
    tables: Vec<u64>,
}

impl Recorded {
    fn read(spec: &ChainSpec, file: &Path) -> Fallible<Self> {
        let case = RecordedCase::parse_json(&case_text(file)?)?;
        let block = case.block();
        let env = BlockEnvironment::from_header(spec, &case.header);
        let senders = recover_senders(spec, &env, &case.transactions)?;
        let mut changes = case.pre_changes();
        // A recording lists accounts that do not exist and were only looked at.
        changes.accounts.retain(|change| change.new.is_some_and(|account| !account.is_empty()));
        let codes: Vec<Bytes> = changes.codes.iter().map(|(_, code)| code.clone()).collect();
        let nodes = case.trie_nodes.clone().ok_or("no trie nodes")?;
        let root = case.parent_state_root.ok_or("no root of the parent")?;
        let bytes = |list: &[Bytes]| list.iter().map(|item| item.len()).sum::<usize>();
        let home = tempfile::Builder::new().prefix("hearth-follow-recorded-").tempdir()?;
        let (chain, _) = Chain::import_case(home.path(), file, None, &ChainOptions::default())?;
        Ok(Self {
            witness_bytes: bytes(&nodes) + bytes(&codes),
            text: json!({ "state": nodes, "codes": codes, "headers": [] }).to_string().into_bytes(),
            tables: chain.ledger().positions(),
            state: AllocState::from_changes(changes),
            case,
            block,
            senders,
            root,
        })
    }

    fn executor<'a>(&'a self, spec: &'a ChainSpec, state: &'a dyn StateReader) -> BlockExecutor<'a> {
        let env = BlockEnvironment::from_header(spec, &self.case.header);
        BlockExecutor::new(spec, env, state, &self.case).on_partial_state()
    }

    fn plain(&self, spec: &ChainSpec) -> Fallible<BlockOutput> {
        Ok(self.executor(spec, &self.state).run(&self.block, &self.senders, None)?)
    }

    /// Seconds up to the capsule, and with the state root, where the recording has its nodes.
    fn follow(&self, spec: &ChainSpec) -> Fallible<(f64, Option<f64>)> {
        let began = Instant::now();
        let material = Material::new(Witness::parse(&self.text)?, &Supplement::default());
        let state = WitnessState::new(self.root, &material, &NoCodes);
        let output = self.executor(spec, &state).capturing().run(&self.block, &self.senders, None)?;
        black_box(TraceCapsule::of(&output).ok_or("no capsule")?);
        let capsule = began.elapsed().as_secs_f64();
        if output.gas_used != self.case.header.gas_used {
            return Err(format!("block {}: {} gas", self.case.header.number, output.gas_used).into());
        }
        // Proofs of the parent's state may lack a node that a removal needs.
        let root = material.root_after(self.root, state.into_trie(), &output.changes)?.ok();
        let whole = began.elapsed().as_secs_f64();
        match root {
            Some(root) if root != self.case.header.state_root => {
                Err(format!("block {}: another state root", self.case.header.number).into())
            }
            root => Ok((capsule, root.map(|_| whole))),
        }
    }
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, rounds, files @ ..] = arguments.as_slice() else {
        return Err("usage: follow_recorded OUT ROUNDS FILE…".into());
    };
    let (rounds, spec) = (rounds.parse::<usize>()?, ChainSpec::mainnet());
    let blocks: Vec<_> =
        files.iter().map(|file| Recorded::read(&spec, Path::new(file))).collect::<Fallible<_>>()?;
    let [mut plain, mut follow, mut rooted, mut plain_rooted] = [const { Vec::new() }; 4];
    // The first round warms both sides: codes are analysed once a process.
    for round in 0..=rounds {
        let [mut of_plain, mut of_follow, mut of_rooted, mut of_plain_rooted] = [0.0; 4];
        for block in &blocks {
            let plainly = || -> Fallible<f64> {
                let began = Instant::now();
                black_box(block.plain(&spec)?);
                Ok(began.elapsed().as_secs_f64())
            };
            let (alone, (capsule, root)) = if round % 2 == 0 {
                (plainly()?, block.follow(&spec)?)
            } else {
                let followed = block.follow(&spec)?;
                (plainly()?, followed)
            };
            of_plain += alone;
            of_follow += capsule;
            if let Some(root) = root {
                of_rooted += root;
                of_plain_rooted += alone;
            }
        }
        if round > 0 {
            plain.push(of_plain);
            follow.push(of_follow);
            rooted.push(of_rooted);
            plain_rooted.push(of_plain_rooted);
        }
    }
    let sum = |of: fn(&Recorded) -> u64| blocks.iter().map(of).sum::<u64>();
    let measured = json!({
        "blocks": blocks.len(),
        "gas": sum(|block| block.case.header.gas_used),
        "witnessBytes": sum(|block| block.witness_bytes as u64),
        "tables": (0..3).map(|table| blocks.iter().map(|block| block.tables[table]).sum()).collect::<Vec<u64>>(),
        "plain": plain, "follow": follow, "rooted": rooted, "plainRooted": plain_rooted,
    });
    Ok(fs::write(out, measured.to_string())?)
}
