//! `eth_config` (EIP-7910) and `eth_capabilities`: the rules of this node's chain, and how far back
//! its data reaches.

use super::Answer;
use alloy_primitives::{B256, U256};
use hearth_evm::{
    BEACON_ROOTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS, ChainSpec, Fork, HISTORY_ADDRESS,
    WITHDRAWAL_REQUESTS_ADDRESS, named_precompiles,
};
use hearth_home::{Home, JsonWriter, NodeError, chain_error};
use hearth_primitives::Height;

/// Bytes to reserve for the configuration of three forks.
const CONFIG_BYTES: usize = 6_000;

/// The rules of the head, of the next fork by time, and of the last one that is scheduled.
pub(super) fn of_forks(home: &Home) -> Answer {
    let spec = home.chain().spec();
    let (hash, time) = if home.chain().is_follower() {
        // It has the rules of the chain wherever it begins.
        home.chain().genesis().map_err(|error| chain_error(&home.config().home, error))?
    } else {
        let first = home.first_block();
        let genesis = home.canonical(0)?.ok_or(NodeError::BeforeFirstBlock { height: 0, first })?;
        (genesis.hash, genesis.block.header.timestamp)
    };
    let origin = Origin { spec, chain_id: home.chain().next_chain_id().get(), hash, time };
    let now = home.head()?.block.header.timestamp;
    let times = spec.fork_times();
    let current = times.range(..=now).next_back();
    let next = times.range(now.saturating_add(1)..).next();
    let last = next.and(times.last());
    let mut w = JsonWriter::with_capacity(CONFIG_BYTES);
    w.begin_object();
    for (name, time) in [("current", current), ("next", next), ("last", last)] {
        w.key(name);
        match time {
            Some(time) => origin.write(&mut w, *time),
            None => {
                w.null();
            }
        }
    }
    w.end_object();
    Ok(w.into_bytes())
}

/// The first block of a chain.
struct Origin<'a> {
    spec: &'a ChainSpec,
    chain_id: u64,
    hash: B256,
    /// In seconds.
    time: u64,
}

impl Origin<'_> {
    /// Writes the configuration from a time on.
    fn write(&self, w: &mut JsonWriter, time: u64) {
        let fork = self.spec.fork_at_time(time);
        // What holds from the first block on holds from 0.
        let activation = if time <= self.time { 0 } else { time };
        w.begin_object().key("activationTime").raw(&activation.to_string());
        w.key("blobSchedule");
        match self.spec.blob_params(time).filter(|_| fork >= Fork::Cancun) {
            Some(params) => {
                w.begin_object().key("target").raw(&params.target.to_string());
                w.key("max").raw(&params.max.to_string());
                w.key("baseFeeUpdateFraction").raw(&params.update_fraction.to_string()).end_object();
            }
            None => {
                w.null();
            }
        }
        w.key("chainId").quantity_u256(&U256::from(self.chain_id));
        w.key("forkId").bytes(&self.spec.fork_hash(&self.hash, self.time, time));
        w.key("precompiles").begin_object();
        for (name, address) in named_precompiles(fork) {
            w.key(name).address(&address);
        }
        w.end_object().key("systemContracts").begin_object();
        if fork >= Fork::Cancun {
            w.key("BEACON_ROOTS_ADDRESS").address(&BEACON_ROOTS_ADDRESS);
        }
        if fork >= Fork::Prague {
            w.key("CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS").address(&CONSOLIDATION_REQUESTS_ADDRESS);
            w.key("DEPOSIT_CONTRACT_ADDRESS").address(&self.spec.deposit_contract());
            w.key("HISTORY_STORAGE_ADDRESS").address(&HISTORY_ADDRESS);
            w.key("WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS").address(&WITHDRAWAL_REQUESTS_ADDRESS);
        }
        w.end_object().end_object();
    }
}

/// The head, and the oldest block for which each kind of data is kept.
pub(super) fn capabilities(home: &Home) -> Answer {
    let head = home.head()?;
    let (blocks, receipts) = home.chain().reader().floors();
    let first = home.first_block();
    let (blocks, receipts) = (blocks.max(first), receipts.max(first));
    let reader = home.chain().reader();
    let state = reader.oldest_state().unwrap_or(head.number());
    let proofs = reader.has_trie().then_some(state);
    let mut w = JsonWriter::with_capacity(CONFIG_BYTES);
    w.begin_object().key("head").begin_object();
    w.key("number").quantity(head.number()).key("hash").hash(&head.hash).end_object();
    for (name, oldest) in [
        ("state", Some(state)),
        ("tx", Some(blocks)),
        ("logs", Some(receipts)),
        ("receipts", Some(receipts)),
        ("blocks", Some(blocks)),
        ("stateproofs", proofs),
    ] {
        write_range(w.key(name), oldest);
    }
    w.end_object();
    Ok(w.into_bytes())
}

/// Data from a height on; `None` where there is none.
fn write_range(w: &mut JsonWriter, oldest: Option<Height>) {
    w.begin_object().key("disabled").bool(oldest.is_none());
    if let Some(oldest) = oldest {
        w.key("oldestBlock").quantity(oldest);
    }
    w.end_object();
}
