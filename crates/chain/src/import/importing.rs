//! Blocks of an import in their order: each is executed while those before it are committed.

use super::Progress;
use super::ahead::Ahead;
use super::pipeline::{Pipeline, Step};
use super::runs::RunDone;
use crate::insert::Inserted;
use crate::working::Working;
use crate::{Built, Chain, ChainError};
use parking_lot::MutexGuard;
use std::time::Duration;

/// How long blocks that were executed wait for the next one before they are committed.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// An import while it takes blocks.
pub(super) struct Importing<'a, 'lock, 'scope> {
    pub chain: &'a Chain,
    pub guard: &'a mut MutexGuard<'lock, Working>,
    pub ahead: Ahead<'scope>,
    pub progress: &'a mut Progress,
}

impl Importing<'_, '_, '_> {
    /// Takes blocks until there are no more, and commits them; `each` is called after each one, and
    /// ends it by returning true.
    pub fn take_all(
        mut self,
        steps: &mut Pipeline,
        each: &mut dyn FnMut(&mut Progress) -> bool,
    ) -> Result<(), ChainError> {
        let taken = self.take_steps(steps, each);
        // The blocks before the one that failed come first.
        self.settle()?;
        taken
    }

    fn take_steps(
        &mut self,
        steps: &mut Pipeline,
        each: &mut dyn FnMut(&mut Progress) -> bool,
    ) -> Result<(), ChainError> {
        loop {
            // The next block may be long in coming: readers have those before meanwhile.
            if !self.ahead.is_settled() && !steps.is_ready_within(MAX_PAUSE) {
                self.settle()?;
            }
            let Some(step) = steps.next() else { return Ok(()) };
            if each(self.progress) {
                return Err(ChainError::Cancelled);
            }
            self.take(step?)?;
        }
    }

    /// Takes the next block: executes it while those before are committed, and gathers it for the
    /// next commit.
    fn take(&mut self, step: Step) -> Result<(), ChainError> {
        if self.chain.working.is_wanted() {
            self.settle()?;
        }
        let is_settled = self.guard.is_settled();
        let executed = is_settled.then(|| self.chain.execute_ahead(&self.ahead, &step)).flatten();
        let Some(executed) = executed else {
            self.settle()?;
            self.take_alone(step)?;
            self.between_blocks();
            return Ok(());
        };
        let is_alone = self.chain.is_committed_alone(&executed);
        if is_alone {
            self.begin_commit()?;
        }
        self.chain.gather(&mut self.ahead, step, executed)?;
        if is_alone || self.ahead.is_full() {
            self.begin_commit()?;
        }
        Ok(())
    }

    /// Waits until all blocks that were executed are committed, and lets other changes of the chain
    /// come in.
    fn settle(&mut self) -> Result<(), ChainError> {
        self.begin_commit()?;
        self.end_commit()?;
        self.between_blocks();
        Ok(())
    }

    /// Begins the commit of the blocks that were gathered, once the one before has ended.
    fn begin_commit(&mut self) -> Result<(), ChainError> {
        if self.ahead.has_run() {
            self.end_commit()?;
            self.ahead.commit();
        }
        Ok(())
    }

    /// Waits for the commit that is under way.
    fn end_commit(&mut self) -> Result<(), ChainError> {
        let Some(done) = self.ahead.wait(|| self.chain.kv.latest()) else { return Ok(()) };
        let RunDone { run, last, failed } = done?;
        if let (Some(built), Some(place)) = (run.last(), last) {
            self.chain.choose(self.guard, built.hash)?;
            self.progress.number = built.block.header.number;
            self.progress.bytes_done = place.bytes_done;
            for Built { block, output, .. } in &run {
                self.progress.add(block.body.transactions.len(), output.gas_used());
            }
            self.chain.announce_run(self.guard, &run);
        }
        failed.map_or(Ok(()), |(place, error)| Err(place.problem(error)))
    }

    /// Readers follow the import, and other changes of the chain come between two blocks.
    fn between_blocks(&mut self) {
        if self.guard.is_settled() {
            self.chain.announce(self.guard);
            MutexGuard::bump(self.guard);
        }
    }

    /// Inserts a block.
    fn take_alone(&mut self, step: Step) -> Result<(), ChainError> {
        let Step { prepared, place } = step;
        let (number, transactions) = (prepared.block.header.number, prepared.block.body.transactions.len());
        self.progress.number = number;
        self.progress.bytes_done = place.bytes_done;
        if number == 0 && self.chain.base() == 0 {
            return match prepared.hash == self.chain.base_hash() {
                true => Ok(()),
                false => Err(ChainError::OtherGenesis {
                    file: place.file.to_path_buf(),
                    given: prepared.hash,
                    genesis: self.chain.base_hash(),
                }),
            };
        }
        let inserted = self.chain.insert_lazily(self.guard, prepared);
        match inserted.map_err(|source| place.problem(source))? {
            Inserted::Known => self.progress.known += 1,
            Inserted::Restored => {
                self.progress.known += 1;
                self.progress.restored += 1;
            }
            Inserted::Added { gas_used } => self.progress.add(transactions, gas_used),
        }
        Ok(())
    }
}
