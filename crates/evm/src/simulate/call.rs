//! `eth_call`: one message on top of a block's state.

use super::{
    BlockOverrides, CallError, CallRequest, FailureObserver, Message, StateOverrides,
    overrides::PrecompileOverrides,
};
use crate::{
    env::BlockEnvironment,
    halt_text::halt_text,
    machine::{BlockEvm, EvmContext, Machine, MachineError, block_evm},
    outcome::invalid,
    overlay::{BlockState, ReadError},
    precompiles::Precompiles,
    spec::{ChainSpec, Fork},
    tx_check::check_blob_hashes,
    tx_error::TxError,
    watch::{LimitInspector, RunLimits},
};
use alloy_consensus::Header;
use alloy_primitives::{Bytes, Log, U256};
use hearth_primitives::{BlockHashes, OriginWaits, StateReader};
use revm::{
    Inspector,
    context_interface::{
        cfg::GasParams,
        result::{EVMError, ExecutionResult, HaltReason, OutOfGasError},
    },
    inspector::NoOpInspector,
};
use std::{
    num::NonZeroU64,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

/// Gas that a call may use by default.
pub const DEFAULT_CALL_GAS_CAP: Option<NonZeroU64> = NonZeroU64::new(50_000_000);
/// Gas under which a look at the clock at every call within the run is enough.
const WATCH_STEPS_ABOVE_GAS: u64 = 100_000_000;

/// Where a call is made: after which block, on which state.
#[derive(Clone, Copy)]
pub struct CallSite<'a> {
    /// The chain's rules.
    pub spec: &'a ChainSpec,
    /// Chain id of the blocks to come, under which the call is made.
    pub chain_id: u64,
    /// Header of the block whose environment the call sees.
    pub header: &'a Header,
    /// State after that block.
    pub state: &'a dyn StateReader,
    /// Hashes of its ancestors.
    pub hashes: &'a dyn BlockHashes,
    /// Makes the observer that names a failure.
    pub observe: fn() -> Box<dyn FailureObserver>,
}

/// What a call may use.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits<'w> {
    /// Most gas; `None` for no limit.
    pub gas_cap: Option<NonZeroU64>,
    /// Longest time, without what the call waits for the origin of a fork; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Set from outside to give the call up.
    pub cancel: Option<&'w AtomicBool>,
}

impl Default for CallLimits<'_> {
    fn default() -> Self {
        Self { gas_cap: DEFAULT_CALL_GAS_CAP, timeout: Some(Duration::from_secs(5)), cancel: None }
    }
}

impl<'w> CallLimits<'w> {
    pub(crate) fn watch(&self) -> RunLimits<'w> {
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        RunLimits { deadline, waited_before: OriginWaits::waited(), cancel: self.cancel }
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// It ran to its end.
    Success,
    /// `REVERT`; the output is the reason.
    Revert,
    /// It failed; go-ethereum's text.
    Halt(String),
}

/// What a call did.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// How it ended.
    pub status: CallStatus,
    /// Gas used, refunds deducted.
    pub gas_used: u64,
    /// Gas used before refunds, at least the floor of EIP-7623: what a transaction's limit must
    /// cover.
    pub max_gas_used: u64,
    /// Return data, or the reason of a revert.
    pub output: Bytes,
    /// Logs; none unless it succeeded.
    pub logs: Vec<Log>,
    /// It failed for want of gas, and may succeed with more.
    pub out_of_gas: bool,
}

impl CallOutcome {
    /// The output as `eth_call` gives it back.
    ///
    /// # Errors
    /// [`CallError::Reverted`] and [`CallError::Halted`].
    pub fn into_output(self) -> Result<Bytes, CallError> {
        match self.status {
            CallStatus::Success => Ok(self.output),
            CallStatus::Revert => Err(CallError::Reverted { data: self.output }),
            CallStatus::Halt(text) => Err(CallError::Halted(text)),
        }
    }
}

/// A state with its overrides on which messages run, each as if it were the first.
pub struct Simulation<'a> {
    site: CallSite<'a>,
    env: BlockEnvironment,
    state_overrides: Option<&'a StateOverrides>,
    precompiles: PrecompileOverrides,
}

