//! The checked form of a configuration: which tracer, with which options, for how long.

use crate::call_tracer::CallTracerConfig;
use crate::config::{LoggerConfig, TraceConfig};
use crate::directory::{Named, TracerName};
use crate::duration::parse_go_duration;
use crate::erc7562_tracer::Erc7562TracerConfig;
use crate::error::TraceError;
use crate::flat_call_tracer::FlatCallTracerConfig;
use crate::limits::DEFAULT_TRACE_TIMEOUT;
use crate::parity::{Elements, ParityConfig};
use crate::prestate_tracer::PrestateTracerConfig;
use crate::script::ScriptPlan;
use crate::steps::StepsPlan;
use crate::struct_logger::StructLogConfig;
use crate::tracer_options;
use std::time::Duration;

/// A configuration that was checked: which tracer, with which options, for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// The tracer and its own options.
    pub tracer: TracerPlan,
    /// Time for one transaction.
    pub timeout: Duration,
}

/// A tracer with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracerPlan {
    /// `callTracer`.
    Call(CallTracerConfig),
    /// `flatCallTracer`.
    FlatCall(FlatCallTracerConfig),
    /// `prestateTracer`.
    Prestate(PrestateTracerConfig),
    /// `4byteTracer`.
    FourByte,
    /// `noopTracer`.
    Noop,
    /// `muxTracer`: tracers by the names of their results, in order of name.
    Mux(Vec<(String, TracerPlan)>),
    /// `keccak256PreimageTracer`.
    Keccak256Preimage,
    /// `erc7562Tracer`.
    Erc7562(Erc7562TracerConfig),
    /// `parityTracer`.
    Parity(ParityConfig),
    /// No tracer named: the struct logger; or `opcodeTracer`.
    StructLog(StructLogConfig),
    /// Steps in pieces; no configuration names it.
    Steps(StepsPlan),
    /// JavaScript.
    Script(ScriptPlan),
}

impl TracePlan {
    /// Checks a configuration: the tracer exists, its options and the timeout decode.
    pub fn new(config: &TraceConfig) -> Result<Self, TraceError> {
        let options = config.tracer_config.as_deref().unwrap_or("null");
        let timeout = config.timeout.as_deref();
        let named = match config.tracer.as_deref().map(Named::find).transpose()? {
            Some(Named::Script(text)) => {
                let (text, config) = (text.to_owned(), config.tracer_config.clone());
                return Self::with_timeout(TracerPlan::Script(ScriptPlan { text, config }), timeout);
            }
            Some(Named::Tracer(name)) => Some(name),
            None => None,
        };
        let tracer = match named {
            None => TracerPlan::StructLog(config.logger.plan(false)),
            Some(TracerName::CallTracer) => TracerPlan::Call(CallTracerConfig::parse(options)?),
            Some(TracerName::FlatCallTracer) => TracerPlan::FlatCall(FlatCallTracerConfig::parse(options)?),
            Some(TracerName::PrestateTracer) => TracerPlan::Prestate(PrestateTracerConfig::parse(options)?),
            Some(TracerName::FourByteTracer) => TracerPlan::FourByte,
            Some(TracerName::NoopTracer) => TracerPlan::Noop,
            Some(TracerName::MuxTracer) => TracerPlan::Mux(tracer_options::parse_mux(options, 0)?),
            Some(TracerName::Keccak256PreimageTracer) => TracerPlan::Keccak256Preimage,
            Some(TracerName::Erc7562Tracer) => TracerPlan::Erc7562(Erc7562TracerConfig::parse(options)?),
            Some(TracerName::ParityTracer) => TracerPlan::Parity(ParityConfig::parse(options)?),
            Some(TracerName::OpcodeTracer) => TracerPlan::StructLog(LoggerConfig::parse(options)?.plan(true)),
        };
        Self::with_timeout(tracer, timeout)
    }

    fn with_timeout(tracer: TracerPlan, timeout: Option<&str>) -> Result<Self, TraceError> {
        let timeout = timeout.map_or(Ok(DEFAULT_TRACE_TIMEOUT), parse_go_duration)?;
        Ok(Self { tracer, timeout })
    }

    /// How the results of a block's transactions are written.
    pub(crate) fn elements(&self) -> Elements {
        match &self.tracer {
            TracerPlan::Parity(config) => config.elements,
            _ => Elements::Named,
        }
    }

    /// What follows the results of a block's transactions: elements with commas between.
    pub(crate) fn rewards(&self) -> &str {
        match &self.tracer {
            TracerPlan::Parity(config) => &config.rewards,
            _ => "",
        }
    }

    /// The JavaScript tracers in it, those within muxTracer too.
    pub fn scripts(&self) -> Vec<&ScriptPlan> {
        let mut found = Vec::new();
        self.tracer.find_scripts(&mut found);
        found
    }
}

impl TracerPlan {
    fn find_scripts<'a>(&'a self, found: &mut Vec<&'a ScriptPlan>) {
        match self {
            Self::Script(plan) => found.push(plan),
            Self::Mux(plans) => plans.iter().for_each(|(_, plan)| plan.find_scripts(found)),
            _ => {}
        }
    }
}
