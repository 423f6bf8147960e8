//! Recorded steps in columns, and the events between them, packed for the process that runs the
//! script.
//!
//! A chunk is a header of 32 bytes (u32 steps, events, words, fields, bytes of events, flags; 8
//! zeros), one column per field, each at a multiple of 8, and the events. Numbers are little
//! endian; words and addresses are in the EVM's byte order.

use crate::fields::Fields;
use crate::message::{HEADER_BYTES, put_header, to};
use alloy_primitives::U256;

/// Steps of a chunk at most.
pub(crate) const CHUNK_STEPS: usize = 64 * 1024;

/// Bytes at which a chunk is sent; one event more may still be in it.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// Bytes of a chunk's header.
const CHUNK_HEADER_BYTES: usize = 32;

/// Bytes of a word.
const WORD_BYTES: usize = 32;

/// Flag of a chunk: an answer is wanted once it was replayed.
pub(crate) const ACK: u32 = 1;

/// Kinds of events.
pub(crate) mod event {
    pub const ENTER: u8 = 1;
    pub const EXIT: u8 = 2;
    pub const FAULT: u8 = 3;
    pub const MEMORY: u8 = 4;
    pub const ACCOUNT: u8 = 5;
    pub const SLOT: u8 = 6;
    pub const CODE: u8 = 7;
    pub const WIPED: u8 = 8;
    pub const STEP_ERROR: u8 = 9;
}

/// The chunk under construction. Columns have capacity for [`Chunk::most`] steps; those of absent
/// fields have none.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub fields: Fields,
    /// Steps that there is room for.
    pub most: usize,
    /// Steps so far.
    pub steps: usize,
    pub op: Vec<u8>,
    pub pc: Vec<u32>,
    pub gas: Vec<f64>,
    pub cost: Vec<f64>,
    pub depth: Vec<u16>,
    pub refund: Vec<f64>,
    pub keep: Vec<u16>,
    pub pushed: Vec<u8>,
    pub memory: Vec<u32>,
    words: Vec<u8>,
    events: Vec<u8>,
    event_count: u32,
}

fn room<T: Clone + Default>(column: &mut Vec<T>, wanted: bool, steps: usize) {
    column.clear();
    if wanted {
        column.resize(steps, T::default());
    }
}

/// Appends numbers, aligned.
macro_rules! put_column {
    ($out:expr, $start:expr, $column:expr, $steps:expr) => {
        align($out, $start);
        for value in &$column[..$steps] {
            $out.extend_from_slice(&value.to_le_bytes());
        }
    };
}

/// Appends zeros up to a multiple of 8 from the payload's start.
fn align(out: &mut Vec<u8>, start: usize) {
    let length = (out.len() - start).next_multiple_of(8);
    out.resize(start + length, 0);
}

impl Chunk {
    /// Forgets everything and makes room for these fields.
    pub fn begin(&mut self, fields: Fields) {
        let has = |field| fields.has(field);
        let memory = has(Fields::MEMLEN | Fields::MEMORY);
        let widths = [
            (has(Fields::OP), 1),
            (has(Fields::PC), 4),
            (has(Fields::GAS), 8),
            (has(Fields::COST), 8),
            (has(Fields::DEPTH), 2),
            (has(Fields::REFUND), 8),
            (has(Fields::STACK), 3),
            (memory, 4),
        ];
        let width: usize = widths.iter().filter(|(has, _)| *has).map(|(_, bytes)| bytes).sum();
        let most = CHUNK_STEPS.min(CHUNK_BYTES / width.max(1));
        if self.fields != fields || self.most != most {
            room(&mut self.op, has(Fields::OP), most);
            room(&mut self.pc, has(Fields::PC), most);
            room(&mut self.gas, has(Fields::GAS), most);
            room(&mut self.cost, has(Fields::COST), most);
            room(&mut self.depth, has(Fields::DEPTH), most);
            room(&mut self.refund, has(Fields::REFUND), most);
            room(&mut self.keep, has(Fields::STACK), most);
            room(&mut self.pushed, has(Fields::STACK), most);
            room(&mut self.memory, memory, most);
        }
        (self.fields, self.most) = (fields, most);
        self.clear();
    }

    /// Forgets steps and events.
    pub fn clear(&mut self) {
        self.steps = 0;
        self.event_count = 0;
        self.words.clear();
        self.events.clear();
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.steps == 0 && self.event_count == 0
    }

    /// Whether what has no fixed size has outgrown a chunk.
    #[inline(always)]
    pub fn is_large(&self) -> bool {
        self.words.len() + self.events.len() > CHUNK_BYTES
    }

