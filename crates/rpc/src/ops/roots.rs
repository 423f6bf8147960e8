//! `debug_intermediateRoots`: the state root after each transaction of a block, including a
//! rejected one.

use super::Answer;
use alloy_primitives::B256;
use hearth_evm::{BlockEnvironment, BlockExecutor, recover_senders};
use hearth_home::{Home, JsonWriter, NodeError, chain_error};
use hearth_primitives::{Failure, Height, RootTracker as _};
use hearth_tracers::Cancel;
use hearth_traces::check_traceable;
use std::sync::atomic::Ordering;

pub(super) fn intermediate(home: &Home, hash: &B256, stop: &Cancel) -> Answer {
    let (stored, refused);
    let block = match home.block_by_hash(hash)? {
        Some(found) => {
            stored = found;
            &stored.block
        }
        None => {
            refused = home.bad_block(hash).map_err(|error| match error {
                NodeError::BadBlockNotFound { hash } => NodeError::BlockHashNotFound { hash },
                other => other,
            })?;
            &refused
        }
    };
    check_traceable(block)?;
    let (chain, number) = (home.chain(), block.header.number);
    chain.reader().require_trie()?;
    check_depth(home, number)?;
    let state = home.parent_state(&block.header)?;
    let failed = |source: Failure| NodeError::Execution { height: number, source };
    let mut trie = chain.roots_after(number - 1)?;
    let environment = BlockEnvironment::from_header(chain.spec(), &block.header);
    let transactions = &block.body.transactions;
    let senders =
        recover_senders(chain.spec(), &environment, transactions).map_err(|error| failed(error.into()))?;
    let mut executor = BlockExecutor::new(chain.spec(), environment, &state, chain.reader().hashes());
    let sidecar = chain.sidecar(hash).map_err(|error| chain_error(&home.config().home, error))?;
    executor.begin_with_sidecar(sidecar).map_err(|error| failed(error.into()))?;
    if let Some(changes) = executor.writes().last() {
        trie.apply(changes)?;
    }
    let mut roots = Vec::with_capacity(transactions.len());
    for (tx, sender) in transactions.iter().zip(&senders) {
        if stop.is_cancelled() || home.stopping().load(Ordering::Relaxed) {
            return Err(home.interrupted());
        }
        // The roots up to a transaction that does not execute are the answer, as in go-ethereum
        // (eth/tracers/api.go: IntermediateRoots).
        if executor.transact(tx, *sender).is_err() {
            break;
        }
        if let Some(changes) = executor.writes().last() {
            trie.apply(changes)?;
        }
        roots.push(trie.root()?);
    }
    Ok(render(&roots))
}

/// Checks that the trie of a block's parent may be computed: it is that of the head, reverted block
/// by block.
pub(super) fn check_depth(home: &Home, number: Height) -> Result<(), NodeError> {
    let Some(most) = home.config().rpc.max_trie_lookback_blocks else { return Ok(()) };
    let depth = home.head()?.block.header.number.saturating_sub(number);
    if depth > most {
        return Err(NodeError::BeyondTrieLookback {
            reason: format!(
                "block {number} is {depth} blocks below the head, and the state trie is computed for at most {most} (evm.max_trie_lookback_blocks)"
            ),
        });
    }
    Ok(())
}

/// A list of roots; `null` where there is none, as in go-ethereum.
fn render(roots: &[B256]) -> Vec<u8> {
    let mut writer = JsonWriter::default();
    if roots.is_empty() {
        writer.null();
        return writer.into_bytes();
    }
    writer.begin_array();
    for root in roots {
        writer.hash(root);
    }
    writer.end_array();
    writer.into_bytes()
}
