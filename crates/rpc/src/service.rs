//! The service that answers requests on an open home.

use crate::{Request, ops};
use alloy_primitives::Address;
use hearth_consensus::Consensus;
use hearth_engine::Engine;
use hearth_home::{Home, NodeError};
use hearth_tracers::Cancel;
use hearth_traces::Traces;
use std::sync::Arc;

/// Answers requests on one open home.
pub struct Rpc {
    pub(crate) home: Arc<Home>,
    pub(crate) traces: Arc<Traces>,
    engine: Option<Arc<Engine>>,
    consensus: Option<Arc<Consensus>>,
}

impl Rpc {
    /// A service over a home and its traces, and the driver of the home: the Engine API, CometBFT,
    /// or neither.
    pub fn new(
        home: Arc<Home>,
        traces: Arc<Traces>,
        engine: Option<Arc<Engine>>,
        consensus: Option<Arc<Consensus>>,
    ) -> Self {
        Self { home, traces, engine, consensus }
    }

    pub(crate) fn consensus(&self) -> Result<&Consensus, NodeError> {
        let off = || NodeError::Unsupported { message: "CometBFT is off: see consensus.enabled".into() };
        self.consensus.as_deref().ok_or_else(off)
    }

    pub(crate) fn engine(&self) -> Result<&Engine, NodeError> {
        let off = || NodeError::Unsupported { message: "the Engine API is off: see engine.enabled".into() };
        self.engine.as_deref().ok_or_else(off)
    }

    /// Runs a request to its end on this thread; returns its result as JSON bytes. Long work ends
    /// early if `stop` is set.
    ///
    /// # Errors
    /// Those of the operation; [`NodeError::ReadOnly`] for one that writes to a home that is open
    /// for reading.
    pub fn answer(&self, request: Request, stop: &Cancel) -> Result<Vec<u8>, NodeError> {
        ops::answer(self, request, stop)
    }

    /// As [`Self::answer`]; the sender of a raw transaction is not recovered again where the caller
    /// has recovered it, by [`SentTogether`](crate::SentTogether).
    ///
    /// # Errors
    /// Those of [`Self::answer`].
    pub fn answer_with_sender(
        &self,
        request: Request,
        sender: Option<Address>,
        stop: &Cancel,
    ) -> Result<Vec<u8>, NodeError> {
        match request {
            Request::SendRawTransaction { transaction } if !self.home.config().read_only => {
                ops::send::raw_transaction(&self.home, &transaction, sender)
            }
            other => self.answer(other, stop),
        }
    }

    /// The answer to a short read that needs only memory, without waiting for a lock, a disk or
    /// another thread; `None` for any other request, failures included.
    pub fn at_once(&self, request: &Request) -> Option<Vec<u8>> {
        ops::at_once(&self.home, request)
    }
}
