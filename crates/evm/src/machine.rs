//! The interpreter with our block state below it and a tracer's inspector beside it.

use crate::overlay::{BlockState, ReadError};
use revm::{
    Inspector, MainnetEvm,
    context::{BlockEnv, CfgEnv, Context, ContextTr as _, FrameStack, TxEnv},
    context_interface::{
        JournalTr as _,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
    },
    handler::{
        EthFrame, EthPrecompiles, EvmTr, FrameInitOrResult, FrameResult, Handler as _, MainnetHandler,
        evm::{ContextDbError, FrameInitResult, FrameTr},
        instructions::EthInstructions,
    },
    inspector::{InspectorEvmTr, InspectorHandler as _},
    interpreter::interpreter::EthInterpreter,
};

/// The interpreter's context: block, transaction, configuration and the journal over a [`BlockState`]. Tracers are
/// inspectors over this type.
pub type EvmContext<'a> = Context<BlockEnv, TxEnv, CfgEnv, BlockState<'a>>;

/// Why the interpreter gave no result.
pub(crate) type MachineError = EVMError<ReadError, InvalidTransaction>;

type Instructions<'a> = EthInstructions<EthInterpreter, EvmContext<'a>>;
type Frame = EthFrame<EthInterpreter>;

/// One run of the interpreter: the block's machine and the inspector of this run.
pub(crate) struct Machine<'e, 'a, I> {
    pub evm: &'e mut MainnetEvm<EvmContext<'a>>,
    pub inspector: I,
}

impl<'a, I> Machine<'_, 'a, I> {
    /// Runs the transaction that the context holds.
    pub fn run(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().run(self)
    }

    /// Runs the call that the context holds as a system call.
    pub fn run_system_call(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().run_system_call(self)
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> Machine<'_, 'a, I> {
    /// Runs the transaction that the context holds under the inspector.
    pub fn inspect(&mut self) -> Result<ExecutionResult<HaltReason>, MachineError> {
        MainnetHandler::default().inspect_run(self)
    }
}

impl<'a, I> EvmTr for Machine<'_, 'a, I> {
    type Context = EvmContext<'a>;
    type Instructions = Instructions<'a>;
    type Precompiles = EthPrecompiles;
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
        self.evm.frame_init(input)
    }

    fn frame_run(&mut self) -> Result<FrameInitOrResult<Frame>, ContextDbError<Self::Context>> {
        self.evm.frame_run()
    }

    fn frame_return_result(&mut self, result: FrameResult) -> Result<Option<FrameResult>, ContextDbError<Self::Context>> {
        self.evm.frame_return_result(result)
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> InspectorEvmTr for Machine<'_, 'a, I> {
    type Inspector = I;

    fn all_inspector(&self) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &FrameStack<Frame>, &I) {
        let (context, instructions, precompiles, frames) = self.evm.all();
        (context, instructions, precompiles, frames, &self.inspector)
    }

    fn all_mut_inspector(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut FrameStack<Frame>, &mut I) {
        let (context, instructions, precompiles, frames) = self.evm.all_mut();
        (context, instructions, precompiles, frames, &mut self.inspector)
    }
}

/// Drops what a failed run left in the journal and the frame stack.
pub(crate) fn discard(evm: &mut MainnetEvm<EvmContext<'_>>) {
    let _ = evm.ctx.journal_mut().finalize();
    evm.ctx.error = Ok(());
    evm.frame_stack.clear();
}
