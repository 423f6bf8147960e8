//! The messages of the channel. Little endian; a header is u32 length of the payload, u8 kind,
//! three zeros.

use crate::fields::Fields;
use alloy_primitives::{Address, Bytes, U256};
use hearth_primitives::Account;
use hearth_recorder::ScriptLimits;
use hearth_recorder::ScriptPlan;
use hearth_recorder::StateReads;
use serde::Serialize;

/// Bytes of an address.
const ADDRESS_BYTES: usize = 20;

/// Bytes before a payload.
pub(crate) const HEADER_BYTES: usize = 8;

/// Kinds of messages to the script host.
pub(crate) mod to {
    pub const BEGIN: u8 = 1;
    pub const STEPS: u8 = 2;
    pub const END: u8 = 3;
    pub const STATE: u8 = 4;
    pub const STATE_FAILED: u8 = 5;
    pub const STOP: u8 = 6;
}

/// Kinds of messages from there.
mod from {
    pub const READY: u8 = 10;
    pub const READ: u8 = 11;
    pub const LOADED: u8 = 12;
    pub const RESULT: u8 = 13;
    pub const FAILED: u8 = 14;
    pub const NEEDS: u8 = 15;
    pub const DONE: u8 = 16;
}

/// A message from the script host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostMessage {
    Ready,
    Read(Read),
    Loaded(Fields),
    Result(Vec<u8>),
    Failed(String),
    Needs(Fields),
    Done,
}

/// A read of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Account(Address),
    Slot(Address, U256),
    Code(Address),
}

#[derive(serde::Deserialize)]
struct Failed {
    message: String,
}

/// Reads a message; `None` where it is none.
pub(crate) fn said(kind: u8, payload: Vec<u8>) -> Option<HostMessage> {
    let fields = |payload: &[u8]| Some(Fields(u32::from_le_bytes(payload.try_into().ok()?) & Fields::ALL.0));
    Some(match kind {
        from::READY => HostMessage::Ready,
        from::READ => HostMessage::Read(read(&payload)?),
        from::LOADED => HostMessage::Loaded(fields(&payload)?),
        from::RESULT => HostMessage::Result(payload),
        from::FAILED => HostMessage::Failed(serde_json::from_slice::<Failed>(&payload).ok()?.message),
        from::NEEDS => HostMessage::Needs(fields(&payload)?),
        from::DONE => HostMessage::Done,
        _ => return None,
    })
}

fn read(payload: &[u8]) -> Option<Read> {
    let (what, rest) = payload.split_first()?;
    let (address, rest) = rest.split_at_checked(ADDRESS_BYTES)?;
    let address = Address::from_slice(address);
    Some(match what {
        0 => Read::Account(address),
        1 => Read::Slot(address, U256::try_from_be_slice(rest).filter(|_| rest.len() == 32)?),
        2 => Read::Code(address),
        _ => return None,
    })
}

/// Appends a message.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    put_header(out, kind, payload.len());
    out.extend_from_slice(payload);
}

/// Appends the header of a message.
pub(crate) fn put_header(out: &mut Vec<u8>, kind: u8, length: usize) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[kind, 0, 0, 0]);
}

/// Appends an account as scripts see it: u8 exists, 3 or 7 zeros, f64 nonce, balance, code hash.
pub(crate) fn put_account(out: &mut Vec<u8>, account: Option<&Account>, zeros: usize) {
    let exists = account.is_some();
    let account = account.copied().unwrap_or_default();
    out.push(u8::from(exists));
    out.extend(std::iter::repeat_n(0, zeros));
    out.extend_from_slice(&(account.nonce as f64).to_le_bytes());
    out.extend_from_slice(&account.balance.to_be_bytes::<32>());
    out.extend_from_slice(account.code_hash.as_slice());
}

/// Appends the answer to a read.
pub(crate) fn put_answer(out: &mut Vec<u8>, read: Read, state: &mut dyn StateReads) {
    let mut payload = Vec::new();
    let answered = match read {
        Read::Account(address) => {
            state.account(address).map(|account| put_account(&mut payload, account.as_ref(), 7))
        }
        Read::Slot(address, key) => {
            state.slot(address, key).map(|value| payload.extend_from_slice(&value.to_be_bytes::<32>()))
        }
        Read::Code(address) => state.code(address).map(|code: Bytes| payload.extend_from_slice(&code)),
    };
    match answered {
        Ok(()) => put(out, to::STATE, &payload),
        Err(error) => put(out, to::STATE_FAILED, error.as_bytes()),
    }
}

