//! Why a simulated run failed, in go-ethereum's terms.
//!
//! The interpreter checks in another order than go-ethereum, and its reasons lack numbers and names
//! that go-ethereum's texts have. The recording that all tracers share has both, but belongs to a
//! component above this one: an observer comes in with the site of a call.

use crate::machine::EvmContext;
use revm::{Inspector, inspector::NoOpInspector};

/// Observes one run of a message.
pub trait FailureObserver: for<'a> Inspector<EvmContext<'a>> {
    /// Why the outermost frame failed, once the run has ended; `None` if that is not known.
    fn named(&self) -> Option<NamedFailure>;
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFailure {
    /// go-ethereum's text.
    pub text: String,
    /// go-ethereum's error is or wraps `ErrOutOfGas`: the run may succeed with more gas.
    pub out_of_gas: bool,
}

impl FailureObserver for NoOpInspector {
    fn named(&self) -> Option<NamedFailure> {
        None
    }
}

/// An observer that knows no names: failures keep the text of the interpreter's reason.
pub fn unnamed() -> Box<dyn FailureObserver> {
    Box::new(NoOpInspector)
}
