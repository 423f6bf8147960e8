//! The lines of a page: which steps of an execution are written, and what they have beside a struct
//! log.

use crate::step_text::{Tail, WORD_BYTES, WORD_TEXT_BYTES};
use alloy_primitives::U256;
use hearth_recorder::json::JsonWriter;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::MemoryTr;

/// Longest text of a line's place, in bytes: keys and two numbers.
const PLACE_BYTES: usize = 96;

/// What a page shows.
#[derive(Debug, Default)]
pub(crate) struct PageLines {
    /// Index and frame of the running step, where it is shown.
    shown: Option<(u64, u32)>,
    /// Items of the stack, from its top; all where absent.
    stack_top: Option<usize>,
    /// Offset and length of the memory, in bytes.
    memory: Option<(u64, u64)>,
    /// What the step that was closed last cost, shown or not.
    cost: u64,
}

impl PageLines {
    /// The lines of a page with so many items of the stack, all where absent, and this window of
    /// memory.
    pub(crate) fn new(stack_top: Option<usize>, memory: Option<(u64, u64)>) -> Self {
        Self { stack_top, memory, ..Self::default() }
    }

    /// Whether the running step is written.
    #[inline(always)]
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Says whether the next step is written, with its index and frame.
    #[inline(always)]
    pub(crate) fn show(&mut self, shown: Option<(u64, u32)>) {
        self.shown = shown;
    }

    /// Notes what the running step cost.
    #[inline(always)]
    pub(crate) fn note_cost(&mut self, cost: u64) {
        self.cost = cost;
    }

    /// What the last step cost, as struct logs give it.
    #[inline(always)]
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Opens a line with its place: `{"index":…,"frame":…,`.
    pub(crate) fn place(&self, json: &mut JsonWriter<'_>, first: bool) {
        let Some((index, frame)) = self.shown else { return };
        let mut tail = Tail::new(json.tail(PLACE_BYTES));
        if !first {
            tail.text(b",");
        }
        tail.text(b"{\"index\":");
        tail.decimal(index);
        tail.text(b",\"frame\":");
        tail.decimal(u64::from(frame));
        tail.text(b",");
    }

    /// The part of the stack that is shown, the top last.
    pub(crate) fn stack<'s>(&self, stack: &'s [U256]) -> &'s [U256] {
        let shown = self.stack_top.unwrap_or(usize::MAX).min(stack.len());
        &stack[stack.len() - shown..]
    }

    /// Writes the size of the stack where only its top is shown, and the words of memory that
    /// overlap the window.
    pub(crate) fn sizes_and_memory(
        &self,
        json: &mut JsonWriter<'_>,
        interpreter: &Interpreter<EthInterpreter>,
        with_stack: bool,
    ) {
        if with_stack && self.stack_top.is_some() {
            json.raw(b",\"stackSize\":");
            Tail::new(json.tail(PLACE_BYTES)).decimal(interpreter.stack.len() as u64);
        }
        let Some((offset, length)) = self.memory else { return };
        let size = interpreter.memory.size();
        let word = WORD_BYTES as u64;
        let start = (offset / word * word).min(size as u64) as usize;
        let end = offset.saturating_add(length).min(size as u64).next_multiple_of(word) as usize;
        if start < end {
            let memory = interpreter.memory.slice(start..end);
            let (words, _) = memory.as_chunks::<WORD_BYTES>();
            json.raw(b",\"memory\":[");
            for (at, word) in words.iter().enumerate() {
                let mut tail = Tail::new(json.tail(WORD_TEXT_BYTES));
                if at > 0 {
                    tail.text(b",");
                }
                tail.word(word);
            }
            json.raw(b"]");
        }
        json.raw(b",\"memorySize\":");
        Tail::new(json.tail(PLACE_BYTES)).decimal(size as u64);
    }
}
