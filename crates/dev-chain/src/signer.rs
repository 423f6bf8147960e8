//! The keys of the development chain's accounts, at work.

use super::{DevAccount, dev_accounts};
use alloy_primitives::{Address, B256, Signature};
use k256::ecdsa::SigningKey;
use std::fmt;

/// Signs for the development accounts.
pub struct DevSigner {
    keys: Vec<(Address, SigningKey)>,
}

impl DevSigner {
    /// The ten accounts.
    pub fn new() -> Self {
        Self::of(&dev_accounts())
    }

    /// These accounts.
    pub fn of(accounts: &[DevAccount]) -> Self {
        let accounts = accounts.iter();
        let keys = accounts.filter_map(|account| {
            Some((account.address, SigningKey::from_slice(account.private_key.as_slice()).ok()?))
        });
        Self { keys: keys.collect() }
    }

    /// The accounts, in the order of their derivation.
    pub fn accounts(&self) -> impl Iterator<Item = &Address> {
        self.keys.iter().map(|(address, _)| address)
    }

    /// An account's signature of a digest; `None` where the account is not one of these.
    pub fn sign(&self, account: &Address, digest: &B256) -> Option<Signature> {
        let (_, key) = self.keys.iter().find(|(address, _)| address == account)?;
        // With a key and 32 bytes there is nothing that could fail.
        key.sign_prehash_recoverable(digest.as_slice()).ok().map(Signature::from)
    }
}

impl Default for DevSigner {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DevSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.accounts()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_names_its_account_and_strangers_have_none() {
        let signer = DevSigner::new();
        let digest = B256::repeat_byte(7);
        for account in signer.accounts() {
            let signature = signer.sign(account, &digest).unwrap();
            assert_eq!(signature.recover_address_from_prehash(&digest).unwrap(), *account);
        }
        assert_eq!(signer.accounts().count(), 10);
        assert_eq!(signer.sign(&Address::ZERO, &digest), None);
    }
}
