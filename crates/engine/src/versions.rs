//! The fork and the fields of each version of a method (execution-apis,
//! src/engine/{paris,shanghai,cancun,prague,osaka}.md; the order of the checks is that of
//! go-ethereum's eth/catalyst/api.go).

use crate::{Attributes, ExecutionPayload, payload::PayloadSidecar, payload::check_requests};
use hearth_evm::{ChainSpec, Fork};
use hearth_home::{EngineError, NodeError};

fn unsupported(reason: impl Into<String>) -> NodeError {
    EngineError::UnsupportedFork { reason: reason.into() }.into()
}

fn invalid_attributes(reason: impl Into<String>) -> NodeError {
    EngineError::InvalidAttributes { reason: reason.into() }.into()
}

/// Fails with -32602 where a field is there that must not be, or the other way round.
fn expect(name: &str, is_there: bool, wanted: bool, when: &str) -> Result<(), NodeError> {
    match (is_there, wanted) {
        (true, false) => Err(NodeError::invalid_params(format!("{name} must be absent {when}"))),
        (false, true) => Err(NodeError::invalid_params(format!("{name} must be there {when}"))),
        _ => Ok(()),
    }
}

/// Checks a payload of `engine_newPayload` by the method's version.
pub(crate) fn check_payload(
    spec: &ChainSpec,
    version: u8,
    payload: &ExecutionPayload,
    beside: &PayloadSidecar,
) -> Result<(), NodeError> {
    let fork = spec.fork_at_time(payload.timestamp.to());
    let withdrawals = payload.withdrawals.is_some();
    match version {
        1 => expect("withdrawals", withdrawals, false, "in engine_newPayloadV1"),
        2 => {
            if fork >= Fork::Cancun {
                return Err(unsupported("engine_newPayloadV2 takes payloads of Paris and Shanghai"));
            }
            let shanghai = fork >= Fork::Shanghai;
            let when = if shanghai { "from Shanghai on" } else { "before Shanghai" };
            expect("withdrawals", withdrawals, shanghai, when)?;
            expect("blobGasUsed", payload.blob_gas_used.is_some(), false, "before Cancun")?;
            expect("excessBlobGas", payload.excess_blob_gas.is_some(), false, "before Cancun")
        }
        _ => {
            let when = format!("in engine_newPayloadV{version}");
            expect("withdrawals", withdrawals, true, &when)?;
            expect("excessBlobGas", payload.excess_blob_gas.is_some(), true, &when)?;
            expect("blobGasUsed", payload.blob_gas_used.is_some(), true, &when)?;
            expect("expectedBlobVersionedHashes", beside.versioned_hashes.is_some(), true, &when)?;
            expect("parentBeaconBlockRoot", beside.parent_beacon_block_root.is_some(), true, &when)?;
            if version == 3 {
                return match fork {
                    Fork::Cancun => Ok(()),
                    _ => Err(unsupported("engine_newPayloadV3 takes payloads of Cancun")),
                };
            }
            expect("executionRequests", beside.requests.is_some(), true, &when)?;
            if fork < Fork::Prague {
                return Err(unsupported("engine_newPayloadV4 takes payloads of Prague and Osaka"));
            }
            let requests = beside.requests.as_deref().unwrap_or_default();
            check_requests(requests).map_err(NodeError::invalid_params)
        }
    }
}

/// Checks the attributes of `engine_forkchoiceUpdated` by the method's version.
pub(crate) fn check_attributes(
    spec: &ChainSpec,
    version: u8,
    attributes: &Attributes,
) -> Result<(), NodeError> {
    let fork = spec.fork_at_time(attributes.timestamp.to());
    let (withdrawals, root) =
        (attributes.withdrawals.is_some(), attributes.parent_beacon_block_root.is_some());
    match version {
        1 => {
            expect("withdrawals", withdrawals, false, "in engine_forkchoiceUpdatedV1")?;
            expect("parentBeaconBlockRoot", root, false, "in engine_forkchoiceUpdatedV1")?;
            // From Shanghai on the attributes must have withdrawals: what is wrong is their form.
            if fork >= Fork::Shanghai {
                let message = "engine_forkchoiceUpdatedV1 takes attributes of Paris";
                return Err(NodeError::invalid_params(message));
            }
            Ok(())
        }
        2 => match fork {
            _ if root => Err(invalid_attributes("parentBeaconBlockRoot must be absent before Cancun")),
            fork if fork >= Fork::Cancun => {
                Err(unsupported("engine_forkchoiceUpdatedV2 takes attributes of Paris and Shanghai"))
            }
            Fork::Shanghai if !withdrawals => {
                Err(invalid_attributes("withdrawals must be there from Shanghai on"))
            }
            Fork::Shanghai => Ok(()),
            _ if withdrawals => Err(invalid_attributes("withdrawals must be absent before Shanghai")),
            _ => Ok(()),
        },
        _ if !withdrawals => Err(invalid_attributes("withdrawals must be there from Shanghai on")),
        _ if !root => Err(invalid_attributes("parentBeaconBlockRoot must be there from Cancun on")),
        _ if fork < Fork::Cancun => {
            Err(unsupported("engine_forkchoiceUpdatedV3 takes attributes of Cancun and later forks"))
        }
        _ => Ok(()),
    }
}

/// Checks that `engine_getPayload` of a version may return a payload whose attributes came with
/// another version. This comes before the look-up of the payload, so that an id of another version
/// has another error than an unknown one.
pub(crate) fn check_id(version: u8, id_version: u8) -> Result<(), NodeError> {
    let fits = match version {
        1 => id_version == 1,
        2 => matches!(id_version, 1 | 2),
        _ => id_version == 3,
    };
    if fits { Ok(()) } else { Err(unsupported(forks_of(version))) }
}

/// Checks that `engine_getPayload` of a version may give a payload of a fork.
pub(crate) fn check_fork(version: u8, fork: Fork) -> Result<(), NodeError> {
    let fits = match version {
        1 => fork < Fork::Shanghai,
        2 => fork < Fork::Cancun,
        3 => fork == Fork::Cancun,
        4 => fork == Fork::Prague,
        _ => fork >= Fork::Osaka,
    };
    if fits { Ok(()) } else { Err(unsupported(forks_of(version))) }
}

fn forks_of(version: u8) -> String {
    let forks = match version {
        1 => "Paris",
        2 => "Paris and Shanghai",
        3 => "Cancun",
        4 => "Prague",
        _ => "Osaka",
    };
    format!("engine_getPayloadV{version} gives payloads of {forks}")
}
