//! 4byteTracer, which counts calls by function selector and length of arguments; and noopTracer.

use crate::frame_tracer::{FrameTracer, FrameView};
use alloy_primitives::hex;
use hearth_evm::EvmContext;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::precompile::is_precompile;
use hearth_recorder::recorder::{FrameKind, Recorder, RecorderOptions};
use hearth_recorder::tracing::{Observed, Tracing, TxContext, TxEnd};
use revm::Inspector;
use std::collections::BTreeMap;

/// Bytes of a function selector.
const SELECTOR_BYTES: usize = 4;

/// 4byteTracer's view of the frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct FourByte;

/// 4byteTracer over a recording of its own.
pub type FourByteTracer = FrameTracer<FourByte>;

impl FrameView for FourByte {
    fn options(&self) -> RecorderOptions {
        RecorderOptions { nested: true, logs: false }
    }

    fn render(&self, recording: &Recorder, tx: &TxContext, json: &mut JsonWriter<'_>) {
        json.raw(b"{");
        for (i, ((selector, length), count)) in counts(recording, tx).into_iter().enumerate() {
            json.raw(if i > 0 { b",\"0x" } else { b"\"0x" });
            json.raw(format!("{}-{length}\":{count}", hex::encode(selector)).as_bytes());
        }
        json.raw(b"}");
    }
}

/// How often each selector was called with each number of bytes behind it.
fn counts(recording: &Recorder, tx: &TxContext) -> BTreeMap<([u8; SELECTOR_BYTES], usize), u64> {
    let mut counts = BTreeMap::new();
    let spec = tx.fork.spec_id();
    for frame in recording.frames() {
        if frame.kind.is_create() || frame.kind == FrameKind::SelfDestruct {
            continue;
        }
        let Some((selector, arguments)) = recording.bytes(frame.input).split_first_chunk() else { continue };
        if !is_precompile(spec, &frame.to) {
            *counts.entry((*selector, arguments.len())).or_default() += 1;
        }
    }
    counts
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
