//! Requests for steps of an execution: options as JSON, checked.

use super::error::StepsError;
use super::limits::{
    MAX_GAS_MARKS, MAX_HITS, MAX_MARKED_CODES, MAX_MEMORY_PAGE_STEPS, MAX_MEMORY_WINDOW_BYTES, MAX_PAGE_STEPS,
};
use alloy_primitives::{Address, B256, U256};
use hearth_recorder::opcode::Name;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Hits of a search that names no number.
const DEFAULT_HITS: u64 = 50;

/// Characters of an unknown name that an error shows.
const SHOWN_CHARACTERS: usize = 32;

/// Other names of opcodes, beside those of struct logs.
const OTHER_NAMES: [(&str, u8); 2] = [("PREVRANDAO", 0x44), ("SHA3", 0x20)];

/// A request for steps, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepsPlan {
    /// `debug_traceStepIndex`: how many steps there are, and which frame has which.
    Index,
    /// `debug_traceSteps`: a page of steps.
    Range(PageRequest),
    /// `debug_traceStepSearch`: steps of a kind.
    Search(Box<SearchRequest>),
    /// `debug_traceGasProfile`: gas by code, opcode or frame.
    Profile(ProfileRequest),
}

/// A page of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// First step.
    pub from: u64,
    /// Behind the last step.
    pub to: u64,
    /// Only steps of this frame and of what it calls; `from` and `to` count these.
    pub frame: Option<u32>,
    /// Of the frame's own steps only.
    pub own: bool,
    /// With the stack.
    pub stack: bool,
    /// With storage at SLOAD and SSTORE.
    pub storage: bool,
    /// With the data that the last call returned.
    pub return_data: bool,
    /// Items of the stack, from its top.
    pub stack_top: Option<usize>,
    /// Offset and length of the memory to show, in bytes.
    pub memory: Option<(u64, u64)>,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    /// Where it begins; forwards from 0 and backwards from the end where absent.
    pub from: Option<u64>,
    /// Towards the start.
    pub backwards: bool,
    /// Hits after which it ends.
    pub count: usize,
    /// What a hit is.
    pub what: SearchFilter,
}

/// Conditions of a search. A step must satisfy all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// One of these opcodes; sorted.
    pub ops: Option<Vec<u8>>,
    /// At this place of its code.
    pub pc: Option<u64>,
    /// Works on this account's storage, or runs its code.
    pub address: Option<Address>,
    /// SLOAD, SSTORE, TLOAD or TSTORE of this slot.
    pub slot: Option<U256>,
    /// LOG1 to LOG4 with this topic.
    pub topic: Option<U256>,
    /// In a frame of this depth; the transaction's own has 1.
    pub depth: Option<u64>,
    /// In this frame.
    pub frame: Option<u32>,
    /// With at least this cost, as struct logs give it.
    pub gas_cost_at_least: Option<u64>,
    /// Whether it is REVERT or fails.
    pub error: Option<bool>,
}

/// By what gas is summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GasBy {
    /// By code and place in it.
    #[default]
    Pc,
    /// By opcode.
    Opcode,
    /// By call frame.
    Frame,
}

/// Places of codes where functions are entered (`true`) or left, by the code's hash and whether it
/// is a creation's.
pub type GasMarks = BTreeMap<(B256, bool), HashMap<u32, bool>>;

/// A gas profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileRequest {
    /// By what.
    pub by: GasBy,
    /// Where functions begin and end; stacks of functions are wanted where this is given.
    pub marks: Option<GasMarks>,
}

