//! A set of edits: what accounts hold instead of what the state under them says.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::{RlpDecodable, RlpEncodable};
use hearth_primitives::{Account, AccountChange, Changeset, SlotChange, StateError, StateReader};
use std::collections::BTreeMap;

/// One account's edits: the account before and after them, and its edited slots, old and new.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edited {
    old: Option<Account>,
    new: Option<Account>,
    slots: BTreeMap<U256, (U256, U256)>,
}

/// Edits of the state after one block. They never take slots away that they do not name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    accounts: BTreeMap<Address, Edited>,
    codes: BTreeMap<B256, Bytes>,
    slots: usize,
}

/// What to do to one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountEdit {
    /// Its new balance, in wei.
    pub balance: Option<U256>,
    /// Its new nonce.
    pub nonce: Option<u64>,
    /// Its new code; empty: none.
    pub code: Option<Bytes>,
    /// New values of slots.
    pub slots: Vec<(U256, U256)>,
}

impl Edits {
    /// Whether nothing is edited.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Edited accounts and slots together.
    pub fn len(&self) -> usize {
        self.accounts.len() + self.slots
    }

    /// The account as it is edited; the outer `None` where it is not.
    pub(super) fn account(&self, address: &Address) -> Option<Option<Account>> {
        self.accounts.get(address).map(|edited| edited.new)
    }

    /// The slot as it is edited.
    pub(super) fn slot(&self, address: &Address, slot: &U256) -> Option<U256> {
        Some(self.accounts.get(address)?.slots.get(slot)?.1)
    }

    /// Code that came with an edit.
    pub(super) fn code(&self, hash: &B256) -> Option<&Bytes> {
        self.codes.get(hash)
    }

