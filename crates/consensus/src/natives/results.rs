//! The result of a native transaction in a block, for CometBFT.

use crate::results::{CODESPACE, gas};
use bytes::Bytes;
use hearth_abci::pb::{Event, EventAttribute, ExecTxResult};
use hearth_cosmos::{decode_included, events, proto::TxMsgData};
use hearth_evm::revert_reason;
use hearth_primitives::{NATIVE_FAILED, NATIVE_OUT_OF_GAS, NativeOutcome, NativeTransaction};
use prost::Message as _;

/// Codespace of the Cosmos SDK's codes.
pub(crate) const SDK: &str = "sdk";

/// The result of a native transaction that is in the block.
pub(crate) fn native_result(transaction: &NativeTransaction, outcome: &NativeOutcome) -> ExecTxResult {
    let (log, codespace) = match outcome.code {
        0 => (String::new(), ""),
        NATIVE_FAILED => {
            let reason = revert_reason(&outcome.output).map(|reason| format!(": {reason}"));
            (format!("execution reverted{}", reason.unwrap_or_default()), CODESPACE)
        }
        NATIVE_OUT_OF_GAS => ("out of gas".to_owned(), SDK),
        _ => ("execution failed".to_owned(), CODESPACE),
    };
    // What a block has was read before.
    let decoded = decode_included(&transaction.bytes, transaction.sender).ok();
    let answered = decoded.as_ref().filter(|_| outcome.is_success());
    let data = answered.map_or_else(Bytes::new, |decoded| {
        let msg_responses = vec![decoded.message.response(&outcome.output)];
        TxMsgData { msg_responses }.encode_to_vec().into()
    });
    let shown = |(kind, attributes): hearth_cosmos::Event| Event {
        r#type: kind.to_owned(),
        attributes: attributes
            .into_iter()
            .map(|(key, value)| EventAttribute { key: key.to_owned(), value, index: true })
            .collect(),
    };
    let decoded_events = decoded.map(|decoded| events(&decoded, outcome)).unwrap_or_default();
    ExecTxResult {
        code: outcome.code,
        data,
        log,
        gas_wanted: gas(transaction.gas_limit),
        gas_used: gas(outcome.gas_used),
        events: decoded_events.into_iter().map(shown).collect(),
        codespace: codespace.to_owned(),
        ..ExecTxResult::default()
    }
}
