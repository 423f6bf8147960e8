//! The output of a block without transactions, computed without the interpreter.
//!
//! Only system calls change the state in such a block, and the effect of the canonical contracts is
//! known: EIP-4788 and EIP-2935 write their ring buffers; EIP-7002 and EIP-7251 with empty queues
//! change nothing. This makes a chain of empty blocks several times as fast
//! (`npm run bench -- dev`, row `mine`). A test executes the same blocks on the interpreter and
//! compares the outputs.

use crate::{
    ChainSpec, Fork,
    env::BlockEnvironment,
    system::{
        BEACON_ROOTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS, HISTORY_ADDRESS, WITHDRAWAL_REQUESTS_ADDRESS,
    },
};
use alloy_consensus::EMPTY_ROOT_HASH;
use alloy_eips::{eip2935, eip4788, eip7002, eip7251, eip7685::Requests};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_primitives::{
    Account, AccountChange, BlockOutput, Changeset, Header, ReadSet, SlotChange, StateError, StateReader,
};
use std::sync::LazyLock;

/// Entries of the ring buffer of EIP-4788 (`HISTORY_BUFFER_LENGTH`).
const BEACON_ROOTS_LENGTH: u64 = 8191;
/// Entries of the ring buffer of EIP-2935 (`HISTORY_SERVE_WINDOW`).
const HISTORY_LENGTH: u64 = 8191;
/// Slots that the contracts of EIP-7002 and EIP-7251 read in their system call: excess, count, head
/// and tail of the queue. All are zero as long as no request was ever made.
const QUEUE_SLOTS: u64 = 4;
/// Contracts that an empty block writes to.
const RINGS: usize = 2;
/// Slots that an empty block reads: two of EIP-4788, one of EIP-2935, those of two queues.
const SLOTS_READ: usize = 3 + 2 * QUEUE_SLOTS as usize;

/// The system contracts in ascending order of address, with the hashes of their canonical code.
static CONTRACTS: LazyLock<[(Address, B256); 4]> = LazyLock::new(|| {
    let mut contracts = [
        (BEACON_ROOTS_ADDRESS, keccak256(&eip4788::BEACON_ROOTS_CODE)),
        (HISTORY_ADDRESS, keccak256(&eip2935::HISTORY_STORAGE_CODE)),
        (WITHDRAWAL_REQUESTS_ADDRESS, keccak256(&eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE)),
        (CONSOLIDATION_REQUESTS_ADDRESS, keccak256(&eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE)),
    ];
    contracts.sort_unstable_by_key(|(address, _)| *address);
    contracts
});

/// Whether the header shows that a block has no transactions: nothing of it can be traced, so it
/// has no trace capsule. False for all blocks of CometBFT, whose native transactions are not in
/// the header.
pub fn has_no_transactions(spec: &ChainSpec, header: &Header) -> bool {
    header.transactions_root == EMPTY_ROOT_HASH && !spec.is_bft()
}

/// The output of a block without transactions, withdrawals and ommers in this environment on
/// `state`, equal to that of a capturing [`crate::BlockExecutor`]. `None` if the block has to be
/// executed: before Prague and after Osaka, if a system contract is not the canonical one, and if a
/// request was made.
///
/// # Errors
/// A failed read of the state.
pub fn empty_block_output(
    spec: &ChainSpec,
    env: &BlockEnvironment,
    state: &dyn StateReader,
) -> Result<Option<BlockOutput>, StateError> {
    let block = next_empty_block(spec, env, state, &mut SystemAccounts::default())?;
    Ok(block.map(|block| block.output()))
}

/// What empty blocks find alike and leave as it is: the system contracts, and that nothing was
/// requested of them. Empty before the first block of a chain of empty blocks.
#[derive(Clone, Debug, Default)]
pub struct SystemAccounts(Option<[Account; 4]>);

/// What the system calls of a block without transactions read and wrote: everything that such
/// blocks differ in beside their headers. It takes no allocation, so that many are soon made.
#[derive(Clone, Debug)]
pub struct EmptyBlock {
    /// The accounts of [`CONTRACTS`], which stay as they are.
    accounts: [Account; 4],
    /// EIP-4788: the slots of time and root.
    beacon: [SlotChange; 2],
    /// EIP-2935.
    history: SlotChange,
}

impl EmptyBlock {
    /// The slots of a contract that writes, in ascending order; none for another one.
    fn slots_of(&self, address: Address) -> &[SlotChange] {
        match address {
            BEACON_ROOTS_ADDRESS => &self.beacon,
            HISTORY_ADDRESS => std::slice::from_ref(&self.history),
            _ => &[],
        }
    }

    fn contracts(&self) -> impl Iterator<Item = (Address, Account)> {
        CONTRACTS.iter().map(|(address, _)| *address).zip(self.accounts)
    }

    /// Slots that were written, with their contracts.
    pub fn written(&self) -> impl Iterator<Item = (Address, &SlotChange)> {
        let beacon = self.beacon.iter().map(|slot| (BEACON_ROOTS_ADDRESS, slot));
        beacon.chain([(HISTORY_ADDRESS, &self.history)])
    }

    /// What the block changes.
    pub fn changes(&self) -> Changeset {
        let mut accounts = Vec::with_capacity(RINGS);
        for (address, account) in self.contracts() {
            let slots = self.slots_of(address);
            let changed = slots.iter().filter(|slot| slot.old != slot.new).count();
            if changed > 0 {
                let mut storage = Vec::with_capacity(changed);
                storage.extend(slots.iter().filter(|slot| slot.old != slot.new));
                let (old, new) = (Some(account), Some(account));
                accounts.push(AccountChange { address, old, new, wiped: false, storage });
            }
        }
        Changeset { accounts, codes: Vec::new() }
    }

