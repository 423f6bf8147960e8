//! The neutral recording of one transaction: frames, logs and bytes in arenas.

use crate::fault::Fault;
use alloy_primitives::{Address, B256, U256};

/// No index: the end of a list, or a frame without a parent.
pub const NONE: u32 = u32::MAX;

/// A range of the recording's byte arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Number of bytes.
    pub len: usize,
}

impl Span {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// How a frame was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The opcodes' names.
pub enum FrameKind {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
    Create,
    Create2,
    SelfDestruct,
}

impl FrameKind {
    /// The opcode's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "CALL",
            Self::CallCode => "CALLCODE",
            Self::DelegateCall => "DELEGATECALL",
            Self::StaticCall => "STATICCALL",
            Self::Create => "CREATE",
            Self::Create2 => "CREATE2",
            Self::SelfDestruct => "SELFDESTRUCT",
        }
    }

    /// Whether it deploys code.
    pub const fn is_create(self) -> bool {
        matches!(self, Self::Create | Self::Create2)
    }
}

/// One call frame. Frames are stored in the order in which they were entered, so a frame's
/// descendants directly follow it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// How it was entered.
    pub kind: FrameKind,
    /// Depth: 0 for the transaction's own frame.
    pub depth: u32,
    /// The account in whose context the opcode ran.
    pub from: Address,
    /// The account called, created, or paid by a self-destruct; of a creation that failed the one
    /// that it would have created.
    pub to: Address,
    /// Wei sent along; of the parent for DELEGATECALL, zero for STATICCALL.
    pub value: U256,
    /// Gas handed to the frame, stipend included.
    pub gas: u64,
    /// Gas that the frame used, before refunds.
    pub gas_used: u64,
    /// Call data or init code.
    pub input: Span,
    /// Return data, revert data or deployed code.
    pub output: Span,
    /// Why it failed and its effects were undone; `None` where it succeeded.
    pub fault: Option<Fault>,
    /// A precompiled contract ran instead of code.
    pub precompile: bool,
    /// Index of the parent; `u32::MAX` for the first frame.
    pub parent: u32,
    /// Index after the last descendant.
    pub subtree_end: u32,
    /// Number of children.
    pub children: u32,
    pub(crate) first_log: u32,
    pub(crate) last_log: u32,
}

/// One log, whether its frame succeeded or not.
#[derive(Clone, Debug)]
pub struct LogRecord {
    /// The account that emitted it.
    pub address: Address,
    topics: [B256; 4],
    topic_count: u8,
    /// Data.
    pub data: Span,
    /// Number of logs of the transaction that stood before it when it was emitted.
    pub index: u32,
    /// Number of calls that its frame had made before it.
    pub position: u32,
    next: u32,
}

impl LogRecord {
    /// Topics, at most four.
    pub fn topics(&self) -> &[B256] {
        &self.topics[..usize::from(self.topic_count)]
    }
}

/// What a recording must contain. Renderers that share one recording need the union of their
/// options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderOptions {
    /// Frames below the first one.
    pub nested: bool,
    /// Logs.
    pub logs: bool,
}

/// Records the frames and logs of one transaction at a time; its memory is used again for the next.
///
/// A revm inspector: hand it to the executor between [`Recorder::begin`] and [`Recorder::finish`].
#[derive(Debug, Default)]
pub struct Recorder {
    pub(crate) options: RecorderOptions,
    /// Frames, in the order in which they were entered.
    pub frames: Vec<Frame>,
    pub(crate) logs: Vec<LogRecord>,
    /// Inputs, outputs and data of logs.
    pub bytes: Vec<u8>,
    /// Indexes of the open frames.
    pub open: Vec<u32>,
    /// Open frames that are not recorded, because only the first one is wanted.
    pub(crate) skipped: u32,
    /// What was there before the current instruction.
    pub before: crate::recorder_hooks::Before,
    pub(crate) pending: crate::recorder_hooks::Pending,
    log_base: u64,
    gas_limit: u64,
    gas_used: u64,
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the last transaction, keeps its memory, and gets ready for one with `options`.
    /// `log_base` is the number of logs of the block before it.
    pub fn begin(&mut self, options: RecorderOptions, log_base: u64) {
        // Named one by one, so that a new field cannot be forgotten here.
        let Self {
            options: own_options,
            frames,
            logs,
            bytes,
            open,
            skipped,
            before,
            pending,
            log_base: own_log_base,
            gas_limit,
            gas_used,
        } = self;
        *own_options = options;
        frames.clear();
        logs.clear();
        bytes.clear();
        open.clear();
        *skipped = 0;
        *before = Default::default();
        *pending = Default::default();
        *own_log_base = log_base;
        *gas_limit = 0;
        *gas_used = 0;
    }

    /// Completes the recording with what the transaction's receipt says.
    pub fn finish(&mut self, gas_limit: u64, gas_used: u64) {
        self.gas_limit = gas_limit;
        self.gas_used = gas_used;
    }

    /// The frames, in the order in which they were entered.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Bytes of the arena.
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.start..span.start + span.len]
    }

    /// The logs of one frame, in order.
    #[inline]
    pub fn logs_of(&self, frame: &Frame) -> impl Iterator<Item = &LogRecord> {
        let at = |index: u32| self.logs.get(index as usize);
        std::iter::successors(at(frame.first_log), move |log| at(log.next))
    }

    /// Number of logs of the block before this transaction.
    pub fn log_base(&self) -> u64 {
        self.log_base
    }

    /// Gas limit of the transaction.
    pub fn gas_limit(&self) -> u64 {
        self.gas_limit
    }

    /// Gas used by the transaction, as its receipt says.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// Memory in use by the recording, in bytes.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + self.frames.len() * size_of::<Frame>() + self.logs.len() * size_of::<LogRecord>()
    }

    /// Copies bytes into the arena.
    pub fn store(&mut self, bytes: &[u8]) -> Span {
        let span = Span { start: self.bytes.len(), len: bytes.len() };
        self.bytes.extend_from_slice(bytes);
        span
    }

    /// Opens a frame below the innermost open one.
    pub fn enter(&mut self, frame: Frame) {
        let index = self.frames.len() as u32;
        let parent = self.open.last().copied().unwrap_or(NONE);
        if let Some(parent) = self.frames.get_mut(parent as usize) {
            parent.children += 1;
        }
        self.frames.push(Frame { parent, depth: self.open.len() as u32, ..frame });
        self.open.push(index);
    }

    /// Closes the innermost open frame.
    pub fn leave(&mut self) -> Option<&mut Frame> {
        let index = self.open.pop()?;
        let end = self.frames.len() as u32;
        let frame = self.frames.get_mut(index as usize)?;
        frame.subtree_end = end;
        Some(frame)
    }

    /// Adds a log to the innermost open frame.
    pub fn add_log(&mut self, address: Address, topics: &[B256], data: &[u8], index: u32) {
        let Some(&frame) = self.open.last() else { return };
        let data = self.store(data);
        // The logs of a frame are a list through the logs of the transaction: those of the frames
        // that it calls come in between.
        let number = self.logs.len() as u32;
        let frame = &mut self.frames[frame as usize];
        let mut record = LogRecord {
            address,
            topics: [B256::ZERO; 4],
            topic_count: topics.len().min(4) as u8,
            data,
            index,
            position: frame.children,
            next: NONE,
        };
        for (to, from) in record.topics.iter_mut().zip(topics) {
            *to = *from;
        }
        if frame.first_log == NONE {
            frame.first_log = number;
        } else {
            self.logs[frame.last_log as usize].next = number;
        }
        frame.last_log = number;
        self.logs.push(record);
    }
}
