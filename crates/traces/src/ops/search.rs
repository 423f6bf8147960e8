//! Searching blocks by account: which transactions of a block a call, creation or self-destruct of
//! which is from or to an account, and which created a contract.

use crate::{Traces, trace_source::replay_error};
use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use hearth_home::{LookbackPolicy, NodeError};
use hearth_ledger::StoredBlock;
use hearth_primitives::Transaction;
use hearth_tracers::{BlockReplay, Limits, TraceError, creation_of, transactions_with};
use std::time::Instant;

/// Gas of a transaction that has none left for code once it begins.
const TRANSFER_GAS: u64 = 21_000;

/// Whether a search has taken all of its time.
pub fn time_is_over(limits: &Limits) -> bool {
    Instant::now().saturating_duration_since(limits.started) >= limits.call_timeout.max(limits.timeout)
}

/// Whether the block may have a frame from or to any of some accounts, by its capsule.
pub(super) fn may_touch(traces: &Traces, block: &StoredBlock, accounts: &[Address]) -> bool {
    let Ok(Some(capsule)) = traces.capsules().get(traces.home().chain().reader(), &block.hash) else {
        return true;
    };
    let known =
        |address: &Address| capsule.accounts.binary_search_by_key(address, |account| account.address).is_ok();
    accounts.iter().any(known)
}

impl Traces {
    /// Places in a block, ascending, of the transactions with a call, creation or self-destruct
    /// from or to an account, calls of precompiled contracts included.
    ///
    /// # Errors
    /// Those of a trace of the block.
    pub fn transactions_with(
        &self,
        block: &StoredBlock,
        account: &Address,
        limits: &Limits,
    ) -> Result<Vec<usize>, NodeError> {
        let transactions = &block.block.body.transactions;
        if transactions.is_empty() || !may_touch(self, block, &[*account]) {
            return Ok(Vec::new());
        }
        let senders = self.home().senders_of(block)?;
        let known = |index: usize| match (transactions.get(index), senders.get(index)) {
            (Some(tx), Some(sender)) => is_involved(tx, sender, account),
            _ => None,
        };
        if let Some(all) = (0..transactions.len()).map(known).collect::<Option<Vec<_>>>() {
            let involved = all.iter().enumerate().filter(|(_, involved)| **involved);
            return Ok(involved.map(|(index, _)| index).collect());
        }
        self.replayed(block, &senders, |replay| transactions_with(replay, account, &known, limits))
    }

    /// The transaction of a block that created a contract last, by its place, and the account in
    /// whose frame it did.
    ///
    /// # Errors
    /// Those of a trace of the block.
    pub fn creation_in(
        &self,
        block: &StoredBlock,
        contract: &Address,
        limits: &Limits,
    ) -> Result<Option<(usize, Address)>, NodeError> {
        if block.block.body.transactions.is_empty() || !may_touch(self, block, &[*contract]) {
            return Ok(None);
        }
        let senders = self.home().senders_of(block)?;
        self.replayed(block, &senders, |replay| creation_of(replay, contract, limits))
    }

    fn replayed<T>(
        &self,
        block: &StoredBlock,
        senders: &[Address],
        work: impl FnOnce(&mut BlockReplay<'_>) -> Result<T, TraceError>,
    ) -> Result<T, NodeError> {
        let (header, hash) = (&block.block.header, block.hash);
        self.with_source((header, hash), LookbackPolicy::Guarded, |source| {
            let replay = source.replay(self.home().chain().spec(), (&block.block, hash), Some(senders));
            replay.and_then(|mut replay| work(&mut replay)).map_err(|error| replay_error(header, error))
        })
    }
}

/// Whether a transaction has a frame from or to an account, as far as its own fields say.
fn is_involved(tx: &Transaction, sender: &Address, account: &Address) -> Option<bool> {
    if sender == account || tx.to().as_ref() == Some(account) {
        return Some(true);
    }
    let runs_no_code = tx.to().is_some() && tx.input().is_empty() && tx.gas_limit() <= TRANSFER_GAS;
    runs_no_code.then_some(false)
}
