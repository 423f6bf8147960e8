//! flatCallTracer: the call frames as a list, in the shape of Parity's `trace_transaction`.

use crate::frame_tracer::{FrameTracer, FrameView};
use hearth_recorder::fault::Fault;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::precompile::is_precompile;
use hearth_recorder::recorder::{Frame, FrameKind, Recorder, RecorderOptions};
use hearth_recorder::tracing::TxContext;

/// Options of flatCallTracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlatCallTracerConfig {
    /// Errors in Parity's words.
    pub convert_parity_errors: bool,
    /// With calls of precompiled contracts below the first frame.
    pub include_precompiles: bool,
}

/// flatCallTracer over a recording of its own.
pub type FlatCallTracer = FrameTracer<FlatCallTracerConfig>;

impl FrameView for FlatCallTracerConfig {
    fn options(&self) -> RecorderOptions {
        RecorderOptions { nested: true, logs: false }
    }

    fn render(&self, recording: &Recorder, tx: &TxContext, json: &mut JsonWriter<'_>) {
        FlatList { recording, config: *self, tx }.write(json);
    }
}

/// The frames as a list.
struct FlatList<'a> {
    recording: &'a Recorder,
    config: FlatCallTracerConfig,
    tx: &'a TxContext,
}

impl FlatList<'_> {
    /// Whether a frame is left out, together with what it called: code runs in it where a state
    /// override has put some in the place of the precompiled contract.
    fn is_hidden(&self, frame: &Frame) -> bool {
        !self.config.include_precompiles
            && frame.depth > 0
            && matches!(frame.kind, FrameKind::Call | FrameKind::StaticCall)
            && is_precompile(self.tx.fork.spec_id(), &frame.to)
    }

    fn write(&self, json: &mut JsonWriter<'_>) {
        let frames = self.recording.frames();
        let mut hidden_children = vec![0u32; frames.len()];
        for frame in frames.iter().filter(|frame| self.is_hidden(frame)) {
            if let Some(count) = hidden_children.get_mut(frame.parent as usize) {
                *count += 1;
            }
        }
        // The open frames: the end of each one's descendants, and the number of children written.
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut path: Vec<u32> = Vec::new();
        // The end of the descendants of the last frame that was left out.
        let mut hidden_end = 0;
        json.raw(b"[");
        for (index, frame) in frames.iter().enumerate() {
            if json.is_closed() {
                return;
            }
            while open.last().is_some_and(|(end, _)| *end <= index) {
                open.pop();
                path.pop();
            }
            if index < hidden_end {
                continue;
            }
            if self.is_hidden(frame) {
                hidden_end = frame.subtree_end as usize;
                continue;
            }
            if let Some((_, children)) = open.last_mut() {
                path.push(*children);
                *children += 1;
                json.raw(b",");
            }
            let subtraces = frame.children - hidden_children[index];
            self.frame(json, frame, subtraces, &path);
            open.push((frame.subtree_end as usize, 0));
        }
        json.raw(b"]");
    }

    fn frame(&self, json: &mut JsonWriter<'_>, frame: &Frame, subtraces: u32, path: &[u32]) {
        json.raw(b"{\"action\":{");
        match frame.kind {
            FrameKind::SelfDestruct => self.selfdestruct_action(json, frame),
            kind if kind.is_create() => self.create_action(json, frame),
            _ => self.call_action(json, frame),
        }
        json.raw(b"},\"blockHash\":");
        hash_or_null(json, &self.tx.block_hash.0);
        json.raw(b",\"blockNumber\":");
        json.raw(self.tx.block_number.to_string().as_bytes());
        if let Some(fault) = &frame.fault {
            json.raw(b",\"error\":");
            match parity_error(fault).filter(|_| self.config.convert_parity_errors) {
                Some(text) => json.string(text),
                None => json.string(&fault.to_string()),
            }
        }
        if frame.kind != FrameKind::SelfDestruct && frame.fault.as_ref().is_none_or(Fault::is_revert) {
            self.result(json, frame);
        }
        json.raw(format!(",\"subtraces\":{subtraces},\"traceAddress\":[").as_bytes());
        for (i, child) in path.iter().enumerate() {
            json.raw(if i > 0 { b"," } else { b"" });
            json.raw(child.to_string().as_bytes());
        }
        json.raw(b"],\"transactionHash\":");
        hash_or_null(json, &self.tx.hash.0);
        json.raw(b",\"transactionPosition\":");
        json.raw(self.tx.index.to_string().as_bytes());
        json.raw(match frame.kind {
            FrameKind::SelfDestruct => b",\"type\":\"suicide\"}",
            kind if kind.is_create() => b",\"type\":\"create\"}",
            _ => b",\"type\":\"call\"}",
        });
    }

    /// Gas handed to a frame: the first one speaks for the transaction.
    fn gas(&self, frame: &Frame) -> u64 {
        if frame.depth == 0 { self.recording.gas_limit() } else { frame.gas }
    }

    fn call_action(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        json.raw(match frame.kind {
            FrameKind::CallCode => b"\"callType\":\"callcode\",\"from\":",
            FrameKind::DelegateCall => b"\"callType\":\"delegatecall\",\"from\":",
            FrameKind::StaticCall => b"\"callType\":\"staticcall\",\"from\":",
            _ => b"\"callType\":\"call\",\"from\":",
        });
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"gas\":");
        json.hex_u64(self.gas(frame));
        json.raw(b",\"input\":");
        json.hex_bytes(self.recording.bytes(frame.input));
        json.raw(b",\"to\":");
        json.hex_bytes(frame.to.as_slice());
        json.raw(b",\"value\":");
        json.hex_u256(&frame.value);
    }

    fn create_action(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        json.raw(if frame.kind == FrameKind::Create2 {
            b"\"creationMethod\":\"create2\",\"from\":"
        } else {
            b"\"creationMethod\":\"create\",\"from\":"
        });
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"gas\":");
        json.hex_u64(self.gas(frame));
        json.raw(b",\"init\":");
        json.hex_bytes(self.recording.bytes(frame.input));
        json.raw(b",\"value\":");
        json.hex_u256(&frame.value);
    }

    fn selfdestruct_action(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        json.raw(b"\"address\":");
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"balance\":");
        json.hex_u256(&frame.value);
        json.raw(b",\"refundAddress\":");
        json.hex_bytes(frame.to.as_slice());
    }

    fn result(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        json.raw(b",\"result\":{");
        if frame.kind.is_create() {
            if frame.fault.is_none() {
                json.raw(b"\"address\":");
                json.hex_bytes(frame.to.as_slice());
                json.raw(b",");
            }
            json.raw(b"\"code\":");
        } else {
            json.raw(b"\"output\":");
        }
        json.hex_bytes(self.recording.bytes(frame.output));
        json.raw(b",\"gasUsed\":");
        json.hex_u64(if frame.depth == 0 { self.recording.gas_used() } else { frame.gas_used });
        json.raw(b"}");
    }
}

