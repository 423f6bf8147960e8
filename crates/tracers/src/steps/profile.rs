//! `debug_traceGasProfile`: what steps cost, by code and place, by opcode or by frame, and by
//! stacks of functions.
//!
//! ```text
//! { "by", "steps", "executionGas", "stepsGas",
//!   "codes"?: [{"hash", "init", "addresses"}, …], "rows", "rowsOmitted"?,
//!   "framesOmitted"?, "stacks"?: [[parent, code, pc, count, gas], …] }
//! ```
//!
//! The gas of a step is its own (see `walk::StepEnd::own`), so that all of them sum to `stepsGas`.
//! What is left of `executionGas`, the gas of the outermost frames, went to precompiled contracts
//! and to deposits of code.

use super::gas::{ByFrame, ByPc, Codes, StepTotal};
use super::request::{GasBy, ProfileRequest};
use super::stacks::Stacks;
use super::walk::{At, NOTHING, StepEnd, Visitor, accounts, walk};
use crate::page_lines::PageLines;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::opcode::Name;
use hearth_recorder::recorder::NONE;
use revm::interpreter::Interpreter;

/// The profile of one execution or of several, added up.
pub(crate) struct Profile<'a> {
    request: &'a ProfileRequest,
    total: StepTotal,
    execution_gas: u64,
    codes: Codes,
    /// Places of the codes of the open frames; [`NONE`] where none runs.
    running: Vec<u32>,
    by_pc: ByPc,
    by_opcode: Box<[StepTotal; 256]>,
    by_frame: ByFrame,
    stacks: Stacks,
}

impl<'a> Profile<'a> {
    pub(crate) fn new(request: &'a ProfileRequest) -> Self {
        Self {
            request,
            total: StepTotal::default(),
            execution_gas: 0,
            codes: Codes::default(),
            running: Vec::new(),
            by_pc: ByPc::default(),
            by_opcode: Box::new([StepTotal::default(); 256]),
            by_frame: ByFrame::default(),
            stacks: Stacks::default(),
        }
    }

    /// Executes the transaction that was sought and adds it. Nothing is written.
    pub(crate) fn add<R: Replay>(
        &mut self,
        replay: &mut R,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        self.running.clear();
        self.stacks.restart();
        walk(replay, (NOTHING, PageLines::default()), self, limits, json).map(drop)
    }

    /// Whether the profile has codes.
    fn with_codes(&self) -> bool {
        self.request.by == GasBy::Pc || self.request.marks.is_some()
    }

    #[inline(always)]
    fn code(&self) -> u32 {
        self.running.last().copied().unwrap_or(NONE)
    }

    /// Whether a jump enters a function (`true`) or leaves one.
    fn mark(&self, code: u32, pc: u32) -> Option<bool> {
        let code = self.codes.list.get(code as usize)?;
        self.request.marks.as_ref()?.get(&(code.hash, code.init))?.get(&pc).copied()
    }

    pub(crate) fn render(&self, json: &mut JsonWriter<'_>) {
        let by = match self.request.by {
            GasBy::Pc => "pc",
            GasBy::Opcode => "opcode",
            GasBy::Frame => "frame",
        };
        let (StepTotal { count, gas }, execution) = (self.total, self.execution_gas);
        let head =
            format!("{{\"by\":\"{by}\",\"steps\":{count},\"executionGas\":{execution},\"stepsGas\":{gas}");
        json.raw(head.as_bytes());
        if self.with_codes() {
            self.write_codes(json);
        }
        json.raw(b",\"rows\":[");
        let omitted = match self.request.by {
            GasBy::Pc => {
                list(
                    json,
                    self.by_pc.sorted().into_iter().map(|(code, pc, opcode, total)| {
                        let StepTotal { count, gas } = total;
                        format!("[{code},{pc},\"{}\",{count},{gas}]", Name(opcode))
                    }),
                );
                self.by_pc.omitted
            }
            GasBy::Opcode => {
                let rows = (0..=u8::MAX).zip(self.by_opcode.iter()).filter(|(_, total)| total.count > 0);
                list(
                    json,
                    rows.map(|(opcode, total)| {
                        format!("[\"{}\",{},{}]", Name(opcode), total.count, total.gas)
                    }),
                );
                StepTotal::default()
            }
            GasBy::Frame => {
                let rows = self.by_frame.rows.iter();
                list(json, rows.map(|row| format!("[{},{},{}]", row.steps, row.own(), row.used)));
                self.by_frame.omitted
            }
        };
        json.raw(b"]");
        if omitted != StepTotal::default() {
            let StepTotal { count, gas } = omitted;
            json.raw(format!(",\"rowsOmitted\":{{\"count\":{count},\"gas\":{gas}}}").as_bytes());
        }
        if self.by_frame.more > 0 {
            json.raw(format!(",\"framesOmitted\":{}", self.by_frame.more).as_bytes());
        }
        if self.request.marks.is_some() {
            json.raw(b",\"stacks\":[");
            list(
                json,
                self.stacks.functions.iter().map(|function| {
                    let super::stacks::Function { parent, code, pc, count, gas } = function;
                    match *parent {
                        NONE => format!("[null,{code},{pc},{count},{gas}]"),
                        parent => format!("[{parent},{code},{pc},{count},{gas}]"),
                    }
                }),
            );
            json.raw(b"]");
        }
        json.raw(b"}");
    }

