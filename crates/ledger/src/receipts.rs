//! Encoding of a block's receipts with the senders of its transactions.
//!
//! ```text
//! row     = version u8 = 1 | count varint | sender 20 bytes each | receipt*
//! receipt = type u8 | status u8 (0 failed, 1 succeeded, 2 state root follows, 32 bytes)
//!           | gas varint (of this transaction only) | logs varint | log*
//! log     = address 20 | topics u8 | topic 32 each | data_len varint | data
//! ```
//! A varint is unsigned LEB128. Blooms are left out: they are computed from the logs when a row is
//! read.

use crate::StoredReceipts;
use alloy_consensus::{Eip658Value, Receipt as Inner, TxReceipt, TxType};
use alloy_primitives::{Address, B256, Bytes, Log, LogData};
use hearth_primitives::Receipt;

const VERSION: u8 = 1;
const ROOT_FOLLOWS: u8 = 2;
/// Most topics that a log has (LOG4).
const MAX_TOPICS: u8 = 4;

pub(crate) fn encode(receipts: &[Receipt], senders: &[Address]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_to(&mut out, receipts, senders);
    out
}

/// Appends a row.
pub(crate) fn encode_to(out: &mut Vec<u8>, receipts: &[Receipt], senders: &[Address]) {
    out.push(VERSION);
    put_varint(out, receipts.len() as u64);
    senders.iter().for_each(|s| out.extend_from_slice(s.as_slice()));
    let mut before = 0;
    for receipt in receipts {
        out.push(receipt.tx_type() as u8);
        match receipt.status_or_post_state() {
            Eip658Value::Eip658(success) => out.push(u8::from(success)),
            Eip658Value::PostState(root) => {
                out.push(ROOT_FOLLOWS);
                out.extend_from_slice(root.as_slice());
            }
        }
        let cumulative = receipt.cumulative_gas_used();
        put_varint(out, cumulative.wrapping_sub(before));
        before = cumulative;
        put_varint(out, receipt.logs().len() as u64);
        receipt.logs().iter().for_each(|log| encode_log(out, log));
    }
}

pub(crate) fn encode_log(out: &mut Vec<u8>, log: &Log) {
    out.extend_from_slice(log.address.as_slice());
    out.push(log.topics().len() as u8);
    log.topics().iter().for_each(|topic| out.extend_from_slice(topic.as_slice()));
    put_varint(out, log.data.data.len() as u64);
    out.extend_from_slice(&log.data.data);
}

/// The senders of a row, without its receipts; the error says what is wrong with it.
pub(crate) fn decode_senders(row: &[u8]) -> Result<Vec<Address>, &'static str> {
    senders(&mut Reader(row))
}

fn senders(row: &mut Reader<'_>) -> Result<Vec<Address>, &'static str> {
    if row.byte()? != VERSION {
        return Err("unknown version");
    }
    let count = row.varint()? as usize;
    // Each receipt takes at least 24 bytes with its sender: a larger count is damage, for which no
    // memory is allocated.
    if count > row.0.len() / 24 {
        return Err("count of receipts");
    }
    (0..count).map(|_| row.array().map(Address::from)).collect()
}

/// The row's receipts; the error says what is wrong with it.
pub(crate) fn decode(row: &[u8]) -> Result<StoredReceipts, &'static str> {
    let mut row = Reader(row);
    let senders = senders(&mut row)?;
    let count = senders.len();
    let mut receipts = Vec::with_capacity(count);
    let mut cumulative_gas_used = 0u64;
    for _ in 0..count {
        let kind = TxType::try_from(row.byte()?).map_err(|_| "transaction type")?;
        let status = match row.byte()? {
            ROOT_FOLLOWS => Eip658Value::PostState(B256::from(row.array()?)),
            status @ (0 | 1) => Eip658Value::Eip658(status == 1),
            _ => return Err("status"),
        };
        cumulative_gas_used = cumulative_gas_used.wrapping_add(row.varint()?);
        let logs = decode_logs(&mut row)?;
        receipts.push(Receipt::from_typed(kind, Inner { status, cumulative_gas_used, logs }.with_bloom()));
    }
    if !row.0.is_empty() {
        return Err("bytes behind the last receipt");
    }
    Ok(StoredReceipts { receipts, senders })
}

/// Calls `visit` with each log of a row: the position of its transaction, address, topics, data. No
/// receipts are made; the error describes damage of the row.
pub(crate) fn visit_logs(
    row: &[u8],
    mut log: impl FnMut(u64, &Address, &[B256], &[u8]),
) -> Result<(), &'static str> {
    let mut row = Reader(row);
    let count = senders(&mut row)?.len();
    for receipt in 0..count as u64 {
        row.byte()?;
        if row.byte()? == ROOT_FOLLOWS {
            row.bytes(32)?;
        }
        row.varint()?;
        for _ in 0..row.varint()? {
            let address = Address::from(row.array()?);
            let count = usize::from(row.byte()?);
            let mut topics = [B256::ZERO; MAX_TOPICS as usize];
            let topics = topics.get_mut(..count).ok_or("count of topics")?;
            topics.iter_mut().try_for_each(|topic| row.array().map(|bytes| *topic = B256::from(bytes)))?;
            let len = row.varint()? as usize;
            log(receipt, &address, topics, row.bytes(len)?);
        }
    }
    Ok(())
}