impl<'a> Simulation<'a> {
    /// Prepares calls at a site with overrides.
    ///
    /// # Errors
    /// [`CallError`] where the block overrides cannot be taken.
    pub fn new(
        site: CallSite<'a>,
        state_overrides: Option<&'a StateOverrides>,
        block_overrides: Option<&BlockOverrides>,
    ) -> Result<Self, CallError> {
        let env = BlockEnvironment::of_calls(site.spec, site.chain_id, site.header, block_overrides)?;
        Ok(Self { site, env, state_overrides, precompiles: PrecompileOverrides::InForce })
    }

    /// The same, with another meaning of overrides of precompiled contracts.
    pub(super) fn with_precompiles(self, precompiles: PrecompileOverrides) -> Self {
        Self { precompiles, ..self }
    }

    /// The chain's id.
    pub(super) fn chain_id(&self) -> u64 {
        self.env.chain_id
    }

    /// The environment that messages see.
    pub fn environment(&self) -> &BlockEnvironment {
        &self.env
    }

    /// An interpreter on the state with its overrides, and the environment as this message sees it.
    pub(crate) fn machine(&self, message: &Message) -> Result<(BlockEvm<'a>, BlockEnvironment), CallError> {
        let env = self.env.for_message(message);
        let mut state = BlockState::new(self.site.state, self.site.hashes, env.fork >= Fork::Prague);
        state.hide_hashes_from(self.site.header.number);
        let mut evm = block_evm(&env, state);
        evm.ctx.cfg.disable_nonce_check = true;
        evm.ctx.cfg.disable_base_fee = true;
        if let Some(overrides) = self.state_overrides {
            let state = &mut evm.ctx.journaled_state.database;
            match self.precompiles {
                PrecompileOverrides::InForce => overrides.apply(state, &mut evm.precompiles)?,
                PrecompileOverrides::Checked => overrides.apply(state, &mut evm.precompiles.clone())?,
                PrecompileOverrides::Unknown => {
                    overrides.apply(state, &mut Precompiles::none(env.fork.spec_id()))?;
                }
            }
        }
        Ok((evm, env))
    }

    /// Runs a message.
    ///
    /// # Errors
    /// [`CallError::Invalid`] where the message cannot run; a message that fails is an outcome.
    pub fn run(
        &self,
        message: &Message,
        watch: RunLimits<'_>,
        timeout: Option<Duration>,
    ) -> Result<CallOutcome, CallError> {
        let outcome = self.attempt(message, watch, timeout)?;
        self.name_failure(message, outcome, watch)
    }

    /// Runs a message. If it fails, the text is that of the interpreter's reason: enough where only
    /// success or failure counts.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(super) fn attempt(
        &self,
        message: &Message,
        watch: RunLimits<'_>,
        timeout: Option<Duration>,
    ) -> Result<CallOutcome, CallError> {
        if message.gas > WATCH_STEPS_ABOVE_GAS {
            return self.run_inspected(message, watch, timeout, NoOpInspector);
        }
        let mut evm = self.prepared(message)?;
        let result = Machine { evm: &mut evm, inspector: (), watch }.run();
        conclude(result, message.gas, watch, timeout)
    }

    /// Runs a message under an inspector. Time is looked at within the run too.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(super) fn run_inspected<I: Inspector<EvmContext<'a>>>(
        &self,
        message: &Message,
        watch: RunLimits<'_>,
        timeout: Option<Duration>,
        inspector: I,
    ) -> Result<CallOutcome, CallError> {
        let mut evm = self.prepared(message)?;
        let mut hooks = (inspector, LimitInspector::new(watch));
        let result = Machine { evm: &mut evm, inspector: &mut hooks, watch }.inspect();
        if hooks.1.stopped {
            return Err(CallError::Aborted(timeout));
        }
        conclude(result, message.gas, watch, timeout)
    }

    /// An interpreter that holds the message, which was checked.
    fn prepared(&self, message: &Message) -> Result<BlockEvm<'a>, CallError> {
        let (mut evm, env) = self.machine(message)?;
        let wrap = |source| CallError::Invalid { source, gas: message.gas };
        check_message(message, &env, Fees::Waived, &mut evm.ctx.journaled_state.database)?.map_err(wrap)?;
        evm.ctx.tx = message.tx_env(env.chain_id, env.base_fee.is_some());
        Ok(evm)
    }

    /// Gives the outcome of a message that failed go-ethereum's text. The message runs once more,
    /// under an observer; the text stays as it is where there is no time left for that.
    ///
    /// # Errors
    /// [`CallError::State`] if the state cannot be read.
    pub(super) fn name_failure(
        &self,
        message: &Message,
        outcome: CallOutcome,
        watch: RunLimits<'_>,
    ) -> Result<CallOutcome, CallError> {
        if !matches!(outcome.status, CallStatus::Halt(_)) {
            return Ok(outcome);
        }
        let mut evm = self.prepared(message)?;
        let mut observer = (self.site.observe)();
        let mut hooks = (&mut *observer, LimitInspector::new(watch));
        let result = Machine { evm: &mut evm, inspector: &mut hooks, watch }.inspect();
        let ended = result.is_ok() && !hooks.1.stopped;
        Ok(match observer.named().filter(|_| ended) {
            Some(named) => {
                CallOutcome { status: CallStatus::Halt(named.text), out_of_gas: named.out_of_gas, ..outcome }
            }
            None => outcome,
        })
    }
}

