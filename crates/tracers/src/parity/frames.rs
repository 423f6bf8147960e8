//! `trace`: the call frames as a list, each with its place in the tree.

use alloy_primitives::{Address, U256};
use hearth_recorder::fault::{Fault, GasRefusal};
use hearth_recorder::json::JsonWriter;
use hearth_recorder::precompile::is_precompile;
use hearth_recorder::recorder::{Frame, FrameKind, Recorder};
use hearth_recorder::tracing::TxContext;

/// Which frames are written: those of some accounts, after some and up to a number of them.
#[derive(Clone, Debug)]
pub struct FrameFilter {
    /// Senders; empty for all.
    pub from: Vec<Address>,
    /// Receivers, made contracts, beneficiaries; empty for all.
    pub to: Vec<Address>,
    /// Either list may match where both are given, not both must.
    pub union: bool,
    /// Frames that match and are still to be passed over.
    pub skip: u64,
    /// Frames that may still be written.
    pub left: u64,
    /// Whether a frame was written: the next one follows a comma.
    pub written: bool,
}

impl FrameFilter {
    /// Every frame.
    pub fn all() -> Self {
        let (from, to) = (Vec::new(), Vec::new());
        Self { from, to, union: false, skip: 0, left: u64::MAX, written: false }
    }

    /// Whether nothing more is to be written.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Whether a frame between these accounts is to be written now. Counts it.
    pub fn takes(&mut self, from: Option<&Address>, to: Option<&Address>) -> bool {
        let within = |list: &[Address], account: Option<&Address>| {
            account.is_some_and(|account| list.contains(account))
        };
        let (by_from, by_to) = (within(&self.from, from), within(&self.to, to));
        let matches = match (self.from.is_empty(), self.to.is_empty()) {
            (true, true) => true,
            (false, true) => by_from,
            (true, false) => by_to,
            (false, false) if self.union => by_from || by_to,
            (false, false) => by_from && by_to,
        };
        if !matches || self.left == 0 {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left -= 1;
        true
    }
}

/// Whether a frame is part of the list. OpenEthereum omits calls that never began (too deep, no
/// funds) and calls of precompiled contracts without value (`ExecutiveTracer::prepare_trace_call`);
/// none of them has children.
fn is_shown(frame: &Frame, tx: &TxContext) -> bool {
    if frame.depth == 0 || frame.kind == FrameKind::SelfDestruct {
        return true;
    }
    if matches!(frame.fault, Some(Fault::Depth | Fault::InsufficientBalance | Fault::NonceOverflow)) {
        return false;
    }
    let free = frame.value.is_zero() || frame.kind == FrameKind::DelegateCall;
    !(free && !frame.kind.is_create() && is_precompile(tx.fork.spec_id(), &frame.to))
}

/// Writes the frames that pass the filter, separated by commas. `localized` adds block and
/// transaction.
pub(super) fn write(
    recording: &Recorder,
    tx: &TxContext,
    localized: Option<&TxContext>,
    filter: &mut FrameFilter,
    json: &mut JsonWriter<'_>,
) {
    visit(recording, tx, |frame, subtraces, path| {
        if json.is_closed() || filter.is_done() {
            return false;
        }
        if filter.takes(Some(&frame.from), receiver(frame)) {
            json.raw(if std::mem::replace(&mut filter.written, true) { b"," } else { b"" });
            Shown { recording, localized, frame, subtraces, path }.write(json);
        }
        true
    });
}

/// Writes the localized frame at a trace address; `null` where there is none.
pub(super) fn write_at(recording: &Recorder, tx: &TxContext, at: &[u32], json: &mut JsonWriter<'_>) {
    let mut found = false;
    visit(recording, tx, |frame, subtraces, path| {
        if path == at {
            found = true;
            Shown { recording, localized: Some(tx), frame, subtraces, path }.write(json);
        }
        !found
    });
    if !found {
        json.raw(b"null");
    }
}

/// The account that a frame goes to; `None` for a creation that failed.
fn receiver(frame: &Frame) -> Option<&Address> {
    (!frame.kind.is_create() || frame.fault.is_none()).then_some(&frame.to)
}

/// Whether any frame is from or to an account, including frames that the trace namespace omits.
pub(super) fn involves(recording: &Recorder, account: &Address) -> bool {
    let is = |frame: &Frame| frame.from == *account || receiver(frame) == Some(account);
    recording.frames().iter().any(is)
}

/// Whether the effects of a frame were kept: neither it nor a frame around it failed.
fn stays<'a>(frames: &'a [Frame], mut frame: &'a Frame) -> bool {
    while frame.fault.is_none() {
        match frames.get(frame.parent as usize) {
            Some(parent) => frame = parent,
            None => return true,
        }
    }
    false
}

