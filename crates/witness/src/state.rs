//! The state of a parent as trie nodes prove it.

use crate::{CodeSource, Material, Wanted, WantedCode, wanted::Missing};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use alloy_trie::EMPTY_ROOT_HASH;
use hearth_primitives::{Account, StateError, StateReader};
use hearth_trie::StateTrie;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// The state of a parent of which parts may be missing.
///
/// A read of something that is missing is logged and answered as if it did not exist, so that one
/// execution finds more than the first missing item. The outcome of such an execution must be
/// dropped: see [`Self::wanted`]. Code is the exception, since analysed code is shared by all
/// executions of the process: a missing one is [`StateError::MissingCode`].
pub trait ParentState: StateReader {
    /// What reads lacked so far; headers and `after` are never among it.
    fn wanted(&self) -> Wanted;

    /// The account whose storage as a whole would have been needed, which no witness has.
    fn hole(&self) -> Option<Address>;
}

/// Codes that are held or were received, and the log of the others.
pub(crate) struct Codes<'a> {
    material: &'a Material,
    held: &'a dyn CodeSource,
    /// Accounts by the hash of their code.
    owners: Mutex<BTreeMap<B256, Address>>,
    missing: Mutex<BTreeSet<WantedCode>>,
}

impl<'a> Codes<'a> {
    pub(crate) fn new(material: &'a Material, held: &'a dyn CodeSource) -> Self {
        Self { material, held, owners: Mutex::default(), missing: Mutex::default() }
    }

    pub(crate) fn note(&self, address: Address, account: Option<&Account>) {
        if let Some(account) = account.filter(|account| account.code_hash != KECCAK256_EMPTY) {
            self.owners.lock().entry(account.code_hash).or_insert(address);
        }
    }

    pub(crate) fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if let Some(code) = self.material.code(hash) {
            return Ok(code.clone());
        }
        if let Some(code) = self.held.code(hash)? {
            return Ok(code);
        }
        if let Some(address) = self.owners.lock().get(hash) {
            self.missing.lock().insert(WantedCode { address: *address, hash: *hash });
        }
        Err(StateError::MissingCode(*hash))
    }

    pub(crate) fn missing(&self) -> Vec<WantedCode> {
        self.missing.lock().iter().copied().collect()
    }
}

/// The state with a root, as far as nodes prove it. Nothing but what the nodes prove is an answer:
/// an account or slot is absent where the nodes exclude it.
pub struct WitnessState<'a> {
    trie: Mutex<StateTrie<'static>>,
    codes: Codes<'a>,
    missing: Mutex<Missing>,
    hole: Mutex<Option<Address>>,
}

impl<'a> WitnessState<'a> {
    /// The state with this root.
    pub fn new(root: B256, material: &'a Material, held: &'a dyn CodeSource) -> Self {
        Self {
            trie: Mutex::new(StateTrie::new(material.nodes.clone(), root)),
            codes: Codes::new(material, held),
            missing: Mutex::default(),
            hole: Mutex::default(),
        }
    }

    /// The trie with the nodes that were read, for the root after the block.
    pub fn into_trie(self) -> StateTrie<'static> {
        self.trie.into_inner()
    }
}

impl StateReader for WitnessState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.trie.lock().account(address) {
            Ok(account) => {
                self.codes.note(*address, account.as_ref());
                Ok(account)
            }
            Err(StateError::MissingNode { .. }) => {
                self.missing.lock().account(*address);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        match self.trie.lock().slot(address, slot) {
            Err(StateError::MissingNode { .. }) => {
                self.missing.lock().slot(*address, *slot);
                Ok(U256::ZERO)
            }
            answer => answer,
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.codes.code(hash)
    }

    fn storage_of(&self, address: &Address) -> Result<Vec<(U256, U256)>, StateError> {
        match self.trie.lock().storage_root(address) {
            Ok(EMPTY_ROOT_HASH) => Ok(Vec::new()),
            // Nodes name slots by their hashes, so that a storage cannot be listed.
            Ok(_) => {
                self.hole.lock().get_or_insert(*address);
                Err(StateError::Store(format!("the storage of {address} cannot be listed by a witness")))
            }
            Err(StateError::MissingNode { .. }) => {
                self.missing.lock().account(*address);
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }
}

impl ParentState for WitnessState<'_> {
    fn wanted(&self) -> Wanted {
        let accounts = self.missing.lock().accounts();
        Wanted { accounts, codes: self.codes.missing(), ..Wanted::default() }
    }

    fn hole(&self) -> Option<Address> {
        *self.hole.lock()
    }
}
