//! Operations that only a development chain has.

mod blobs;
mod dump;
mod erc20;
mod info;
mod mining;

use super::{Answer, null, short, wallet};
use crate::request::DevRequest;
use alloy_primitives::{Address, U256};
use hearth_chain::{AccountEdit, ChainError};
use hearth_dev_chain::{ControlError, DevChain, IMPERSONATED_MAX, Mining};
use hearth_flatkv::FlatKvError;
use hearth_home::{Home, NodeError, chain_error};
use hearth_tracers::Cancel;
use std::time::Duration;

/// Where such a request is made: the home and its block production.
struct Site<'a> {
    home: &'a Home,
    dev: &'a DevChain,
    stop: &'a Cancel,
}

/// Answers a request.
pub(super) fn answer(home: &Home, request: DevRequest, stop: &Cancel) -> Answer {
    let Some(dev) = home.dev() else {
        let message = "this node makes no blocks: only `hearth dev` has a development chain".to_owned();
        return Err(NodeError::Unsupported { message });
    };
    let site = Site { home, dev, stop };
    let edit = |address: Address, edit: AccountEdit| site.done(dev.edit(&[(address, edit)]));
    match request {
        DevRequest::Mine(mine) => mining::mine(&site, &mine).and_then(|_| null()),
        DevRequest::MineDetailed(mine) => mining::mine_detailed(&site, &mine),
        DevRequest::IncreaseTime { seconds } => {
            let moved = dev.set_clock(|clock, head| clock.increase(seconds.to(), head));
            let moved = site.controlled(moved)?;
            short(|w| w.raw(&moved.to_string()))
        }
        DevRequest::SetNextBlockTimestamp { timestamp } => {
            let set = dev.set_clock(|clock, head| clock.set_next(timestamp.to(), head));
            site.controlled(set).and_then(|()| null())
        }
        DevRequest::SetTime { timestamp } => {
            let moved = site.controlled(dev.set_clock(|clock, head| clock.reset(timestamp.to(), head)))?;
            short(|w| w.raw(&moved.to_string()))
        }
        DevRequest::SetAutomine { enabled } => {
            dev.change_mining(|mining| Mining::automine(enabled, mining.interval));
            if enabled {
                // What waited until now is made blocks of, as anvil and hardhat do.
                site.chained(dev.mine_ready())?;
            }
            null()
        }
        DevRequest::GetAutomine => boolean(dev.mining().automine),
        DevRequest::SetIntervalMining { milliseconds } => {
            let interval =
                Some(milliseconds.to::<u64>()).filter(|every| *every > 0).map(Duration::from_millis);
            if dev.change_mining(|mining| mining.every(interval)).automine {
                site.chained(dev.mine_ready())?;
            }
            null()
        }
        DevRequest::GetIntervalMining => match dev.mining().interval {
            Some(every) => short(|w| w.raw(&every.as_secs().to_string())),
            None => null(),
        },
        DevRequest::SetBlockTimestampInterval { seconds } => {
            let set = dev.set_clock(|clock, _| clock.set_interval(seconds.to()));
            site.controlled(set).and_then(|()| null())
        }
        DevRequest::RemoveBlockTimestampInterval => {
            boolean(site.controlled(dev.set_clock(|clock, _| Ok(clock.remove_interval())))?)
        }
        DevRequest::Snapshot => super::quantity(dev.snapshot()),
        DevRequest::Revert { id } => match u64::try_from(id) {
            Ok(number) => boolean(site.chained(dev.revert(number))?),
            Err(_) => boolean(false),
        },
        DevRequest::SetNextBlockBaseFee { fee } => {
            let fee = u64::try_from(fee);
            let fee = fee.map_err(|_| NodeError::invalid_params("the base fee takes at most 64 bits"))?;
            dev.set_next(|next| next.base_fee = Some(fee));
            null()
        }
        DevRequest::SetChainId { id } => site.controlled(dev.set_chain_id(id.to())).and_then(|()| null()),
        DevRequest::SetMinGasPrice { price } => mining::set_min_gas_price(&site, price),
        DevRequest::SetBlockGasLimit { limit } => {
            dev.set_next(|next| next.gas_limit = Some(limit.to()));
            boolean(true)
        }
        DevRequest::SetCoinbase { address } => {
            dev.set_next(|next| next.coinbase = address);
            null()
        }
        DevRequest::SetPrevRandao { value } => {
            dev.set_next(|next| next.prev_randao = Some(value));
            null()
        }
        DevRequest::Rollback { depth } => site.controlled(dev.rollback(depth.to())).and_then(|()| null()),
        DevRequest::Reorg { depth, transactions } => mining::reorg(&site, depth.to(), transactions),
        DevRequest::SetBalance { address, balance } => {
            edit(address, AccountEdit { balance: Some(balance), ..AccountEdit::default() })
        }
        DevRequest::AddBalance { address, balance } => site.done(dev.edit_with(address, |account| {
            AccountEdit { balance: Some(account.balance.saturating_add(balance)), ..AccountEdit::default() }
        })),
        DevRequest::SetCode { address, code } => {
            edit(address, AccountEdit { code: Some(code), ..AccountEdit::default() })
        }
        DevRequest::SetNonce { address, nonce } => {
            edit(address, AccountEdit { nonce: Some(nonce.to()), ..AccountEdit::default() })
        }
        DevRequest::SetStorageAt { address, slot, value } => {
            edit(address, slot_edit(slot, value)).and_then(|_| boolean(true))
        }
        DevRequest::Impersonate { address } => match dev.impersonation().start(address) {
            true => null(),
            false => Err(NodeError::LimitExceeded {
                message: format!("at most {IMPERSONATED_MAX} accounts are impersonated at the same time"),
            }),
        },
        DevRequest::StopImpersonating { address } => {
            dev.impersonation().stop(&address);
            null()
        }
        DevRequest::AutoImpersonate { enabled } => {
            dev.impersonation().set_everyone(enabled);
            null()
        }
        DevRequest::DropTransaction { hash } => match home.pool().remove(&hash) {
            Some(_) => short(|w| w.hash(&hash)),
            None => null(),
        },
        DevRequest::DropAllTransactions => {
            home.pool().remove_where(|_| true);
            null()
        }
        DevRequest::RemovePoolTransactions { address } => {
            home.pool().remove_where(|entry| entry.sender == address);
            null()
        }
        DevRequest::Reset => {
            let start = home.config().dev.mining();
            site.chained(dev.reset(start.clock_offset, start.gas_limit))?;
            dev.set_mining(start.mining());
            null()
        }
        DevRequest::DumpState => dump::dump(&site),
        DevRequest::LoadState { state } => dump::load(&site, &state),
        DevRequest::NodeInfo => info::node(&site),
        DevRequest::Metadata { client_version, hardhat } => {
            if hardhat {
                dev.identify_hardhat();
            }
            info::metadata(&site, &client_version)
        }
        DevRequest::BlobsOfTransaction { hash } => blobs::of_transaction(home, &hash),
        DevRequest::BlobByHash { hash } => blobs::by_hash(home, &hash),
        DevRequest::DealErc20 { address, token, balance } => {
            erc20::set(&site, token, erc20::Entry::BalanceOf(address), balance)
        }
        DevRequest::SetErc20Allowance { owner, spender, token, amount } => {
            erc20::set(&site, token, erc20::Entry::Allowance(owner, spender), amount)
        }
        DevRequest::SendUnsignedTransaction { transaction } => {
            wallet::send_unsigned(home, *transaction, stop)
        }
        DevRequest::SetLoggingEnabled { .. } => null(),
    }
}

