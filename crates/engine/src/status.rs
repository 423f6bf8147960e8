//! What becomes of a payload (execution-apis: PayloadStatusV1).

use alloy_primitives::{B64, B256};
use hearth_home::JsonWriter;

/// The verdict on a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PayloadStatus {
    /// The block and its ancestors are valid; with the hash of the block.
    Valid(B256),
    /// The block, or an ancestor, is not.
    Invalid {
        /// The newest valid ancestor: zero if that is a proof-of-work block, `None` if it was not
        /// looked up.
        latest_valid: Option<B256>,
        /// What is wrong.
        error: String,
    },
    /// An ancestor is not known.
    Syncing,
    /// The block is well formed, and the state of its parent is not there to execute it on.
    Accepted,
}

/// Most characters of what is wrong with a block: a field may quote a whole value of it.
const ERROR_CHARACTERS_MAX: usize = 500;

impl PayloadStatus {
    /// An invalid one of which no valid ancestor is named.
    pub fn malformed(error: String) -> Self {
        Self::Invalid { latest_valid: None, error }
    }

    /// The status as consensus clients and metrics read it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Valid(_) => "VALID",
            Self::Invalid { .. } => "INVALID",
            Self::Syncing => "SYNCING",
            Self::Accepted => "ACCEPTED",
        }
    }

    /// As JSON.
    pub fn write(&self, w: &mut JsonWriter) {
        let (latest, error) = match self {
            Self::Valid(hash) => (Some(*hash), None),
            Self::Invalid { latest_valid, error } => (*latest_valid, Some(error)),
            Self::Syncing | Self::Accepted => (None, None),
        };
        w.begin_object().key("status").string(self.name()).key("latestValidHash");
        match latest {
            Some(hash) => w.hash(&hash),
            None => w.null(),
        };
        w.key("validationError");
        match error {
            Some(error) => w.string(&error.chars().take(ERROR_CHARACTERS_MAX).collect::<String>()),
            None => w.null(),
        };
        w.end_object();
    }

    /// The result of `engine_newPayload`.
    pub fn answer(&self) -> Vec<u8> {
        let mut w = JsonWriter::with_capacity(256);
        self.write(&mut w);
        w.into_bytes()
    }

    /// The answer to `engine_forkchoiceUpdated`.
    pub fn forkchoice_answer(&self, id: Option<B64>) -> Vec<u8> {
        let mut w = JsonWriter::with_capacity(320);
        w.begin_object().key("payloadStatus");
        self.write(&mut w);
        w.key("payloadId");
        match id {
            Some(id) => w.bytes(id.as_slice()),
            None => w.null(),
        };
        w.end_object();
        w.into_bytes()
    }
}
