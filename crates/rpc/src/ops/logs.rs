//! `eth_getLogs`: the log index says which blocks may match, then their header blooms, then their
//! receipts.

use super::Answer;
use super::log_ahead::{self, Ahead, Candidate};
use crate::{
    LogFilter,
    json::{LogPlace, write_log},
};
use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{Address, B256, Bloom, BloomInput};
use hearth_home::{Home, JsonWriter, NodeError};
use hearth_ledger::posting_index::IndexQuery;
use hearth_primitives::Height;
use hearth_tracers::Cancel;

/// go-ethereum's text where a range ends before it begins.
const INVALID_RANGE: &str = "invalid block range params";

/// Times that a search begins again because the chain changed under it.
const ATTEMPTS: usize = 3;

pub(super) fn get(home: &Home, filter: &LogFilter, stop: &Cancel) -> Answer {
    let Some(hash) = filter.block_hash else { return in_range(home, filter, stop) };
    if filter.from_block.is_some() || filter.to_block.is_some() {
        let message = "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other";
        return Err(NodeError::invalid_params(message));
    }
    let block = home.block_by_hash(&hash)?.ok_or(NodeError::UnknownBlock)?;
    let mut search = LogSearch::new(home);
    search.block(&log_ahead::read(home, filter, &block)?).map_err(|over| over.into_error(None))?;
    Ok(search.finish())
}

/// The logs of canonical blocks, all of one branch.
fn in_range(home: &Home, filter: &LogFilter, stop: &Cancel) -> Answer {
    let reader = home.chain().reader();
    for _ in 0..ATTEMPTS {
        let mut search = LogSearch::new(home);
        let Some((first, last)) = range(home, filter)? else { return Ok(search.finish()) };
        let first = first.max(home.first_block());
        home.check_holes(first, last)?;
        let top = reader.canonical_hash(last)?;
        let query = IndexQuery::logs(&filter.address, &filter.topics);
        let mut ahead = Ahead::new(home, filter, reader.log_blocks(query, first, last)?);
        while let Some((height, candidate)) = ahead.next()? {
            if stop.is_cancelled() {
                return Err(home.interrupted());
            }
            if let Some(candidate) = candidate {
                search.block(&candidate).map_err(|over| over.into_error(Some((first, height))))?;
            }
        }
        // The hash of the last block stands for those below it. It has none where it left the chain
        // before its hash was read.
        if reader.canonical_hash(last)? == top && (top.is_some() || last < first) {
            return Ok(search.finish());
        }
    }
    Err(NodeError::Reorganised { height: home.chain().head().height })
}

/// The heights to search, both inclusive; `None` for none. Which ranges are empty and which are
/// refused is as in go-ethereum (eth/filters/filter.go): there `latest` is above every number until
/// the head is known, so from `latest` to a number is empty, and from beyond the head to `latest`
/// is an error.
fn range(home: &Home, filter: &LogFilter) -> Result<Option<(Height, Height)>, NodeError> {
    let (from, to) = (filter.from_block.unwrap_or_default(), filter.to_block.unwrap_or_default());
    if from == BlockNumberOrTag::Pending || to == BlockNumberOrTag::Pending {
        return Err(NodeError::invalid_params("pending logs are not supported"));
    }
    if let (BlockNumberOrTag::Number(from), BlockNumberOrTag::Number(to)) = (from, to)
        && to > 0
        && from > to
    {
        return Err(NodeError::invalid_params(INVALID_RANGE));
    }
    let head = home.head()?.block.header.number;
    // One head for both ends: it may move meanwhile.
    let height = |number: BlockNumberOrTag| match number {
        BlockNumberOrTag::Latest => Ok(head),
        other => home.height(other).map_err(|error| match error {
            NodeError::TagNotSet { tag } => {
                NodeError::BlockUnknown { text: format!("{tag} header not found") }
            }
            other => other,
        }),
    };
    let (first, last) = (height(from)?, height(to)?);
    if to == BlockNumberOrTag::Latest {
        if first > last {
            return Err(NodeError::invalid_params(INVALID_RANGE));
        }
    } else if from == BlockNumberOrTag::Latest || first > last {
        return Ok(None);
    }
    if last > head {
        return Err(NodeError::invalid_params("block range extends beyond current head block"));
    }
    let limit = home.config().rpc.logs_max_block_range;
    if let Some(limit) = limit.filter(|limit| last - first >= limit.get()) {
        let fits = first + limit.get() - 1;
        let message =
            format!("exceed maximum block range: {limit}; try with the block range {first:#x} to {fits:#x}");
        return Err(NodeError::LimitExceeded { message });
    }
    Ok(Some((first, last)))
}

struct LogSearch {
    found: usize,
    /// Most logs of an answer.
    max_logs: usize,
    /// Most bytes of an answer.
    max_bytes: usize,
    writer: JsonWriter,
}

/// Why a block could not be searched.
enum Unsearched {
    /// The answer would have more logs than allowed.
    Logs(usize),
    /// The answer would have more bytes than allowed.
    Bytes(usize),
}

