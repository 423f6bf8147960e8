//! Encoding of a block's trace capsule.
//!
//! ```text
//! row     = version u8 = 1
//!           | accounts varint | account*          in ascending order of address
//!           | hashes varint | (height varint, hash 32)*
//!           | transactions varint | logs varint * transactions
//!           | write set * (transactions + 2)
//! account = address 20 | flags u8 | value? | slots varint | (key word, value word)*
//! value   = nonce varint | balance word | code hash 32 where HAS_CODE
//! write set = writes varint | write*
//! write   = account varint (distance from the one before) | flags u8
//!           | value? (without the code hash where CODE_STAYS) | slots varint | slot*
//! slot    = place varint (1 and up among the account's slots; 0: its key follows) | key word?
//!           | value word
//! word    = length u8 | big-endian bytes without leading zeros
//! ```
//! A varint is unsigned LEB128. The row has no code: that is stored by its hash.

use crate::receipts::{Reader, put_varint};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use hearth_primitives::{Account, CapsuleAccount, CapsuleWrite, TraceCapsule};

const VERSION: u8 = 1;

/// The account exists.
const EXISTS: u8 = 1;
/// It has code.
const HAS_CODE: u8 = 2;
/// All of its storage is there.
const WHOLE_STORAGE: u8 = 4;
/// Its storage was wiped.
const WIPED: u8 = 8;
/// Its code is that of the start of the block.
const CODE_STAYS: u8 = 16;

/// Fewest bytes of an account: address, flags, count of slots.
const MIN_ACCOUNT_BYTES: usize = 22;
/// Fewest bytes of a slot: two words.
const MIN_SLOT_BYTES: usize = 2;
/// Fewest bytes of a write: place, flags, count of slots.
const MIN_WRITE_BYTES: usize = 3;
/// Bytes of a block hash with the shortest height.
const MIN_HASH_BYTES: usize = 33;
/// Fewest bytes of a transaction: count of logs, count of writes.
const MIN_TRANSACTION_BYTES: usize = 2;

/// Initial capacity in bytes of a list whose length the row states; a longer list grows as its
/// items are read. An item takes up to 48 times as many bytes in memory as in the row.
const RESERVED_BYTES: usize = 1 << 20;

/// A list for a number of items that a row names.
fn list<T>(count: usize) -> Vec<T> {
    Vec::with_capacity(count.min(RESERVED_BYTES / size_of::<T>()))
}

pub(crate) fn encode(capsule: &TraceCapsule) -> Vec<u8> {
    let slots: usize = capsule.accounts.iter().map(|account| account.slots.len()).sum();
    let mut out = Vec::with_capacity(64 + capsule.accounts.len() * 72 + slots * 48);
    encode_to(&mut out, capsule);
    out
}

/// Appends a row.
pub(crate) fn encode_to(out: &mut Vec<u8>, capsule: &TraceCapsule) {
    out.push(VERSION);
    put_varint(out, capsule.accounts.len() as u64);
    capsule.accounts.iter().for_each(|account| put_account(out, account));
    put_varint(out, capsule.block_hashes.len() as u64);
    for (height, hash) in &capsule.block_hashes {
        put_varint(out, *height);
        out.extend_from_slice(hash.as_slice());
    }
    put_varint(out, capsule.logs.len() as u64);
    capsule.logs.iter().for_each(|count| put_varint(out, *count));
    for writes in &capsule.writes {
        put_varint(out, writes.len() as u64);
        // Writes ascend by account, so distances are small numbers.
        let mut before = 0;
        for write in writes {
            put_varint(out, u64::from(write.account.wrapping_sub(before)));
            before = write.account;
            put_write(out, &capsule.accounts[write.account as usize], write);
        }
    }
}

fn put_word(out: &mut Vec<u8>, word: &U256) {
    let bytes = word.to_be_bytes::<32>();
    let length = word.byte_len();
    out.push(length as u8);
    out.extend_from_slice(&bytes[32 - length..]);
}

