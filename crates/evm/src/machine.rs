//! The interpreter with our block state below it and a tracer's inspector beside it.

use crate::{
    constantinople,
    env::BlockEnvironment,
    overlay::{BlockState, ReadError},
    precompiles::Precompiles,
    spec::Fork,
    watch::RunLimits,
};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY};
use revm::{
    Inspector,
    context::{BlockEnv, CfgEnv, Context, Evm, FrameStack, Journal, TxEnv},
    context_interface::{
        ContextTr as _, JournalTr as _,
        context::ContextError,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction, Output},
    },
    handler::{
        EthFrame, EvmTr, FrameInitOrResult, FrameResult, Handler as _, ItemOrResult, MainnetHandler,
        evm::{ContextDbError, FrameInitResult, FrameTr},
        instructions::EthInstructions,
    },
    inspector::{InspectorEvmTr, InspectorHandler as _},
    interpreter::{CreateInputs, FrameInput, interpreter::EthInterpreter},
};

/// The interpreter's context: block, transaction, configuration and the journal over a
/// [`BlockState`]. Tracers are inspectors over this type.
pub type EvmContext<'a> = Context<BlockEnv, TxEnv, CfgEnv, BlockState<'a>>;

/// Why the interpreter gave no result.
pub(crate) type MachineError = EVMError<ReadError, InvalidTransaction>;

/// The interpreter's table of instructions.
pub(crate) type Instructions<'a> = EthInstructions<EthInterpreter, EvmContext<'a>>;
type Frame = EthFrame<EthInterpreter>;

/// A block's interpreter.
pub(crate) type BlockEvm<'a> = Evm<EvmContext<'a>, (), Instructions<'a>, Precompiles, Frame>;

/// Replaces a code hash where a creation finds storage: any hash but that of empty code makes the
/// creation collide.
const COLLIDING_CODE_HASH: B256 = B256::repeat_byte(0xff);

/// Builds the interpreter of one block.
pub(crate) fn block_evm<'a>(env: &BlockEnvironment, state: BlockState<'a>) -> BlockEvm<'a> {
    crate::kzg::install();
    crate::hash_cache::install();
    let rules = env.fork.spec_id();
    let mut cfg = env.cfg_env();
    let mut instructions = Instructions::new_mainnet_with_spec(rules);
    if env.fork == Fork::Constantinople {
        cfg.set_gas_params(constantinople::gas_params());
        constantinople::install(&mut instructions);
    }
    let context: EvmContext<'a> =
        Context::<BlockEnv, TxEnv, CfgEnv, BlockState<'a>, Journal<BlockState<'a>>, ()>::new(state, rules)
            .with_block(env.block_env())
            .with_cfg(cfg);
    Evm::new(context, instructions, Precompiles::new(rules))
}

/// Corrects the result of a creation by an account with the highest nonce, which fails (EIP-2681).
/// The interpreter returns its gas, as go-ethereum's `create` does (core/vm/evm.go), but reports a
/// success without an address.
fn without_nonce(result: ExecutionResult<HaltReason>) -> ExecutionResult<HaltReason> {
    match result {
        ExecutionResult::Success { gas, logs, output: Output::Create(_, None), .. } => {
            ExecutionResult::Halt { reason: HaltReason::NonceOverflow, gas, logs }
        }
        other => other,
    }
}

/// One run of the interpreter: the block's interpreter and the inspector of this run.
pub(crate) struct Machine<'e, 'a, I> {
    pub evm: &'e mut BlockEvm<'a>,
    pub inspector: I,
    /// When to stop.
    pub watch: RunLimits<'e>,
}

impl<'a, I> Machine<'_, 'a, I> {
    /// Executes the transaction of the context.
    pub fn run(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().run(self).map(without_nonce)
    }

    /// Runs the call that the context holds as a system call.
    pub fn run_system_call(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().run_system_call(self)
    }

    /// The address of a contract about to be created if only storage exists there: such a creation
    /// collides (EIP-7610), which the interpreter does not check.
    fn occupied_by_storage(&mut self, inputs: &CreateInputs) -> Result<Option<Address>, ReadError> {
        let journal = &mut self.evm.ctx.journaled_state;
        let Some(caller) = journal.inner.state.get(&inputs.caller()) else { return Ok(None) };
        let address = inputs.created_address(caller.info.nonce);
        let Some(account) = journal.database.account(address)? else { return Ok(None) };
        let bare = account.nonce == 0 && !account.has_code();
        if bare && journal.database.has_storage(address)? {
            journal.load_account(address)?;
            return Ok(Some(address));
        }
        Ok(None)
    }

    fn set_code_hash(&mut self, address: Address, hash: B256) {
        if let Some(account) = self.evm.ctx.journaled_state.inner.state.get_mut(&address) {
            account.info.code_hash = hash;
        }
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> Machine<'_, 'a, I> {
    /// Runs the transaction that the context holds under the inspector.
    pub fn inspect(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().inspect_run(self).map(without_nonce)
    }
}

impl<'a, I> EvmTr for Machine<'_, 'a, I> {
    type Context = EvmContext<'a>;
    type Instructions = Instructions<'a>;
    type Precompiles = Precompiles;
    type Frame = Frame;

    fn all(&self) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &FrameStack<Frame>) {
        self.evm.all()
    }

    fn all_mut(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut FrameStack<Frame>) {
        self.evm.all_mut()
    }

    fn frame_init(
        &mut self,
        input: <Frame as FrameTr>::FrameInit,
    ) -> Result<FrameInitResult<'_, Frame>, ContextDbError<Self::Context>> {
        if self.watch.expired() {
            return Err(ContextError::Custom("aborted".to_string()));
        }
        let occupied = match &input.frame_input {
            FrameInput::Create(inputs) => self.occupied_by_storage(inputs)?,
            _ => None,
        };
        let Some(address) = occupied else { return self.evm.frame_init(input) };
        self.set_code_hash(address, COLLIDING_CODE_HASH);
        let result = match self.evm.frame_init(input)? {
            ItemOrResult::Result(result) => result,
            // The code hash above makes every creation at this address end with a result.
            ItemOrResult::Item(_) => {
                return Err(ContextError::Custom("creation on top of storage ran".to_string()));
            }
        };
        self.set_code_hash(address, KECCAK256_EMPTY);
        Ok(ItemOrResult::Result(result))
    }

    fn frame_run(&mut self) -> Result<FrameInitOrResult<Frame>, ContextDbError<Self::Context>> {
        self.evm.frame_run()
    }

    fn frame_return_result(
        &mut self,
        result: FrameResult,
    ) -> Result<Option<FrameResult>, ContextDbError<Self::Context>> {
        self.evm.frame_return_result(result)
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> InspectorEvmTr for Machine<'_, 'a, I> {
    type Inspector = I;

    fn all_inspector(
        &self,
    ) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &FrameStack<Frame>, &I) {
        let (context, instructions, precompiles, frames) = self.evm.all();
        (context, instructions, precompiles, frames, &self.inspector)
    }

    fn all_mut_inspector(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut FrameStack<Frame>, &mut I)
    {
        let (context, instructions, precompiles, frames) = self.evm.all_mut();
        (context, instructions, precompiles, frames, &mut self.inspector)
    }
}

/// Drops what a failed run left in the journal and the frame stack.
pub(crate) fn discard(evm: &mut BlockEvm<'_>) {
    let _ = evm.ctx.journal_mut().finalize();
    evm.ctx.error = Ok(());
    evm.frame_stack.clear();
}
