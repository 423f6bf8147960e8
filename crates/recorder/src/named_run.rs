//! Why a simulated run failed: what a recording of its outermost frame says.

use crate::delegate_hooks;
use crate::fault::Fault;
use crate::recorder::Recorder;
use hearth_evm::{FailureObserver, NamedFailure};

/// The recording of one run, without inner frames and without logs.
#[derive(Default)]
struct NamedRun {
    frames: Recorder,
}

delegate_hooks!(NamedRun, frames);

impl FailureObserver for NamedRun {
    fn named(&self) -> Option<NamedFailure> {
        let fault = self.frames.frames().first()?.fault.as_ref()?;
        // go-ethereum wraps what it finds while it computes gas (core/vm/interpreter.go: Run).
        let out_of_gas = matches!(fault, Fault::OutOfGas | Fault::GasRefused(_));
        Some(NamedFailure { text: fault.to_string(), out_of_gas })
    }
}

/// An observer of one run that names its failure.
pub fn observe_failure() -> Box<dyn FailureObserver> {
    Box::new(NamedRun::default())
}
