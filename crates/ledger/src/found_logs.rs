//! Finds logs in the encoded rows of a block: it only decodes receipts, blooms and transactions
//! that the answer needs.

use crate::ledger::TOTAL_DIFFICULTY_BYTES;
use crate::{Ledger, LedgerError, StoredBlock, StoredReceipts, receipts};
use alloy_primitives::{Address, B256, Bytes, Log, LogData, keccak256};
use alloy_rlp::Header as RlpHeader;

/// Fields of a header before its timestamp.
const FIELDS_BEFORE_TIMESTAMP: usize = 11;

/// A log that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLog {
    /// The log.
    pub log: Log,
    /// Its place among the block's logs.
    pub log_index: u64,
    /// Place of its transaction in the block.
    pub tx_index: u64,
    /// Hash of its transaction.
    pub tx_hash: B256,
}

/// The logs of a block that were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLogs {
    /// Time of the block, in seconds; of no meaning where nothing was found.
    pub timestamp: u64,
    /// The logs in their order.
    pub logs: Vec<FoundLog>,
}

impl FoundLogs {
    /// Those of a block whose receipts were read.
    pub fn of(
        block: &StoredBlock,
        receipts: &StoredReceipts,
        wanted: impl Fn(&Address, &[B256]) -> bool,
    ) -> Self {
        let mut found = Self { timestamp: block.block.header.timestamp, logs: Vec::new() };
        let mut log_index = 0;
        for (tx_index, (receipt, tx_hash)) in receipts.receipts.iter().zip(&block.tx_hashes).enumerate() {
            for log in receipt.logs() {
                if wanted(&log.address, log.topics()) {
                    let (log, tx_index, tx_hash) = (log.clone(), tx_index as u64, *tx_hash);
                    found.logs.push(FoundLog { log, log_index, tx_index, tx_hash });
                }
                log_index += 1;
            }
        }
        found
    }
}

impl Ledger {
    /// The matching logs of a block of any branch. Cached decoded values are used, but nothing is
    /// added to the caches: they stay with the readers that read the same block again.
    ///
    /// # Errors
    /// [`LedgerError::Table`] for damaged or pruned bytes, [`LedgerError::Undecodable`].
    pub fn found_logs(
        &self,
        hash: &B256,
        wanted: impl Fn(&Address, &[B256]) -> bool,
    ) -> Result<Option<FoundLogs>, LedgerError> {
        let kept = (self.block_in_memory(hash), self.receipts_in_memory(hash));
        if let (Some(block), Some(receipts)) = &kept {
            return Ok(Some(FoundLogs::of(block, receipts, wanted)));
        }
        let Some(row) = self.tables().receipts.get(hash.as_slice())? else { return Ok(None) };
        let mut found = FoundLogs::default();
        let mut log_index = 0;
        let visited = receipts::visit_logs(&row, |tx_index, address, topics, data| {
            if wanted(address, topics) {
                let data = LogData::new_unchecked(topics.to_vec(), Bytes::copy_from_slice(data));
                let log = Log { address: *address, data };
                found.logs.push(FoundLog { log, log_index, tx_index, tx_hash: B256::ZERO });
            }
            log_index += 1;
        });
        visited.map_err(|why| undecodable("receipts", hash, why))?;
        if found.logs.is_empty() {
            return Ok(Some(found));
        }
        if let Some(block) = &kept.0 {
            found.timestamp = block.block.header.timestamp;
            let known = name(&mut found.logs, |index| block.tx_hashes.get(index as usize).copied());
            return known.ok_or_else(|| undecodable("receipts", hash, FEWER)).map(|()| Some(found));
        }
        let Some(row) = self.tables().blocks.get(hash.as_slice())? else { return Ok(None) };
        found.complete(&row).ok_or_else(|| undecodable("block", hash, FEWER))?;
        Ok(Some(found))
    }
}

const FEWER: &str = "it has no transaction for a log";

fn undecodable(what: &'static str, hash: &B256, why: &str) -> LedgerError {
    LedgerError::Undecodable { what, hash: *hash, why: why.to_owned() }
}

