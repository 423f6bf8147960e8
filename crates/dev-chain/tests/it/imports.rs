//! A chain with more blocks than an import commits in one step, whose blocks read what those below
//! them wrote: each state root that does not fit ends the import.

use crate::model::limits;
use alloy_consensus::{SignableTransaction as _, TxLegacy};
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use hearth_chain::import::{ImportJob, MAX_RUN_BLOCKS};
use hearth_chain::{Chain, ChainOptions, ExportRange};
use hearth_dev_chain::{DevChain, DevFork, DevSigner, GenesisOptions, MiningOptions, dev_genesis};
use hearth_flatkv::Fsync;
use hearth_pool::TransactionPool;
use hearth_primitives::{RootTracker as _, StateReader as _};
use std::{
    num::NonZeroU64,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

/// How far below its own block a call of the counter looks for a hash: into the run before, into
/// the one that is committed meanwhile, and below both.
const BACK: [u64; 3] = [1, 70, 140];
/// Stores the hash of the block so far below at the number of the block, and counts in slot 0.
const COUNTER: [u8; 15] = hex!("5f354303404355 5f546001015f5500");
/// Destroys itself.
const DESTROYED: [u8; 2] = hex!("33ff");

/// The code that deploys some.
fn deploying(code: &[u8]) -> Bytes {
    let length = code.len() as u8;
    [&[0x60, length, 0x60, 0x0b, 0x5f, 0x39, 0x60, length, 0x5f, 0xf3, 0x00], code].concat().into()
}

/// A development chain that signs what it is given, with one block a transaction.
struct Source {
    chain: Arc<Chain>,
    dev: DevChain,
    signer: DevSigner,
    nonce: u64,
}

impl Source {
    fn send(&mut self, to: TxKind, input: Bytes) -> Address {
        let from = *self.signer.accounts().next().unwrap();
        let nonce = self.nonce;
        self.nonce += 1;
        let unsigned = TxLegacy {
            chain_id: Some(31_337),
            nonce,
            gas_price: 10_000_000_000,
            gas_limit: 1_000_000,
            to,
            value: U256::ZERO,
            input,
        };
        let signature = self.signer.sign(&from, &unsigned.signature_hash()).unwrap();
        let outcome = self.dev.submit(unsigned.into_signed(signature).into(), None).unwrap().unwrap().outcome;
        assert!(outcome.is_some());
        from.create(nonce)
    }
}

fn create(home: &Path, genesis: &str, options: &ChainOptions) -> Arc<Chain> {
    Arc::new(Chain::create(home, genesis, options).unwrap())
}

#[test]
fn blocks_are_executed_on_those_that_are_committed_meanwhile() {
    let genesis = GenesisOptions { hardfork: DevFork::Shanghai, ..GenesisOptions::default() };
    let genesis = dev_genesis(&genesis).unwrap();
    let homes = [0; 3].map(|_| tempfile::tempdir().unwrap());
    let options = || ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = create(homes[0].path(), &genesis, &options());
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits()));
    let dev =
        DevChain::new(chain.clone(), pool, &MiningOptions { automine: true, ..MiningOptions::default() });
    let mut source = Source { chain: chain.clone(), dev, signer: DevSigner::new(), nonce: 0 };
    let counter = source.send(TxKind::Create, deploying(&COUNTER));
    let mut calls = 0;
    while source.chain.head().height < 4 * MAX_RUN_BLOCKS as u64 {
        let back = BACK[calls % BACK.len()];
        source.send(TxKind::Call(counter), U256::from(back).to_be_bytes_vec().into());
        calls += 1;
        // An account that is destroyed ends a run.
        if calls == 150 {
            let destroyed = source.send(TxKind::Create, deploying(&DESTROYED));
            source.send(TxKind::Call(destroyed), Bytes::new());
            assert_eq!(source.chain.kv().latest().unwrap().account(&destroyed).unwrap(), None);
        }
    }
    let file = homes[0].path().join("blocks");
    let mut blocks = Vec::new();
    chain
        .export(&ExportRange::default(), &file, &mut blocks, &mut |_, _| {}, &AtomicBool::new(false))
        .unwrap();
    std::fs::write(&file, blocks).unwrap();

    let last = chain.head();
    let job = ImportJob { files: vec![file], head: None };
    // With a short history as well: a run must not prune the state that is read below it.
    for (home, history) in [(&homes[1], None), (&homes[2], NonZeroU64::new(5))] {
        let mut options = options();
        options.state.state_history_blocks = history;
        let imported = create(home.path(), &genesis, &options);
        let report = imported.import(&job, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!((report.head, report.progress.blocks), (last, last.height));
        let state = imported.kv().latest().unwrap();
        let slot = |slot: u64| state.storage(&counter, &U256::from(slot)).unwrap();
        assert_eq!(slot(0), U256::from(calls));
        // The counter is deployed by block 1 and called by each one behind it, the first of which
        // looks one block back.
        let hash: U256 = chain.ledger().canonical_hash(1).unwrap().unwrap().into();
        assert_eq!(slot(2), hash);
        if history.is_none() {
            for height in (0..last.height).step_by(13) {
                let [root, wanted] =
                    [&imported, &chain].map(|chain| chain.kv().roots_at(height).unwrap().root().unwrap());
                assert_eq!(root, wanted, "state root at height {height}");
            }
        }
    }
}
