//! Refunds that are there before the first instruction.

use alloy_primitives::Address;
use hearth_evm::EvmContext;
use revm::context::{JournalEntry, Transaction as _};
use revm::context_interface::ContextTr;
use revm::database_interface::Database as _;
use revm::inspector::JournalExt as _;

/// Gas that goes back for an authorisation whose account exists (EIP-7702).
const AUTHORISATION_REFUND: i64 = 12_500;

/// The amount that the transaction's authorisations add to the refund counter before anything runs
/// (EIP-7702): one share for each that was applied to an existing account.
pub fn authorisation_refund(context: &mut EvmContext<'_>) -> i64 {
    if context.tx().authorization_list_len() == 0 {
        return 0;
    }
    let applied: Vec<Address> = (context.journal_ref().journal().iter())
        .filter_map(|entry| match entry {
            JournalEntry::CodeChange { address, .. } => Some(*address),
            _ => None,
        })
        .collect();
    let caller = context.tx().caller();
    let mut count = 0;
    for (index, address) in applied.iter().enumerate() {
        let exists = *address == caller
            || applied[..index].contains(address)
            || context.db_mut().basic(*address).is_ok_and(|account| account.is_some());
        count += i64::from(exists);
    }
    count * AUTHORISATION_REFUND
}