    fn write_codes(&self, json: &mut JsonWriter<'_>) {
        json.raw(b",\"codes\":[");
        list(
            json,
            self.codes.list.iter().map(|code| {
                let addresses: Vec<String> =
                    code.addresses.iter().map(|address| format!("\"{address:#x}\"")).collect();
                let (hash, init, addresses) = (code.hash, code.init, addresses.join(","));
                format!("{{\"hash\":\"{hash:#x}\",\"init\":{init},\"addresses\":[{addresses}]}}")
            }),
        );
        json.raw(b"]");
    }
}

/// Writes elements with commas between.
fn list(json: &mut JsonWriter<'_>, elements: impl Iterator<Item = String>) {
    for (place, element) in elements.enumerate() {
        json.raw(if place > 0 { b"," } else { b"" });
        json.raw(element.as_bytes());
    }
}

impl Visitor for Profile<'_> {
    #[inline(always)]
    fn before(&mut self, at: &At, _: &Interpreter, _: &mut PageLines) -> bool {
        if self.request.marks.is_some() {
            self.stacks.before(self.code(), at.pc as u32);
        }
        true
    }

    #[inline(always)]
    fn after(&mut self, at: &At, end: StepEnd, _: u64) {
        self.total.add(end.own);
        let (code, pc) = (self.code(), at.pc as u32);
        match self.request.by {
            GasBy::Pc => self.by_pc.add(code, pc, at.opcode, end.own),
            GasBy::Opcode => self.by_opcode[usize::from(at.opcode)].add(end.own),
            GasBy::Frame => self.by_frame.add(at.frame),
        }
        if self.request.marks.is_some() {
            self.stacks.add(end.own);
            if let Some(enters) = self.mark(code, pc) {
                self.stacks.jumped(enters);
            }
        }
    }

    fn enter(&mut self, number: u32, _: Option<u32>, _: usize) {
        self.running.push(NONE);
        if self.request.by == GasBy::Frame {
            self.by_frame.enter(number);
        }
        if self.request.marks.is_some() {
            self.stacks.enter_frame();
        }
    }

    fn enter_code(&mut self, interpreter: &mut Interpreter, creates: bool) {
        if !self.with_codes() {
            return;
        }
        let hash = interpreter.bytecode.get_or_calculate_hash();
        let (account, code) = accounts(interpreter);
        let place = self.codes.place(hash, creates, code.filter(|_| !creates).unwrap_or(account));
        if let Some(running) = self.running.last_mut() {
            *running = place;
        }
        if self.request.marks.is_some() {
            self.stacks.enter_code(place);
        }
    }

    fn leave(&mut self, number: u32, gas_used: u64) {
        self.running.pop();
        if number == 0 {
            self.execution_gas += gas_used;
        }
        if self.request.by == GasBy::Frame {
            self.by_frame.leave(gas_used);
        }
        if self.request.marks.is_some() {
            self.stacks.leave_frame();
        }
    }

    fn size_bytes(&self) -> usize {
        self.codes.size_bytes()
            + self.by_pc.size_bytes()
            + self.by_frame.size_bytes()
            + self.stacks.size_bytes()
    }
}
