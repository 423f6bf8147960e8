//! `eth_createAccessList`.

use super::{Answer, simulate::at_site};
use crate::json::write_access_list;
use alloy_primitives::U256;
use hearth_evm::{CallError, CallRequest, StateOverrides, TxError, create_access_list};
use hearth_home::{BlockRef, Home, JsonWriter};
use hearth_primitives::Header;
use hearth_tracers::Cancel;

/// The base fee may double before a transaction is included: what go-ethereum allows for
/// (internal/ethapi/transaction_args.go: setLondonFeeDefaults).
const BASE_FEE_HEADROOM: u64 = 2;

pub(super) fn create(
    home: &Home,
    transaction: &CallRequest,
    block: Option<BlockRef>,
    state_overrides: Option<&StateOverrides>,
    stop: &Cancel,
) -> Answer {
    let tip = U256::from(home.suggested_tip()?);
    let created = at_site(home, block, stop, |site, limits| {
        let paying = with_fees(transaction.clone(), site.header, tip)?;
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

/// The request with the fees that it leaves open: a list is made for a transaction that is to be
/// sent.
fn with_fees(mut request: CallRequest, header: &Header, tip: U256) -> Result<CallRequest, CallError> {
    if request.gas_price.is_some() {
        return Ok(request);
    }
    let Some(base_fee) = header.base_fee_per_gas.map(U256::from) else {
        request.gas_price = Some(tip);
        return Ok(request);
    };
    let tip = *request.max_priority_fee_per_gas.get_or_insert(tip);
    let headroom = base_fee.saturating_mul(U256::from(BASE_FEE_HEADROOM));
    let cap = *request.max_fee_per_gas.get_or_insert(tip.saturating_add(headroom));
    if cap < tip {
        return Err(CallError::CapBelowTip { cap, tip });
    }
    Ok(request)
}
