//! `cosmos.tx.v1beta1.Service/Simulate`: the gas that a transaction needs.

use super::{QueryError, View};
use crate::{
    decode_unsigned, events,
    proto::{
        EventAttribute, EventShown, GasInfo, SimulateRequest, SimulateResponse, SimulationResult, TxMsgData,
    },
};
use prost::Message as _;

pub(super) fn simulate(view: &dyn View, request: SimulateRequest) -> Result<SimulateResponse, QueryError> {
    // `Tx` has body and fees as messages where `TxRaw` has their bytes: the encoding is the same.
    let bytes = if request.tx_bytes.is_empty() { request.tx } else { request.tx_bytes };
    if bytes.is_empty() {
        return Err(QueryError::invalid("empty txBytes is not allowed"));
    }
    let decoded = decode_unsigned(&bytes).map_err(|error| QueryError::invalid(error.to_string()))?;
    let simulated = view.simulate(&decoded)?;
    if let Some(failure) = simulated.failure {
        return Err(QueryError::invalid(format!("failed to execute message; message index: 0: {failure}")));
    }
    let response = decoded.message.response(&simulated.outcome.output);
    let shown = |(kind, attributes): crate::Event| EventShown {
        kind: kind.to_owned(),
        attributes: attributes
            .into_iter()
            .map(|(key, value)| EventAttribute { key: key.to_owned(), value, index: true })
            .collect(),
    };
    Ok(SimulateResponse {
        gas_info: Some(GasInfo { gas_wanted: decoded.transaction.gas_limit, gas_used: simulated.gas }),
        result: Some(SimulationResult {
            data: TxMsgData { msg_responses: vec![response] }.encode_to_vec(),
            log: String::new(),
            events: events(&decoded, &simulated.outcome).into_iter().map(shown).collect(),
        }),
    })
}
