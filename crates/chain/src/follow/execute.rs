//! Executing a block on the state that its witness proves.

use super::{FollowAnswer, FollowSource, Linked, Verified, answer::refused_by};
use crate::{Chain, ChainError};
use alloy_primitives::{B256, Bytes};
use hearth_evm::{BlockEnvironment, BlockError, BlockExecutor, Field, Fork, check_output};
use hearth_flatkv::FlatKv;
use hearth_primitives::{BlockOutput, Header, RootTracker, StateError, StateReader};
use hearth_witness::{
    CodeSource, Material, ParentState, PrestateState, Supplement, VerifiedHashes, Wanted, WitnessState,
};
use std::sync::Arc;

/// A block that was executed, with everything checked that its source proves.
pub(super) struct FollowedRun {
    pub output: BlockOutput,
    /// Codes that traces of the block may show, and that are not held already.
    pub codes: Vec<(B256, Bytes)>,
    pub verified: Verified,
    pub supplemented: bool,
}

/// Why a block was not executed.
pub(super) enum Stopped {
    Answer(FollowAnswer),
    /// No source has what the execution reads.
    Hole(String),
}

impl Stopped {
    fn wanted(linked: &Linked, wanted: Wanted) -> Self {
        Self::Answer(FollowAnswer::Wanted { parent: linked.parent.hash, wanted })
    }
}

/// The codes that the home holds.
struct Held<'a>(&'a Arc<FlatKv>);

