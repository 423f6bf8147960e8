//! `debug_traceStateAccess`: the state that one transaction read and wrote.
//!
//! ```text
//! { "accounts": { address: { "balance"?, "nonce"?, "code"?, "storage": { slot: value } } },
//!   "writes":   { address: { "balance"?, "nonce"?, "code"?, "storage": { slot: value } } },
//!   "stats": { "reads":  { "account": n, "storage": n, "code": n },
//!              "writes": { "account": n, "storage": n, "code": n },
//!              "nanos":  { "account": n, "storage": n, "code": n } } }
//! ```
//!
//! - `accounts` has every account that the transaction read, by lower-case address, with the values
//!   before the transaction: quantities in hex, slots and values as 32 bytes. An account that did
//!   not exist has neither balance nor nonce; `code` is present if it was loaded; `storage` has the
//!   slots that were read.
//! - `writes` has the changes that remained at the end of the transaction, with final values and
//!   without reverted ones; a destroyed account has zeros. Fees paid to the block's beneficiary are
//!   included.
//! - `stats` counts distinct items read and written, and the nanoseconds of reading them from the
//!   store (the block's earlier transactions are not counted). They are JSON numbers.

use super::{Answer, timed_state::TimedState};
use crate::Traces;
use crate::{
    trace::{check_traceable, no_transaction, trace_error},
    trace_source::replay_error,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_evm::{BlockEnvironment, BlockExecutor, PrefixState};
use hearth_home::{ByteSender, JsonWriter, LookbackPolicy, NodeError};
use hearth_primitives::{Account, Changeset, Failure, ReadSet, StateReader as _};
use hearth_tracers::{Limits, TraceError};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
    time::Duration,
};

pub fn of_transaction(
    traces: &Traces,
    hash: &B256,
    limits: &Limits,
    sender: &mut ByteSender,
) -> Result<(), NodeError> {
    let answer = answer(traces, hash, limits, sender)?;
    sender.write(&answer).map_err(|_| NodeError::Cancelled)
}

fn answer(traces: &Traces, hash: &B256, limits: &Limits, sender: &ByteSender) -> Answer {
    let home = traces.home();
    let (stored, index) =
        home.chain().reader().transaction(hash)?.ok_or_else(|| no_transaction(home, hash))?;
    let block = &stored.block;
    check_traceable(block)?;
    let senders = home.senders_of(&stored)?;
    let spec = home.chain().spec();
    home.mark_height(block.header.number, sender);
    traces.with_source((&block.header, stored.hash), LookbackPolicy::Guarded, |source| {
        let failed = |source: Failure| NodeError::Execution { height: block.header.number, source };
        let environment = BlockEnvironment::from_header(spec, &block.header);
        let mut prefix = source.executor(spec, environment.clone());
        let transactions = block.body.transactions.iter().zip(senders.iter().copied());
        let closing = || home.stopping().load(Ordering::Relaxed);
        // The request has no timeout of its own.
        let within = Limits { timeout: Duration::ZERO, ..limits.clone() };
        let stopping = || limits.cancel.is_cancelled() || closing() || within.call_is_over();
        source.go_to(&mut prefix, index, transactions.clone(), &stopping).map_err(|error| match error {
            TraceError::Cancelled if closing() => NodeError::Closed,
            TraceError::Cancelled if !limits.cancel.is_cancelled() => trace_error(TraceError::CallTimeout),
            other => replay_error(&block.header, other),
        })?;
        let (tx, sender) = transactions.clone().nth(index).ok_or(NodeError::TransactionNotFound)?;
        let prefix = PrefixState::new(prefix.into_state());
        let timed = TimedState::new(&prefix);
        // Only the transaction runs on this executor, so that each of its reads reaches the state
        // that the prefix left.
        let mut executor = BlockExecutor::new(spec, environment, &timed, &prefix);
        executor.transact(tx, sender).map_err(|error| failed(error.into()))?;
        let writes = executor.writes().last().cloned().unwrap_or_default();
        let reads = executor.into_state().into_reads();
        let before = Values::read(&reads, &prefix)?;
        let after = Values::written(&writes);
        let mut writer = JsonWriter::default();
        writer.begin_object();
        before.write(writer.key("accounts"));
        after.write(writer.key("writes"));
        writer.key("stats").begin_object();
        before.write_counts(writer.key("reads"));
        after.write_counts(writer.key("writes"));
        write_counts(writer.key("nanos"), [timed.account.nanos(), timed.storage.nanos(), timed.code.nanos()]);
        writer.end_object().end_object();
        Ok(writer.into_bytes())
    })
}

