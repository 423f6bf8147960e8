//! Homes, configurations and fixtures for tests.

use hearth_chain::{Chain, ChainOptions, StateOptions, import::ImportJob};
use hearth_flatkv::Fsync;
use hearth_ledger::LedgerOptions;
use hearth_node::{
    Asker, BakeConfig, DevConfig, FlatkvConfig, FsyncPolicy, Mode, Node, NodeConfig, NodeError, PoolLimits,
    Request, RpcLimits, TraceRequest, TraceSource, WorkerConfig, Workers,
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    sync::atomic::AtomicBool,
};

/// Time of block 0 of development chains, in seconds: homes that are made one after the other share
/// their genesis.
pub const GENESIS_TIME: u64 = 1_700_000_000;

/// A folder of the recorded cases; `None`, said aloud, where they are not there.
pub fn fixtures(folder: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("HEARTH_FIXTURES") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures"),
    };
    let dir = root.join(folder);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: {} is not there", dir.display());
    None
}

pub fn config(home: &Path, mode: Mode) -> NodeConfig {
    NodeConfig {
        read_only: false,
        home: home.to_owned(),
        mode,
        genesis: None,
        fsync: FsyncPolicy::None,
        flatkv: FlatkvConfig { memory_budget_bytes: 64 << 20, ..FlatkvConfig::from(StateOptions::default()) },
        littable: LedgerOptions::default().into(),
        rpc: RpcLimits {
            gas_cap: 50_000_000,
            call_timeout_ms: 5000,
            logs_max_results: 10_000,
            logs_max_bytes: 64 << 20,
            logs_max_block_range: 0,
            fee_history_max_blocks: 1024,
            trace_timeout_ms: 300_000,
            struct_log_max_bytes: 0,
            trace_source: TraceSource::Auto,
            max_trace_lookback_blocks: None,
            parallel_block_traces: true,
            tx_fee_cap_wei: 1_000_000_000_000_000_000,
            allow_unprotected_txs: false,
            pool_content_max: 5,
        },
        bake: BakeConfig {
            enabled: false,
            workers: 1,
            queue_size: 4096,
            tracers: vec!["callTracer".to_owned()],
            window_blocks: 0,
            use_snapshot: false,
            snapshot_window: 64,
            timeout_ms: 60_000,
            hot_bytes: 16 << 20,
            further_tracers: Vec::new(),
            canonical_configs: false,
        },
        pool: PoolLimits {
            max_transactions: 100,
            max_per_account: 16,
            max_bytes: 8 << 20,
            max_transaction_bytes: 128 << 10,
            price_bump_percent: 10,
            min_tip_wei: 1,
        },
        workers: Workers {
            read: WorkerConfig { threads: 2, queue: 64 },
            heavy: WorkerConfig { threads: 2, queue: 64 },
            traces: 0,
            simulations: 0,
            wait_ms: 60_000,
            heavy_nice: 0,
            low_traces: 0,
            client_share: 0,
            parked_traces: 0,
        },
        memory_budget_bytes: 0,
        // One genesis for all homes.
        dev: DevConfig { gas_limit: 30_000_000, timestamp: Some(GENESIS_TIME), ..DevConfig::default() },
        fork: None,
        scripts: None,
        engine: false,
        consensus: None,
    }
}

/// A home with the execution-apis chain, open. The folder lives as long as the first part.
pub fn execution_apis() -> Option<(tempfile::TempDir, Arc<Node>)> {
    let fixtures = fixtures("rpc-compat")?;
    let home = tempfile::tempdir().expect("a folder");
    let genesis = std::fs::read_to_string(fixtures.join("genesis.json")).expect("genesis");
    let options = ChainOptions {
        fsync: Fsync::None,
        state: StateOptions { memory_budget_bytes: 64 << 20, ..StateOptions::default() },
        ..ChainOptions::default()
    };
    let chain = Chain::create(home.path(), &genesis, &options).expect("a new home");
    let job = ImportJob { files: vec![fixtures.join("chain.rlp")], head: None };
    chain.import(&job, &mut |_| {}, &AtomicBool::new(false)).expect("the chain verifies");
    chain.close().expect("closes");
    drop(chain);
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    Some((home, node))
}

/// The answer to a request, once a thread of the node has it.
pub fn answer(node: &Arc<Node>, request: Request) -> Result<Vec<u8>, NodeError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    node.spawn(request, move |answer| drop(sender.send(answer)));
    receiver.recv().expect("answers once")
}

/// Runs an operation through JSON, as the N-API boundary does.
pub fn ask(node: &Arc<Node>, op: &str, args: Value) -> Result<Value, NodeError> {
    let text = if args.is_null() { json!({ "op": op }) } else { json!({ "op": op, "args": args }) };
    let bytes = answer(node, Request::from_json(text.to_string().as_bytes())?)?;
    Ok(serde_json::from_slice(&bytes).expect("answers are JSON"))
}

/// Runs a trace and reads its whole result.
pub fn trace(node: &Arc<Node>, op: &str, args: Value) -> Result<Value, NodeError> {
    let text = json!({ "op": op, "args": args }).to_string();
    let stream = node.stream(TraceRequest::from_json(text.as_bytes())?, &Asker::default(), None);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next()? {
        bytes.extend(chunk);
    }
    Ok(serde_json::from_slice(&bytes).expect("answers are JSON"))
}