    /// Its output, equal to that of a capturing [`crate::BlockExecutor`].
    pub fn output(&self) -> BlockOutput {
        let mut reads = ReadSet {
            captured: true,
            accounts: Vec::with_capacity(CONTRACTS.len()),
            slots: Vec::with_capacity(SLOTS_READ),
            codes: Vec::with_capacity(CONTRACTS.len()),
            ..ReadSet::default()
        };
        for (address, account) in self.contracts() {
            reads.accounts.push((address, Some(account)));
            reads.codes.push(account.code_hash);
            match self.slots_of(address) {
                [] => reads.slots.extend(queue_slots().map(|slot| (address, slot, U256::ZERO))),
                slots => reads.slots.extend(slots.iter().map(|slot| (address, slot.slot, slot.old))),
            }
        }
        let changes = self.changes();
        BlockOutput {
            requests: Some(Requests::default()),
            writes: vec![changes.clone(), Changeset::default()],
            changes,
            reads,
            ..BlockOutput::default()
        }
    }
}

/// The slots of a queue of requests.
fn queue_slots() -> impl Iterator<Item = U256> {
    (0..QUEUE_SLOTS).map(U256::from)
}

/// Slots that empty blocks write, of both contracts.
pub const RING_SLOTS: usize = (2 * BEACON_ROOTS_LENGTH + HISTORY_LENGTH) as usize;

/// The place among [`RING_SLOTS`] of a slot that empty blocks write; `None` of any other.
pub fn ring_slot(address: &Address, slot: &U256) -> Option<usize> {
    let (first, length) = match *address {
        BEACON_ROOTS_ADDRESS => (0, 2 * BEACON_ROOTS_LENGTH),
        HISTORY_ADDRESS => (2 * BEACON_ROOTS_LENGTH, HISTORY_LENGTH),
        _ => return None,
    };
    let slot = u64::try_from(*slot).ok().filter(|slot| *slot < length)?;
    usize::try_from(first + slot).ok()
}

/// As [`empty_block_output`], for a block on those of which `known` was passed before; all of them
/// since were computed by this function.
///
/// # Errors
/// A failed read of the state.
pub fn next_empty_block(
    spec: &ChainSpec,
    env: &BlockEnvironment,
    state: &dyn StateReader,
    known: &mut SystemAccounts,
) -> Result<Option<EmptyBlock>, StateError> {
    let known_accounts = known.0.take();
    let (Fork::Prague | Fork::Osaka, Some(beacon_root)) = (env.fork, env.parent_beacon_root) else {
        return Ok(None);
    };
    if spec.is_bft()
        || env.number == 0
        || env.prev_randao.is_none()
        || spec.dao_fork_block() == Some(env.number)
    {
        return Ok(None);
    }
    let accounts = match known_accounts {
        Some(accounts) => accounts,
        None => match canonical_accounts(state)? {
            Some(accounts) => accounts,
            None => return Ok(None),
        },
    };
    let change = |address, slot: u64, new| {
        let slot = U256::from(slot);
        Ok::<_, StateError>(SlotChange { slot, old: state.storage(&address, &slot)?, new })
    };
    let (time, block) = (env.timestamp % BEACON_ROOTS_LENGTH, (env.number - 1) % HISTORY_LENGTH);
    let beacon = [
        change(BEACON_ROOTS_ADDRESS, time, U256::from(env.timestamp))?,
        change(BEACON_ROOTS_ADDRESS, time + BEACON_ROOTS_LENGTH, beacon_root.into())?,
    ];
    let history = change(HISTORY_ADDRESS, block, env.parent_hash.into())?;
    known.0 = Some(accounts);
    Ok(Some(EmptyBlock { accounts, beacon, history }))
}

/// The system contracts; `None` if one of them is not the canonical one, or has a request.
fn canonical_accounts(state: &dyn StateReader) -> Result<Option<[Account; 4]>, StateError> {
    let mut accounts = [Account::default(); 4];
    for (place, (address, canonical)) in accounts.iter_mut().zip(&*CONTRACTS) {
        let account = state.account(address)?.filter(|account| account.code_hash == *canonical);
        let Some(account) = account else { return Ok(None) };
        *place = account;
        if ![BEACON_ROOTS_ADDRESS, HISTORY_ADDRESS].contains(address) {
            for slot in queue_slots() {
                if !state.storage(address, &slot)?.is_zero() {
                    return Ok(None);
                }
            }
        }
    }
    Ok(Some(accounts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_both_rings_have_places_of_their_own() {
        let rings = [(BEACON_ROOTS_ADDRESS, 2 * BEACON_ROOTS_LENGTH), (HISTORY_ADDRESS, HISTORY_LENGTH)];
        let mut places: Vec<_> = rings
            .iter()
            .flat_map(|(address, length)| (0..*length).map(move |slot| ring_slot(address, &U256::from(slot))))
            .collect();
        assert!(places.iter().all(Option::is_some));
        places.dedup();
        assert_eq!((places.len(), places.last()), (RING_SLOTS, Some(&Some(RING_SLOTS - 1))));
        for (address, length) in rings {
            assert_eq!(ring_slot(&address, &U256::from(length)), None);
            assert_eq!(ring_slot(&address, &(U256::from(1) << 64)), None);
        }
        assert_eq!(ring_slot(&WITHDRAWAL_REQUESTS_ADDRESS, &U256::ZERO), None);
    }
}
