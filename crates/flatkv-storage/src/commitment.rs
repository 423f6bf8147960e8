//! The lattice commitment over the latest rows: a vector for each data DB, and their sum.
//!
//! A row's element is made of its family, key and value, without the height stamp, so that equal
//! states have equal commitments. Code is committed to by the account's code hash.

use crate::{
    batch::Batch,
    codec::{put_account, trimmed},
    db::{Db, Family},
    error::corrupt,
    lthash::{LtHash, PARALLEL_ROWS, Terms},
    rows::{
        ACCOUNT, BlockRows, STORAGE, account_history_at, history_prefix, legacy_history, meta,
        slot_history_at, split_stamp,
    },
};
use alloy_primitives::B256;
use hearth_metrics::DataDb;
use hearth_primitives::StateError;

/// Bytes of an account's or a slot's row in the terms of a vector, about.
const TERM_BYTES: usize = 80;

/// The vectors of the data DBs with rows that are committed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lattice {
    account: LtHash,
    storage: LtHash,
    legacy: LtHash,
}

impl Lattice {
    /// The data DBs that have a vector.
    pub const DBS: [DataDb; 3] = [DataDb::Account, DataDb::Storage, DataDb::Legacy];

    /// Takes the rows before a block out of the vectors and those after it in.
    pub fn update(&mut self, rows: BlockRows<'_>) {
        let Self { account, storage, legacy } = self;
        let mut slots = || storage.apply(&slot_terms(rows));
        let mut accounts = || account.apply(&account_terms(rows));
        if changed_rows(rows) < PARALLEL_ROWS {
            slots();
            accounts();
        } else {
            rayon::join(slots, accounts);
        }
        legacy.apply(&legacy_terms(rows));
    }

    /// Adds one row of a data DB: its value without the stamp.
    pub fn add(&mut self, db: DataDb, element: &[u8], value: &[u8]) {
        match db {
            DataDb::Account => self.account.add(element, value),
            DataDb::Storage => self.storage.add(element, value),
            DataDb::Legacy => self.legacy.add(element, value),
            // Neither has rows that are committed to.
            DataDb::Code | DataDb::Metadata => {}
        }
    }

    /// The vector of a data DB; `None` for one that has none.
    pub fn of(&self, db: DataDb) -> Option<&LtHash> {
        match db {
            DataDb::Account => Some(&self.account),
            DataDb::Storage => Some(&self.storage),
            DataDb::Legacy => Some(&self.legacy),
            DataDb::Code | DataDb::Metadata => None,
        }
    }

    /// The vector over the rows of all data DBs.
    pub fn total(&self) -> LtHash {
        let mut total = self.account.clone();
        total.sum(&self.storage);
        total.sum(&self.legacy);
        total
    }

    /// The commitment.
    pub fn checksum(&self) -> B256 {
        self.total().checksum()
    }

    /// Puts the vectors that are not those of `before`; returns how many.
    pub fn put(&self, batch: &mut Batch<'_>, before: Option<&Self>) -> u64 {
        let mut rows = 0;
        for db in Self::DBS {
            let (Some(vector), old) = (self.of(db), before.and_then(|before| before.of(db))) else {
                continue;
            };
            if old != Some(vector) {
                batch.put(Family::Metadata, meta::lattice(db), &vector.to_bytes());
                rows += 1;
            }
        }
        rows
    }

    /// The vectors of a database. In one that was written before each data DB had its own, which
    /// holds their sum alone, they are made of its rows and put in its place.
    pub fn open(db: &Db) -> Result<Self, StateError> {
        if let Some(kept) = Self::read(db)? {
            return Ok(kept);
        }
        if db.get(Family::Metadata, meta::LATTICE)?.is_none() {
            return Ok(Self::default());
        }
        let made = Self::of_rows(db, &mut || Ok::<_, StateError>(()))?;
        let mut batch = db.batch()?;
        made.put(&mut batch, None);
        batch.delete(Family::Metadata, meta::LATTICE);
        batch.write()?;
        Ok(made)
    }

