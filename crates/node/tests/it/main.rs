//! The node over real homes: recorded requests of the execution-apis chain, the development chain, traces.

mod dev_chain;
mod lifecycle;
mod rpc_compat;
mod support;
mod traces;
