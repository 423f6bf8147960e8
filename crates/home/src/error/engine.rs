//! What the Engine API refuses (execution-apis, src/engine/common.md: Errors).

/// An error with a code of the Engine API; the message is that of the specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No payload is being built under this id any more.
    #[error("Unknown payload")]
    UnknownPayload,
    /// `safe` or `finalized` is not known, or not an ancestor of the head.
    #[error("Invalid forkchoice state")]
    InvalidForkchoice {
        /// What is wrong with it.
        reason: String,
    },
    /// Attributes of a payload that cannot be built on the head.
    #[error("Invalid payload attributes")]
    InvalidAttributes {
        /// What is wrong with them.
        reason: String,
    },
    /// The request has more entries than allowed.
    #[error("Too large request")]
    TooLarge {
        /// The kind of the entries, and the limit.
        reason: String,
    },
    /// A version of a method that does not go with the fork of its payload.
    #[error("Unsupported fork")]
    UnsupportedFork {
        /// Which forks the method takes.
        reason: String,
    },
    /// A fork choice that would unwind too many blocks.
    #[error("Too deep reorg")]
    TooDeepReorg {
        /// How many, and the limit.
        reason: String,
    },
}

impl EngineError {
    /// A stable machine name of the kind, for the table of JSON-RPC errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnknownPayload => "engine_unknown_payload",
            Self::InvalidForkchoice { .. } => "engine_invalid_forkchoice",
            Self::InvalidAttributes { .. } => "engine_invalid_attributes",
            Self::TooLarge { .. } => "engine_too_large",
            Self::UnsupportedFork { .. } => "engine_unsupported_fork",
            Self::TooDeepReorg { .. } => "engine_too_deep_reorg",
        }
    }

    /// What the member `data` says beside the message.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::UnknownPayload => None,
            Self::InvalidForkchoice { reason }
            | Self::InvalidAttributes { reason }
            | Self::TooLarge { reason }
            | Self::UnsupportedFork { reason }
            | Self::TooDeepReorg { reason } => Some(reason),
        }
    }
}
