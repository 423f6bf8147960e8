//! Requests to a node through its home.

use crate::support::config;
use hearth_chain::{Chain, ChainOptions};
use hearth_dev_chain::dev_genesis_json;
use hearth_node::{
    Mode, Node,
    jobs::{Job, JobControl, JobError, JobOutput},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Longest time for an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    Node::init(home.path(), &dev_genesis_json(30_000_000)).expect("a new home");
    home
}

/// Runs a job on a home.
fn run(home: &Path, work: Value) -> Result<Value, Box<JobError>> {
    let config = config(home, Mode::Start);
    let mut job = json!({
        "home": home, "fsync": "none", "flatkv": config.flatkv, "littable": config.littable,
    });
    job.as_object_mut().expect("an object").extend(work.as_object().expect("an object").clone());
    let done = Job::from_json(&job.to_string()).and_then(|job| job.run(&JobControl::default()));
    match done.map_err(Box::new)? {
        JobOutput::Db(report) | JobOutput::NodeReport(report) => Ok(report),
        other => panic!("{other:?}"),
    }
}

/// Puts a request there as it is, and gives the answer once it is final.
fn answer(home: &Path, name: &str, put: impl FnOnce(&Path)) -> Value {
    let folder = home.join("data/requests");
    put(&folder.join(format!("{name}.json")));
    let began = Instant::now();
    loop {
        let text = fs::read(folder.join(format!("{name}.progress"))).unwrap_or_default();
        if let Ok(answer) = serde_json::from_slice::<Value>(&text)
            && !answer["outcome"].is_null()
        {
            return answer;
        }
        assert!(began.elapsed() < ANSWER_MAX, "no answer to {name}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_running_node_takes_a_snapshot() {
    let home = home();
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let taken = run(home.path(), json!({ "job": "db", "task": "snapshot" })).expect("is taken");
    assert_eq!(taken["height"], 0);
    assert!(Path::new(taken["dir"].as_str().expect("a folder")).is_dir());
    let again = run(home.path(), json!({ "job": "db", "task": "snapshot" })).expect("is there");
    assert_eq!(again["dir"], taken["dir"]);
    let info = run(home.path(), json!({ "job": "db", "task": "info" })).expect("reads");
    assert_eq!((&info["snapshot"], &info["head"]["height"]), (&json!(0), &json!(0)));
    node.close().expect("closes");
    let left: Vec<_> = fs::read_dir(home.path().join("data/requests")).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_reader_beside_a_node_has_the_snapshot_taken() {
    let home = home();
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let mut reading = config(home.path(), Mode::Start);
    reading.read_only = true;
    let reader = Node::open(reading).expect("reads");
    assert_eq!(reader.status().expect("open").snapshot, Some(0));
    reader.close().expect("closes");
    node.close().expect("closes");
}

#[test]
fn a_home_without_a_reader_is_in_use() {
    let home = home();
    let chain = Chain::open(home.path(), &ChainOptions::default()).expect("opens");
    for work in [
        json!({ "job": "db", "task": "snapshot" }),
        json!({ "job": "nodeCommand", "command": { "do": "import", "files": [] } }),
    ] {
        let refused = run(home.path(), work).expect_err("nobody reads requests");
        assert_eq!(refused.kind(), "home_in_use");
        assert!(refused.to_string().contains(&format!("process {} on", std::process::id())), "{refused}");
    }
    let refused = run(home.path(), json!({ "job": "db", "task": "info" })).expect_err("no snapshot");
    assert_eq!(refused.kind(), "no_snapshot");
    chain.close().expect("closes");
}

#[test]
fn requests_that_do_not_read_are_refused() {
    let home = home();
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let secret = home.path().join("secret");
    fs::write(&secret, "\"hidden\"").expect("writes");
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    type Put = Box<dyn FnOnce(&Path)>;
    let cases: [(&str, Put); 5] = [
        ("text", Box::new(|at| fs::write(at, "hello").expect("writes"))),
        ("other", Box::new(|at| fs::write(at, r#"{"pid":1,"ask":{"do":"format"}}"#).expect("writes"))),
        ("more", Box::new(|at| fs::write(at, r#"{"pid":1,"ask":{"do":"snapshot"},"x":1}"#).expect("writes"))),
        ("long", Box::new(move |at| fs::write(at, long).expect("writes"))),
        ("link", Box::new(move |at| std::os::unix::fs::symlink(secret, at).expect("links"))),
    ];
    for (name, put) in cases {
        let failed = &answer(home.path(), name, put)["outcome"]["failed"];
        assert_eq!(failed["kind"], "config", "{name}");
        let message = failed["message"].as_str().expect("a message");
        assert!(message.starts_with("the request: ") && !message.contains("hidden"), "{name}: {message}");
        assert!(!home.path().join(format!("data/requests/{name}.json")).exists(), "{name} is removed");
    }
    node.close().expect("closes");
}

#[test]
fn an_import_into_a_development_chain_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let import = json!({ "job": "nodeCommand", "command": { "do": "import", "files": ["/none"] } });
    let refused = run(home.path(), import).expect_err("it makes its own blocks");
    assert_eq!(refused.kind(), "unsupported");
    assert!(refused.to_string().contains("stop it, import, and start it again"), "{refused}");
    node.close().expect("closes");
}

#[test]
fn a_file_that_the_node_cannot_read_is_named() {
    let home = home();
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    let file = home.path().join("none.rlp");
    let import = json!({ "job": "nodeCommand", "command": { "do": "import", "files": [file] } });
    let failed = run(home.path(), import).expect_err("there is no such file");
    assert_eq!(failed.kind(), "io");
    let wanted = format!("{}: No such file", file.display());
    assert!(failed.to_string().starts_with(&wanted), "{failed}");
    assert!(failed.to_string().ends_with("the node reads the file itself: it must be able to"), "{failed}");
    node.close().expect("closes");
}
