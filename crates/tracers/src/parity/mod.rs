//! parityTracer: a transaction in the form of OpenEthereum's `trace_*` methods, as Besu answers
//! them.
//!
//! One recording of call frames gives `output` and `trace`, the transaction's write set gives
//! `stateDiff`, and the instructions give `vmTrace`. Only requested parts are recorded.
//!
//! Sources: OpenEthereum `ethcore/src/trace` and `rpc/src/v1/types/trace.rs`; Besu
//! `ethereum/api/.../results/tracing`. Where both differ, Besu's answer counts.

mod frames;
mod options;
mod otterscan;
mod state_diff;
mod streamed;
mod text;
mod vm;

pub use frames::FrameFilter;
pub use options::{Elements, ParityConfig, ParityForm};
pub(crate) use streamed::Streamed;

use alloy_primitives::{Address, Bytes, Log, U256, map::AddressMap};
use hearth_evm::EvmContext;
use hearth_recorder::engine::{Replay, record, seek_to};
use hearth_recorder::error::TraceError;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::limits::Limits;
use hearth_recorder::recorder::{Recorder, RecorderOptions};
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use revm::Database;
use revm::Inspector;
use revm::context_interface::transaction::AuthorizationTr;
use revm::context_interface::{ContextTr, Transaction};
use revm::interpreter::interpreter_types::{InputsTr, LegacyBytecode};
use revm::interpreter::{
    CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
};
use vm::VmRecorder;

/// parityTracer.
#[derive(Debug)]
pub struct ParityTracer {
    config: ParityConfig,
    frames: Recorder,
    vm: Option<VmRecorder>,
    /// Code that accounts had when something ran in them: what a removed account's difference
    /// shows.
    codes: AddressMap<Bytes>,
    /// Bytes of `codes`.
    code_bytes: usize,
    diff: Vec<u8>,
    output: Bytes,
    tx: Option<TxContext>,
}

impl ParityTracer {
    /// A tracer with these options.
    pub fn new(config: ParityConfig) -> Self {
        Self {
            vm: config.vm_trace.then(VmRecorder::default),
            config,
            frames: Recorder::new(),
            codes: AddressMap::default(),
            code_bytes: 0,
            diff: Vec::new(),
            output: Bytes::new(),
            tx: None,
        }
    }

    fn keep_code(&mut self, address: Address, code: Bytes) {
        if let alloy_primitives::map::hash_map::Entry::Vacant(entry) = self.codes.entry(address) {
            self.code_bytes += code.len();
            entry.insert(code);
        }
    }

    /// Keeps what accounts with an authorisation had for code: EIP-7702 replaces it before anything
    /// runs.
    fn keep_delegations(&mut self, context: &mut EvmContext<'_>) {
        if !self.config.state_diff || context.tx().authorization_list_len() == 0 {
            return;
        }
        let authorities: Vec<_> = context.tx().authorization_list().filter_map(|a| a.authority()).collect();
        for authority in authorities {
            let Ok(Some(info)) = context.db_mut().basic(authority) else { continue };
            if info.is_empty_code_hash() {
                continue;
            }
            let code = info.code.or_else(|| context.db_mut().code_by_hash(info.code_hash).ok());
            if let Some(code) = code {
                self.keep_code(authority, code.original_bytes());
            }
        }
    }

    fn render_replay(&self, tx: &TxContext, json: &mut JsonWriter<'_>) {
        json.raw(b"{");
        self.render_parts(tx, json);
        json.raw(b",\"vmTrace\":");
        json.raw(self.vm.as_ref().map_or(b"null", VmRecorder::text));
        json.raw(b"}");
    }

    /// Writes the members of a replay but `vmTrace`, without braces.
    fn render_parts(&self, tx: &TxContext, json: &mut JsonWriter<'_>) {
        json.raw(b"\"output\":");
        json.hex_bytes(&self.output);
        json.raw(b",\"stateDiff\":");
        json.raw(if self.config.state_diff { &self.diff } else { b"null" });
        json.raw(b",\"trace\":");
        if self.config.trace {
            json.raw(b"[");
            frames::write(&self.frames, tx, None, &mut FrameFilter::all(), json);
            json.raw(b"]");
        } else {
            json.raw(b"[]");
        }
        if self.config.with_hash {
            json.raw(b",\"transactionHash\":");
            json.hex_bytes(tx.hash.as_slice());
        }
    }
}

/// Whether a call or creation that ended with this result was made.
fn began(result: InstructionResult) -> bool {
    !matches!(result, InstructionResult::CallTooDeep | InstructionResult::OutOfFunds)
}

impl<'a> Inspector<EvmContext<'a>> for ParityTracer {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        if let Some(vm) = &mut self.vm {
            vm.enter_code(interpreter);
        }
        let account = interpreter.input.target_address();
        if self.config.state_diff && interpreter.input.bytecode_address() == Some(&account) {
            let code = Bytes::copy_from_slice(interpreter.bytecode.bytecode_slice());
            self.keep_code(account, code);
        }
    }

    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.frames.step(interpreter, context);
        if let Some(vm) = &mut self.vm {
            vm.step(interpreter, context);
        }
    }

    #[inline]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if let Some(vm) = &mut self.vm {
            vm.step_end(interpreter, context);
        }
        self.frames.step_end(interpreter, context);
    }

    fn log(&mut self, _: &mut EvmContext<'a>, _: Log) {}

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        if self.frames.frames().is_empty() {
            self.keep_delegations(context);
        }
        if let Some(vm) = &mut self.vm {
            vm.enter();
        }
        self.frames.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        if let Some(vm) = &mut self.vm {
            vm.leave(&[], began(outcome.result.result));
        }
        self.frames.call_end(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        if let Some(vm) = &mut self.vm {
            vm.enter();
        }
        self.frames.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        if let Some(vm) = &mut self.vm {
            let result = outcome.result.result;
            // revm ends a creation whose creator's nonce is at its end as a success without an
            // account.
            let is_nonce_at_end = result.is_ok() && outcome.address.is_none();
            vm.leave(inputs.init_code(), began(result) && !is_nonce_at_end);
        }
        self.frames.create_end(context, inputs, outcome);
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        Inspector::<EvmContext<'a>>::selfdestruct(&mut self.frames, contract, target, value);
    }
}

