//! Memory, return data and storage of steps as JSON. The text is kept from step to step, and only
//! changed parts are written again.

use crate::step_text::{Tail, WORD_BYTES, WORD_DIGITS, WORD_TEXT_BYTES, word_digits};
use alloy_primitives::U256;
use revm::bytecode::opcode as op;

/// Words of memory whose text is kept; the text of a larger memory is written from scratch for each
/// step. 1 MiB of memory is 2.2 MiB of text.
pub(crate) const KEPT_WORDS: usize = 32 * 1024;

/// Length of an entry of storage: two quoted words with `0x`, a colon and a comma.
const SLOT_TEXT_BYTES: usize = 2 * (WORD_DIGITS + 4) + 2;

/// Where the digits of the value begin in an entry of storage.
const SLOT_VALUE_AT: usize = WORD_DIGITS + 4 + 1 + 3;

/// The memory of the running frame as text.
#[derive(Debug, Default)]
pub(crate) struct MemoryText {
    text: Vec<u8>,
    /// Words in the text.
    words: usize,
    /// Words that may have changed since, from the first to before the last.
    changed: (usize, usize),
}

impl MemoryText {
    /// Another frame runs now, or the running one was written to by the one below it.
    pub(crate) fn forget(&mut self) {
        self.words = 0;
        self.text.clear();
        self.changed = (0, 0);
    }

    /// Records what an instruction will change; `stack` is the stack before it.
    #[inline(always)]
    pub(crate) fn note(&mut self, opcode: u8, stack: &[U256]) {
        let size_at = match opcode {
            op::MSTORE | op::MSTORE8 => 0,
            op::CALLDATACOPY | op::CODECOPY | op::RETURNDATACOPY | op::MCOPY => 3,
            op::EXTCODECOPY => 4,
            _ => return,
        };
        let item = |depth: usize| {
            let item = stack.len().checked_sub(depth).and_then(|at| stack.get(at))?;
            usize::try_from(*item).ok()
        };
        // What does not fit cannot be paid for, and ends the frame.
        let (offset, bytes) = match size_at {
            0 => (item(1), Some(if opcode == op::MSTORE { WORD_BYTES } else { 1 })),
            3 => (item(1), item(3)),
            _ => (item(2), item(4)),
        };
        let (Some(offset), Some(bytes)) = (offset, bytes) else { return };
        if bytes > 0 {
            self.changed = (offset / WORD_BYTES, offset.saturating_add(bytes).div_ceil(WORD_BYTES));
        }
    }

    /// The words of this memory, without brackets; `None` where it is too large to be kept.
    #[inline]
    pub(crate) fn of(&mut self, memory: &[[u8; WORD_BYTES]]) -> Option<&[u8]> {
        if memory.len() > KEPT_WORDS {
            self.forget();
            return None;
        }
        let (first, last) = std::mem::take(&mut self.changed);
        let last = last.min(self.words);
        for (index, word) in memory.iter().enumerate().take(last).skip(first) {
            let at = index * WORD_TEXT_BYTES + 3;
            self.text[at..at + WORD_DIGITS].copy_from_slice(&word_digits(word));
        }
        self.text.reserve((memory.len() - self.words) * WORD_TEXT_BYTES);
        let mut tail = Tail::new(&mut self.text);
        for word in &memory[self.words..] {
            tail.word(word);
            tail.text(b",");
        }
        drop(tail);
        self.words = memory.len();
        self.text.strip_suffix(b",")
    }
}

/// The slots of one contract that were seen, as text in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct StorageText {
    text: Vec<u8>,
    positions: std::collections::HashMap<U256, usize, alloy_primitives::map::DefaultHashBuilder>,
}

