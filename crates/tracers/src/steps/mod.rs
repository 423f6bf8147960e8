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
mod limits;
mod profile;
mod range;
mod request;
mod search;
mod stacks;
mod walk;

pub use error::StepsError;
pub(crate) use profile::Profile;
pub use request::{GasBy, GasMarks, PageRequest, ProfileRequest, SearchFilter, SearchRequest, StepsPlan};

use hearth_recorder::engine::{Engine, Replay};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::tracing::TxContext;

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
