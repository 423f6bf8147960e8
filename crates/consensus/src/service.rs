//! The application as the node has it: opened, asked, closed.

use crate::application::App;
use hearth_abci::{Address, Server};
use hearth_chain::pool::PoolWatcher;
use hearth_home::{ConsensusConfig, Home, JsonWriter, NodeError};
use hearth_metrics::{ConsensusMetrics, Registry};
use parking_lot::Mutex;
use serde::Deserialize;
use std::sync::Arc;

/// What the layer above asks about consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "op", content = "args", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConsensusRequest {
    /// Where it is: `{"connections":4,"height":"0x…","blockAgeMs":N or null,"failure":text or null}`.
    ConsensusStatus,
    /// Transactions that peers should get, each once: an array of their bytes in hex.
    ConsensusReap {
        /// Most bytes of all together; 0 is no limit.
        max_bytes: u64,
    },
}

impl ConsensusRequest {
    /// How the JSON of such a request begins.
    pub const PREFIX: &'static [u8] = b"{\"op\":\"consensus";
}

/// Serves CometBFT on one open home.
pub struct Consensus {
    app: Arc<App>,
    /// Gone once this is closed.
    server: Mutex<Option<Server>>,
    _watcher: Arc<dyn PoolWatcher>,
}

impl Consensus {
    /// Listens for CometBFT.
    ///
    /// # Errors
    /// [`NodeError::Config`] for an address that is none and a home whose genesis is not for CometBFT, [`NodeError::Internal`]
    /// where nothing can listen there.
    pub fn open(home: &Arc<Home>, config: &ConsensusConfig, metrics: &Registry) -> Result<Self, NodeError> {
        if !home.chain().spec().is_bft() {
            let reason = "consensus.enabled goes with a genesis whose config has {\"bft\":{\"engine\":\"cometbft\"}}: see `hearth init --cometbft`";
            return Err(NodeError::Config { reason: reason.to_owned() });
        }
        let address: Address = config
            .address
            .parse()
            .map_err(|error| NodeError::Config { reason: format!("consensus.abci_address: {error}") })?;
        let app = Arc::new(App {
            home: home.clone(),
            config: config.clone(),
            round: Mutex::default(),
            outbox: Arc::default(),
            metrics: ConsensusMetrics::new(metrics),
            log: metrics.log().clone(),
            last_commit: Mutex::default(),
            failure: Mutex::default(),
        });
        let watcher: Arc<dyn PoolWatcher> = app.outbox.clone();
        home.pool().watch(&watcher);
        let server = Server::start(&address, app.clone())
            .map_err(|error| NodeError::Config { reason: format!("consensus.abci_address: {error}") })?;
        Ok(Self { app, server: Mutex::new(Some(server)), _watcher: watcher })
    }

    /// Answers a request: the JSON bytes of its result.
    pub fn answer(&self, request: ConsensusRequest) -> Vec<u8> {
        let mut w = JsonWriter::with_capacity(128);
        match request {
            ConsensusRequest::ConsensusStatus => self.write_status(&mut w),
            ConsensusRequest::ConsensusReap { max_bytes } => {
                w.begin_array();
                for tx in self.app.reap(max_bytes, 0) {
                    w.bytes(&tx);
                }
                w.end_array();
            }
        }
        w.into_bytes()
    }

    fn write_status(&self, w: &mut JsonWriter) {
        let connections = self.server.lock().as_ref().map_or(0, |server| server.status().connections);
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

    /// Ends the connections, once the request that is answered at the moment is.
    pub fn close(&self) {
        if let Some(server) = self.server.lock().take() {
            server.close();
        }
    }
}
