//! Queries of the Cosmos SDK's modules: one router, protobuf or JSON.
//!
//! A query is a name (`cosmos.bank.v1beta1.Query/Balance`), a request and a state. The request
//! comes as protobuf (ABCI, gRPC) or as the
//! parameters of a path (REST); the response goes the same way. Failures have the codes of gRPC.

pub(crate) mod auth;
mod bank;
mod delegations;
pub(crate) mod json;
mod node;
mod page;
mod params;
mod simulate;
mod staking_params;
pub(crate) mod time;
mod unbondings;
pub(crate) mod validators;
mod view;

pub use page::PAGE_MAX;
pub use params::Params;
pub use view::{Simulated, View};

use crate::bech32::Bech32Error;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hearth_primitives::StateError;
use prost::Message;
use serde::Serialize;

/// Bytes in base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A status of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The request is wrong.
    InvalidArgument = 3,
    /// There is no such thing.
    NotFound = 5,
    /// There is no such query.
    Unimplemented = 12,
    /// The node failed.
    Internal = 13,
}

impl Status {
    /// Its name, as Go writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "InvalidArgument",
            Self::NotFound => "NotFound",
            Self::Unimplemented => "Unimplemented",
            Self::Internal => "Internal",
        }
    }
}

/// Why a query has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The message for the client.
    #[error("{message}")]
    Told {
        /// Its status.
        status: Status,
        /// Its text.
        message: String,
    },
    /// State could not be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl QueryError {
    /// The request is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Told { status: Status::InvalidArgument, message: message.into() }
    }

    /// There is no such thing.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::Told { status: Status::NotFound, message: message.into() }
    }

    /// The node failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Told { status: Status::Internal, message: message.into() }
    }

    fn unimplemented() -> Self {
        Self::Told { status: Status::Unimplemented, message: "Not Implemented".to_owned() }
    }
}

impl From<Bech32Error> for QueryError {
    fn from(error: Bech32Error) -> Self {
        Self::invalid(error.to_string())
    }
}

/// A request in one of its two forms.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Protobuf; so is the answer.
    Protobuf(&'a [u8]),
    /// Parameters of a path; the answer is JSON.
    Params(&'a Params),
}

/// Requests that can be read from the parameters of a path.
trait FromParams: Sized {
    fn from_params(params: &Params) -> Result<Self, QueryError>;
}

fn respond<Q: Message + Default + FromParams, A: Message + Serialize>(
    view: &dyn View,
    input: Input<'_>,
    run: impl FnOnce(&dyn View, Q) -> Result<A, QueryError>,
) -> Result<Vec<u8>, QueryError> {
    match input {
        Input::Protobuf(bytes) => {
            let request = Q::decode(bytes).map_err(|error| QueryError::invalid(error.to_string()))?;
            Ok(run(view, request)?.encode_to_vec())
        }
        Input::Params(params) => {
            let response = run(view, Q::from_params(params)?)?;
            serde_json::to_vec(&response).map_err(|error| QueryError::internal(error.to_string()))
        }
    }
}

/// Answers a query by its name, which is its path of gRPC without the leading slash.
///
/// # Errors
/// [`QueryError`]; [`Status::Unimplemented`] for a name that there is none of.
pub fn answer(view: &dyn View, name: &str, input: Input<'_>) -> Result<Vec<u8>, QueryError> {
    let (service, method) = name.split_once('/').ok_or_else(QueryError::unimplemented)?;
    match (service, method) {
        ("cosmos.staking.v1beta1.Query", _) => staking(view, method, input),
        ("cosmos.bank.v1beta1.Query", "AllBalances" | "SpendableBalances") => {
            respond(view, input, bank::balances)
        }
        ("cosmos.bank.v1beta1.Query", "Balance") => respond(view, input, bank::balance),
        ("cosmos.bank.v1beta1.Query", "DenomsMetadata") => respond(view, input, bank::denoms_metadata),
        ("cosmos.bank.v1beta1.Query", "DenomMetadata") => respond(view, input, bank::denom_metadata),
        ("cosmos.bank.v1beta1.Query", "Params") => respond(view, input, bank::params),
        ("cosmos.auth.v1beta1.Query", "Account") => respond(view, input, auth::account),
        ("cosmos.auth.v1beta1.Query", "AccountInfo") => respond(view, input, auth::account_info),
        ("cosmos.auth.v1beta1.Query", "Params") => respond(view, input, auth::params),
        ("cosmos.auth.v1beta1.Query", "Bech32Prefix") => respond(view, input, auth::bech32_prefix),
        ("cosmos.base.node.v1beta1.Service", "Config") => respond(view, input, node::config),
        ("cosmos.base.node.v1beta1.Service", "Status") => respond(view, input, node::status),
        ("cosmos.tx.v1beta1.Service", "Simulate") => respond(view, input, simulate::simulate),
        _ => Err(QueryError::unimplemented()),
    }
}

fn staking(view: &dyn View, method: &str, input: Input<'_>) -> Result<Vec<u8>, QueryError> {
    match method {
        "Validators" => respond(view, input, validators::list),
        "Validator" => respond(view, input, validators::one),
        "ValidatorDelegations" => respond(view, input, delegations::to_validator),
        "DelegatorDelegations" => respond(view, input, delegations::of_delegator),
        "Delegation" => respond(view, input, delegations::one),
        "DelegatorValidators" => respond(view, input, delegations::validators),
        "DelegatorValidator" => respond(view, input, delegations::validator),
        "UnbondingDelegation" => respond(view, input, unbondings::one),
        "ValidatorUnbondingDelegations" => respond(view, input, unbondings::from_validator),
        "DelegatorUnbondingDelegations" => respond(view, input, unbondings::of_delegator),
        "Pool" => respond(view, input, staking_params::pool),
        "Params" => respond(view, input, staking_params::params),
        _ => Err(QueryError::unimplemented()),
    }
}
