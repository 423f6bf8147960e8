//! The chain's name and height.

use super::{Answer, quantity};
use hearth_home::Home;

pub(super) fn block_number(home: &Home) -> Answer {
    quantity(home.head()?.block.header.number)
}

pub(super) fn chain_id(home: &Home) -> Answer {
    quantity(home.chain().next_chain_id().get())
}

/// The network id is the chain id: there are no peers of another network.
pub(super) fn net_version(home: &Home) -> Answer {
    Ok(format!("\"{}\"", home.chain().next_chain_id().get()).into_bytes())
}

/// The core has no peers, so it does not sync: a node under CometBFT and a follower answer
/// `eth_syncing` from their progress, in TypeScript.
pub(super) fn syncing() -> Answer {
    Ok(b"false".to_vec())
}