pub(crate) fn decode_logs(row: &mut Reader<'_>) -> Result<Vec<Log>, &'static str> {
    let count = row.varint()? as usize;
    // A log takes at least 22 bytes.
    if count > row.0.len() / 22 {
        return Err("count of logs");
    }
    let mut logs = Vec::with_capacity(count);
    for _ in 0..count {
        let address = Address::from(row.array()?);
        let topics = row.byte()?;
        if topics > MAX_TOPICS {
            return Err("count of topics");
        }
        let topics = (0..topics).map(|_| row.array().map(B256::from)).collect::<Result<_, _>>()?;
        let len = row.varint()? as usize;
        let data = Bytes::copy_from_slice(row.bytes(len)?);
        logs.push(Log { address, data: LogData::new_unchecked(topics, data) });
    }
    Ok(logs)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// What is left of a row.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let (head, tail) = self.0.split_at_checked(len).ok_or("cut short")?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or("cut short")?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, &'static str> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A number of items of at least `min_bytes` each: a number that does not fit into the rest is
    /// damage, for which no memory is allocated.
    pub(crate) fn count(&mut self, min_bytes: usize) -> Result<usize, &'static str> {
        let count = self.varint()?;
        let most = self.0.len() / min_bytes;
        usize::try_from(count).ok().filter(|count| *count <= most).ok_or("a count larger than the row")
    }

    pub(crate) fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("varint of more than 64 bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log() -> impl Strategy<Value = Log> {
        let topics = prop::collection::vec(any::<[u8; 32]>(), 0..=4);
        (any::<[u8; 20]>(), topics, prop::collection::vec(any::<u8>(), 0..300)).prop_map(|(a, t, d)| Log {
            address: a.into(),
            data: LogData::new_unchecked(t.into_iter().map(B256::from).collect(), d.into()),
        })
    }

    fn receipt() -> impl Strategy<Value = (u8, Option<[u8; 32]>, bool, u64, Vec<Log>)> {
        (0u8..5, any::<Option<[u8; 32]>>(), any::<bool>(), any::<u64>(), prop::collection::vec(log(), 0..4))
    }

    fn stored() -> impl Strategy<Value = StoredReceipts> {
        prop::collection::vec((receipt(), any::<[u8; 20]>()), 0..6).prop_map(|all| {
            let (mut receipts, mut senders) = (Vec::new(), Vec::new());
            for ((kind, root, success, cumulative_gas_used, logs), sender) in all {
                let status = root.map_or(Eip658Value::Eip658(success), |r| Eip658Value::PostState(r.into()));
                let inner = Inner { status, cumulative_gas_used, logs };
                let kind = TxType::try_from(kind).expect("types 0 to 4 exist");
                receipts.push(Receipt::from_typed(kind, inner.with_bloom()));
                senders.push(sender.into());
            }
            StoredReceipts { receipts, senders }
        })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(stored in stored()) {
            let row = encode(&stored.receipts, &stored.senders);
            let senders = decode_senders(&row);
            prop_assert_eq!(senders.as_ref(), Ok(&stored.senders));
            let mut seen = Vec::new();
            let visited = visit_logs(&row, |place, address, topics, data| {
                let data = LogData::new_unchecked(topics.to_vec(), Bytes::copy_from_slice(data));
                seen.push((place, Log { address: *address, data }));
            });
            prop_assert_eq!(visited, Ok(()));
            let receipts = (0..).zip(&stored.receipts);
            let logs = receipts.flat_map(|(place, receipt)| receipt.logs().iter().map(move |log| (place, log.clone())));
            prop_assert_eq!(seen, logs.collect::<Vec<_>>());
            prop_assert_eq!(decode(&row), Ok(stored));
        }

        #[test]
        fn cut_rows_are_refused(stored in stored(), part in 0.0..1.0f64) {
            let row = encode(&stored.receipts, &stored.senders);
            let cut = (row.len() as f64 * part) as usize;
            prop_assert!(decode(&row[..cut]).is_err());
        }

        #[test]
        fn any_bytes_are_answered(row in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = visit_logs(&row, |_, _, _, _| ());
            if let Ok(stored) = decode(&row) {
                prop_assert_eq!(decode(&encode(&stored.receipts, &stored.senders)), Ok(stored));
            }
        }
    }
}
