//! Recorded mainnet blocks, each on a home of its own.

use crate::support::{Table, files, fixtures, in_parallel, options, text};
use alloy_primitives::{B256, U256, address};
use hearth_chain::{Chain, ChainError};
use hearth_evm::RecordedCase;
use hearth_primitives::{Account, BlockHashes, StateReader};
use std::path::Path;
use std::{fs, io::Read};
use tempfile::TempDir;

/// Recordings whose trie nodes do not suffice for the state root after the block: a removal leaves
/// a branch with one child, whose node they lack.
const WITHOUT_SIBLING: [&str; 5] = [
    "15050000.json.gz",
    "19426587.zeth.json.gz",
    "21230867.json.gz",
    "2675000.zeth.json.gz",
    "9069000.zeth.json.gz",
];

fn check(path: &Path) -> Result<(), String> {
    let case = RecordedCase::parse_json(&text(path)).map_err(|e| e.to_string())?;
    let home = TempDir::new().unwrap();
    let (chain, report) =
        Chain::import_case(home.path(), path, None, &options()).map_err(|error| error.to_string())?;
    let number = case.header.number;
    let expect = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    expect((report.number, report.hash, report.known) == (number, case.hash, false), "report")?;
    expect(
        (report.transactions, report.gas_used) == (case.transactions.len(), case.header.gas_used),
        "counts",
    )?;
    // What the recording has enough for is checked, the rest is listed.
    let listed = |what: &str| report.skipped.iter().any(|s| s.starts_with(what));
    expect(listed("header fields"), "header fields are not listed")?;
    expect(listed("ommers hash") != case.ommer_hashes.is_empty(), "ommers are not listed")?;
    let lacking = WITHOUT_SIBLING.contains(&path.file_name().unwrap().to_str().unwrap());
    expect(listed("state root of the parent") == case.trie_nodes.is_none(), "parent's state root")?;
    expect(listed("state root: a removal") == lacking, "state root")?;
    let no_roots = lacking || case.trie_nodes.is_none();
    expect(listed("receipts root") == (number < 4_370_000 && no_roots), "receipts root")?;
    drop(chain);
    let chain = Chain::open(home.path(), &options()).map_err(|error| error.to_string())?;
    look_around(&chain, &case).map_err(|what| format!("{what} differs"))?;
    drop(chain);
    let (_, again) =
        Chain::import_case(home.path(), path, None, &options()).map_err(|error| error.to_string())?;
    expect(again.known && again.hash == case.hash, "the same again")
}

fn look_around(chain: &Chain, case: &RecordedCase) -> Result<(), &'static str> {
    let (number, hash) = (case.header.number, case.hash);
    let expect = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
    expect((chain.head().height, chain.head().hash) == (number, hash), "head")?;
    let (ledger, kv) = (chain.ledger(), chain.kv());
    expect(ledger.canonical_hash(number).unwrap() == Some(hash), "canonical hash")?;
    expect(ledger.canonical_block(number - 1).unwrap().is_none(), "parent block")?;
    let stored = ledger.block(&hash).unwrap().unwrap();
    expect(stored.block == case.block() && stored.ommer_hashes == case.ommer_hashes, "block")?;
    expect(stored.has_ommers() == case.ommer_hashes.is_empty(), "ommers")?;
    for back in 1..5 {
        let want = case.block_hash(number - back).unwrap();
        expect(ledger.block_hash(number - back).unwrap() == want, "block hash")?;
    }
    for (index, tx) in case.transactions.iter().enumerate() {
        let (there, at) = ledger.transaction(tx.tx_hash()).unwrap().unwrap();
        expect((there.hash, at) == (hash, index), "transaction")?;
    }
    let before = kv.at(number - 1).unwrap();
    for (address, account) in &case.pre_state {
        let there = before.account(address).unwrap().unwrap_or_default();
        expect((there.nonce, there.balance) == (account.nonce, account.balance), "account")?;
        for (slot, value) in &account.storage {
            expect(before.storage(address, slot).unwrap() == *value, "slot")?;
        }
    }
    expect(kv.oldest() == Some(number - 1), "oldest height")?;
    let outside = address!("0x00000000000000000000000000000000000ffffe");
    expect(before.account(&outside).unwrap().is_none(), "account outside")
}

#[test]
fn recorded_blocks_make_homes() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let table = Table::default();
    in_parallel(&files(&dir, ".json.gz"), |path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        table.add("imported, reopened, imported again", name, check(path));
    });
    let (cases, failed) = table.print("recorded mainnet blocks");
    assert_eq!((cases, failed), (51, 0));
}

