//! Steps in pieces against whole struct logs and callTracer: pages joined are the struct logs byte
//! for byte, the index has callTracer's frames, and a search is a filter over all steps.

use crate::answers::{files, fixtures, full, quick, read_json};
use crate::cases::{MainnetCase, TraceTest, quantity};
use crate::world::World;
use hearth_evm::ChainSpec;
use hearth_tracers::{BlockReplay, Limits, StepsPlan, TraceConfig, TraceError, TracePlan, trace_transaction};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Traces one transaction under a plan.
type Run<'a> = &'a dyn Fn(&TracePlan) -> Result<Vec<u8>, TraceError>;

/// Blocks above this gas are left out where not everything is wanted.
const MAX_GAS: u64 = 3_000_000;

/// Steps above which pages are as long as they may be.
const SHORT_STEPS: usize = 2_000;

fn plan(config: &str) -> TracePlan {
    TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap()
}

fn answer(run: Run<'_>, plan: Result<StepsPlan, hearth_tracers::StepsError>) -> Value {
    serde_json::from_slice(&run(&plan.unwrap().traced(Some("300s")).unwrap()).unwrap()).unwrap()
}

fn page(run: Run<'_>, options: &Value) -> (Vec<String>, Option<u64>) {
    #[derive(serde::Deserialize)]
    struct Page {
        steps: Vec<Box<RawValue>>,
        next: Option<u64>,
    }
    let plan = StepsPlan::range(&options.to_string()).unwrap().traced(Some("300s")).unwrap();
    let text = run(&plan).unwrap();
    let Page { steps, next } =
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&text)));
    (steps.into_iter().map(|step| step.get().to_owned()).collect(), next)
}

/// The text of each struct log.
fn struct_logs(run: Run<'_>, config: &str) -> (Vec<String>, Value) {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Logs {
        struct_logs: Vec<Box<RawValue>>,
        gas: Value,
        failed: Value,
    }
    let plan = TracePlan { timeout: std::time::Duration::from_secs(300), ..plan(config) };
    let text = run(&plan).unwrap();
    let logs: Logs = serde_json::from_slice(&text).unwrap();
    let steps = logs.struct_logs.into_iter().map(|step| step.get().to_owned()).collect();
    (steps, json!([logs.gas, logs.failed]))
}

