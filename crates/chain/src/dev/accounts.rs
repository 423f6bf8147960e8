//! The ten accounts of the development chain, from the mnemonic that every development tool knows.

use alloy_primitives::{Address, B256, U256};
use coins_bip39::{English, Mnemonic};

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

/// Derives the accounts.
pub fn dev_accounts() -> Vec<DevAccount> {
    let mnemonic =
        Mnemonic::<English>::new_from_phrase(DEV_MNEMONIC).expect("the phrase is a valid mnemonic");
    let account = |index: usize| {
        let path = format!("{DEV_DERIVATION_PATH}{index}");
        let key = mnemonic.derive_key(path.as_str(), None).expect("the path is a valid one");
        let key: &k256::ecdsa::SigningKey = key.as_ref();
        let private_key = B256::from_slice(&key.to_bytes());
        DevAccount { address: Address::from_private_key(key), private_key }
    };
    (0..DEV_ACCOUNTS).map(account).collect()
}

/// Balance of each account at genesis, in wei.
pub fn dev_balance() -> U256 {
    U256::from(DEV_BALANCE_ETHER) * U256::from(10).pow(U256::from(18))
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
}