#[test]
fn before_eip_161_an_empty_account_may_be_absent() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    // The nodes of the parent's trie lead to an empty place for this account.
    let absent = address!("0x0000000000000000000000000000000000000395");
    let path = dir.join("1920000.json.gz");
    let mut json: serde_json::Value = serde_json::from_str(&text(&path)).unwrap();
    let (number, hash) = (1_920_000, json["block"]["hash"].as_str().unwrap().parse::<B256>().unwrap());
    let empty = serde_json::json!({ "balance": "0x0", "nonce": "0x0" });
    json["preState"].as_object_mut().unwrap().insert(absent.to_string(), empty);
    let home = TempDir::new().unwrap();
    let file = home.path().join("case.json");
    fs::write(&file, json.to_string()).unwrap();
    let (chain, report) = Chain::import_case(&home.path().join("h"), &file, None, &options()).unwrap();
    assert_eq!((report.number, report.hash), (number, hash));
    let listed = |what: &str| report.skipped.iter().any(|skipped| skipped.starts_with(what));
    assert!(!listed("state root") && !listed("receipts root"), "{:?}", report.skipped);
    assert_eq!(chain.kv().at(number - 1).unwrap().account(&absent).unwrap(), None);
    // Without the trie's nodes it is taken as it is listed.
    json.as_object_mut().unwrap().remove("trieNodes");
    fs::write(&file, json.to_string()).unwrap();
    let (chain, _) = Chain::import_case(&home.path().join("i"), &file, None, &options()).unwrap();
    assert_eq!(chain.kv().at(number - 1).unwrap().account(&absent).unwrap(), Some(Account::default()));
}

/// A case with something in it replaced, on a home that must not be touched.
fn spoilt(home: &Path, json: &str) -> ChainError {
    let file = home.join("case.json");
    fs::write(&file, json).unwrap();
    let refused = Chain::import_case(&home.join("h"), &file, None, &options()).err().unwrap();
    assert!(!home.join("h").exists(), "nothing is written: {refused}");
    refused
}

#[test]
fn pre_states_off_by_one_wei_are_refused() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let mut count = 0;
    for path in files(&dir, ".json.gz") {
        let mut json: serde_json::Value = serde_json::from_str(&text(&path)).unwrap();
        if json.get("trieNodes").is_none() {
            continue;
        }
        let from = json["block"]["transactions"][0]["from"].as_str().unwrap().to_lowercase();
        let accounts = json["preState"].as_object_mut().unwrap();
        let (_, account) = accounts.iter_mut().find(|(address, _)| address.to_lowercase() == from).unwrap();
        let balance: U256 = account["balance"].as_str().unwrap().parse().unwrap();
        account["balance"] = format!("{:#x}", balance + U256::from(1)).into();
        let home = TempDir::new().unwrap();
        let refused = spoilt(home.path(), &json.to_string());
        assert!(matches!(refused, ChainError::ParentStateRoot { .. }), "{refused}");
        assert!(refused.to_string().contains("state root"), "{refused}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn spoilt_cases_are_refused() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let good: serde_json::Value = serde_json::from_str(&text(&dir.join("46147.json.gz"))).unwrap();
    let with = |path: &str, value: serde_json::Value| {
        let mut json = good.clone();
        *json.pointer_mut(path).unwrap() = value;
        json.to_string()
    };
    let home = TempDir::new().unwrap();
    let zero = B256::ZERO.to_string();
    for (path, value, named) in [
        ("/block/hash", zero.clone().into(), "hash"),
        ("/block/stateRoot", zero.clone().into(), "hash"),
        ("/block/gasUsed", "0x1".into(), "hash"),
        ("/block/transactions/0/value", "0x1".into(), "hash"),
        ("/block/number", "zz".into(), "block.number"),
        ("/preState", serde_json::Value::Null, "preState"),
        ("/preState", serde_json::json!({}), "insufficient funds"),
    ] {
        let refused = spoilt(home.path(), &with(path, value)).to_string();
        assert!(refused.contains(named), "{path}: {refused}");
    }
    for text in ["", "{", "[]", "{}", "hello"] {
        let refused = spoilt(home.path(), text);
        assert!(matches!(refused, ChainError::BadCase { .. }), "{text}: {refused}");
    }
}

#[test]
fn a_home_holds_one_case() {
    let Some(dir) = fixtures("mainnet-blocks") else { return };
    let home = TempDir::new().unwrap();
    let import = |name: &str| Chain::import_case(home.path(), &dir.join(name), None, &options());
    drop(import("2675000.json.gz").unwrap());
    let other = import("46147.json.gz").err().unwrap();
    assert!(matches!(other, ChainError::OtherChain { what: "first state", .. }), "{other}");
    let chain = Chain::open(home.path(), &options()).unwrap();
    assert_eq!((chain.head().height, chain.base()), (2_675_000, 2_674_999));
    // Blocks do not follow on a part of the state.
    let block = chain.head_block().unwrap().unwrap();
    let mut next = block.block.clone();
    next.body.transactions.clear();
    next.header.parent_hash = block.hash;
    next.header.number += 1;
    assert!(chain.insert_block(next).is_err());
    assert_eq!(chain.head().height, 2_675_000);
    let mut file = Vec::new();
    fs::File::open(home.path().join("config/chain.json")).unwrap().read_to_end(&mut file).unwrap();
    let described: serde_json::Value = serde_json::from_slice(&file).unwrap();
    assert_eq!((&described["rules"], &described["commitment"]), (&"mainnet".into(), &"none".into()));
}
