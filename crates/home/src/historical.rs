//! The historical guard: traces of blocks far below the head must not read historical state. Traces
//! that need none are served at any depth: baked answers, and traces from capsules.

use crate::{ByteSender, Home, NodeError};
use hearth_primitives::Height;

/// Whether what runs on a block is bound by the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookbackPolicy {
    /// The read is refused if it needs state history beyond the lookback.
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

    /// Whether a block of this height is historical: further below the head than the lookback.
    pub fn is_historical(&self, height: Height) -> bool {
        self.beyond(height).is_some()
    }

    /// Checks that the state of this height may be read.
    ///
    /// # Errors
    /// [`NodeError::BeyondLookback`] if the guard applies to the caller and the height is
    /// historical.
    pub fn check_lookback(&self, height: Height, reach: LookbackPolicy) -> Result<(), NodeError> {
        match self.beyond(height) {
            Some(lookback) if reach == LookbackPolicy::Guarded => {
                Err(NodeError::BeyondLookback { height, lookback })
            }
            _ => Ok(()),
        }
    }

    /// Notes in the stream whether a block of this height is historical.
    pub fn mark_height(&self, height: Height, sender: &ByteSender) {
        if self.is_historical(height) {
            sender.set_historical();
        }
    }
}