/// A step of a page without its place, and the place.
fn split(step: &str) -> (String, u64, usize) {
    let rest = step.strip_prefix("{\"index\":").unwrap_or_else(|| panic!("{step}"));
    let (index, rest) = rest.split_once(",\"frame\":").unwrap();
    let (frame, rest) = rest.split_once(',').unwrap();
    (format!("{{{rest}"), index.parse().unwrap(), frame.parse().unwrap())
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// A frame as callTracer has it.
#[derive(Debug)]
struct Frame {
    kind: String,
    parent: Option<usize>,
    depth: u64,
    /// Whose storage is worked on, and whose code runs; `None` where that is unknown.
    accounts: Option<(String, String)>,
    failed: bool,
    gas_used: u64,
}

/// The frames in the order in which callTracer lists them.
fn frames(top: &Value) -> Vec<Frame> {
    let mut found = Vec::new();
    let mut waiting = vec![(top, None, 0)];
    while let Some((call, parent, depth)) = waiting.pop() {
        let text = |name: &str| call[name].as_str().map(str::to_owned);
        let kind = text("type").unwrap();
        let accounts = text("to").map(|to| match kind.as_str() {
            "DELEGATECALL" | "CALLCODE" => (text("from").unwrap(), to),
            _ => (to.clone(), to),
        });
        let number = found.len();
        let gas_used = quantity(&call["gasUsed"]).to();
        let failed = !call["error"].is_null();
        found.push(Frame { kind, parent, depth, accounts, failed, gas_used });
        for below in call["calls"].as_array().into_iter().flatten().rev() {
            waiting.push((below, Some(number), depth + 1));
        }
    }
    found
}

/// Every step with what a search may name.
struct All {
    steps: Vec<Value>,
    frame: Vec<usize>,
    /// Whether the step is the last one of its frame.
    last: Vec<bool>,
    frames: Vec<Frame>,
}

impl All {
    fn is_error(&self, at: usize) -> bool {
        let op = self.steps[at]["op"].as_str().unwrap();
        let ended_well = matches!(op, "STOP" | "RETURN" | "SELFDESTRUCT");
        op == "REVERT" || (self.last[at] && self.frames[self.frame[at]].failed && !ended_well)
    }

    fn item(&self, at: usize, from_top: usize) -> Option<&str> {
        let stack = self.steps[at]["stack"].as_array()?;
        stack.get(stack.len().checked_sub(from_top + 1)?)?.as_str()
    }

    fn slot(&self, at: usize) -> Option<&str> {
        let takes = matches!(self.steps[at]["op"].as_str()?, "SLOAD" | "SSTORE" | "TLOAD" | "TSTORE");
        takes.then(|| self.item(at, 0)).flatten()
    }

    fn topics(&self, at: usize) -> Vec<&str> {
        let op = self.steps[at]["op"].as_str().unwrap();
        let count = op.strip_prefix("LOG").and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        (2..2 + count).filter_map(|place| self.item(at, place)).collect()
    }

    fn holds(&self, at: usize, what: &Value) -> bool {
        let (step, frame) = (&self.steps[at], self.frame[at]);
        what.as_object().unwrap().iter().all(|(name, want)| match name.as_str() {
            "op" => step["op"] == *want || want.as_array().is_some_and(|any| any.contains(&step["op"])),
            "pc" => step["pc"] == *want,
            "depth" => step["depth"] == *want,
            "frame" => json!(frame) == *want,
            "gasCostAtLeast" => step["gasCost"].as_u64().unwrap() >= want.as_u64().unwrap(),
            "error" => json!(self.is_error(at)) == *want,
            "slot" => self.slot(at).is_some_and(|slot| want == slot),
            "topic" => self.topics(at).iter().any(|topic| want == topic),
            "address" => self.frames[frame].accounts.as_ref().is_some_and(|(a, b)| want == a || want == b),
            other => panic!("{other}"),
        })
    }

    /// Something to search for that a step at random has.
    fn criteria(&self, random: &mut Random) -> Value {
        let at = random.below(self.steps.len());
        let (step, frame) = (&self.steps[at], self.frame[at]);
        let mut what = serde_json::Map::new();
        for _ in 0..1 + random.below(3) {
            let (name, value) = match random.below(10) {
                0 => ("op", step["op"].clone()),
                1 => ("op", json!([step["op"], "SSTORE"])),
                2 => ("pc", step["pc"].clone()),
                3 => ("depth", step["depth"].clone()),
                4 => ("frame", json!(frame)),
                5 => ("gasCostAtLeast", json!(step["gasCost"].as_u64().unwrap().max(4))),
                6 => ("error", json!(random.below(2) == 0)),
                7 => match (0..self.steps.len()).rev().find_map(|at| self.slot(at)) {
                    Some(slot) => ("slot", json!(slot)),
                    None => continue,
                },
                8 => match (0..self.steps.len()).find_map(|at| self.topics(at).first().copied()) {
                    Some(topic) => ("topic", json!(topic)),
                    None => continue,
                },
                _ => match &self.frames[frame].accounts {
                    Some((storage, code)) => {
                        ("address", json!(if random.below(2) == 0 { storage } else { code }))
                    }
                    None => continue,
                },
            };
            what.insert(name.to_owned(), value);
        }
        if what.is_empty() {
            what.insert("pc".to_owned(), step["pc"].clone());
        }
        Value::Object(what)
    }
}

/// Searches of each transaction of a tracer test.
const SEEDS: usize = 6;

/// Pages of a search that are followed.
const SEARCH_PAGES: usize = 8;

fn check_search(run: Run<'_>, all: &All, random: &mut Random) {
    let what = all.criteria(random);
    let backwards = random.below(2) == 0;
    let count = 1 + random.below(9);
    let mut from = (random.below(3) > 0).then(|| random.below(all.steps.len() + 2) as u64);
    let last = all.steps.len() - 1;
    let wanted: Vec<usize> = if backwards {
        let first = from.map_or(last, |from| (from as usize).min(last));
        (0..=first).rev().filter(|at| all.holds(*at, &what)).collect()
    } else {
        (from.unwrap_or(0) as usize..all.steps.len()).filter(|at| all.holds(*at, &what)).collect()
    };
    let mut found = Vec::new();
    for turn in 0..SEARCH_PAGES {
        let mut options = json!({ "where": what, "count": count, "backwards": backwards });
        if let Some(from) = from {
            options["from"] = json!(from);
        }
        let answer = answer(run, StepsPlan::search(&options.to_string()));
        let hits = answer["hits"].as_array().unwrap();
        assert!(hits.len() <= count);
        for hit in hits {
            let at = hit["index"].as_u64().unwrap() as usize;
            assert_eq!((&hit["pc"], &hit["op"]), (&all.steps[at]["pc"], &all.steps[at]["op"]));
            assert_eq!(hit["frame"], json!(all.frame[at]));
            found.push(at);
        }
        from = answer["next"].as_u64();
        if from.is_none() {
            assert_eq!(found, wanted, "{what} backwards {backwards}");
            return;
        }
        assert_eq!(hits.len(), count, "page {turn} of {what}");
    }
    assert_eq!(found, wanted[..found.len()], "{what} backwards {backwards}");
}

/// Checks all methods over one transaction; gives the number of its steps.
fn check(run: Run<'_>, random: &mut Random, seeds: usize) -> usize {
    let (whole, end) = struct_logs(run, "{}");
    let calls: Value = serde_json::from_slice(&run(&plan(r#"{"tracer":"callTracer"}"#)).unwrap()).unwrap();
    let frames = frames(&calls);
    // Pages joined.
    let (mut places, mut from) = (Vec::new(), 0);
    while from < whole.len() {
        let length = if whole.len() > SHORT_STEPS { 1_000 } else { 1 + random.below(1_000) };
        let (steps, next) = page(run, &json!({ "from": from, "to": from + length }));
        assert!(next.is_none() && !steps.is_empty());
        for step in &steps {
            let (step, index, frame) = split(step);
            assert_eq!(index as usize, places.len());
            assert_eq!(step, whole[places.len()], "step {index}");
            places.push(frame);
        }
        from += steps.len();
    }
    assert_eq!(places.len(), whole.len());
    assert_eq!(page(run, &json!({ "from": from, "to": from + 1 })), (vec![], None));
    // The index.
    let index = answer(run, Ok(StepsPlan::Index));
    assert_eq!(json!([index["gasUsed"], index["failed"]]), end);
    assert_eq!(index["steps"], whole.len());
    let rows = index["frames"].as_array().unwrap();
    assert_eq!(rows.len(), frames.len(), "{:?}", frames.iter().map(|f| &f.kind).collect::<Vec<_>>());
    let mut own: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    places.iter().enumerate().for_each(|(at, frame)| own.entry(*frame).or_default().push(at));
    for (number, (row, frame)) in rows.iter().zip(&frames).enumerate() {
        let want = own.get(&number).map_or(Value::Null, |steps| {
            json!([steps[0], steps[steps.len() - 1], steps.len(), frame.parent, frame.depth])
        });
        assert_eq!(*row, want, "frame {number}: {frame:?}");
    }
    if whole.is_empty() {
        return 0;
    }
    let steps: Vec<Value> = whole.iter().map(|step| serde_json::from_str(step).unwrap()).collect();
    let every = index["every"].as_u64().unwrap() as usize;
    let marks: Vec<Value> = (0..steps.len())
        .step_by(every)
        .map(|at| json!([places[at], steps[at]["pc"], steps[at]["gas"]]))
        .collect();
    assert_eq!(index["marks"], json!(marks));
    check_frame_pages(run, &own, &places, random);
    check_profile(run, &frames, &own, whole.len());
    let last = (0..places.len()).map(|at| own[&places[at]].last() == Some(&at)).collect();
    let all = All { steps, frame: places, last, frames };
    for _ in 0..seeds {
        check_search(run, &all, random);
    }
    whole.len()
}

/// Steps of one frame: its own, and all between its first and its last.
fn check_frame_pages(run: Run<'_>, own: &BTreeMap<usize, Vec<usize>>, places: &[usize], random: &mut Random) {
    let (frame, steps) = own.iter().nth(random.below(own.len())).unwrap();
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    let from = random.below(steps.len());
    let indexes = |options: Value| -> Vec<usize> {
        page(run, &options).0.iter().map(|step| split(step).1 as usize).collect()
    };
    let got = indexes(json!({ "from": from, "to": from + 100, "frame": frame, "own": true }));
    assert_eq!(got, steps[from..(from + 100).min(steps.len())]);
    let from = random.below(last - first + 1);
    let got = indexes(json!({ "from": from, "to": from + 100, "frame": frame }));
    let want: Vec<usize> = (first + from..=last.min(first + from + 99)).collect();
    assert_eq!(got, want, "frame {frame} of {places:?}");
}

/// Gas by frame is callTracer's; the sums by place and by opcode are the same.
fn check_profile(run: Run<'_>, frames: &[Frame], own: &BTreeMap<usize, Vec<usize>>, steps: usize) {
    let by = |by: &str| answer(run, StepsPlan::profile(&json!({ "by": by }).to_string(), false));
    let (of_pc, of_opcode, of_frame) = (by("pc"), by("opcode"), by("frame"));
    for profile in [&of_pc, &of_opcode, &of_frame] {
        assert_eq!(profile["steps"], steps);
        assert_eq!(profile["stepsGas"], of_pc["stepsGas"]);
        assert_eq!(profile["executionGas"], of_pc["executionGas"]);
    }
    let number = |value: &Value| value.as_u64().unwrap();
    let mut opcodes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in of_pc["rows"].as_array().unwrap() {
        let sum = opcodes.entry(row[2].as_str().unwrap().to_owned()).or_default();
        (sum.0, sum.1) = (sum.0 + number(&row[3]), sum.1 + number(&row[4]));
    }
    let rows: BTreeMap<String, (u64, u64)> = (of_opcode["rows"].as_array().unwrap().iter())
        .map(|row| (row[0].as_str().unwrap().to_owned(), (number(&row[1]), number(&row[2]))))
        .collect();
    assert_eq!(opcodes, rows);
    assert_eq!(rows.values().map(|(_, gas)| gas).sum::<u64>(), number(&of_pc["stepsGas"]));
    let rows = of_frame["rows"].as_array().unwrap();
    assert_eq!(rows.len(), frames.len());
    let mut without_steps = 0;
    for (place, (row, frame)) in rows.iter().zip(frames).enumerate() {
        assert_eq!(number(&row[0]) as usize, own.get(&place).map_or(0, Vec::len));
        if place > 0 {
            assert_eq!(number(&row[2]), frame.gas_used, "frame {place}: {frame:?}");
        }
        if row[0] == 0 {
            without_steps += number(&row[1]);
        }
    }
    let sum: u64 = rows.iter().map(|row| number(&row[1])).sum();
    assert_eq!(sum, number(&of_frame["executionGas"]));
    // Deposits of code are gas of a frame, but of no step.
    if !frames.iter().any(|frame| frame.kind.starts_with("CREATE")) {
        assert_eq!(number(&of_frame["stepsGas"]) + without_steps, sum);
    }
}

#[test]
fn pages_index_and_searches_are_those_of_whole_traces() {
    let Some(dir) = fixtures() else { return };
    let mut random = Random(1);
    let (mut transactions, mut steps) = (0, 0);
    for folder in [
        "call_tracer",
        "call_tracer_withLog",
        "call_tracer_flat",
        "prestate_tracer",
        "prestate_tracer_with_diff_mode",
    ] {
        for file in files(&dir.join("tracetest").join(folder), ".json") {
            let case = TraceTest::parse(&read_json(&file));
            let run = |plan: &TracePlan| {
                let mut out = Vec::new();
                trace_transaction(&mut case.replay(), 0, plan, &Limits::default(), &mut out).map(|_| out)
            };
            steps += check(&run, &mut random, SEEDS);
            transactions += 1;
        }
    }
    assert!(transactions * SEEDS >= 200 && steps > 20_000, "{transactions} transactions, {steps} steps");
}

#[test]
fn recorded_blocks_in_pages() {
    let Some(dir) = fixtures() else { return };
    let spec = ChainSpec::mainnet();
    let mut random = Random(2);
    let mut checked = 0;
    for file in files(&dir.join("mainnet-blocks"), ".json.gz") {
        let json = read_json(&file);
        let gas = quantity(&json["block"]["gasUsed"]).to::<u64>();
        if gas > MAX_GAS && !full() {
            continue;
        }
        let case = MainnetCase::parse(&json);
        for index in 0..case.block.body.transactions.len() {
            // A few of each block: every page executes all that is before it.
            if random.below(case.block.body.transactions.len()) >= 3 {
                continue;
            }
            let run = |plan: &TracePlan| {
                let mut replay = BlockReplay::new(&spec, &case.block, None, &case.state, &case.state)?;
                let mut out = Vec::new();
                trace_transaction(&mut replay, index, plan, &Limits::default(), &mut out).map(|_| out)
            };
            check(&run, &mut random, 2);
            checked += 1;
        }
        if quick() && checked > 5 {
            break;
        }
    }
    assert!(checked > 0);
}

/// JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: runs until its gas is over.
const LOOP: [u8; 7] = [0x5b, 0x60, 7, 0x50, 0x60, 0, 0x56];

fn run_world(world: &World, plan: &TracePlan) -> Result<Vec<u8>, TraceError> {
    let mut out = Vec::new();
    trace_transaction(&mut world.replay(), 0, plan, &Limits::default(), &mut out).map(|_| out)
}

#[test]
fn a_page_halts_where_it_ends() {
    // Days of steps.
    let world = World::london().contract(0x71, 1, 0, &LOOP).call(0x71, 1_000_000_000_000, &[]);
    let run = |plan: &TracePlan| run_world(&world, plan);
    let (steps, next) = page(&run, &json!({ "from": 1_003, "to": 1_005, "fields": [] }));
    assert_eq!(next, None);
    assert_eq!(
        steps,
        [
            r#"{"index":1003,"frame":0,"pc":4,"op":"PUSH1","gas":999999975594,"depth":1,"gasCost":3}"#,
            r#"{"index":1004,"frame":0,"pc":6,"op":"JUMP","gas":999999975591,"depth":1,"gasCost":8}"#,
        ]
    );
    let hits = answer(&run, StepsPlan::search(r#"{"where":{"op":"JUMP"},"from":1000,"count":2}"#));
    assert_eq!(
        hits,
        json!({ "hits": [{ "index": 1_004, "pc": 6, "op": "JUMP", "frame": 0 }, { "index": 1_009, "pc": 6, "op": "JUMP", "frame": 0 }],
            "next": 1_010 })
    );
    let back = StepsPlan::search(r#"{"where":{"op":"JUMP"},"from":1000,"count":2,"backwards":true}"#);
    assert_eq!(
        answer(&run, back),
        json!({ "hits": [{ "index": 999, "pc": 6, "op": "JUMP", "frame": 0 }, { "index": 994, "pc": 6, "op": "JUMP", "frame": 0 }],
            "next": 993 })
    );
    let soon = StepsPlan::Index.traced(Some("50ms")).unwrap();
    assert!(matches!(run(&soon), Err(TraceError::ExecutionTimeout)));
}

#[test]
fn a_page_shows_the_top_of_the_stack_and_a_window_of_memory() {
    // MSTORE(0x40, 0x1234), MSTORE8(0, 7), then three more items.
    let code = [0x61, 0x12, 0x34, 0x60, 0x40, 0x52, 0x60, 7, 0x60, 0, 0x53, 0x60, 1, 0x60, 2, 0x60, 3, 0x00];
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 100_000, &[]);
    let run = |plan: &TracePlan| run_world(&world, plan);
    let shown = |options: Value| -> Value { serde_json::from_str(&page(&run, &options).0[0]).unwrap() };
    let word = |n: u64| format!("0x{n:064x}");
    let step = shown(json!({ "from": 9, "to": 10, "stackTop": 2, "memory": { "offset": 70, "length": 4 } }));
    assert_eq!(
        step,
        json!({ "index": 9, "frame": 0, "pc": 17, "op": "STOP", "gas": 78_964, "gasCost": 0, "depth": 1,
            "stack": ["0x2", "0x3"], "stackSize": 3, "memory": [word(0x1234)], "memorySize": 96 })
    );
    // All of it is what struct logs have.
    let (whole, _) = struct_logs(&run, r#"{"enableMemory":true}"#);
    let mut step = shown(json!({ "from": 9, "to": 10, "memory": { "offset": 0, "length": 65_536 } }));
    for name in ["index", "frame", "memorySize"] {
        step.as_object_mut().unwrap().remove(name).unwrap();
    }
    assert_eq!(step, serde_json::from_str::<Value>(&whole[9]).unwrap());
    let beyond = shown(json!({ "from": 9, "to": 10, "memory": { "offset": 96, "length": 32 } }));
    assert_eq!((&beyond["memory"], &beyond["memorySize"]), (&Value::Null, &json!(96)));
    let early = shown(json!({ "from": 0, "to": 1, "memory": { "offset": u64::MAX, "length": 32 } }));
    assert_eq!(early["memorySize"], 0);
}

#[test]
fn a_page_is_cut_after_some_megabytes() {
    // 1,000 items of 32 bytes, then steps that each show them.
    let mut code = Vec::new();
    for _ in 0..1_000 {
        code.push(0x7f);
        code.extend([0xff; 32]);
    }
    for _ in 0..200 {
        code.extend([0x5b; 1]);
    }
    code.push(0);
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 1_000_000, &[]);
    let run = |plan: &TracePlan| run_world(&world, plan);
    let (whole, _) = struct_logs(&run, "{}");
    let (mut from, mut joined, mut pages) = (1_000, Vec::new(), 0);
    loop {
        let (steps, next) = page(&run, &json!({ "from": from, "to": 1_201 }));
        let bytes: usize = steps.iter().map(String::len).sum();
        assert!(bytes <= (4 << 20) + (128 << 10), "{bytes}");
        joined.extend(steps.iter().map(|step| split(step).0));
        pages += 1;
        match next {
            Some(next) => {
                assert!(bytes >= 4 << 20);
                from = next;
            }
            None => break,
        }
    }
    assert_eq!(joined, whole[1_000..]);
    assert!(pages >= 3, "{pages}");
}

#[test]
fn frames_and_marks_are_bounded() {
    // Calls an account without code 70,000 times: DUP1.. is kept simple by a counter on the stack.
    // PUSH3 70000; JUMPDEST; PUSH1 0 x5; PUSH1 0x99; GAS; CALL; POP; PUSH1 1; SWAP1; SUB; DUP1;
    // PUSH1 4; JUMPI; STOP
    let code = [
        0x62, 0x01, 0x11, 0x70, 0x5b, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0x99, 0x5a, 0xf1,
        0x50, 0x60, 1, 0x90, 0x03, 0x80, 0x60, 4, 0x57, 0x00,
    ];
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 100_000_000, &[]);
    let run = |plan: &TracePlan| run_world(&world, plan);
    let index = answer(&run, Ok(StepsPlan::Index));
    assert_eq!(index["steps"], 1 + 70_000 * 16 + 1);
    assert_eq!(index["frames"].as_array().unwrap().len(), 65_536);
    assert_eq!(index["framesOmitted"], 70_001 - 65_536);
    assert_eq!(index["every"], 128);
    assert_eq!(index["marks"].as_array().unwrap().len(), (1 + 70_000 * 16 + 1usize).div_ceil(128));
    let by_frame = answer(&run, StepsPlan::profile(r#"{"by":"frame"}"#, false));
    assert_eq!(by_frame["rows"].as_array().unwrap().len(), 65_536);
    assert_eq!(by_frame["framesOmitted"], 70_001 - 65_536);
}

#[test]
fn stacks_of_functions_follow_their_marks() {
    // 0: PUSH1 7; PUSH1 16; JUMP -> f; 5: (never) 7: JUMPDEST; PUSH1 13; PUSH1 16; JUMP -> f; 13:
    // JUMPDEST STOP 16: JUMPDEST; PUSH1 1; POP; JUMP (back)
    let code = [
        0x60, 7, 0x60, 16, 0x56, 0x00, 0x00, 0x5b, 0x60, 13, 0x60, 16, 0x56, 0x5b, 0x00, 0x00, 0x5b, 0x60, 1,
        0x50, 0x56,
    ];
    let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 100_000, &[]);
    let run = |plan: &TracePlan| run_world(&world, plan);
    let hash = alloy_primitives::keccak256(code);
    let options = json!({ "by": "opcode", "marks": [{ "hash": hash, "in": [4, 12], "out": [20] }] });
    let profile = answer(&run, StepsPlan::profile(&options.to_string(), false));
    assert_eq!(profile["codes"][0]["hash"], json!(hash));
    assert_eq!(profile["codes"][0]["addresses"], json!(["0x0000000000000000000000000000000000000071"]));
    // The code itself: two times PUSH1 PUSH1 JUMP, two JUMPDEST, STOP; f: twice JUMPDEST PUSH1 POP
    // JUMP.
    assert_eq!(profile["stacks"], json!([[null, 0, 0, 9, 30], [0, 0, 16, 8, 28]]));
    assert_eq!(profile["stepsGas"], 58);
}
