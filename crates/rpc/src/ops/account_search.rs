//! Searches by account, for Otterscan: the transactions that an account has part in, a contract's
//! creation, a sender's transaction. The address index says which blocks may have what is looked
//! for; these are traced.
//!
//! Pages are Erigon's (`turbo/jsonrpc/otterscan_search_*`): newest transactions first, and the last
//! block of a page is whole, so that a page begins where the one before it ended.

use super::{Answer, null, receipts, transactions::render_in};
use crate::AccountSearch;
use alloy_primitives::Address;
use hearth_home::{BlockNumber, Home, JsonWriter, NodeError};
use hearth_ledger::posting_index::IndexQuery;
use hearth_ledger::{LedgerError, StoredBlock};
use hearth_primitives::Height;
use hearth_tracers::{Cancel, Limits};
use hearth_traces::{Traces, time_is_over};
use std::sync::Arc;
use std::time::Duration;

/// Times that a search begins again because the chain changed under it.
const ATTEMPTS: usize = 3;

/// A contract's creation to find.
pub(super) struct Creation<'a> {
    pub address: &'a Address,
    /// The only block to look at.
    pub block: Option<BlockNumber>,
    /// Most blocks that may be traced.
    pub max_blocks: u64,
}

/// Transactions of one block, by their places in ascending order.
struct Found {
    block: Arc<StoredBlock>,
    places: Vec<usize>,
}

/// What a search came to.
struct Page {
    /// In the order of the search.
    found: Vec<Found>,
    /// Whether nothing more lies in its direction.
    ended: bool,
}

/// A page of the transactions that involve an account, newest first: `{txs, receipts, firstPage,
/// lastPage}`.
pub(super) fn transactions(traces: &Traces, asked: &AccountSearch, stop: &Cancel) -> Answer {
    let home = traces.home();
    for _ in 0..ATTEMPTS {
        let head = home.chain().head();
        let page = page(traces, asked, head.height, stop)?;
        if home.chain().reader().canonical_hash(head.height)? == Some(head.hash) {
            return render(home, asked, page);
        }
    }
    Err(NodeError::Reorganised { height: home.chain().head().height })
}

fn page(traces: &Traces, asked: &AccountSearch, head: Height, stop: &Cancel) -> Result<Page, NodeError> {
    let (home, block) = (traces.home(), asked.block.to::<u64>());
    if block > head {
        let message = format!("Invalid block param (block not found): the newest block is {head}");
        return Err(NodeError::invalid_params(message));
    }
    let floor = Floor::of(home)?;
    home.check_holes(floor.lowest, head)?;
    let reader = home.chain().reader();
    let mut search = Search { traces, asked, limits: limits(home, stop), looked_at: 0, found: Vec::new() };
    if asked.before {
        let highest = if block == 0 { head } else { block - 1 };
        let mut ended = true;
        if highest >= floor.lowest {
            ended = search.run(reader.account_blocks_back(&asked.address, highest, floor.lowest)?)?;
        }
        if ended && search.found.is_empty() {
            // What lies below is not known: that there is nothing cannot be said.
            floor.check_complete(highest)?;
        }
        return Ok(Page { ended: ended && floor.missing.is_none(), found: search.found });
    }
    let from = if block == 0 { floor.lowest } else { block + 1 };
    floor.check_from(if block == 0 { 0 } else { from })?;
    let query = IndexQuery::accounts(&[&[asked.address]]);
    let ended = from > head || search.run(reader.account_blocks(query, from, head)?)?;
    Ok(Page { ended, found: search.found })
}

/// How far down the chain can be searched.
struct Floor {
    /// Lowest height.
    lowest: Height,
    /// Why lower ones cannot; `None` where there are none with transactions.
    missing: Option<NodeError>,
}

impl Floor {
    fn of(home: &Home) -> Result<Self, NodeError> {
        let reader = home.chain().reader();
        let indexed = reader.first_indexed()?.ok_or(LedgerError::NoAddressIndex)?;
        let (blocks, receipts) = reader.floors();
        let first = home.first_block();
        // The genesis has no transactions.
        let mut floor = Self { lowest: first.max(1), missing: None };
        if first > 0 {
            floor.missing = Some(NodeError::BeforeFirstBlock { height: first - 1, first });
        }
        let kept = [(indexed, "blocks of the address index"), (blocks, "blocks"), (receipts, "receipts")];
        for (at, what) in kept {
            if at > floor.lowest {
                floor.lowest = at;
                floor.missing = Some(NodeError::Pruned { height: at - 1, what, floor: at });
            }
        }
        Ok(floor)
    }

