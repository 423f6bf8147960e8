//! The form for scripts that look at nothing of a step but that it is there, and maybe its opcode.

use crate::fields::Fields;
use crate::tracer::ScriptTracer;
use hearth_evm::EvmContext;
use hearth_recorder::delegate_frame_hooks;
use hearth_recorder::error::TraceError;
use hearth_recorder::tracing::Observed;
use revm::Inspector;
use revm::context_interface::ContextTr;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{Jumps, LoopControl};

/// What this form can record.
pub(crate) const LEAN_FIELDS: Fields = Fields(Fields::STEP.0 | Fields::OP.0 | Fields::FRAMES.0);

/// A tracer that records steps, and opcodes where `OP`.
pub(crate) struct StepOnlyTracer<'t, const OP: bool>(pub &'t mut ScriptTracer);

impl<'a, const OP: bool> Inspector<EvmContext<'a>> for StepOnlyTracer<'_, OP> {
    #[inline(always)]
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let tracer = &mut *self.0;
        tracer.note_before(interpreter, context);
        if tracer.idle {
            return;
        }
        if tracer.chunk.steps >= tracer.chunk.most {
            tracer.flush(context.db_mut());
        }
        if OP && let Some(place) = tracer.chunk.op.get_mut(tracer.chunk.steps) {
            *place = interpreter.bytecode.opcode();
        }
        tracer.chunk.steps += 1;
    }

    #[inline(always)]
    fn step_end(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        if interpreter.bytecode.is_end() {
            self.0.frame_stops(interpreter, context);
        }
    }

    delegate_frame_hooks!('a, 0);
}

impl<const OP: bool> Observed for StepOnlyTracer<'_, OP> {
    fn size_bytes(&self) -> usize {
        self.0.recorded_bytes()
    }

    fn failure(&self) -> Option<TraceError> {
        self.0.why_none()
    }
}
