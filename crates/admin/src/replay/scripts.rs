//! The processes that run the scripts of a replay.

use hearth_home::NodeError;
use hearth_home::ScriptsConfig;
use hearth_metrics::Registry;
use hearth_primitives::Failure;
use hearth_sandbox::{Layers, Options, Pool, Program};
use hearth_tracers::{Cancel, Limits, TracePlan};
use hearth_traces::{ScriptNeed, lease_for, not_available};
use std::sync::Arc;

/// Processes for the scripts of all configurations at once.
pub(super) struct Scripts(Option<(Arc<Pool>, ScriptNeed)>);

impl Scripts {
    /// The processes that these plans need.
    ///
    /// # Errors
    /// Where scripts cannot run.
    pub fn new(config: Option<&ScriptsConfig>, plans: &[TracePlan]) -> Result<Self, NodeError> {
        let Some(need) = ScriptNeed::of_all(plans) else { return Ok(Self(None)) };
        let children = match config {
            None => return Err(not_available()),
            Some(ScriptsConfig::Unavailable(why)) => {
                return Err(NodeError::Unsupported { message: why.unavailable.clone() });
            }
            Some(ScriptsConfig::Children(children)) => children,
        };
        let options = Options {
            program: Program { path: children.program.clone(), args: children.args.clone() },
            workers: need.children(),
            queue: need.children(),
            memory_bytes: children.memory_bytes,
            output_bytes: children.output_bytes,
            layers: Layers::ALL,
            require: children.require(),
            warm_up: None,
        };
        let pool = Pool::new(options, &Registry::new())
            .map_err(|error| NodeError::Trace { source: Failure::open(error) })?;
        Ok(Self(Some((Arc::new(pool), need))))
    }

    /// Limits of one execution, with the script host.
    ///
    /// # Errors
    /// Why scripts cannot run.
    pub fn limits(&self, cancel: &Cancel) -> Result<Limits, NodeError> {
        let scripts = match &self.0 {
            Some((pool, need)) => Some(lease_for(pool, need, cancel)?),
            None => None,
        };
        Ok(Limits { cancel: cancel.clone(), scripts, ..Limits::default() })
    }
}
