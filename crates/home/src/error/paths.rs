//! No error of a store brings a path of this machine to a client on the network.

use super::NodeError;
use crate::chain_error;
use alloy_primitives::B256;
use hearth_bake::BakeError;
use hearth_chain::ChainError;
use hearth_disk::{Holder, LockError};
use hearth_evm::{BlockError, CallError, ExecuteError, SimulateError};
use hearth_flatkv::FlatKvError;
use hearth_ledger::LedgerError;
use hearth_littable::LittError;
use hearth_primitives::{Failure, StateError};
use hearth_tracers::TraceError;
use std::{io, path::PathBuf, sync::Arc};

/// A folder that must stay secret. Its name has a space, as names of folders may.
const HOME: &str = "/srv/secret node";

fn path() -> PathBuf {
    PathBuf::from(HOME).join("data/state/db/000021.sst")
}

fn source() -> io::Error {
    io::Error::other(format!("while reading {}", path().display()))
}

fn lock() -> LockError {
    LockError::Held { path: path(), holder: Some(Holder::this_process()) }
}

/// Text with a path, as RocksDB writes it.
fn text() -> String {
    format!("Corruption: block checksum mismatch in {} offset 0", path().display())
}

fn of_table() -> Vec<LittError> {
    let (path, table): (_, Arc<str>) = (path(), "blocks".into());
    let all = vec![
        LittError::Io { path: path.clone(), source: Arc::new(source()) },
        LittError::Corrupt { path: path.clone(), offset: 7, what: "checksum of a frame" },
        LittError::Conflict { table: table.clone(), key: vec![1] },
        LittError::Pruned { table: table.clone(), floor: 7 },
        LittError::ReadOnly { table: table.clone(), cause: text().into() },
        LittError::TooLarge { table: table.clone(), what: "length", size: 2, limit: 1 },
        LittError::BadRange { table: table.clone(), start: 0, end: 2, len: 1 },
        LittError::NoSuchPosition { table: table.clone(), position: 1 },
        LittError::Sharded { table: table.clone(), shards: 2 },
        LittError::LeaseExpired { table, seconds: 1 },
        LittError::NewerFormat { path: path.clone(), found: 9, known: 2 },
        LittError::BadName("x/y".into()),
        LittError::BadSetting { setting: "roots", why: text() },
        LittError::RootMissing { id: "1".into(), path: path.clone() },
        LittError::ForeignRoot { path: path.clone(), why: "it is another" },
        LittError::NetworkFs { path, kind: "NFS" },
        LittError::Locked(Arc::new(lock())),
        LittError::NoSuchTable("blocks".into()),
        LittError::AlreadyOpen("blocks".into()),
    ];
    // A new kind belongs into the list above.
    for error in &all {
        match error {
            LittError::Io { .. }
            | LittError::Corrupt { .. }
            | LittError::Conflict { .. }
            | LittError::Pruned { .. }
            | LittError::ReadOnly { .. }
            | LittError::TooLarge { .. }
            | LittError::BadRange { .. }
            | LittError::NoSuchPosition { .. }
            | LittError::Sharded { .. }
            | LittError::LeaseExpired { .. }
            | LittError::NewerFormat { .. }
            | LittError::BadName(_)
            | LittError::BadSetting { .. }
            | LittError::RootMissing { .. }
            | LittError::ForeignRoot { .. }
            | LittError::NetworkFs { .. }
            | LittError::Locked(_)
            | LittError::NoSuchTable(_)
            | LittError::AlreadyOpen(_) => {}
        }
    }
    all
}

