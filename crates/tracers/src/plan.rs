//! The checked form of a configuration: which tracer, with which options, for how long.

use crate::config::TraceConfig;
use crate::directory::Named;
use crate::parity::Elements;
use crate::steps::{StepsError, StepsPlan};
use crate::table::TracerPlan;
use hearth_recorder::ScriptPlan;
use hearth_recorder::duration::parse_go_duration;
use hearth_recorder::error::TraceError;
use hearth_recorder::limits::DEFAULT_TRACE_TIMEOUT;
use std::time::Duration;

/// A configuration that was checked: which tracer, with which options, for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// The tracer and its own options.
    pub tracer: TracerPlan,
    /// Time for one transaction.
    pub timeout: Duration,
}

impl TracePlan {
    /// Checks a configuration: the tracer exists, its options and the timeout decode.
    pub fn new(config: &TraceConfig) -> Result<Self, TraceError> {
        let timeout = config.timeout.as_deref();
        let tracer = match config.tracer.as_deref() {
            None => TracerPlan::StructLog(config.logger.plan(false)),
            Some(name) => Named::find(name)?.plan(config.tracer_config.as_deref())?,
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

impl StepsPlan {
    /// The plan of a trace for this.
    ///
    /// # Errors
    /// [`StepsError::Timeout`].
    pub fn traced(self, timeout: Option<&str>) -> Result<TracePlan, StepsError> {
        let timeout = timeout.map_or(Ok(DEFAULT_TRACE_TIMEOUT), parse_go_duration)?;
        Ok(TracePlan { tracer: TracerPlan::Steps(self), timeout })
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
