//! The tip to suggest for the next block, from tips of recent blocks (go-ethereum's
//! eth/gasprice/gasprice.go).

use crate::{Home, NodeError};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use hearth_ledger::StoredBlock;
use hearth_primitives::Height;
use parking_lot::Mutex;

/// Blocks that a suggestion looks at (eth/ethconfig/config.go of go-ethereum: FullNodeGPO).
const SUGGEST_BLOCKS: u64 = 20;
/// Further blocks where those were empty.
const SUGGEST_EXTRA_BLOCKS: u64 = 20;
/// Cheapest transactions of a block that count.
const SUGGEST_SAMPLES: usize = 3;
/// Percentile of the samples.
const SUGGEST_PERCENTILE: usize = 60;
/// Tips below this are not counted, in wei.
const SUGGEST_IGNORE_BELOW_WEI: u128 = 2;
/// Highest suggestion, in wei.
const SUGGEST_MAX_WEI: u128 = 500_000_000_000;
/// Suggestion where nothing can be learned, in wei.
const SUGGEST_START_WEI: u128 = 1_000_000;

/// The last suggestion, until the head moves.
#[derive(Debug, Default)]
pub(crate) struct TipOracle {
    last: Mutex<Option<(B256, u128)>>,
}

impl TipOracle {
    /// Tip to suggest, in wei.
    fn suggest(&self, home: &Home) -> Result<u128, NodeError> {
        let head = home.head()?;
        let last = *self.last.lock();
        let start = match last {
            Some((hash, tip)) if hash == head.hash => return Ok(tip),
            Some((_, tip)) => tip,
            None => SUGGEST_START_WEI,
        };
        let tip = sample(home, head.block.header.number, start)?;
        *self.last.lock() = Some((head.hash, tip));
        Ok(tip)
    }
}

impl Home {
    /// Tip to suggest for the next block, in wei.
    ///
    /// # Errors
    /// What the ledger reports.
    pub fn suggested_tip(&self) -> Result<u128, NodeError> {
        self.tips().suggest(self)
    }
}

/// The percentile of the cheapest tips of recent blocks.
fn sample(home: &Home, head: Height, last: u128) -> Result<u128, NodeError> {
    let mut samples = Vec::new();
    let (mut looked, mut thin) = (0, 0);
    let mut number = head;
    while number > 0 && looked < SUGGEST_BLOCKS + thin.min(SUGGEST_EXTRA_BLOCKS) {
        let Some(block) = home.canonical(number)? else { break };
        let receipts = home.receipts_of(&block)?;
        let mut tips = tips_of(&block, &receipts.senders, block.block.header.beneficiary);
        tips.truncate(SUGGEST_SAMPLES);
        if tips.len() <= 1 {
            thin += 1;
        }
        if tips.is_empty() {
            tips.push(last);
        }
        samples.append(&mut tips);
        looked += 1;
        number -= 1;
    }
    samples.sort_unstable();
    let index = samples.len().saturating_sub(1) * SUGGEST_PERCENTILE / 100;
    Ok(samples.get(index).copied().unwrap_or(last).min(SUGGEST_MAX_WEI))
}

/// Tips of a block in ascending order, without those of its own producer and those below the
/// minimum.
fn tips_of(block: &StoredBlock, senders: &[Address], producer: Address) -> Vec<u128> {
    let base_fee = block.block.header.base_fee_per_gas.unwrap_or(0);
    let transactions = block.block.body.transactions.iter().zip(senders);
    let tips = transactions.filter(|(_, sender)| **sender != producer);
    let tips = tips.filter_map(|(tx, _)| tx.effective_tip_per_gas(base_fee));
    let mut tips: Vec<u128> = tips.filter(|tip| *tip >= SUGGEST_IGNORE_BELOW_WEI).collect();
    tips.sort_unstable();
    tips
}
