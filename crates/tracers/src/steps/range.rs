//! `debug_traceSteps`: a page of steps.
//!
//! ```text
//! { "steps": [{"index", "frame", … as a struct log, "stackSize"?, "memorySize"?}, …], "next"? }
//! ```

use super::limits::MAX_PAGE_BYTES;
use super::request::PageRequest;
use super::walk::{At, NOTHING, StepEnd, Visitor, walk};
use crate::page_lines::PageLines;
use crate::step_text::Tail;
use crate::struct_log_config::StructLogConfig;
use hearth_recorder::engine::Replay;
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use revm::interpreter::Interpreter;

/// Room for a number behind the steps, in bytes.
const NEXT_BYTES: usize = 32;

/// One page while it is made.
struct Page<'a> {
    request: &'a PageRequest,
    /// Steps so far, of those that `from` and `to` count.
    position: u64,
    /// Whether the requested frame, or one below it, runs.
    inside: bool,
    /// The requested frame has ended.
    over: bool,
    /// Bytes that were written before the first step.
    began_at: u64,
    /// The page is full.
    full: bool,
    /// Where the next page begins, where this one was cut.
    next: Option<u64>,
}

impl Page<'_> {
    #[inline(always)]
    fn counts(&self, at: &At) -> bool {
        match self.request.frame {
            None => true,
            Some(frame) if self.request.own => at.frame == frame,
            Some(_) => self.inside,
        }
    }
}

impl Visitor for Page<'_> {
    #[inline(always)]
    fn before(&mut self, at: &At, _: &Interpreter, page: &mut PageLines) -> bool {
        if self.over {
            return false;
        }
        if !self.counts(at) {
            page.show(None);
            return true;
        }
        if self.position >= self.request.to {
            return false;
        }
        if self.full {
            self.next = Some(self.position);
            return false;
        }
        page.show((self.position >= self.request.from).then_some((at.index, at.frame)));
        true
    }

    #[inline(always)]
    fn after(&mut self, at: &At, _: StepEnd, written: u64) {
        if self.counts(at) {
            self.position += 1;
            self.full = written - self.began_at >= MAX_PAGE_BYTES;
        }
    }

    fn enter(&mut self, number: u32, _: Option<u32>, _: usize) {
        self.inside |= self.request.frame == Some(number);
    }

    fn leave(&mut self, number: u32, _: u64) {
        self.over |= self.request.frame == Some(number);
    }
}

/// Executes the transaction that was sought as far as the page goes, and writes that.
pub(super) fn run<R: Replay>(
    replay: &mut R,
    request: &PageRequest,
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<(), TraceError> {
    json.raw(b"{\"steps\":[");
    let began_at = json.written();
    let mut page =
        Page { request, position: 0, inside: false, over: false, began_at, full: false, next: None };
    let &PageRequest { stack, storage, return_data, .. } = request;
    let config = StructLogConfig { stack, storage, return_data, ..NOTHING };
    let outcome =
        walk(replay, (config, PageLines::new(request.stack_top, request.memory)), &mut page, limits, json);
    json.raw(b"]");
    if let Some(next) = page.next {
        json.raw(b",\"next\":");
        Tail::new(json.tail(NEXT_BYTES)).decimal(next);
    }
    json.raw(b"}");
    outcome.map(drop)
}
