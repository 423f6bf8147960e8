//! The development chain against a model: edits, snapshots, rollbacks and reorganisations in any
//! order.

use alloy_consensus::{SignableTransaction as _, TxLegacy};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use hearth_chain::{AccountEdit, Chain, ChainOptions, StateAt};
use hearth_dev_chain::{
    BranchTransaction, DevChain, MiningOptions, Steps, dev_genesis_json, placeholder_signature,
};
use hearth_flatkv::Fsync;
use hearth_pool::{PoolKeeper, PoolLimits, TransactionPool};
use hearth_primitives::{RootTracker as _, StateReader, Transaction};
use std::{path::Path, sync::Arc};

const ACCOUNTS: u8 = 4;
const SLOTS: u64 = 3;

pub fn limits() -> PoolLimits {
    PoolLimits {
        max_transactions: 1_000,
        max_per_account: 1_000,
        max_bytes: 8 << 20,
        max_transaction_bytes: 128 << 10,
        price_bump_percent: 10,
        min_tip_wei: 0,
    }
}

pub fn open(home: &Path) -> (Arc<Chain>, Arc<TransactionPool>, DevChain) {
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Arc::new(Chain::create(home, &dev_genesis_json(30_000_000), &options).unwrap());
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits()));
    let mining = MiningOptions { automine: true, ..MiningOptions::default() };
    let dev = DevChain::new(chain.clone(), pool.clone(), &mining);
    (chain, pool, dev)
}

pub fn who(n: u8) -> Address {
    Address::repeat_byte(0xa0 + n)
}

/// Balance, nonce and slots of each account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct World {
    balances: [u64; ACCOUNTS as usize],
    nonces: [u64; ACCOUNTS as usize],
    slots: [[u64; SLOTS as usize]; ACCOUNTS as usize],
}

fn read(state: &StateAt) -> World {
    let mut world = World::default();
    for n in 0..ACCOUNTS {
        let account = state.account(&who(n)).unwrap().unwrap_or_default();
        world.balances[n as usize] = account.balance.to();
        world.nonces[n as usize] = account.nonce;
        for slot in 0..SLOTS {
            world.slots[n as usize][slot as usize] = state.storage(&who(n), &U256::from(slot)).unwrap().to();
        }
    }
    world
}

