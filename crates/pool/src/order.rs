//! The order in which a block takes waiting transactions.

use super::{PoolEntry, TransactionPool, contiguous};
use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::{Address, B256, map::HashMap};
use hearth_chain::TransactionSource;
use hearth_evm::{MAX_BLOCK_SIZE, TxError, TxOutcome};
use hearth_primitives::{StateError, StateReader, Transaction};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};

/// Most bytes of a block's transactions: EIP-7934 bounds the whole block, which has its header,
/// withdrawals and the lengths of its parts too (miner/worker.go of go-ethereum:
/// maxBlockSizeBufferZone).
pub(super) const BLOCK_TRANSACTIONS_BYTES_MAX: usize = MAX_BLOCK_SIZE - 1_000_000;

/// Order of the accounts that have an executable transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The one that offers the best tip.
    #[default]
    Fees,
    /// The one whose transaction came first.
    Fifo,
}

/// Executable transactions, best first by [`Order`], those of each account in order of nonce. A
/// transaction that cannot be in the block, or for which it has no room left, excludes the later
/// ones of its account.
#[derive(Debug)]
pub struct BestFirst {
    order: Order,
    base_fee: u64,
    blob_fee: u128,
    /// The next one of each account that has not been looked at.
    candidates: BinaryHeap<(u128, Reverse<B256>, Address)>,
    rest: HashMap<Address, VecDeque<Arc<PoolEntry>>>,
    /// The account that the last one was of.
    current: Option<Address>,
    /// Bytes that the block still has room for.
    bytes_left: usize,
    /// Bytes of the one given last.
    given: usize,
}

impl BestFirst {
    fn offer(&mut self, account: Address) {
        let first = self.rest.get(&account).and_then(VecDeque::front);
        if let Some(entry) = first.filter(|entry| entry.pays(self.base_fee, self.blob_fee)) {
            let rank = match self.order {
                Order::Fees => entry.tip(self.base_fee),
                Order::Fifo => u128::MAX - u128::from(entry.arrival),
            };
            self.candidates.push((rank, Reverse(entry.hash), account));
        }
    }
}

impl TransactionSource for BestFirst {
    fn next(&mut self) -> Option<(Transaction, Address)> {
        loop {
            let (_, _, account) = self.candidates.pop()?;
            let entry = self.rest.get_mut(&account)?.pop_front()?;
            self.given = entry.transaction.encode_2718_len();
            if self.given <= self.bytes_left {
                self.current = Some(account);
                return Some((entry.transaction.clone(), entry.sender));
            }
        }
    }

    fn taken(&mut self, _: &TxOutcome) {
        self.bytes_left = self.bytes_left.saturating_sub(self.given);
        if let Some(account) = self.current.take() {
            self.offer(account);
        }
    }

    fn refused(&mut self, _: &TxError) -> bool {
        true
    }
}

impl TransactionPool {
    /// The transactions with which a block on this state, with these fees (wei per gas, wei per
    /// blob gas), can be filled.
    ///
    /// # Errors
    /// Those of the store.
    pub fn best_first(
        &self,
        state: &dyn StateReader,
        base_fee: u64,
        blob_fee: u128,
    ) -> Result<BestFirst, StateError> {
        self.in_order(Order::Fees, state, base_fee, blob_fee)
    }

    /// As [`Self::best_first`], in another order.
    ///
    /// # Errors
    /// The store's.
    pub fn in_order(
        &self,
        order: Order,
        state: &dyn StateReader,
        base_fee: u64,
        blob_fee: u128,
    ) -> Result<BestFirst, StateError> {
        let inner = self.read();
        let mut best = BestFirst {
            order,
            base_fee,
            blob_fee,
            candidates: BinaryHeap::with_capacity(inner.by_account.len()),
            rest: HashMap::default(),
            current: None,
            bytes_left: BLOCK_TRANSACTIONS_BYTES_MAX,
            given: 0,
        };
        for (address, waiting) in &inner.by_account {
            let nonce = state.account(address)?.unwrap_or_default().nonce;
            best.rest.insert(*address, contiguous(&waiting.queue, nonce).cloned().collect());
            best.offer(*address);
        }
        Ok(best)
    }
}
