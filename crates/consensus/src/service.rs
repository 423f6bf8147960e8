//! The application as part of a node: opening, queries, closing.

use crate::{
    application::App,
    outbox::Mempool,
    router::Router,
    snapshots::{Restoring, SnapshotFolder, SnapshotMaker},
};
use hearth_abci::{Address, Server};
use hearth_home::{ConsensusConfig, Home, JsonWriter, NodeConfig, NodeError, chain_options};
use hearth_metrics::{ConsensusMetrics, Registry};
use hearth_pool::PoolWatcher;
use parking_lot::Mutex;
use serde::Deserialize;
use std::sync::Arc;

/// Queries of the RPC layer about consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConsensusRequest {
    /// The status: `{"connections":4,"height":"0x…","blockAgeMs":N or null,"failure":text or
    /// null}`.
    ConsensusStatus,
    /// Transactions for CometBFT's own mempool, each once: an array of their bytes in hex.
    ConsensusReap {
        /// Most bytes of all together; 0 is no limit.
        max_bytes: u64,
    },
}

/// Listens for CometBFT, before the home is open.
pub struct Listening {
    server: Server,
    switch: Arc<Router>,
}

impl Listening {
    /// Starts listening; requests wait for the home. If CometBFT brings the first state of the home
    /// by state sync, this returns once the state is there, or once CometBFT starts with blocks
    /// instead.
    ///
    /// # Errors
    /// [`NodeError::Config`] for an invalid address or one that cannot be listened on,
    /// [`NodeError::Chain`] if the home cannot be read or the replacement of its stores does not
    /// finish.
    pub fn start(
        config: &NodeConfig,
        consensus: &ConsensusConfig,
        metrics: &Registry,
    ) -> Result<Self, NodeError> {
        let wrong = |reason: String| NodeError::Config { reason };
        let address: Address =
            consensus.address.parse().map_err(|error| wrong(format!("consensus.abci_address: {error}")))?;
        let log = metrics.log().clone();
        let restoring =
            if consensus.state_sync { Restoring::of(config, metrics, log.clone())? } else { None };
        let switch = Arc::new(Router::new(restoring, log));
        let server = Server::start(&address, switch.clone())
            .map_err(|error| wrong(format!("consensus.abci_address: {error}")))?;
        switch.wait_restored();
        Ok(Self { server, switch })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.switch.close();
        self.server.close();
    }
}

/// Serves CometBFT on one open home.
pub struct Consensus {
    app: Arc<App>,
    /// Gone once this is closed.
    listening: Mutex<Option<Listening>>,
    _watcher: Arc<dyn PoolWatcher>,
}

impl Consensus {
    /// Answers CometBFT's requests from now on.
    ///
    /// # Errors
    /// [`NodeError::Config`] for a home whose genesis is not for CometBFT, [`NodeError::Io`] if the
    /// snapshot thread does not start.
    pub fn open(
        home: &Arc<Home>,
        config: &ConsensusConfig,
        listening: Listening,
        metrics: &Registry,
    ) -> Result<Self, NodeError> {
        if !home.chain().spec().is_bft() {
            let reason = "consensus.enabled goes with a genesis whose config has {\"bft\":{\"engine\":\"cometbft\"}}: see `hearth init --cometbft`";
            return Err(NodeError::Config { reason: reason.to_owned() });
        }
        let log = metrics.log().clone();
        let folder = &home.config().home;
        let shelf = SnapshotFolder::of(folder);
        let maker = if config.snapshot_interval_blocks.is_none() {
            None
        } else {
            // Reading beside the open stores is not counted with what the node does.
            let options = chain_options(home.config(), Registry::new());
            let (kv, shelf) = (home.chain().kv().clone(), shelf.clone());
            let maker = SnapshotMaker::start(folder.clone(), shelf, options, kv, log.clone());
            Some(maker.map_err(|source| NodeError::Config {
                reason: format!("no thread for snapshots: {source}"),
            })?)
        };
        let app = Arc::new(App {
            home: home.clone(),
            config: config.clone(),
            round: Mutex::default(),
            outbox: Arc::default(),
            natives: Default::default(),
            shelf,
            maker,
            metrics: ConsensusMetrics::new(metrics),
            log,
            last_commit: Mutex::default(),
            failure: Mutex::default(),
        });
        let watcher: Arc<dyn PoolWatcher> = app.outbox.clone();
        home.pool().watch(&watcher);
        listening.switch.install(app.clone());
        Ok(Self { app, listening: Mutex::new(Some(listening)), _watcher: watcher })
    }

    /// Answers a request: the JSON bytes of its result.
    pub fn answer(&self, request: ConsensusRequest) -> Vec<u8> {
        let mut w = JsonWriter::with_capacity(128);
        match request {
            ConsensusRequest::ConsensusStatus => self.write_status(&mut w),
            ConsensusRequest::ConsensusReap { max_bytes } => {
                w.begin_array();
                for tx in self.app.reap(Mempool::Flood, max_bytes, 0) {
                    w.bytes(&tx);
                }
                w.end_array();
            }
        }
        w.into_bytes()
    }

    fn write_status(&self, w: &mut JsonWriter) {
        let listening = self.listening.lock();
        let connections = listening.as_ref().map_or(0, |open| open.server.status().connections);
        drop(listening);
        let age = self.app.last_commit.lock().map(|at| at.elapsed().as_millis().to_string());
        let failure = self.app.failure.lock().clone();
        w.begin_object();
        w.key("connections").raw(&connections.to_string());
        w.key("height").quantity(self.app.home.chain().head().height);
        w.key("blockAgeMs").raw(age.as_deref().unwrap_or("null"));
        w.key("failure");
        match failure.as_deref() {
            Some(text) => w.string(text),
            None => w.null(),
        };
        w.end_object();
    }

    /// Ends the connections after the request in progress, and the snapshot thread.
    pub fn close(&self) {
        let listening = self.listening.lock().take();
        drop(listening);
        if let Some(maker) = &self.app.maker {
            maker.close();
        }
    }
}