    /// All edited slots of an account with their new values.
    pub(super) fn slots_of(&self, address: &Address) -> impl Iterator<Item = (U256, U256)> + '_ {
        let slots = self.accounts.get(address).into_iter().flat_map(|edited| &edited.slots);
        slots.map(|(slot, (_, new))| (*slot, *new))
    }

    /// Adds an edit, and returns its own effect. `below` is the state without any of these edits.
    /// After an error nothing is edited.
    ///
    /// # Errors
    /// Those of the store.
    pub fn apply(
        &mut self,
        address: Address,
        edit: &AccountEdit,
        below: &dyn StateReader,
    ) -> Result<Self, StateError> {
        let mut edited = match self.accounts.get(&address) {
            Some(edited) => edited.clone_account(),
            None => {
                let account = below.account(&address)?;
                Edited { old: account, new: account, slots: BTreeMap::new() }
            }
        };
        let known = |slot: &U256| {
            self.accounts.get(&address).and_then(|edited| edited.slots.get(slot)).map(|(old, _)| *old)
        };
        for (slot, value) in &edit.slots {
            let old = match known(slot) {
                Some(old) => old,
                None => below.storage(&address, slot)?,
            };
            edited.slots.insert(*slot, (old, *value));
        }
        let mut account = edited.new.unwrap_or_default();
        if let Some(balance) = edit.balance {
            account.balance = balance;
        }
        if let Some(nonce) = edit.nonce {
            account.nonce = nonce;
        }
        let code = edit.code.as_ref().filter(|code| !code.is_empty());
        if let Some(code) = &edit.code {
            account.code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(code) };
        }
        // An account is there exactly when it is not empty (EIP-161), or has storage.
        let exists = !account.is_empty() || self.has_storage(&address, &edited.slots, below)?;
        edited.new = exists.then_some(account);
        let mut done = Self::default();
        done.codes.extend(code.map(|code| (account.code_hash, code.clone())));
        done.put(address, edited);
        self.adopt(done.clone());
        Ok(done)
    }

    /// Adds edits that were made on top of these.
    pub(super) fn adopt(&mut self, edits: Self) {
        self.codes.extend(edits.codes);
        for (address, edited) in edits.accounts {
            self.put(address, edited);
        }
    }

    /// Whether an account has a slot that is not zero once `slots` are edited too.
    fn has_storage(
        &self,
        address: &Address,
        slots: &BTreeMap<U256, (U256, U256)>,
        below: &dyn StateReader,
    ) -> Result<bool, StateError> {
        let before = self.accounts.get(address).map(|edited| &edited.slots);
        let now = |slot: &U256| {
            let found = slots.get(slot).or_else(|| before.and_then(|before| before.get(slot)));
            found.map(|(_, new)| *new)
        };
        let named = slots.keys().chain(before.into_iter().flat_map(BTreeMap::keys));
        if named.into_iter().any(|slot| now(slot).is_some_and(|value| !value.is_zero())) {
            return Ok(true);
        }
        if below.account(address)?.is_none() {
            return Ok(false);
        }
        Ok(below.storage_of(address)?.iter().any(|(slot, value)| !now(slot).unwrap_or(*value).is_zero()))
    }

    fn put(&mut self, address: Address, edited: Edited) {
        let there = self.accounts.entry(address).or_insert_with(|| Edited {
            old: edited.old,
            new: edited.new,
            slots: BTreeMap::new(),
        });
        there.new = edited.new;
        let before = there.slots.len();
        there.slots.extend(edited.slots);
        self.slots += there.slots.len() - before;
    }

    /// The edits as one change of the state, without what ended where it began.
    pub fn changes(&self) -> Changeset {
        let accounts = self.accounts.iter().filter_map(|(address, edited)| {
            let slots = edited.slots.iter().filter(|(_, (old, new))| old != new);
            let storage: Vec<_> =
                slots.map(|(slot, (old, new))| SlotChange { slot: *slot, old: *old, new: *new }).collect();
            (edited.old != edited.new || !storage.is_empty()).then_some(AccountChange {
                address: *address,
                old: edited.old,
                new: edited.new,
                wiped: false,
                storage,
            })
        });
        let codes = self.codes.iter().map(|(hash, code)| (*hash, code.clone()));
        Changeset { accounts: accounts.collect(), codes: codes.collect() }
    }

    /// A hash of all that is edited.
    pub fn digest(&self) -> B256 {
        keccak256(self.to_bytes(false))
    }

    /// The edits as bytes; see [`Self::from_bytes`].
    pub(super) fn to_bytes(&self, with_codes: bool) -> Vec<u8> {
        let accounts = self.accounts.iter().map(|(address, edited)| AccountRow {
            address: *address,
            old: edited.old.map(AccountValue::from).into_iter().collect(),
            new: edited.new.map(AccountValue::from).into_iter().collect(),
            slots: edited
                .slots
                .iter()
                .map(|(slot, (old, new))| SlotRow { slot: *slot, old: *old, new: *new })
                .collect(),
        });
        let codes = self.codes.values().filter(|_| with_codes).cloned().collect();
        alloy_rlp::encode(EditRows { accounts: accounts.collect(), codes })
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// What does not decode.
    pub(super) fn from_bytes(mut bytes: &[u8]) -> Result<Self, alloy_rlp::Error> {
        let rows: EditRows = alloy_rlp::Decodable::decode(&mut bytes)?;
        let mut edits = Self::default();
        for row in rows.accounts {
            let slots = row.slots.into_iter().map(|slot| (slot.slot, (slot.old, slot.new))).collect();
            let first = |values: Vec<AccountValue>| values.into_iter().next().map(Account::from);
            edits.put(row.address, Edited { old: first(row.old), new: first(row.new), slots });
        }
        edits.codes = rows.codes.into_iter().map(|code| (keccak256(&code), code)).collect();
        Ok(edits)
    }
}

impl Edited {
    /// The account without its slots.
    fn clone_account(&self) -> Self {
        Self { old: self.old, new: self.new, slots: BTreeMap::new() }
    }
}

#[derive(RlpEncodable, RlpDecodable)]
struct EditRows {
    accounts: Vec<AccountRow>,
    codes: Vec<Bytes>,
}

