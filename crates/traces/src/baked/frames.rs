//! Single frames out of the baked lists of localized frames: by their trace address for
//! `trace_get`, by their accounts for `trace_filter`.

use super::{Baked, derived};
use alloy_primitives::Address;
use hearth_bake::{BakedBlock, BakedTracer};
use hearth_home::NodeError;
use hearth_ledger::StoredBlock;
use hearth_tracers::{FrameFilter, JsonWriter};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most bytes of one transaction's frames that are parsed; of one with more, the block is executed.
pub(super) const MAX_PARSED_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    trace_address: Vec<u32>,
}

/// What a frame says of its accounts: a call has `to`, a selfdestruct `address` and
/// `refundAddress`, a creation that succeeded its result's `address`.
#[derive(Deserialize)]
struct Accounts {
    action: Action,
    #[serde(default)]
    result: Option<Made>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action {
    #[serde(default)]
    from: Option<Address>,
    #[serde(default)]
    to: Option<Address>,
    #[serde(default)]
    address: Option<Address>,
    #[serde(default)]
    refund_address: Option<Address>,
}

#[derive(Deserialize)]
struct Made {
    #[serde(default)]
    address: Option<Address>,
}

impl Accounts {
    fn from(&self) -> Option<&Address> {
        self.action.from.as_ref().or(self.action.address.as_ref())
    }

    fn to(&self) -> Option<&Address> {
        let called = self.action.to.as_ref().or(self.action.refund_address.as_ref());
        called.or(self.result.as_ref().and_then(|made| made.address.as_ref()))
    }
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, NodeError> {
    serde_json::from_slice(text)
        .map_err(|error| NodeError::Internal { message: format!("a baked trace does not parse: {error}") })
}

/// The frame at a trace address, as it stands in a list.
pub(super) fn at<'a>(list: &'a [u8], path: &[u32]) -> Result<Option<&'a str>, NodeError> {
    for frame in parsed::<Vec<&'a RawValue>>(list)? {
        if parsed::<Placed>(frame.get().as_bytes())?.trace_address == path {
            return Ok(Some(frame.get()));
        }
    }
    Ok(None)
}

/// Writes the frames of a list that the filter takes.
fn filter_list(list: &[u8], filter: &mut FrameFilter, json: &mut JsonWriter<'_>) -> Result<(), NodeError> {
    for frame in parsed::<Vec<&RawValue>>(list)? {
        if filter.is_done() {
            break;
        }
        let accounts: Accounts = parsed(frame.get().as_bytes())?;
        if filter.takes(accounts.from(), accounts.to()) {
            json.raw(if std::mem::replace(&mut filter.written, true) { b"," } else { b"" });
            json.raw(frame.get().as_bytes());
        }
    }
    Ok(())
}

/// The localized frames of a block, where all of them are baked and can be parsed.
pub(crate) struct BakedFrames(BakedBlock);

impl BakedFrames {
    /// The frames of a block of the ledger.
    pub(crate) fn of(baked: &Baked, block: &StoredBlock) -> Option<Self> {
        let all = 0..block.tx_hashes.len();
        baked.whole(block, BakedTracer::ParityLocalized, all, MAX_PARSED_BYTES).map(Self)
    }

    /// Writes those that the filter takes.
    ///
    /// # Errors
    /// [`NodeError::StoreFailed`]; [`NodeError::Cancelled`] where the client is gone.
    pub(crate) fn filter(
        &self,
        filter: &mut FrameFilter,
        json: &mut JsonWriter<'_>,
    ) -> Result<(), NodeError> {
        for index in 0..self.0.transactions() {
            if filter.is_done() {
                break;
            }
            filter_list(&derived::text_of(&self.0, index)?, filter, json)?;
            if json.is_closed() {
                return Err(NodeError::Cancelled);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const C: &str = "0xcccccccccccccccccccccccccccccccccccccccc";

    fn frames() -> Vec<String> {
        vec![
            format!(
                r#"{{"action":{{"callType":"call","from":"{A}","to":"{B}"}},"result":{{"output":"0x","gasUsed":"0x0"}},"traceAddress":[]}}"#
            ),
            format!(
                r#"{{"action":{{"from":"{B}","init":"0x"}},"result":{{"address":"{C}","code":"0x"}},"traceAddress":[0]}}"#
            ),
            format!(
                r#"{{"action":{{"address":"{C}","balance":"0x0","refundAddress":"{A}"}},"result":null,"traceAddress":[0,0]}}"#
            ),
            format!(r#"{{"action":{{"from":"{B}","init":"0x"}},"error":"Reverted","traceAddress":[1]}}"#),
        ]
    }

    fn list() -> Vec<u8> {
        format!("[{}]", frames().join(",")).into_bytes()
    }

    #[test]
    fn a_frame_is_found_by_its_trace_address() {
        let list = list();
        for (path, index) in [(&[][..], 0), (&[0], 1), (&[0, 0], 2), (&[1], 3)] {
            assert_eq!(at(&list, path).unwrap(), Some(frames()[index].as_str()));
        }
        assert_eq!(at(&list, &[2]).unwrap(), None);
        assert_eq!(at(b"[]", &[]).unwrap(), None);
        assert!(at(b"[{}]", &[]).is_err());
    }

    fn found(from: &[&str], to: &[&str], union: bool, skip: u64, left: u64) -> Vec<usize> {
        let addresses = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        let (from, to) = (addresses(from), addresses(to));
        let mut filter = FrameFilter { from, to, union, skip, left, written: false };
        let mut out = Vec::new();
        let mut json = JsonWriter::new(&mut out);
        filter_list(&list(), &mut filter, &mut json).unwrap();
        json.finish().unwrap();
        let text = format!("[{}]", String::from_utf8(out).unwrap());
        let place = |frame: &RawValue| frames().iter().position(|known| known == frame.get()).unwrap();
        parsed::<Vec<&RawValue>>(text.as_bytes()).unwrap().into_iter().map(place).collect()
    }

    #[test]
    fn frames_are_filtered_by_the_accounts_of_their_kind() {
        assert_eq!(found(&[], &[], false, 0, u64::MAX), [0, 1, 2, 3]);
        assert_eq!(found(&[B], &[], false, 0, u64::MAX), [1, 3]);
        assert_eq!(found(&[], &[C], false, 0, u64::MAX), [1]);
        assert_eq!(found(&[C], &[A], false, 0, u64::MAX), [2]);
        assert_eq!(found(&[A], &[C], true, 0, u64::MAX), [0, 1]);
        assert_eq!(found(&[], &[], false, 1, 2), [1, 2]);
        assert_eq!(found(&[A], &[A], false, 0, u64::MAX), Vec::<usize>::new());
    }
}
