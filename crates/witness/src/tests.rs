//! Witnesses as clients write them, and what is not one.

use crate::{BlockForm, Material, Supplement, VerifiedHashes, Witness, WitnessError, received_block};
use alloy_primitives::{B256, Bytes, U256, address, bytes, hex, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use hearth_primitives::{
    Account, AccountChange, BlockHashes, Changeset, Header, Height, RootTracker, SlotChange, StateError,
};
use hearth_trie::WitnessTrie;
use serde_json::{Value, json};

fn headers(count: u64) -> Vec<Header> {
    let mut all: Vec<Header> = Vec::new();
    for number in 0..count {
        let parent_hash = all.last().map(Header::hash_slow).unwrap_or_default();
        let base_fee_per_gas = Some(7);
        all.push(Header { number, parent_hash, base_fee_per_gas, ..Header::default() });
    }
    all
}

fn rlp(header: &Header) -> Value {
    json!(hex::encode_prefixed(alloy_rlp::encode(header)))
}

/// A header as go-ethereum's JSON has it, with fields that are not known here.
fn object(header: &Header) -> Value {
    let mut object = serde_json::to_value(header).unwrap();
    object["hash"] = json!(header.hash_slow());
    object["withdrawalsRoot"] = Value::Null;
    object["somethingNew"] = json!("0x1");
    object
}

fn parse(value: &Value) -> Witness {
    Witness::parse(value.to_string().as_bytes()).unwrap()
}

#[test]
fn every_form_of_a_witness_is_read() {
    let headers = headers(3);
    let (node, code) = (bytes!("c20102"), bytes!("6001"));
    let expected = Witness {
        state: vec![node.clone(), bytes!("80")],
        codes: vec![code.clone()],
        headers: headers.clone(),
    };
    let lists = json!({ "state": [node, "0x80"], "codes": [code], "headers": headers.iter().map(rlp).collect::<Vec<_>>() });
    // The canonical form, and those of reth, Nethermind and Erigon with keys of their kinds.
    for keys in [Value::Null, json!([]), json!(["0x00"]), json!({ "0x00": "0x00" })] {
        let mut form = lists.clone();
        form["keys"] = keys;
        assert_eq!(parse(&form), expected);
    }
    // go-ethereum: headers as objects.
    let mut form = lists.clone();
    form["headers"] = headers.iter().map(object).collect();
    assert_eq!(parse(&form), expected);
    // Hashes to bytes.
    let map = |list: &[Bytes]| -> Value {
        list.iter()
            .map(|item| (keccak256(item).to_string(), json!(item)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let form = json!({ "state": map(&expected.state), "codes": map(&expected.codes), "headers": null });
    let mut read = parse(&form);
    read.state.sort_unstable();
    let mut sorted = expected.state.clone();
    sorted.sort_unstable();
    assert_eq!((read.state, read.codes, read.headers), (sorted, expected.codes.clone(), Vec::new()));
    // Members may be absent; a header that does not decode is left out.
    assert_eq!(parse(&json!({})), Witness::default());
    let form = json!({ "headers": ["0x00", "no hex", {}, rlp(&headers[1])] });
    assert_eq!(parse(&form).headers, [headers[1].clone()]);
}

#[test]
fn what_is_no_witness_and_no_block_is_refused() {
    for text in
        ["", "[", "null", "[]", "1", r#"{"state":["0xzz"]}"#, r#"{"state":[1]}"#, r#"{"codes":"0x00"}"#]
    {
        assert!(Witness::parse(text.as_bytes()).is_err(), "{text}");
    }
    let header = headers(2).remove(1);
    let block = hearth_primitives::Block { header: header.clone(), body: Default::default() };
    let text = json!(hex::encode_prefixed(alloy_rlp::encode(&block))).to_string();
    let received = received_block(BlockForm::Raw, text.as_bytes()).unwrap();
    assert_eq!((received.hash, received.block), (header.hash_slow(), block));
    for text in [&text[..text.len() - 3], "null", r#""0x""#, r#""0xc0""#, &text.replace("0x", "0xc0")] {
        let error = received_block(BlockForm::Raw, text.as_bytes()).unwrap_err();
        assert!(error.is_of_block(), "{error}");
    }
    let mut form = object(&header);
    form["transactions"] = json!([]);
    let text = form.to_string();
    assert_eq!(received_block(BlockForm::Json, text.as_bytes()).unwrap().hash, header.hash_slow());
    form["hash"] = json!(B256::repeat_byte(1));
    let error = received_block(BlockForm::Json, form.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error, WitnessError::BlockJson(_)), "{error}");
}

/// Held blocks have the hash of their height.
struct Held;

impl BlockHashes for Held {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        Ok(U256::from(number).into())
    }
}

#[test]
fn hashes_below_the_first_block_come_from_linked_headers() {
    let chain = headers(10);
    let material = |numbers: &[usize]| {
        let headers = numbers.iter().map(|number| chain[*number].clone()).collect();
        Material::new(Witness { headers, ..Witness::default() }, &Supplement::default())
    };
    let block = Header { number: 12, parent_hash: B256::repeat_byte(11), ..Header::default() };
    let all = material(&[8, 7, 6, 5]);
    let hashes = VerifiedHashes::new(&block, &Held, &chain[9], &all);
    assert_eq!(hashes.block_hash(11).unwrap(), B256::repeat_byte(11));
    assert_eq!(hashes.block_hash(10).unwrap(), B256::from(U256::from(10)));
    assert_eq!(hashes.block_hash(8).unwrap(), chain[8].hash_slow());
    assert_eq!(hashes.block_hash(4).unwrap(), chain[4].hash_slow());
    assert_eq!(hashes.wanted(), []);
    assert_eq!(hashes.block_hash(2).unwrap(), B256::ZERO, "its execution is dropped");
    let wanted: Vec<_> = hashes.wanted().iter().map(|header| (header.number, header.hash)).collect();
    assert_eq!(wanted, [(4, Some(chain[4].hash_slow())), (3, None)]);
    // A header that no other one names is none of the chain.
    let mut foreign = chain[8].clone();
    foreign.gas_used = 1;
    let foreign = Witness { headers: vec![foreign], ..Witness::default() };
    let foreign = Material::new(foreign, &Supplement::default());
    let hashes = VerifiedHashes::new(&block, &Held, &chain[9], &foreign);
    hashes.block_hash(7).unwrap();
    assert_eq!(hashes.wanted()[0].hash, Some(chain[8].hash_slow()));
}

#[test]
fn a_supplement_is_read_as_other_nodes_write_it() {
    let text = json!({
        "proofs": [{ "accountProof": ["0x01"], "balance": "0x0", "storageProof": [{ "key": "0x0", "proof": ["0x02"] }] }],
        "after": [{ "accountProof": ["0x03", "0x04"], "storageProof": [{ "proof": [] }, { "proof": ["0x05"] }] }],
        "codes": ["0x6001"],
        "headers": [rlp(&headers(1)[0])],
        "prestate": {
            "0x0000000000000000000000000000000000000001": {
                "balance": "0x10", "nonce": 3, "code": "0x6002",
                "storage": { "0x0000000000000000000000000000000000000000000000000000000000000002": "0x03" },
            },
            "0x0000000000000000000000000000000000000002": { "balance": "0x0", "nonce": "0x0", "code": "0x" },
        },
    });
    let read = Supplement::parse(text.to_string().as_bytes()).unwrap();
    assert_eq!(read.nodes, [bytes!("01"), bytes!("02")]);
    assert_eq!(read.folded, [bytes!("04"), bytes!("05")], "the last node of each proof");
    assert_eq!(read.codes, [bytes!("6001"), bytes!("6002")]);
    assert_eq!(read.headers, headers(1));
    let claimed = read.prestate.unwrap();
    let one = &claimed[&address!("0x0000000000000000000000000000000000000001")];
    let code_hash = keccak256(bytes!("6002"));
    assert_eq!(one.account, Some(Account { nonce: 3, balance: U256::from(16), code_hash }));
    assert_eq!(one.slots[&U256::from(2)], U256::from(3));
    assert_eq!(claimed[&address!("0x0000000000000000000000000000000000000002")].account, None);
    for text in ["", "[]", r#"{"proofs":[{"accountProof":["0xz"]}]}"#, r#"{"prestate":{"0x":{}}}"#] {
        assert!(Supplement::parse(text.as_bytes()).is_err(), "{text}");
    }
}

/// Changes of one account's storage.
fn change(slots: impl IntoIterator<Item = (u64, u64, u64)>) -> Changeset {
    let account = Some(Account { nonce: 1, ..Account::default() });
    let slot = |(slot, old, new)| SlotChange {
        slot: U256::from(slot),
        old: U256::from::<u64>(old),
        new: U256::from::<u64>(new),
    };
    let address = address!("0x00000000000000000000000000000000000000aa");
    let storage = slots.into_iter().map(slot).collect();
    let accounts = vec![AccountChange { address, old: account, new: account, wiped: false, storage }];
    Changeset { accounts, codes: Vec::new() }
}

/// The trie after changes on an empty one.
fn built(changes: &Changeset) -> (B256, Vec<Bytes>) {
    let mut trie = hearth_trie::StateTrie::new(
        std::sync::Arc::new(hearth_trie::WitnessNodes::default()),
        EMPTY_ROOT_HASH,
    );
    trie.apply(changes).unwrap();
    let root = trie.root().unwrap();
    let nodes = trie.changed_nodes().unwrap().into_iter().filter_map(|(_, rlp)| Some(rlp?.into())).collect();
    (root, nodes)
}

#[test]
fn a_folded_node_is_found_by_the_proof_after_its_removal() {
    // Each slot of a storage is removed alone, while every node that its path does not touch is
    // missing: its sibling may be a leaf, an extension or a branch.
    let (mut direct, mut completed) = (0, 0);
    for size in [2u64, 3, 5, 17, 40, 150] {
        let values = |slots: &mut dyn Iterator<Item = u64>| change(slots.map(|slot| (slot, 0, slot + 1)));
        let (root, nodes) = built(&values(&mut (0..size)));
        for removed in 0..size.min(24) {
            let changes = change([(removed, removed + 1, 0)]);
            let (after, kept) = built(&values(&mut (0..size).filter(|slot| *slot != removed)));
            // What a client gives that forgets siblings: the nodes that only reading the slot
            // needs.
            let all =
                Material::new(Witness { state: nodes.clone(), ..Witness::default() }, &Supplement::default());
            let path = path_of(&nodes, root, removed);
            let without = Witness { state: path.clone(), ..Witness::default() };
            let given = Material::new(without.clone(), &Supplement::default());
            assert_eq!(all.root_after(root, all.trie(root), &changes).unwrap(), Ok(after));
            match given.root_after(root, given.trie(root), &changes).unwrap() {
                Ok(root) => {
                    assert_eq!(root, after);
                    direct += 1;
                }
                Err(wanted) => {
                    assert_eq!(wanted.after.len(), 1);
                    assert_eq!(wanted.after[0].slots, [B256::from(U256::from(removed))]);
                    let last = path_of(&kept, after, removed).last().cloned().unwrap();
                    let proof = Supplement { folded: vec![last], ..Supplement::default() };
                    let given = Material::new(without, &proof);
                    assert_eq!(given.root_after(root, given.trie(root), &changes).unwrap(), Ok(after));
                    completed += 1;
                }
            }
        }
    }
    println!("{direct} removals needed no sibling, {completed} were completed");
    assert!(direct > 10 && completed > 10, "{direct} {completed}");
}

/// The nodes of an account's path and of a slot's, from the root on.
fn path_of(nodes: &[Bytes], root: B256, slot: u64) -> Vec<Bytes> {
    let mut recorded = hearth_trie::WitnessNodes::default();
    recorded.extend(nodes.iter().cloned());
    let mut trie = hearth_trie::StateTrie::new(std::sync::Arc::new(recorded), root);
    let address = address!("0x00000000000000000000000000000000000000aa");
    let proof = trie.prove(&address, &[U256::from(slot)]).unwrap();
    let mut path = proof.nodes;
    path.extend(proof.slots.into_iter().flat_map(|slot| slot.nodes));
    path
}

#[test]
fn a_witness_trie_and_its_material_agree() {
    let (root, nodes) = built(&change((0..50).map(|slot| (slot, 0, slot + 1))));
    let changes = change([(7, 8, 9), (8, 9, 0)]);
    let mut trie = WitnessTrie::new(root, nodes.iter().cloned());
    trie.apply(&changes).unwrap();
    let material = Material::new(Witness { state: nodes, ..Witness::default() }, &Supplement::default());
    assert_eq!(material.root_after(root, material.trie(root), &changes).unwrap(), Ok(trie.root().unwrap()));
}