/// A transfer for which nothing is paid.
pub fn transfer(nonce: u64, from: u8, to: u8, wei: u64) -> Transaction {
    let unsigned = TxLegacy {
        chain_id: Some(31_337),
        nonce,
        gas_price: 0,
        gas_limit: 21_000,
        to: TxKind::Call(who(to)),
        value: U256::from(wei),
        input: Bytes::new(),
    };
    unsigned.into_signed(placeholder_signature(&who(from))).into()
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The chain, and what it should be: the state after each block with what was edited there.
struct Both {
    chain: Arc<Chain>,
    pool: Arc<TransactionPool>,
    dev: DevChain,
    worlds: Vec<World>,
    snapshots: Vec<(u64, usize, World)>,
}

impl Both {
    fn last(&mut self) -> &mut World {
        self.worlds.last_mut().unwrap()
    }

    fn check(&self, random: &mut Random) {
        let head = self.chain.head().height;
        assert_eq!(head + 1, self.worlds.len() as u64);
        for height in [head, random.below(head + 1)] {
            let state = self.chain.state_at(height).unwrap();
            assert_eq!(read(&state), self.worlds[height as usize], "state after block {height} of {head}");
        }
        let stored = self.chain.head_block().unwrap().unwrap();
        assert_eq!(stored.block.header.state_root, self.chain.head().commitment, "header and store agree");
    }

    /// A block, with a transfer where one is possible.
    fn block(&mut self, random: &mut Random) {
        let (from, to) = (random.below(4) as u8, random.below(4) as u8);
        let before = self.last().clone();
        let wei = random.below(before.balances[from as usize] + 1);
        self.dev.set_next(|next| next.base_fee = Some(0));
        let transaction = transfer(before.nonces[from as usize], from, to, wei);
        self.dev.submit(transaction.into(), Some(who(from))).unwrap().unwrap();
        let mut after = before;
        after.nonces[from as usize] += 1;
        after.balances[from as usize] -= wei;
        after.balances[to as usize] += wei;
        self.worlds.push(after);
    }

    fn edit(&mut self, random: &mut Random) {
        let n = random.below(4) as u8;
        let (slot, value) = (random.below(SLOTS), random.below(3));
        let mut edit = AccountEdit::default();
        match random.below(3) {
            0 => edit.balance = Some(U256::from(value * 1000)),
            1 => edit.slots = vec![(U256::from(slot), U256::from(value))],
            _ => edit.nonce = Some(self.last().nonces[n as usize] + value),
        }
        self.dev.edit(&[(who(n), edit.clone())]).unwrap();
        let world = self.last();
        edit.balance.inspect(|balance| world.balances[n as usize] = balance.to());
        edit.nonce.inspect(|nonce| world.nonces[n as usize] = *nonce);
        edit.slots.iter().for_each(|_| world.slots[n as usize][slot as usize] = value);
    }

    fn revert(&mut self, random: &mut Random) {
        if self.snapshots.is_empty() {
            return;
        }
        let at = random.below(self.snapshots.len() as u64) as usize;
        let (number, blocks, world) = self.snapshots[at].clone();
        // A rollback may have removed its block, and another block of the same height may exist
        // since.
        let reached = self.dev.revert(number).unwrap();
        self.snapshots.truncate(at);
        if reached {
            self.worlds.truncate(blocks);
            *self.last() = world;
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(12) {
            0..4 => self.edit(random),
            4..7 => self.block(random),
            7 => {
                let count = random.below(3);
                self.dev.mine_blocks(count, Steps::default(), &|| false).unwrap();
                (0..count).for_each(|_| self.worlds.push(self.worlds.last().unwrap().clone()));
            }
            8 => {
                let number = self.dev.snapshot();
                let (blocks, world) = (self.worlds.len(), self.last().clone());
                self.snapshots.push((number, blocks, world));
            }
            9 => self.revert(random),
            10 => {
                let depth = random.below(self.worlds.len().min(3) as u64);
                self.dev.rollback(depth).unwrap();
                self.gone(depth);
            }
            _ => {
                let depth = random.below(self.worlds.len().min(3) as u64);
                self.dev.reorg(depth, Vec::new()).unwrap();
                self.gone(depth);
                (0..depth).for_each(|_| self.worlds.push(self.worlds.last().unwrap().clone()));
            }
        }
        // What a reorganisation put back is no part of the model.
        self.pool.remove_where(|_| true);
    }

    /// Blocks were taken back: the snapshots of their states are of no use any more.
    fn gone(&mut self, depth: u64) {
        let blocks = self.worlds.len() - depth as usize;
        self.worlds.truncate(blocks);
        if depth > 0 {
            self.snapshots.retain(|(_, at, _)| *at <= blocks);
        }
    }
}

#[test]
fn edits_snapshots_rollbacks_and_reorgs_follow_the_model() {
    let seeds = if std::env::var("HEARTH_TEST").is_ok_and(|mode| mode == "full") { 6 } else { 2 };
    for seed in 1..=seeds {
        let home = tempfile::tempdir().unwrap();
        let (chain, pool, dev) = open(home.path());
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        // None of them is empty, so that no transfer of zero deletes one together with its slots
        // (EIP-161).
        let first = AccountEdit { nonce: Some(1), ..AccountEdit::default() };
        dev.edit(&(0..ACCOUNTS).map(|n| (who(n), first.clone())).collect::<Vec<_>>()).unwrap();
        let world = World { nonces: [1; ACCOUNTS as usize], ..World::default() };
        let mut both = Both { chain, pool, dev, worlds: vec![world], snapshots: Vec::new() };
        for _ in 0..150 {
            both.step(&mut random);
            both.check(&mut random);
        }
        // What was edited after the head outlives the process; the states of all heights do too.
        both.edit(&mut random);
        let Both { chain, dev, worlds, .. } = both;
        let blocks = |chain: &Chain| {
            let hash = |height| chain.ledger().canonical_hash(height).unwrap().unwrap();
            let block =
                |hash| (chain.ledger().block(&hash).unwrap(), chain.ledger().receipts(&hash).unwrap());
            (0..=chain.head().height).map(|height| block(hash(height))).collect::<Vec<_>>()
        };
        let kept = blocks(&chain);
        chain.close().unwrap();
        drop((chain, dev));
        let (chain, _, _) = open(home.path());
        assert_eq!(kept, blocks(&chain), "what was kept decoded is what the tables hold");
        for (height, world) in worlds.iter().enumerate() {
            assert_eq!(read(&chain.state_at(height as u64).unwrap()), *world, "height {height}, seed {seed}");
        }
        assert_eq!(chain.head().height + 1, worlds.len() as u64);
    }
}

#[test]
fn the_root_of_an_edited_state_is_that_of_the_next_block() {
    let home = tempfile::tempdir().unwrap();
    let (chain, _, dev) = open(home.path());
    let edit = AccountEdit {
        balance: Some(U256::from(5)),
        slots: vec![(U256::from(1), U256::from(2))],
        ..AccountEdit::default()
    };
    dev.edit(&[(who(1), edit)]).unwrap();
    let edited = chain.roots_after(0).unwrap().root().unwrap();
    assert_ne!(edited, chain.head().commitment, "the store does not have it yet");
    let (proof, is_edited) = chain.prove_after(0, &who(1), &[U256::from(1)]).unwrap();
    assert_eq!((is_edited, proof.state_root, proof.slots[0].value), (true, edited, U256::from(2)));
    dev.mine_blocks(1, Steps::default(), &|| false).unwrap();
    assert_eq!(chain.roots_after(0).unwrap().root().unwrap(), edited, "the same from below");
    let (proof, is_edited) = chain.prove_after(1, &who(1), &[]).unwrap();
    assert!(!is_edited);
    assert_eq!(proof.state_root, chain.head_block().unwrap().unwrap().block.header.state_root);
    assert_eq!(proof.account.unwrap().balance, U256::from(5));
}

#[test]
fn blocks_executed_on_different_edits_have_different_hashes() {
    let home = tempfile::tempdir().unwrap();
    let (chain, _, dev) = open(home.path());
    let set =
        |value: u64| AccountEdit { slots: vec![(U256::ZERO, U256::from(value))], ..AccountEdit::default() };
    let snapshot = dev.snapshot();
    dev.edit(&[(who(1), set(1))]).unwrap();
    // Both blocks leave one state, by the second edit; their starts differ.
    dev.set_clock(|clock, head| clock.set_next(2_000_000_000, head)).unwrap();
    dev.mine_blocks(1, Steps::default(), &|| false).unwrap();
    let first = chain.head().hash;
    assert!(dev.revert(snapshot).unwrap());
    dev.set_clock(|clock, head| clock.set_next(2_000_000_000, head)).unwrap();
    dev.mine_blocks(1, Steps::default(), &|| false).unwrap();
    assert_ne!(chain.head().hash, first);
    assert!(!dev.revert(snapshot).unwrap(), "it is gone");
}

#[test]
fn a_reorg_has_its_transactions_and_the_rest_is_pending_again() {
    let home = tempfile::tempdir().unwrap();
    let (chain, pool, dev) = open(home.path());
    let rich = AccountEdit { balance: Some(U256::from(1_000)), ..AccountEdit::default() };
    dev.edit(&[(who(0), rich.clone()), (who(1), rich)]).unwrap();
    for (nonce, from) in [(0, 0), (1, 0), (0, 1)] {
        dev.set_next(|next| next.base_fee = Some(0));
        dev.submit(transfer(nonce, from, 2, 10).into(), Some(who(from))).unwrap().unwrap();
    }
    assert_eq!(chain.head().height, 3);
    let other = transfer(0, 1, 3, 500);
    let given = BranchTransaction { transaction: other.clone(), sender: who(1), block: 1 };
    let beyond = BranchTransaction { block: 2, ..given.clone() };
    assert!(dev.reorg(2, vec![beyond]).unwrap_err().to_string().contains("must not exceed (depth-1) 1"));
    assert!(dev.reorg(4, Vec::new()).unwrap_err().to_string().contains("current height 3, depth 4"));
    assert_eq!(chain.head().height, 3, "nothing was changed");
    dev.set_next(|next| next.base_fee = Some(0));
    dev.reorg(2, vec![given]).unwrap();
    let head = chain.head_block().unwrap().unwrap();
    assert_eq!((head.number(), &head.tx_hashes[..]), (3, &[*other.tx_hash()][..]));
    // Of the two that went, one has lost its nonce to what was given; the other waits.
    let waiting: Vec<_> = pool.entries().iter().map(|entry| (entry.sender, entry.nonce)).collect();
    assert_eq!(waiting, [(who(0), 1)]);
    let state = chain.state_at(3).unwrap();
    assert_eq!(state.account(&who(2)).unwrap().unwrap().balance, U256::from(10), "the first block stays");
    assert_eq!(state.account(&who(3)).unwrap().unwrap().balance, U256::from(500));
}

#[test]
fn transactions_of_a_branch_that_loses_wait_again() {
    let homes = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let branch = |home: &Path, from: u8, count: u64| {
        let (chain, _, dev) = open(home);
        for nonce in 0..count {
            let key = hearth_dev_chain::DevSigner::new();
            let account = *key.accounts().nth(usize::from(from)).unwrap();
            let unsigned = TxLegacy {
                chain_id: Some(31_337),
                nonce,
                gas_price: 5_000_000_000,
                gas_limit: 21_000,
                to: TxKind::Call(who(0)),
                value: U256::from(1),
                input: Bytes::new(),
            };
            let signature = key.sign(&account, &unsigned.signature_hash()).unwrap();
            let transaction: Transaction = unsigned.into_signed(signature).into();
            dev.submit(transaction.into(), None).unwrap().unwrap();
        }
        let block = |height| chain.ledger().canonical_block(height).unwrap().unwrap().block.clone();
        (1..=count).map(block).collect::<Vec<_>>()
    };
    let (lost, won) = (branch(homes[0].path(), 0, 2), branch(homes[1].path(), 1, 3));
    let (chain, pool, _) = open(homes[2].path());
    let keeper = PoolKeeper::of(&chain, &pool);
    chain.watch(&keeper);
    for block in &lost {
        chain.insert_block(block.clone()).unwrap();
    }
    assert!(pool.is_empty());
    for block in &won {
        chain.insert_block(block.clone()).unwrap();
    }
    assert_eq!(chain.head().hash, won[2].header.hash_slow());
    let hashes = |blocks: &[hearth_primitives::Block]| {
        blocks
            .iter()
            .flat_map(|block| block.body.transactions.iter().map(|tx| *tx.tx_hash()))
            .collect::<Vec<_>>()
    };
    let waiting: Vec<_> = pool.entries().iter().map(|entry| entry.hash).collect();
    assert_eq!(waiting, hashes(&lost));
    // And when they are on the chain again, they do not wait any more, but the others do.
    chain.set_head(&lost[1].header.hash_slow()).unwrap();
    let waiting: Vec<_> = pool.entries().iter().map(|entry| entry.hash).collect();
    assert_eq!(waiting, hashes(&won));
}
