//! Making trace capsules again that are missing or do not read.

use crate::{Chain, ChainError};
use hearth_evm::has_no_transactions;
use hearth_flatkv::{ProgressFn, VerifyProgress};
use hearth_primitives::Height;

/// What became of the trace capsules of a home that was repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapsuleRepair {
    /// Capsules that were made again.
    pub made: u64,
    /// Blocks without a sound capsule that cannot be executed any more, or whose capsule is too
    /// large to be kept: they are traced from history, as far as it reaches.
    pub left: u64,
}

impl Chain {
    /// Rebuilds the missing or damaged capsules of all canonical blocks that should have one, and
    /// makes them durable.
    ///
    /// # Errors
    /// Those of the stores; [`ChainError::Cancelled`] if `watch` returns so: capsules made until
    /// then stay.
    pub fn make_capsules(&self, watch: ProgressFn<'_>) -> Result<CapsuleRepair, ChainError> {
        let mut report = CapsuleRepair::default();
        if !self.ledger().keeps_capsules() {
            return Ok(report);
        }
        let (first, last) = (self.first_capsule(), self.head().height);
        let total = (last + 1).saturating_sub(first);
        let mut cancelled = false;
        for number in first..=last {
            let progress = VerifyProgress { phase: "capsules", done: number - first, total };
            if !watch(progress) {
                cancelled = true;
                break;
            }
            self.make_missing(number, &mut report)?;
        }
        if report.made > 0 {
            self.kv().keep_tables()?;
        }
        if cancelled { Err(ChainError::Cancelled) } else { Ok(report) }
    }

    /// Height of the first block that is to have a capsule.
    fn first_capsule(&self) -> Height {
        let (blocks, receipts) = self.ledger().floors();
        (self.base() + 1).max(blocks).max(receipts).max(self.ledger().first_capsule(self.head().height))
    }

    fn make_missing(&self, number: Height, report: &mut CapsuleRepair) -> Result<(), ChainError> {
        // Problems of the blocks themselves are not reported here.
        let Ok(Some(hash)) = self.ledger().canonical_hash(number) else { return Ok(()) };
        let needs_none = || {
            let header = self.ledger().header(&hash).ok().flatten();
            header.is_some_and(|header| has_no_transactions(self.spec(), &header))
        };
        match self.ledger().capsule(&hash) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if needs_none() => return Ok(()),
            Ok(None) | Err(_) => {}
        }
        let reads = || matches!(self.ledger().capsule(&hash), Ok(Some(_)));
        match self.make_capsule(&hash) {
            // One that is too large is not kept.
            Ok(true) if reads() => report.made += 1,
            _ => report.left += 1,
        }
        Ok(())
    }
}
