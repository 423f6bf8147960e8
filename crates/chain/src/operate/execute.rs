//! Executing the ledger again, from the genesis, into an empty state store.

use crate::home::{ChainFile, HomePaths, RulesFrom, parse_genesis};
use crate::next_chain_id::NextChainId;
use crate::working::WorkingLock;
use crate::{Chain, ChainError};
use alloy_primitives::B256;
use hearth_flatkv::{CommitmentKind, Executor, FlatKv, FlatKvError, Head};
use hearth_ledger::{Ledger, LedgerTables};
use hearth_primitives::StateError;
use std::sync::Arc;

/// Executes the ledger of a data directory again, from its genesis.
pub(crate) struct LedgerReplay {
    pub(crate) paths: HomePaths,
    pub(crate) file: ChainFile,
    pub(crate) tables: Arc<LedgerTables>,
}

impl LedgerReplay {
    /// Whether the home can be made from its ledger: it begins at a genesis that it has.
    pub(crate) fn is_possible(&self) -> bool {
        let from_genesis = self.file.base == 0 && self.file.rules == RulesFrom::Genesis;
        from_genesis && CommitmentKind::from(self.file.commitment) != CommitmentKind::None
    }

    fn run(&self, store: &Arc<FlatKv>, last: Option<Head>) -> Result<(), ChainError> {
        let path = self.paths.genesis();
        let text = std::fs::read_to_string(&path).map_err(ChainError::io(&path))?;
        let (spec, genesis) = parse_genesis(&path, &text)?;
        let (block, base_hash) = crate::chain::build_genesis(&spec, &genesis)?;
        let ledger = Arc::new(Ledger::new(self.tables.clone(), store.clone()));
        let spec = Arc::new(spec);
        let chain = Chain {
            paths: self.paths.clone(),
            next_chain_id: Arc::new(NextChainId::new(spec.clone())),
            spec,
            kv: store.clone(),
            ledger,
            file: self.file.clone(),
            working: WorkingLock::default(),
            watchers: Default::default(),
            edited: Default::default(),
            finality: Default::default(),
            marks: Default::default(),
        };
        chain.init_genesis(&genesis, &block, base_hash)?;
        let target = match last {
            Some(head) => head.hash,
            // Without a log the block that came last is the best that is known of the head.
            None => chain.ledger.newest_block()?.unwrap_or(base_hash),
        };
        let done = chain.execute_to(target, base_hash);
        // The ledger's own threads end before the store is closed.
        chain.ledger.close();
        done
    }
}

impl Executor for LedgerReplay {
    fn execute(&mut self, store: &Arc<FlatKv>, last: Option<Head>) -> Result<(), FlatKvError> {
        self.run(store, last).map_err(|error| match error {
            ChainError::Store(error) => error,
            other => StateError::failed("executing the ledger again", other).into(),
        })
    }
}

impl Chain {
    /// Executes the blocks of the ledger from the genesis to one of them.
    fn execute_to(&self, target: B256, base: B256) -> Result<(), ChainError> {
        let (mut branch, mut at) = (Vec::new(), target);
        while at != base {
            branch.push(at);
            at = self.ledger.block(&at)?.ok_or(ChainError::UnknownBlock(at))?.block.header.parent_hash;
        }
        for hash in branch.into_iter().rev() {
            self.execute_known(&hash)?;
        }
        Ok(())
    }
}
