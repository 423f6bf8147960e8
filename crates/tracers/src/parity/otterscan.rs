//! The call frames in the forms of the `ots_*` methods that trace one transaction.
//!
//! Source: Erigon `turbo/jsonrpc/otterscan_trace_transaction.go`, `otterscan_trace_operations.go`.

use hearth_recorder::json::JsonWriter;
use hearth_recorder::recorder::{Frame, FrameKind, Recorder};

/// Writes the transfers of value within the transaction, without the transaction's own frame: a
/// list of `{type, from, to, value}` with type 0 for a transfer, 1 for a self-destruct, 2 for
/// CREATE, 3 for CREATE2.
pub(super) fn operations(recording: &Recorder, json: &mut JsonWriter<'_>) {
    let kind = |frame: &Frame| match frame.kind {
        FrameKind::Call if !frame.value.is_zero() => Some(0),
        FrameKind::SelfDestruct => Some(1),
        FrameKind::Create => Some(2),
        FrameKind::Create2 => Some(3),
        FrameKind::Call | FrameKind::CallCode | FrameKind::DelegateCall | FrameKind::StaticCall => None,
    };
    let inner = recording.frames().iter().filter(|frame| frame.depth > 0);
    json.raw(b"[");
    for (i, (kind, frame)) in inner.filter_map(|frame| Some((kind(frame)?, frame))).enumerate() {
        json.raw(if i > 0 { b"," } else { b"" });
        json.raw(format!("{{\"type\":{kind},\"from\":").as_bytes());
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"to\":");
        json.hex_bytes(frame.to.as_slice());
        json.raw(b",\"value\":");
        json.hex_u256(&frame.value);
        json.raw(b"}");
    }
    json.raw(b"]");
}

/// Writes every frame, including those of precompiled contracts: a list of
/// `{type, depth, from, to, value, input, output}`; DELEGATECALL and STATICCALL have no value of
/// their own.
pub(super) fn calls(recording: &Recorder, json: &mut JsonWriter<'_>) {
    json.raw(b"[");
    for (i, frame) in recording.frames().iter().enumerate() {
        if json.is_closed() {
            return;
        }
        json.raw(if i > 0 { b"," } else { b"" });
        json.raw(
            format!("{{\"type\":\"{}\",\"depth\":{},\"from\":", frame.kind.name(), frame.depth).as_bytes(),
        );
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"to\":");
        json.hex_bytes(frame.to.as_slice());
        json.raw(b",\"value\":");
        match frame.kind {
            FrameKind::DelegateCall | FrameKind::StaticCall => json.raw(b"null"),
            _ => json.hex_u256(&frame.value),
        }
        json.raw(b",\"input\":");
        json.hex_bytes(recording.bytes(frame.input));
        json.raw(b",\"output\":");
        json.hex_bytes(recording.bytes(frame.output));
        json.raw(b"}");
    }
    json.raw(b"]");
}

/// Writes the data of the REVERT that ended the transaction; `0x` where it ended otherwise.
pub(super) fn failure(recording: &Recorder, json: &mut JsonWriter<'_>) {
    let reverted = recording
        .frames()
        .first()
        .filter(|frame| frame.fault.as_ref().is_some_and(hearth_recorder::fault::Fault::is_revert));
    json.hex_bytes(reverted.map_or(&[], |frame| recording.bytes(frame.output)));
}