impl StorageText {
    /// Sets a slot.
    pub(crate) fn set(&mut self, slot: U256, value: U256) {
        let next = self.text.len();
        let at = *self.positions.entry(slot).or_insert(next);
        if at == next {
            let mut tail = Tail::new(&mut self.text);
            tail.word(&slot.to_be_bytes());
            tail.text(b":");
            tail.word(&value.to_be_bytes());
            tail.text(b",");
            return;
        }
        let digits = word_digits(&value.to_be_bytes());
        self.text[at + SLOT_VALUE_AT..at + SLOT_VALUE_AT + WORD_DIGITS].copy_from_slice(&digits);
    }

    /// The entries, without braces.
    pub(crate) fn entries(&self) -> &[u8] {
        self.text.strip_suffix(b",").unwrap_or_default()
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.text.len() / SLOT_TEXT_BYTES * (SLOT_TEXT_BYTES + size_of::<(U256, usize)>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_same_whatever_was_kept() {
        let mut cache = MemoryText::default();
        let mut memory: Vec<[u8; WORD_BYTES]> = Vec::new();
        let mut seed = 1u64;
        for step in 0..3_000u32 {
            let want: Vec<String> =
                memory.iter().map(|w| format!("\"0x{}\"", alloy_primitives::hex::encode(w))).collect();
            let text = cache.of(&memory).unwrap_or_default();
            assert_eq!(String::from_utf8(text.to_vec()).unwrap(), want.join(","), "step {step}");
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (offset, size) = ((seed >> 50) as usize % 200, (seed >> 40) as usize % 70);
            let (top, length) = (U256::from(offset), U256::from(size));
            let (opcode, bytes, stack) = match seed >> 61 {
                0 | 1 => (op::MSTORE, WORD_BYTES, vec![U256::ZERO, top]),
                2 => (op::MSTORE8, 1, vec![U256::ZERO, top]),
                3 => (op::MCOPY, size, vec![length, U256::ZERO, top]),
                4 => (op::EXTCODECOPY, size, vec![length, U256::ZERO, top, U256::MAX]),
                5 => (op::ADD, 0, vec![U256::MAX; 2]),
                6 => (op::MLOAD, 0, vec![top]),
                _ => {
                    cache.forget();
                    memory.truncate(offset % 4);
                    continue;
                }
            };
            cache.note(opcode, &stack);
            let touched = if opcode == op::MLOAD { offset + WORD_BYTES } else { offset + bytes };
            if bytes > 0 || opcode == op::MLOAD {
                memory.resize(memory.len().max(touched.div_ceil(WORD_BYTES)), [0; WORD_BYTES]);
            }
            for at in offset..offset + bytes {
                memory[at / WORD_BYTES][at % WORD_BYTES] = (seed >> (at % 32)) as u8;
            }
        }
    }

    #[test]
    fn a_large_memory_is_not_kept() {
        let mut cache = MemoryText::default();
        assert_eq!(
            cache.of(&vec![[7; WORD_BYTES]; KEPT_WORDS]).map(<[u8]>::len),
            Some(KEPT_WORDS * WORD_TEXT_BYTES - 1)
        );
        assert!(cache.of(&vec![[7; WORD_BYTES]; KEPT_WORDS + 1]).is_none());
        cache.note(op::MSTORE, &[U256::MAX]);
        assert_eq!(cache.of(&[[0; WORD_BYTES]]).map(<[u8]>::len), Some(WORD_TEXT_BYTES - 1));
    }

    #[test]
    fn storage_keeps_its_order_and_takes_new_values() {
        let mut storage = StorageText::default();
        assert_eq!(storage.entries(), b"");
        storage.set(U256::from(1), U256::MAX);
        storage.set(U256::MAX, U256::ZERO);
        storage.set(U256::from(1), U256::from(0xab));
        let json = format!("{{{}}}", String::from_utf8(storage.entries().to_vec()).unwrap());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 2);
        assert_eq!(value[format!("0x{:064x}", 1)], format!("0x{:064x}", 0xab));
        assert_eq!(value[format!("0x{}", "f".repeat(64))], format!("0x{:064x}", 0));
    }
}
