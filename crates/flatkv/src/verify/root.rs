//! The Merkle Patricia root of the latest rows from scratch.
//!
//! A trie needs its keys in the order of their hashes, the rows are in the order of addresses and
//! slots. So hashes are sorted in memory, a bounded number at a time: each pass over the rows takes
//! a range of hashes.

use super::report::{Finding, Reporter, fixed};
use crate::FlatKvError;
use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_trie::{HashBuilder, Nibbles, TrieAccount};
use hearth_flatkv_storage::{
    db::{Db, Family, Rows},
    rows::{read_account, read_slot, split_stamp},
};
use hearth_primitives::StateError;

/// Hashes that are sorted in memory at a time: about 400 MB of accounts, 300 MB of slots.
const SORTED: u64 = 4_000_000;
/// Ranges that hashes can be split into, by their first two bytes.
const RANGES: u64 = 1 << 16;

/// Splits the hashes of so many rows into ranges of at most about [`SORTED`].
fn passes(rows: u64, sorted: u64) -> Vec<(u32, u32)> {
    let number = rows.div_ceil(sorted).clamp(1, RANGES);
    let edge = |pass: u64| (pass * RANGES / number) as u32;
    (0..number).map(|pass| (edge(pass), edge(pass + 1))).collect()
}

fn is_in((from, to): (u32, u32), hash: &B256) -> bool {
    (from..to).contains(&u32::from(u16::from_be_bytes([hash[0], hash[1]])))
}

/// The root of leaves that come in some order; `pass` gives those of a range.
fn root<E>(
    rows: u64,
    sorted: u64,
    mut pass: impl FnMut((u32, u32)) -> Result<Vec<(B256, Vec<u8>)>, E>,
) -> Result<B256, E> {
    let mut builder = HashBuilder::default();
    for range in passes(rows, sorted) {
        let mut leaves = pass(range)?;
        leaves.sort_unstable_by_key(|(hash, _)| *hash);
        for (hash, leaf) in leaves {
            builder.add_leaf(Nibbles::unpack(hash), &leaf);
        }
    }
    Ok(builder.root())
}

/// The state root. Slots of accounts that do not exist are findings.
pub(super) fn state_root(db: &Db, reporter: &mut Reporter<'_>) -> Result<B256, FlatKvError> {
    let accounts = reporter.report.counts.accounts;
    let passes = passes(accounts, SORTED).len() as u64;
    reporter.total(accounts * passes);
    let mut strays = true;
    root(accounts, SORTED, |range| {
        let leaves = account_leaves(db, range, std::mem::take(&mut strays), reporter)?;
        Ok(leaves)
    })
}

/// The leaves of the accounts whose hashes lie in a range.
fn account_leaves(
    db: &Db,
    range: (u32, u32),
    strays: bool,
    reporter: &mut Reporter<'_>,
) -> Result<Vec<(B256, Vec<u8>)>, FlatKvError> {
    let mut leaves = Vec::new();
    let mut slots = Slots { rows: db.prefix(Family::Storage, &[])? };
    let mut rows = db.prefix(Family::Account, &[])?;
    while let Some((key, row)) = rows.row() {
        reporter.step()?;
        let address = Address::from(*fixed::<20>(key)?);
        slots.pass_below(Some(address), |address, slot| {
            if strays {
                reporter.find(Finding::SlotWithoutAccount { address, slot });
            }
        })?;
        let hash = keccak256(address);
        if is_in(range, &hash) {
            let account = read_account(split_stamp(row)?.1)?;
            let storage_root = slots.root(db, address)?;
            let leaf = TrieAccount {
                nonce: account.nonce,
                balance: account.balance,
                storage_root,
                code_hash: account.code_hash,
            };
            leaves.push((hash, alloy_rlp::encode(leaf)));
        } else {
            slots.skip(address)?;
        }
        rows.next();
    }
    rows.finish()?;
    slots.pass_below(None, |address, slot| {
        if strays {
            reporter.find(Finding::SlotWithoutAccount { address, slot });
        }
    })?;
    Ok(leaves)
}

/// Storage rows in order, account by account.
struct Slots<'a> {
    rows: Rows<'a>,
}

impl Slots<'_> {
    /// Address, slot and value of the row at hand.
    fn row(&self) -> Result<Option<(Address, U256, U256)>, StateError> {
        let Some((key, row)) = self.rows.row() else { return self.rows.finish().map(|()| None) };
        let key = fixed::<52>(key)?;
        let (_, value) = split_stamp(row)?;
        Ok(Some((Address::from_slice(&key[..20]), U256::from_be_slice(&key[20..]), read_slot(value)?)))
    }

    /// Passes the rows of accounts below one, or all.
    fn pass_below(
        &mut self,
        below: Option<Address>,
        mut each: impl FnMut(Address, U256),
    ) -> Result<(), StateError> {
        while let Some((address, slot, _)) = self.row()?
            && below.is_none_or(|below| address < below)
        {
            each(address, slot);
            self.rows.next();
        }
        Ok(())
    }

    /// Passes the rows of an account.
    fn skip(&mut self, account: Address) -> Result<(), StateError> {
        while self.row()?.is_some_and(|(address, ..)| address == account) {
            self.rows.next();
        }
        Ok(())
    }

    /// The storage root of an account, whose rows come next.
    fn root(&mut self, db: &Db, account: Address) -> Result<B256, StateError> {
        let (mut leaves, mut number) = (Vec::new(), 0);
        while let Some((address, slot, value)) = self.row()?
            && address == account
        {
            number += 1;
            if number <= SORTED {
                leaves.push(leaf(slot, value));
            }
            self.rows.next();
        }
        if number <= SORTED {
            return root(number, SORTED, |_| Ok(std::mem::take(&mut leaves)));
        }
        drop(leaves);
        root(number, SORTED, |range| {
            let mut slots = Slots { rows: db.prefix(Family::Storage, account.as_slice())? };
            let mut leaves = Vec::new();
            while let Some((_, slot, value)) = slots.row()? {
                leaves.extend(Some(leaf(slot, value)).filter(|(hash, _)| is_in(range, hash)));
                slots.rows.next();
            }
            Ok(leaves)
        })
    }
}

fn leaf(slot: U256, value: U256) -> (B256, Vec<u8>) {
    (keccak256(slot.to_be_bytes::<32>()), alloy_rlp::encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passes_cover_every_hash_once_and_give_one_root() {
        assert_eq!(passes(0, 10), [(0, 65_536)]);
        assert_eq!(passes(11, 10), [(0, 32_768), (32_768, 65_536)]);
        assert_eq!(passes(u64::MAX, 1).len(), 65_536);
        let rows: Vec<_> = (1..100u64).map(|n| (U256::from(n), U256::from(n * 7))).collect();
        let all = alloy_trie::root::storage_root_unhashed(rows.iter().map(|(k, v)| (B256::from(*k), *v)));
        for sorted in [1, 3, 50, 100] {
            let computed = root::<()>(rows.len() as u64, sorted, |range| {
                let leaves = rows.iter().map(|(slot, value)| leaf(*slot, *value));
                Ok(leaves.filter(|(hash, _)| is_in(range, hash)).collect())
            });
            assert_eq!(computed, Ok(all));
        }
    }
}
