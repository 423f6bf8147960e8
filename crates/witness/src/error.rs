//! What is wrong with an answer of another node.

use hearth_evm::RecordedError;

/// An answer of another node that is not what was requested.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The text is longer than any such answer.
    #[error("the {what} has {bytes} bytes, at most {limit} are read")]
    TooLarge {
        /// `block`, `witness` or `supplement`.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// Most bytes.
        limit: usize,
    },
    /// The text is no JSON of the form.
    #[error("the {what} is no JSON of its form: {source}")]
    Json {
        /// `block`, `witness` or `supplement`.
        what: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The text is no JSON object.
    #[error("the {what} is no JSON object")]
    NoObject {
        /// `witness` or `supplement`.
        what: &'static str,
    },
    /// Bytes that are no hexadecimal text.
    #[error("the {what} has an item that is no hexadecimal text")]
    Hex {
        /// `block`, `witness` or `supplement`.
        what: &'static str,
    },
    /// The block's bytes are no block.
    #[error("the block does not decode: {0}")]
    BlockRlp(#[from] alloy_rlp::Error),
    /// The block's JSON is no block.
    #[error("the block does not decode: {0}")]
    BlockJson(#[from] RecordedError),
}

impl WitnessError {
    /// Whether the block is at fault, and not what was fetched for it.
    pub fn is_of_block(&self) -> bool {
        matches!(
            self,
            Self::BlockRlp(_)
                | Self::BlockJson(_)
                | Self::TooLarge { what: "block", .. }
                | Self::Json { what: "block", .. }
                | Self::Hex { what: "block" }
        )
    }
}
