//! Recorded mainnet blocks: every transaction of every block under every configuration of
//! callTracer.

use crate::answers::{
    CONFIGS, Table, digest, digest_of_steps, files, first_difference, fixtures, full, quick, read_json,
};
use crate::cases::MainnetCase;
use hearth_evm::ChainSpec;
use hearth_tracers::{BlockReplay, Limits, TraceConfig, TracePlan, trace_block, trace_transaction};
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;

/// Blocks above this gas are left out of a quick run.
const QUICK_MAX_GAS: u64 = 3_000_000;

fn plan(json: &str) -> TracePlan {
    TracePlan {
        timeout: std::time::Duration::from_secs(300),
        ..TracePlan::new(&TraceConfig::parse(json).unwrap()).unwrap()
    }
}

/// Blocks above this gas have their struct logs compared in a full run only: they are gigabytes.
const STEPS_MAX_GAS: u64 = 3_000_000;

/// Compares the struct logs of a block, transaction by transaction.
fn step_difference(case: &MainnetCase, spec: &ChainSpec, plan: &TracePlan, want: &Value) -> Option<String> {
    let mut replay = BlockReplay::new(spec, &case.block, None, &case.state, &case.state).unwrap();
    let wanted = want.as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(wanted.len(), case.block.body.transactions.len());
    let mut text = Vec::new();
    wanted.iter().enumerate().find_map(|(i, want)| {
        text.clear();
        trace_transaction(&mut replay, i, plan, &Limits::default(), &mut text).unwrap();
        (digest_of_steps(&text) != want.as_str().unwrap())
            .then(|| format!("transaction {i}: digest differs, {} bytes", text.len()))
    })
}

/// Checks one block; returns the number of checks.
fn check_block(
    spec: &ChainSpec,
    answers: &Path,
    name: &str,
    case: &MainnetCase,
    table: &Mutex<Table>,
) -> usize {
    let want = read_json(&answers.join(name).join("digests.json"));
    let replay = || BlockReplay::new(spec, &case.block, None, &case.state, &case.state).unwrap();
    let mut checks = 0;
    for (config, json) in CONFIGS {
        let plan = plan(json);
        if config.starts_with("structLogs") {
            let Some(want) = want.get(config) else { continue };
            if full() || case.block.header.gas_used <= STEPS_MAX_GAS {
                checks += 1;
                let difference = step_difference(case, spec, &plan, want);
                table.lock().unwrap().check(&format!("{name} {config}"), difference);
            }
            continue;
        }
        checks += 1;
        let mut out = Vec::new();
        let stats = trace_block(&mut replay(), &plan, &Limits::default(), &mut out).unwrap();
        assert_eq!(stats.bytes, out.len() as u64);
        let have: Vec<Value> = serde_json::from_slice(&out).unwrap();
        let kept = answers.join(name).join(format!("{config}.json.gz"));
        let kept = kept.exists().then(|| read_json(&kept));
        // A block without transactions has `null` for its answers.
        let wanted = want[config].as_array().map_or(&[][..], Vec::as_slice);
        let difference = block_difference(case, &have, wanted, kept.as_ref()).or_else(|| {
            let middle = have.len() / 2;
            let wanted = have.get(middle)?;
            let mut one = Vec::new();
            trace_transaction(&mut replay(), middle, &plan, &Limits::default(), &mut one).unwrap();
            first_difference(&serde_json::from_slice(&one).unwrap(), &wanted["result"], "single")
        });
        table.lock().unwrap().check(&format!("{name} {config}"), difference);
    }
    checks
}

fn block_difference(
    case: &MainnetCase,
    have: &[Value],
    want: &[Value],
    kept: Option<&Value>,
) -> Option<String> {
    let transactions = &case.block.body.transactions;
    if have.len() != transactions.len() || want.len() != transactions.len() {
        return Some(format!("{} elements for {} transactions", have.len(), transactions.len()));
    }
    have.iter().zip(want).enumerate().find_map(|(i, (have, want))| {
        if have["txHash"] != transactions[i].tx_hash().to_string() {
            return Some(format!("element {i} has txHash {}", have["txHash"]));
        }
        let Some(result) = have.get("result") else {
            return Some(format!("transaction {i}: {}", have["error"]));
        };
        let equal = digest(result) == want.as_str().unwrap();
        (!equal).then(|| {
            let detail = kept.and_then(|k| first_difference(result, &k[i]["result"], "$"));
            format!("transaction {i}: {}", detail.unwrap_or_else(|| "digest differs".to_owned()))
        })
    })
}

#[test]
fn recorded_blocks() {
    let Some(dir) = fixtures() else { return };
    let answers = dir.join("geth-answers/mainnet-blocks");
    let spec = ChainSpec::mainnet();
    let table = Mutex::new(Table::default());
    let all = files(&dir.join("mainnet-blocks"), ".json.gz");
    assert_eq!(all.len(), 51);
    let next = Mutex::new(all.iter());
    let expected: usize = std::thread::scope(|scope| {
        let worker = || {
            let mut checks = 0;
            loop {
                let Some(file) = next.lock().unwrap().next() else { return checks };
                let name = file.file_name().unwrap().to_string_lossy().replace(".json.gz", "");
                let json = read_json(file);
                if quick() && crate::cases::quantity(&json["block"]["gasUsed"]).to::<u64>() > QUICK_MAX_GAS {
                    continue;
                }
                checks += check_block(&spec, &answers, &name, &MainnetCase::parse(&json), &table);
            }
        };
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    match (quick(), full()) {
        (true, _) => println!("skipped: blocks above {QUICK_MAX_GAS} gas (HEARTH_TEST=quick)"),
        (_, true) => assert_eq!(expected, 612 + 65),
        _ => assert_eq!(expected, 612 + 22),
    }
    table.into_inner().unwrap().finish(expected);
}
