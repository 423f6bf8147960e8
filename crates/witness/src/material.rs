//! Everything that was received for a block, by the hashes under which it is looked for.

use crate::{Supplement, Wanted, WantedCode, Witness};
use alloy_primitives::{Address, B256, Bytes, keccak256, map::B256Map};
use hearth_primitives::{BlockOutput, Changeset, Header, RootTracker as _, StateError};
use hearth_trie::{StateTrie, WitnessNodes};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The codes that a node holds already.
pub trait CodeSource: Send + Sync {
    /// The code with this hash; `None` where it is not held.
    ///
    /// # Errors
    /// The store's.
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError>;
}

/// A code with its hash.
pub type CodeByHash = (B256, Bytes);

/// What was received for a block.
#[derive(Debug, Default)]
pub struct Material {
    pub(crate) nodes: Arc<WitnessNodes>,
    codes: B256Map<Bytes>,
    headers: B256Map<Header>,
}

impl Material {
    /// A witness and what completes it, hashed.
    pub fn new(witness: Witness, supplement: &Supplement) -> Self {
        let mut nodes = WitnessNodes::new(&witness.state);
        nodes.extend(supplement.nodes.iter().cloned());
        supplement.folded.iter().for_each(|node| nodes.extend_unfolded(node));
        let mut codes = witness.codes;
        codes.extend(supplement.codes.iter().cloned());
        let codes = codes.into_par_iter().map(|code| (keccak256(&code), code)).collect::<Vec<_>>();
        let headers = witness.headers.into_iter().chain(supplement.headers.iter().cloned());
        Self {
            nodes: Arc::new(nodes),
            codes: codes.into_iter().collect(),
            headers: headers.map(|header| (header.hash_slow(), header)).collect(),
        }
    }

    /// The code with this hash, if it was received.
    pub fn code(&self, hash: &B256) -> Option<&Bytes> {
        self.codes.get(hash)
    }

    /// The header with this hash, if it was received.
    pub fn header(&self, hash: &B256) -> Option<&Header> {
        self.headers.get(hash)
    }

    /// The state trie with this root, as far as its nodes were received.
    pub fn trie(&self, root: B256) -> StateTrie<'static> {
        StateTrie::new(self.nodes.clone(), root)
    }

    /// The state root after a block's changes to `trie`, which has the root `parent`. The inner
    /// error is what has to be proven in the state after the block, because a removal folds a node
    /// that is not here.
    ///
    /// # Errors
    /// A node that does not decode.
    pub fn root_after(
        &self,
        parent: B256,
        trie: StateTrie<'static>,
        changes: &Changeset,
    ) -> Result<Result<B256, Wanted>, StateError> {
        let fresh = || self.trie(parent);
        let apply = |mut trie: StateTrie<'static>, changes: &Changeset| {
            trie.apply(changes)?;
            trie.root()
        };
        match apply(trie, changes) {
            Ok(root) => return Ok(Ok(root)),
            Err(StateError::MissingNode { .. }) => {}
            Err(error) => return Err(error),
        }
        let removed: BTreeMap<Address, BTreeSet<_>> = changes
            .accounts
            .iter()
            .filter_map(|change| {
                let slots = change.storage.iter().filter(|slot| slot.new.is_zero() && !slot.old.is_zero());
                let slots: BTreeSet<_> = slots.map(|slot| slot.slot).collect();
                let gone = change.new.is_none() && change.old.is_some();
                (gone || !slots.is_empty()).then_some((change.address, slots))
            })
            .collect();
        // Most removals fold nothing: those are wanted that fail by themselves, or else all.
        let fails = |address: &Address| {
            let alone = changes.accounts.iter().filter(|change| change.address == *address).cloned();
            apply(fresh(), &Changeset { accounts: alone.collect(), codes: Vec::new() }).is_err()
        };
        let failing: BTreeMap<_, _> =
            removed.iter().filter(|(address, _)| fails(address)).map(|(a, s)| (*a, s.clone())).collect();
        let after = crate::wanted::list(if failing.is_empty() { &removed } else { &failing });
        Ok(Err(Wanted { after, ..Wanted::default() }))
    }

    /// The codes that a trace of the block may show, by hash, and those of them that are neither
    /// held nor received.
    ///
    /// # Errors
    /// The store's.
    pub fn codes_of(
        &self,
        output: &BlockOutput,
        held: &dyn CodeSource,
    ) -> Result<(Vec<CodeByHash>, Vec<WantedCode>), StateError> {
        let mut new = Vec::new();
        let mut missing = Vec::new();
        let mut seen = BTreeSet::new();
        for (address, account) in &output.reads.accounts {
            let Some(hash) = account.filter(|a| a.has_code()).map(|a| a.code_hash) else { continue };
            if !seen.insert(hash) {
                continue;
            }
            match self.code(&hash) {
                _ if held.code(&hash)?.is_some() => {}
                Some(code) => new.push((hash, code.clone())),
                None => missing.push(WantedCode { address: *address, hash }),
            }
        }
        Ok((new, missing))
    }
}
