//! Answers from the trace cache: the same bytes as live, plain and in gzip; and requests that the
//! cache does not answer.

use crate::{
    dev_chain::{send, sign, transfer},
    support::{config, fixtures},
};
use alloy_primitives::B256;
use flate2::{Crc, read::GzDecoder};
use hearth_bake::{AnswerBuilder, BakedTracer, BlockKey, DEFAULT_LEVEL, TraceDb, TraceDbOptions};
use hearth_chain::{Chain, ChainOptions};
use hearth_flatkv::{Fsync, StateSettings};
use hearth_metrics::Registry;
use hearth_node::{
    BakeConfig, Caller, Envelope, Mode, NamedTrace, Node, NodeError, TraceOf, TraceRequest, TraceSourceKind,
    jobs::{Job, JobControl},
};
use hearth_tracers::{ElementSink, Sink};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::{io::Read, path::Path, sync::Arc};

/// Blocks from Frontier to Cancun: full ones, the DAO fork, an empty one.
const BLOCKS: [&str; 6] = ["46147", "1920000", "4330482", "13287210", "19426587", "19910734"];

const TRACERS: [&str; 3] = ["callTracer", "prestateTracer", "flatCallTracer"];

const HEAD: &str = r#"{"jsonrpc":"2.0","id":1,"result":"#;

/// An answer: its bytes, what it was made from, and whether it came in gzip.
type Traced = Result<(Vec<u8>, Option<TraceSourceKind>, bool), NodeError>;

fn traced(node: &Arc<Node>, op: &str, args: &Value, over_bytes: Option<u64>) -> Traced {
    let text = json!({ "op": op, "args": args }).to_string();
    let envelope = |over_bytes| Envelope { head: HEAD.into(), tail: b"}".to_vec(), over_bytes };
    let stream =
        node.stream(TraceRequest::from_json(text.as_bytes())?, &Caller::default(), over_bytes.map(envelope));
    let mut bytes = Vec::new();
    while let Some(chunk) = stream.next()? {
        bytes.extend(chunk);
    }
    let Some(told) = stream.packed_bytes() else { return Ok((bytes, stream.origin(), false)) };
    assert_eq!(bytes.len() as u64, told);
    let mut raw = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut raw).expect("one gzip member");
    let inner = raw.strip_prefix(HEAD.as_bytes()).and_then(|rest| rest.strip_suffix(b"}"));
    Ok((inner.expect("the envelope is around it").to_vec(), stream.origin(), true))
}

/// The settings under which blocks are baked.
fn baking(change: impl FnOnce(&mut BakeConfig)) -> impl FnOnce(&mut BakeConfig) {
    move |bake| {
        bake.enabled = true;
        bake.tracers = TRACERS.map(str::to_owned).to_vec();
        change(bake);
    }
}

fn open(home: &Path, change: impl FnOnce(&mut BakeConfig)) -> Arc<Node> {
    let mut config = config(home, Mode::Start);
    baking(change)(&mut config.bake);
    Node::open(config).expect("opens")
}

/// Bakes the blocks of a home, as `hearth bake` does.
fn bake(home: &Path, change: impl FnOnce(&mut BakeConfig)) {
    let mut node = config(home, Mode::Start);
    baking(change)(&mut node.bake);
    let job = json!({
        "job": "bake", "home": home, "fsync": "none", "flatkv": node.flatkv, "littable": node.littable,
        "node": serde_json::to_string(&node).expect("JSON"), "range": {},
    });
    Job::from_json(&job.to_string()).expect("a job").run(&JobControl::default()).expect("bakes");
}

fn import(case: &Path) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let state = StateSettings { memory_budget_bytes: 64 << 20, ..StateSettings::default() };
    let options = ChainOptions { fsync: Fsync::None, state, ..ChainOptions::default() };
    let (chain, _) = Chain::import_case(home.path(), case, None, &options).expect("verifies");
    chain.close().expect("closes");
    home
}

/// CRC-32 of the answers to all [`BLOCKS`], one after the other. The trace cache of a home keeps
/// answers by the number of their tracer: where one of these changes, rows that were baked before
/// are wrong, and the tracer needs another number ([`BakedTracer`]), under which no row is found.
const ANSWERS: [(BakedTracer, u32); 7] = [
    (BakedTracer::Call, 0x31ca_f81b),
    (BakedTracer::Prestate, 0x3c22_9bf7),
    (BakedTracer::FlatCall, 0xabce_2c66),
    (BakedTracer::CallWithLog, 0x6b0f_3372),
    (BakedTracer::PrestateDiff, 0x0f93_779a),
    (BakedTracer::Parity, 0x4f1a_5275),
    (BakedTracer::ParityLocalized, 0xbe5c_0943),
];