/// A number in JSON, which must be a whole one.
type Number = u64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RangeOptions {
    from: Number,
    to: Number,
    frame: Option<u32>,
    #[serde(default)]
    own: bool,
    fields: Option<Vec<Field>>,
    stack_top: Option<usize>,
    memory: Option<MemoryOptions>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Field {
    Stack,
    Storage,
    ReturnData,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryOptions {
    #[serde(default)]
    offset: Number,
    length: Number,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchOptions {
    from: Option<Number>,
    #[serde(default)]
    backwards: bool,
    count: Option<Number>,
    #[serde(rename = "where")]
    what: WhereOptions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WhereOptions {
    op: Option<Ops>,
    pc: Option<Number>,
    address: Option<Address>,
    slot: Option<U256>,
    topic: Option<U256>,
    depth: Option<Number>,
    frame: Option<u32>,
    gas_cost_at_least: Option<Number>,
    error: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a name or a list of names")]
enum Ops {
    One(String),
    Any(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileOptions {
    #[serde(default)]
    by: GasBy,
    marks: Option<Vec<MarkOptions>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkOptions {
    hash: B256,
    #[serde(default)]
    init: bool,
    #[serde(default, rename = "in")]
    enters: Vec<u32>,
    #[serde(default, rename = "out")]
    leaves: Vec<u32>,
}

fn read<'a, T: Deserialize<'a>>(options: &'a str) -> Result<T, StepsError> {
    serde_json::from_str(options).map_err(|error| StepsError::Options(error.to_string()))
}

impl StepsPlan {
    /// A page, from `{from, to, frame?, own?, fields?, stackTop?, memory?}`.
    ///
    /// # Errors
    /// What in the options is wrong.
    pub fn range(options: &str) -> Result<Self, StepsError> {
        let RangeOptions { from, to, frame, own, fields, stack_top, memory } = read(options)?;
        if to <= from {
            return Err(StepsError::EmptyRange { from, to });
        }
        if to - from > MAX_PAGE_STEPS {
            return Err(StepsError::LongRange { from, to });
        }
        if memory.is_some() && to - from > MAX_MEMORY_PAGE_STEPS {
            return Err(StepsError::LongRangeWithMemory { from, to });
        }
        if own && frame.is_none() {
            return Err(StepsError::OwnWithoutFrame);
        }
        let memory = memory.map(|MemoryOptions { offset, length }| (offset, length));
        if let Some((_, length)) = memory
            && !(1..=MAX_MEMORY_WINDOW_BYTES).contains(&length)
        {
            return Err(StepsError::MemoryWindow { length });
        }
        let fields = fields.unwrap_or_else(|| vec![Field::Stack, Field::Storage]);
        let has = |field| fields.contains(&field);
        let (stack, storage, return_data) = (has(Field::Stack), has(Field::Storage), has(Field::ReturnData));
        let request = PageRequest { from, to, frame, own, stack, storage, return_data, stack_top, memory };
        Ok(Self::Range(request))
    }

    /// A search, from `{from?, backwards?, count?, where}`.
    ///
    /// # Errors
    /// What in the options is wrong.
    pub fn search(options: &str) -> Result<Self, StepsError> {
        let SearchOptions { from, backwards, count, what } = read(options)?;
        let count = count.unwrap_or(DEFAULT_HITS);
        if !(1..=MAX_HITS as u64).contains(&count) {
            return Err(StepsError::Count { count });
        }
        let WhereOptions { op, pc, address, slot, topic, depth, frame, gas_cost_at_least, error } = what;
        let ops = match op {
            None => None,
            Some(Ops::One(name)) => Some(opcodes(&[name])?),
            Some(Ops::Any(names)) => Some(opcodes(&names)?),
        };
        let what = SearchFilter { ops, pc, address, slot, topic, depth, frame, gas_cost_at_least, error };
        if what == SearchFilter::default() {
            return Err(StepsError::EmptyWhere);
        }
        Ok(Self::Search(Box::new(SearchRequest { from, backwards, count: count as usize, what })))
    }

    /// A gas profile, from `{by?, marks?}`; of a whole block where `of_block`.
    ///
    /// # Errors
    /// What in the options is wrong.
    pub fn profile(options: &str, of_block: bool) -> Result<Self, StepsError> {
        let ProfileOptions { by, marks } = read(options)?;
        if of_block && by == GasBy::Frame {
            return Err(StepsError::FramesOfBlock);
        }
        Ok(Self::Profile(ProfileRequest { by, marks: marks.map(marked).transpose()? }))
    }
}

fn marked(list: Vec<MarkOptions>) -> Result<GasMarks, StepsError> {
    let (pcs, codes) =
        (list.iter().map(|mark| mark.enters.len() + mark.leaves.len()).sum::<usize>(), list.len());
    if pcs > MAX_GAS_MARKS || codes > MAX_MARKED_CODES {
        return Err(StepsError::TooManyMarks { pcs, codes });
    }
    let mut marks = GasMarks::new();
    for MarkOptions { hash, init, enters, leaves } in list {
        let places = marks.entry((hash, init)).or_default();
        places.extend(leaves.into_iter().map(|pc| (pc, false)));
        places.extend(enters.into_iter().map(|pc| (pc, true)));
    }
    Ok(marks)
}

/// The opcodes of these names.
fn opcodes(names: &[String]) -> Result<Vec<u8>, StepsError> {
    let mut found = Vec::new();
    for name in names {
        let other = OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        let opcode = match other {
            Some((_, opcode)) => Some(*opcode),
            None => (0..=u8::MAX).find(|opcode| Name(*opcode).to_string().eq_ignore_ascii_case(name)),
        };
        let unknown = || StepsError::UnknownOpcode { name: name.chars().take(SHOWN_CHARACTERS).collect() };
        found.push(opcode.ok_or_else(unknown)?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
