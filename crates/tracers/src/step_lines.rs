//! The text of struct logs: one line per step, opened before the instruction and closed after it,
//! and the text around the lines.

use crate::kept_text::{MemoryText, StorageText};
use crate::page_lines::PageLines;
use crate::step_text::{Piece, StackText, Tail, WORD_BYTES, WORD_TEXT_BYTES};
use crate::struct_log_config::StructLogConfig;
use alloy_primitives::{Address, U256};
use hearth_recorder::json::JsonWriter;
use hearth_recorder::opcode::Name;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{MemoryTr, ReturnData};
use revm::primitives::HashMap;
use std::sync::LazyLock;

/// Room for a step's fixed parts: keys, numbers and the name of the instruction, in bytes.
const STEP_BYTES: usize = 256;

/// Words of memory that are written between two checks of the buffer's capacity.
const WORDS_AT_A_TIME: usize = 512;

/// Bytes of text that are copied in one piece; longer ones go out in pieces.
const COPIED_BYTES: usize = 32 * 1024;

type OpText = Piece<64>;

/// `,"op":"…","gas":` of every opcode.
static OP_TEXTS: LazyLock<Box<[OpText; 256]>> = LazyLock::new(|| {
    let text = |opcode: usize| format!(",\"op\":\"{}\",\"gas\":", Name(opcode as u8));
    Box::new(std::array::from_fn(|opcode| Piece::new(text(opcode).as_bytes())))
});

/// Counts of one opcode.
#[derive(Clone, Copy, Default)]
struct OpcodeTotal {
    count: u64,
    gas: u64,
}

/// The lines of one transaction at a time.
pub(crate) struct StepLines {
    config: StructLogConfig,
    op_texts: &'static [OpText; 256],
    stack: StackText,
    memory: MemoryText,
    storage: HashMap<Address, StorageText>,
    /// A step is written up to its cost.
    open: bool,
    /// The limit is reached.
    full: bool,
    first: bool,
    /// `,"depth":…` of the running frame, and what opens its stack.
    depth_text: Piece<32>,
    /// Where the result began, counted in bytes written.
    began_at: u64,
    /// Where the open step began, counted in bytes written.
    step_at: u64,
    /// Bytes of steps so far.
    size: u64,
    totals: Option<Box<[OpcodeTotal; 256]>>,
    /// Which steps are written and how, where they are those of a page.
    page: Option<Box<PageLines>>,
}

impl StepLines {
    pub(crate) fn new(config: StructLogConfig) -> Self {
        Self {
            config,
            op_texts: &OP_TEXTS,
            stack: StackText::default(),
            memory: MemoryText::default(),
            storage: HashMap::default(),
            open: false,
            full: config.limit < 0,
            first: true,
            depth_text: Piece::new(b""),
            began_at: 0,
            step_at: 0,
            size: 0,
            totals: config.summary.then(|| Box::new([OpcodeTotal::default(); 256])),
            page: None,
        }
    }

    /// Lines of a page: only the steps that the page shows are written, each with its place.
    pub(crate) fn of_page(config: StructLogConfig, page: PageLines) -> Self {
        Self { page: Some(Box::new(page)), ..Self::new(config) }
    }

    /// The page that lines are written for.
    #[inline(always)]
    pub(crate) fn page(&mut self) -> Option<&mut PageLines> {
        self.page.as_deref_mut()
    }

    /// Whether the open line is one that its page does not show.
    #[inline(always)]
    fn is_hidden(&self) -> bool {
        self.page.as_ref().is_some_and(|page| !page.is_shown())
    }

    /// Forgets the last transaction and opens the result of the next.
    pub(crate) fn begin(&mut self, json: &mut JsonWriter<'_>) {
        let Self { config, stack, memory, storage, open, full, first, size, totals, .. } = self;
        stack.forget();
        memory.forget();
        storage.clear();
        (*open, *first, *size) = (false, true, 0);
        *full = config.limit < 0;
        if let Some(totals) = totals {
            totals.fill(OpcodeTotal::default());
        }
        self.began_at = json.written();
        if self.page.is_none() {
            json.raw(b"{\"structLogs\":[");
        }
        self.enter(1);
    }