/// An account is a list of one, none an empty list.
#[derive(RlpEncodable, RlpDecodable)]
struct AccountRow {
    address: Address,
    old: Vec<AccountValue>,
    new: Vec<AccountValue>,
    slots: Vec<SlotRow>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct AccountValue {
    nonce: u64,
    balance: U256,
    code_hash: B256,
}

#[derive(RlpEncodable, RlpDecodable)]
struct SlotRow {
    slot: U256,
    old: U256,
    new: U256,
}

impl From<Account> for AccountValue {
    fn from(account: Account) -> Self {
        let Account { nonce, balance, code_hash } = account;
        Self { nonce, balance, code_hash }
    }
}

impl From<AccountValue> for Account {
    fn from(value: AccountValue) -> Self {
        let AccountValue { nonce, balance, code_hash } = value;
        Self { nonce, balance, code_hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One account with a balance and a slot.
    struct Below;

    const HELD: Address = Address::repeat_byte(1);

    impl StateReader for Below {
        fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
            let account = Account { balance: U256::from(7), ..Account::default() };
            Ok((*address == HELD).then_some(account))
        }

        fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
            let held = *address == HELD && *slot == U256::from(1);
            Ok(if held { U256::from(9) } else { U256::ZERO })
        }

        fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
            Err(StateError::MissingCode(*hash))
        }

        fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
            Ok(if *address == HELD { vec![(U256::from(1), U256::from(9))] } else { Vec::new() })
        }
    }

    fn edit(edits: &mut Edits, address: Address, edit: AccountEdit) {
        edits.apply(address, &edit, &Below).unwrap();
    }

    #[test]
    fn edits_say_what_changed_once_and_read_back_from_their_bytes() {
        let mut edits = Edits::default();
        let code = Bytes::from_static(&[0x60, 1]);
        edit(&mut edits, HELD, AccountEdit { balance: Some(U256::from(8)), ..AccountEdit::default() });
        edit(
            &mut edits,
            HELD,
            AccountEdit { slots: vec![(U256::from(1), U256::from(2))], ..AccountEdit::default() },
        );
        edit(
            &mut edits,
            HELD,
            AccountEdit { slots: vec![(U256::from(1), U256::from(3))], ..AccountEdit::default() },
        );
        edit(&mut edits, Address::ZERO, AccountEdit { code: Some(code.clone()), ..AccountEdit::default() });
        let changes = edits.changes();
        let [zero, held] = &changes.accounts[..] else { panic!("two accounts: {changes:?}") };
        assert_eq!(
            (zero.address, zero.old, zero.new.map(|a| a.code_hash)),
            (Address::ZERO, None, Some(keccak256(&code)))
        );
        assert_eq!((held.old.unwrap().balance, held.new.unwrap().balance), (U256::from(7), U256::from(8)));
        assert_eq!(
            held.storage,
            [SlotChange { slot: U256::from(1), old: U256::from(9), new: U256::from(3) }]
        );
        assert_eq!(changes.codes, [(keccak256(&code), code)]);
        assert_eq!(edits.len(), 3);
        assert_eq!(Edits::from_bytes(&edits.to_bytes(true)).unwrap(), edits);
    }

    #[test]
    fn an_empty_account_is_removed_and_no_op_edits_vanish() {
        let mut edits = Edits::default();
        let nothing = AccountEdit { balance: Some(U256::ZERO), ..AccountEdit::default() };
        edit(&mut edits, HELD, nothing.clone());
        assert_eq!(edits.account(&HELD), Some(Some(Account::default())), "it has a slot");
        edit(
            &mut edits,
            HELD,
            AccountEdit { slots: vec![(U256::from(1), U256::ZERO)], ..AccountEdit::default() },
        );
        assert_eq!(edits.account(&HELD), Some(None));
        edit(&mut edits, Address::ZERO, nothing);
        assert_eq!(edits.account(&Address::ZERO), Some(None));
        let back = AccountEdit {
            balance: Some(U256::from(7)),
            slots: vec![(U256::from(1), U256::from(9))],
            ..AccountEdit::default()
        };
        edit(&mut edits, HELD, back);
        assert!(edits.changes().is_empty(), "{:?}", edits.changes());
    }
}
