//! A script host without scripts: it keeps the data that it receives, and answers as the test
//! configures it.

use hearth_tracers::{
    Cancel, Fields, Limits, ScriptGone, ScriptHost, ScriptLimits, ScriptPlan, ScriptSession, ScriptVerdict,
    TraceError,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a fake does with the transactions of a request, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Conduct {
    /// What the script reaches, as it says once it is loaded.
    pub fields: Fields,
    /// The fields that it requests at the end of the steps if they were not recorded.
    pub needs: Option<Fields>,
    /// Reads that it makes when it has seen the steps, as payloads of messages.
    pub reads: Vec<Vec<u8>>,
    /// Reads that it makes before its result.
    pub late_reads: Vec<Vec<u8>>,
    /// What it says in place of a result.
    pub fails: Option<&'static str>,
    /// It takes nothing, and says nothing.
    pub hangs: bool,
}

/// What was sent, message by message, and how the sessions ended.
#[derive(Debug, Default)]
pub struct Log {
    pub messages: Vec<(u8, Vec<u8>)>,
    pub verdicts: Vec<ScriptVerdict>,
    pub opened: usize,
}

/// Gives fake sessions.
#[derive(Debug)]
pub struct Fake {
    conduct: Conduct,
    pub log: Arc<Mutex<Log>>,
}

struct Session {
    conduct: Conduct,
    log: Arc<Mutex<Log>>,
    inbox: Vec<u8>,
    answers: VecDeque<(u8, Vec<u8>)>,
    recorded: Fields,
    open_reads: usize,
    /// What follows the last answer to a read.
    then: Option<(u8, Vec<u8>)>,
}

impl Fake {
    pub fn new(conduct: Conduct) -> Arc<Self> {
        Arc::new(Self { conduct, log: Arc::default() })
    }

    /// Limits with this host.
    pub fn limits(self: &Arc<Self>) -> Limits {
        Limits { scripts: Some(self.clone()), ..Limits::default() }
    }
}

impl ScriptHost for Fake {
    fn open(&self, _: &ScriptPlan, _: Instant, _: &Cancel) -> Result<Box<dyn ScriptSession>, TraceError> {
        self.log.lock().unwrap().opened += 1;
        Ok(Box::new(Session {
            conduct: self.conduct.clone(),
            log: self.log.clone(),
            inbox: Vec::new(),
            answers: VecDeque::from([(10, Vec::new())]),
            recorded: Fields::default(),
            open_reads: 0,
            then: None,
        }))
    }

    fn try_open(&self, _: &ScriptPlan) -> Option<Box<dyn ScriptSession>> {
        None
    }

    fn limits(&self) -> ScriptLimits {
        ScriptLimits { memory_bytes: 1000, output_bytes: 2000 }
    }
}

impl Session {
    fn asks(&mut self, reads: Vec<Vec<u8>>, then: (u8, Vec<u8>)) {
        self.open_reads = reads.len();
        if reads.is_empty() {
            return self.answers.push_back(then);
        }
        self.answers.extend(reads.into_iter().map(|read| (11, read)));
        self.then = Some(then);
    }

    fn take(&mut self, kind: u8, payload: Vec<u8>) {
        let begin = || serde_json::from_slice::<serde_json::Value>(&payload).unwrap();
        match kind {
            1 => {
                let fields = begin()["fields"].as_u64();
                self.recorded = fields.map_or(self.conduct.fields, |fields| Fields(fields as u32));
                if fields.is_none() {
                    self.answers.push_back((12, self.conduct.fields.0.to_le_bytes().to_vec()));
                }
            }
            2 if payload[20] == 1 => match self.conduct.needs {
                Some(needs) if !needs.is_within(self.recorded) => {
                    self.answers.push_back((15, needs.0.to_le_bytes().to_vec()));
                }
                _ => self.asks(self.conduct.reads.clone(), (16, Vec::new())),
            },
            3 => {
                let end = match self.conduct.fails {
                    Some(text) => (14, serde_json::json!({ "message": text }).to_string().into_bytes()),
                    None => (13, br#"{"is":"the result"}"#.to_vec()),
                };
                self.asks(self.conduct.late_reads.clone(), end);
            }
            4 | 5 => {
                self.open_reads -= 1;
                if self.open_reads == 0 {
                    self.answers.extend(self.then.take());
                }
            }
            6 => self.answers.push_back((16, Vec::new())),
            _ => {}
        }
        self.log.lock().unwrap().messages.push((kind, payload));
    }
}

impl ScriptSession for Session {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, ScriptGone> {
        if self.conduct.hangs {
            return Ok(0);
        }
        self.inbox.extend_from_slice(bytes);
        while let Some(header) = self.inbox.first_chunk::<8>() {
            let (kind, length) = (header[4], u32::from_le_bytes(header[..4].try_into().unwrap()) as usize);
            if self.inbox.len() < 8 + length {
                break;
            }
            let payload = self.inbox[8..8 + length].to_vec();
            self.inbox.drain(..8 + length);
            self.take(kind, payload);
        }
        Ok(bytes.len())
    }

    fn read(&mut self) -> Result<Option<(u8, Vec<u8>)>, ScriptGone> {
        Ok(self.answers.pop_front())
    }

    fn wait(&self, _: bool, at_most: Duration) {
        std::thread::sleep(at_most.min(Duration::from_millis(1)));
    }

    fn end(self: Box<Self>, verdict: ScriptVerdict) {
        self.log.lock().unwrap().verdicts.push(verdict);
    }
}

/// A chunk, taken apart.
#[derive(Debug, Default)]
pub struct Steps {
    pub count: usize,
    pub flags: u32,
    pub op: Vec<u8>,
    pub pc: Vec<u32>,
    pub gas: Vec<f64>,
    pub cost: Vec<f64>,
    pub depth: Vec<u16>,
    pub refund: Vec<f64>,
    /// The stack that each step is shown; only right for one frame.
    pub stack: Vec<Vec<u64>>,
    pub memory: Vec<u32>,
    /// Place, kind and payload.
    pub events: Vec<(u32, u8, Vec<u8>)>,
}

/// Takes a chunk apart.
pub fn steps(payload: &[u8]) -> Steps {
    let number = |at: usize| u32::from_le_bytes(payload[at..at + 4].try_into().unwrap());
    let (count, events, words) = (number(0) as usize, number(4), number(8) as usize);
    let fields = Fields(number(12));
    let mut at: usize = 32;
    let mut column = |wanted: bool, width: usize, rows: usize| -> Vec<&[u8]> {
        if !wanted {
            return Vec::new();
        }
        at = at.next_multiple_of(8);
        let bytes = &payload[at..at + width * rows];
        at += width * rows;
        bytes.chunks(width).collect()
    };
    let u32s = |rows: Vec<&[u8]>| rows.iter().map(|b| u32::from_le_bytes((*b).try_into().unwrap())).collect();
    let u16s = |rows: Vec<&[u8]>| -> Vec<u16> {
        rows.iter().map(|b| u16::from_le_bytes((*b).try_into().unwrap())).collect()
    };
    let f64s = |rows: Vec<&[u8]>| rows.iter().map(|b| f64::from_le_bytes((*b).try_into().unwrap())).collect();
    let mut steps = Steps { count, flags: number(20), ..Steps::default() };
    steps.op = column(fields.has(Fields::OP), 1, count).concat();
    steps.pc = u32s(column(fields.has(Fields::PC), 4, count));
    steps.gas = f64s(column(fields.has(Fields::GAS), 8, count));
    steps.cost = f64s(column(fields.has(Fields::COST), 8, count));
    steps.depth = u16s(column(fields.has(Fields::DEPTH), 2, count));
    steps.refund = f64s(column(fields.has(Fields::REFUND), 8, count));
    let with_stack = fields.has(Fields::STACK);
    let keep = u16s(column(with_stack, 2, count));
    let pushed = column(with_stack, 1, count).concat();
    let words = column(with_stack, 32, words);
    let mut words = words.iter().map(|word| u64::from_be_bytes(word[24..].try_into().unwrap()));
    let mut stack: Vec<u64> = Vec::new();
    for (keep, pushed) in keep.iter().zip(&pushed) {
        assert!(usize::from(*keep) <= stack.len(), "more is kept than there was");
        stack.truncate(usize::from(*keep));
        stack.extend(words.by_ref().take(usize::from(*pushed)));
        steps.stack.push(stack.clone());
    }
    assert_eq!(words.next(), None, "words that belong to no step");
    steps.memory = u32s(column(fields.has(Fields::MEMLEN | Fields::MEMORY), 4, count));
    at = at.next_multiple_of(8);
    for _ in 0..events {
        let (place, kind, length) = (number(at), payload[at + 4], number(at + 8) as usize);
        steps.events.push((place, kind, payload[at + 12..at + 12 + length].to_vec()));
        at += (12 + length).next_multiple_of(4);
    }
    assert_eq!(at, payload.len());
    steps
}
