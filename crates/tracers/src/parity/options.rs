//! Options of parityTracer, from `tracerConfig`.

use crate::decode::{entries, wrong};
use hearth_recorder::error::ConfigError;

/// What parityTracer records, and in which form it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParityConfig {
    /// `types` has `trace`: the call frames as a list.
    pub trace: bool,
    /// `types` has `stateDiff`.
    pub state_diff: bool,
    /// `types` has `vmTrace`.
    pub vm_trace: bool,
    /// `form`.
    pub form: ParityForm,
    /// `withHash`: `transactionHash` beside the parts of a replay.
    pub with_hash: bool,
    /// `elements`: what stands between the results of a block's transactions.
    pub elements: Elements,
    /// Traces after those of the transactions, as JSON elements separated by commas: the rewards of
    /// a block.
    pub rewards: String,
}

/// The form of one transaction's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ParityForm {
    /// `replay`: an object with `output`, `stateDiff`, `trace` and `vmTrace`, as
    /// `trace_replayTransaction`.
    #[default]
    Replay,
    /// `localized`: the call frames with block and transaction, as `trace_transaction`.
    Localized,
    /// `operations`: the value that moved, as `ots_getInternalOperations`.
    Operations,
    /// `calls`: every frame with its depth, as `ots_traceTransaction`.
    Calls,
    /// `failure`: the data of the REVERT that ended the transaction, as `ots_getTransactionError`.
    Failure,
    /// The localized frame at a trace address, as `trace_get`; `null` where there is none.
    At(Vec<u32>),
}

/// How a block trace writes the results of its transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elements {
    /// `named`: `{"txHash":…,"result":…}`, as `debug_traceBlock*`.
    #[default]
    Named,
    /// `plain`: only the results.
    Plain,
    /// `joined`: the localized frames of all transactions, then the block's rewards.
    Joined,
}

/// Most numbers of a trace address.
const MAX_TRACE_ADDRESS: usize = 1_024;

impl ParityConfig {
    /// Whether the result is written while the transaction runs: its `vmTrace` is as long as that.
    pub(crate) fn is_streamed(&self) -> bool {
        self.vm_trace && self.form == ParityForm::Replay
    }

    /// Parses `tracerConfig`. `null` selects `trace` only.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self { trace: true, ..Self::default() };
        for (key, value) in entries(json, "parityTracerConfig")? {
            let value = value.get();
            let bad = |field: &'static str, kind: &'static str| wrong(value, field, kind);
            match key.to_lowercase().as_str() {
                "types" => {
                    let kind = "a list of trace, stateDiff and vmTrace";
                    let types: Vec<&str> =
                        serde_json::from_str(value).map_err(|_| bad("parityTracerConfig.types", kind))?;
                    config.trace = false;
                    for name in types {
                        match name {
                            "trace" => config.trace = true,
                            "stateDiff" => config.state_diff = true,
                            "vmTrace" => config.vm_trace = true,
                            _ => return Err(bad("parityTracerConfig.types", kind)),
                        }
                    }
                }
                "form" => {
                    config.form = match value {
                        "\"replay\"" => ParityForm::Replay,
                        "\"localized\"" => ParityForm::Localized,
                        "\"operations\"" => ParityForm::Operations,
                        "\"calls\"" => ParityForm::Calls,
                        "\"failure\"" => ParityForm::Failure,
                        _ => {
                            let kind = "replay, localized, operations, calls or failure";
                            return Err(bad("parityTracerConfig.form", kind));
                        }
                    }
                }
                "traceaddress" => {
                    let kind = "a list of numbers";
                    let path: Vec<u32> = serde_json::from_str(value)
                        .map_err(|_| bad("parityTracerConfig.traceAddress", kind))?;
                    if path.len() > MAX_TRACE_ADDRESS {
                        return Err(bad("parityTracerConfig.traceAddress", "at most 1024 numbers"));
                    }
                    config.form = ParityForm::At(path);
                }
                "elements" => {
                    config.elements = match value {
                        "\"named\"" => Elements::Named,
                        "\"plain\"" => Elements::Plain,
                        "\"joined\"" => Elements::Joined,
                        _ => return Err(bad("parityTracerConfig.elements", "named, plain or joined")),
                    }
                }
                "withhash" => {
                    crate::decode::boolean(value, "parityTracerConfig.withHash", &mut config.with_hash)?
                }
                _ => {}
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_refused() {
        let read = |json: &str| ParityConfig::parse(json);
        assert_eq!(read("null").unwrap(), ParityConfig { trace: true, ..ParityConfig::default() });
        let both = read(r#"{"types":["stateDiff","vmTrace"],"withHash":true,"elements":"plain"}"#).unwrap();
        assert!(!both.trace && both.state_diff && both.vm_trace && both.with_hash);
        assert_eq!(both.elements, Elements::Plain);
        assert_eq!(read(r#"{"traceAddress":[0,2]}"#).unwrap().form, ParityForm::At(vec![0, 2]));
        for bad in [r#"{"types":["traces"]}"#, r#"{"types":1}"#, r#"{"form":"x"}"#, r#"{"elements":3}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