fn conclude(
    result: Result<ExecutionResult, MachineError>,
    gas: u64,
    watch: RunLimits<'_>,
    timeout: Option<Duration>,
) -> Result<CallOutcome, CallError> {
    match result {
        Ok(result) => Ok(outcome(result)),
        Err(_) if watch.expired() => Err(CallError::Aborted(timeout)),
        Err(error) => Err(machine_error(error, gas)),
    }
}

fn outcome(result: ExecutionResult) -> CallOutcome {
    let gas = *result.gas();
    let (status, output, logs, out_of_gas) = match result {
        ExecutionResult::Success { output, logs, .. } => {
            (CallStatus::Success, output.into_data(), logs, false)
        }
        ExecutionResult::Revert { output, .. } => (CallStatus::Revert, output, Vec::new(), false),
        ExecutionResult::Halt { reason, .. } => {
            (CallStatus::Halt(halt_text(&reason)), Bytes::new(), Vec::new(), wants_gas(&reason))
        }
    };
    CallOutcome {
        status,
        gas_used: gas.tx_gas_used(),
        max_gas_used: gas.total_gas_spent().max(gas.floor_gas()),
        output,
        logs,
        out_of_gas,
    }
}

/// Whether go-ethereum's error is, or wraps, `ErrOutOfGas` (core/vm/interpreter.go: Run), as far as
/// the reason alone has it: offsets beyond 64 bits have an error of their own.
fn wants_gas(reason: &HaltReason) -> bool {
    matches!(reason, HaltReason::OutOfGas(error) if *error != OutOfGasError::InvalidOperand)
}

/// Whether a message without a price is held to the block's base fees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fees {
    /// It is not: it pays nothing.
    Waived,
    /// It is, as in a block.
    Due,
}

/// What go-ethereum checks of a message before it runs, in its order (core/state_transition.go:
/// preCheck, execute).
pub(super) fn check_message(
    message: &Message,
    env: &BlockEnvironment,
    fees: Fees,
    state: &mut BlockState<'_>,
) -> Result<Result<(), TxError>, CallError> {
    Ok(check_payment(message, env, fees, state)?.and_then(|()| check_init_code(message, env)))
}

/// The part of [`check_message`] before gas is taken from the block.
pub(super) fn check_payment(
    message: &Message,
    env: &BlockEnvironment,
    fees: Fees,
    state: &mut BlockState<'_>,
) -> Result<Result<(), TxError>, CallError> {
    let balance = state.account(message.from)?.unwrap_or_default().balance;
    Ok(check_fields(message, env, fees).and_then(|()| check_funds(message, balance)))
}

