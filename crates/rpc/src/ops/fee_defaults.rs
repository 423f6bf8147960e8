//! Fees that a request leaves open, in go-ethereum's way and with its refusals
//! (internal/ethapi/transaction_args.go: setFeeDefaults).

use alloy_primitives::U256;
use hearth_chain::fees;
use hearth_evm::{CallRequest, ChainSpec};
use hearth_primitives::Header;

/// The base fee, and that of blobs, may double before a transaction is included: the margin of
/// go-ethereum.
const FEE_HEADROOM: u64 = 2;

/// Whether the suggested tip is needed to fill in the fees of a request.
pub(super) fn needs_tip(request: &CallRequest) -> bool {
    request.gas_price.is_none() && request.max_priority_fee_per_gas.is_none()
}

/// Checks the fees of a request and fills in the missing ones, for a transaction on top of the
/// block with this header. `tip` is the one to suggest.
///
/// # Errors
/// go-ethereum's text.
pub(super) fn fill(
    spec: &ChainSpec,
    header: &Header,
    tip: U256,
    request: &mut CallRequest,
) -> Result<(), String> {
    if request.max_fee_per_blob_gas == Some(U256::ZERO) {
        return Err("maxFeePerBlobGas, if specified, must be non-zero".to_owned());
    }
    if request.blob_versioned_hashes.is_some() && request.max_fee_per_blob_gas.is_none() {
        let fee = fees::blob_base_fee(spec, header);
        request.max_fee_per_blob_gas =
            fee.map(|fee| U256::from(fee).saturating_mul(U256::from(FEE_HEADROOM)));
    }
    // A genesis may have a base fee before London.
    let base_fee = header.base_fee_per_gas.filter(|_| spec.is_london(header.number));
    let (cap, priority) = (request.max_fee_per_gas, request.max_priority_fee_per_gas);
    let has_either = cap.is_some() || priority.is_some();
    if let Some(price) = request.gas_price {
        if has_either {
            return Err("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified".to_owned());
        }
        if price.is_zero() && base_fee.is_some() {
            return Err("gasPrice must be non-zero after london fork".to_owned());
        }
        return Ok(());
    }
    if let (Some(cap), Some(priority)) = (cap, priority) {
        if cap.is_zero() {
            return Err("maxFeePerGas must be non-zero".to_owned());
        }
        return check_order(cap, priority);
    }
    let Some(base_fee) = base_fee else {
        if has_either {
            return Err(
                "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active".to_owned()
            );
        }
        request.gas_price = Some(tip);
        return Ok(());
    };
    let priority = priority.unwrap_or(tip);
    let headroom = U256::from(base_fee).saturating_mul(U256::from(FEE_HEADROOM));
    let cap = cap.unwrap_or_else(|| priority.saturating_add(headroom));
    check_order(cap, priority)?;
    (request.max_priority_fee_per_gas, request.max_fee_per_gas) = (Some(priority), Some(cap));
    Ok(())
}

fn check_order(cap: U256, priority: U256) -> Result<(), String> {
    if cap < priority {
        return Err(format!("maxFeePerGas ({cap:#x}) < maxPriorityFeePerGas ({priority:#x})"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    /// The fees of a request: price, cap, priority fee.
    fn request(price: Option<u64>, cap: Option<u64>, priority: Option<u64>) -> CallRequest {
        CallRequest {
            gas_price: price.map(U256::from),
            max_fee_per_gas: cap.map(U256::from),
            max_priority_fee_per_gas: priority.map(U256::from),
            ..CallRequest::default()
        }
    }

    fn filled(base_fee: Option<u64>, mut given: CallRequest) -> Result<CallRequest, String> {
        let header =
            Header { base_fee_per_gas: base_fee, excess_blob_gas: base_fee.map(|_| 0), ..Header::default() };
        fill(&ChainSpec::dev(1), &header, U256::from(3), &mut given).map(|()| given)
    }

    #[test]
    fn missing_fees_follow_from_the_header() {
        let (london, before) = (Some(10), None);
        assert_eq!(filled(london, request(None, None, None)), Ok(request(None, Some(23), Some(3))));
        assert_eq!(filled(london, request(None, None, Some(5))), Ok(request(None, Some(25), Some(5))));
        assert_eq!(filled(london, request(None, Some(4), None)), Ok(request(None, Some(4), Some(3))));
        assert_eq!(filled(before, request(None, None, None)), Ok(request(Some(3), None, None)));
        for whole in [request(Some(1), None, None), request(None, Some(2), Some(1))] {
            assert_eq!(filled(london, whole.clone()), Ok(whole.clone()));
            assert_eq!(filled(before, whole.clone()), Ok(whole));
        }
        assert_eq!(filled(before, request(Some(0), None, None)), Ok(request(Some(0), None, None)));
        let blobs =
            CallRequest { blob_versioned_hashes: Some(vec![B256::ZERO]), ..request(Some(1), None, None) };
        let filled = filled(london, blobs).map(|request| request.max_fee_per_blob_gas);
        assert_eq!(filled, Ok(Some(U256::from(2))));
    }

    #[test]
    fn a_base_fee_before_london_counts_for_nothing() {
        let spec = ChainSpec::from_config_json(r#"{"chainId": 1, "londonBlock": 5}"#).unwrap();
        let header = Header { base_fee_per_gas: Some(7), ..Header::default() };
        for (mut given, price) in [(request(None, None, None), 3), (request(Some(0), None, None), 0)] {
            fill(&spec, &header, U256::from(3), &mut given).unwrap();
            assert_eq!(given, request(Some(price), None, None));
        }
    }

    #[test]
    fn fees_are_refused_in_the_words_of_go_ethereum() {
        let (london, before) = (Some(10), None);
        let refused = |base_fee, given| filled(base_fee, given).expect_err("refused");
        assert_eq!(
            refused(london, request(Some(0), None, None)),
            "gasPrice must be non-zero after london fork"
        );
        assert_eq!(refused(london, request(None, Some(0), Some(0))), "maxFeePerGas must be non-zero");
        for base_fee in [london, before] {
            assert_eq!(
                refused(base_fee, request(None, Some(5), Some(10))),
                "maxFeePerGas (0x5) < maxPriorityFeePerGas (0xa)"
            );
            assert_eq!(
                refused(base_fee, request(Some(1), Some(5), None)),
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"
            );
        }
        // The suggested tip is above the cap.
        assert_eq!(
            refused(london, request(None, Some(0), None)),
            "maxFeePerGas (0x0) < maxPriorityFeePerGas (0x3)"
        );
        assert_eq!(
            refused(before, request(None, None, Some(1))),
            "maxFeePerGas and maxPriorityFeePerGas are not valid before London is active"
        );
        let blobs = CallRequest { max_fee_per_blob_gas: Some(U256::ZERO), ..request(Some(0), None, None) };
        assert_eq!(refused(london, blobs), "maxFeePerBlobGas, if specified, must be non-zero");
    }
}