#[test]
fn a_tracer_whose_answers_change_gets_another_number() {
    let Some(cases) = fixtures("mainnet-blocks") else { return };
    let mut answers = BakedTracer::ALL.map(|tracer| (tracer, Crc::new()));
    for name in BLOCKS {
        let home = import(&cases.join(format!("{name}.json.gz")));
        let node = open(home.path(), |bake| bake.enabled = false);
        for (tracer, crc) in &mut answers {
            let config: Value = serde_json::from_str(tracer.config_json()).expect("JSON");
            let args = json!({ "block": "latest", "config": config });
            let (answer, ..) = traced(&node, "traceBlockByNumber", &args, None).expect("live");
            crc.update(&answer);
        }
        node.close().expect("closes");
    }
    assert_eq!(answers.map(|(tracer, crc)| (tracer, crc.sum())), ANSWERS);
}

#[test]
fn baked_answers_are_the_live_ones_byte_by_byte() {
    let Some(cases) = fixtures("mainnet-blocks") else { return };
    let (mut empty, mut packed) = (0, 0);
    for name in BLOCKS {
        let home = import(&cases.join(format!("{name}.json.gz")));
        bake(home.path(), |_| {});
        let node = open(home.path(), |_| {});
        for tracer in TRACERS {
            let (config, live) =
                (json!({ "tracer": tracer }), json!({ "tracer": tracer, "tracerConfig": {} }));
            let args = |config: &Value| json!({ "block": "latest", "config": config });
            let (want, from, _) = traced(&node, "traceBlockByNumber", &args(&live), Some(0)).expect("live");
            assert_ne!(from, Some(TraceSourceKind::Baked), "{name} {tracer}: an empty tracerConfig is one");
            for over in [None, Some(0), None] {
                let (have, from, gzip) =
                    traced(&node, "traceBlockByNumber", &args(&config), over).expect("baked");
                // Shorter answers are not deflated, and gzip would make them longer.
                let packs = over.is_some() && want.len() >= 256;
                assert_eq!((from, gzip), (Some(TraceSourceKind::Baked), packs), "{name} {tracer}");
                assert!(have == want, "{name} {tracer}: the block's answer differs, {over:?}");
            }
            let elements: Vec<Value> = serde_json::from_slice(&want).expect("JSON");
            empty += usize::from(elements.is_empty() && want == b"[]");
            for element in &elements {
                let args = |config: &Value| json!({ "hash": element["txHash"], "config": config });
                let (want, ..) = traced(&node, "traceTransaction", &args(&live), None).expect("live");
                for over in [None, Some(0)] {
                    let (have, from, gzip) =
                        traced(&node, "traceTransaction", &args(&config), over).expect("baked");
                    assert_eq!(from, Some(TraceSourceKind::Baked), "{name} {tracer}");
                    assert!(have == want, "{name} {tracer} {}: differs, {over:?}", element["txHash"]);
                    assert_eq!(gzip, over.is_some() && want.len() >= hearth_bake::OWN_PIECE_BYTES);
                    packed += usize::from(gzip);
                }
            }
        }
        node.close().expect("closes");
    }
    assert_eq!(empty, TRACERS.len(), "one of the blocks is empty");
    assert!(packed > 0, "some results are large");
}

/// A dev chain of some blocks of one transaction, closed: its transactions.
fn dev_home(blocks: u64) -> (tempfile::TempDir, Vec<String>) {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let sent = (0..blocks).map(|nonce| send(&node, sign(transfer(nonce), 0)).expect("accepted")).collect();
    node.close().expect("closes");
    (home, sent)
}

fn asked(hash: &str) -> Value {
    json!({ "hash": hash, "config": { "tracer": "callTracer" } })
}

/// How often the cache answered so.
fn requests(node: &Arc<Node>, result: &str) -> u64 {
    let all: Value = serde_json::from_str(&node.metrics_snapshot()).expect("JSON");
    let family =
        all.as_array().expect("a list").iter().find(|family| family["name"] == "trace_cache_requests");
    let series = family.expect("it is declared")["series"].as_array().expect("a list").clone();
    let found = series.iter().find(|one| one["labels"].to_string().contains(&format!("\"{result}\"")));
    found.expect("it is there from the start")["value"].as_u64().expect("a count")
}

