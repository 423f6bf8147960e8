//! Native sidecars of blocks, in a table of their own: one row for each block that has native
//! transactions or evidence.
//!
//! ```text
//! row    = version u8 = 1 | count varint | native* | misbehavior_len varint | misbehavior
//! native = len varint | bytes | code u32 varint | gas varint | sender 20 | logs varint | log*
//! (logs as in receipts)
//! ```
//! The index rows `x` || SHA-256 of the bytes give the place of a native transaction of the
//! canonical chain.

use crate::{
    Ledger, LedgerError,
    index::{TxPlace, decode_place, encode_place, native_key},
    ledger::{index_error, put},
    receipts::{Reader, decode_logs, encode_log, put_varint},
};
use alloy_primitives::{Address, B256, Bytes, Log};
use hearth_flatkv::IndexWrite;
use hearth_littable::LittError;
use hearth_primitives::{BlockOutput, Height};

const VERSION: u8 = 1;

/// A native transaction of a block, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNative {
    /// As consensus gave it.
    pub bytes: Bytes,
    /// 0 for success, else why it failed.
    pub code: u32,
    /// Gas used.
    pub gas_used: u64,
    /// Its signer.
    pub sender: Address,
    /// Its logs.
    pub logs: Vec<Log>,
}

/// The native sidecar of a block, with the outcomes of its transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSidecar {
    /// Native transactions, in order.
    pub natives: Vec<StoredNative>,
    /// Validators that misbehaved, in the form that the staking contract takes.
    pub misbehavior: Bytes,
}

impl StoredSidecar {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.natives.is_empty() && self.misbehavior.is_empty()
    }

    /// The sidecar of an executed block.
    pub fn of(output: &BlockOutput) -> Self {
        let natives = output.sidecar.natives.iter().zip(&output.native_outcomes);
        let stored = natives.map(|(tx, outcome)| StoredNative {
            bytes: tx.bytes.clone(),
            code: outcome.code,
            gas_used: outcome.gas_used,
            sender: tx.sender,
            logs: outcome.logs.clone(),
        });
        Self { natives: stored.collect(), misbehavior: output.sidecar.misbehavior.clone() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_varint(&mut out, self.natives.len() as u64);
        for native in &self.natives {
            put_varint(&mut out, native.bytes.len() as u64);
            out.extend_from_slice(&native.bytes);
            put_varint(&mut out, native.code.into());
            put_varint(&mut out, native.gas_used);
            out.extend_from_slice(native.sender.as_slice());
            put_varint(&mut out, native.logs.len() as u64);
            native.logs.iter().for_each(|log| encode_log(&mut out, log));
        }
        put_varint(&mut out, self.misbehavior.len() as u64);
        out.extend_from_slice(&self.misbehavior);
        out
    }

    /// Decodes a row; the error is the reason why it does not decode.
    fn decode(row: &[u8]) -> Result<Self, &'static str> {
        /// Length, code, gas, sender and count of logs of a native transaction without any.
        const NATIVE_BYTES_MIN: usize = 24;
        let mut row = Reader(row);
        if row.byte()? != VERSION {
            return Err("unknown version");
        }
        let count = row.count(NATIVE_BYTES_MIN)?;
        let mut natives = Vec::with_capacity(count);
        for _ in 0..count {
            let length = row.count(1)?;
            natives.push(StoredNative {
                bytes: Bytes::copy_from_slice(row.bytes(length)?),
                code: u32::try_from(row.varint()?).map_err(|_| "code")?,
                gas_used: row.varint()?,
                sender: Address::from(row.array()?),
                logs: decode_logs(&mut row)?,
            });
        }
        let length = row.count(1)?;
        let misbehavior = Bytes::copy_from_slice(row.bytes(length)?);
        if !row.0.is_empty() {
            return Err("bytes behind the misbehavior");
        }
        Ok(Self { natives, misbehavior })
    }
}

impl Ledger {
    /// Appends the sidecar of a block of any branch, unless it is empty. Appending it again is
    /// harmless.
    ///
    /// # Errors
    /// [`LedgerError::Table`].
    pub fn append_sidecar(
        &self,
        number: Height,
        hash: B256,
        output: &BlockOutput,
    ) -> Result<(), LedgerError> {
        if output.sidecar.is_empty() {
            return Ok(());
        }
        self.append_sidecar_row(number, hash, &StoredSidecar::of(output).encode())?;
        self.tables().drain()
    }

