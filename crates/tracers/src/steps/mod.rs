//! Steps of one execution in pieces: an index of them, any range of them, a search through them,
//! and gas by code.
//!
//! Each request executes the transaction from its start under the struct logger and halts where
//! nothing more is wanted; halting so is no failure. Nothing is kept of the steps that an answer
//! does not show, so the memory of a request does not grow with the transaction. The numbers:
//!
//! - a *step* is one struct log; its index counts from 0 over the whole execution;
//! - a *frame* is numbered in the order in which callTracer lists frames: SELFDESTRUCT, precompiled
//!   contracts and calls that never began have numbers too, but no steps.

mod error;
mod frames;
mod gas;
mod index;
mod page_lines;
mod profile;
mod range;
mod request;
mod search;
mod stacks;
mod walk;

pub use error::StepsError;
pub(crate) use page_lines::PageLines;
pub use request::{GasBy, GasMarks, PageRequest, ProfileRequest, SearchFilter, SearchRequest, StepsPlan};

use crate::plan::TracePlan;
use crate::table::TracerPlan;
use hearth_recorder::engine::{Engine, Replay, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::sink::Sink;
use hearth_recorder::tracing::TxContext;
use profile::Profile;

/// Frames that an index or a profile by frame has at most; further ones are counted.
pub const MAX_FRAMES: usize = 65_536;

/// Marks that an index has at most; their distance doubles where there are more.
pub const MAX_MARKS: usize = 16_384;

/// Steps that a page spans at most.
pub const MAX_PAGE_STEPS: u64 = 1_000;

/// Steps that a page with memory spans at most.
pub const MAX_MEMORY_PAGE_STEPS: u64 = 16;

/// Bytes of memory that each step of a page shows at most.
pub const MAX_MEMORY_WINDOW_BYTES: u64 = 64 << 10;

/// Bytes after which a page ends.
pub const MAX_PAGE_BYTES: u64 = 4 << 20;

/// Hits that a search gives at most.
pub const MAX_HITS: usize = 200;

/// Rows that a profile has at most, and functions of its stacks; what is left out is counted.
pub const MAX_PROFILE_ROWS: usize = 65_536;

/// Codes that a profile has at most.
pub const MAX_PROFILE_CODES: usize = 16_384;

/// Addresses that a profile lists of one code at most.
pub const MAX_CODE_ADDRESSES: usize = 16;

/// Marks of functions that a profile takes at most.
pub const MAX_GAS_MARKS: usize = 65_536;

/// Codes that marks may be of at most.
pub const MAX_MARKED_CODES: usize = 4_096;

/// Depth of a stack of functions at most.
pub const MAX_STACK_DEPTH: usize = 1_024;

/// Steps of one transaction or call, as a plan requests them.
pub(crate) struct Steps<'p>(pub(crate) &'p StepsPlan);

impl Engine for Steps<'_> {
    fn run<R: Replay>(
        &mut self,
        replay: &mut R,
        _tx: &TxContext,
        limits: &Limits,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), TraceError> {
        match self.0 {
            StepsPlan::Index => index::run(replay, limits, json),
            StepsPlan::Range(request) => range::run(replay, request, limits, json),
            StepsPlan::Search(request) => search::run(replay, request, limits, json),
            StepsPlan::Profile(request) => {
                let mut profile = Profile::new(request);
                profile.add(replay, limits, json)?;
                profile.render(json);
                Ok(())
            }
        }
    }
}

/// Writes the gas profile of all transactions of a block, added up, and returns the number of bytes
/// written.
///
/// # Errors
/// As [`crate::trace_transaction`]; the error of one transaction is that of the profile.
pub fn profile_block<R: Replay>(
    replay: &mut R,
    plan: &TracePlan,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<u64, TraceError> {
    let TracerPlan::Steps(StepsPlan::Profile(request)) = &plan.tracer else {
        return Err(TraceError::Replay("no plan of a gas profile".into()));
    };
    let limits = Limits { timeout: plan.timeout, ..limits.clone() };
    let mut json = JsonWriter::new(sink);
    let mut profile = Profile::new(request);
    for index in 0..replay.count() {
        seek_to(replay, index, &limits)?;
        profile.add(replay, &limits, &mut json)?;
    }
    profile.render(&mut json);
    Ok(json.finish()?)
}
