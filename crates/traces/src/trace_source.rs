//! The source of a block that is executed again: the state that its transactions run on, and how it
//! is reached.

use crate::Traces;
use crate::trace::trace_error;
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_evm::{BlockEnvironment, BlockExecutor, ChainSpec, has_no_transactions};
use hearth_flatkv::StateView;
use hearth_home::{Home, LookbackPolicy, NodeError, TraceSource, TraceSourceKind, chain_error};
use hearth_ledger::StoredBlock;
use hearth_primitives::{
    Account, Block, BlockHashes, CapsuleState, Header, Height, NativeSidecar, StateError, StateReader,
    TraceCapsule, Transaction,
};
use hearth_tracers::{BlockReplay, TraceError};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// The state at the start of a block, and what is known of its steps.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    state: &'a dyn StateReader,
    hashes: &'a dyn BlockHashes,
    capsule: Option<CapsuleState<'a>>,
    /// The native sidecar of the block, if there is no capsule.
    sidecar: &'a NativeSidecar,
}

impl<'a> Source<'a> {
    /// What it is.
    pub fn origin(&self) -> TraceSourceKind {
        if self.capsule.is_some() { TraceSourceKind::Capsule } else { TraceSourceKind::History }
    }

    /// The state at the start of the block.
    pub fn state(&self) -> &'a dyn StateReader {
        self.state
    }

    /// The same with another reader of the state, which must say the same.
    pub fn through<'b>(self, state: &'b dyn StateReader) -> Source<'b>
    where
        'a: 'b,
    {
        Source { state, ..self }
    }

    /// A replay of the block.
    ///
    /// # Errors
    /// As [`BlockReplay::new`] and [`BlockReplay::from_capsule`].
    pub fn replay(
        &self,
        spec: &'a ChainSpec,
        (block, hash): (&'a Block, B256),
        senders: Option<&'a [Address]>,
    ) -> Result<BlockReplay<'a>, TraceError> {
        match self.capsule {
            Some(start) => {
                let capsule = start.capsule();
                BlockReplay::from_capsule(spec, (block, hash), senders, capsule, self.state, self.hashes)
            }
            None => {
                let sidecar = self.sidecar.clone();
                BlockReplay::with_sidecar(spec, block, senders, sidecar, (self.state, self.hashes))
            }
        }
    }

    /// The state right before a transaction, where it is known without executing those before it.
    pub fn before(&self, index: usize) -> Option<CapsuleState<'a>> {
        self.capsule.map(|start| start.before_transaction(index))
    }

    /// Brings an executor of the block, that nothing was done with, before one of its transactions.
    ///
    /// # Errors
    /// A transaction that does not execute, state that cannot be read, [`TraceError::Cancelled`].
    pub fn go_to(
        &self,
        executor: &mut BlockExecutor<'_>,
        index: usize,
        transactions: impl Iterator<Item = (&'a Transaction, Address)>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), TraceError> {
        if let Some(capsule) = self.capsule.map(|start| start.capsule()) {
            let mut steps = 0..=index;
            return steps
                .try_for_each(|step| executor.apply_capsule(capsule, step))
                .map_err(|error| TraceError::Replay(error.into()));
        }
        executor
            .begin_with_sidecar(self.sidecar.clone())
            .map_err(|error| TraceError::Replay(error.into()))?;
        for (tx, sender) in transactions.take(index) {
            if should_stop() {
                return Err(TraceError::Cancelled);
            }
            executor.transact(tx, sender).map_err(|error| TraceError::Replay(error.into()))?;
        }
        Ok(())
    }

    /// An executor of a block on this state.
    pub fn executor(&self, spec: &'a ChainSpec, environment: BlockEnvironment) -> BlockExecutor<'a> {
        BlockExecutor::new(spec, environment, self.state, self.hashes)
    }
}

/// The error of a trace, with failures of the block's execution apart from the others.
pub fn replay_error(header: &Header, error: TraceError) -> NodeError {
    match error {
        TraceError::Replay(source) => NodeError::Execution { height: header.number, source },
        other => trace_error(other),
    }
}

/// The state before a block, found when it is needed for the first time.
struct LazyParentState<'a> {
    home: &'a Home,
    header: &'a Header,
    reach: LookbackPolicy,
    codes: Option<StateView>,
    state: OnceLock<Result<Box<dyn StateReader + 'a>, NodeError>>,
}

impl<'a> LazyParentState<'a> {
    fn new(home: &'a Home, header: &'a Header, reach: LookbackPolicy) -> Self {
        Self { home, header, reach, codes: home.chain().reader().latest(), state: OnceLock::new() }
    }

    /// The refusal of the guard, if it refused.
    fn refusal(&self) -> Option<NodeError> {
        match self.state.get() {
            Some(Err(error @ NodeError::BeyondLookback { .. })) => Some(error.clone()),
            _ => None,
        }
    }