impl CodeSource for Held<'_> {
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError> {
        let Some(view) = self.0.latest() else { return Ok(None) };
        match view.code(hash) {
            Ok(code) => Ok(Some(code)),
            Err(StateError::NotHere(_) | StateError::MissingCode(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Chain {
    /// Executes a block whose place in the chain is right; `base` is the header of the first block
    /// that is held.
    pub(super) fn execute_followed(
        &self,
        linked: &Linked,
        source: FollowSource,
        material: &Material,
        supplement: &Supplement,
        base: &Header,
    ) -> Result<Result<FollowedRun, Stopped>, ChainError> {
        let held = Held(&self.kv);
        let root = linked.parent.block.header.state_root;
        let hashes = VerifiedHashes::new(&linked.block.block.header, &*self.ledger, base, material);
        let run = Attempt { chain: self, linked, hashes: &hashes };
        let supplemented = !supplement.nodes.is_empty() || !supplement.codes.is_empty();
        let (output, verified) = if source == FollowSource::Prestate {
            let state = PrestateState::new(supplement, material, &held);
            match run.on(&state, None)? {
                Ok(output) => (output, Verified::Executed),
                Err(stopped) => return Ok(Err(stopped)),
            }
        } else {
            let state = WitnessState::new(root, material, &held);
            // Before Byzantium a receipt has the state root after its transaction.
            let by_transaction = self.spec.fork_of(&linked.block.block.header) < Fork::Byzantium;
            let mut roots = by_transaction.then(|| material.trie(root));
            let output = match run.on(&state, roots.as_mut().map(|roots| roots as &mut dyn RootTracker))? {
                Ok(output) => output,
                Err(stopped) => return Ok(Err(stopped)),
            };
            let after = match &mut roots {
                Some(roots) => Ok(roots.root()?),
                None => material.root_after(root, state.into_trie(), &output.changes)?,
            };
            match after {
                Ok(after) => {
                    if let Err(error) = check_root(after, linked.block.block.header.state_root) {
                        return Ok(Err(Stopped::Answer(refused_by(&error))));
                    }
                }
                Err(wanted) => return Ok(Err(Stopped::wanted(linked, wanted))),
            }
            (output, Verified::Proven)
        };
        let (codes, missing) = material.codes_of(&output, &held)?;
        if !missing.is_empty() {
            let wanted = Wanted { codes: missing, ..Wanted::default() };
            return Ok(Err(Stopped::wanted(linked, wanted)));
        }
        Ok(Ok(FollowedRun { output, codes, verified, supplemented }))
    }
}

fn check_root(root: B256, said: B256) -> Result<(), BlockError> {
    if root == said {
        return Ok(());
    }
    let (expected, got) = (root.to_string(), said.to_string());
    Err(BlockError::Mismatch { field: Field::StateRoot, expected, got })
}

/// One block's execution.
struct Attempt<'a> {
    chain: &'a Chain,
    linked: &'a Linked,
    hashes: &'a VerifiedHashes<'a>,
}

impl Attempt<'_> {
    /// Executes the block and checks what that determines of the header, except for the state root.
    fn on(
        &self,
        state: &dyn ParentState,
        roots: Option<&mut dyn RootTracker>,
    ) -> Result<Result<BlockOutput, Stopped>, ChainError> {
        let (block, senders) = (&self.linked.block.block, &self.linked.block.senders);
        let done = self.executor(state).run(block, senders, roots);
        if !self.wanted(state).is_empty() {
            self.collect(state);
            return Ok(Err(Stopped::wanted(self.linked, self.wanted(state))));
        }
        if let Some(address) = state.hole() {
            let why = format!("it destroys {address}, whose storage no witness lists");
            return Ok(Err(Stopped::Hole(why)));
        }
        let checked = done.and_then(|output| {
            check_output(&self.chain.spec, &block.header, &output)?;
            Ok(output)
        });
        match checked {
            Ok(output) => Ok(Ok(output)),
            // A node next to a removed one, of a root between two transactions: what is proven
            // after the block does not show it.
            Err(BlockError::State(StateError::MissingNode { hash })) => {
                Ok(Err(Stopped::Hole(format!("the node {hash} is missing for a root within the block"))))
            }
            Err(BlockError::State(error)) => Err(error.into()),
            Err(error) => Ok(Err(Stopped::Answer(refused_by(&error)))),
        }
    }

    fn executor<'s>(&'s self, state: &'s dyn ParentState) -> BlockExecutor<'s> {
        let env = BlockEnvironment::from_header(&self.chain.spec, &self.linked.block.block.header);
        BlockExecutor::new(&self.chain.spec, env, state, self.hashes).capturing()
    }

    fn wanted(&self, state: &dyn ParentState) -> Wanted {
        Wanted { headers: self.hashes.wanted(), ..state.wanted() }
    }

    /// Executes as much of the block as there is state for, so that what is missing is found in few
    /// rounds. Whatever comes of it is dropped.
    fn collect(&self, state: &dyn ParentState) {
        let (block, senders) = (&self.linked.block.block, &self.linked.block.senders);
        let _ = self.read_named(state);
        let mut executor = self.executor(state);
        let _ = executor.begin();
        for (tx, sender) in block.body.transactions.iter().zip(senders) {
            let _ = executor.transact(tx, *sender);
        }
        let withdrawals = block.body.withdrawals.as_ref().map(|list| list.as_slice());
        let _ = executor.finish(&block.body.ommers, withdrawals);
    }

    /// Reads what the block names: it is read by any execution, also by one that gets no further
    /// than that.
    fn read_named(&self, state: &dyn ParentState) -> Result<(), StateError> {
        use alloy_consensus::Transaction as _;
        let (block, senders) = (&self.linked.block.block, &self.linked.block.senders);
        let withdrawals = block.body.withdrawals.iter().flat_map(|list| list.iter());
        let beneficiary = std::iter::once(block.header.beneficiary);
        for address in senders.iter().copied().chain(beneficiary).chain(withdrawals.map(|paid| paid.address))
        {
            state.account(&address)?;
        }
        for tx in &block.body.transactions {
            if let Some(to) = tx.to() {
                state.account(&to)?;
            }
            for item in tx.access_list().iter().flat_map(|list| list.iter()) {
                state.account(&item.address)?;
                for slot in &item.storage_keys {
                    state.storage(&item.address, &(*slot).into())?;
                }
            }
        }
        Ok(())
    }
}
