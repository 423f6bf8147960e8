//! The logs of one block, as filters and subscriptions return them.

use super::{Answer, headers::has_logs, logs::may_match};
use crate::{
    LogFilter,
    json::{LogPlace, write_log_as},
};
use alloy_primitives::B256;
use hearth_home::{BlockNumber, Home, JsonWriter, NodeError};
use hearth_primitives::Height;

/// Logs of a block of any branch that match a filter, one per line; for a block that left the chain
/// the last log first, marked as removed. Of the filter's range only numbers count.
pub(super) fn of_block(home: &Home, hash: &B256, filter: &LogFilter, removed: bool) -> Answer {
    let block = home.block_by_hash(hash)?.ok_or(NodeError::UnknownBlock)?;
    let bloom = &block.block.header.logs_bloom;
    if !has_logs(bloom) || !filter.covers(block.number()) || !may_match(bloom, filter) {
        return Ok(Vec::new());
    }
    let found = home.chain().reader().found_logs(hash, |address, topics| filter.wants(address, topics))?;
    let mut found = match found {
        Some(found) => found,
        // Pruned meanwhile, or a block that a home that follows could not execute.
        None => home.check_holes(block.number(), block.number()).and(Err(NodeError::UnknownBlock))?,
    };
    if removed {
        found.logs.reverse();
    }
    let mut lines = Vec::new();
    for log in &found.logs {
        let place = LogPlace {
            block_hash: hash,
            number: block.number(),
            timestamp: found.timestamp,
            tx_hash: &log.tx_hash,
            tx_index: log.tx_index,
        };
        let mut w = JsonWriter::default();
        write_log_as(&mut w, &log.log, &place, log.log_index, removed);
        lines.extend(w.into_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

impl LogFilter {
    /// Whether a height lies in the range, as far as that is one of numbers.
    fn covers(&self, height: Height) -> bool {
        let number = |block: Option<BlockNumber>| block.and_then(|block| block.as_number());
        number(self.from_block).is_none_or(|from| from <= height)
            && number(self.to_block).is_none_or(|to| height <= to)
    }
}