fn slot_edit(slot: U256, value: U256) -> AccountEdit {
    AccountEdit { slots: vec![(slot, value)], ..AccountEdit::default() }
}

fn boolean(value: bool) -> Answer {
    short(|w| w.raw(if value { "true" } else { "false" }))
}

impl Site<'_> {
    /// `null` once something is done.
    fn done(&self, done: Result<(), ChainError>) -> Answer {
        self.chained(done).and_then(|()| null())
    }

    /// What the chain says, in the node's terms.
    fn chained<T>(&self, done: Result<T, ChainError>) -> Result<T, NodeError> {
        done.map_err(|error| match error {
            error @ ChainError::TooManyEdits { .. } => {
                NodeError::LimitExceeded { message: error.to_string() }
            }
            ChainError::Store(error @ FlatKvError::UnwindTarget { .. }) => {
                NodeError::invalid_params(error.to_string())
            }
            other => chain_error(&self.home.config().home, other),
        })
    }

    fn controlled<T>(&self, done: Result<T, ControlError>) -> Result<T, NodeError> {
        done.map_err(|error| match error {
            ControlError::Chain(error) => match self.chained::<()>(Err(error)) {
                Err(error) => error,
                Ok(()) => NodeError::Closed,
            },
            other => NodeError::invalid_params(other.to_string()),
        })
    }
}
