//! The service that answers a consensus client.

use crate::{
    bounded::Bounded,
    envelope::write_envelope,
    jobs::Builder,
    payload::PayloadSidecar,
    ready::ReadyThread,
    request::EngineRequest,
    versions::{check_fork, check_id},
};
use alloy_primitives::{B64, B256};
use hearth_chain::{ExecutedBlock, Prepared};
use hearth_home::{Home, JsonWriter, NodeError, chain_error};
use hearth_metrics::{EngineMetrics, Registry};
use parking_lot::Mutex;
use std::{sync::Arc, time::Instant};

/// Executed payloads that are kept in memory, chosen or not.
const EXECUTED_MAX: usize = 64;

/// What those take together, in bytes.
const EXECUTED_BYTES: usize = 256 << 20;

/// Payloads that wait for an ancestor.
const WAITING_MAX: usize = 64;

/// What those take together, in bytes.
const WAITING_BYTES: usize = 64 << 20;

/// Invalid blocks, and their descendants, that are remembered (go-ethereum: `invalidTipsets`).
const INVALID_MAX: usize = 512;

/// Payloads by hash. The holder of this lock is the only one that executes and chooses blocks.
pub(crate) struct Payloads {
    /// Executed ones.
    pub executed: Bounded<Arc<ExecutedBlock>>,
    /// Those of which an ancestor is not known, or has no state.
    pub waiting: Bounded<Prepared>,
    /// Those that are invalid.
    pub invalid: Bounded<Invalid>,
}

/// Why a block is invalid.
#[derive(Clone, Debug)]
pub(crate) struct Invalid {
    /// The newest valid ancestor; zero where that is of proof of work.
    pub latest_valid: B256,
    /// What is wrong with the block or with the ancestor that is to blame.
    pub error: String,
    /// How often the block was given again since it was executed.
    pub hits: u32,
}

/// Answers the Engine API on one open home.
pub struct Engine {
    home: Arc<Home>,
    pub(crate) payloads: Mutex<Payloads>,
    pub(crate) builder: Builder,
    pub(crate) readier: ReadyThread,
    pub(crate) metrics: EngineMetrics,
    last_forkchoice: Mutex<Option<Instant>>,
}

impl Engine {
    /// A service on a home.
    ///
    /// # Errors
    /// [`NodeError::Internal`] where the system gives no thread.
    pub fn open(home: Arc<Home>, metrics: &Registry) -> Result<Self, NodeError> {
        let (builder, readier) = (Builder::start(&home)?, ReadyThread::start(&home)?);
        let payloads = Payloads {
            executed: Bounded::new(EXECUTED_MAX, EXECUTED_BYTES),
            waiting: Bounded::new(WAITING_MAX, WAITING_BYTES),
            invalid: Bounded::new(INVALID_MAX, usize::MAX),
        };
        let metrics = EngineMetrics::new(metrics);
        Ok(Self {
            home,
            payloads: Mutex::new(payloads),
            builder,
            readier,
            metrics,
            last_forkchoice: Mutex::default(),
        })
    }

    /// Answers a request: the JSON bytes of its result.
    ///
    /// # Errors
    /// [`NodeError::Engine`], [`NodeError::InvalidParams`], and those of the stores.
    pub fn answer(&self, request: EngineRequest) -> Result<Vec<u8>, NodeError> {
        match request {
            EngineRequest::EngineNewPayload {
                version,
                payload,
                versioned_hashes,
                parent_beacon_block_root,
                execution_requests,
            } => {
                let beside = PayloadSidecar {
                    versioned_hashes,
                    parent_beacon_block_root,
                    requests: execution_requests,
                };
                self.new_payload(version, *payload, beside)
            }
            EngineRequest::EngineForkchoiceUpdated { version, state, attributes } => {
                self.forkchoice_updated(version, &state, attributes)
            }
            EngineRequest::EngineGetPayload { version, id } => self.payload(version, &id),
            EngineRequest::EngineGetBlobs { version, hashes } => self.blobs(version, &hashes),
            EngineRequest::EngineBodiesByHash { hashes } => self.bodies_by_hash(&hashes),
            EngineRequest::EngineBodiesByRange { start, count } => {
                self.bodies_by_range(start.to(), count.to())
            }
            EngineRequest::EngineForkchoiceAge => Ok(self.forkchoice_age()),
        }
    }

    fn payload(&self, version: u8, id: &B64) -> Result<Vec<u8>, NodeError> {
        check_id(version, id[0])?;
        let built = self.builder.take(id, |fork| check_fork(version, fork))?;
        Ok(write_envelope(&built, version))
    }

    pub(crate) fn note_forkchoice(&self) {
        *self.last_forkchoice.lock() = Some(Instant::now());
    }

    fn forkchoice_age(&self) -> Vec<u8> {
        let last = *self.last_forkchoice.lock();
        let mut w = JsonWriter::with_capacity(24);
        match last {
            Some(last) => w.quantity(u64::try_from(last.elapsed().as_millis()).unwrap_or(u64::MAX)),
            None => w.null(),
        };
        w.into_bytes()
    }

    /// The home whose chain is driven.
    pub(crate) fn home(&self) -> &Arc<Home> {
        &self.home
    }

    pub(crate) fn failed(&self, error: hearth_chain::ChainError) -> NodeError {
        chain_error(&self.home.config().home, error)
    }

    /// Ends what builds payloads and what makes their commits ready.
    pub fn close(&self) {
        self.readier.close();
        self.builder.close();
    }
}
