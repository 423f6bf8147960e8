//! callTracer: the tree of call frames, as go-ethereum renders it (eth/tracers/native/call.go:
//! callFrame and processOutput).

use crate::frame_tracer::{FrameTracer, FrameView};
use hearth_evm::simulate::revert_reason;
use hearth_recorder::json::JsonWriter;
use hearth_recorder::recorder::{Frame, FrameKind, Recorder, RecorderOptions};
use hearth_recorder::tracing::TxContext;

/// Options of callTracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTracerConfig {
    /// Only the top call, without what it called.
    pub only_top_call: bool,
    /// With the logs of frames that did not fail.
    pub with_log: bool,
}

/// callTracer over a recording of its own.
pub type CallTracer = FrameTracer<CallTracerConfig>;

impl FrameView for CallTracerConfig {
    fn options(&self) -> RecorderOptions {
        RecorderOptions { nested: !self.only_top_call, logs: self.with_log }
    }

    fn render(&self, recording: &Recorder, _: &TxContext, json: &mut JsonWriter<'_>) {
        let tree = CallTree { recording, config: *self };
        tree.write(json, |json, _, frame, failed| {
            if self.with_log && !failed {
                tree.logs(json, frame);
            }
        });
    }
}

/// The frames as a tree.
pub(crate) struct CallTree<'a> {
    pub(crate) recording: &'a Recorder,
    pub(crate) config: CallTracerConfig,
}

impl CallTree<'_> {
    /// Writes the call tree. Frames are stored in the order in which they were entered, so one pass
    /// with a stack of the open frames is enough; nothing recurses. `more` writes further members
    /// of a frame, given its index and whether it or a frame above it failed.
    pub(crate) fn write(
        &self,
        json: &mut JsonWriter<'_>,
        more: impl Fn(&mut JsonWriter<'_>, usize, &Frame, bool),
    ) {
        let frames = self.recording.frames();
        let count = if self.config.only_top_call { frames.len().min(1) } else { frames.len() };
        let mut open: Vec<Open> = Vec::new();
        for (index, frame) in frames[..count].iter().enumerate() {
            if json.is_closed() {
                return;
            }
            while open.last().is_some_and(|o| o.end <= index) {
                self.close(json, open.pop());
            }
            let parent_failed = open.last().is_some_and(|o| o.failed);
            if let Some(parent) = open.last_mut() {
                json.raw(if parent.has_children { b"," } else { b",\"calls\":[" });
                parent.has_children = true;
            }
            let failed = parent_failed || frame.fault.is_some();
            self.open(json, frame);
            more(json, index, frame, failed);
            open.push(Open { end: frame.subtree_end as usize, failed, has_children: false });
        }
        while let Some(last) = open.pop() {
            self.close(json, Some(last));
        }
    }

    fn open(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        json.raw(b"{\"type\":\"");
        json.raw(frame.kind.name().as_bytes());
        json.raw(b"\",\"from\":");
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"gas\":");
        // The first frame speaks for the transaction: its limit, and what its receipt says it used.
        let top = frame.depth == 0;
        json.hex_u64(if top { self.recording.gas_limit() } else { frame.gas });
        json.raw(b",\"gasUsed\":");
        json.hex_u64(if top { self.recording.gas_used() } else { frame.gas_used });
        let create_failed = frame.kind.is_create() && frame.fault.is_some();
        if !create_failed {
            json.raw(b",\"to\":");
            json.hex_bytes(frame.to.as_slice());
        }
        json.raw(b",\"input\":");
        json.hex_bytes(self.recording.bytes(frame.input));
        self.outcome(json, frame);
        if frame.kind != FrameKind::StaticCall {
            json.raw(b",\"value\":");
            json.hex_u256(&frame.value);
        }
    }

    fn outcome(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        let output = self.recording.bytes(frame.output);
        let shown = frame.fault.as_ref().is_none_or(|f| f.is_revert());
        if shown && !output.is_empty() {
            json.raw(b",\"output\":");
            json.hex_bytes(output);
        }
        if let Some(fault) = &frame.fault {
            json.raw(b",\"error\":");
            json.string(&fault.to_string());
            if let Some(reason) =
                fault.is_revert().then(|| revert_reason(output)).flatten().filter(|r| !r.is_empty())
            {
                json.raw(b",\"revertReason\":");
                json.string(&reason);
            }
        }
    }

    fn logs(&self, json: &mut JsonWriter<'_>, frame: &Frame) {
        let mut first = true;
        for log in self.recording.logs_of(frame) {
            json.raw(if first { b",\"logs\":[{\"address\":" } else { b",{\"address\":" });
            first = false;
            json.hex_bytes(log.address.as_slice());
            json.raw(b",\"topics\":[");
            for (i, topic) in log.topics().iter().enumerate() {
                if i > 0 {
                    json.raw(b",");
                }
                json.hex_bytes(topic.as_slice());
            }
            json.raw(b"],\"data\":");
            json.hex_bytes(self.recording.bytes(log.data));
            json.raw(b",\"index\":");
            json.hex_u64(self.recording.log_base() + u64::from(log.index));
            json.raw(b",\"position\":");
            json.hex_u64(if self.config.only_top_call { 0 } else { u64::from(log.position) });
            json.raw(b"}");
        }
        if !first {
            json.raw(b"]");
        }
    }

    fn close(&self, json: &mut JsonWriter<'_>, frame: Option<Open>) {
        json.raw(if frame.is_some_and(|f| f.has_children) { b"]}" } else { b"}" });
    }
}

/// A frame whose closing brace is still to come.
struct Open {
    /// Index after its last descendant.
    end: usize,
    /// It or one above it failed: no logs below.
    failed: bool,
    has_children: bool,
}