fn put_value(out: &mut Vec<u8>, flags: u8, account: &Account) {
    put_varint(out, account.nonce);
    put_word(out, &account.balance);
    if flags & (HAS_CODE | CODE_STAYS) == HAS_CODE {
        out.extend_from_slice(account.code_hash.as_slice());
    }
}

fn flags_of(account: Option<&Account>) -> u8 {
    account.map_or(0, |account| if account.has_code() { EXISTS | HAS_CODE } else { EXISTS })
}

fn put_account(out: &mut Vec<u8>, account: &CapsuleAccount) {
    let flags = flags_of(account.start.as_ref()) | if account.whole_storage { WHOLE_STORAGE } else { 0 };
    out.extend_from_slice(account.address.as_slice());
    out.push(flags);
    if let Some(start) = &account.start {
        put_value(out, flags, start);
    }
    put_varint(out, account.slots.len() as u64);
    for (key, value) in &account.slots {
        put_word(out, key);
        put_word(out, value);
    }
}

fn put_write(out: &mut Vec<u8>, account: &CapsuleAccount, write: &CapsuleWrite) {
    let mut flags = flags_of(write.new.as_ref()) | if write.wiped { WIPED } else { 0 };
    let same_code = account.start.zip(write.new).is_some_and(|(old, new)| old.code_hash == new.code_hash);
    if same_code {
        flags |= CODE_STAYS;
    }
    out.push(flags);
    if let Some(new) = &write.new {
        put_value(out, flags, new);
    }
    put_varint(out, write.slots.len() as u64);
    for (key, value) in &write.slots {
        // Most slots that are written were read before: their place takes one byte, their key 32.
        match account.slots.binary_search_by_key(key, |(key, _)| *key) {
            Ok(place) => put_varint(out, place as u64 + 1),
            Err(_) => {
                put_varint(out, 0);
                put_word(out, key);
            }
        }
        put_word(out, value);
    }
}

/// The addresses of the accounts in a row, without the rest.
pub(crate) fn decode_addresses(row: &[u8]) -> Result<Vec<Address>, &'static str> {
    let mut row = Reader(row);
    if row.byte()? != VERSION {
        return Err("unknown version");
    }
    let count = row.count(MIN_ACCOUNT_BYTES)?;
    let mut addresses = list(count);
    for _ in 0..count {
        addresses.push(account(&mut row)?.address);
    }
    Ok(addresses)
}

/// The capsule of a row; the error says what is wrong with it.
pub(crate) fn decode(row: &[u8]) -> Result<TraceCapsule, &'static str> {
    let mut row = Reader(row);
    if row.byte()? != VERSION {
        return Err("unknown version");
    }
    let mut capsule = TraceCapsule::default();
    let accounts = row.count(MIN_ACCOUNT_BYTES)?;
    capsule.accounts = list(accounts);
    for _ in 0..accounts {
        capsule.accounts.push(account(&mut row)?);
    }
    // Look-ups in a capsule are binary searches.
    if !capsule.accounts.is_sorted_by(|a, b| a.address < b.address) {
        return Err("order of accounts");
    }
    for _ in 0..row.count(MIN_HASH_BYTES)? {
        capsule.block_hashes.push((row.varint()?, B256::from(row.array()?)));
    }
    if !capsule.block_hashes.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("order of block hashes");
    }
    let transactions = row.count(MIN_TRANSACTION_BYTES)?;
    for _ in 0..transactions {
        capsule.logs.push(row.varint()?);
    }
    capsule.writes = list(transactions + 2);
    for _ in 0..transactions + 2 {
        let writes = write_set(&mut row, &capsule.accounts)?;
        capsule.writes.push(writes);
    }
    if row.0.is_empty() { Ok(capsule) } else { Err("bytes behind the last write set") }
}

