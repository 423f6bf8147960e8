//! Where the bytes of a trace come from.

/// What a trace was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceSourceKind {
    /// It was computed ahead of requests.
    Baked,
    /// The block's capsule: values at its start and write sets.
    Capsule,
    /// The state of the parent, the transactions before it executed.
    History,
}

impl TraceSourceKind {
    /// Its name, as answers carry it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baked => "baked",
            Self::Capsule => "capsule",
            Self::History => "history",
        }
    }
}
