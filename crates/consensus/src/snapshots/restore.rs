//! Restoring a home from a peer's snapshot, before its stores are opened.

use super::{CHUNK_BYTES, FORMAT, HASH_BYTES};
use crate::exception::ConsensusError;
use alloy_primitives::B256;
use hearth_abci::{pb, request, response};
use hearth_chain::{
    BlockNumHash, ChainError, ChainOptions,
    operate::{StorePosition, finish_replacing, replace_state, store_position},
};
use hearth_home::{NodeConfig, NodeError, chain_error, chain_options};
use hearth_metrics::{Level, Log, LogEntry, Registry};
use hearth_primitives::Height;
use std::{
    fs::{self, File},
    io::{BufReader, Write as _},
    path::{Path, PathBuf},
};

/// Folder in which the received chunks are collected.
const STREAM: &str = "data/statesync.part";

/// This file exists from the restored state to the first block after it. If CometBFT dies in
/// between, it starts state sync from scratch.
const PENDING: &str = "data/statesync.pending";

/// This file exists once a block was committed: from then on the node refuses state sync, without
/// opening a store to find out.
const OVER: &str = "data/statesync.over";

/// What clients of a node without a state get.
const WITHOUT_STATE: &str = "the node gets its state from a peer";

/// CometBFT continues from the restored state, or from the genesis.
pub(crate) fn over(home: &Path) {
    // Where one of these is lost, the next start looks at the stores.
    let _ = File::create(home.join(OVER));
    let _ = fs::remove_file(home.join(PENDING));
}

/// The answer to a query before there is a state; a filter of peers lets all of them in.
fn without_state(path: &str) -> pb::ResponseQuery {
    if crate::query::is_peer_filter(path) {
        return pb::ResponseQuery::default();
    }
    pb::ResponseQuery {
        code: crate::results::CODE_LATER,
        log: WITHOUT_STATE.to_owned(),
        codespace: crate::results::CODESPACE.to_owned(),
        ..Default::default()
    }
}

/// What answers CometBFT while a home has no blocks and its state may come from a peer.
pub(crate) struct Restoring {
    home: PathBuf,
    options: ChainOptions,
    /// The head of the home, and the first block that CometBFT decides on.
    head: BlockNumHash,
    start: Height,
    log: Log,
    accepted: Option<Accepted>,
}

/// A snapshot whose chunks come.
struct Accepted {
    snapshot: pb::Snapshot,
    block: B256,
    file: File,
    /// The next chunk.
    next: usize,
    whole: blake3::Hasher,
}

/// What is to be done with a request.
pub(crate) enum Step {
    /// It is answered.
    Answer(response::Value),
    /// It is answered, and the home is restored.
    Restored(response::Value),
    /// CometBFT starts a new chain instead of a state sync.
    NotRestored,
}

impl Restoring {
    /// The restorer of a home without blocks, or of one with a restored state and no block after
    /// it; `None` for others.
    ///
    /// # Errors
    /// [`NodeError::Config`] for a home with further directories for littable, and if the home
    /// cannot be read.
    pub fn of(config: &NodeConfig, metrics: &Registry, log: Log) -> Result<Option<Self>, NodeError> {
        let home = &config.home;
        if home.join(OVER).exists() {
            return Ok(None);
        }
        let chain = |error| chain_error(home, error);
        finish_replacing(home).map_err(chain)?;
        let options = chain_options(config, metrics.clone());
        let StorePosition { head, base, bft_start } = store_position(home, &options).map_err(chain)?;
        if head != base && !home.join(PENDING).exists() {
            return Ok(None);
        }
        if !options.ledger.settings.extra_roots.is_empty() {
            let reason = "state sync does not go with littable.extra_roots: set them after it".to_owned();
            return Err(NodeError::Config { reason });
        }
        Ok(Some(Self {
            home: home.clone(),
            options,
            head,
            start: bft_start.unwrap_or(1),
            log,
            accepted: None,
        }))
    }

    pub fn step(&mut self, request: &request::Value) -> Result<Step, ConsensusError> {
        use {request::Value as Q, response::Value as A};
        Ok(match request {
            Q::Info(_) => Step::Answer(A::Info(crate::handshake::info(self.head, self.start))),
            Q::ListSnapshots(_) => Step::Answer(A::ListSnapshots(pb::ResponseListSnapshots::default())),
            Q::LoadSnapshotChunk(_) => {
                Step::Answer(A::LoadSnapshotChunk(pb::ResponseLoadSnapshotChunk::default()))
            }
            Q::OfferSnapshot(offer) => {
                let result = self.offer(offer)? as i32;
                Step::Answer(A::OfferSnapshot(pb::ResponseOfferSnapshot { result }))
            }
            Q::ApplySnapshotChunk(chunk) => {
                let (answer, restored) = self.apply(chunk)?;
                let answer = A::ApplySnapshotChunk(answer);
                if restored { Step::Restored(answer) } else { Step::Answer(answer) }
            }
            // Without a state neither blocks nor transactions can be validated.
            Q::CheckTx(_) => Step::Answer(A::CheckTx(pb::ResponseCheckTx {
                code: crate::results::CODE_LATER,
                log: WITHOUT_STATE.to_owned(),
                codespace: crate::results::CODESPACE.to_owned(),
                ..Default::default()
            })),
            Q::InsertTx(_) => {
                Step::Answer(A::InsertTx(hearth_abci::ResponseInsertTx { code: crate::results::CODE_LATER }))
            }
            Q::ReapTxs(_) => Step::Answer(A::ReapTxs(hearth_abci::ResponseReapTxs::default())),
            // CometBFT opens its RPC before state sync: a client's query must not end that.
            Q::Query(query) => Step::Answer(A::Query(without_state(&query.path))),
            _ => Step::NotRestored,
        })
    }