/// Values of one account.
#[derive(Default)]
struct Entry {
    balance: Option<U256>,
    nonce: Option<u64>,
    code: Option<Bytes>,
    storage: BTreeMap<U256, U256>,
}

/// Values by account.
#[derive(Default)]
struct Values(BTreeMap<Address, Entry>);

impl Values {
    /// What was looked at, with the values that were there.
    fn read(reads: &ReadSet, state: &PrefixState<'_>) -> Result<Self, NodeError> {
        let loaded: BTreeSet<&B256> = reads.codes.iter().collect();
        let mut values = Self::default();
        for (address, account) in &reads.accounts {
            let entry = values.0.entry(*address).or_default();
            let Some(account) = account else { continue };
            entry.balance = Some(account.balance);
            entry.nonce = Some(account.nonce);
            if loaded.contains(&account.code_hash) {
                entry.code = Some(state.code(&account.code_hash)?);
            }
        }
        for (address, slot, value) in &reads.slots {
            values.0.entry(*address).or_default().storage.insert(*slot, *value);
        }
        Ok(values)
    }

    /// What was changed, with the values that were left.
    fn written(writes: &Changeset) -> Self {
        let mut values = Self::default();
        for change in &writes.accounts {
            let entry = values.0.entry(change.address).or_default();
            let (old, new) = (change.old.unwrap_or_default(), change.new.unwrap_or_default());
            let made = change.old.is_none() != change.new.is_none();
            entry.balance = (made || old.balance != new.balance).then_some(new.balance);
            entry.nonce = (made || old.nonce != new.nonce).then_some(new.nonce);
            entry.code = code_change(&old, &new, writes);
            entry.storage = change.storage.iter().map(|slot| (slot.slot, slot.new)).collect();
        }
        values
    }

    fn write(&self, writer: &mut JsonWriter) {
        writer.begin_object();
        for (address, entry) in &self.0 {
            writer.address_key(address).begin_object();
            if let Some(balance) = &entry.balance {
                writer.key("balance").quantity_u256(balance);
            }
            if let Some(nonce) = entry.nonce {
                writer.key("nonce").quantity(nonce);
            }
            if let Some(code) = &entry.code {
                writer.key("code").bytes(code);
            }
            writer.key("storage").begin_object();
            for (slot, value) in &entry.storage {
                writer.hash_key(&B256::from(*slot)).hash(&B256::from(*value));
            }
            writer.end_object().end_object();
        }
        writer.end_object();
    }

    fn write_counts(&self, writer: &mut JsonWriter) {
        let sum = |count: fn(&Entry) -> usize| self.0.values().map(|entry| count(entry) as u64).sum();
        let accounts = sum(|entry| usize::from(entry.balance.is_some() || entry.nonce.is_some()));
        let storage = sum(|entry| entry.storage.len());
        let code = sum(|entry| usize::from(entry.code.is_some()));
        write_counts(writer, [accounts, storage, code]);
    }
}

/// The code that an account has now, where it had another one.
fn code_change(old: &Account, new: &Account, writes: &Changeset) -> Option<Bytes> {
    if old.code_hash == new.code_hash {
        return None;
    }
    let made = writes.codes.iter().find(|(hash, _)| *hash == new.code_hash);
    Some(made.map(|(_, code)| code.clone()).unwrap_or_default())
}

fn write_counts(writer: &mut JsonWriter, [account, storage, code]: [u64; 3]) {
    writer.begin_object();
    for (name, count) in [("account", account), ("storage", storage), ("code", code)] {
        writer.key(name).raw(&count.to_string());
    }
    writer.end_object();
}