    /// Memory in use, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.words.len() + self.events.len() + self.most * size_of::<f64>()
    }

    /// Appends a word of the stack.
    #[inline(always)]
    pub fn word(&mut self, word: &U256) {
        self.words.extend_from_slice(&word.to_be_bytes::<WORD_BYTES>());
    }

    /// Appends an event that happened before the next step.
    pub fn event(&mut self, kind: u8, parts: &[&[u8]]) {
        self.event_at(self.steps, kind, parts);
    }

    /// Appends an event of a step of this chunk.
    pub fn event_at(&mut self, at: usize, kind: u8, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.events.extend_from_slice(&(at as u32).to_le_bytes());
        self.events.extend_from_slice(&[kind, 0, 0, 0]);
        self.events.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        for part in parts {
            self.events.extend_from_slice(part);
        }
        let padded = self.events.len().next_multiple_of(4);
        self.events.resize(padded, 0);
        self.event_count += 1;
    }

    /// Appends the chunk as a message and forgets what is in it.
    pub fn send(&mut self, out: &mut Vec<u8>, flags: u32) {
        let head = out.len();
        put_header(out, to::STEPS, 0);
        let start = out.len();
        let words = self.words.len() / WORD_BYTES;
        let numbers = [
            self.steps as u32,
            self.event_count,
            words as u32,
            self.fields.0,
            self.events.len() as u32,
            flags,
        ];
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        out.resize(start + CHUNK_HEADER_BYTES, 0);
        self.put_columns(out, start);
        align(out, start);
        out.extend_from_slice(&self.events);
        let length = out.len() - start;
        out[head..head + 4].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        debug_assert_eq!(start - head, HEADER_BYTES);
        self.clear();
    }

    fn put_columns(&self, out: &mut Vec<u8>, start: usize) {
        let steps = self.steps;
        let has = |field| self.fields.has(field);
        if has(Fields::OP) {
            align(out, start);
            out.extend_from_slice(&self.op[..steps]);
        }
        if has(Fields::PC) {
            put_column!(out, start, self.pc, steps);
        }
        if has(Fields::GAS) {
            put_column!(out, start, self.gas, steps);
        }
        if has(Fields::COST) {
            put_column!(out, start, self.cost, steps);
        }
        if has(Fields::DEPTH) {
            put_column!(out, start, self.depth, steps);
        }
        if has(Fields::REFUND) {
            put_column!(out, start, self.refund, steps);
        }
        if has(Fields::STACK) {
            put_column!(out, start, self.keep, steps);
            align(out, start);
            out.extend_from_slice(&self.pushed[..steps]);
            align(out, start);
            out.extend_from_slice(&self.words);
        }
        if has(Fields::MEMLEN | Fields::MEMORY) {
            put_column!(out, start, self.memory, steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_chunk_is_columns_at_multiples_of_eight() {
        let mut chunk = Chunk::default();
        chunk.begin(Fields::STEP | Fields::OP | Fields::PC | Fields::STACK | Fields::MEMLEN);
        chunk.event(event::WIPED, &[&[1; 3], &[2; 2]]);
        for step in 0..3u8 {
            let at = usize::from(step);
            chunk.op[at] = 0x60 + step;
            chunk.pc[at] = u32::from(step) * 2;
            (chunk.keep[at], chunk.pushed[at], chunk.memory[at]) = (u16::from(step), 1, 64);
            chunk.word(&U256::from(step));
            chunk.steps += 1;
        }
        let mut out = vec![0xee; 5];
        chunk.send(&mut out, ACK);
        let message = &out[5..];
        assert_eq!((u32_at(message, 0) as usize, message[4]), (message.len() - 8, to::STEPS));
        let payload = &message[8..];
        let numbers: Vec<u32> = (0..6).map(|i| u32_at(payload, 4 * i)).collect();
        assert_eq!(numbers, [3, 1, 3, chunk.fields.0, 20, ACK]);
        assert_eq!(&payload[32..35], &[0x60, 0x61, 0x62]);
        assert_eq!([u32_at(payload, 40), u32_at(payload, 44), u32_at(payload, 48)], [0, 2, 4]);
        assert_eq!(&payload[56..62], &[0, 0, 1, 0, 2, 0], "keep");
        assert_eq!(&payload[64..67], &[1, 1, 1], "pushed");
        assert_eq!((payload[72 + 31], payload[72 + 63], payload[72 + 95]), (0, 1, 2), "words");
        assert_eq!(u32_at(payload, 168), 64);
        let events = &payload[184..];
        assert_eq!(events, &[0, 0, 0, 0, event::WIPED, 0, 0, 0, 5, 0, 0, 0, 1, 1, 1, 2, 2, 0, 0, 0]);
        assert!(chunk.is_empty());
    }

    #[test]
    fn the_room_for_steps_follows_their_width() {
        let mut chunk = Chunk::default();
        chunk.begin(Fields::STEP);
        assert_eq!((chunk.most, chunk.op.len()), (CHUNK_STEPS, 0));
        chunk.begin(Fields::STEP | Fields::GAS | Fields::COST);
        assert_eq!((chunk.most, chunk.gas.len()), (CHUNK_BYTES / 16, CHUNK_BYTES / 16));
    }
}
