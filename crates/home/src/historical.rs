//! The historical guard: traces of blocks far below the head may not read the state of their height. What needs no such state
//! is served at any depth: baked answers, and traces from capsules.

use crate::{ByteSender, Home, NodeError};
use hearth_primitives::Height;

/// Whether what runs on a block is bound by the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whoever asked is told no where state history beyond the lookback would be read.
    Guarded,
    /// The node's own work.
    Any,
}

impl Home {
    /// How far a height is beyond what traces may look back; the bound, where it is.
    fn beyond(&self, height: Height) -> Option<u64> {
        let lookback = self.config().rpc.max_trace_lookback_blocks?;
        (self.chain().head().height.saturating_sub(height) > lookback).then_some(lookback)
    }

    /// Whether a block of this height is historical: further below the head than traces may look back.
    pub fn is_historical(&self, height: Height) -> bool {
        self.beyond(height).is_some()
    }

    /// Says that the state of this height is to be read.
    ///
    /// # Errors
    /// [`NodeError::BeyondLookback`] where whoever asks is bound by the guard.
    pub fn check_lookback(&self, height: Height, reach: Reach) -> Result<(), NodeError> {
        match self.beyond(height) {
            Some(lookback) if reach == Reach::Guarded => Err(NodeError::BeyondLookback { height, lookback }),
            _ => Ok(()),
        }
    }

    /// Tells the reader's side whether a block of this height is historical.
    pub fn tell_height(&self, height: Height, sender: &ByteSender) {
        if self.is_historical(height) {
            sender.set_historical();
        }
    }
}
