//! Chain specification, block execution and simulation on revm.
//!
//! State is read through [`hearth_primitives::StateReader`]; nothing here reads a disk, a clock or
//! the environment.

mod changes;
mod check;
mod code_cache;
mod constantinople;
mod dao;
mod empty_block;
mod env;
mod error;
mod executor;
mod genesis;
mod halt_text;
mod hash_cache;
mod header;
mod json;
mod kzg;
mod machine;
mod natives;
mod outcome;
mod overlay;
mod precompiles;
mod receipt;
mod recorded;
mod requests;
mod rewards;
mod senders;
pub mod simulate;
mod spec;
mod staking;
mod system;
mod tx_check;
mod tx_env;
mod tx_error;
mod watch;
mod watched;
mod write_set;

pub use changes::merge as merge_changes;
pub use check::{check_output, check_receipts, check_without_receipts_root};
pub use code_cache::{CODE_CACHE_BYTES, forget_code};
pub use empty_block::{
    EmptyBlock, RING_SLOTS, SystemAccounts, empty_block_output, has_no_transactions, next_empty_block,
    ring_slot,
};
pub use env::BlockEnvironment;
pub use error::{BlockError, Field, SpecError};
pub use executor::{BlockExecutor, execute_block};
pub use genesis::{Genesis, GenesisAccount, alloc_changes};
pub use header::{
    Ancestors, ELASTICITY, INITIAL_BASE_FEE, MAX_BLOCK_SIZE, MAX_EXTRA_DATA, MAX_GAS_LIMIT, MIN_GAS_LIMIT,
    next_base_fee, next_difficulty, next_excess_blob_gas, validate_body, validate_header, validate_merge,
    validate_roots,
};
pub use machine::EvmContext;
pub use natives::NATIVE_GAS_SHARE;
pub use outcome::{ExecuteError, TxOutcome, TxStatus};
pub use overlay::{BlockState, PrefixState, ReadError};
pub use precompiles::Precompiles;
pub use recorded::{
    AllocState, MAX_CASE_BYTES, RecordedCase, RecordedError, RpcBlock, TracerTest, rpc_header,
};
pub use rewards::{block_reward, block_rewards};
pub use senders::{recover_pooled, recover_sender, recover_senders, signature_fault};
pub use simulate::{
    BlockCalls, BlockOverrides, CallError, CallFailure, CallLimits, CallOutcome, CallRequest, CallSession,
    CallSite, CallStatus, CreatedAccessList, FailureObserver, Message, MessageOutcome, NamedFailure,
    SimulateError, SimulateRequest, SimulatedBlock, SimulatedCall, SimulatedLog, StateOverrides, call,
    create_access_list, estimate_gas, revert_reason, simulate_blocks, unnamed,
};
pub use spec::{BlobParams, BlobScheduleEntry, ChainSpec, Fork, named_precompiles};
pub use staking::{STAKING_ADDRESS, VALIDATOR_REQUEST, VALIDATOR_UPDATE_BYTES, WITHDRAWALS_MAX};
pub use system::{
    BEACON_ROOTS_ADDRESS, CONSOLIDATION_REQUESTS_ADDRESS, HISTORY_ADDRESS, SYSTEM_ADDRESS,
    WITHDRAWAL_REQUESTS_ADDRESS,
};
pub use tx_check::{MAX_INIT_CODE, MAX_TX_BLOBS, MAX_TX_GAS, UNSIGNED_S};
pub use tx_env::{recover_authorization, tx_env};
pub use tx_error::TxError;
pub use watch::RunLimits;