/// The account in whose frame a contract was created; `None` unless the transaction created a
/// contract at that address that remained.
pub(super) fn creator_of(recording: &Recorder, contract: &Address) -> Option<Address> {
    let frames = recording.frames();
    let made = |frame: &&Frame| frame.kind.is_create() && frame.to == *contract && stays(frames, frame);
    frames.iter().rfind(made).map(|frame| frame.from)
}

/// Visits each shown frame with the number of its shown children and its trace address, until
/// `each` returns false.
fn visit(recording: &Recorder, tx: &TxContext, mut each: impl FnMut(&Frame, u32, &[u32]) -> bool) {
    let frames = recording.frames();
    let mut hidden_children = vec![0u32; frames.len()];
    for frame in frames.iter().filter(|frame| !is_shown(frame, tx)) {
        if let Some(count) = hidden_children.get_mut(frame.parent as usize) {
            *count += 1;
        }
    }
    // The open frames: the end of each one's descendants, and the number of children visited.
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut path: Vec<u32> = Vec::new();
    for (index, frame) in frames.iter().enumerate() {
        while open.last().is_some_and(|(end, _)| *end <= index) {
            open.pop();
            path.pop();
        }
        if !is_shown(frame, tx) {
            continue;
        }
        if let Some((_, children)) = open.last_mut() {
            path.push(*children);
            *children += 1;
        }
        if !each(frame, frame.children - hidden_children[index], &path) {
            return;
        }
        open.push((frame.subtree_end as usize, 0));
    }
}

/// A frame on its way into the list.
struct Shown<'a> {
    recording: &'a Recorder,
    localized: Option<&'a TxContext>,
    frame: &'a Frame,
    subtraces: u32,
    path: &'a [u32],
}

