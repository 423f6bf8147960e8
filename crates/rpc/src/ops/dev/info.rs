//! What a development node says of itself, in anvil's shapes.

use super::Site;
use crate::ops::Answer;
use alloy_primitives::U256;
use hearth_chain::fees;
use hearth_home::Home;
use hearth_pool::Order;
use serde_json::{Map, Value, json};

fn render(value: &Value) -> Answer {
    Ok(value.to_string().into_bytes())
}

fn fork_block(home: &Home) -> Option<u64> {
    (!home.chain().reader().has_roots()).then(|| home.chain().base())
}

pub(super) fn node(site: &Site<'_>) -> Answer {
    let (home, dev) = (site.home, site.dev);
    let head = home.head()?;
    let header = &head.block.header;
    let chain = home.chain();
    let next = dev.next_header(header);
    let base_fee = next.base_fee_per_gas.or_else(|| fees::next_base_fee(chain.spec(), header)).unwrap_or(0);
    let tip = home.suggested_tip()?;
    let order = match dev.order() {
        Order::Fees => "fees",
        Order::Fifo => "fifo",
    };
    render(&json!({
        "currentBlockNumber": format!("{:#x}", header.number),
        "currentBlockTimestamp": header.timestamp,
        "currentBlockHash": head.hash,
        "hardFork": chain.spec().fork_of(&next).name(),
        "transactionOrder": order,
        "environment": {
            "baseFee": format!("{base_fee:#x}"),
            "chainId": chain.next_chain_id().get(),
            "gasLimit": format!("{:#x}", next.gas_limit),
            "gasPrice": format!("{:#x}", U256::from(tip).saturating_add(U256::from(base_fee))),
        },
        "forkConfig": {
            "forkUrl": Value::Null,
            "forkBlockNumber": fork_block(home),
            "forkRetryBackoff": Value::Null,
        },
    }))
}

pub(super) fn metadata(site: &Site<'_>, client_version: &str) -> Answer {
    let home = site.home;
    let head = home.head()?;
    let snapshots = site.dev.snapshots();
    let snapshots =
        snapshots.into_iter().map(|(number, height, hash)| (format!("{number:#x}"), json!([height, hash])));
    let forked = fork_block(home).map(|number| {
        json!({
            "chainId": home.chain().next_chain_id().get(),
            "forkBlockNumber": number,
            "forkBlockHash": home.chain().base_hash(),
        })
    });
    render(&json!({
        "clientVersion": client_version,
        "chainId": home.chain().next_chain_id().get(),
        "instanceId": home.instance_id(),
        "latestBlockNumber": head.number(),
        "latestBlockHash": head.hash,
        "forkedNetwork": forked,
        "snapshots": Value::Object(snapshots.collect::<Map<_, _>>()),
    }))
}
