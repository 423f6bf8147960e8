//! The duration of the trace of a whole block within the process, without a server or a client.
//!
//! `block_traces FIRST.json SECOND.json HEIGHT ROUNDS TRACER`: the files are configurations of
//! nodes on two homes with the same chain. The two nodes trace in turns, and the first one also
//! runs two traces at the same time, which share nothing: this shows the most that a second
//! processor of this machine can bring. Prints one line of JSON: milliseconds of each trace, of
//! both traces at once, and bytes of the answer.

use alloy_eips::BlockNumberOrTag;
use hearth_node::{Caller, Node, NodeConfig, NodeError, TraceRequest, TraceSubject};
use serde_json::json;
use std::{error::Error, fs, sync::Arc, time::Instant};

/// As in the module of Node.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time limits of traces; two traces with different ones are two executions.
const TIMEOUTS: [&str; 2] = ["300s", "301s"];

type Done<T> = Result<T, Box<dyn Error>>;

/// Traces the block; the milliseconds that it took, and the bytes of the answer.
fn trace(node: &Arc<Node>, height: u64, tracer: &str, timeout: &str) -> Result<(f64, usize), NodeError> {
    let config = json!({ "tracer": tracer, "timeout": timeout }).to_string();
    let subject = TraceSubject::BlockByNumber(BlockNumberOrTag::Number(height));
    let request = TraceRequest::new(subject, Some(&config))?;
    let began = Instant::now();
    let stream = node.stream(request, &Caller::default(), None);
    let mut bytes = 0;
    while let Some(chunk) = stream.next()? {
        bytes += chunk.len();
    }
    Ok((began.elapsed().as_secs_f64() * 1e3, bytes))
}

/// The milliseconds of two traces of the block at the same time.
fn at_once(node: &Arc<Node>, height: u64, tracer: &str) -> Done<f64> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let threads = TIMEOUTS.map(|timeout| scope.spawn(move || trace(node, height, tracer, timeout)));
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(traced) => traced.map(drop).map_err(Box::<dyn Error>::from),
            Err(_) => Err("a trace panicked".into()),
        })
    })?;
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

fn main() -> Done<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, height, rounds, tracer] = &args[..] else {
        return Err("usage: block_traces FIRST.json SECOND.json HEIGHT ROUNDS TRACER".into());
    };
    let open = |file: &String| -> Done<Arc<Node>> {
        Ok(Node::open(NodeConfig::from_json(&fs::read_to_string(file)?)?)?)
    };
    let sides = [open(first)?, open(second)?];
    let (height, rounds): (u64, usize) = (height.parse()?, rounds.parse()?);
    let (mut millis, mut together) = ([Vec::new(), Vec::new()], Vec::new());
    let mut bytes = [0, 0];
    for (side, node) in sides.iter().enumerate() {
        bytes[side] = trace(node, height, tracer, TIMEOUTS[0])?.1;
    }
    for round in 0..rounds {
        for side in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            millis[side].push(trace(&sides[side], height, tracer, TIMEOUTS[0])?.0);
        }
        together.push(at_once(&sides[0], height, tracer)?);
    }
    if bytes[0] != bytes[1] {
        return Err(format!("answers of {} and {} bytes", bytes[0], bytes[1]).into());
    }
    println!("{}", json!({ "first": millis[0], "second": millis[1], "two": together, "bytes": bytes[0] }));
    sides.iter().try_for_each(|node| node.close())?;
    Ok(())
}
