//! The lattice commitment over the latest rows.
//!
//! A row's element is made of its family, key and value, without the height stamp, so that equal states have equal
//! commitments. Code is committed to by the account's code hash.

use crate::{
    lthash::{LtHash, Term},
    rows::{BlockRows, account_history, account_value, legacy_history, slot_history, slot_value},
};

/// Takes the rows before a block out of the vector and those after it in.
pub(crate) fn update(vector: &mut LtHash, rows: BlockRows<'_>) {
    vector.apply(&terms(rows));
}

/// What goes out of the vector, and what comes in; a row that is not there has no part in it.
fn terms(rows: BlockRows<'_>) -> Vec<Term> {
    let mut terms = Vec::with_capacity(rows.changes.accounts.len() * 4);
    let mut change = |key: Vec<u8>, old: Vec<u8>, new: Vec<u8>| {
        if old == new {
            return;
        }
        if !old.is_empty() {
            terms.push(Term { key: key.clone(), value: old, added: false });
        }
        if !new.is_empty() {
            terms.push(Term { key, value: new, added: true });
        }
    };
    for account in &rows.changes.accounts {
        if account.old != account.new {
            let value = |account: &Option<_>| account.as_ref().map(account_value).unwrap_or_default();
            change(account_history(&account.address), value(&account.old), value(&account.new));
        }
        for slot in &account.storage {
            // Zero is an empty value.
            let key = slot_history(&account.address, &slot.slot);
            change(key, slot_value(&slot.old), slot_value(&slot.new));
        }
    }
    for row in rows.legacy {
        let (old, new) = (row.old.clone().unwrap_or_default(), row.write.value.clone().unwrap_or_default());
        change(legacy_history(&row.write.key), old, new);
    }
    terms
}