    /// Another frame runs from now on, at this depth; the transaction's own has depth 1.
    pub(crate) fn enter(&mut self, depth: usize) {
        self.stack.forget();
        self.memory.forget();
        let stack = if self.config.stack { ",\"stack\":[" } else { "" };
        self.depth_text = Piece::new(format!(",\"depth\":{depth}{stack}").as_bytes());
    }

    /// Whether there are no more lines: the limit is reached.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether a line is open.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether lines show storage.
    #[inline(always)]
    pub(crate) fn with_storage(&self) -> bool {
        self.config.storage
    }

    /// Memory that is kept from step to step and grows with the transaction, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.storage.values().map(StorageText::size_bytes).sum()
    }

    /// Bytes of the running transaction's result so far.
    pub(crate) fn step_bytes(&self, json: &JsonWriter<'_>) -> u64 {
        json.written().saturating_sub(self.began_at)
    }

    /// Opens a line with the state before the instruction.
    #[inline(always)]
    pub(crate) fn open(
        &mut self,
        json: &mut JsonWriter<'_>,
        interpreter: &Interpreter<EthInterpreter>,
        pc: usize,
        opcode: u8,
        gas: u64,
    ) {
        if let Some(page) = &self.page {
            if page.is_shown() {
                return self.open_in_page(json, interpreter, pc, opcode, gas);
            }
            self.open = true;
            return;
        }
        let stack: &[U256] = interpreter.stack.data();
        let stack_text = if self.config.stack { self.stack.of(stack) } else { &[] };
        let room = STEP_BYTES + stack_text.len();
        if self.config.limit != 0 {
            json.tail(room);
            self.step_at = json.written();
        }
        let mut tail = Tail::new(json.tail(room));
        if self.first {
            self.first = false;
            tail.text(b"{\"pc\":");
        } else {
            tail.text(b",{\"pc\":");
        }
        tail.decimal(pc as u64);
        tail.piece(&self.op_texts[usize::from(opcode)]);
        tail.decimal(gas);
        tail.piece(&self.depth_text);
        if self.config.stack {
            tail.bytes(stack_text);
            tail.text(b"]");
            drop(tail);
            self.stack.apply(opcode);
        } else {
            drop(tail);
        }
        self.open = true;
        if self.config.memory {
            self.memory(json, interpreter);
            self.memory.note(opcode, stack);
        }
        self.return_data(json, interpreter);
    }

    /// Opens a line that its page shows.
    #[cold]
    #[inline(never)]
    fn open_in_page(
        &mut self,
        json: &mut JsonWriter<'_>,
        interpreter: &Interpreter<EthInterpreter>,
        pc: usize,
        opcode: u8,
        gas: u64,
    ) {
        self.open = true;
        let Some(page) = self.page.as_deref() else { return };
        page.place(json, std::mem::take(&mut self.first));
        let stack = page.stack(interpreter.stack.data());
        self.stack.forget();
        let stack_text = if self.config.stack { self.stack.of(stack) } else { &[] };
        let mut tail = Tail::new(json.tail(STEP_BYTES + stack_text.len()));
        tail.text(b"\"pc\":");
        tail.decimal(pc as u64);
        tail.piece(&self.op_texts[usize::from(opcode)]);
        tail.decimal(gas);
        tail.piece(&self.depth_text);
        if self.config.stack {
            tail.bytes(stack_text);
            tail.text(b"]");
        }
        drop(tail);
        page.sizes_and_memory(json, interpreter, self.config.stack);
        self.return_data(json, interpreter);
    }

    #[inline(always)]
    fn return_data(&self, json: &mut JsonWriter<'_>, interpreter: &Interpreter<EthInterpreter>) {
        if self.config.return_data {
            let data = interpreter.return_data.buffer();
            if !data.is_empty() {
                json.raw(b",\"returnData\":");
                json.hex_bytes(data);
            }
        }
    }

    #[inline(never)]
    fn memory(&mut self, json: &mut JsonWriter<'_>, interpreter: &Interpreter<EthInterpreter>) {
        let size = interpreter.memory.size();
        if size == 0 {
            return;
        }
        let memory = interpreter.memory.slice(0..size);
        let (words, _) = memory.as_chunks::<WORD_BYTES>();
        json.raw(b",\"memory\":[");
        match self.memory.of(words) {
            Some(text) => text.chunks(COPIED_BYTES).for_each(|piece| json.raw(piece)),
            None => {
                let mut first = true;
                for group in words.chunks(WORDS_AT_A_TIME) {
                    let mut tail = Tail::new(json.tail(group.len() * WORD_TEXT_BYTES + STEP_BYTES));
                    for word in group {
                        if !first {
                            tail.text(b",");
                        }
                        first = false;
                        tail.word(word);
                    }
                }
            }
        }
        json.raw(b"]");
    }

    /// Adds a slot to what the contract has touched, and all of that to the open line.
    pub(crate) fn storage(&mut self, json: &mut JsonWriter<'_>, contract: Address, slot: U256, value: U256) {
        let hidden = self.is_hidden();
        let text = self.storage.entry(contract).or_default();
        text.set(slot, value);
        if hidden {
            return;
        }
        json.raw(b",\"storage\":{");
        json.raw(text.entries());
        json.raw(b"}");
    }

    /// Adds to the open line why the instruction could not be paid for.
    pub(crate) fn error(&mut self, json: &mut JsonWriter<'_>, text: &str) {
        if !self.is_hidden() {
            json.raw(b",\"error\":");
            json.string(text);
        }
    }

    /// Closes the open line with what the instruction cost.
    #[inline(always)]
    pub(crate) fn close(&mut self, json: &mut JsonWriter<'_>, cost: u64, refund: i64) {
        if let Some(page) = &mut self.page {
            page.note_cost(cost);
            if !page.is_shown() {
                self.open = false;
                return;
            }
        }
        let mut tail = Tail::new(json.tail(STEP_BYTES));
        if refund > 0 {
            tail.text(b",\"refund\":");
            tail.decimal(refund as u64);
        }
        tail.text(b",\"gasCost\":");
        tail.decimal(cost);
        tail.text(b"}");
        drop(tail);
        self.open = false;
        if self.config.limit != 0 {
            // The comma before a step is none of its bytes.
            let comma = u64::from(self.size > 0);
            self.size += json.written() - self.step_at - comma;
            self.full = self.size as i64 > self.config.limit;
        }
    }

    /// Counts an instruction for the summary.
    #[inline(always)]
    pub(crate) fn count(&mut self, opcode: u8, cost: u64) {
        if let Some(totals) = &mut self.totals {
            let total = &mut totals[usize::from(opcode)];
            total.count += 1;
            total.gas = total.gas.saturating_add(cost);
        }
    }

    /// Closes the lines and writes the totals. `output` is the part of the return data that the
    /// result shows.
    pub(crate) fn end(&mut self, json: &mut JsonWriter<'_>, gas_used: u64, failed: bool, output: &[u8]) {
        json.raw(b"],\"gas\":");
        Tail::new(json.tail(STEP_BYTES)).decimal(gas_used);
        json.raw(if failed { b",\"failed\":true" } else { b",\"failed\":false" });
        json.raw(b",\"returnValue\":");
        json.hex_bytes(output);
        self.summary(json);
        json.raw(b"}");
    }

    fn summary(&self, json: &mut JsonWriter<'_>) {
        let Some(totals) = &self.totals else { return };
        json.raw(b",\"summary\":{");
        let mut first = true;
        for (opcode, total) in (0..=u8::MAX).zip(totals.iter()).filter(|(_, total)| total.count > 0) {
            let comma = if first { "" } else { "," };
            first = false;
            let OpcodeTotal { count, gas } = total;
            let name = Name(opcode);
            let text = format!("{comma}\"{name}\":{{\"count\":{count},\"totalGas\":{gas}}}");
            json.raw(text.as_bytes());
        }
        json.raw(b"}");
    }

    /// Closes the line that is open where the transaction did not come to its end.
    pub(crate) fn close_cut(&mut self, json: &mut JsonWriter<'_>) {
        if std::mem::take(&mut self.open) && !self.is_hidden() {
            json.raw(b"}");
        }
    }

    /// Closes what is open where the transaction did not come to its end.
    pub(crate) fn cut_short(&mut self, json: &mut JsonWriter<'_>) {
        self.close_cut(json);
        json.raw(b"]}");
    }
}
