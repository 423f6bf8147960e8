//! 4byteTracer: how often each function selector was called, with which length of arguments; and noopTracer.

use crate::hooks::delegate_hooks;
use crate::json::JsonWriter;
use crate::precompile::is_precompile;
use crate::recorder::{FrameKind, Recorder, RecorderOptions};
use crate::tracing::{Observed, Tracing, TxContext, TxEnd};
use alloy_primitives::hex;
use hearth_evm::EvmContext;
use revm::Inspector;
use std::collections::BTreeMap;

/// Bytes of a function selector.
const SELECTOR_BYTES: usize = 4;

/// 4byteTracer over a recording of its own.
#[derive(Debug, Default)]
pub struct FourByteTracer {
    recorder: Recorder,
    tx: Option<TxContext>,
}

impl FourByteTracer {
    /// How often each selector was called with each number of bytes behind it.
    fn counts(&self) -> BTreeMap<([u8; SELECTOR_BYTES], usize), u64> {
        let mut counts = BTreeMap::new();
        let Some(tx) = &self.tx else { return counts };
        let spec = tx.fork.spec_id();
        for frame in self.recorder.frames() {
            if frame.kind.is_create() || frame.kind == FrameKind::SelfDestruct {
                continue;
            }
            let input = self.recorder.bytes(frame.input);
            let Some((selector, arguments)) = input.split_first_chunk() else { continue };
            if !is_precompile(spec, &frame.to) {
                *counts.entry((*selector, arguments.len())).or_default() += 1;
            }
        }
        counts
    }
}

delegate_hooks!(FourByteTracer, recorder);

impl Observed for FourByteTracer {
    fn size_bytes(&self) -> usize {
        self.recorder.size_bytes()
    }
}

impl Tracing for FourByteTracer {
    fn begin(&mut self, tx: &TxContext) {
        self.tx = Some(tx.clone());
        self.recorder.begin(RecorderOptions { nested: true, logs: false }, tx.log_base);
    }

    fn finish(&mut self, end: &TxEnd<'_>) {
        self.recorder.finish(end.gas_limit, end.gas_used);
    }

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        json.raw(b"{");
        for (i, ((selector, length), count)) in self.counts().into_iter().enumerate() {
            json.raw(if i > 0 { b",\"0x" } else { b"\"0x" });
            json.raw(format!("{}-{length}\":{count}", hex::encode(selector)).as_bytes());
        }
        json.raw(b"}");
    }
}

/// noopTracer: watches nothing; its result is an empty object.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopTracer;

impl<'a> Inspector<EvmContext<'a>> for NoopTracer {}

impl Observed for NoopTracer {}

impl Tracing for NoopTracer {
    fn begin(&mut self, _: &TxContext) {}

    fn finish(&mut self, _: &TxEnd<'_>) {}

    fn render(&mut self, json: &mut JsonWriter<'_>) {
        json.raw(b"{}");
    }
}