/// Gives each log the hash of its transaction. `None` where one is not there.
fn name(logs: &mut [FoundLog], mut hash_of: impl FnMut(u64) -> Option<B256>) -> Option<()> {
    let mut last = None;
    for found in logs {
        // Logs of one transaction lie together.
        let hash = match last {
            Some((index, hash)) if index == found.tx_index => hash,
            _ => hash_of(found.tx_index)?,
        };
        found.tx_hash = hash;
        last = Some((found.tx_index, hash));
    }
    Some(())
}

impl FoundLogs {
    /// Takes time and hashes of transactions out of a block's row. `None` where they are not there.
    fn complete(&mut self, row: &[u8]) -> Option<()> {
        let mut rest = row.get(TOTAL_DIFFICULTY_BYTES..)?;
        let mut block = list(&mut rest)?;
        let mut header = list(&mut block)?;
        (0..FIELDS_BEFORE_TIMESTAMP).try_for_each(|_| item(&mut header).map(|_| ()))?;
        let timestamp = item(&mut header)?.1;
        self.timestamp = timestamp.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let mut transactions = list(&mut block)?;
        let mut next = 0;
        name(&mut self.logs, |index| {
            while next < index {
                item(&mut transactions)?;
                next += 1;
            }
            next += 1;
            let (header, payload, whole) = typed_item(&mut transactions)?;
            // A typed envelope is the content of a string; a legacy transaction is a list, and
            // hashed as it is.
            Some(keccak256(if header.list { whole } else { payload }))
        })
    }
}

/// The content of the list at the start of the bytes, which then begin behind it.
fn list<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (header, payload, _) = typed_item(bytes)?;
    header.list.then_some(payload)
}

/// Header and content of the item at the start of the bytes.
fn item<'a>(bytes: &mut &'a [u8]) -> Option<(RlpHeader, &'a [u8])> {
    typed_item(bytes).map(|(header, payload, _)| (header, payload))
}

/// Header, content, and both together.
fn typed_item<'a>(bytes: &mut &'a [u8]) -> Option<(RlpHeader, &'a [u8], &'a [u8])> {
    let whole = *bytes;
    let header = RlpHeader::decode(bytes).ok()?;
    let (payload, behind) = bytes.split_at_checked(header.payload_length)?;
    *bytes = behind;
    Some((header, payload, &whole[..whole.len() - behind.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction, TxEip1559, TxLegacy};
    use alloy_primitives::{Signature, U256};
    use alloy_rlp::Encodable;
    use hearth_primitives::{Block, Transaction};

    fn transactions(count: u64) -> Vec<Transaction> {
        let signature = Signature::new(U256::from(5), U256::from(7), false);
        let make = |nonce| match nonce % 2 {
            0 => TxLegacy { nonce, ..TxLegacy::default() }.into_signed(signature).into(),
            _ => TxEip1559 { nonce, chain_id: 1, ..TxEip1559::default() }.into_signed(signature).into(),
        };
        (0..count).map(make).collect()
    }

    fn found(tx_index: u64) -> FoundLog {
        FoundLog { log: Log::default(), log_index: tx_index, tx_index, tx_hash: B256::ZERO }
    }

    #[test]
    fn time_and_hashes_are_taken_out_of_a_row() {
        let mut block = Block::default();
        block.header.timestamp = 1_700_000_123;
        block.body.transactions = transactions(300);
        let mut row = vec![0; TOTAL_DIFFICULTY_BYTES];
        block.encode(&mut row);
        let mut logs = FoundLogs { timestamp: 0, logs: [0, 1, 1, 7, 298, 299].map(found).to_vec() };
        assert_eq!(logs.complete(&row), Some(()));
        assert_eq!(logs.timestamp, 1_700_000_123);
        for log in &logs.logs {
            assert_eq!(log.tx_hash, *block.body.transactions[log.tx_index as usize].tx_hash());
        }
        let mut beyond = FoundLogs { timestamp: 0, logs: vec![found(300)] };
        assert_eq!(beyond.complete(&row), None);
        assert!((0..row.len()).step_by(61).all(|len| logs.clone().complete(&row[..len]).is_none()));
    }
}
