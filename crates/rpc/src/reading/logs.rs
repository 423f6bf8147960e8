//! Logs in batches, with a group for each block that has some.
//!
//! ```text
//! group = number u64 | hash | timestamp u64 | logs u32
//!         | (index u32 | transaction index u32 | transaction hash | log)*
//! ```

use super::{
    range::{Batch, Range, stopped},
    receipts::write_log,
};
use crate::{
    LogFilter,
    ops::{Ahead, Candidate},
};
use hearth_home::{Home, NodeError};
use hearth_ledger::posting_index::IndexQuery;

pub(super) fn batch(home: &Home, range: &Range, filter: &LogFilter) -> Result<Vec<u8>, NodeError> {
    range.check(home)?;
    let mut batch = Batch::new(home);
    let Some(last) = range.last(home) else { return batch.finish(home, range, range.from) };
    home.check_holes(range.from, last)?;
    let query = IndexQuery::logs(&filter.address, &filter.topics);
    let heights = home.chain().reader().log_blocks(query, range.from, last)?;
    let mut ahead = Ahead::new(home, filter, heights);
    let mut next = range.from;
    while !batch.is_full() {
        stopped(home)?;
        let Some((height, candidate)) = ahead.next()? else {
            next = last + 1;
            break;
        };
        next = height + 1;
        if let Some(candidate) = candidate.filter(|candidate| !candidate.found.logs.is_empty()) {
            write(&mut batch, &candidate);
        }
    }
    batch.finish(home, range, next)
}

fn write(batch: &mut Batch, candidate: &Candidate) {
    let packed = &mut batch.packed;
    packed.u64(candidate.height).hash(&candidate.hash).u64(candidate.found.timestamp);
    packed.list(&candidate.found.logs, |packed, found| {
        packed.u32(found.log_index as usize).u32(found.tx_index as usize).hash(&found.tx_hash);
        write_log(packed, &found.log);
    });
    batch.grew();
}
