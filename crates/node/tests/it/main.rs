//! The node on real homes: recorded requests of the execution-apis chain, the development chain,
//! traces.

mod account_search;
mod at_once;
mod baked;
mod capsules;
mod case_home;
mod comet;
mod consensus;
mod crashes;
mod dev_chain;
mod engine;
mod follow;
mod forks;
mod inbox;
mod lifecycle;
mod limits;
mod natives;
mod rendering;
mod replay;
mod rpc_compat;
mod state_sync;
mod support;
mod trace_calls;
mod trace_profile;
mod traces;