#[test]
fn a_stored_error_is_that_of_the_transaction_in_its_block() {
    let (home, sent) = dev_home(1);
    let node = open(home.path(), |_| {});
    let hash = node.chain().expect("open").head().hash;
    let chain_id = node.chain().expect("open").spec().chain_id();
    node.close().expect("closes");
    drop(node);
    {
        let dir = home.path().join("data/trace_db/rows");
        let db = TraceDb::open(&dir, &TraceDbOptions::default(), &Registry::new()).expect("opens");
        let mut builder = AnswerBuilder::new(1, DEFAULT_LEVEL);
        builder.begin(&sent[0].parse::<B256>().expect("a hash"));
        builder.fail("tracing failed: <gas> & \"more\"");
        builder.end();
        let key = BlockKey { chain_id, number: 1, hash };
        db.put(&key, BakedTracer::Call, &builder.finish().expect("small")).expect("puts");
    }
    let node = open(home.path(), |_| {});
    let error = traced(&node, "traceTransaction", &asked(&sent[0]), Some(0)).expect_err("it is an error");
    assert_eq!((error.kind(), error.to_string().as_str()), ("trace", "tracing failed: <gas> & \"more\""));
    let args = json!({ "hash": hash, "config": { "tracer": "callTracer" } });
    let (whole, from, _) = traced(&node, "traceBlockByHash", &args, None).expect("the rest is finished");
    let text = r#"tracing failed: \u003cgas\u003e \u0026 \"more\""#;
    let want = format!(r#"[{{"txHash":"{}","error":"{text}"}}]"#, sent[0]);
    assert_eq!((String::from_utf8(whole).expect("text"), from), (want, Some(TraceSourceKind::Baked)));
}

#[test]
fn hits_come_from_memory_the_second_time_and_misses_are_live() {
    let (home, sent) = dev_home(3);
    bake(home.path(), |bake| bake.tracers = vec!["callTracer".to_owned()]);
    let node = open(home.path(), |_| {});
    let origin = |args: &Value| traced(&node, "traceTransaction", args, None).expect("traces").1;
    for _ in 0..3 {
        assert_eq!(origin(&asked(&sent[1])), Some(TraceSourceKind::Baked));
    }
    assert_eq!(["hot", "stored", "miss", "damaged"].map(|result| requests(&node, result)), [2, 1, 0, 0]);
    // It was not baked under this one.
    let other = json!({ "hash": sent[1], "config": { "tracer": "prestateTracer" } });
    assert_ne!(origin(&other), Some(TraceSourceKind::Baked));
    assert_eq!(requests(&node, "miss"), 1);
    let unknown = traced(&node, "traceTransaction", &asked(&B256::repeat_byte(7).to_string()), None);
    assert!(matches!(unknown, Err(NodeError::TransactionNotFound)));
}

/// The ready answer to a request: its size, whether it is in gzip, and its bytes.
fn ready(
    node: &Arc<Node>,
    (of, named, tracer): (TraceOf, &str, &str),
    over_bytes: u64,
) -> Option<(usize, bool, Vec<u8>)> {
    let envelope = Envelope { head: HEAD.into(), tail: b"}".to_vec(), over_bytes };
    let config = json!({ "tracer": tracer }).to_string();
    let answer = node.ready(&NamedTrace { of, named, config: &config }, envelope)?;
    let all = answer.slices().flatten().copied().collect::<Vec<_>>();
    for from in [0, 1, HEAD.len(), all.len() / 2, all.len()] {
        let mut rest = vec![0; all.len() - from];
        assert_eq!(answer.copy(from, &mut rest), rest.len());
        assert_eq!(rest, all[from..], "from byte {from} on");
    }
    let mut short = [0; 7];
    assert_eq!((answer.copy(3, &mut short), &short[..]), (7, &all[3..10]));
    Some((answer.ready.bytes, answer.ready.packed, all))
}

#[test]
fn what_is_ready_is_what_would_come() {
    let (home, sent) = dev_home(3);
    bake(home.path(), |_| {});
    for hot_bytes in [0, 64 << 20] {
        let node = open(home.path(), |bake| bake.hot_bytes = hot_bytes);
        let hash = node.chain().expect("open").reader().canonical_hash(2).expect("reads").expect("there");
        for tracer in TRACERS {
            let config = json!({ "tracer": tracer });
            for (of, op, args, named) in [
                (
                    TraceOf::BlockByNumber,
                    "traceBlockByNumber",
                    json!({ "block": "0x2", "config": config }),
                    "0x2",
                ),
                (
                    TraceOf::BlockByHash,
                    "traceBlockByHash",
                    json!({ "hash": hash, "config": config }),
                    &*hash.to_string(),
                ),
                (
                    TraceOf::Transaction,
                    "traceTransaction",
                    json!({ "hash": sent[1], "config": config }),
                    &*sent[1],
                ),
            ] {
                let wanted = (of, named, tracer);
                // Where it lies is looked up by the first request of the other way.
                let (want, ..) = traced(&node, op, &args, None).expect("baked");
                let want = [HEAD.as_bytes(), &want, b"}"].concat();
                let plain = ready(&node, wanted, u64::MAX).expect("it is ready");
                assert_eq!(plain, (want.len(), false, want.clone()), "{op} {tracer}");
                assert_eq!(ready(&node, wanted, want.len() as u64), Some(plain));
                // A small result of one transaction has no piece of its own.
                let (bytes, packed, member) =
                    ready(&node, wanted, want.len() as u64 - 1).expect("it is ready");
                assert_eq!((bytes, packed), (member.len(), of != TraceOf::Transaction), "{op} {tracer}");
                if packed {
                    let mut raw = Vec::new();
                    GzDecoder::new(&member[..]).read_to_end(&mut raw).expect("one gzip member");
                    assert!(raw == want, "{op} {tracer}");
                }
            }
        }
        let before = ["hot", "stored", "miss", "damaged"].map(|result| requests(&node, result));
        assert!((before[0] > 0) == (hot_bytes > 0) && before[1] > 0, "{before:?}");
        assert_eq!(before[2..], [0, 0]);
        // Unknown blocks cannot be located.
        for named in ["0x3", "0x99"] {
            assert_eq!(ready(&node, (TraceOf::BlockByNumber, named, "callTracer"), u64::MAX), None);
        }
        assert!(ready(&node, (TraceOf::BlockByNumber, "latest", "callTracer"), u64::MAX).is_some());
        node.close().expect("closes");
        assert_eq!(ready(&node, (TraceOf::BlockByNumber, "latest", "callTracer"), u64::MAX), None);
    }
}

/// A home of two baked blocks, of one of which the row is damaged: the transactions.
fn damaged_home(height: u64) -> (tempfile::TempDir, Vec<String>) {
    let (home, sent) = dev_home(2);
    bake(home.path(), |bake| bake.tracers = vec!["callTracer".to_owned()]);
    let dir = home.path().join("data/trace_db/rows/traces");
    let files = std::fs::read_dir(&dir).expect("there").map(|file| file.expect("reads").path());
    let segment = files.max_by_key(|file| file.metadata().expect("there").len()).expect("there");
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let hash = node.chain().expect("open").reader().canonical_hash(height).expect("reads").expect("there");
    node.close().expect("closes");
    drop(node);
    let mut bytes = std::fs::read(&segment).expect("reads");
    // The row's key ends with the block's hash; the value comes soon after it.
    let at = bytes.windows(32).position(|window| window == hash.as_slice()).expect("the row is there");
    bytes[at + 32 + 100] ^= 1;
    std::fs::write(&segment, bytes).expect("writes");
    (home, sent)
}

#[test]
fn a_damaged_row_is_served_live_and_counted() {
    let (home, sent) = damaged_home(1);
    let node = open(home.path(), |_| {});
    let live = json!({ "hash": sent[0], "config": { "tracer": "callTracer", "tracerConfig": null } });
    let (want, ..) = traced(&node, "traceTransaction", &live, None).expect("live");
    let (have, from, _) = traced(&node, "traceTransaction", &asked(&sent[0]), None).expect("live");
    assert!(from != Some(TraceSourceKind::Baked) && have == want);
    assert_eq!(requests(&node, "damaged"), 1);
    let (_, from, _) = traced(&node, "traceTransaction", &asked(&sent[1]), None).expect("baked");
    assert_eq!(from, Some(TraceSourceKind::Baked), "the other rows serve");
}

#[test]
fn a_damaged_row_is_counted_once_by_its_reader() {
    let (home, _) = damaged_home(2);
    let node = open(home.path(), |_| {});
    let counted = || ["hot", "stored", "miss", "damaged"].map(|result| requests(&node, result));
    let latest = (TraceOf::BlockByNumber, "latest", "callTracer");
    for _ in 0..2 {
        assert_eq!(ready(&node, latest, u64::MAX), None);
        assert_eq!(counted(), [0, 0, 0, 0]);
    }
    let args = json!({ "block": "latest", "config": { "tracer": "callTracer" } });
    let (_, from, _) = traced(&node, "traceBlockByNumber", &args, None).expect("live");
    assert_ne!(from, Some(TraceSourceKind::Baked));
    assert_eq!(counted(), [0, 0, 0, 1]);
}

#[test]
fn the_window_is_served_and_nothing_below() {
    let (home, sent) = dev_home(6);
    bake(home.path(), |_| {});
    let node = open(home.path(), |bake| bake.window_blocks = NonZeroU64::new(2));
    let from = |hash: &String| traced(&node, "traceTransaction", &asked(hash), None).expect("traces").1;
    // Block 6 is the latest: 4 is the lowest that is within 2 of it.
    let baked: Vec<bool> = sent.iter().map(|hash| from(hash) == Some(TraceSourceKind::Baked)).collect();
    assert_eq!(baked, [false, false, false, true, true, true]);
}

#[test]
fn options_are_served_where_the_setting_has_them_baked() {
    let (home, sent) = dev_home(1);
    bake(home.path(), |bake| bake.canonical_configs = true);
    let args = |config: Value| json!({ "hash": sent[0], "config": config });
    let configs = [
        json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } }),
        json!({ "tracer": "callTracer", "tracerConfig": { "onlyTopCall": false } }),
        json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } }),
    ];
    let mut live = Vec::new();
    for enabled in [false, true] {
        let node = open(home.path(), |bake| bake.canonical_configs = enabled);
        for (index, config) in configs.iter().enumerate() {
            let (bytes, from, _) =
                traced(&node, "traceTransaction", &args(config.clone()), None).expect("traces");
            assert_eq!(from == Some(TraceSourceKind::Baked), enabled, "{config}");
            if enabled {
                assert!(bytes == live[index], "{config}");
            } else {
                live.push(bytes);
            }
        }
        let top = json!({ "tracer": "callTracer", "tracerConfig": { "onlyTopCall": true } });
        let (_, from, _) = traced(&node, "traceTransaction", &args(top), None).expect("traces");
        assert_ne!(from, Some(TraceSourceKind::Baked));
        node.close().expect("closes");
    }
}