    /// Fails where blocks below a height were to be searched that are not there.
    fn check_complete(&self, height: Height) -> Result<(), NodeError> {
        match &self.missing {
            Some(error) if height > 0 => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Fails where a search upwards begins below the lowest height.
    fn check_from(&self, from: Height) -> Result<(), NodeError> {
        match &self.missing {
            Some(error) if from < self.lowest => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

fn limits(home: &Home, stop: &Cancel) -> Limits {
    let call_timeout = Duration::from_millis(home.config().rpc.trace_timeout_ms);
    Limits { call_timeout, cancel: stop.clone(), ..Limits::default() }
}

struct Search<'a> {
    traces: &'a Traces,
    asked: &'a AccountSearch,
    limits: Limits,
    /// Blocks that were looked at.
    looked_at: u64,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Looks at blocks until the page is full and one more is known to follow; whether there is
    /// none.
    fn run(&mut self, heights: impl Iterator<Item = Result<Height, LedgerError>>) -> Result<bool, NodeError> {
        let mut number = 0;
        for height in heights {
            let height = height?;
            if self.limits.cancel.is_cancelled() {
                return Err(self.traces.home().interrupted());
            }
            if self.looked_at >= self.asked.max_blocks || time_is_over(&self.limits) {
                return self.give_up(height);
            }
            self.looked_at += 1;
            let block = canonical(self.traces.home(), height)?;
            let places = self.traces.transactions_with(&block, &self.asked.address, &self.limits);
            let places = match places {
                Err(_) if time_is_over(&self.limits) => return self.give_up(height),
                // What was found is an answer; a request for the next page gets the error.
                Err(_) if !self.found.is_empty() => return Ok(false),
                other => other?,
            };
            if places.is_empty() {
                continue;
            }
            if number >= self.asked.page_size {
                return Ok(false);
            }
            number += places.len() as u64;
            self.found.push(Found { block, places });
        }
        Ok(true)
    }

    /// A limit is reached before a height: what was found is a page, and without any the error says
    /// where to continue.
    fn give_up(&self, height: Height) -> Result<bool, NodeError> {
        if !self.found.is_empty() {
            return Ok(false);
        }
        let Self { looked_at, asked, .. } = self;
        let (method, block) = match asked.before {
            true => ("ots_searchTransactionsBefore", height + 1),
            false => ("ots_searchTransactionsAfter", height.saturating_sub(1)),
        };
        Err(NodeError::LimitExceeded {
            message: format!(
                "none of {looked_at} blocks that may have a transaction of the account has one, and no more are searched at once (evm.max_trace_filter_blocks, evm.trace_timeout): continue with {method} of block {block}"
            ),
        })
    }
}

fn canonical(home: &Home, height: Height) -> Result<Arc<StoredBlock>, NodeError> {
    let missing = || NodeError::BlockNotFound { number: Some(height) };
    home.block_by_number(BlockNumber::Number(height))?.ok_or_else(missing)
}

/// The answer: every list newest first.
fn render(home: &Home, asked: &AccountSearch, mut page: Page) -> Answer {
    if !asked.before {
        page.found.reverse();
    }
    let (mut txs, mut timed) = (JsonWriter::default(), JsonWriter::default());
    txs.begin_array();
    timed.begin_array();
    for Found { block, places } in &page.found {
        let senders = &home.receipts_of(block)?.senders;
        let receipts = receipts::timed(home, block, places)?;
        for (&index, receipt) in places.iter().zip(&receipts).rev() {
            txs.raw(&text(&render_in(block, senders, index)?));
            timed.raw(&text(receipt));
        }
    }
    let (begins, ends) = (asked.block.is_zero(), page.ended);
    let (first, last) = if asked.before { (begins, ends) } else { (ends, begins) };
    txs.end_array();
    timed.end_array();
    let mut writer = JsonWriter::with_capacity(txs.len() + timed.len() + 128);
    writer.begin_object();
    writer.key("txs").raw(&text(&txs.into_bytes()));
    writer.key("receipts").raw(&text(&timed.into_bytes()));
    writer.key("firstPage").bool(first);
    writer.key("lastPage").bool(last);
    writer.end_object();
    Ok(writer.into_bytes())
}

fn text(json: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(json)
}

/// The transaction that created a contract, and the account that did.
pub(super) fn creation(traces: &Traces, asked: &Creation<'_>, stop: &Cancel) -> Answer {
    let (home, limits) = (traces.home(), limits(traces.home(), stop));
    let of_block = |block: &StoredBlock| match traces.creation_in(block, asked.address, &limits)? {
        Some((index, creator)) => created(block, index, &creator).map(Some),
        None => Ok(None),
    };
    if let Some(number) = asked.block {
        let missing = || NodeError::BlockNotFound { number: None };
        let block = home.block_by_number(number)?.ok_or_else(missing)?;
        return of_block(&block)?.map_or_else(null, Ok);
    }
    let floor = Floor::of(home)?;
    floor.check_from(0)?;
    let query = IndexQuery::accounts(&[&[*asked.address]]);
    let head = home.chain().head().height;
    home.check_holes(floor.lowest, head)?;
    let heights = home.chain().reader().account_blocks(query, floor.lowest, head)?;
    for (looked_at, height) in (0..).zip(heights) {
        if limits.cancel.is_cancelled() {
            return Err(home.interrupted());
        }
        if looked_at >= asked.max_blocks || time_is_over(&limits) {
            let message = format!(
                "the contract was created in none of the first {looked_at} blocks that may have done so, and no more are searched (evm.max_trace_filter_blocks, evm.trace_timeout)"
            );
            return Err(NodeError::LimitExceeded { message });
        }
        if let Some(answer) = of_block(&*canonical(home, height?)?)? {
            return Ok(answer);
        }
    }
    null()
}

fn created(block: &StoredBlock, index: usize, creator: &Address) -> Answer {
    let missing = || NodeError::Store { message: format!("block {} has no transaction {index}", block.hash) };
    let hash = block.tx_hashes.get(index).ok_or_else(missing)?;
    let mut writer = JsonWriter::default();
    writer.begin_object();
    writer.key("hash").hash(hash);
    writer.key("creator").address(creator);
    writer.end_object();
    Ok(writer.into_bytes())
}

/// Hash of the mined transaction of a sender with a nonce. A sender's nonces rise from block to
/// block, so the blocks that the address index names are halved until one is left.
pub(super) fn by_sender(
    traces: &Traces,
    sender: &Address,
    nonce: u64,
    max_blocks: u64,
    stop: &Cancel,
) -> Answer {
    let home = traces.home();
    let floor = Floor::of(home)?;
    floor.check_from(0)?;
    let reader = home.chain().reader();
    let (mut low, mut high) = (floor.lowest, home.chain().head().height);
    while low <= high {
        let middle = low + (high - low) / 2;
        // The last block up to the middle with a transaction of the sender, and the nonces that it
        // has there.
        let mut at = None;
        for (looked_at, height) in (0..).zip(reader.account_blocks_back(sender, middle, low)?) {
            if stop.is_cancelled() {
                return Err(home.interrupted());
            }
            if looked_at >= max_blocks {
                let message = format!(
                    "the sender has no transaction in {looked_at} blocks that may have one, and no more are read (evm.max_trace_filter_blocks)"
                );
                return Err(NodeError::LimitExceeded { message });
            }
            let block = canonical(home, height?)?;
            if let Some(nonces) = nonces_in(home, &block, sender)? {
                at = Some((block, nonces));
                break;
            }
        }
        let Some((block, nonces)) = at else {
            low = middle + 1;
            continue;
        };
        if let Some((_, index)) = nonces.iter().find(|(has, _)| *has == nonce) {
            let mut writer = JsonWriter::default();
            writer.hash(block.tx_hashes.get(*index).ok_or(NodeError::TransactionNotFound)?);
            return Ok(writer.into_bytes());
        }
        match nonces.first() {
            Some((first, _)) if *first > nonce => high = block.number() - 1,
            _ => low = middle + 1,
        }
    }
    null()
}

/// Nonces of a sender's transactions in a block with their places; `None` where it has none there.
fn nonces_in(
    home: &Home,
    block: &StoredBlock,
    sender: &Address,
) -> Result<Option<Vec<(u64, usize)>>, NodeError> {
    use alloy_consensus::Transaction as _;
    let senders = home.senders_of(block)?;
    let transactions = block.block.body.transactions.iter().zip(senders.iter()).enumerate();
    let own = transactions.filter(|(_, (_, from))| *from == sender);
    let nonces: Vec<_> = own.map(|(index, (tx, _))| (tx.nonce(), index)).collect();
    Ok((!nonces.is_empty()).then_some(nonces))
}
