//! The model of one CometBFT: the four connections, the blocks that it stored, and the height that
//! it saved.

use crate::support::{answer, config};
use alloy_primitives::{B256, keccak256};
use hearth_abci::{Request as Frame, Response, Timestamp, pb, read_frame, request, response, write_frame};
use hearth_home::{ConsensusConfig, FsyncPolicy};
use hearth_ledger::LedgerSettings;
use hearth_node::{Mode, Node};
use hearth_rpc::Request;
use serde_json::Value;
use std::num::NonZeroU64;
use std::{
    io::BufReader, os::unix::net::UnixStream, path::PathBuf, sync::Arc, thread::JoinHandle, time::Duration,
};

/// A block that CometBFT decided on.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub height: i64,
    pub time: Timestamp,
    pub proposer: Vec<u8>,
    pub txs: Vec<Vec<u8>>,
}

impl Decided {
    /// What stands for CometBFT's hash of the block.
    pub fn hash(&self) -> B256 {
        keccak256(format!("{self:?}"))
    }
}

/// A connection.
struct Connection {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Connection {
    fn open(path: &std::path::Path) -> Self {
        Self::of(UnixStream::connect(path).expect("connects"))
    }

    fn of(writer: UnixStream) -> Self {
        writer.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        let reader = BufReader::new(writer.try_clone().expect("a socket"));
        Self { writer, reader }
    }

    fn send(&mut self, value: request::Value) {
        write_frame(&mut self.writer, &Frame { value: Some(value) }).expect("sends");
        let flush = request::Value::Flush(pb::RequestFlush {});
        write_frame(&mut self.writer, &Frame { value: Some(flush) }).expect("sends");
    }

    fn receive(&mut self) -> response::Value {
        let mut next = || {
            let read: Option<Response> = read_frame(&mut self.reader, &mut Vec::new()).expect("reads");
            read.and_then(|response| response.value).expect("an answer")
        };
        let answer = next();
        assert!(matches!(next(), response::Value::Flush(_)));
        answer
    }
}

/// A node, and the CometBFT that drives it.
pub struct Comet {
    pub address: Vec<u8>,
    pub node: Arc<Node>,
    snapshots: Snapshots,
    /// Query, snapshot, mempool, consensus.
    connections: Vec<Connection>,
    home: tempfile::TempDir,
    /// Blocks that it stored, from height 1 on.
    pub store: Vec<Decided>,
    /// The height whose results it saved.
    pub state: usize,
    /// App hashes by height, as the application gave them.
    pub app_hashes: Vec<Vec<u8>>,
}

macro_rules! call {
    ($self:expr, $on:expr, $name:ident, $request:expr) => {
        match $self.call($on, request::Value::$name($request)) {
            response::Value::$name(answer) => Ok(answer),
            response::Value::Exception(exception) => Err(exception.error),
            other => panic!("{other:?}"),
        }
    };
}

/// Size at which a segment of the ledger is sealed.
const SEGMENT_BYTES: u64 = 1 << 20;

const QUERY: usize = 0;
const SNAPSHOT: usize = 1;
const MEMPOOL: usize = 2;
const CONSENSUS: usize = 3;

impl Comet {
    /// A new home with this genesis, and a CometBFT that has begun the chain.
    pub fn begin(number: u8, genesis: &str) -> Self {
        Self::begin_with(number, genesis, 0)
    }

    /// As [`Self::begin`], with snapshots at heights divisible by the interval.
    pub fn begin_with(number: u8, genesis: &str, snapshot_interval_blocks: u64) -> Self {
        let snapshots = Snapshots { snapshot_interval_blocks, ..Snapshots::default() };
        let mut comet = Self::open_new(number, genesis, snapshots);
        comet.init_chain(genesis, "hearth-31337", 30_000_000).expect("the same genesis");
        comet
    }

    /// As [`Self::begin`], where CometBFT keeps so many blocks.
    pub fn begin_keeping(number: u8, genesis: &str, retain_blocks: u64) -> Self {
        let snapshots = Snapshots { retain_blocks, ..Snapshots::default() };
        let mut comet = Self::open_new(number, genesis, snapshots);
        comet.init_chain(genesis, "hearth-31337", 30_000_000).expect("the same genesis");
        comet
    }

