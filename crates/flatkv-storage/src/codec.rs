//! The store's own byte encoding: varints, length-prefixed bytes, numbers without leading zeros.
//!
//! Everything that is read back is bounds-checked; damage is an error, never a panic.

use crate::{RowWrite, error::corrupt};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateError};
use std::ops::Deref;

/// A change of a row of the index or of the data DB `legacy`: key, value before, value after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The row as written.
    pub write: RowWrite,
    /// Its value before; `None` where it was absent.
    pub old: Option<Vec<u8>>,
}

/// Appends a number as LEB128.
pub fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes with their length in front.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_uvarint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A number's big-endian bytes without leading zeros.
pub fn trimmed(value: &U256) -> Trimmed {
    Trimmed { bytes: value.to_be_bytes(), start: value.leading_zeros() / 8 }
}

/// The result of [`trimmed`], without an allocation.
pub struct Trimmed {
    bytes: [u8; 32],
    start: usize,
}

impl Deref for Trimmed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// A length byte and the number, big-endian, without leading zeros.
pub fn put_u256(out: &mut Vec<u8>, value: &U256) {
    let trimmed = trimmed(value);
    out.push(trimmed.len() as u8);
    out.extend_from_slice(&trimmed);
}

/// Appends bytes that may be absent.
pub fn put_optional(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    out.push(bytes.is_some().into());
    if let Some(bytes) = bytes {
        put_bytes(out, bytes);
    }
}

/// Nonce, balance, and whether a code hash follows.
pub fn put_account(out: &mut Vec<u8>, account: &Account) {
    put_uvarint(out, account.nonce);
    put_u256(out, &account.balance);
    out.push(account.has_code().into());
    if account.has_code() {
        out.extend_from_slice(account.code_hash.as_slice());
    }
}

const OLD: u8 = 1;
const NEW: u8 = 2;
const WIPED: u8 = 4;
const SAME: u8 = 8;

/// The accounts and slots of a changeset, old and new values.
pub fn put_changes(out: &mut Vec<u8>, changes: &Changeset) {
    put_uvarint(out, changes.accounts.len() as u64);
    for change in &changes.accounts {
        out.extend_from_slice(change.address.as_slice());
        // An account of which only slots changed is written once.
        let same = change.old == change.new;
        let flag = |on: bool, bit| if on { bit } else { 0 };
        out.push(
            flag(change.old.is_some(), OLD)
                | flag(change.new.is_some(), NEW)
                | flag(change.wiped, WIPED)
                | flag(same, SAME),
        );
        for account in change.old.iter().chain(change.new.iter().filter(|_| !same)) {
            put_account(out, account);
        }
        put_uvarint(out, change.storage.len() as u64);
        for slot in &change.storage {
            put_u256(out, &slot.slot);
            put_u256(out, &slot.old);
            put_u256(out, &slot.new);
        }
    }
}

/// Appends code by its hash, in order.
pub fn put_codes(out: &mut Vec<u8>, codes: &[(B256, Bytes)]) {
    put_uvarint(out, codes.len() as u64);
    for (hash, code) in codes {
        out.extend_from_slice(hash.as_slice());
        put_bytes(out, code);
    }
}

/// Rows of the index or of `legacy` with the value before; with the value after too where `new` is
/// set.
pub fn put_rows(out: &mut Vec<u8>, index: &[RowChange], new: bool) {
    put_uvarint(out, index.len() as u64);
    for row in index {
        put_bytes(out, &row.write.key);
        put_optional(out, row.old.as_deref());
        if new {
            put_optional(out, row.write.value.as_deref());
        }
    }
}

