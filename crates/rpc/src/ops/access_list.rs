//! `eth_createAccessList`.

use super::{Answer, fee_defaults, simulate::at_site};
use crate::json::write_access_list;
use alloy_primitives::U256;
use hearth_evm::{CallError, CallRequest, StateOverrides, TxError, create_access_list};
use hearth_home::{BlockRef, Home, JsonWriter};
use hearth_tracers::Cancel;

pub(super) fn create(
    home: &Home,
    transaction: &CallRequest,
    block: Option<BlockRef>,
    state_overrides: Option<&StateOverrides>,
    stop: &Cancel,
) -> Answer {
    let tip = if fee_defaults::needs_tip(transaction) { home.suggested_tip()? } else { 0 };
    let created = at_site(home, block, stop, |site, limits| {
        // A list is made for a transaction that is to be sent.
        let mut paying = transaction.clone();
        fee_defaults::fill(site.spec, site.header, U256::from(tip), &mut paying).map_err(CallError::Fees)?;
        match create_access_list(site, &paying, state_overrides, &limits) {
            // Tools for development chains send requests without a sender that has ether.
            Err(CallError::AccessList { source: TxError::InsufficientFunds { .. }, .. })
                if home.dev().is_some() =>
            {
                create_access_list(site, &without_fees(transaction.clone()), state_overrides, &limits)
            }
            created => created,
        }
    })?;
    let mut w = JsonWriter::default();
    w.begin_object();
    write_access_list(&mut w, &created.list);
    if let Some(failure) = &created.failure {
        w.key("error").raw(&serde_json::Value::from(failure.as_str()).to_string());
    }
    w.key("gasUsed").quantity(created.gas_used).end_object();
    Ok(w.into_bytes())
}

/// The request as a call that pays nothing.
fn without_fees(request: CallRequest) -> CallRequest {
    let (gas_price, max_fee_per_gas, max_priority_fee_per_gas) = (None, None, None);
    CallRequest { gas_price, max_fee_per_gas, max_priority_fee_per_gas, ..request }
}