impl Shown<'_> {
    fn write(&self, json: &mut JsonWriter<'_>) {
        let frame = self.frame;
        json.raw(b"{\"action\":{");
        match frame.kind {
            FrameKind::SelfDestruct => self.suicide(json),
            kind if kind.is_create() => self.create(json),
            _ => self.call(json),
        }
        json.raw(b"}");
        if let Some(tx) = self.localized {
            json.raw(b",\"blockHash\":");
            json.hex_bytes(tx.block_hash.as_slice());
            json.raw(format!(",\"blockNumber\":{}", tx.block_number).as_bytes());
        }
        self.outcome(json);
        json.raw(format!(",\"subtraces\":{},\"traceAddress\":[", self.subtraces).as_bytes());
        for (i, child) in self.path.iter().enumerate() {
            json.raw(if i > 0 { b"," } else { b"" });
            json.raw(child.to_string().as_bytes());
        }
        json.raw(b"]");
        if let Some(tx) = self.localized {
            json.raw(b",\"transactionHash\":");
            json.hex_bytes(tx.hash.as_slice());
            json.raw(format!(",\"transactionPosition\":{}", tx.index).as_bytes());
        }
        json.raw(match frame.kind {
            FrameKind::SelfDestruct => b",\"type\":\"suicide\"}",
            kind if kind.is_create() => b",\"type\":\"create\"}",
            _ => b",\"type\":\"call\"}",
        });
    }

    fn call(&self, json: &mut JsonWriter<'_>) {
        let frame = self.frame;
        let kind = match frame.kind {
            FrameKind::CallCode => "callcode",
            FrameKind::DelegateCall => "delegatecall",
            FrameKind::StaticCall => "staticcall",
            _ => "call",
        };
        json.raw(format!("\"callType\":\"{kind}\",\"from\":").as_bytes());
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"gas\":");
        json.hex_u64(frame.gas);
        json.raw(b",\"input\":");
        json.hex_bytes(self.recording.bytes(frame.input));
        json.raw(b",\"to\":");
        json.hex_bytes(frame.to.as_slice());
        json.raw(b",\"value\":");
        json.hex_u256(&frame.value);
    }

    fn create(&self, json: &mut JsonWriter<'_>) {
        let frame = self.frame;
        json.raw(match frame.kind {
            FrameKind::Create2 => b"\"creationMethod\":\"create2\",\"from\":",
            _ => b"\"creationMethod\":\"create\",\"from\":",
        });
        json.hex_bytes(frame.from.as_slice());
        json.raw(b",\"gas\":");
        json.hex_u64(frame.gas);
        json.raw(b",\"init\":");
        json.hex_bytes(self.recording.bytes(frame.input));
        json.raw(b",\"value\":");
        json.hex_u256(&frame.value);
    }

    fn suicide(&self, json: &mut JsonWriter<'_>) {
        let Frame { from, to, value, .. } = self.frame;
        json.raw(b"\"address\":");
        json.hex_bytes(from.as_slice());
        json.raw(b",\"balance\":");
        json.hex_u256(value);
        json.raw(b",\"refundAddress\":");
        json.hex_bytes(to.as_slice());
    }

    /// Writes `result`, or `error` in its place. Besu gives the data of a REVERT only in the
    /// transaction's own frame.
    fn outcome(&self, json: &mut JsonWriter<'_>) {
        let frame = self.frame;
        let output = self.recording.bytes(frame.output);
        if let Some(fault) = &frame.fault {
            json.raw(b",\"error\":");
            json.string(error(fault));
            if fault.is_revert() && frame.depth == 0 && !output.is_empty() {
                json.raw(b",\"revertReason\":");
                json.hex_bytes(output);
            }
            return;
        }
        if frame.kind == FrameKind::SelfDestruct {
            return json.raw(b",\"result\":null");
        }
        json.raw(b",\"result\":{");
        if frame.kind.is_create() {
            json.raw(b"\"address\":");
            json.hex_bytes(frame.to.as_slice());
            json.raw(b",\"code\":");
        } else {
            json.raw(b"\"output\":");
        }
        json.hex_bytes(output);
        json.raw(b",\"gasUsed\":");
        json.hex_u64(frame.gas_used);
        json.raw(b"}");
    }
}

/// OpenEthereum's words for a failure (`ethcore/src/trace/types/error.rs`).
fn error(fault: &Fault) -> &'static str {
    match fault {
        Fault::Reverted => "Reverted",
        Fault::WriteProtection | Fault::GasRefused(GasRefusal::WriteProtection) => {
            "Mutable Call In Static Context"
        }
        Fault::InvalidJump => "Bad jump destination",
        Fault::InvalidOpcode(_) => "Bad instruction",
        Fault::StackUnderflow { .. } => "Stack underflow",
        Fault::StackOverflow { .. } => "Out of stack",
        Fault::ReturnDataOutOfBounds => "Out of bounds",
        Fault::Precompile(_) => "Built-in failed",
        Fault::InvalidCode => "Invalid code",
        Fault::Depth | Fault::InsufficientBalance | Fault::NonceOverflow => "Internal",
        // A taken address costs the creation all of its gas.
        Fault::OutOfGas
        | Fault::GasRefused(_)
        | Fault::CodeStoreOutOfGas
        | Fault::MaxCodeSize
        | Fault::GasUintOverflow
        | Fault::Collision => "Out of gas",
    }
}

/// A block's reward as a localized trace.
pub(crate) fn reward(
    json: &mut Vec<u8>,
    (block_hash, block_number): (&alloy_primitives::B256, u64),
    (author, kind, value): (&Address, &str, &U256),
) {
    json.extend_from_slice(
        format!(
            concat!(
                r#"{{"action":{{"author":"{:#x}","rewardType":"{}","value":"{:#x}"}},"blockHash":"{:#x}","#,
                r#""blockNumber":{},"result":null,"subtraces":0,"traceAddress":[],"transactionHash":null,"#,
                r#""transactionPosition":null,"type":"reward"}}"#
            ),
            author, kind, value, block_hash, block_number
        )
        .as_bytes(),
    );
}
