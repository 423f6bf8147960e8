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
use alloy_eips::{eip2935, eip4788, eip7002, eip7251, eip7685::Requests};
use alloy_primitives::{Address, B256, U256, keccak256};
use hearth_primitives::{
    Account, AccountChange, BlockOutput, Changeset, ReadSet, SlotChange, StateError, StateReader,
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
    next_empty_block_output(spec, env, state, &mut SystemAccounts::default())
}

/// What empty blocks find alike and leave as it is: the system contracts, and that nothing was
/// requested of them. Empty before the first block of a chain of empty blocks.
#[derive(Clone, Debug, Default)]
pub struct SystemAccounts(Option<[Account; 4]>);

/// As [`empty_block_output`], for a block on those of which `known` was passed before; all of them
/// since were computed by this function.
///
/// # Errors
/// A failed read of the state.
pub fn next_empty_block_output(
    spec: &ChainSpec,
    env: &BlockEnvironment,
    state: &dyn StateReader,
    known: &mut SystemAccounts,
) -> Result<Option<BlockOutput>, StateError> {
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
    let reads = ReadSet {
        captured: true,
        accounts: Vec::with_capacity(CONTRACTS.len()),
        slots: Vec::with_capacity(SLOTS_READ),
        codes: Vec::with_capacity(CONTRACTS.len()),
        ..ReadSet::default()
    };
    let mut run = Run { state, reads, accounts: Vec::with_capacity(RINGS) };
    let mut accounts = [Account::default(); 4];
    for (at, (address, canonical)) in CONTRACTS.iter().enumerate() {
        let account = match &known_accounts {
            Some(known) => Some(known[at]),
            None => state.account(address)?.filter(|account| account.code_hash == *canonical),
        };
        let Some(account) = account else { return Ok(None) };
        accounts[at] = account;
        run.reads.accounts.push((*address, Some(account)));
        run.reads.codes.push(account.code_hash);
        match *address {
            BEACON_ROOTS_ADDRESS => {
                let at = env.timestamp % BEACON_ROOTS_LENGTH;
                let time = (at, U256::from(env.timestamp));
                let root = (at + BEACON_ROOTS_LENGTH, beacon_root.into());
                run.write(BEACON_ROOTS_ADDRESS, account, [time, root])?;
            }
            HISTORY_ADDRESS => {
                let at = (env.number - 1) % HISTORY_LENGTH;
                run.write(HISTORY_ADDRESS, account, [(at, env.parent_hash.into())])?;
            }
            queue if known_accounts.is_some() => {
                let slots = (0..QUEUE_SLOTS).map(|slot| (queue, U256::from(slot), U256::ZERO));
                run.reads.slots.extend(slots);
            }
            queue => {
                if !run.is_idle(queue)? {
                    return Ok(None);
                }
            }
        }
    }
    known.0 = Some(accounts);
    let Run { reads, accounts, .. } = run;
    let changes = Changeset { accounts, codes: Vec::new() };
    Ok(Some(BlockOutput {
        requests: Some(Requests::default()),
        writes: vec![changes.clone(), Changeset::default()],
        changes,
        reads,
        ..BlockOutput::default()
    }))
}

/// What a block read and wrote so far.
struct Run<'a> {
    state: &'a dyn StateReader,
    reads: ReadSet,
    accounts: Vec<AccountChange>,
}

impl Run<'_> {
    /// Writes slots of a contract, which are given in ascending order.
    fn write<const N: usize>(
        &mut self,
        address: Address,
        account: Account,
        slots: [(u64, U256); N],
    ) -> Result<(), StateError> {
        let mut storage = Vec::with_capacity(N);
        for (slot, new) in slots {
            let slot = U256::from(slot);
            let old = self.read(address, slot)?;
            if old != new {
                storage.push(SlotChange { slot, old, new });
            }
        }
        if !storage.is_empty() {
            let (old, new) = (Some(account), Some(account));
            self.accounts.push(AccountChange { address, old, new, wiped: false, storage });
        }
        Ok(())
    }

    /// Whether a request contract holds nothing.
    fn is_idle(&mut self, address: Address) -> Result<bool, StateError> {
        let mut is_idle = true;
        for slot in 0..QUEUE_SLOTS {
            is_idle &= self.read(address, U256::from(slot))?.is_zero();
        }
        Ok(is_idle)
    }

    fn read(&mut self, address: Address, slot: U256) -> Result<U256, StateError> {
        let value = self.state.storage(&address, &slot)?;
        self.reads.slots.push((address, slot, value));
        Ok(value)
    }
}
