//! Calls that do not change the chain: `eth_call`, `eth_estimateGas` and `eth_simulateV1`, with
//! go-ethereum's rules and texts.

mod access_list;
mod blocks;
mod call;
mod error;
mod estimate;
mod failure;
mod overrides;
mod request;
mod revert;
mod session;

pub use access_list::{CreatedAccessList, create_access_list};
pub use blocks::{
    BlockCalls, CallFailure, MAX_SIMULATED_BLOCKS, MAX_SIMULATED_BYTES, MAX_SIMULATED_CALLS, SimulateError,
    SimulateRequest, SimulatedBlock, SimulatedCall, SimulatedLog, simulate_blocks,
};
pub use call::{CallLimits, CallOutcome, CallSite, CallStatus, DEFAULT_CALL_GAS_CAP, Simulation, call};
pub use error::CallError;
pub use estimate::estimate_gas;
pub use failure::{FailureObserver, NamedFailure, unnamed};
pub use overrides::{AccountOverride, BlockOverrides, StateOverrides};
pub use request::{CallRequest, Message};
pub use revert::revert_reason;
pub use session::{CallSession, MessageOutcome};