    fn state(&self, what: &'static str) -> Result<&dyn StateReader, StateError> {
        let find = || {
            self.home.check_lookback(self.header.number, self.reach)?;
            self.home.replay_state(self.header)
        };
        match self.state.get_or_init(find) {
            Ok(state) => Ok(&**state),
            Err(error) => {
                let source = Box::new(error.clone().into());
                Err(StateError::OutsideCapsule { height: self.header.number, what, source })
            }
        }
    }
}

impl StateReader for LazyParentState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.state("an account")?.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.state("a slot")?.storage(address, slot)
    }

    /// Code is kept by its hash, for every height and branch.
    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.as_ref().ok_or(StateError::MissingCode(*hash))?.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        self.state("a whole storage")?.storage_of(address)
    }
}

impl BlockHashes for LazyParentState<'_> {
    fn block_hash(&self, number: Height) -> Result<B256, StateError> {
        // The ledger knows the canonical chain, as does the state.
        self.state("a block hash")?;
        self.home.chain().reader().hashes().block_hash(number)
    }
}

impl Traces {
    /// Runs `run` on the transactions of a block of the ledger; `run` gets the source of the state
    /// before anything is executed.
    ///
    /// # Errors
    /// If there is no state to execute on, and the errors of `run`, through [`replay_error`].
    pub fn replay_stored<T>(
        &self,
        block: &StoredBlock,
        run: impl FnOnce(&mut BlockReplay<'_>, TraceSourceKind) -> Result<T, TraceError>,
    ) -> Result<T, NodeError> {
        let senders = self.home().senders_of(block)?;
        let header = &block.block.header;
        self.with_source((header, block.hash), LookbackPolicy::Any, |source| {
            let replay =
                source.replay(self.home().chain().spec(), (&block.block, block.hash), Some(&senders));
            let done = replay.and_then(|mut replay| run(&mut replay, source.origin()));
            done.map_err(|error| replay_error(header, error))
        })
    }

    /// Finds the state that the transactions of a block run on, as the settings determine.
    ///
    /// # Errors
    /// [`NodeError::NoCapsule`]; [`NodeError::BeyondLookback`]; those of [`Home::replay_state`];
    /// those of `run`.
    pub fn with_source<T>(
        &self,
        (header, hash): (&Header, B256),
        reach: LookbackPolicy,
        run: impl FnOnce(Source<'_>) -> Result<T, NodeError>,
    ) -> Result<T, NodeError> {
        let setting = self.home().config().rpc.trace_source;
        let (chain, height) = (self.home().chain(), header.number);
        let mut damaged = false;
        if setting != TraceSource::History {
            // Nothing of such a block can be traced, and nothing of its state is needed.
            if has_no_transactions(chain.spec(), header) {
                return self.with_capsule(header, &TraceCapsule::default(), reach, run);
            }
            match self.capsules().get(chain.reader(), &hash) {
                Ok(Some(capsule)) => return self.with_capsule(header, &capsule, reach, run),
                Ok(None) if setting == TraceSource::Capsule => {
                    return Err(NodeError::NoCapsule { height, hash });
                }
                Ok(None) => {}
                Err(error) => {
                    self.capsules().metrics.unreadable.add(1);
                    if setting == TraceSource::Capsule {
                        return Err(error.into());
                    }
                    damaged = true;
                }
            }
        }
        self.home().check_lookback(height, reach)?;
        let state = self.home().replay_state(header)?;
        let sidecar = chain.sidecar(&hash).map_err(|error| chain_error(&self.home().config().home, error))?;
        let hashes = chain.reader().hashes();
        let done = run(Source { state: &*state, hashes, capsule: None, sidecar: &sidecar });
        if damaged && done.is_ok() {
            // The answer does not depend on the capsule: if it cannot be made now, the next trace
            // tries again.
            let _ = chain.make_capsule(&hash);
        }
        done
    }

    /// Runs `run` on a capsule that is in memory already.
    ///
    /// # Errors
    /// Those of `run`; [`NodeError::BeyondLookback`] if the run needed state outside of the
    /// capsule.
    pub fn with_capsule<T>(
        &self,
        header: &Header,
        capsule: &TraceCapsule,
        reach: LookbackPolicy,
        run: impl FnOnce(Source<'_>) -> Result<T, NodeError>,
    ) -> Result<T, NodeError> {
        let (beneath, outside) = (LazyParentState::new(self.home(), header, reach), AtomicU64::new(0));
        let state = CapsuleState::new(capsule, &beneath, &beneath, &beneath, &outside);
        let sidecar = NativeSidecar::default();
        let source = Source { state: &state, hashes: &state, capsule: Some(state), sidecar: &sidecar };
        let done = run(source);
        self.capsules().metrics.outside_reads.add(outside.load(Ordering::Relaxed));
        done.map_err(|error| beneath.refusal().unwrap_or(error))
    }
}