fn word(row: &mut Reader<'_>) -> Result<U256, &'static str> {
    let length = usize::from(row.byte()?);
    let bytes = row.bytes(length)?;
    // A leading zero would be a second encoding of the same word.
    if length > 32 || bytes.first() == Some(&0) {
        return Err("word");
    }
    Ok(U256::from_be_slice(bytes))
}

fn value(row: &mut Reader<'_>, flags: u8, start: Option<&Account>) -> Result<Option<Account>, &'static str> {
    if flags & EXISTS == 0 {
        return Ok(None);
    }
    let (nonce, balance) = (row.varint()?, word(row)?);
    let code_hash = if flags & CODE_STAYS != 0 {
        start.ok_or("code of an account that was not there")?.code_hash
    } else if flags & HAS_CODE != 0 {
        B256::from(row.array()?)
    } else {
        KECCAK256_EMPTY
    };
    Ok(Some(Account { nonce, balance, code_hash }))
}

fn account(row: &mut Reader<'_>) -> Result<CapsuleAccount, &'static str> {
    let address = Address::from(row.array()?);
    let flags = row.byte()?;
    let start = value(row, flags, None)?;
    let count = row.count(MIN_SLOT_BYTES)?;
    let mut slots = list(count);
    for _ in 0..count {
        slots.push((word(row)?, word(row)?));
    }
    if !slots.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("order of slots");
    }
    Ok(CapsuleAccount { address, start, whole_storage: flags & WHOLE_STORAGE != 0, slots })
}

fn write_set(row: &mut Reader<'_>, accounts: &[CapsuleAccount]) -> Result<Vec<CapsuleWrite>, &'static str> {
    let count = row.count(MIN_WRITE_BYTES)?;
    let (mut writes, mut place) = (list(count), 0u64);
    for _ in 0..count {
        place = place.checked_add(row.varint()?).ok_or("account of a write")?;
        let at = usize::try_from(place).map_err(|_| "account of a write")?;
        let account = accounts.get(at).ok_or("account of a write")?;
        let flags = row.byte()?;
        let new = value(row, flags, account.start.as_ref())?;
        let count = row.count(MIN_SLOT_BYTES)?;
        let mut slots = list(count);
        for _ in 0..count {
            let key = match row.varint()? as usize {
                0 => word(row)?,
                known => account.slots.get(known - 1).ok_or("slot of a write")?.0,
            };
            slots.push((key, word(row)?));
        }
        let account = u32::try_from(at).map_err(|_| "account of a write")?;
        writes.push(CapsuleWrite { account, new, wiped: flags & WIPED != 0, slots });
    }
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn word() -> impl Strategy<Value = U256> {
        prop_oneof![
            Just(U256::ZERO),
            any::<u64>().prop_map(U256::from),
            any::<[u8; 32]>().prop_map(U256::from_be_bytes)
        ]
    }

    fn value() -> impl Strategy<Value = Option<Account>> {
        let code = prop_oneof![Just(KECCAK256_EMPTY), any::<[u8; 32]>().prop_map(B256::from)];
        prop::option::of((any::<u64>(), word(), code)).prop_map(|account| {
            account.map(|(nonce, balance, code_hash)| Account { nonce, balance, code_hash })
        })
    }

    fn slots() -> impl Strategy<Value = Vec<(U256, U256)>> {
        prop::collection::btree_map(word(), word(), 0..6).prop_map(|slots| slots.into_iter().collect())
    }

    type Write = (Option<bool>, Option<Account>, bool, Vec<(U256, U256)>);

    fn capsule() -> impl Strategy<Value = TraceCapsule> {
        let account = (any::<[u8; 20]>(), value(), any::<bool>(), slots());
        let accounts = prop::collection::vec(account, 1..6);
        let write = (prop::option::of(any::<bool>()), value(), any::<bool>(), slots());
        let step = prop::collection::vec((any::<prop::sample::Index>(), write), 0..4);
        let steps = prop::collection::vec(step, 2..6);
        let hashes = prop::collection::btree_map(any::<u64>(), any::<[u8; 32]>(), 0..3);
        (accounts, steps, hashes, any::<u64>()).prop_map(|(accounts, steps, hashes, logs)| {
            let mut known = BTreeSet::new();
            let mut accounts: Vec<_> = accounts
                .into_iter()
                .filter(|(address, ..)| known.insert(*address))
                .map(|(address, start, whole_storage, slots)| CapsuleAccount {
                    address: address.into(),
                    start,
                    whole_storage,
                    slots,
                })
                .collect();
            accounts.sort_by_key(|account| account.address);
            let write_set = |step: Vec<(prop::sample::Index, Write)>| {
                let mut writes: BTreeMap<u32, CapsuleWrite> = BTreeMap::new();
                for (index, (keep, new, wiped, mut slots)) in step {
                    let at = index.index(accounts.len());
                    // Now and then the code stays, and a slot that was read is written.
                    let new = match (keep, new, accounts[at].start) {
                        (Some(true), Some(new), Some(start)) => {
                            Some(Account { code_hash: start.code_hash, ..new })
                        }
                        (_, new, _) => new,
                    };
                    if let Some((slot, _)) = accounts[at].slots.first().filter(|_| keep.is_some()) {
                        slots.retain(|(key, _)| key != slot);
                        slots.push((*slot, U256::from(7)));
                        slots.sort();
                    }
                    let account = at as u32;
                    writes.insert(account, CapsuleWrite { account, new, wiped, slots });
                }
                writes.into_values().collect::<Vec<_>>()
            };
            let writes: Vec<_> = steps.into_iter().map(write_set).collect();
            let logs = vec![logs; writes.len() - 2];
            let block_hashes = hashes.into_iter().map(|(height, hash)| (height, hash.into())).collect();
            TraceCapsule { accounts, block_hashes, writes, logs, ..TraceCapsule::default() }
        })
    }

    #[test]
    fn a_named_length_reserves_a_bounded_amount() {
        assert_eq!(list::<CapsuleWrite>(3).capacity(), 3);
        let reserved = list::<CapsuleWrite>(usize::MAX).capacity() * size_of::<CapsuleWrite>();
        assert!(reserved > RESERVED_BYTES / 2 && reserved <= RESERVED_BYTES, "{reserved}");
        // A row of 3 MiB names as many transactions as it has bytes, and ends within the first
        // write set.
        let mut row = vec![VERSION, 0, 0];
        put_varint(&mut row, 3 << 20);
        row.resize(row.len() + (3 << 20), 0xff);
        assert_eq!(decode(&row), Err("a count larger than the row"));
        // Lists longer than what is reserved are read whole.
        let slots = (0..40_000_u64).map(|n| (U256::from(n), U256::from(n))).collect();
        let account = CapsuleAccount { slots, ..Default::default() };
        let writes = vec![Vec::new(); 2];
        let capsule = TraceCapsule { accounts: vec![account], writes, ..Default::default() };
        assert_eq!(decode(&encode(&capsule)), Ok(capsule));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(capsule in capsule()) {
            let row = encode(&capsule);
            let addresses = capsule.accounts.iter().map(|account| account.address).collect();
            prop_assert_eq!(decode_addresses(&row), Ok(addresses));
            prop_assert_eq!(decode(&row), Ok(capsule));
        }

        #[test]
        fn cut_rows_are_refused(capsule in capsule(), part in 0.0..1.0f64) {
            let row = encode(&capsule);
            let cut = (row.len() as f64 * part) as usize;
            prop_assert!(decode(&row[..cut]).is_err());
        }

        #[test]
        fn any_bytes_end_in_an_answer(mut row in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&row);
            row.insert(0, VERSION);
            let _ = decode(&row);
        }
    }
}
