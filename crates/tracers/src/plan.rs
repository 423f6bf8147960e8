//! What a configuration asks for, checked: which tracer, with which options, for how long.

use crate::call_tracer::CallTracerConfig;
use crate::config::{LoggerConfig, TraceConfig};
use crate::directory::TracerName;
use crate::duration::parse_go_duration;
use crate::erc7562_tracer::Erc7562TracerConfig;
use crate::error::TraceError;
use crate::flat_call_tracer::FlatCallTracerConfig;
use crate::limits::DEFAULT_TRACE_TIMEOUT;
use crate::prestate_tracer::PrestateTracerConfig;
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
    /// No tracer named: the struct logger; or `opcodeTracer`.
    StructLog(StructLogConfig),
}

impl TracePlan {
    /// Checks a configuration: the tracer exists, its options and the timeout decode.
    pub fn new(config: &TraceConfig) -> Result<Self, TraceError> {
        let options = config.tracer_config.as_deref().unwrap_or("null");
        let tracer = match config.tracer.as_deref().map(TracerName::find).transpose()? {
            None => TracerPlan::StructLog(config.logger.plan(false)),
            Some(TracerName::CallTracer) => TracerPlan::Call(CallTracerConfig::parse(options)?),
            Some(TracerName::FlatCallTracer) => TracerPlan::FlatCall(FlatCallTracerConfig::parse(options)?),
            Some(TracerName::PrestateTracer) => TracerPlan::Prestate(PrestateTracerConfig::parse(options)?),
            Some(TracerName::FourByteTracer) => TracerPlan::FourByte,
            Some(TracerName::NoopTracer) => TracerPlan::Noop,
            Some(TracerName::MuxTracer) => TracerPlan::Mux(tracer_options::parse_mux(options, 0)?),
            Some(TracerName::Keccak256PreimageTracer) => TracerPlan::Keccak256Preimage,
            Some(TracerName::Erc7562Tracer) => TracerPlan::Erc7562(Erc7562TracerConfig::parse(options)?),
            Some(TracerName::OpcodeTracer) => TracerPlan::StructLog(LoggerConfig::parse(options)?.plan(true)),
        };
        let timeout = config.timeout.as_deref().map_or(Ok(DEFAULT_TRACE_TIMEOUT), parse_go_duration)?;
        Ok(Self { tracer, timeout })
    }
}
