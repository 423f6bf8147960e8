//! Execution witnesses of stored blocks: what a client without the state needs to execute one
//! (execution-apis, `debug_executionWitness`).

use crate::{Chain, ChainError};
use alloy_primitives::{Address, B256};
use hearth_evm::{BlockEnvironment, BlockError, BlockExecutor, Field, check_output, recover_senders};
use hearth_primitives::{Block, BlockOutput, Header, Height, RootTracker as _, StateError, StateReader};
use hearth_trie::{RecordingNodes, StateTrie};
use hearth_witness::Witness;
use std::sync::Arc;

impl Chain {
    /// The witness of a canonical block, whose parent's state is `state`: every trie node, code and
    /// header that its execution and its state root read, without duplicates; nodes and codes
    /// sorted, headers ascending.
    ///
    /// # Errors
    /// [`ChainError::EditedState`] if a development method edited the state of the parent;
    /// [`ChainError::Refused`] if the block does not execute to what its header says; errors of the
    /// stores.
    pub fn execution_witness(
        &self,
        block: &Block,
        hash: B256,
        state: &dyn StateReader,
    ) -> Result<Witness, ChainError> {
        let header = &block.header;
        let (number, parent) = (header.number, header.number.saturating_sub(1));
        if self.edits_after(parent)?.is_some() {
            return Err(ChainError::EditedState { number });
        }
        let (root, nodes) = self.kv.nodes_at(parent)?;
        let parents =
            self.header_of(&header.parent_hash)?.ok_or(ChainError::UnknownBlock(header.parent_hash))?;
        if root != parents.state_root {
            // The block left the chain since it was found.
            return Err(StateError::Unwound { height: parent }.into());
        }
        let nodes = Arc::new(RecordingNodes::new(nodes));
        let refused = |source| ChainError::Refused { number, hash, source };
        let executor = BlockExecutor::new(
            &self.spec,
            BlockEnvironment::from_header(&self.spec, header),
            state,
            &*self.ledger,
        );
        let executor = executor.with_sidecar(self.sidecar(&hash)?);
        let roots = StateTrie::new(nodes.clone(), root);
        let senders = self.ledger.senders(&hash)?;
        let senders = senders.filter(|senders| senders.len() == block.body.transactions.len());
        let (output, after) = replay(executor, block, senders.as_deref(), roots).map_err(refused)?;
        if after != header.state_root {
            let (expected, got) = (after.to_string(), header.state_root.to_string());
            return Err(refused(BlockError::Mismatch { field: Field::StateRoot, expected, got }));
        }
        record_reads(&mut StateTrie::new(nodes.clone(), root), &output)?;
        let (mut state_nodes, mut codes) = (nodes.take(), Vec::new());
        for hash in &output.reads.codes {
            codes.push(state.code(hash)?);
        }
        for list in [&mut state_nodes, &mut codes] {
            list.sort_unstable();
            list.dedup();
        }
        let headers = self.headers_before(&output, parents)?;
        Ok(Witness { state: state_nodes, codes, headers })
    }

    /// The headers from the lowest ancestor whose hash was requested to the parent, ascending.
    fn headers_before(&self, output: &BlockOutput, parent: Header) -> Result<Vec<Header>, ChainError> {
        // A block has no hash of an ancestor that the chain does not know.
        let known = output.reads.block_hashes.iter().filter(|(_, hash)| !hash.is_zero());
        let lowest = known.map(|(number, _)| *number).min().unwrap_or(Height::MAX);
        let mut headers = vec![parent];
        while let Some(last) = headers.last().filter(|last| last.number > lowest)
            && let Some(below) = self.header_of(&last.parent_hash)?
        {
            headers.push(below);
        }
        headers.reverse();
        Ok(headers)
    }

    fn header_of(&self, hash: &B256) -> Result<Option<Header>, ChainError> {
        Ok(self.ledger.block(hash)?.map(|block| block.block.header.clone()))
    }
}

/// Executes a block whose senders are stored, and the state root after it by `roots`.
fn replay(
    executor: BlockExecutor<'_>,
    block: &Block,
    senders: Option<&Vec<Address>>,
    mut roots: StateTrie<'_>,
) -> Result<(BlockOutput, B256), BlockError> {
    let (spec, header) = (executor.spec(), &block.header);
    let recovered;
    let senders = match senders {
        Some(senders) => senders,
        None => {
            recovered = recover_senders(spec, executor.environment(), &block.body.transactions)?;
            &recovered
        }
    };
    let output = executor.run(block, senders, Some(&mut roots))?;
    check_output(spec, header, &output)?;
    let root = roots.root()?;
    Ok((output, root))
}

/// Reads everything that an execution read, so that its nodes are recorded.
fn record_reads(trie: &mut StateTrie<'_>, output: &BlockOutput) -> Result<(), StateError> {
    for (address, _) in &output.reads.accounts {
        trie.account(address)?;
    }
    for (address, slot, _) in &output.reads.slots {
        trie.slot(address, slot)?;
    }
    Ok(())
}
