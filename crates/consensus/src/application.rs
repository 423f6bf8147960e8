//! The application: what all methods share, and which of them answers what.

use crate::{
    clock::Moment,
    exception::ConsensusError,
    finalize::Finalized,
    natives::Waiting,
    outbox::Outbox,
    proposal::Candidates,
    snapshots::{SnapshotFolder, SnapshotMaker},
};
use hearth_abci::{Application, Exception, pb, request, response};
use hearth_home::{ConsensusConfig, Home};
use hearth_metrics::{ConsensusMetrics, Level, Log, LogEntry};
use hearth_primitives::Height;
use parking_lot::Mutex;
use std::sync::Arc;

/// Interval, in blocks, at which all transactions of the pool are sent again. It restores those
/// that the CometBFT of a peer lost with its process.
const GIVE_OUT_EVERY_BLOCKS: Height = 64;

/// Answers CometBFT on one open home.
pub(crate) struct App {
    pub(crate) home: Arc<Home>,
    pub(crate) config: ConsensusConfig,
    /// Blocks of the height that is decided on. Locked while one of them is executed.
    pub(crate) round: Mutex<Round>,
    pub(crate) outbox: Arc<Outbox>,
    /// Native transactions that wait for a block.
    pub(crate) natives: Waiting,
    /// Snapshots that peers may fetch, and what makes them where it is on.
    pub(crate) shelf: SnapshotFolder,
    pub(crate) maker: Option<SnapshotMaker>,
    pub(crate) metrics: ConsensusMetrics,
    pub(crate) log: Log,
    /// When the last block was committed in this process.
    pub(crate) last_commit: Mutex<Option<Moment>>,
    /// The first exception: CometBFT stopped for it.
    pub(crate) failure: Mutex<Option<String>>,
}

/// Blocks of the height that is decided on.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub candidates: Candidates,
    pub finalized: Option<Finalized>,
}

impl App {
    pub(crate) fn outbox_again_at(&self, height: Height) {
        if height.is_multiple_of(GIVE_OUT_EVERY_BLOCKS) {
            self.outbox.again(self.home.pool());
            self.natives.again();
        }
    }

    fn respond(&self, request: request::Value) -> Result<response::Value, ConsensusError> {
        use {request::Value as Q, response::Value as A};
        Ok(match request {
            Q::Info(_) => A::Info(self.info()),
            Q::InitChain(request) => A::InitChain(self.init_chain(&request)?),
            Q::Query(request) => A::Query(self.query(&request)),
            Q::CheckTx(request) => A::CheckTx(self.check_tx(&request)?),
            Q::InsertTx(request) => A::InsertTx(self.insert_tx(&request.tx)?),
            Q::ReapTxs(request) => A::ReapTxs(self.reap_txs(request)),
            Q::PrepareProposal(request) => A::PrepareProposal(self.prepare_proposal(&request)?),
            Q::ProcessProposal(request) => A::ProcessProposal(self.process_proposal(&request)?),
            Q::FinalizeBlock(request) => A::FinalizeBlock(self.finalize_block(&request)?),
            Q::Commit(_) => A::Commit(self.commit()?),
            // Vote extensions are off (`vote_extensions_enable_height` is 0).
            Q::ExtendVote(_) => A::ExtendVote(pb::ResponseExtendVote::default()),
            Q::VerifyVoteExtension(_) => A::VerifyVoteExtension(pb::ResponseVerifyVoteExtension {
                status: pb::response_verify_vote_extension::VerifyStatus::Accept as i32,
            }),
            Q::ListSnapshots(_) => {
                A::ListSnapshots(pb::ResponseListSnapshots { snapshots: self.shelf.list() })
            }
            Q::OfferSnapshot(_) => A::OfferSnapshot(pb::ResponseOfferSnapshot {
                result: pb::response_offer_snapshot::Result::Reject as i32,
            }),
            Q::LoadSnapshotChunk(wanted) => {
                let chunk = self.shelf.chunk(wanted.height, wanted.format, wanted.chunk);
                A::LoadSnapshotChunk(pb::ResponseLoadSnapshotChunk { chunk: chunk.into() })
            }
            Q::ApplySnapshotChunk(_) => A::ApplySnapshotChunk(pb::ResponseApplySnapshotChunk {
                result: pb::response_apply_snapshot_chunk::Result::Abort as i32,
                ..Default::default()
            }),
            other @ (Q::Echo(_) | Q::Flush(_)) => return Err(ConsensusError::Unexpected(other.name())),
        })
    }
}

impl Application for App {
    fn answer(&self, request: request::Value) -> Result<response::Value, Exception> {
        let (method, began) = (request.name(), Moment::now());
        let answer = self.respond(request);
        self.metrics.answered(method, began.elapsed());
        answer.map_err(Exception::from)
    }

    fn connected(&self) {
        *self.failure.lock() = None;
        self.outbox.again(self.home.pool());
        self.natives.again();
        self.log.add(LogEntry::new(Level::Info, "consensus", "CometBFT is connected"));
    }

    fn failed(&self, method: &'static str, text: &str) {
        let mut failure = self.failure.lock();
        if failure.is_none() {
            *failure = Some(format!("{method}: {text}"));
        }
        let entry = LogEntry::new(Level::Error, "consensus", "an exception stops CometBFT");
        self.log.add(entry.text("method", method).text("why", text));
    }
}