    /// The vectors that a database holds; `None` where it holds none.
    pub fn read(db: &Db) -> Result<Option<Self>, StateError> {
        Self::read_with(|key| Ok(db.get(Family::Metadata, key)?.map(|row| row.to_vec())))
    }

    /// As [`Self::read`], where `get` reads a row of [`Family::Metadata`].
    pub fn read_with(
        get: impl Fn(&[u8]) -> Result<Option<Vec<u8>>, StateError>,
    ) -> Result<Option<Self>, StateError> {
        let [account, storage, legacy] = Self::DBS.map(|of| -> Result<_, StateError> {
            let Some(row) = get(meta::lattice(of))? else { return Ok(None) };
            LtHash::from_bytes(&row).map(Some).ok_or_else(|| corrupt("lattice"))
        });
        match (account?, storage?, legacy?) {
            (None, None, None) => Ok(None),
            (Some(account), Some(storage), Some(legacy)) => Ok(Some(Self { account, storage, legacy })),
            _ => Err(corrupt("lattice")),
        }
    }

    /// The vectors of a database's latest rows; `step` is called for each row.
    pub fn of_rows<E: From<StateError>>(
        db: &Db,
        step: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut lattice = Self::default();
        for of in Self::DBS {
            let mut rows = db.prefix(Family::of(of), &[])?;
            while let Some((key, row)) = rows.row() {
                step()?;
                let element = match of {
                    DataDb::Account => [&[ACCOUNT], key].concat(),
                    DataDb::Storage => [&[STORAGE], key].concat(),
                    _ => legacy_history(key),
                };
                lattice.add(of, &element, split_stamp(row)?.1);
                rows.next();
            }
            rows.finish()?;
        }
        Ok(lattice)
    }
}

/// Rows that a block changes, at most.
pub fn changed_rows(rows: BlockRows<'_>) -> usize {
    let accounts = &rows.changes.accounts;
    accounts.len() + accounts.iter().map(|change| change.storage.len()).sum::<usize>() + rows.legacy.len()
}

/// The terms to subtract from a vector and to add to it. An absent row has no term.
fn change(terms: &mut Terms, key: &[u8], old: &[u8], new: &[u8]) {
    if old != new {
        terms.push(key, old, false);
        terms.push(key, new, true);
    }
}

fn account_terms(rows: BlockRows<'_>) -> Terms {
    let accounts = &rows.changes.accounts;
    let mut terms = Terms::with_capacity(accounts.len() * 2, TERM_BYTES);
    let [mut old, mut new] = [const { Vec::new() }; 2];
    for account in accounts.iter().filter(|account| account.old != account.new) {
        for (value, account) in [(&mut old, &account.old), (&mut new, &account.new)] {
            value.clear();
            if let Some(account) = account {
                put_account(value, account);
            }
        }
        let key = account_history_at(&account.address, 0);
        change(&mut terms, history_prefix(&key), &old, &new);
    }
    terms
}

fn slot_terms(rows: BlockRows<'_>) -> Terms {
    let accounts = &rows.changes.accounts;
    let slots = accounts.iter().map(|account| account.storage.len()).sum::<usize>();
    let mut terms = Terms::with_capacity(slots * 2, TERM_BYTES);
    for account in accounts {
        for slot in &account.storage {
            // Zero is an empty value.
            let (old, new) = (trimmed(&slot.old), trimmed(&slot.new));
            let key = slot_history_at(&account.address, &slot.slot, 0);
            change(&mut terms, history_prefix(&key), &old, &new);
        }
    }
    terms
}

fn legacy_terms(rows: BlockRows<'_>) -> Terms {
    let mut terms = Terms::default();
    for row in rows.legacy {
        let (old, new) = (row.old.as_deref(), row.write.value.as_deref());
        let key = legacy_history(&row.write.key);
        change(&mut terms, &key, old.unwrap_or_default(), new.unwrap_or_default());
    }
    terms
}
