//! The state that a query reads.

use super::QueryError;
use crate::{Decoded, staking::ADDRESS};
use alloy_primitives::{Address, B256, Bytes};
use alloy_sol_types::SolCall;
use hearth_primitives::{Account, Height, NativeOutcome, StateError};

/// What a simulated transaction would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// What it would do.
    pub outcome: NativeOutcome,
    /// A gas limit with which it does that.
    pub gas: u64,
    /// Why it fails, where it does.
    pub failure: Option<String>,
}

/// The state after one block.
pub trait View {
    /// The block's height.
    fn height(&self) -> Height;

    /// The oldest height with state.
    fn oldest(&self) -> Height;

    /// The block's time, in seconds.
    fn timestamp(&self) -> u64;

    /// The block's hash.
    fn hash(&self) -> B256;

    /// The base fee of the next block, in wei.
    fn base_fee(&self) -> u64;

    /// An account, where it exists.
    ///
    /// # Errors
    /// The store's.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// What a call of a view returns; `None` where it reverts.
    ///
    /// # Errors
    /// The store's, and those of an execution that the node gives up.
    fn call(&self, to: Address, input: Bytes) -> Result<Option<Bytes>, QueryError>;

    /// What a transaction would do in the next block, whatever its gas limit, fee and sequence.
    ///
    /// # Errors
    /// As [`Self::call`].
    fn simulate(&self, transaction: &Decoded) -> Result<Simulated, QueryError>;
}

/// What a view of the staking contract returns.
pub(super) fn staking<C: SolCall>(view: &dyn View, call: &C) -> Result<C::Return, QueryError> {
    let output = view.call(ADDRESS, call.abi_encode().into())?;
    let output = output.filter(|output| !output.is_empty()).ok_or_else(|| {
        QueryError::not_found("this chain has no staking contract: its genesis was made without validators")
    })?;
    C::abi_decode_returns(&output)
        .map_err(|error| QueryError::internal(format!("the staking contract's answer: {error}")))
}
