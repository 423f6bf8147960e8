//! The tip to suggest for the next block, from tips of recent blocks (go-ethereum's
//! eth/gasprice/gasprice.go).

use crate::{Home, NodeError};
use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256};
use hearth_ledger::StoredBlock;
use parking_lot::Mutex;
use std::{collections::VecDeque, mem::take};

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

/// The last suggestion, until the head moves, and what was read for it.
#[derive(Debug, Default)]
pub(crate) struct TipOracle {
    last: Mutex<Option<(B256, u128)>>,
    /// The newest blocks that a suggestion looked at, from the head of that time down: for the next
    /// head only that block is read.
    recent: Mutex<VecDeque<BlockTips>>,
}

/// What counts of a block.
#[derive(Debug)]
struct BlockTips {
    hash: B256,
    parent: B256,
    /// The cheapest, in ascending order.
    tips: Vec<u128>,
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
        // A thread that finds the list empty, since another one took it, reads all blocks.
        let known = take(&mut *self.recent.lock());
        let recent = recent_tips(home, &head, known)?;
        let tip = percentile(&recent, start);
        *self.recent.lock() = recent;
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

/// The blocks that a suggestion on this head looks at. Those of `known` are not read again.
fn recent_tips(
    home: &Home,
    head: &StoredBlock,
    mut known: VecDeque<BlockTips>,
) -> Result<VecDeque<BlockTips>, NodeError> {
    let mut recent = VecDeque::new();
    let (mut looked, mut thin) = (0, 0);
    let (mut hash, mut number) = (head.hash, head.number());
    while number > 0 && looked < SUGGEST_BLOCKS + thin.min(SUGGEST_EXTRA_BLOCKS) {
        let at = known.iter().position(|block| block.hash == hash);
        let block = match at.and_then(|at| known.drain(..=at).next_back()) {
            Some(block) => block,
            None => match home.canonical(number)? {
                Some(block) => BlockTips::of(home, &block)?,
                None => break,
            },
        };
        if block.tips.len() <= 1 {
            thin += 1;
        }
        looked += 1;
        (hash, number) = (block.parent, number - 1);
        recent.push_back(block);
    }
    Ok(recent)
}

/// The percentile of the cheapest tips of recent blocks; an empty block counts as the last
/// suggestion.
fn percentile(recent: &VecDeque<BlockTips>, last: u128) -> u128 {
    let of = |block: &BlockTips| if block.tips.is_empty() { vec![last] } else { block.tips.clone() };
    let mut samples: Vec<u128> = recent.iter().flat_map(of).collect();
    samples.sort_unstable();
    let index = samples.len().saturating_sub(1) * SUGGEST_PERCENTILE / 100;
    samples.get(index).copied().unwrap_or(last).min(SUGGEST_MAX_WEI)
}

impl BlockTips {
    fn of(home: &Home, block: &StoredBlock) -> Result<Self, NodeError> {
        let receipts = home.receipts_of(block)?;
        let header = &block.block.header;
        let mut tips = tips_of(block, &receipts.senders, header.beneficiary);
        tips.truncate(SUGGEST_SAMPLES);
        Ok(Self { hash: block.hash, parent: header.parent_hash, tips })
    }
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