    fn stream(&self) -> PathBuf {
        self.home.join(STREAM)
    }

    fn offer(
        &mut self,
        offer: &pb::RequestOfferSnapshot,
    ) -> Result<pb::response_offer_snapshot::Result, ConsensusError> {
        use pb::response_offer_snapshot::Result as R;
        let Some(snapshot) = &offer.snapshot else { return Ok(R::Reject) };
        if snapshot.format != FORMAT {
            return Ok(R::RejectFormat);
        }
        let hashes = snapshot.metadata.len();
        let is_whole = hashes % HASH_BYTES == 0
            && hashes / HASH_BYTES == snapshot.chunks as usize
            && snapshot.chunks > 0
            && snapshot.hash.len() == HASH_BYTES
            && snapshot.height > 0;
        let Some(block) = B256::try_from(offer.app_hash.as_ref()).ok().filter(|_| is_whole) else {
            return Ok(R::Reject);
        };
        let path = self.stream();
        let file = File::create(&path).map_err(|source| ChainError::Io { path, source })?;
        let whole = blake3::Hasher::new();
        let said = LogEntry::new(Level::Info, "consensus", "a snapshot of a peer is fetched");
        self.log.add(said.text("height", snapshot.height).text("chunks", snapshot.chunks));
        self.accepted = Some(Accepted { snapshot: snapshot.clone(), block, file, next: 0, whole });
        Ok(R::Accept)
    }

    /// The answer to a chunk, and whether the home is restored.
    fn apply(
        &mut self,
        request: &pb::RequestApplySnapshotChunk,
    ) -> Result<(pb::ResponseApplySnapshotChunk, bool), ConsensusError> {
        use pb::response_apply_snapshot_chunk::Result as R;
        let plain =
            |result: R| pb::ResponseApplySnapshotChunk { result: result as i32, ..Default::default() };
        let path = self.stream();
        let Some(accepted) = &mut self.accepted else { return Ok((plain(R::Abort), false)) };
        let index = request.index as usize;
        if index != accepted.next {
            // They come in their order; after a restart of the snapshot from the first one on.
            return Ok((plain(R::RetrySnapshot), false));
        }
        let wanted = accepted.snapshot.metadata.get(index * HASH_BYTES..(index + 1) * HASH_BYTES);
        let is_right = request.chunk.len() <= CHUNK_BYTES
            && wanted == Some(blake3::hash(&request.chunk).as_bytes().as_slice());
        if !is_right {
            let retry = pb::ResponseApplySnapshotChunk {
                result: R::Retry as i32,
                refetch_chunks: vec![request.index],
                reject_senders: vec![request.sender.clone()],
            };
            return Ok((retry, false));
        }
        let written = accepted.file.write_all(&request.chunk);
        written.map_err(|source| ChainError::Io { path: path.clone(), source })?;
        accepted.whole.update(&request.chunk);
        accepted.next += 1;
        if accepted.next < accepted.snapshot.chunks as usize {
            return Ok((plain(R::Accept), false));
        }
        let Some(accepted) = self.accepted.take() else { return Ok((plain(R::Abort), false)) };
        if accepted.whole.finalize().as_bytes().as_slice() != accepted.snapshot.hash {
            return Ok((plain(R::RejectSnapshot), false));
        }
        let place = (accepted.snapshot.height, accepted.block);
        drop(accepted);
        let file = File::open(&path).map_err(|source| ChainError::Io { path: path.clone(), source })?;
        let pending = self.home.join(PENDING);
        fs::write(&pending, []).map_err(|source| ChainError::Io { path: pending, source })?;
        let replaced =
            replace_state(&self.home, &self.options, place, &mut BufReader::new(file), &mut |_| true);
        let _ = fs::remove_file(&path);
        match replaced {
            Ok(()) => {
                let said = LogEntry::new(Level::Info, "consensus", "the state of a peer's snapshot is here");
                self.log.add(said.text("height", place.0).text("hash", place.1));
                Ok((plain(R::Accept), true))
            }
            // The peers' fault: another snapshot may be sound.
            Err(
                error @ (ChainError::BadStream { .. } | ChainError::Genesis { .. } | ChainError::Store(_)),
            ) => {
                let said = LogEntry::new(Level::Warn, "consensus", "a snapshot of a peer is refused");
                self.log.add(said.text("height", place.0).text("why", error));
                Ok((plain(R::RejectSnapshot), false))
            }
            Err(error) => Err(error.into()),
        }
    }
}
