//! The state after a block with its edits over it.

use super::Edits;
use alloy_primitives::{Address, B256, Bytes, U256};
use hearth_flatkv::StateView;
use hearth_primitives::{Account, Height, StateError, StateReader};
use std::{collections::BTreeMap, sync::Arc};

/// The state after a block, as it was edited before the next one. Cheap to clone.
#[derive(Clone)]
pub struct StateAt {
    view: StateView,
    edits: Option<Arc<Edits>>,
}

impl StateAt {
    pub(super) fn new(view: StateView, edits: Option<Arc<Edits>>) -> Self {
        Self { view, edits }
    }

    /// Height of the block.
    pub fn height(&self) -> Height {
        self.view.height()
    }

    /// The accounts of many addresses, in the order of these, in one batch of reads.
    ///
    /// # Errors
    /// The store's.
    pub fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        let mut accounts = self.view.accounts(addresses)?;
        if let Some(edits) = &self.edits {
            for (account, address) in accounts.iter_mut().zip(addresses) {
                *account = edits.account(address).unwrap_or(*account);
            }
        }
        Ok(accounts)
    }

    /// The values of many slots, each by its account, as [`Self::accounts`].
    ///
    /// # Errors
    /// The store's.
    pub fn slots(&self, slots: &[(Address, U256)]) -> Result<Vec<U256>, StateError> {
        let mut values = self.view.slots(slots)?;
        if let Some(edits) = &self.edits {
            for (value, (address, slot)) in values.iter_mut().zip(slots) {
                *value = edits.slot(address, slot).unwrap_or(*value);
            }
        }
        Ok(values)
    }

    /// An account that is there and lies in memory; see [`StateView::account_in_memory`].
    pub fn account_in_memory(&self, address: &Address) -> Option<Account> {
        match self.edits.as_ref().and_then(|edits| edits.account(address)) {
            Some(account) => account,
            None => self.view.account_in_memory(address),
        }
    }

    /// A slot that is set and lies in memory.
    pub fn slot_in_memory(&self, address: &Address, slot: &U256) -> Option<U256> {
        let edited = self.edits.as_ref().and_then(|edits| edits.slot(address, slot));
        edited.or_else(|| self.view.slot_in_memory(address, slot))
    }

    /// Code that lies in memory.
    pub fn code_in_memory(&self, hash: &B256) -> Option<Bytes> {
        let edited = self.edits.as_ref().and_then(|edits| edits.code(hash));
        edited.cloned().or_else(|| self.view.code_in_memory(hash))
    }

    /// The edits on top of the state of the block, if any.
    pub fn edits(&self) -> Option<&Arc<Edits>> {
        self.edits.as_ref()
    }
}

impl StateReader for StateAt {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        account(self.edits.as_deref(), &self.view, address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        storage(self.edits.as_deref(), &self.view, address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        code(self.edits.as_deref(), &self.view, hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        storage_of(self.edits.as_deref(), &self.view, address)
    }

    fn for_execution(&self) -> Option<Box<dyn StateReader + '_>> {
        let below = self.view.for_execution();
        match &self.edits {
            None => below,
            Some(edits) => below
                .map(|below| Box::new(OverlayState { below, edits: edits.clone() }) as Box<dyn StateReader>),
        }
    }
}

/// A state with edits on top.
pub struct OverlayState<'a> {
    below: Box<dyn StateReader + 'a>,
    edits: Arc<Edits>,
}

impl<'a> OverlayState<'a> {
    /// The edits over a state.
    pub fn new(below: Box<dyn StateReader + 'a>, edits: Arc<Edits>) -> Self {
        Self { below, edits }
    }
}

impl StateReader for OverlayState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        account(Some(&self.edits), &*self.below, address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        storage(Some(&self.edits), &*self.below, address, slot)
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        code(Some(&self.edits), &*self.below, hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        storage_of(Some(&self.edits), &*self.below, address)
    }
}

fn account(
    edits: Option<&Edits>,
    below: &dyn StateReader,
    address: &Address,
) -> Result<Option<Account>, StateError> {
    match edits.and_then(|edits| edits.account(address)) {
        Some(account) => Ok(account),
        None => below.account(address),
    }
}

fn storage(
    edits: Option<&Edits>,
    below: &dyn StateReader,
    address: &Address,
    slot: &U256,
) -> Result<U256, StateError> {
    match edits.and_then(|edits| edits.slot(address, slot)) {
        Some(value) => Ok(value),
        None => below.storage(address, slot),
    }
}

fn code(edits: Option<&Edits>, below: &dyn StateReader, hash: &B256) -> Result<Bytes, StateError> {
    match edits.and_then(|edits| edits.code(hash)) {
        Some(code) => Ok(code.clone()),
        None => below.code(hash),
    }
}

fn storage_of(
    edits: Option<&Edits>,
    below: &dyn StateReader,
    address: &Address,
) -> Result<Vec<(U256, U256)>, StateError> {
    let slots = below.storage_of(address)?;
    let Some(edits) = edits else { return Ok(slots) };
    let mut slots: BTreeMap<U256, U256> = slots.into_iter().collect();
    slots.extend(edits.slots_of(address));
    Ok(slots.into_iter().filter(|(_, value)| !value.is_zero()).collect())
}