fn hash_or_null(json: &mut JsonWriter<'_>, hash: &[u8; 32]) {
    if *hash == [0; 32] { json.raw(b"null") } else { json.hex_bytes(hash) }
}

/// Parity's words for an error; `None` where it has none (go-ethereum,
/// eth/tracers/native/call_flat.go: parityErrorMapping and parityErrorMappingStartingWith).
fn parity_error(fault: &Fault) -> Option<&'static str> {
    Some(match fault {
        Fault::CodeStoreOutOfGas
        | Fault::OutOfGas
        | Fault::GasRefused(_)
        | Fault::GasUintOverflow
        | Fault::MaxCodeSize => "Out of gas",
        Fault::InvalidJump => "Bad jump destination",
        Fault::Reverted => "Reverted",
        Fault::ReturnDataOutOfBounds => "Out of bounds",
        Fault::StackOverflow { len: 1024, limit: 1023 } => "Out of stack",
        Fault::Precompile(text) if text == "precompiled failed" || text == "invalid input length" => {
            "Built-in failed"
        }
        Fault::InvalidOpcode(_) => "Bad instruction",
        Fault::StackUnderflow { .. } => "Stack underflow",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_recorder::fault::GasRefusal;

    #[test]
    fn errors_in_parity_words() {
        let sentry = Fault::GasRefused(GasRefusal::ReentrancySentry);
        for (fault, parity) in [
            (sentry, Some("Out of gas")),
            (Fault::MaxCodeSize, Some("Out of gas")),
            (Fault::StackOverflow { len: 1024, limit: 1023 }, Some("Out of stack")),
            (Fault::StackOverflow { len: 1024, limit: 1022 }, None),
            (Fault::InvalidOpcode(0xfe), Some("Bad instruction")),
            (Fault::StackUnderflow { len: 0, required: 1 }, Some("Stack underflow")),
            (Fault::Precompile("invalid input length".into()), Some("Built-in failed")),
            (Fault::Precompile("bad elliptic curve point".into()), None),
            (Fault::WriteProtection, None),
        ] {
            assert_eq!(parity_error(&fault), parity, "{fault}");
        }
    }
}
