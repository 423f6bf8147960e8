//! The state of a parent as an upstream claims it.

use crate::{
    CodeSource, Material, ParentState, Supplement, Wanted, state::Codes, supplement::ClaimedAccount,
    wanted::Missing,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_primitives::{Account, StateError, StateReader};
use parking_lot::Mutex;
use std::collections::HashMap;

/// The state before a block as an upstream's `prestateTracer` gives it. Nothing proves it: what the
/// header says of the execution has to fit.
pub struct PrestateState<'a> {
    accounts: Option<&'a HashMap<Address, ClaimedAccount>>,
    codes: Codes<'a>,
    missing: Mutex<Missing>,
    hole: Mutex<Option<Address>>,
}

impl<'a> PrestateState<'a> {
    /// The state that a supplement has.
    pub fn new(supplement: &'a Supplement, material: &'a Material, held: &'a dyn CodeSource) -> Self {
        Self {
            accounts: supplement.prestate.as_ref(),
            codes: Codes::new(material, held),
            missing: Mutex::default(),
            hole: Mutex::default(),
        }
    }

    fn claimed(&self, address: &Address) -> Option<&ClaimedAccount> {
        let claimed = self.accounts?.get(address);
        if claimed.is_none() {
            self.missing.lock().account(*address);
        }
        claimed
    }
}

impl StateReader for PrestateState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        let account = match self.claimed(address) {
            Some(claimed) => claimed.account,
            None => {
                self.missing.lock().account(*address);
                None
            }
        };
        self.codes.note(*address, account.as_ref());
        Ok(account)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        match self.claimed(address).and_then(|claimed| claimed.slots.get(slot)) {
            Some(value) => Ok(*value),
            None => {
                self.missing.lock().slot(*address, *slot);
                Ok(U256::ZERO)
            }
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        // Only an account with code can have written its storage, or one that delegated (EIP-7702).
        if self.account(address)?.is_none_or(|account| !account.has_code() && account.nonce == 0) {
            return Ok(Vec::new());
        }
        self.hole.lock().get_or_insert(*address);
        Err(StateError::Store(format!("the storage of {address} cannot be listed by its claimed state")))
    }
}

impl ParentState for PrestateState<'_> {
    fn wanted(&self) -> Wanted {
        let accounts = self.missing.lock().accounts();
        Wanted { accounts, codes: self.codes.missing(), ..Wanted::default() }
    }

    fn hole(&self) -> Option<Address> {
        *self.hole.lock()
    }
}
