//! The ten accounts of the development chain, from the mnemonic that every development tool knows.

use alloy_primitives::{Address, B256};
use coins_bip32::prelude::Parent as _;
use coins_bip39::{English, Mnemonic};
use parking_lot::Mutex;

/// The mnemonic. Never send anything of value to its accounts: their keys are public.
pub const DEV_MNEMONIC: &str = "test test test test test test test test test test test junk";

/// Derivation path of the accounts; the account's index follows (BIP-44).
pub const DEV_DERIVATION_PATH: &str = "m/44'/60'/0'/0/";

/// Number of accounts.
pub const DEV_ACCOUNTS: usize = 10;

/// Balance of each account at genesis, in ether.
pub const DEV_BALANCE_ETHER: u64 = 10_000;

/// One funded account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevAccount {
    /// Its address.
    pub address: Address,
    /// Its private key, for printing: it is public anyway.
    pub private_key: B256,
}

/// Most accounts of one phrase.
pub const DEV_ACCOUNTS_MAX: usize = 10_000;

/// No accounts can be made of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountsError {
    /// It is no BIP-39 phrase.
    #[error(
        "the mnemonic is none: {why}; 12, 15, 18, 21 or 24 English words of BIP-39 are wanted, the last one fitting the others"
    )]
    Mnemonic {
        /// What is wrong with it.
        why: String,
    },
    /// So many are not made.
    #[error("{count} accounts are too many: at most {DEV_ACCOUNTS_MAX} are made")]
    TooMany {
        /// The requested number.
        count: usize,
    },
}

/// Derives the ten accounts of [`DEV_MNEMONIC`].
pub fn dev_accounts() -> Vec<DevAccount> {
    dev_accounts_of(DEV_MNEMONIC, DEV_ACCOUNTS).expect("the phrase is a valid mnemonic")
}

/// A phrase, and its first accounts.
type Derived = (String, Vec<DevAccount>);

/// The accounts that were derived last: genesis, signer and console need the same ones in
/// succession, and a phrase costs milliseconds.
static LAST: Mutex<Option<Derived>> = Mutex::new(None);

/// Derives the first accounts of a phrase.
///
/// # Errors
/// [`AccountsError`].
pub fn dev_accounts_of(phrase: &str, count: usize) -> Result<Vec<DevAccount>, AccountsError> {
    if count > DEV_ACCOUNTS_MAX {
        return Err(AccountsError::TooMany { count });
    }
    let mut last = LAST.lock();
    if let Some((of, accounts)) = &*last
        && of == phrase
        && let Some(accounts) = accounts.get(..count)
    {
        return Ok(accounts.to_vec());
    }
    let accounts = derive(phrase, count)?;
    *last = Some((phrase.to_owned(), accounts.clone()));
    Ok(accounts)
}

fn derive(phrase: &str, count: usize) -> Result<Vec<DevAccount>, AccountsError> {
    let wrong = |error: coins_bip39::MnemonicError| AccountsError::Mnemonic { why: error.to_string() };
    let words = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
    let mnemonic = Mnemonic::<English>::new_from_phrase(&words).map_err(wrong)?;
    // The seed behind the phrase costs 2048 hashes: it is made once.
    let parent = mnemonic.derive_key(DEV_DERIVATION_PATH.trim_end_matches('/'), None).map_err(wrong)?;
    let account = |index: usize| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let bad = |error: &dyn std::fmt::Display| AccountsError::Mnemonic { why: error.to_string() };
        let key = parent.derive_child(index).map_err(|error| bad(&error))?;
        let key: &k256::ecdsa::SigningKey = key.as_ref();
        let private_key = B256::from_slice(&key.to_bytes());
        Ok(DevAccount { address: Address::from_private_key(key), private_key })
    };
    (0..count).map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{address, b256};

    #[test]
    fn the_accounts_are_those_that_other_tools_print() {
        let accounts = dev_accounts();
        assert_eq!(accounts.len(), 10);
        assert_eq!(accounts[0].address, address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"));
        assert_eq!(
            accounts[0].private_key,
            b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
        );
        assert_eq!(accounts[9].address, address!("a0Ee7A142d267C1f36714E4a8F75612F20a79720"));
    }

    #[test]
    fn words_that_are_no_phrase_are_refused() {
        assert!(matches!(dev_accounts_of("test test", 1), Err(AccountsError::Mnemonic { .. })));
        assert!(matches!(dev_accounts_of("", 1), Err(AccountsError::Mnemonic { .. })));
        let many = DEV_ACCOUNTS_MAX + 1;
        assert_eq!(dev_accounts_of(DEV_MNEMONIC, many), Err(AccountsError::TooMany { count: many }));
        assert_eq!(dev_accounts_of(&format!(" {DEV_MNEMONIC}\n"), 2), Ok(dev_accounts()[..2].to_vec()));
    }
}
