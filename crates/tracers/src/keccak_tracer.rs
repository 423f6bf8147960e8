//! keccak256PreimageTracer: what KECCAK256 hashed, by hash.

use alloy_primitives::{B256, keccak256};
use hearth_evm::EvmContext;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::memory::copy_padded;
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use revm::Inspector;
use revm::bytecode::opcode as op;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{Jumps, MemoryTr};
use std::collections::BTreeMap;

/// The input of the KECCAK256 that is about to run; `None` if its operands are missing or name too
/// much memory.
pub(crate) fn preimage(interpreter: &Interpreter) -> Option<Vec<u8>> {
    let [.., size, offset] = interpreter.stack.data()[..] else { return None };
    let memory = interpreter.memory.slice(0..interpreter.memory.size());
    copy_padded(&memory, offset, size)
}

/// keccak256PreimageTracer.
#[derive(Debug, Default)]
pub struct Keccak256PreimageTracer {
    preimages: BTreeMap<B256, Vec<u8>>,
    bytes: usize,
}

impl<'a> Inspector<EvmContext<'a>> for Keccak256PreimageTracer {
    #[inline]
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        if interpreter.bytecode.opcode() == op::KECCAK256
            && let Some(preimage) = preimage(interpreter)
        {
            let bytes = size_of::<B256>() + preimage.len();
            if self.preimages.insert(keccak256(&preimage), preimage).is_none() {
                self.bytes += bytes;
            }
        }
    }
}

impl Observed for Keccak256PreimageTracer {
    fn size_bytes(&self) -> usize {
        self.bytes
    }
}

impl Tracing for Keccak256PreimageTracer {
    fn begin(&mut self, _: &TxContext) {
        *self = Self::default();
    }

    fn finish(&mut self, _: &TxEnd<'_>) {}

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        json.raw(b"{");
        for (i, (hash, preimage)) in self.preimages.iter().enumerate() {
            json.raw(if i > 0 { b"," } else { b"" });
            json.hex_bytes(hash.as_slice());
            json.raw(b":");
            json.hex_bytes(preimage);
        }
        json.raw(b"}");
    }
}