/// Reads what the functions above wrote.
pub struct Reader<'a> {
    left: &'a [u8],
    what: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader whose errors name `what`.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { left: bytes, what }
    }

    /// The error of bytes that do not decode.
    pub fn bad(&self) -> StateError {
        corrupt(self.what)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], StateError> {
        let (head, tail) = self.left.split_at_checked(len).ok_or_else(|| self.bad())?;
        self.left = tail;
        Ok(head)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, StateError> {
        Ok(self.take(1)?[0])
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.left.is_empty()
    }

    /// Everything that was not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.left)
    }

    /// An error unless everything was read.
    pub fn end(&self) -> Result<(), StateError> {
        if self.left.is_empty() { Ok(()) } else { Err(self.bad()) }
    }

    /// Eight bytes, big endian.
    pub fn u64_be(&mut self) -> Result<u64, StateError> {
        let bytes = self.take(8)?.try_into().map_err(|_| self.bad())?;
        Ok(u64::from_be_bytes(bytes))
    }

    /// A number in LEB128.
    pub fn uvarint(&mut self) -> Result<u64, StateError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.bad());
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.bad())
    }

    /// A count of things that take at least one byte each.
    pub fn count(&mut self) -> Result<usize, StateError> {
        let count = self.uvarint()?;
        usize::try_from(count).ok().filter(|count| *count <= self.left.len()).ok_or_else(|| self.bad())
    }

    /// Bytes with their length in front.
    pub fn bytes(&mut self) -> Result<&'a [u8], StateError> {
        let len = self.count()?;
        self.take(len)
    }

    /// A hash.
    pub fn b256(&mut self) -> Result<B256, StateError> {
        Ok(B256::from_slice(self.take(32)?))
    }

    /// An address.
    pub fn address(&mut self) -> Result<Address, StateError> {
        Ok(Address::from_slice(self.take(20)?))
    }

    /// A number of at most 32 bytes, without leading zeros.
    pub fn u256(&mut self) -> Result<U256, StateError> {
        let len = usize::from(self.byte()?);
        let bytes = self.take(len)?;
        U256::try_from_be_slice(bytes).ok_or_else(|| self.bad())
    }

    /// Bytes that may be absent.
    pub fn optional(&mut self) -> Result<Option<Vec<u8>>, StateError> {
        Ok(match self.byte()? {
            0 => None,
            1 => Some(self.bytes()?.to_vec()),
            _ => return Err(self.bad()),
        })
    }

    /// An account.
    pub fn account(&mut self) -> Result<Account, StateError> {
        let (nonce, balance) = (self.uvarint()?, self.u256()?);
        Ok(match self.byte()? {
            0 => Account { nonce, balance, ..Account::default() },
            1 => Account { nonce, balance, code_hash: self.b256()? },
            _ => return Err(self.bad()),
        })
    }

    /// The changed accounts of a changeset.
    pub fn changes(&mut self) -> Result<Vec<AccountChange>, StateError> {
        let count = self.count()?;
        let mut accounts = Vec::with_capacity(count.min(1 << 16));
        for _ in 0..count {
            let address = self.address()?;
            let flags = self.byte()?;
            let old = if flags & OLD != 0 { Some(self.account()?) } else { None };
            let new = match flags & (NEW | SAME) {
                0 => None,
                NEW => Some(self.account()?),
                _ => old,
            };
            let slots = self.count()?;
            let mut storage = Vec::with_capacity(slots.min(1 << 16));
            for _ in 0..slots {
                storage.push(SlotChange { slot: self.u256()?, old: self.u256()?, new: self.u256()? });
            }
            accounts.push(AccountChange { address, old, new, wiped: flags & WIPED != 0, storage });
        }
        Ok(accounts)
    }

    /// Code by its hash.
    pub fn codes(&mut self) -> Result<Vec<(B256, Bytes)>, StateError> {
        let count = self.count()?;
        (0..count).map(|_| Ok((self.b256()?, Bytes::copy_from_slice(self.bytes()?)))).collect()
    }

    /// What [`put_rows`] wrote.
    pub fn rows(&mut self, new: bool) -> Result<Vec<RowChange>, StateError> {
        let count = self.count()?;
        let mut rows = Vec::with_capacity(count.min(1 << 16));
        for _ in 0..count {
            let key = self.bytes()?.to_vec();
            let old = self.optional()?;
            let value = if new { self.optional()? } else { None };
            rows.push(RowChange { write: RowWrite { key, value }, old });
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changeset_reads_back_and_no_prefix_of_it_does() {
        let rich = Account { nonce: 300, balance: U256::MAX, code_hash: B256::repeat_byte(7) };
        let changes = Changeset {
            accounts: vec![
                AccountChange {
                    address: Address::repeat_byte(1),
                    old: None,
                    new: Some(Account::default()),
                    wiped: false,
                    storage: vec![],
                },
                AccountChange {
                    address: Address::repeat_byte(2),
                    old: Some(rich),
                    new: Some(rich),
                    wiped: false,
                    storage: vec![SlotChange { slot: U256::ZERO, old: U256::from(1), new: U256::MAX }],
                },
                AccountChange {
                    address: Address::repeat_byte(3),
                    old: Some(rich),
                    new: None,
                    wiped: true,
                    storage: vec![SlotChange { slot: U256::MAX, old: U256::from(256), new: U256::ZERO }],
                },
            ],
            codes: vec![(B256::repeat_byte(7), Bytes::from_static(&[0x60, 0]))],
        };
        let index = vec![
            RowChange { write: RowWrite { key: vec![1], value: Some(vec![]) }, old: None },
            RowChange { write: RowWrite { key: vec![2], value: None }, old: Some(vec![9; 200]) },
        ];
        let mut bytes = Vec::new();
        put_changes(&mut bytes, &changes);
        put_codes(&mut bytes, &changes.codes);
        put_rows(&mut bytes, &index, true);
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes, "test");
            let out = (reader.changes()?, reader.codes()?, reader.rows(true)?);
            reader.end()?;
            Ok::<_, StateError>(out)
        };
        assert_eq!(read(&bytes).unwrap(), (changes.accounts, changes.codes, index));
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "a cut at byte {len} went unnoticed");
        }
    }

    #[test]
    fn varints_reach_the_whole_range_and_reject_overflow() {
        for value in [0, 1, 127, 128, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_uvarint(&mut out, value);
            assert_eq!(Reader::new(&out, "test").uvarint().unwrap(), value);
        }
        let overflow = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert!(Reader::new(&overflow, "test").uvarint().is_err());
    }
}
