//! What confinement adds to the start of a child, in pairs: from the request of a child to the
//! first message of one that has put every layer on itself, and of one without any.
//!
//! `node native/setup/cargo.mjs bench -p hearth-sandbox --bench start`

#![allow(clippy::unwrap_used)]

use hearth_metrics::Registry;
use hearth_sandbox::{CONFINED, Layers, LeaseRequest, Options, Pool, Program, Verdict, confine};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pairs, after those that only warm up.
const PAIRS: usize = 40;
const WARM_UP: usize = 3;

/// What all layers may cost, in milliseconds.
const MORE_MS_MAX: f64 = 5.0;

/// Longest wait for a child.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first argument of the child; the layers follow it.
const CHILD: &str = "child";

/// The kind of the message that says that the child has begun.
const BEGUN: u8 = 13;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, word, bits] = args.as_slice()
        && word == CHILD
    {
        return child(Layers::of_bits(bits.parse().unwrap()));
    }
    let mut pairs = Vec::new();
    for round in 0..WARM_UP + PAIRS {
        let order = if round % 2 == 0 { [Layers::ALL, Layers::NONE] } else { [Layers::NONE, Layers::ALL] };
        let took = order.map(start_ms);
        pairs.push(if round % 2 == 0 { (took[0], took[1]) } else { (took[1], took[0]) });
    }
    let pairs = &pairs[WARM_UP..];
    let confined = sorted(pairs.iter().map(|pair| pair.0));
    let free = sorted(pairs.iter().map(|pair| pair.1));
    let more = median(&sorted(pairs.iter().map(|pair| pair.0 - pair.1)));
    let lost = if more > MORE_MS_MAX { "  LOSING" } else { "" };
    println!(
        "bench: start of a child, confined and not (ms) | {} | {} | {more:+.1}{lost} | - | - | <= {MORE_MS_MAX} ms more",
        shown(&confined),
        shown(&free),
    );
}

/// The program of the children.
fn child(layers: Layers) {
    // SAFETY: the parent has put the channel there, and no other code uses it.
    let mut channel = unsafe { File::from_raw_fd(3) };
    let own = if layers == Layers::NONE { Layers::NONE } else { confine(layers) };
    channel.write_all(&message(CONFINED, &own.bits().to_le_bytes())).unwrap();
    channel.write_all(&message(BEGUN, &[])).unwrap();
    // Until the parent hangs up.
    let _ = channel.read(&mut [0]);
}

/// A message in its frame.
fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend([kind, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

/// Milliseconds from a request to the first message of its new child.
fn start_ms(layers: Layers) -> f64 {
    let program = Program {
        path: std::env::current_exe().unwrap(),
        args: vec![CHILD.to_owned(), layers.bits().to_string()],
    };
    let options = Options {
        program,
        workers: 1,
        queue: 1,
        memory_bytes: 16 << 20,
        output_bytes: 1 << 16,
        layers,
        require: Layers::NONE,
        warm_up: None,
    };
    let pool = Pool::new(options, &Registry::new()).unwrap();
    let until = Instant::now() + PATIENCE;
    let began = Instant::now();
    let request = LeaseRequest {
        client: Arc::from("bench"),
        script: 1,
        children: 1,
        until,
        is_wanted: Box::new(|| true),
    };
    let mut lease = pool.lease(request).unwrap().pop().unwrap();
    while lease.read().unwrap().is_none_or(|message| message.kind != BEGUN) {
        assert!(Instant::now() < until, "the child did not begin");
        lease.wait(false, Duration::from_millis(20));
    }
    let took = began.elapsed().as_secs_f64() * 1000.0;
    lease.end(Verdict::Unwanted);
    took
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Median, lowest and highest.
fn shown(sorted: &[f64]) -> String {
    format!("{:.1} ({:.1} to {:.1})", median(sorted), sorted[0], sorted[sorted.len() - 1])
}
