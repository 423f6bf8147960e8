//! `debug_traceStepIndex`: how many steps an execution has, and which frame has which of them.
//!
//! ```text
//! { "steps", "gasUsed", "failed", "every",
//!   "marks": [[frame, pc, gas], …],                            one of every `every`-th step
//!   "frames": [[first, last, own, parent, depth] or null, …],  in callTracer's order
//!   "framesOmitted"? }
//! ```

use super::limits::{MAX_FRAMES, MAX_MARKS};
use super::walk::{At, NOTHING, StepEnd, Visitor, walk};
use crate::page_lines::PageLines;
use crate::step_text::Tail;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder::NONE;
use revm::interpreter::Interpreter;

/// Room for the text of a frame or mark, in bytes: five numbers.
const ROW_BYTES: usize = 5 * 24;

/// One frame.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its first and last own step.
    first: u64,
    last: u64,
    /// Number of its own steps.
    own: u64,
    parent: u32,
    depth: u32,
}

/// Every so many steps.
#[derive(Clone, Copy, Debug)]
struct Mark {
    frame: u32,
    pc: u32,
    gas: u64,
}

/// The index of one execution.
#[derive(Debug)]
struct Index {
    steps: u64,
    /// A power of two.
    every: u64,
    marks: Vec<Mark>,
    rows: Vec<Row>,
    omitted: u64,
}

impl Index {
    fn mark(&mut self, at: &At) {
        if self.marks.len() == MAX_MARKS {
            let mut odd = false;
            self.marks.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
            if !at.index.is_multiple_of(self.every) {
                return;
            }
        }
        self.marks.push(Mark { frame: at.frame, pc: at.pc as u32, gas: at.gas });
    }

    fn render(&self, gas_used: u64, failed: bool, json: &mut JsonWriter<'_>) {
        let mut tail = Tail::new(json.tail(2 * ROW_BYTES));
        tail.text(b"{\"steps\":");
        tail.decimal(self.steps);
        tail.text(b",\"gasUsed\":");
        tail.decimal(gas_used);
        tail.bytes(if failed { b",\"failed\":true" } else { b",\"failed\":false" });
        tail.text(b",\"every\":");
        tail.decimal(self.every);
        tail.text(b",\"marks\":[");
        drop(tail);
        for (at, mark) in self.marks.iter().enumerate() {
            let mut tail = Tail::new(json.tail(ROW_BYTES));
            tail.bytes(if at > 0 { b",[" } else { b"[" });
            tail.decimal(u64::from(mark.frame));
            tail.text(b",");
            tail.decimal(u64::from(mark.pc));
            tail.text(b",");
            tail.decimal(mark.gas);
            tail.text(b"]");
        }
        json.raw(b"],\"frames\":[");
        for (at, row) in self.rows.iter().enumerate() {
            let mut tail = Tail::new(json.tail(ROW_BYTES));
            tail.bytes(if at > 0 { b"," } else { b"" });
            if row.own == 0 {
                tail.text(b"null");
                continue;
            }
            tail.text(b"[");
            tail.decimal(row.first);
            tail.text(b",");
            tail.decimal(row.last);
            tail.text(b",");
            tail.decimal(row.own);
            tail.text(b",");
            if row.parent == NONE {
                tail.text(b"null");
            } else {
                tail.decimal(u64::from(row.parent));
            }
            tail.text(b",");
            tail.decimal(u64::from(row.depth));
            tail.text(b"]");
        }
        json.raw(b"]");
        if self.omitted > 0 {
            json.raw(b",\"framesOmitted\":");
            Tail::new(json.tail(ROW_BYTES)).decimal(self.omitted);
        }
        json.raw(b"}");
    }
}

impl Visitor for Index {
    #[inline(always)]
    fn before(&mut self, at: &At, _: &Interpreter, _: &mut PageLines) -> bool {
        if at.index & (self.every - 1) == 0 {
            self.mark(at);
        }
        true
    }

    #[inline(always)]
    fn after(&mut self, at: &At, _: StepEnd, _: u64) {
        self.steps = at.index + 1;
        if let Some(row) = self.rows.get_mut(at.frame as usize) {
            if row.own == 0 {
                row.first = at.index;
            }
            row.last = at.index;
            row.own += 1;
        }
    }

    fn enter(&mut self, _: u32, parent: Option<u32>, depth: usize) {
        if self.rows.len() == MAX_FRAMES {
            self.omitted += 1;
            return;
        }
        let (parent, depth) = (parent.unwrap_or(NONE), depth.saturating_sub(1) as u32);
        self.rows.push(Row { first: 0, last: 0, own: 0, parent, depth });
    }

    fn size_bytes(&self) -> usize {
        self.rows.len() * size_of::<Row>() + self.marks.len() * size_of::<Mark>()
    }
}

/// Executes the transaction that was sought and writes the index of its steps.
pub(super) fn run<R: Replay>(
    replay: &mut R,
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<(), TraceError> {
    let mut index = Index { steps: 0, every: 1, marks: Vec::new(), rows: Vec::new(), omitted: 0 };
    if let Some(end) = walk(replay, (NOTHING, PageLines::default()), &mut index, limits, json)? {
        index.render(end.gas_used, end.failed, json);
    }
    Ok(())
}
