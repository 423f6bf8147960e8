//! What erc7562Tracer shows of a frame beside callTracer's members.

use alloy_primitives::{Address, U256};
use hearth_recorder::json::JsonWriter;
use hearth_recorder::recorder::{Frame, Recorder};
use std::collections::{BTreeMap, BTreeSet};

/// What a frame did itself, its calls apart.
#[derive(Debug, Default)]
pub(crate) struct FrameFacts {
    /// Slots read before they were written, with their values then.
    pub(crate) reads: BTreeMap<U256, U256>,
    /// Number of writes by slot.
    pub(crate) writes: BTreeMap<U256, u64>,
    pub(crate) transient_reads: BTreeMap<U256, u64>,
    pub(crate) transient_writes: BTreeMap<U256, u64>,
    /// Accounts whose code was looked at other than to see whether there is any.
    pub(crate) ext_code_access: Vec<Address>,
    pub(crate) used_opcodes: BTreeMap<u8, u64>,
    /// Size of code in bytes and the first opcode that named the account.
    pub(crate) contract_sizes: BTreeMap<Address, (usize, u8)>,
    pub(crate) out_of_gas: bool,
}

fn separate(json: &mut JsonWriter<'_>, index: usize) {
    if index > 0 {
        json.raw(b",");
    }
}

fn slot(json: &mut JsonWriter<'_>, word: &U256) {
    json.hex_bytes(&word.to_be_bytes::<32>());
}

fn counts(json: &mut JsonWriter<'_>, counts: &BTreeMap<U256, u64>) {
    json.raw(b"{");
    for (i, (key, count)) in counts.iter().enumerate() {
        separate(json, i);
        slot(json, key);
        json.raw(format!(":{count}").as_bytes());
    }
    json.raw(b"}");
}

/// Writes a frame's facts behind other members.
pub(crate) fn facts(json: &mut JsonWriter<'_>, facts: &FrameFacts) {
    json.raw(b",\"accessedSlots\":{\"reads\":{");
    for (i, (key, value)) in facts.reads.iter().enumerate() {
        separate(json, i);
        slot(json, key);
        json.raw(b":[");
        slot(json, value);
        json.raw(b"]");
    }
    json.raw(b"},\"transientReads\":");
    counts(json, &facts.transient_reads);
    json.raw(b",\"transientWrites\":");
    counts(json, &facts.transient_writes);
    json.raw(b",\"writes\":");
    counts(json, &facts.writes);
    json.raw(b"},\"contractSize\":{");
    for (i, (address, (size, opcode))) in facts.contract_sizes.iter().enumerate() {
        separate(json, i);
        json.hex_bytes(address.as_slice());
        json.raw(format!(":{{\"contractSize\":{size},\"opcode\":{opcode}}}").as_bytes());
    }
    json.raw(b"},\"extCodeAccessInfo\":[");
    for (i, address) in facts.ext_code_access.iter().enumerate() {
        separate(json, i);
        json.hex_bytes(address.as_slice());
    }
    json.raw(b"],\"usedOpcodes\":{");
    for (i, (opcode, count)) in facts.used_opcodes.iter().enumerate() {
        separate(json, i);
        json.raw(format!("\"{opcode:#x}\":{count}").as_bytes());
    }
    json.raw(if facts.out_of_gas { b"},\"outOfGas\":true" } else { b"},\"outOfGas\":false" });
}

/// Writes what the transaction hashed, in order, where there is anything.
pub(crate) fn preimages(json: &mut JsonWriter<'_>, preimages: &BTreeSet<Vec<u8>>) {
    if preimages.is_empty() {
        return;
    }
    json.raw(b",\"keccak\":[");
    for (i, preimage) in preimages.iter().enumerate() {
        separate(json, i);
        json.hex_bytes(preimage);
    }
    json.raw(b"]");
}

/// Writes a frame's logs where there are any. The reference leaves their index at zero.
pub(crate) fn logs(json: &mut JsonWriter<'_>, recording: &Recorder, frame: &Frame) {
    let mut any = false;
    for log in recording.logs_of(frame) {
        json.raw(if any { b",{\"address\":" } else { b",\"logs\":[{\"address\":" });
        any = true;
        json.hex_bytes(log.address.as_slice());
        json.raw(b",\"index\":\"0x0\",\"topics\":[");
        for (i, topic) in log.topics().iter().enumerate() {
            separate(json, i);
            json.hex_bytes(topic.as_slice());
        }
        json.raw(b"],\"data\":");
        json.hex_bytes(recording.bytes(log.data));
        json.raw(b",\"position\":");
        json.hex_u64(u64::from(log.position));
        json.raw(b"}");
    }
    if any {
        json.raw(b"]");
    }
}
