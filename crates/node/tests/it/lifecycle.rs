//! Opening, closing, refusing.

use crate::support::{answer, ask, config};
use hearth_dev_chain::dev_genesis_json;
use hearth_node::{Mode, Node, NodeError, Request};
use serde_json::{Value, json};
use std::sync::mpsc;

#[test]
fn an_empty_home_says_what_to_run() {
    let home = tempfile::tempdir().expect("a folder");
    let error = Node::open(config(home.path(), Mode::Start)).err().expect("nothing there");
    assert_eq!(error.kind(), "home_empty");
    for command in ["hearth import", "hearth init --genesis", "hearth dev"] {
        assert!(error.to_string().contains(command), "{error}");
    }
}

#[test]
fn init_makes_a_home_that_start_opens_and_init_refuses() {
    let home = tempfile::tempdir().expect("a folder");
    let genesis = dev_genesis_json(30_000_000);
    let status = Node::init(home.path(), &genesis).expect("a new home");
    assert_eq!((status.chain_id, status.head), (31_337, 0));
    let again = Node::init(home.path(), &genesis).expect_err("there is one");
    assert_eq!(again.kind(), "home_not_empty");
    let node = Node::open(config(home.path(), Mode::Start)).expect("opens");
    assert_eq!(node.status().expect("open"), status);
    assert_eq!(ask(&node, "blockNumber", Value::Null).expect("answers"), json!("0x0"));
    let block = ask(&node, "getBlockByNumber", json!({ "block": "latest", "full": true })).expect("answers");
    assert_eq!(block["hash"], json!(status.head_hash));
}

#[test]
fn a_broken_genesis_names_the_field_and_writes_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let error = Node::init(home.path(), r#"{"config":{"chainId":"x"},"alloc":{}}"#).expect_err("no number");
    assert_eq!(error.kind(), "genesis");
    assert!(error.to_string().contains("chainId"), "{error}");
    assert_eq!(Node::open(config(home.path(), Mode::Start)).err().expect("still empty").kind(), "home_empty");
}

#[test]
fn a_home_that_is_open_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let first = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let second = Node::open(config(home.path(), Mode::Dev)).err().expect("refused");
    assert_eq!(second.kind(), "home_in_use", "{second}");
    assert!(
        second.to_string().contains(&format!("is in use by process {} on ", std::process::id())),
        "{second}"
    );
    first.close().expect("closes");
    let third = Node::open(config(home.path(), Mode::Dev)).expect("free again");
    third.close().expect("closes");
}

#[test]
fn a_closed_node_refuses_and_closes_twice() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    node.close().expect("closes");
    node.close().expect("again");
    assert!(matches!(answer(&node, Request::BlockNumber), Err(NodeError::Closed)));
    let (told, answer) = mpsc::channel();
    node.spawn(Request::ChainId, move |result| told.send(result).expect("test waits"));
    assert!(matches!(answer.recv().expect("called"), Err(NodeError::Closed)));
}

#[test]
fn another_genesis_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    Node::init(home.path(), &dev_genesis_json(30_000_000)).expect("a new home");
    let mut settings = config(home.path(), Mode::Start);
    let other = home.path().join("other.json");
    std::fs::write(&other, dev_genesis_json(20_000_000)).expect("writes");
    settings.genesis = Some(other);
    let error = Node::open(settings).err().expect("another chain");
    assert_eq!(error.kind(), "home_incompatible", "{error}");
    assert!(error.to_string().contains("genesis hash"), "{error}");
}

#[test]
fn spawned_requests_answer_from_both_pools() {
    let home = tempfile::tempdir().expect("a folder");
    let node = Node::open(config(home.path(), Mode::Dev)).expect("opens");
    let (told, answers) = mpsc::channel();
    for _ in 0..20 {
        let (a, b) = (told.clone(), told.clone());
        node.spawn(Request::ChainId, move |result| a.send(result).expect("test waits"));
        let logs = Request::from_json(br#"{"op":"getLogs","args":{"filter":{}}}"#).expect("reads");
        node.spawn(logs, move |result| b.send(result).expect("test waits"));
    }
    drop(told);
    let mut texts: Vec<String> =
        answers.iter().map(|a| String::from_utf8(a.expect("answers")).expect("UTF-8")).collect();
    texts.sort();
    assert_eq!(texts[..20], vec!["\"0x7a69\""; 20]);
    assert_eq!(texts[20..], vec!["[]"; 20]);
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let words = |text: &str| Request::from_json(text.as_bytes()).expect_err("refused");
    for (text, named) in [
        (r#"{"op":"getBalance","args":{}}"#, "address"),
        (r#"{"op":"nothing"}"#, "nothing"),
        (r#"{"op":"getLogs","args":{"filter":{"topics":[[],[],[],[],[]]}}}"#, "exceed max topics"),
    ] {
        let error = words(text);
        assert_eq!(error.kind(), "invalid_params");
        assert!(error.to_string().contains(named), "{error}");
    }
}