/// Checks the length of init code (EIP-3860). Of a message whose gas does not cover what it costs
/// before it runs, that is the error: the interpreter checks the length first.
pub(super) fn check_init_code(message: &Message, env: &BlockEnvironment) -> Result<(), TxError> {
    let (size, limit) = (message.data.len(), env.max_init_code());
    if env.fork < Fork::Shanghai || message.to.is_some() || size <= limit {
        return Ok(());
    }
    let tx = message.tx_env(env.chain_id, env.base_fee.is_some());
    let cost = GasParams::new_spec(env.fork.spec_id()).initial_tx_gas_for_tx(tx, None);
    let (have, want, floor) = (message.gas, cost.initial_total_gas(), cost.floor_gas());
    if have < want {
        return Err(TxError::IntrinsicGas { have, want });
    }
    if env.fork >= Fork::Prague && have < floor {
        return Err(TxError::FloorDataGas { have, want: floor });
    }
    Err(TxError::InitCodeTooLong { size, limit })
}

fn check_fields(message: &Message, env: &BlockEnvironment, fees: Fees) -> Result<(), TxError> {
    let (address, cap, tip) = (message.from, message.fee_cap, message.tip);
    let due = fees == Fees::Due;
    if let Some(base_fee) = env.base_fee.map(U256::from).filter(|_| due || !(cap.is_zero() && tip.is_zero()))
    {
        if cap < tip {
            return Err(TxError::TipAboveFeeCap { address, tip, cap });
        }
        if cap < base_fee {
            return Err(TxError::FeeCapTooLow { address, cap, base_fee });
        }
    }
    if let Some(hashes) = &message.blob_hashes {
        if message.to.is_none() {
            return Err(TxError::BlobCreate);
        }
        check_blob_hashes(hashes, env.fork)?;
        let cap = message.blob_fee_cap.unwrap_or_default();
        let base_fee = U256::from(env.blob_base_fee.unwrap_or(0));
        if (due || !cap.is_zero()) && cap < base_fee {
            return Err(TxError::BlobFeeCapTooLow { address, cap, base_fee });
        }
    }
    match &message.authorizations {
        Some(_) if message.to.is_none() => Err(TxError::SetCodeCreate { address }),
        Some(list) if list.is_empty() => Err(TxError::EmptyAuthorizations { address }),
        _ => Ok(()),
    }
}

fn check_funds(message: &Message, have: U256) -> Result<(), TxError> {
    let address = message.from;
    let blobs = message.blob_hashes.as_ref().map_or(0, Vec::len) as u64;
    let blob_gas = U256::from(blobs.saturating_mul(crate::spec::GAS_PER_BLOB));
    let blob_fee = blob_gas.checked_mul(message.blob_fee_cap.unwrap_or_default());
    let want = U256::from(message.gas)
        .checked_mul(message.fee_cap)
        .and_then(|gas| gas.checked_add(blob_fee?))
        .and_then(|sum| sum.checked_add(message.value));
    match want {
        None => Err(TxError::FundsOverflow { address }),
        Some(want) if have < want => Err(TxError::InsufficientFunds { address, have, want }),
        Some(_) => Ok(()),
    }
}

pub(crate) fn machine_error(error: MachineError, gas: u64) -> CallError {
    match error {
        EVMError::Database(ReadError(error)) => error.into(),
        EVMError::Transaction(error) => CallError::Invalid { source: invalid(error), gas },
        other => CallError::Invalid { source: TxError::Other(other.to_string()), gas },
    }
}

/// Makes a call (`eth_call`).
///
/// # Errors
/// [`CallError`] where the call cannot be made. A call that reverts or fails is an outcome:
/// [`CallOutcome::into_output`] turns it into go-ethereum's error.
pub fn call(
    site: CallSite<'_>,
    request: &CallRequest,
    state_overrides: Option<&StateOverrides>,
    block_overrides: Option<&BlockOverrides>,
    limits: &CallLimits<'_>,
) -> Result<CallOutcome, CallError> {
    let simulation = Simulation::new(site, state_overrides, block_overrides)?;
    let mut message = request.message(simulation.env.base_fee, simulation.env.chain_id, limits.gas_cap)?;
    if request.gas.is_none() && limits.gas_cap.is_none() {
        // Here go-ethereum takes the gas of its pool for the cap (internal/ethapi/api.go: doCall).
        message.gas = u64::MAX;
    }
    simulation.run(&message, limits.watch(), limits.timeout)
}
