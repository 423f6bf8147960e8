//! The namespace `txpool`: what waits in the pool.

use super::{Answer, short};
use crate::json::write_transaction;
use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use hearth_home::{Home, JsonWriter};
use hearth_pool::{AccountQueue, PoolEntry};
use std::{collections::BTreeMap, sync::Arc};

/// Room for a transaction without its input, in bytes.
const TRANSACTION_BYTES: usize = 1024;

/// How many transactions wait.
pub(super) fn status(home: &Home) -> Answer {
    let (state, _) = home.state_at(None)?;
    let status = home.pool().status(&state)?;
    short(|w| {
        w.begin_object().key("pending").quantity(status.pending as u64);
        w.key("queued").quantity(status.queued as u64).end_object()
    })
}

/// All that wait, by account and nonce.
pub(super) fn content(home: &Home) -> Answer {
    by_account(home, whole)
}

/// All that wait, by account and nonce, in words.
pub(super) fn inspect(home: &Home) -> Answer {
    by_account(home, summary)
}

/// Those of one account, by nonce.
pub(super) fn content_from(home: &Home, address: &Address) -> Answer {
    let (state, _) = home.state_at(None)?;
    let queue = home.pool().content(&state, Some(address))?.remove(address).unwrap_or_default();
    let mut left = home.config().rpc.pool_content_max;
    let mut w = JsonWriter::with_capacity(room(&queue));
    w.begin_object();
    by_nonce(w.key("pending"), first(&queue.pending, &mut left), whole);
    by_nonce(w.key("queued"), first(&queue.queued, &mut left), whole);
    w.end_object();
    Ok(w.into_bytes())
}

type WriteEntry = fn(&mut JsonWriter, &PoolEntry);

fn by_account(home: &Home, write: WriteEntry) -> Answer {
    let (state, _) = home.state_at(None)?;
    let queues = home.pool().content(&state, None)?;
    let mut left = home.config().rpc.pool_content_max;
    let mut w = JsonWriter::with_capacity(TRANSACTION_BYTES);
    w.begin_object();
    members(w.key("pending"), &queues, |queue| &queue.pending, &mut left, write);
    members(w.key("queued"), &queues, |queue| &queue.queued, &mut left, write);
    w.end_object();
    Ok(w.into_bytes())
}

fn room(queue: &AccountQueue) -> usize {
    let entries = queue.pending.iter().chain(&queue.queued);
    entries.map(|entry| TRANSACTION_BYTES + entry.bytes * 2).sum()
}

/// Writes those accounts that have any, by their addresses with checksums (EIP-55).
fn members(
    w: &mut JsonWriter,
    queues: &BTreeMap<Address, AccountQueue>,
    part: fn(&AccountQueue) -> &[Arc<PoolEntry>],
    left: &mut usize,
    write: WriteEntry,
) {
    w.begin_object();
    for (address, queue) in queues {
        let entries = first(part(queue), left);
        if !entries.is_empty() {
            by_nonce(w.key(&address.to_checksum(None)), entries, write);
        }
    }
    w.end_object();
}

/// The first of these that the answer has room for.
fn first<'a>(entries: &'a [Arc<PoolEntry>], left: &mut usize) -> &'a [Arc<PoolEntry>] {
    let shown = entries.len().min(*left);
    *left -= shown;
    entries.get(..shown).unwrap_or_default()
}

fn by_nonce(w: &mut JsonWriter, entries: &[Arc<PoolEntry>], write: WriteEntry) {
    w.begin_object();
    for entry in entries {
        write(w.key(&entry.nonce.to_string()), entry);
    }
    w.end_object();
}

fn whole(w: &mut JsonWriter, entry: &PoolEntry) {
    write_transaction(w, &entry.transaction, &entry.hash, &entry.sender, None);
}

/// go-ethereum's line (internal/ethapi/api.go: TxPoolAPI.Inspect): where it goes, and what it
/// costs.
fn summary(w: &mut JsonWriter, entry: &PoolEntry) {
    let to = entry.transaction.to().map_or("contract creation".to_owned(), |to| to.to_checksum(None));
    let (value, gas, price) = (entry.transaction.value(), entry.gas_limit, entry.max_fee);
    w.raw(&format!("\"{to}: {value} wei + {gas} gas × {price} wei\""));
}
