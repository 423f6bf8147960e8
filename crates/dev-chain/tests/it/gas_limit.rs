//! The gas limit of the blocks to come, as a request set it.

use crate::model::{limits, who};
use alloy_consensus::{SignableTransaction as _, TxLegacy};
use alloy_primitives::TxKind;
use hearth_chain::{Chain, ChainOptions};
use hearth_dev_chain::{DevChain, MiningOptions, Steps, dev_genesis_json, placeholder_signature};
use hearth_flatkv::Fsync;
use hearth_pool::{PoolError, TransactionPool};
use hearth_primitives::Transaction;
use std::sync::Arc;

/// A call for which nothing is paid.
fn with_gas(nonce: u64, gas_limit: u64) -> Transaction {
    let to = TxKind::Call(who(2));
    let unsigned = TxLegacy { chain_id: Some(31_337), nonce, gas_limit, to, ..TxLegacy::default() };
    unsigned.into_signed(placeholder_signature(&who(1))).into()
}

#[test]
fn a_gas_limit_counts_for_transactions_at_once() {
    let home = tempfile::tempdir().unwrap();
    let options = ChainOptions { fsync: Fsync::Never, ..ChainOptions::default() };
    let chain = Arc::new(Chain::create(home.path(), &dev_genesis_json(1_000_000), &options).unwrap());
    let pool = Arc::new(TransactionPool::new(chain.spec().clone(), chain.next_chain_id().clone(), limits()));
    let dev = DevChain::new(chain.clone(), pool.clone(), &MiningOptions::default());
    let send = |nonce, gas| dev.submit(with_gas(nonce, gas).into(), Some(who(1))).unwrap().map(drop);
    let is_refused = |sent: Result<(), PoolError>| matches!(sent, Err(PoolError::ExceedsBlockGasLimit));
    assert!(is_refused(send(0, 2_000_000)));
    dev.set_next(|next| (next.gas_limit, next.base_fee) = (Some(5_000_000), Some(0)));
    send(0, 2_000_000).unwrap();
    dev.mine_blocks(1, Steps::default(), &|| false).unwrap();
    let head = chain.head_block().unwrap().unwrap();
    assert_eq!((head.block.header.gas_limit, head.tx_hashes.len()), (5_000_000, 1));
    dev.set_next(|next| next.gas_limit = Some(500_000));
    assert!(is_refused(send(1, 800_000)));
    send(1, 400_000).unwrap();
    let waiting: Vec<_> = pool.entries().iter().map(|entry| (entry.nonce, entry.gas_limit)).collect();
    assert_eq!(waiting, [(1, 400_000)]);
}