    pub(crate) fn append_sidecar_row(
        &self,
        number: Height,
        hash: B256,
        row: &[u8],
    ) -> Result<(), LedgerError> {
        let table = self.tables().natives.as_ref();
        let table = table.ok_or_else(|| LittError::NoSuchTable(crate::tables::NATIVES.to_owned()))?;
        put(table, number, hash, row)
    }

    /// The index rows that make a block's native transactions canonical, given their hashes in
    /// order; they go into the commit of its state.
    pub fn native_index_rows(
        &self,
        number: Height,
        hash: B256,
        transactions: impl Iterator<Item = B256>,
    ) -> impl Iterator<Item = IndexWrite> {
        (0..).zip(transactions).map(move |(index, transaction)| {
            let place = TxPlace { number, hash, index };
            IndexWrite { key: native_key(&transaction), value: Some(encode_place(&place)) }
        })
    }

    /// The sidecar of a block of any branch; empty if it has none.
    ///
    /// # Errors
    /// [`LedgerError::Damaged`] where its bytes are damaged, [`LedgerError::Undecodable`].
    pub fn sidecar(&self, hash: &B256) -> Result<StoredSidecar, LedgerError> {
        let Some(row) = self.sidecar_row(hash)? else { return Ok(StoredSidecar::default()) };
        StoredSidecar::decode(&row).map_err(|why| LedgerError::Undecodable {
            what: "native transactions",
            hash: *hash,
            why: why.to_owned(),
        })
    }

    pub(crate) fn sidecar_row(&self, hash: &B256) -> Result<Option<Vec<u8>>, LedgerError> {
        let Some(table) = &self.tables().natives else { return Ok(None) };
        let row = table.get(hash.as_slice()).map_err(LedgerError::of_record("native transactions", hash))?;
        Ok(row.map(|row| row.to_vec()))
    }

    /// The place of a native transaction of the canonical chain; its index counts the native
    /// transactions of its block.
    ///
    /// # Errors
    /// [`LedgerError::Index`], [`LedgerError::BadIndexRow`].
    pub fn native_place(&self, hash: &B256) -> Result<Option<TxPlace>, LedgerError> {
        let row = self.kv().index_get(&native_key(hash)).map_err(index_error)?;
        row.map(|row| decode_place(&row)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::LogData;
    use proptest::prelude::*;

    fn native() -> impl Strategy<Value = StoredNative> {
        let topics = prop::collection::vec(any::<[u8; 32]>(), 0..=4);
        let log = (any::<[u8; 20]>(), topics, prop::collection::vec(any::<u8>(), 0..80));
        let log = log.prop_map(|(address, topics, data)| Log {
            address: address.into(),
            data: LogData::new_unchecked(topics.into_iter().map(B256::from).collect(), data.into()),
        });
        let bytes = prop::collection::vec(any::<u8>(), 0..300);
        let all = (bytes, any::<u32>(), any::<u64>(), any::<[u8; 20]>(), prop::collection::vec(log, 0..3));
        all.prop_map(|(bytes, code, gas_used, sender, logs)| StoredNative {
            bytes: bytes.into(),
            code,
            gas_used,
            sender: sender.into(),
            logs,
        })
    }

    fn stored() -> impl Strategy<Value = StoredSidecar> {
        let misbehavior = prop::collection::vec(any::<u8>(), 0..50);
        (prop::collection::vec(native(), 0..4), misbehavior)
            .prop_map(|(natives, misbehavior)| StoredSidecar { natives, misbehavior: misbehavior.into() })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(stored in stored()) {
            prop_assert_eq!(StoredSidecar::decode(&stored.encode()), Ok(stored));
        }

        #[test]
        fn cut_rows_are_refused(stored in stored(), part in 0.0..1.0f64) {
            let row = stored.encode();
            prop_assert!(StoredSidecar::decode(&row[..(row.len() as f64 * part) as usize]).is_err());
        }

        #[test]
        fn any_bytes_are_answered(row in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = StoredSidecar::decode(&row);
        }
    }
}
