//! Commitments: elements of the lattice hash, and the state root kept up to date against one from
//! scratch.

use crate::chain::{TOKEN, address, slot};
use crate::commits::{Stores, TRANSFERS};
use crate::harness::{Bench, Fallible, Sample, Target, timed};
use alloy_primitives::B256;
use alloy_trie::TrieAccount;
use hearth_flatkv::{CommitmentKind, bare};
use hearth_primitives::{Account, RootTracker, StateReader};
use std::hint::black_box;

/// Elements of one sample.
const ELEMENTS: usize = 20_000;

pub fn rows(bench: &Bench, stores: &mut Stores<'_>) -> Fallible<()> {
    let name = "lthash: elements beside one by one with plain loops";
    if bench.wants(name) {
        let elements = bench.amount(ELEMENTS, 1_000);
        let rate = |(seconds, cpu, vector): (f64, f64, Vec<u8>)| {
            black_box(vector);
            Sample { value: elements as f64 / seconds, cpu }
        };
        let ours = || Ok(rate(timed(|| Ok(bare::lattice(elements)))?));
        let plain = || Ok(rate(timed(|| Ok(plain_lattice(elements)))?));
        assert_eq!(bare::lattice(elements), plain_lattice(elements));
        bench.pair(name, "elements/s", Target::Shown, ours, plain)?;
    }
    let name = "root: after a block, beside from scratch over a tenth of the accounts";
    if bench.wants(name) {
        root(bench, stores, name)?;
    }
    Ok(())
}

fn root(bench: &Bench, stores: &mut Stores<'_>, name: &str) -> Fallible<()> {
    let ours = stores.ours(CommitmentKind::Mpt)?;
    let accounts = bench.amount(100_000, 2_000);
    let state = ours.kv.latest().ok_or("no head")?;
    // From scratch over a part of the accounts: what the whole would take is more.
    let kv = ours.kv.clone();
    let step = || {
        let changes = ours.chain.block(TRANSFERS);
        let mut trie = kv.trie()?;
        let (seconds, cpu, _) = timed(|| {
            trie.apply(&changes)?;
            Ok(trie.root()?)
        })?;
        Ok(Sample { value: seconds * 1e3, cpu })
    };
    let scratch = || {
        let (seconds, cpu, root) = timed(|| {
            let mut leaves = Vec::with_capacity(accounts + 1);
            let mut slots = Vec::with_capacity(accounts);
            for n in 0..accounts {
                let Account { nonce, balance, code_hash } =
                    state.account(&address(n))?.ok_or("no account")?;
                leaves.push((address(n), TrieAccount { nonce, balance, code_hash, ..Default::default() }));
                slots.push((B256::from(slot(n)), state.storage(&TOKEN, &slot(n))?));
            }
            let storage_root = alloy_trie::root::storage_root_unhashed(slots);
            leaves.push((TOKEN, TrieAccount { storage_root, ..Default::default() }));
            Ok(alloy_trie::root::state_root_unhashed(leaves))
        })?;
        assert_ne!(root, B256::ZERO);
        Ok(Sample { value: seconds * 1e3, cpu })
    };
    bench.pair(name, "ms", Target::RatioAtMost(1.0), step, scratch)
}

/// The same vector by the definition, on one thread.
fn plain_lattice(elements: usize) -> Vec<u8> {
    let mut lanes = vec![0u16; 1024];
    for n in 0..elements {
        let (key, value) = bare::lattice_row(n);
        let mut hasher = blake3::Hasher::new();
        for bytes in [&key, &value] {
            hasher.update(&(bytes.len() as u32).to_le_bytes());
            hasher.update(bytes);
        }
        let mut element = [0; 2048];
        hasher.finalize_xof().fill(&mut element);
        for (lane, pair) in lanes.iter_mut().zip(element.chunks_exact(2)) {
            *lane = lane.wrapping_add(u16::from_le_bytes([pair[0], pair[1]]));
        }
    }
    lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect()
}
