//! `debug_traceStepSearch`: steps of a kind, from a step on or before it.
//!
//! ```text
//! { "hits": [{"index", "pc", "op", "frame"}, …], "next"? }
//! ```

use super::request::{SearchFilter, SearchRequest};
use super::walk::{At, NOTHING, StepEnd, Visitor, accounts, walk};
use crate::page_lines::PageLines;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::opcode::Name;
use revm::bytecode::opcode as op;
use revm::interpreter::Interpreter;
use std::collections::VecDeque;

/// One search while it runs.
struct Search<'a> {
    request: &'a SearchRequest,
    /// Opcodes that may be hits.
    opcodes: [bool; 256],
    first: u64,
    last: u64,
    /// The running step is a hit as far as is known before it has run.
    candidate: bool,
    /// The hits in order; backwards the newest ones.
    hits: VecDeque<At>,
    /// Backwards: older hits than these were let go.
    more: bool,
    /// Forwards: halted before this step with all hits that were wanted.
    next: Option<u64>,
}

impl<'a> Search<'a> {
    fn new(request: &'a SearchRequest) -> Self {
        let mut opcodes = [request.what.ops.is_none(); 256];
        for opcode in request.what.ops.iter().flatten() {
            opcodes[usize::from(*opcode)] = true;
        }
        let (first, last) = match (request.backwards, request.from) {
            (false, from) => (from.unwrap_or(0), u64::MAX),
            (true, from) => (0, from.unwrap_or(u64::MAX)),
        };
        let hits = VecDeque::with_capacity(request.count);
        Self { request, opcodes, first, last, candidate: false, hits, more: false, next: None }
    }

    fn render(&self, json: &mut JsonWriter<'_>) {
        json.raw(b"{\"hits\":[");
        let mut write = |at: &At, first: bool| {
            let (name, comma) = (Name(at.opcode), if first { "" } else { "," });
            let At { index, pc, frame, .. } = at;
            let text =
                format!("{comma}{{\"index\":{index},\"pc\":{pc},\"op\":\"{name}\",\"frame\":{frame}}}");
            json.raw(text.as_bytes());
        };
        if self.request.backwards {
            self.hits.iter().rev().enumerate().for_each(|(place, at)| write(at, place == 0));
        } else {
            self.hits.iter().enumerate().for_each(|(place, at)| write(at, place == 0));
        }
        json.raw(b"]");
        let older = self.hits.front().filter(|_| self.more).and_then(|at| at.index.checked_sub(1));
        if let Some(next) = self.next.or(older) {
            json.raw(format!(",\"next\":{next}").as_bytes());
        }
        json.raw(b"}");
    }
}

impl Visitor for Search<'_> {
    #[inline(always)]
    fn before(&mut self, at: &At, interpreter: &Interpreter, _: &mut PageLines) -> bool {
        if at.index > self.last {
            return false;
        }
        if !self.request.backwards && self.hits.len() == self.request.count {
            self.next = Some(at.index);
            return false;
        }
        self.candidate = at.index >= self.first
            && self.opcodes[usize::from(at.opcode)]
            && matches(&self.request.what, at, interpreter);
        true
    }

    #[inline(always)]
    fn after(&mut self, at: &At, end: StepEnd, _: u64) {
        let SearchFilter { gas_cost_at_least, error, .. } = &self.request.what;
        let is_hit = self.candidate
            && gas_cost_at_least.is_none_or(|least| end.cost >= least)
            && error.is_none_or(|error| end.error == error);
        if !is_hit {
            return;
        }
        if self.hits.len() == self.request.count {
            self.hits.pop_front();
            self.more = true;
        }
        self.hits.push_back(*at);
    }
}

/// Whether a step is one that is searched, as far as is known before it has run.
fn matches(what: &SearchFilter, at: &At, interpreter: &Interpreter) -> bool {
    let SearchFilter { pc, address, slot, topic, depth, frame, .. } = what;
    pc.is_none_or(|pc| at.pc as u64 == pc)
        && depth.is_none_or(|depth| at.depth as u64 == depth)
        && frame.is_none_or(|frame| at.frame == frame)
        && address.is_none_or(|address| {
            let (storage, code) = accounts(interpreter);
            storage == address || code == Some(address)
        })
        && slot.is_none_or(|slot| {
            let takes_slot = matches!(at.opcode, op::SLOAD | op::SSTORE | op::TLOAD | op::TSTORE);
            takes_slot && interpreter.stack.peek(0) == Ok(slot)
        })
        && topic.is_none_or(|topic| {
            let topics = match at.opcode {
                op::LOG1..=op::LOG4 => usize::from(at.opcode - op::LOG0),
                _ => 0,
            };
            // Offset and size are on top of the topics.
            (2..2 + topics).any(|place| interpreter.stack.peek(place) == Ok(topic))
        })
}

/// Executes the transaction that was sought as far as the search goes, and writes the hits.
pub(super) fn run<R: Replay>(
    replay: &mut R,
    request: &SearchRequest,
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<(), TraceError> {
    let mut search = Search::new(request);
    walk(replay, (NOTHING, PageLines::default()), &mut search, limits, json)?;
    search.render(json);
    Ok(())
}
