//! Instruments of JavaScript tracers.

use crate::{Counter, Gauge, Instrument, Label, Registry, Unit, instrument::rows};

/// What may confine a process, by name.
pub const SCRIPT_LAYERS: [&str; 11] = [
    "no_new_privs",
    "capabilities",
    "user_namespace",
    "network_namespace",
    "pid_namespace",
    "mount_namespace",
    "ipc_namespace",
    "landlock",
    "seccomp",
    "resource_limits",
    "thread_limit",
];

/// A part of the confinement.
const LAYER: Label = Label::finite("layer", &SCRIPT_LAYERS);

/// What became of a request for a process.
const OUTCOME: Label = Label::finite("outcome", &["granted", "full", "late", "unwanted", "failed"]);

/// Why a process was killed.
const REASON: Label = Label::finite("reason", &["deadline", "memory", "output", "unwanted", "ended"]);

rows! {
    CHILDREN = Instrument::gauge("js_tracer_children", Unit::Count, &[],
        "Processes for JavaScript tracers");
    QUEUE_DEPTH = Instrument::gauge("js_tracer_queue_depth", Unit::Count, &[],
        "Requests with a JavaScript tracer that wait for a process");
    CONFINEMENT = Instrument::gauge("js_tracer_confinement", Unit::Count, &[LAYER],
        "Parts of the confinement of processes for JavaScript tracers: 1 where the part holds in the process that started last, 0 where \
         the system refuses it, -1 before the first process has started");
    REQUESTS = Instrument::counter("js_tracer_requests", Unit::Count, &[OUTCOME],
        "Requests with a JavaScript tracer: those that got a process (granted), found the queue full (full), waited too long \
         (late), were given up while they waited (unwanted), or found that no process can be started (failed)");
    KILLED = Instrument::counter("js_tracer_killed", Unit::Count, &[REASON],
        "Processes of JavaScript tracers that were killed or ended: the request's time was up (deadline), too much memory \
         (memory) or output (output), no client waited for the answer (unwanted), or by themselves (ended)");
}

/// What became of a request for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptOutcome {
    /// It got one.
    Granted,
    /// The queue was full.
    Full,
    /// It waited too long.
    Late,
    /// The client left before its turn.
    Unwanted,
    /// No process can be started.
    Failed,
}

/// Why a process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKill {
    /// The time was up.
    Deadline,
    /// Too much memory.
    Memory,
    /// Too much output.
    Output,
    /// The client left before the answer.
    Unwanted,
    /// It ended by itself.
    Ended,
}

/// Handles of JavaScript tracers.
#[derive(Clone, Debug)]
pub struct ScriptMetrics {
    /// Processes.
    pub children: Gauge,
    /// By layer: 1 if it is in force, 0 if not, -1 as long as that is unknown.
    confinement: [Gauge; SCRIPT_LAYERS.len()],
    /// Requests that wait.
    pub queue_depth: Gauge,
    /// In the order of the label's values.
    requests: [Counter; 5],
    killed: [Counter; 5],
}

impl ScriptMetrics {
    /// The handles in a registry.
    pub fn new(registry: &Registry) -> Self {
        let requests = ["granted", "full", "late", "unwanted", "failed"];
        let reasons = ["deadline", "memory", "output", "unwanted", "ended"];
        let confinement = SCRIPT_LAYERS.map(|layer| registry.gauge(&CONFINEMENT, &[layer]));
        confinement.iter().for_each(|gauge| gauge.set(-1));
        Self {
            confinement,
            children: registry.gauge(&CHILDREN, &[]),
            queue_depth: registry.gauge(&QUEUE_DEPTH, &[]),
            requests: requests.map(|outcome| registry.counter(&REQUESTS, &[outcome])),
            killed: reasons.map(|reason| registry.counter(&KILLED, &[reason])),
        }
    }

    /// Counts a request.
    pub fn count(&self, outcome: ScriptOutcome) {
        self.requests[outcome as usize].add(1);
    }

    /// Sets which layers hold, by the bits of a number in the order of [`SCRIPT_LAYERS`].
    pub fn confined(&self, layers: u32) {
        for (bit, gauge) in self.confinement.iter().enumerate() {
            gauge.set(i64::from(layers >> bit & 1));
        }
    }

    /// Counts a killed process.
    pub fn killed(&self, reason: ScriptKill) {
        self.killed[reason as usize].add(1);
    }
}
