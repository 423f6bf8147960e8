//! `stateDiff`: the accounts that a transaction changed, from its write set.
//!
//! A value is `"="`, `{"*":{"from":…,"to":…}}`, `{"+":…}` of a new account or `{"-":…}` of a
//! removed one, as in OpenEthereum's `account_diff.rs`. Fees are included. A slot of an account
//! that existed before is `*`, even from or to zero. A removed account lists no slots, which may be
//! millions (Besu: `StateDiffGenerator`).

use super::text::{bytes, quantity};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, map::AddressMap};
use hearth_primitives::{Account, AccountChange, Changeset};

/// The text of the difference; `codes` maps accounts to their code before the transaction, if
/// known.
pub(super) fn text(writes: &Changeset, codes: &AddressMap<Bytes>) -> Vec<u8> {
    let mut out = b"{".to_vec();
    let differs = |change: &&AccountChange| {
        change.old != change.new || change.storage.iter().any(|slot| slot.old != slot.new)
    };
    for change in writes.accounts.iter().filter(differs) {
        if out.len() > 1 {
            out.push(b',');
        }
        Difference { change, writes, before: codes.get(&change.address) }.write(&mut out);
    }
    out.push(b'}');
    out
}

struct Difference<'a> {
    change: &'a AccountChange,
    writes: &'a Changeset,
    /// Code before the transaction, where it is known.
    before: Option<&'a Bytes>,
}

impl Difference<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let AccountChange { address, old, new, .. } = self.change;
        address_key(out, address);
        out.extend_from_slice(b"{\"balance\":");
        let number = |get: fn(&Account) -> U256| (old.as_ref().map(get), new.as_ref().map(get));
        value(out, number(|account| account.balance), |out, value| quantity(out, *value));
        out.extend_from_slice(b",\"code\":");
        let codes = (old.as_ref().map(|old| self.old_code(old)), new.as_ref().map(|new| self.new_code(new)));
        let same = old.zip(*new).is_some_and(|(old, new)| old.code_hash == new.code_hash);
        match same {
            true => out.extend_from_slice(b"\"=\""),
            false => value(out, codes, |out, value| bytes(out, value)),
        }
        out.extend_from_slice(b",\"nonce\":");
        value(out, number(|account| U256::from(account.nonce)), |out, value| quantity(out, *value));
        out.extend_from_slice(b",\"storage\":{");
        self.storage(out);
        out.extend_from_slice(b"}}");
    }

    fn old_code(&self, account: &Account) -> Bytes {
        match account.code_hash {
            KECCAK256_EMPTY | B256::ZERO => Bytes::new(),
            hash => self.before.cloned().or_else(|| self.written(&hash)).unwrap_or_default(),
        }
    }

    fn new_code(&self, account: &Account) -> Bytes {
        match account.code_hash {
            KECCAK256_EMPTY | B256::ZERO => Bytes::new(),
            hash => self.written(&hash).or_else(|| self.before.cloned()).unwrap_or_default(),
        }
    }

    fn written(&self, hash: &B256) -> Option<Bytes> {
        self.writes.codes.iter().find(|(known, _)| known == hash).map(|(_, code)| code.clone())
    }

    fn storage(&self, out: &mut Vec<u8>) {
        let AccountChange { old, new, storage, .. } = self.change;
        if new.is_none() {
            return;
        }
        let mut first = true;
        for slot in storage.iter().filter(|slot| slot.old != slot.new) {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            bytes(out, &slot.slot.to_be_bytes::<32>());
            out.push(b':');
            let values = (old.map(|_| slot.old), Some(slot.new));
            value(out, values, |out, value| bytes(out, &value.to_be_bytes::<32>()));
        }
    }
}

fn address_key(out: &mut Vec<u8>, address: &Address) {
    bytes(out, address.as_slice());
    out.push(b':');
}

/// One value before and after.
fn value<T: PartialEq>(
    out: &mut Vec<u8>,
    (old, new): (Option<T>, Option<T>),
    write: impl Fn(&mut Vec<u8>, &T),
) {
    match (old, new) {
        (Some(old), Some(new)) if old == new => out.extend_from_slice(b"\"=\""),
        (Some(old), Some(new)) => {
            out.extend_from_slice(b"{\"*\":{\"from\":");
            write(out, &old);
            out.extend_from_slice(b",\"to\":");
            write(out, &new);
            out.extend_from_slice(b"}}");
        }
        (None, Some(new)) => {
            out.extend_from_slice(b"{\"+\":");
            write(out, &new);
            out.push(b'}');
        }
        (Some(old), None) => {
            out.extend_from_slice(b"{\"-\":");
            write(out, &old);
            out.push(b'}');
        }
        (None, None) => out.extend_from_slice(b"\"=\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;
    use hearth_primitives::SlotChange;

    fn account(balance: u64, code: &[u8]) -> Option<Account> {
        let code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(code) };
        Some(Account { nonce: 1, balance: U256::from(balance), code_hash })
    }

    fn change(number: u8, old: Option<Account>, new: Option<Account>) -> AccountChange {
        let address = Address::repeat_byte(number);
        AccountChange { address, old, new, wiped: new.is_none(), storage: Vec::new() }
    }

    #[test]
    fn each_kind_of_change_has_its_sign() {
        let removed = Bytes::from_static(&[0x33, 0xff]);
        let deployed = Bytes::from_static(&[0x60, 0x01]);
        let slot = |slot: u64, old: u64, new: u64| SlotChange {
            slot: U256::from(slot),
            old: U256::from(old),
            new: U256::from(new),
        };
        let mut changed = change(1, account(5, &[]), account(7, &[]));
        changed.storage = vec![slot(1, 0, 2), slot(2, 3, 3), slot(3, 4, 0)];
        let mut gone = change(3, account(9, &removed), None);
        gone.storage = vec![slot(1, 5, 0)];
        let writes = Changeset {
            accounts: vec![
                changed,
                change(2, None, account(0, &deployed)),
                gone,
                change(4, account(1, &[]), account(1, &[])),
            ],
            codes: vec![(keccak256(&deployed), deployed)],
        };
        let codes = AddressMap::from_iter([(Address::repeat_byte(3), removed)]);
        let text: serde_json::Value = serde_json::from_slice(&text(&writes, &codes)).unwrap();
        let word = |n: u8| format!("0x{n:064x}");
        let expected = serde_json::json!({
            "0x0101010101010101010101010101010101010101": {
                "balance": {"*": {"from": "0x5", "to": "0x7"}}, "code": "=", "nonce": "=",
                "storage": {
                    word(1): {"*": {"from": word(0), "to": word(2)}},
                    word(3): {"*": {"from": word(4), "to": word(0)}},
                },
            },
            "0x0202020202020202020202020202020202020202":
                {"balance": {"+": "0x0"}, "code": {"+": "0x6001"}, "nonce": {"+": "0x1"}, "storage": {}},
            "0x0303030303030303030303030303030303030303":
                {"balance": {"-": "0x9"}, "code": {"-": "0x33ff"}, "nonce": {"-": "0x1"}, "storage": {}},
        });
        assert_eq!(text, expected);
    }
}
