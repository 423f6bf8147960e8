//! The operations behind the JSON-RPC methods: typed requests in, finished JSON bytes out.
//!
//! Nothing in here knows HTTP, envelopes or the names of methods.

pub mod json;
mod ops;
mod reading;
mod request;
mod sent_together;
mod service;
mod tagged;

pub use reading::Reading;
pub use request::{
    AccountSearch, LogFilter, MAX_FILTER_ALTERNATIVES, MAX_TOPIC_POSITIONS, ProofSlot, Request,
};
pub use sent_together::SentTogether;
pub use service::Rpc;