impl Observed for ParityTracer {
    fn size_bytes(&self) -> usize {
        let vm = self.vm.as_ref().map_or(0, VmRecorder::size_bytes);
        self.frames.size_bytes() + self.code_bytes + vm
    }

    fn failure(&self) -> Option<TraceError> {
        None
    }
}

impl Tracing for ParityTracer {
    fn begin(&mut self, tx: &TxContext) {
        // A replay without its frames needs the first one alone.
        let nested = self.config.trace || self.config.form != ParityForm::Replay;
        self.frames.begin(RecorderOptions { nested, logs: false }, tx.log_base);
        if let Some(vm) = &mut self.vm {
            vm.begin();
        }
        self.codes.clear();
        self.code_bytes = 0;
        self.diff.clear();
        self.output = Bytes::new();
        self.tx = Some(tx.clone());
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.frames.finish(end.gas_limit, end.gas_used);
        if end.success || end.reverted {
            self.output = end.output.clone();
        }
        if self.config.state_diff {
            self.diff = state_diff::text(end.writes, &self.codes);
        }
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        let Some(tx) = &self.tx else { return json.raw(b"null") };
        match &self.config.form {
            ParityForm::Replay => self.render_replay(tx, json),
            ParityForm::Localized => {
                let joined = self.config.elements == Elements::Joined;
                json.raw(if joined { b"" } else { b"[" });
                frames::write(&self.frames, tx, Some(tx), &mut FrameFilter::all(), json);
                json.raw(if joined { b"" } else { b"]" });
            }
            ParityForm::Operations => otterscan::operations(&self.frames, json),
            ParityForm::Calls => otterscan::calls(&self.frames, json),
            ParityForm::Failure => otterscan::failure(&self.frames, json),
            ParityForm::At(path) => frames::write_at(&self.frames, tx, path, json),
        }
    }
}

/// The rewards of a block as localized traces with commas between: author, kind (`block` or
/// `uncle`) and wei.
pub fn reward_traces(
    block: (&alloy_primitives::B256, u64),
    rewards: &[(Address, &'static str, U256)],
    filter: &mut FrameFilter,
) -> Vec<u8> {
    let mut text = Vec::new();
    for (author, kind, value) in rewards {
        if filter.takes(None, Some(author)) {
            if std::mem::replace(&mut filter.written, true) {
                text.push(b',');
            }
            frames::reward(&mut text, block, (author, kind, value));
        }
    }
    text
}

/// Executes the transactions of a block one after the other and writes the localized frames that
/// the filter takes.
///
/// # Errors
/// The first transaction that cannot be traced, [`TraceError::Cancelled`] where the reader is gone.
pub fn write_filtered<R: Replay>(
    replay: &mut R,
    filter: &mut FrameFilter,
    limits: &Limits,
    json: &mut JsonWriter<'_>,
) -> Result<(), TraceError> {
    let config = ParityConfig { trace: true, ..ParityConfig::default() };
    let mut tracer = ParityTracer::new(config);
    for index in 0..replay.count() {
        if filter.is_done() {
            break;
        }
        let tx = seek_to(replay, index, limits)?;
        record(replay, &mut tracer, &tx, limits)?;
        frames::write(&tracer.frames, &tx, Some(&tx), filter, json);
        if json.is_closed() {
            return Err(TraceError::Cancelled);
        }
    }
    Ok(())
}

/// Places in a block, ascending, of the transactions with a frame from or to an account. `known`
/// says of a transaction what its own fields say; those are not executed for the answer.
///
/// # Errors
/// As [`write_filtered`].
pub fn transactions_with<R: Replay>(
    replay: &mut R,
    account: &Address,
    known: &dyn Fn(usize) -> Option<bool>,
    limits: &Limits,
) -> Result<Vec<usize>, TraceError> {
    let config = ParityConfig { trace: true, ..ParityConfig::default() };
    let mut tracer = ParityTracer::new(config);
    let mut found = Vec::new();
    for index in 0..replay.count() {
        let involved = match known(index) {
            Some(involved) => involved,
            None => {
                let tx = seek_to(replay, index, limits)?;
                record(replay, &mut tracer, &tx, limits)?;
                frames::involves(&tracer.frames, account)
            }
        };
        if involved {
            found.push(index);
        }
    }
    Ok(found)
}

/// The last transaction of a block that created a contract at an address, by its place, and the
/// account in whose frame it did; `None` where none did.
///
/// # Errors
/// As [`write_filtered`].
pub fn creation_of<R: Replay>(
    replay: &mut R,
    contract: &Address,
    limits: &Limits,
) -> Result<Option<(usize, Address)>, TraceError> {
    let config = ParityConfig { trace: true, ..ParityConfig::default() };
    let mut tracer = ParityTracer::new(config);
    let mut made = None;
    for index in 0..replay.count() {
        let tx = seek_to(replay, index, limits)?;
        record(replay, &mut tracer, &tx, limits)?;
        if let Some(creator) = frames::creator_of(&tracer.frames, contract) {
            made = Some((index, creator));
        }
    }
    Ok(made)
}