    /// A new home with this genesis, whose chain CometBFT has not begun.
    pub fn begin_empty(number: u8, genesis: &str) -> Self {
        Self::open_new(number, genesis, Snapshots::default())
    }

    fn open_new(number: u8, genesis: &str, snapshots: Snapshots) -> Self {
        let home = crate::killed::temp_dir();
        Node::init(home.path(), genesis).expect("a home");
        let node = open(&home, snapshots);
        let address = vec![number; 20];
        let connections = connect(&home);
        let (store, app_hashes) = Default::default();
        let mut comet = Self { address, node, snapshots, connections, home, store, state: 0, app_hashes };
        assert_eq!(comet.info().last_block_height, 0);
        comet
    }

    /// As [`Self::begin`], of a network that begins with these validators: their ed25519 keys and
    /// powers.
    pub fn begin_network(number: u8, genesis: &str, validators: &[(B256, u64)]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        Node::init(home.path(), genesis).expect("a home");
        let snapshots = Snapshots { snapshot_interval_blocks: 0, state_sync: false, retain_blocks: 0 };
        let (node, address) = (open(&home, snapshots), vec![number; 20]);
        let connections = connect(&home);
        let (store, app_hashes) = Default::default();
        let mut comet = Self { address, node, snapshots, connections, home, store, state: 0, app_hashes };
        comet.init_network(genesis, validators).expect("the same validators");
        comet
    }

    /// InitChain with validators.
    pub fn init_network(
        &mut self,
        genesis: &str,
        validators: &[(B256, u64)],
    ) -> Result<pb::ResponseInitChain, String> {
        let update = |(key, power): &(B256, u64)| pb::ValidatorUpdate {
            pub_key: Some(hearth_abci::crypto::PublicKey {
                sum: Some(hearth_abci::crypto::public_key::Sum::Ed25519(key.to_vec())),
            }),
            power: *power as i64,
        };
        let validators = validators.iter().map(update).collect();
        let request = init_chain_request(genesis, "hearth-31337", 30_000_000);
        call!(self, CONSENSUS, InitChain, pb::RequestInitChain { validators, ..request })
    }

    /// FinalizeBlock and Commit of a block with evidence that validators signed twice at a height.
    pub fn decide_with_evidence(
        &mut self,
        block: &Decided,
        of: &[([u8; 20], i64)],
    ) -> pb::ResponseFinalizeBlock {
        let evidence = |(address, height): &([u8; 20], i64)| pb::Misbehavior {
            r#type: pb::MisbehaviorType::DuplicateVote as i32,
            validator: Some(pb::Validator { address: address.to_vec().into(), power: 1 }),
            height: *height,
            ..Default::default()
        };
        let request = pb::RequestFinalizeBlock {
            misbehavior: of.iter().map(evidence).collect(),
            ..finalize_request(block)
        };
        let answer = call!(self, CONSENSUS, FinalizeBlock, request).expect("executes");
        self.commit().expect("commits");
        self.store.push(block.clone());
        self.told(self.store.len() - 1, &answer.app_hash);
        self.state = self.store.len();
        answer
    }

    /// Its data directory.
    pub fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    fn call(&mut self, on: usize, request: request::Value) -> response::Value {
        self.connections[on].send(request);
        self.connections[on].receive()
    }

    /// Snapshots that peers may fetch.
    pub fn list_snapshots(&mut self) -> Vec<pb::Snapshot> {
        call!(self, SNAPSHOT, ListSnapshots, pb::RequestListSnapshots {}).expect("answers").snapshots
    }

    /// A chunk of a snapshot.
    pub fn chunk(&mut self, snapshot: &pb::Snapshot, chunk: u32) -> Vec<u8> {
        let (height, format) = (snapshot.height, snapshot.format);
        let request = pb::RequestLoadSnapshotChunk { height, format, chunk };
        call!(self, SNAPSHOT, LoadSnapshotChunk, request).expect("answers").chunk.to_vec()
    }

    pub fn info(&mut self) -> pb::ResponseInfo {
        call!(self, QUERY, Info, pb::RequestInfo::default()).expect("answers")
    }

