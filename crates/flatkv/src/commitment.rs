//! The lattice commitment over the latest rows.
//!
//! A row's element is made of its family, key and value, without the height stamp, so that equal states have equal
//! commitments. Code is committed to by the account's code hash.

use crate::{
    lthash::LtHash,
    rows::{BlockRows, account_history, account_value, legacy_history, slot_history, slot_value},
};

/// Takes the rows before a block out of the vector and those after it in.
pub(crate) fn update(vector: &mut LtHash, rows: BlockRows<'_>) {
    for change in &rows.changes.accounts {
        if change.old != change.new {
            let key = account_history(&change.address);
            if let Some(old) = &change.old {
                vector.remove(&key, &account_value(old));
            }
            if let Some(new) = &change.new {
                vector.add(&key, &account_value(new));
            }
        }
        for slot in &change.storage {
            // Zero is an empty value, which contributes nothing.
            let key = slot_history(&change.address, &slot.slot);
            vector.remove(&key, &slot_value(&slot.old));
            vector.add(&key, &slot_value(&slot.new));
        }
    }
    for row in rows.legacy {
        let key = legacy_history(&row.write.key);
        vector.remove(&key, row.old.as_deref().unwrap_or_default());
        vector.add(&key, row.write.value.as_deref().unwrap_or_default());
    }
}
