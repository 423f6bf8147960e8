//! `debug_storageRangeAt`: an account's storage in the order of the trie, page by page.

use super::Answer;
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_home::{BlockNumber, BlockRef, JsonWriter};
use hearth_tracers::Cancel;
use hearth_traces::{CallSite, Traces};

/// Most slots of one answer; `nextKey` continues behind them.
pub const MAX_SLOTS: usize = 10_000;

/// The request.
pub(super) struct StoragePage<'a> {
    pub block: BlockRef,
    /// Before this transaction of the block.
    pub tx_index: u64,
    pub address: Address,
    /// Where the page begins among the hashed slots, compared byte by byte; often a prefix.
    pub start: &'a [u8],
    pub max_slots: usize,
}

pub(super) fn at(traces: &Traces, range: &StoragePage<'_>, stop: &Cancel) -> Answer {
    let block = match range.block {
        BlockRef::Number(BlockNumber::Pending) => BlockRef::latest(),
        block => block,
    };
    let site = CallSite::find(traces.home(), block, Some(range.tx_index), |_| Ok(()))?;
    let mut slots: Vec<(B256, U256, U256)> = site
        .storage_of(traces, range.address, stop)?
        .into_iter()
        .map(|(slot, value)| (keccak256(slot.to_be_bytes::<32>()), slot, value))
        .collect();
    let empty = slots.is_empty();
    slots.retain(|(hashed, ..)| hashed.as_slice() >= range.start);
    let page = range.max_slots.min(MAX_SLOTS);
    if slots.len() > page + 1 {
        slots.select_nth_unstable(page);
        slots.truncate(page + 1);
    }
    slots.sort_unstable();
    Ok(render(&slots, page, empty))
}

/// `{"storage":{hashed slot:{"key":slot,"value":value}},"nextKey":hashed slot or null}`; `storage`
/// is null if the account has no storage.
fn render(slots: &[(B256, U256, U256)], page: usize, empty: bool) -> Vec<u8> {
    let mut writer = JsonWriter::default();
    writer.begin_object().key("storage");
    if empty {
        writer.null();
    } else {
        writer.begin_object();
        for (hashed, slot, value) in slots.iter().take(page) {
            writer.hash_key(hashed).begin_object();
            writer.key("key").bytes(&slot.to_be_bytes::<32>());
            writer.key("value").bytes(&value.to_be_bytes::<32>());
            writer.end_object();
        }
        writer.end_object();
    }
    writer.key("nextKey");
    match slots.get(page) {
        Some((next, ..)) => writer.bytes(next.as_slice()),
        None => writer.null(),
    };
    writer.end_object();
    writer.into_bytes()
}