fn of_state() -> Vec<StateError> {
    let all = vec![
        StateError::NotRetained { height: 1, oldest: 2, newest: 3 },
        StateError::Unwound { height: 1 },
        StateError::MissingCode(B256::ZERO),
        StateError::MissingNode { hash: B256::ZERO },
        StateError::NoTrie { why: "the data directory has a part of a state" },
        StateError::TooFarBack { height: 1, limit: 2 },
        StateError::OutsideCapsule {
            height: 1,
            what: "an account",
            source: Box::new(Failure::private(source())),
        },
        StateError::Origin("no answer".into()),
        StateError::NotHere(hearth_primitives::Elsewhere),
        StateError::Damaged { what: "account" },
        StateError::Database { damaged: true, source: Arc::new(io::Error::other(text())) },
        StateError::failed("a table of the ledger", io::Error::other(text())),
        StateError::Store(text()),
    ];
    for error in &all {
        match error {
            StateError::NotRetained { .. }
            | StateError::Unwound { .. }
            | StateError::MissingCode(_)
            | StateError::MissingNode { .. }
            | StateError::NoTrie { .. }
            | StateError::TooFarBack { .. }
            | StateError::OutsideCapsule { .. }
            | StateError::Origin(_)
            | StateError::NotHere(_)
            | StateError::Damaged { .. }
            | StateError::Database { .. }
            | StateError::Failed { .. }
            | StateError::Store(_) => {}
        }
    }
    all
}

/// The kinds with a path or with text of another store; the others have numbers and hashes alone.
fn of_flatkv() -> Vec<FlatKvError> {
    let path = path();
    let mut all = vec![
        FlatKvError::Locked(lock()),
        FlatKvError::DiskNearlyFull { path: path.clone(), free: 1, needed: 2 },
        FlatKvError::WalDamaged { path: path.clone(), offset: 1, what: text() },
        FlatKvError::WalTruncated { path: path.clone(), last: 1, synced: 2 },
        FlatKvError::Diverged { store: 1, base: 2, head: 3 },
        FlatKvError::BadCommitment { height: 1, recorded: B256::ZERO, computed: B256::ZERO },
        FlatKvError::Failed { cause: text() },
        FlatKvError::NoSnapshot { dir: path.clone(), asked: None, there: Vec::new() },
        FlatKvError::BadFile { path: path.clone(), why: text() },
        FlatKvError::Gone { dir: path.clone() },
        FlatKvError::Unrepairable { why: text() },
        FlatKvError::BadStream { offset: 1, what: text() },
        FlatKvError::Closed,
        FlatKvError::ReadOnly,
        FlatKvError::Cancelled,
        FlatKvError::Io { path, source: source() },
    ];
    all.extend(of_state().into_iter().map(FlatKvError::State));
    all
}

fn of_ledger() -> Vec<LedgerError> {
    let mut all: Vec<_> = of_table().into_iter().map(LedgerError::Table).collect();
    all.extend(of_table().into_iter().map(LedgerError::Unopenable));
    all.extend(of_state().into_iter().map(LedgerError::Index));
    all.extend(of_table().into_iter().map(|source| LedgerError::Damaged {
        what: "record",
        hash: B256::ZERO,
        source: Box::new(source),
    }));
    all.push(LedgerError::Undecodable { what: "block", hash: B256::ZERO, why: "it is cut short".into() });
    all.push(LedgerError::BadIndexRow("number"));
    all.push(LedgerError::MissingBlock(B256::ZERO));
    all
}

fn of_chain() -> Vec<ChainError> {
    let (home, path) = (PathBuf::from(HOME), path());
    let mut all = vec![
        ChainError::Io { path: path.clone(), source: source() },
        ChainError::NotInitialised { home: home.clone() },
        ChainError::DescriptionMissing { path: path.clone(), home: home.clone() },
        ChainError::DescriptionDamaged { path: path.clone(), home: home.clone(), why: "cut".into() },
        ChainError::GenesisMissing { path: path.clone(), home: home.clone() },
        ChainError::HomeIsFile { home: home.clone() },
        ChainError::NewerFormat { path: path.clone(), found: 9, known: 3 },
        ChainError::OlderFormat { home: home.clone(), found: 0, oldest: 1 },
        ChainError::BadHome { path: path.clone(), why: "cut".into() },
        ChainError::ForkWithoutOrigin { home: home.clone() },
        ChainError::LedgerElsewhere { home: home.clone(), roots: 1 },
        ChainError::HomeNotEmpty { home: home.clone() },
        ChainError::BadCase { file: path, why: "no block".into() },
        ChainError::PartialState { home: home.clone() },
        ChainError::NoFollower { home },
        ChainError::Cancelled,
    ];
    all.extend(of_flatkv().into_iter().map(ChainError::Store));
    all.extend(of_state().into_iter().map(ChainError::State));
    all.extend(of_ledger().into_iter().map(ChainError::Ledger));
    all
}

