//! The duration of commits with and without baking: two nodes in one process commit the same chain,
//! in turns.
//!
//! `bake_commit ON.json OFF.json GENESIS CHAIN PACE_MS PAIRS BLOCKS`: the first two files are
//! configurations of nodes on empty homes. The order of turns is on, off, off, on; a turn is BLOCKS
//! blocks, one every PACE_MS (0: without pause), and PAIRS is the number of pairs of turns. Prints
//! one line of JSON: the milliseconds of each commit.

use alloy_rlp::Decodable as _;
use hearth_node::{Node, NodeConfig};
use hearth_primitives::Block;
use serde_json::Value;
use std::{
    error::Error,
    fs,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

type Done<T> = Result<T, Box<dyn Error>>;

/// The allocator of a node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A node with the blocks that it commits next.
struct Side {
    node: Arc<Node>,
    rlp: Vec<u8>,
    at: usize,
    millis: Vec<f64>,
}

impl Side {
    fn open(config: &str, genesis: &str, rlp: Vec<u8>) -> Done<Self> {
        let config = NodeConfig::from_json(&fs::read_to_string(config)?)?;
        Node::init(&config.home, genesis)?;
        let mut side = Self { node: Node::open(config)?, rlp, at: 0, millis: Vec::new() };
        // The genesis is there already where the file has it.
        if side.next()?.header.number != 0 {
            side.at = 0;
        }
        Ok(side)
    }

    fn next(&mut self) -> Done<Block> {
        let mut rest = &self.rlp[self.at..];
        let block = Block::decode(&mut rest)?;
        self.at = self.rlp.len() - rest.len();
        Ok(block)
    }

    /// Commits some blocks, one every `pace`.
    fn turn(&mut self, blocks: usize, pace: Duration) -> Done<()> {
        let chain = self.node.chain()?;
        for _ in 0..blocks {
            let block = self.next()?;
            let began = Instant::now();
            chain.insert_block(block)?;
            self.millis.push(began.elapsed().as_secs_f64() * 1e3);
            sleep(pace.saturating_sub(began.elapsed()));
        }
        Ok(())
    }

    /// The value of an instrument without labels.
    fn value(&self, name: &str) -> Done<f64> {
        let snapshot: Value = serde_json::from_str(&self.node.metrics_snapshot())?;
        let families = snapshot.as_array().into_iter().flatten();
        let value =
            families.filter(|family| family["name"] == name).find_map(|f| f["series"][0]["value"].as_f64());
        value.ok_or_else(|| format!("no instrument {name}").into())
    }
}

fn main() -> Done<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [on, off, genesis, chain, pace, pairs, blocks] = &args[..] else {
        return Err("usage: bake_commit ON.json OFF.json GENESIS CHAIN PACE_MS PAIRS BLOCKS".into());
    };
    let (genesis, rlp) = (fs::read_to_string(genesis)?, fs::read(chain)?);
    let pace = Duration::from_millis(pace.parse()?);
    let (pairs, blocks): (usize, usize) = (pairs.parse()?, blocks.parse()?);
    let mut sides = [Side::open(on, &genesis, rlp.clone())?, Side::open(off, &genesis, rlp)?];
    for pair in 0..pairs {
        for side in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
            sides[side].turn(blocks, pace)?;
            // What is left to bake of a turn with baking must not count for the turn without.
            while sides[0].value("bake_queue_depth")? + sides[0].value("bake_lag_blocks")? > 0.0 {
                sleep(Duration::from_millis(10));
            }
        }
    }
    let [on, off] = &sides;
    let [baked, dropped, failed] = ["bake_baked_blocks", "bake_dropped_blocks", "bake_failed_blocks"];
    let report = serde_json::json!({
        "on": on.millis, "off": off.millis,
        "baked": on.value(baked)?, "dropped": on.value(dropped)?, "failed": on.value(failed)?,
    });
    println!("{report}");
    for side in &sides {
        side.node.close()?;
    }
    Ok(())
}
