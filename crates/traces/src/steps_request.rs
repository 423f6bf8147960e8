//! Requests for steps: `{hash | call | block, options, config}`, where `options` are those of the
//! method without its time limit, and `config` has `timeout`.

use crate::{TraceCall, TraceRequest, TraceSubject};
use alloy_primitives::B256;
use hearth_home::{BlockRef, NodeError};
use hearth_tracers::{StepsError, StepsPlan};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The arguments of the operations.
#[derive(Deserialize)]
pub struct StepsArguments<'a> {
    /// A transaction of the canonical chain.
    #[serde(default)]
    hash: Option<B256>,
    /// A call.
    #[serde(default)]
    call: Option<Box<TraceCall>>,
    /// A block, for a gas profile.
    #[serde(default)]
    block: Option<BlockRef>,
    #[serde(borrow, default)]
    options: Option<&'a RawValue>,
    #[serde(default)]
    config: Config,
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    timeout: Option<String>,
}

impl StepsArguments<'_> {
    fn options(&self) -> &str {
        self.options.map_or("{}", RawValue::get)
    }

    /// The request with this plan.
    fn with(self, plan: Result<StepsPlan, StepsError>) -> Result<TraceRequest, NodeError> {
        let subject = match (self.hash, self.call, self.block) {
            (Some(hash), None, None) => TraceSubject::Transaction(hash),
            (None, Some(call), None) => TraceSubject::Call(call),
            (None, None, Some(block)) => TraceSubject::BlockGas(block),
            _ => return Err(NodeError::invalid_params("one of a hash, a call and a block is needed")),
        };
        let plan = plan.and_then(|plan| plan.traced(self.config.timeout.as_deref()));
        let plan = plan.map_err(|error| NodeError::invalid_params(error.to_string()))?;
        Ok(TraceRequest { subject, plan, has_tracer_config: false })
    }

    /// The same; of a block there is nothing but a gas profile.
    fn of_one(self, plan: Result<StepsPlan, StepsError>) -> Result<TraceRequest, NodeError> {
        if self.block.is_some() {
            return Err(NodeError::invalid_params(
                "steps are those of one transaction or call, not of a block",
            ));
        }
        self.with(plan)
    }
}

/// `debug_traceStepIndex`.
pub fn index(arguments: StepsArguments<'_>) -> Result<TraceRequest, NodeError> {
    arguments.of_one(Ok(StepsPlan::Index))
}

/// `debug_traceSteps`.
pub fn range(arguments: StepsArguments<'_>) -> Result<TraceRequest, NodeError> {
    let plan = StepsPlan::range(arguments.options());
    arguments.of_one(plan)
}

/// `debug_traceStepSearch`.
pub fn search(arguments: StepsArguments<'_>) -> Result<TraceRequest, NodeError> {
    let plan = StepsPlan::search(arguments.options());
    arguments.of_one(plan)
}

/// `debug_traceGasProfile`.
pub fn profile(arguments: StepsArguments<'_>) -> Result<TraceRequest, NodeError> {
    let plan = StepsPlan::profile(arguments.options(), arguments.block.is_some());
    arguments.with(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_tracers::TracerPlan;
    use std::time::Duration;

    fn read(op: &str, args: &serde_json::Value) -> Result<TraceRequest, String> {
        let text = serde_json::json!({ "op": op, "args": args }).to_string();
        TraceRequest::from_json(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_are_of_a_transaction_a_call_or_a_block() {
        let hash = format!("{:#x}", B256::repeat_byte(7));
        let config = serde_json::json!({ "timeout": "7s" });
        let page = serde_json::json!({ "hash": hash, "options": { "from": 3, "to": 9 }, "config": config });
        let request = read("traceSteps", &page).unwrap();
        assert!(matches!(request.subject, TraceSubject::Transaction(_)));
        assert_eq!(request.plan.timeout, Duration::from_secs(7));
        let TracerPlan::Steps(StepsPlan::Range(request)) = request.plan.tracer else {
            panic!("another plan")
        };
        assert_eq!(
            (request.from, request.to, request.stack, request.storage, request.return_data),
            (3, 9, true, true, false)
        );
        let call = serde_json::json!({ "transaction": {}, "block": "latest" });
        let index = read("traceStepIndex", &serde_json::json!({ "call": call })).unwrap();
        assert!(matches!(index.subject, TraceSubject::Call(_)));
        assert_eq!(index.plan.tracer, TracerPlan::Steps(StepsPlan::Index));
        let block = read("traceGasProfile", &serde_json::json!({ "block": "latest" })).unwrap();
        assert!(matches!(block.subject, TraceSubject::BlockGas(_)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let hash = format!("{:#x}", B256::repeat_byte(7));
        let of = |options: serde_json::Value| serde_json::json!({ "hash": hash, "options": options });
        let table = [
            (
                "traceSteps",
                of(serde_json::json!({"from": 5, "to": 5})),
                "to (5) must be greater than from (5)",
            ),
            ("traceSteps", of(serde_json::json!({"from": 0, "to": 1001})), "more than 1000 steps"),
            ("traceSteps", of(serde_json::json!({"from": 0})), "missing field `to`"),
            ("traceSteps", of(serde_json::json!({"from": 0, "to": 1, "tip": 2})), "unknown field `tip`"),
            ("traceSteps", of(serde_json::json!({"from": 0, "to": 1, "own": true})), "own needs a frame"),
            (
                "traceSteps",
                of(serde_json::json!({"from": 0, "to": 17, "memory": {"length": 32}})),
                "16 steps",
            ),
            ("traceSteps", of(serde_json::json!({"from": 0, "to": 1, "memory": {"length": 65537}})), "65537"),
            ("traceStepSearch", of(serde_json::json!({"where": {}})), "where is empty"),
            (
                "traceStepSearch",
                of(serde_json::json!({"where": {"op": "SSTOR"}})),
                "unknown instruction \"SSTOR\"",
            ),
            ("traceStepSearch", of(serde_json::json!({"where": {"pc": 1}, "count": 201})), "from 1 to 200"),
            (
                "traceGasProfile",
                serde_json::json!({"block": "latest", "options": {"by": "frame"}}),
                "one transaction",
            ),
            (
                "traceSteps",
                serde_json::json!({"block": "latest", "options": {"from": 0, "to": 1}}),
                "not of a block",
            ),
            ("traceStepIndex", serde_json::json!({}), "one of a hash, a call and a block"),
            ("traceStepIndex", serde_json::json!({"hash": hash, "config": {"timeout": "soon"}}), "duration"),
        ];
        for (op, args, want) in table {
            let error = read(op, &args).err().unwrap_or_default();
            assert!(error.contains(want), "{op} {args}: {error}");
        }
    }
}