fn of_bake() -> Vec<BakeError> {
    let mut all = vec![
        BakeError::Io { path: path(), source: source() },
        BakeError::Damaged { reason: text() },
        BakeError::TooLarge { limit: 1 },
        BakeError::Deflate { reason: "no".into() },
        BakeError::Thread(source()),
    ];
    all.extend(of_table().into_iter().map(BakeError::Store));
    all
}

/// Every way by which the error of a store becomes one of a request.
fn all() -> Vec<NodeError> {
    let home = PathBuf::from(HOME);
    let mut all: Vec<NodeError> = of_state().into_iter().map(NodeError::from).collect();
    all.extend(of_ledger().into_iter().map(NodeError::from));
    all.extend(of_chain().into_iter().map(|error| chain_error(&home, error)));
    all.extend(of_bake().into_iter().map(NodeError::store_failed));
    for error in of_state() {
        // What executes or traces a block says what the state said.
        let failure = Failure::from(error.clone());
        all.push(NodeError::Execution { height: 7, source: failure.clone() });
        all.push(NodeError::Trace { source: failure.clone().within("transaction 1: ") });
        all.push(NodeError::ExecutionFailed { source: failure });
        all.push(NodeError::ExecutionFailed { source: BlockError::State(error.clone()).into() });
        all.push(NodeError::Trace {
            source: TraceError::Replay(ExecuteError::State(error.clone()).into()).into(),
        });
        all.push(NodeError::Simulation(Box::new(SimulateError::Call(CallError::State(error)))));
    }
    all.push(NodeError::HomeDamaged { home: home.clone(), reason: text(), repairable: true });
    all.push(NodeError::HomeInUse { home: home.clone(), holder: None });
    all.push(NodeError::HomeNotEmpty { home });
    all.push(NodeError::Input { file: path(), reason: text() });
    all.push(NodeError::Config { reason: text() });
    all.push(NodeError::Genesis { reason: text() });
    all.push(NodeError::Internal { message: format!("called `unwrap()`: {:?}", path()) });
    all
}

#[test]
fn no_error_of_a_store_tells_a_path() {
    let mut hidden = 0;
    for error in all() {
        let json: serde_json::Value = serde_json::from_slice(&error.to_json()).expect("JSON");
        let shown = json["public"].as_str().or(json["message"].as_str()).expect("a message").to_owned();
        assert!(!shown.contains("/srv") && !shown.contains(".sst"), "{error:?} shows {shown}");
        assert!(!shown.is_empty());
        hidden += usize::from(error.to_string().contains(HOME));
    }
    assert!(hidden > 50, "{hidden} errors have a path for the log");
}

#[test]
fn a_damaged_record_is_named_by_its_block() {
    let source = LittError::Corrupt { path: path(), offset: 7, what: "checksum of a frame" };
    let error = NodeError::from(LedgerError::Damaged {
        what: "record",
        hash: B256::repeat_byte(7),
        source: Box::new(source),
    });
    assert_eq!(error.kind(), "record_damaged");
    let shown = format!("the record of block {} is damaged", B256::repeat_byte(7));
    assert_eq!(error.public(), Some(shown));
    assert!(error.to_string().contains(HOME), "{error}");
}

#[test]
fn what_has_no_path_is_told_as_it_is() {
    let error = NodeError::from(StateError::Unwound { height: 7 });
    assert_eq!(error.public(), None);
    let error = NodeError::Internal { message: "a job panicked".into() };
    assert_eq!(error.public().as_deref(), Some("internal error: the log of this node says more"));
}