#[test]
fn large_answers_are_read_as_they_are_asked_for() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let sent = send(&node, sign(transfer(0), 0)).expect("accepted");
    let (hash, chain_id) = {
        let chain = node.chain().expect("open");
        (chain.head().hash, chain.spec().chain_id())
    };
    node.close().expect("closes");
    drop(node);
    // Far over what a stream holds: 12 MB, one result.
    let result: Vec<u8> =
        (0..1_500_000_u64).flat_map(|n| format!("{:08x}", n.wrapping_mul(0x9e37)).into_bytes()).collect();
    let result = [&b"\""[..], &result, b"\""].concat();
    {
        let dir = home.path().join("data/trace_db/rows");
        let db = TraceDb::open(&dir, &TraceDbOptions::default(), &Registry::new()).expect("opens");
        let mut builder = AnswerBuilder::new(1, DEFAULT_LEVEL);
        builder.begin(&sent.parse::<B256>().expect("a hash"));
        result.chunks(64 << 10).for_each(|chunk| builder.write(chunk).expect("there is room"));
        builder.end();
        let answer = builder.finish().expect("small enough");
        db.put(&BlockKey { chain_id, number: 1, hash }, BakedTracer::Call, &answer).expect("puts");
    }
    for hot_bytes in [0, 64 << 20] {
        let node = open(home.path(), |bake| bake.hot_bytes = hot_bytes);
        for over in [None, Some(1000), None, Some(u64::MAX)] {
            let (have, from, gzip) = traced(&node, "traceTransaction", &asked(&sent), over).expect("reads");
            assert!(have == result, "{over:?}");
            assert_eq!((from, gzip), (Some(TraceSourceKind::Baked), over == Some(1000)));
        }
        // A reader that goes leaves nothing behind that keeps the home.
        let text = json!({ "op": "traceTransaction", "args": asked(&sent) }).to_string();
        let stream =
            node.stream(TraceRequest::from_json(text.as_bytes()).expect("reads"), &Caller::default(), None);
        assert!(stream.next().expect("begins").is_some());
        node.close().expect("closes");
    }
}
