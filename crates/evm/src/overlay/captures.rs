//! Reading what tracers look at though execution does not, so that it is among a block's reads.

use super::BlockState;
use alloy_primitives::{Address, U256};
use hearth_primitives::StateError;
use revm::state::EvmState;

/// What the instructions that are watched for captures need to know.
#[derive(Debug)]
pub(crate) struct Captures {
    /// Constant gas of each instruction, charged by those that are watched.
    pub gas: [u16; 256],
}

impl BlockState<'_> {
    /// From here on everything is read that a tracer would look at.
    pub(crate) fn capture(&mut self, gas: [u16; 256]) {
        self.captures = Some(Box::new(Captures { gas }));
    }

    /// Whether everything is read that a tracer would look at.
    pub(crate) fn captures(&self) -> bool {
        self.captures.is_some()
    }

    /// Constant gas of an instruction that is watched.
    pub(crate) fn captured_gas(&self, opcode: u8) -> u64 {
        self.captures.as_ref().map_or(0, |captures| u64::from(captures.gas[usize::from(opcode)]))
    }

    /// Reads an account, and the account that it delegates to (EIP-7702), as both are now.
    pub(crate) fn capture_account(&mut self, address: Address) -> Result<(), StateError> {
        let account = self.account(address)?;
        if let Some(account) = account.filter(|account| self.delegations && account.has_code())
            && let Some(target) = self.code(account.code_hash)?.eip7702_address()
        {
            self.account(target)?;
        }
        Ok(())
    }

    /// Reads a slot.
    pub(crate) fn capture_slot(&mut self, address: Address, slot: U256) -> Result<(), StateError> {
        self.slot(address, slot).map(drop)
    }

    /// Reads the slots that a transaction used. The interpreter does not read the slots of an
    /// account that the transaction created: they are zero then, but may have had values at the
    /// start of the block.
    pub(super) fn capture_slots(&mut self, state: &EvmState) -> Result<(), StateError> {
        for (address, account) in state {
            if account.storage.is_empty() {
                continue;
            }
            let index = self.entry_index(*address)?;
            if !self.entries[index].stored() {
                continue;
            }
            for slot in account.storage.keys() {
                self.slot_at(index, *slot)?;
            }
        }
        Ok(())
    }
}
