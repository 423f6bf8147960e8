//! Changes of balances outside of transactions: block rewards, withdrawals, the DAO's move.

use crate::{dao, env::BlockEnvironment, overlay::BlockState, spec::Fork, write_set::WriteSet};
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, U256};
use hearth_primitives::{Account, StateError};

/// Wei of one gwei, the unit of withdrawals (EIP-4895).
const WEI_PER_GWEI: u64 = 1_000_000_000;
/// Wei of one ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

/// Block reward in wei before the merge: 5, 3 (EIP-649), then 2 ether (EIP-1234).
pub fn block_reward(fork: Fork) -> U256 {
    let ethers = match fork {
        fork if fork < Fork::Byzantium => 5,
        fork if fork < Fork::Constantinople => 3,
        _ => 2,
    };
    U256::from(ethers) * U256::from(ETHER)
}

/// Rewards of a proof-of-work block in wei: that of the miner, and that of each ommer with its
/// beneficiary (yellow paper, section 11.3).
pub fn block_rewards(env: &BlockEnvironment, ommers: &[Header]) -> (U256, Vec<(Address, U256)>) {
    let reward = block_reward(env.fork);
    let of_ommer = |ommer: &Header| {
        let distance = env.number.saturating_sub(ommer.number).min(8);
        (ommer.beneficiary, reward * U256::from(8 - distance) / U256::from(8))
    };
    let miner = reward + reward / U256::from(32) * U256::from(ommers.len());
    (miner, ommers.iter().map(of_ommer).collect())
}

/// Pays rewards before the merge, withdrawals after it.
pub(crate) fn pay(
    state: &mut BlockState<'_>,
    env: &BlockEnvironment,
    ommers: &[Header],
    withdrawals: &[Withdrawal],
    writes: &mut WriteSet,
) -> Result<(), StateError> {
    if env.prev_randao.is_none() {
        let (miner, ommers) = block_rewards(env, ommers);
        for (beneficiary, reward) in ommers {
            credit(state, env, beneficiary, reward, writes)?;
        }
        return credit(state, env, env.beneficiary, miner, writes);
    }
    if env.fork >= Fork::Shanghai {
        for withdrawal in withdrawals {
            let amount = U256::from(withdrawal.amount) * U256::from(WEI_PER_GWEI);
            credit(state, env, withdrawal.address, amount, writes)?;
        }
    }
    Ok(())
}

/// Adds to a balance. Where that touches an account that stays empty, EIP-161 deletes it.
fn credit(
    state: &mut BlockState<'_>,
    env: &BlockEnvironment,
    address: Address,
    amount: U256,
    writes: &mut WriteSet,
) -> Result<(), StateError> {
    let mut account = state.account(address)?.unwrap_or_default();
    account.balance = account.balance.saturating_add(amount);
    set_touched(state, env, address, account, writes)
}

/// Sets an account that is touched. An empty one is deleted from EIP-161 on, and kept before it.
fn set_touched(
    state: &mut BlockState<'_>,
    env: &BlockEnvironment,
    address: Address,
    account: Account,
    writes: &mut WriteSet,
) -> Result<(), StateError> {
    let gone = account.is_empty() && env.fork >= Fork::SpuriousDragon;
    state.set_account(address, (!gone).then_some(account), writes)
}

/// Moves the balances of the DAO and its children to the refund contract (EIP-779). Those of them
/// that do not exist are made, as go-ethereum does (consensus/misc/dao.go: ApplyDAOHardFork).
pub(crate) fn move_dao_funds(
    state: &mut BlockState<'_>,
    env: &BlockEnvironment,
    writes: &mut WriteSet,
) -> Result<(), StateError> {
    let mut moved = U256::ZERO;
    for address in dao::DRAINED_ACCOUNTS {
        let old = state.account(address)?;
        if old.is_some_and(|account| account.balance.is_zero()) {
            continue;
        }
        let mut account = old.unwrap_or_default();
        moved = moved.saturating_add(account.balance);
        account.balance = U256::ZERO;
        set_touched(state, env, address, account, writes)?;
    }
    credit(state, env, dao::REFUND_CONTRACT, moved, writes)
}