impl Unsearched {
    /// The error for the client. `range`: the first height searched, and the one whose logs were
    /// too many; everything before that fits.
    fn into_error(self, range: Option<(Height, Height)>) -> NodeError {
        let over = match self {
            Self::Logs(limit) => format!("query returned more than {limit} results"),
            Self::Bytes(limit) => format!("query returned more than {limit} bytes"),
        };
        let remedy = match range {
            Some((first, full)) if full > first => {
                format!("try with the block range {first:#x} to {:#x}", full - 1)
            }
            Some((_, full)) => format!("block {full:#x} alone has more: narrow addresses or topics"),
            None => "the block alone has more: narrow addresses or topics".to_owned(),
        };
        NodeError::LimitExceeded { message: format!("{over}; {remedy}") }
    }
}

impl LogSearch {
    fn new(home: &Home) -> Self {
        let rpc = &home.config().rpc;
        let mut writer = JsonWriter::default();
        writer.begin_array();
        Self { found: 0, max_logs: rpc.logs_max_results, max_bytes: rpc.logs_max_bytes, writer }
    }

    fn finish(mut self) -> Vec<u8> {
        self.writer.end_array();
        self.writer.into_bytes()
    }

    fn block(&mut self, candidate: &Candidate) -> Result<(), Unsearched> {
        for found in &candidate.found.logs {
            self.found += 1;
            if self.found > self.max_logs {
                return Err(Unsearched::Logs(self.max_logs));
            }
            let place = LogPlace {
                block_hash: &candidate.hash,
                number: candidate.height,
                timestamp: candidate.found.timestamp,
                tx_hash: &found.tx_hash,
                tx_index: found.tx_index,
            };
            write_log(&mut self.writer, &found.log, &place, found.log_index);
            // The bracket that closes the answer is still to come.
            if self.writer.len() >= self.max_bytes {
                return Err(Unsearched::Bytes(self.max_bytes));
            }
        }
        Ok(())
    }
}

/// Whether a block with this bloom can hold a log that the filter wants.
pub(super) fn may_match(bloom: &Bloom, filter: &LogFilter) -> bool {
    let any = |inputs: &mut dyn Iterator<Item = &[u8]>| {
        let mut empty = true;
        for input in inputs {
            empty = false;
            if bloom.contains_input(BloomInput::Raw(input)) {
                return true;
            }
        }
        empty
    };
    any(&mut filter.address.iter().map(|a| a.as_slice()))
        && filter.topics.iter().all(|alternatives| any(&mut alternatives.iter().map(|t| t.as_slice())))
}

impl LogFilter {
    /// Whether a log of an address with these topics is wanted. A filter with more positions than
    /// the log has topics never matches.
    pub(super) fn wants(&self, address: &Address, have: &[B256]) -> bool {
        (self.address.is_empty() || self.address.contains(address))
            && self.topics.len() <= have.len()
            && self.topics.iter().zip(have).all(|(wanted, have)| wanted.is_empty() || wanted.contains(have))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Bytes, Log};

    fn log(topics: &[u8]) -> Log {
        let topics = topics.iter().map(|t| B256::repeat_byte(*t)).collect();
        Log::new(Address::repeat_byte(0xaa), topics, Bytes::new()).expect("at most four topics")
    }

    fn topic(t: u8) -> Vec<B256> {
        vec![B256::repeat_byte(t)]
    }

    #[test]
    fn positions_match_in_order_and_empty_ones_accept_anything() {
        let log = log(&[1, 2]);
        let matches = |log: &Log, address: &[Address], topics: &[Vec<B256>]| {
            let filter =
                LogFilter { address: address.to_vec(), topics: topics.to_vec(), ..Default::default() };
            filter.wants(&log.address, log.topics())
        };
        assert!(matches(&log, &[], &[]));
        assert!(matches(&log, &[], &[topic(1)]));
        assert!(matches(&log, &[], &[vec![], topic(2)]));
        assert!(matches(&log, &[Address::repeat_byte(0xaa)], &[topic(1), topic(2)]));
        assert!(!matches(&log, &[], &[topic(2)]));
        assert!(!matches(&log, &[], &[vec![], vec![], vec![]]), "the log has only two topics");
        assert!(!matches(&log, &[Address::ZERO], &[]));
    }

    #[test]
    fn a_bloom_lets_pass_what_it_holds() {
        let mut bloom = Bloom::ZERO;
        bloom.accrue_log(&log(&[1, 2]));
        let filter = |address: Vec<Address>, topics: Vec<Vec<B256>>| LogFilter {
            address,
            topics,
            ..Default::default()
        };
        assert!(may_match(&bloom, &filter(vec![], vec![])));
        assert!(may_match(&bloom, &filter(vec![Address::repeat_byte(0xaa)], vec![vec![], topic(2)])));
        assert!(!may_match(&bloom, &filter(vec![Address::repeat_byte(0xbb)], vec![])));
        assert!(!may_match(&bloom, &filter(vec![], vec![topic(9)])));
    }
}