    pub fn init_chain(
        &mut self,
        genesis: &str,
        chain_id: &str,
        max_gas: i64,
    ) -> Result<pb::ResponseInitChain, String> {
        call!(self, CONSENSUS, InitChain, init_chain_request(genesis, chain_id, max_gas))
    }

    /// Begins a network whose first block has this height.
    pub fn init_chain_from(
        &mut self,
        genesis: &str,
        initial_height: i64,
    ) -> Result<pb::ResponseInitChain, String> {
        let request = init_chain_request(genesis, "hearth-31337", 30_000_000);
        // Not before the block that the network continues after.
        let time = Some(Timestamp { seconds: 1_700_000_010, nanos: 0 });
        call!(self, CONSENSUS, InitChain, pb::RequestInitChain { initial_height, time, ..request })
    }

    /// The node is opened again with other rules for its chain; CometBFT has nothing yet.
    pub fn restart_as(&mut self, genesis: &str) {
        self.connections.clear();
        self.node.close().expect("closes");
        std::fs::write(self.home.path().join("config/genesis.json"), genesis).expect("writes");
        self.node = open(&self.home, self.snapshots);
        self.connections = connect(&self.home);
    }

    pub fn check(&mut self, tx: &[u8]) -> pb::ResponseCheckTx {
        let request = pb::RequestCheckTx { tx: tx.to_vec().into(), r#type: 0 };
        call!(self, MEMPOOL, CheckTx, request).expect("answers")
    }

    pub fn insert(&mut self, tx: &[u8]) -> u32 {
        let request = hearth_abci::RequestInsertTx { tx: tx.to_vec().into() };
        call!(self, MEMPOOL, InsertTx, request).expect("answers").code
    }

    pub fn reap(&mut self) -> Vec<Vec<u8>> {
        let request = hearth_abci::RequestReapTxs { max_bytes: 0, max_gas: 0 };
        let answer = call!(self, MEMPOOL, ReapTxs, request).expect("answers");
        answer.txs.iter().map(|tx| tx.to_vec()).collect()
    }

    pub fn prepare(&mut self, height: i64, time: &Timestamp, max_tx_bytes: i64) -> Decided {
        let request = pb::RequestPrepareProposal {
            max_tx_bytes,
            height,
            time: Some(*time),
            proposer_address: self.address.clone().into(),
            ..Default::default()
        };
        let answer = call!(self, CONSENSUS, PrepareProposal, request).expect("answers");
        let txs = answer.txs.iter().map(|tx| tx.to_vec()).collect();
        Decided { height, time: *time, proposer: self.address.clone(), txs }
    }

    /// Whether the proposal is accepted.
    pub fn process(&mut self, block: &Decided) -> bool {
        self.try_process(block).expect("answers")
    }

    /// Whether the proposal is accepted, or the exception.
    pub fn try_process(&mut self, block: &Decided) -> Result<bool, String> {
        let request = pb::RequestProcessProposal {
            txs: block.txs.iter().map(|tx| tx.clone().into()).collect(),
            hash: block.hash().to_vec().into(),
            height: block.height,
            time: Some(block.time),
            proposer_address: block.proposer.clone().into(),
            ..Default::default()
        };
        let answer = call!(self, CONSENSUS, ProcessProposal, request)?;
        Ok(answer.status == pb::response_process_proposal::ProposalStatus::Accept as i32)
    }

    pub fn finalize(&mut self, block: &Decided) -> Result<pb::ResponseFinalizeBlock, String> {
        call!(self, CONSENSUS, FinalizeBlock, finalize_request(block))
    }

    pub fn commit(&mut self) -> Result<i64, String> {
        call!(self, CONSENSUS, Commit, pb::RequestCommit {}).map(|answer| answer.retain_height)
    }

    /// The process of the application ends and restarts; CometBFT replays the missing blocks
    /// (consensus/replay.go).
    pub fn restart(&mut self) {
        self.restart_after(|_| ());
    }

    /// As [`Self::restart`], with work on the home between.
    pub fn restart_after(&mut self, work: impl FnOnce(&std::path::Path)) {
        self.connections.clear();
        self.node.close().expect("closes");
        work(self.home.path());
        self.node = open(&self.home, self.snapshots);
        self.reconnect();
    }

    /// The process of the application dies; CometBFT ends with it. Both start again on what is left
    /// of the data directory.
    pub fn revive(&mut self, dead: tempfile::TempDir) {
        self.connections.clear();
        self.node.close().expect("closes");
        self.home = dead;
        self.node = open(&self.home, self.snapshots);
        self.reconnect();
    }

    /// CometBFT ends and comes back; the application continues.
    pub fn reconnect(&mut self) {
        self.connections.clear();
        self.connections = connect(&self.home);
        let info = self.info();
        let at = usize::try_from(info.last_block_height).expect("a height");
        if at == 0 && !self.store.is_empty() {
            let genesis =
                std::fs::read_to_string(self.home.path().join("config/genesis.json")).expect("reads");
            self.init_chain(&genesis, "hearth-31337", 30_000_000).expect("the same genesis");
        }
        assert!(at <= self.store.len() && at + 1 >= self.state, "application {at}, state {}", self.state);
        if at > 0 && at <= self.app_hashes.len() {
            assert_eq!(info.last_block_app_hash, self.app_hashes[at - 1]);
        }
        for height in at..self.store.len() {
            let block = self.store[height].clone();
            let answer = self.finalize(&block).expect("executes");
            self.told(height, &answer.app_hash);
            self.commit().expect("commits");
        }
        self.state = self.store.len();
    }

    /// Notes the app hash of the block with this index.
    pub fn told(&mut self, index: usize, app_hash: &[u8]) {
        match self.app_hashes.get(index) {
            Some(before) => assert_eq!(before, app_hash, "the same block gives the same hash"),
            None => self.app_hashes.push(app_hash.to_vec()),
        }
    }

    /// The answer of the node to a client.
    pub fn ask(&self, op: &str, args: &Value) -> Value {
        // As the layer above writes it: the operation first.
        let text = match args {
            Value::Null => format!(r#"{{"op":"{op}"}}"#),
            args => format!(r#"{{"op":"{op}","args":{args}}}"#),
        };
        let request = Request::from_json(text.as_bytes()).expect("a request");
        serde_json::from_slice(&answer(&self.node, request).expect("answers")).expect("JSON")
    }
}

fn finalize_request(block: &Decided) -> pb::RequestFinalizeBlock {
    pb::RequestFinalizeBlock {
        txs: block.txs.iter().map(|tx| tx.clone().into()).collect(),
        hash: block.hash().to_vec().into(),
        height: block.height,
        time: Some(block.time),
        proposer_address: block.proposer.clone().into(),
        ..Default::default()
    }
}

fn init_chain_request(genesis: &str, chain_id: &str, max_gas: i64) -> pb::RequestInitChain {
    pb::RequestInitChain {
        time: Some(Timestamp { seconds: 1_700_000_000, nanos: 0 }),
        chain_id: chain_id.to_owned(),
        consensus_params: Some(hearth_abci::types::ConsensusParams {
            block: Some(hearth_abci::types::BlockParams { max_bytes: 4 << 20, max_gas }),
            ..Default::default()
        }),
        app_state_bytes: genesis.to_owned().into(),
        initial_height: 1,
        ..Default::default()
    }
}

fn socket(home: &tempfile::TempDir) -> PathBuf {
    home.path().join("abci.sock")
}

fn connect(home: &tempfile::TempDir) -> Vec<Connection> {
    (0..hearth_abci::CONNECTIONS).map(|_| Connection::open(&socket(home))).collect()
}

/// What a node does about state sync; 0 for nothing.
#[derive(Clone, Copy, Default)]
struct Snapshots {
    snapshot_interval_blocks: u64,
    retain_blocks: u64,
    state_sync: bool,
}

fn open(home: &tempfile::TempDir, snapshots: Snapshots) -> Arc<Node> {
    let mut config = config(home.path(), Mode::Start);
    config.fsync = FsyncPolicy::None;
    // An opening reads the segments that are not sealed: it takes as long on a long chain as on a
    // short one.
    config.littable = LedgerSettings { segment_bytes: SEGMENT_BYTES, ..LedgerSettings::default() };
    config.consensus = Some(ConsensusConfig {
        address: format!("unix://{}", socket(home).display()),
        proposal_budget_ms: 5_000,
        retain_blocks: NonZeroU64::new(snapshots.retain_blocks),
        state_sync: snapshots.state_sync,
        snapshot_interval_blocks: NonZeroU64::new(snapshots.snapshot_interval_blocks),
    });
    Node::open(config).expect("opens")
}

const JOINING: Snapshots = Snapshots { snapshot_interval_blocks: 10, retain_blocks: 0, state_sync: true };

/// A node whose first state comes from a peer, and the CometBFT that brings it.
pub struct Joining {
    home: Arc<tempfile::TempDir>,
    connections: Vec<Connection>,
    opening: JoinHandle<Arc<Node>>,
}

impl Joining {
    /// A new home with this genesis.
    pub fn begin(genesis: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        Node::init(home.path(), genesis).expect("a home");
        Self::open(Arc::new(home))
    }

    fn open(home: Arc<tempfile::TempDir>) -> Self {
        let of_thread = home.clone();
        let snapshots = JOINING;
        let opening = std::thread::spawn(move || open(&of_thread, snapshots));
        // Every connection counts: the first that is taken is the first of the four.
        let first = loop {
            match UnixStream::connect(socket(&home)) {
                Ok(stream) => break Connection::of(stream),
                Err(_) => assert!(!opening.is_finished(), "the node listens before it is open"),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let others = (1..hearth_abci::CONNECTIONS).map(|_| Connection::open(&socket(&home)));
        let connections = std::iter::once(first).chain(others).collect();
        Self { home, connections, opening }
    }

    fn call(&mut self, on: usize, request: request::Value) -> response::Value {
        self.connections[on].send(request);
        self.connections[on].receive()
    }

    pub fn info(&mut self) -> pb::ResponseInfo {
        call!(self, QUERY, Info, pb::RequestInfo::default()).expect("answers")
    }

    /// The code of the answer to a query.
    pub fn query(&mut self, path: &str) -> u32 {
        let request = pb::RequestQuery { path: path.to_owned(), ..Default::default() };
        call!(self, QUERY, Query, request).expect("answers").code
    }

    pub fn offer(&mut self, snapshot: &pb::Snapshot, app_hash: &[u8]) -> i32 {
        let (snapshot, app_hash) = (Some(snapshot.clone()), app_hash.to_vec().into());
        let request = pb::RequestOfferSnapshot { snapshot, app_hash };
        call!(self, SNAPSHOT, OfferSnapshot, request).expect("answers").result
    }

    pub fn apply(&mut self, index: u32, chunk: &[u8], sender: &str) -> pb::ResponseApplySnapshotChunk {
        let (chunk, sender) = (chunk.to_vec().into(), sender.to_owned());
        let request = pb::RequestApplySnapshotChunk { index, chunk, sender };
        call!(self, SNAPSHOT, ApplySnapshotChunk, request).expect("answers")
    }

    /// CometBFT and the node end without another block, and begin again.
    pub fn restart(self) -> Self {
        let node = self.opening.join().expect("opens");
        drop(self.connections);
        node.close().expect("closes");
        Self::open(self.home)
    }

    /// CometBFT begins with the first block after all.
    pub fn without_snapshots(mut self, genesis: &str) -> Comet {
        let begin = request::Value::InitChain(init_chain_request(genesis, "hearth-31337", 30_000_000));
        let answer = self.call(CONSENSUS, begin);
        assert!(matches!(answer, response::Value::InitChain(_)), "{answer:?}");
        self.of_open(3, Vec::new(), Vec::new())
    }

    /// The node once it is open, with the blocks that CometBFT did not bring.
    pub fn opened(self, number: u8, before: &Comet) -> Comet {
        let head = before.store.len() - 1;
        self.of_open(number, before.store[..head].to_vec(), before.app_hashes[..head].to_vec())
    }

    fn of_open(self, number: u8, store: Vec<Decided>, app_hashes: Vec<Vec<u8>>) -> Comet {
        let node = self.opening.join().expect("opens");
        let head = usize::try_from(node.chain().expect("open").head().height).expect("a height");
        assert_eq!(head, store.len(), "the state that came is of the last block that is known");
        Comet {
            address: vec![number; 20],
            node,
            snapshots: JOINING,
            connections: self.connections,
            home: Arc::into_inner(self.home).expect("one owner"),
            state: head,
            store,
            app_hashes,
        }
    }
}