/// The first message of a transaction.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Begin<'a> {
    source: Option<&'a str>,
    name: Option<&'a str>,
    config: &'a str,
    fields: Option<u32>,
    rules: Rules<'a>,
    limits: BeginLimits,
    request: u64,
}

#[derive(Serialize)]
struct Rules<'a> {
    precompiles: &'a [Address],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BeginLimits {
    memory_bytes: u64,
    output_bytes: u64,
}

impl<'a> Begin<'a> {
    /// The message for a script.
    pub fn new(
        plan: &'a ScriptPlan,
        fields: Option<Fields>,
        precompiles: &'a [Address],
        limits: ScriptLimits,
        request: u64,
    ) -> Self {
        let text = plan.text.as_str();
        let (source, name) = if plan.is_named() { (None, Some(text)) } else { (Some(text), None) };
        let ScriptLimits { memory_bytes, output_bytes } = limits;
        Self {
            source,
            name,
            config: plan.config.as_deref().unwrap_or("{}"),
            fields: fields.map(|fields| fields.0),
            rules: Rules { precompiles },
            limits: BeginLimits { memory_bytes, output_bytes },
            request,
        }
    }
}

/// `ctx` of `result`, with the names that go-ethereum gives its members (eth/tracers/js/goja.go:
/// OnTxStart).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub r#type: &'static str,
    pub from: Address,
    pub to: Address,
    pub input: Bytes,
    pub gas: u64,
    pub gas_used: u64,
    /// Wei a unit of gas, decimal.
    pub gas_price: String,
    /// Wei, decimal.
    pub value: String,
    pub output: Bytes,
    pub block: u64,
    pub coinbase: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_hash: Option<alloy_primitives::B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_hash: Option<alloy_primitives::B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_index: Option<u64>,
}

/// Appends a message whose payload is JSON.
pub(crate) fn put_json(out: &mut Vec<u8>, kind: u8, value: &impl Serialize) {
    let payload = serde_json::to_vec(value).unwrap_or_default();
    put(out, kind, &payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_read_or_refused() {
        assert_eq!(said(10, vec![]), Some(HostMessage::Ready));
        assert_eq!(said(12, vec![3, 0, 0, 0]), Some(HostMessage::Loaded(Fields::STEP | Fields::OP)));
        assert_eq!(said(15, 0xffff_ffff_u32.to_le_bytes().to_vec()), Some(HostMessage::Needs(Fields::ALL)));
        assert_eq!(said(14, br#"{"message":"no"}"#.to_vec()), Some(HostMessage::Failed("no".to_owned())));
        let address = Address::repeat_byte(7);
        let mut slot = [&[1][..], address.as_slice(), &[0; 31], &[9]].concat();
        assert_eq!(said(11, slot.clone()), Some(HostMessage::Read(Read::Slot(address, U256::from(9)))));
        slot.pop();
        let bad =
            [(11, slot), (11, vec![3; 21]), (11, vec![]), (12, vec![1]), (14, b"x".to_vec()), (99, vec![])];
        for (kind, payload) in bad {
            assert_eq!(said(kind, payload.clone()), None, "{kind} {payload:?}");
        }
    }

    #[test]
    fn accounts_are_packed() {
        let account = Account { nonce: 5, balance: U256::from(0x0102), ..Account::default() };
        let mut out = Vec::new();
        put_account(&mut out, Some(&account), 7);
        assert_eq!((out.len(), out[0], &out[8..16]), (80, 1, &5f64.to_le_bytes()[..]));
        assert_eq!(&out[46..48], &[1, 2]);
        out.clear();
        put_account(&mut out, None, 3);
        assert_eq!((out.len(), out[0]), (76, 0));
    }

    #[test]
    fn a_script_begins_with_its_source_or_name() {
        let json = |text: &str, config: Option<&str>| {
            let plan = ScriptPlan { text: text.to_owned(), config: config.map(str::to_owned) };
            let limits = ScriptLimits { memory_bytes: 1, output_bytes: 2 };
            serde_json::to_string(&Begin::new(&plan, None, &[], limits, 3)).unwrap()
        };
        assert_eq!(
            json("{}", None),
            r#"{"source":"{}","name":null,"config":"{}","fields":null,"rules":{"precompiles":[]},"limits":{"memoryBytes":1,"outputBytes":2},"request":3}"#
        );
        assert!(
            json("opcountTracer", Some("[1]"))
                .starts_with(r#"{"source":null,"name":"opcountTracer","config":"[1]""#)
        );
    }
}
