//! Who runs JavaScript tracers.

use hearth_sandbox::Layers;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Children that are started where the settings leave that to the machine, at least.
const FEWEST_WORKERS: usize = 2;

/// Who runs JavaScript tracers, where they are allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ScriptsConfig {
    /// Scripts cannot be run.
    Unavailable(ScriptsUnavailable),
    /// Child processes.
    Children(ScriptChildren),
}

/// Why scripts cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptsUnavailable {
    /// The reason, and what to type.
    pub unavailable: String,
}

/// Child processes that run scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptChildren {
    /// Absolute path of their program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Children at the same time; 0 for as many as there are processors, and at least two.
    pub workers: usize,
    /// Requests that may wait for one.
    pub queue_size: usize,
    /// Memory that a script may take, in bytes.
    pub memory_bytes: u64,
    /// Longest result, in bytes.
    pub output_bytes: u64,
    /// What must confine them, or they run nothing.
    #[serde(default)]
    pub require_confinement: RequiredConfinement,
}

/// What must confine the processes of scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequiredConfinement {
    /// Nothing: scripts run with what the system allows.
    #[default]
    None,
    /// Layers that need no rights of the node: no new privileges, no capabilities, a list of system
    /// calls, resource limits.
    SystemCalls,
    /// Every layer, but the bound of threads, which the kernel does not apply to root.
    All,
}

impl ScriptChildren {
    /// Layers without which nothing runs.
    pub fn require(&self) -> Layers {
        match self.require_confinement {
            RequiredConfinement::None => Layers::NONE,
            RequiredConfinement::SystemCalls => Layers::SYSTEM_CALLS,
            RequiredConfinement::All => Layers::ALL.without(Layers::THREADS),
        }
    }

    /// Children at the same time.
    pub fn workers(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from).max(FEWEST_WORKERS),
            workers => workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_read_and_nothing_between_them() {
        let read = |text: &str| serde_json::from_str::<Option<ScriptsConfig>>(text);
        assert_eq!(read("null").unwrap(), None);
        let why = ScriptsUnavailable { unavailable: "type x".to_owned() };
        assert_eq!(read(r#"{"unavailable":"type x"}"#).unwrap(), Some(ScriptsConfig::Unavailable(why)));
        let text =
            r#"{"program":"/p","args":["a"],"workers":0,"queueSize":1,"memoryBytes":2,"outputBytes":3}"#;
        let Ok(Some(ScriptsConfig::Children(children))) = read(text) else { panic!("children") };
        assert!(children.workers() >= FEWEST_WORKERS);
        assert_eq!(
            (children.program.to_str(), children.queue_size, children.output_bytes),
            (Some("/p"), 1, 3)
        );
        assert_eq!(children.require(), Layers::NONE);
        let with = |level: &str| {
            let text = text.replace("}", &format!(r#","requireConfinement":"{level}"}}"#));
            let Ok(Some(ScriptsConfig::Children(children))) = read(&text) else { panic!("{text}") };
            children.require()
        };
        assert_eq!(with("system-calls"), Layers::SYSTEM_CALLS);
        assert!(with("all").contains(Layers::LANDLOCK.and(Layers::NAMESPACES).and(Layers::SYSTEM_CALLS)));
        assert!(read(r#"{"program":"/p","unavailable":"x"}"#).is_err());
    }
}
