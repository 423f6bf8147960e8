//! Transactions of accounts whose keys are not known here.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, Signature, U256};
use hearth_primitives::Transaction;
use parking_lot::RwLock;
use std::collections::BTreeSet;

/// Most accounts that are impersonated at the same time.
pub const IMPERSONATED_MAX: usize = 100_000;

/// In whose names transactions may be sent.
#[derive(Debug, Default)]
pub struct Impersonation {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    accounts: BTreeSet<Address>,
    everyone: bool,
}

impl Impersonation {
    /// For all accounts, or for none so far.
    pub fn new(everyone: bool) -> Self {
        Self { state: RwLock::new(State { everyone, ..State::default() }) }
    }

    /// Allows it for an account; `false` where too many are.
    pub fn start(&self, account: Address) -> bool {
        let mut state = self.state.write();
        if state.accounts.len() >= IMPERSONATED_MAX && !state.accounts.contains(&account) {
            return false;
        }
        state.accounts.insert(account);
        true
    }

    /// Forbids it again; whether it was allowed.
    pub fn stop(&self, account: &Address) -> bool {
        self.state.write().accounts.remove(account)
    }

    /// Allows impersonation of every account, or only of the named accounts.
    pub fn set_everyone(&self, everyone: bool) {
        self.state.write().everyone = everyone;
    }

    /// Whether it is allowed for an account.
    pub fn allows(&self, account: &Address) -> bool {
        let state = self.state.read();
        state.everyone || state.accounts.contains(account)
    }

    /// The accounts that are named.
    pub fn accounts(&self) -> Vec<Address> {
        self.state.read().accounts.iter().copied().collect()
    }
}

/// The placeholder for the signature of a transaction that its account did not sign. Its `r` is the
/// account, so that transactions of two accounts never have the same hash; its `s` is
/// [`hearth_evm::UNSIGNED_S`], by which execution recognises it.
pub fn placeholder_signature(account: &Address) -> Signature {
    Signature::new(U256::from_be_slice(account.as_slice()), hearth_evm::UNSIGNED_S, false)
}

/// The account that a transaction names in place of a signature.
pub fn placeholder_account(transaction: &Transaction) -> Option<Address> {
    let signature = transaction.signature();
    let account = signature.r().to_be_bytes::<32>();
    let named = signature.s() == hearth_evm::UNSIGNED_S && account[..12] == [0; 12];
    // A transaction with blobs would need its blobs.
    (named && transaction.blob_versioned_hashes().is_none()).then(|| Address::from_slice(&account[12..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_consensus::{SignableTransaction as _, TxLegacy};

    #[test]
    fn a_stand_in_names_its_account() {
        let account = Address::repeat_byte(7);
        let transaction: Transaction =
            TxLegacy::default().into_signed(placeholder_signature(&account)).into();
        assert_eq!(placeholder_account(&transaction), Some(account));
        let signed: Transaction = TxLegacy::default().into_signed(Signature::test_signature()).into();
        assert_eq!(placeholder_account(&signed), None);
    }

    #[test]
    fn who_is_impersonated() {
        let impersonation = Impersonation::default();
        let [one, other] = [1, 2].map(Address::repeat_byte);
        assert!(impersonation.start(one));
        assert!(impersonation.allows(&one) && !impersonation.allows(&other));
        impersonation.set_everyone(true);
        assert!(impersonation.allows(&other));
        impersonation.set_everyone(false);
        assert!(impersonation.stop(&one) && !impersonation.stop(&one));
        assert!(!impersonation.allows(&one));
    }
}
