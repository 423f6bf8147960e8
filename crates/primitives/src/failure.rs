//! A failure in words, with what of it is only for the log.

use crate::{SharedError, StateError};
use std::{error::Error, fmt, sync::Arc};

/// What clients read in place of the words of a failed store.
pub const STORE_FAILED_PUBLIC: &str = "a store of this node failed; its log says more";

/// Why something failed: words for everyone, and the error below them. The words of that error
/// follow in [`fmt::Display`]; those of a store may name files of this machine, and
/// [`Failure::public`] leaves them out.
#[derive(Clone, Debug)]
pub struct Failure {
    words: String,
    source: Option<SharedError>,
    is_private: bool,
}

impl Failure {
    /// A failure whose error may name files of this machine.
    pub fn private(source: impl Error + Send + Sync + 'static) -> Self {
        Self { words: String::new(), source: Some(Arc::new(source)), is_private: true }
    }

    /// A failure whose error everyone may read.
    pub fn open(source: impl Error + Send + Sync + 'static) -> Self {
        Self { words: String::new(), source: Some(Arc::new(source)), is_private: false }
    }

    /// The same failure with words before it.
    pub fn within(self, context: impl fmt::Display) -> Self {
        Self { words: format!("{context}{}", self.words), ..self }
    }

    /// The words for clients, if they differ from those for the log.
    pub fn public(&self) -> Option<String> {
        self.is_private.then(|| format!("{}{STORE_FAILED_PUBLIC}", self.words))
    }

    /// The words that a client or its script may read.
    pub fn to_public(&self) -> String {
        self.public().unwrap_or_else(|| self.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)?;
        self.source.as_ref().map_or(Ok(()), |source| fmt::Display::fmt(source, f))
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn Error + 'static))
    }
}

impl From<String> for Failure {
    fn from(words: String) -> Self {
        Self { words, source: None, is_private: false }
    }
}

impl From<&str> for Failure {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        if error.is_private() { Self::private(error) } else { Self::open(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stores_own_words_are_private() {
        let open = Failure::from(StateError::Unwound { height: 7 }).within("transaction 1: ");
        assert_eq!(open.to_string(), "transaction 1: block 7 was unwound while its state was read");
        assert_eq!(open.public(), None);
        let failed = StateError::failed("a table", std::io::Error::other("/srv/secret"));
        let private = Failure::from(failed).within("transaction 1: ");
        assert_eq!(private.to_string(), "transaction 1: state store: a table: /srv/secret");
        assert_eq!(private.to_public(), format!("transaction 1: {STORE_FAILED_PUBLIC}"));
        let source = private.source().and_then(|error| error.downcast_ref::<StateError>());
        assert!(matches!(source, Some(StateError::Failed { .. })), "{source:?}");
        assert_eq!(Failure::from("no room").public(), None);
    }
}
