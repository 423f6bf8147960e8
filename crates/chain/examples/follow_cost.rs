//! The cost of following: `follow_cost DIR OUT ROUNDS` imports the chain that `generate_chain`
//! wrote into `DIR`, makes the witness of each block, and then takes the same blocks in turn as an
//! import with its own state and as a follower, `ROUNDS` times. Writes JSON to `OUT`: seconds of
//! each side and round, of the witnesses' making, and bytes.
//!
//! Both sides recover senders, execute, check every field and the state root, and store block,
//! receipts and capsule. The import reads and writes the state and its trie on the disk; the
//! follower decodes and hashes the witness, whose text is in memory.

use alloy_rlp::Decodable as _;
use hearth_chain::{Chain, ChainOptions, FollowAnswer, FollowMeta, FollowSource, FollowedRules, GivenBlock};
use hearth_flatkv::{Fsync, StateSettings};
use hearth_primitives::Block;
use hearth_witness::{BlockForm, Witness};
use serde_json::json;
use std::{
    error::Error,
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// How often the logs are synced, as `hearth import` has it.
const SYNC_EVERY: Duration = Duration::from_millis(1_000);
/// Memory of the state store, in bytes.
const MEMORY_BYTES: usize = 512 << 20;

/// A block with what another node would send for it.
struct Sent {
    block: Block,
    meta: FollowMeta,
    rlp: Vec<u8>,
    witness: Vec<u8>,
}

fn options() -> ChainOptions {
    ChainOptions {
        fsync: Fsync::Interval(SYNC_EVERY),
        state: StateSettings { memory_budget_bytes: MEMORY_BYTES, ..StateSettings::default() },
        ..ChainOptions::default()
    }
}

fn hex(bytes: &[u8]) -> String {
    alloy_primitives::hex::encode_prefixed(bytes)
}

/// The text of a witness in the canonical form.
fn text(witness: &Witness) -> Vec<u8> {
    let headers: Vec<_> = witness.headers.iter().map(|header| hex(&alloy_rlp::encode(header))).collect();
    json!({ "state": witness.state, "codes": witness.codes, "headers": headers }).to_string().into_bytes()
}

fn blocks(dir: &Path) -> Fallible<Vec<Block>> {
    let bytes = fs::read(dir.join("chain.rlp"))?;
    let mut rest = &bytes[..];
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let block = Block::decode(&mut rest)?;
        if block.header.number > 0 {
            blocks.push(block);
        }
    }
    Ok(blocks)
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, out, rounds] = arguments.as_slice() else {
        return Err("usage: follow_cost DIR OUT ROUNDS".into());
    };
    let (dir, rounds) = (Path::new(dir), rounds.parse::<usize>()?);
    let genesis = fs::read_to_string(dir.join("genesis.json"))?;
    let home = tempfile::Builder::new().prefix("hearth-follow-cost-").tempdir()?;
    let upstream = Chain::create(&home.path().join("upstream"), &genesis, &options())?;
    let base = upstream.ledger().canonical_block(0)?.ok_or("no genesis")?.block.header.clone();
    let (mut sent, mut making, mut node_bytes, mut code_bytes) = (Vec::new(), 0.0, 0usize, 0usize);
    for block in blocks(dir)? {
        let hash = block.header.hash_slow();
        upstream.insert_block(block.clone())?;
        let state = upstream.state_at(block.header.number - 1)?;
        let began = Instant::now();
        let witness = upstream.execution_witness(&block, hash, &state)?;
        making += began.elapsed().as_secs_f64();
        node_bytes += witness.state.iter().map(|node| node.len()).sum::<usize>();
        code_bytes += witness.codes.iter().map(|code| code.len()).sum::<usize>();
        let (form, source, reorg_blocks) = (BlockForm::Raw, FollowSource::Witness, 1);
        let meta = FollowMeta { hash, form, source, reorg_blocks };
        let rlp = json!(hex(&alloy_rlp::encode(&block))).to_string().into_bytes();
        sent.push(Sent { block, meta, rlp, witness: text(&witness) });
    }
    let (mut import, mut follow, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let homes = ["import", "follow"].map(|name| home.path().join(format!("{name}-{round}")));
        let imported = Chain::create(&homes[0], &genesis, &options())?;
        let rules = FollowedRules::Genesis(genesis.clone());
        let follower = Chain::create_follower(&homes[1], &rules, &base, None, &options())?;
        let mut plain = || -> Fallible<()> {
            let began = Instant::now();
            for sent in &sent {
                imported.insert_block(sent.block.clone())?;
            }
            import.push(began.elapsed().as_secs_f64());
            Ok(())
        };
        let mut followed = || -> Fallible<()> {
            let began = Instant::now();
            for Sent { meta, rlp, witness, .. } in &sent {
                let given = GivenBlock { meta: *meta, block: rlp, witness: Some(witness), extra: None };
                match follower.follow_block(given)? {
                    FollowAnswer::Followed { .. } => {}
                    other => return Err(format!("{other:?}").into()),
                }
            }
            follow.push(began.elapsed().as_secs_f64());
            Ok(())
        };
        if round % 2 == 0 {
            plain()?;
            followed()?;
        } else {
            followed()?;
            plain()?;
        }
        if round == 0 {
            // Blocks, receipts, capsules.
            tables = follower.ledger().positions();
        }
        imported.close()?;
        follower.close()?;
        drop((imported, follower));
        homes.iter().try_for_each(fs::remove_dir_all)?;
    }
    let gas: u64 = sent.iter().map(|sent| sent.block.header.gas_used).sum();
    let text_bytes: usize = sent.iter().map(|sent| sent.witness.len()).sum();
    let measured = json!({
        "blocks": sent.len(), "gas": gas, "import": import, "follow": follow, "making": making,
        "nodeBytes": node_bytes, "codeBytes": code_bytes, "textBytes": text_bytes,
        "tables": tables,
        "largestWitness": sent.iter().map(|sent| sent.witness.len()).max(),
    });
    Ok(fs::write(out, measured.to_string())?)
}
