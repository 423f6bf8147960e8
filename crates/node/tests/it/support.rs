//! Homes, configurations and fixtures for tests.

use hearth_chain::{Chain, ChainOptions, import::ImportJob};
use hearth_flatkv::{Fsync, StateSettings};
use hearth_ledger::LedgerSettings;
use hearth_node::{
    Caller, DevConfig, FsyncPolicy, Mode, Node, NodeConfig, NodeError, Request, TraceRequest, WorkerConfig,
    Workers,
};
use serde_json::{Value, json};
use std::{
    num::NonZeroU128,
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

/// The configuration of the default settings, with sizes for tests.
pub fn config(home: &Path, mode: Mode) -> NodeConfig {
    let mut config =
        NodeConfig::from_json(include_str!("../../../home/tests/config.json")).expect("a configuration");
    config.home = home.to_owned();
    config.mode = mode;
    config.fsync = FsyncPolicy::None;
    config.flatkv = StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() };
    config.littable = LedgerSettings::default();
    config.rpc.logs_max_block_range = None;
    config.rpc.struct_log_max_bytes = None;
    config.rpc.max_trace_lookback_blocks = None;
    config.rpc.tx_fee_cap_wei = NonZeroU128::new(1_000_000_000_000_000_000);
    config.rpc.pool_content_max = 5;
    config.bake.workers = 1;
    config.bake.tracers = vec!["callTracer".to_owned()];
    config.bake.window_blocks = None;
    config.bake.snapshot_window = 64;
    config.bake.hot_bytes = 16 << 20;
    config.pool.max_transactions = 100;
    config.pool.max_per_account = 16;
    config.pool.max_bytes = 8 << 20;
    config.pool.min_tip_wei = 1;
    config.workers = Workers {
        read: WorkerConfig { threads: 2, queue: 64 },
        heavy: WorkerConfig { threads: 2, queue: 64 },
        traces: None,
        simulations: None,
        wait_ms: 60_000,
        heavy_nice: 0,
        client_share: None,
        parked_traces: 0,
        ..config.workers
    };
    // One genesis for all data directories.
    config.dev = DevConfig { gas_limit: 30_000_000, timestamp: Some(GENESIS_TIME), ..DevConfig::default() };
    config
}

/// A home with the execution-apis chain, open. The folder lives as long as the first part.
pub fn execution_apis() -> Option<(tempfile::TempDir, Arc<Node>)> {
    let fixtures = fixtures("rpc-compat")?;
    let home = tempfile::tempdir().expect("a folder");
    let genesis = std::fs::read_to_string(fixtures.join("genesis.json")).expect("genesis");
    let options = ChainOptions {
        fsync: Fsync::None,
        state: StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() },
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
    let stream = node.stream(TraceRequest::from_json(text.as_bytes())?, &Caller::default(), None);
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next()? {
        bytes.extend(chunk);
    }
    Ok(serde_json::from_slice(&bytes).expect("answers are JSON"))
}
