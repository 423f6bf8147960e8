//! Which table of operations has a name.

use super::{CosmosRequest, DevRequest};
use hearth_engine::EngineRequest;
use serde::{Deserialize, de::value::MapDeserializer};
use std::{borrow::Cow, fmt, iter::once};

/// A table of operations beside that of [`super::Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// [`DevRequest`].
    Dev,
    /// [`EngineRequest`].
    Engine,
    /// [`CosmosRequest`].
    Cosmos,
}

/// The other table that has the operation of a request in JSON; `None` if none has.
pub(super) fn family_of(text: &[u8]) -> Option<Family> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        op: Cow<'a, str>,
    }
    let Named { op } = serde_json::from_slice(text).ok()?;
    if has_operation::<DevRequest>(&op) {
        Some(Family::Dev)
    } else if has_operation::<EngineRequest>(&op) {
        Some(Family::Engine)
    } else if has_operation::<CosmosRequest>(&op) {
        Some(Family::Cosmos)
    } else {
        None
    }
}

/// Whether a type of requests has an operation of this name. The name is decoded without arguments:
/// serde reports an unknown variant through [`serde::de::Error::unknown_variant`], and everything
/// else through other functions.
fn has_operation<'a, T: Deserialize<'a>>(name: &'a str) -> bool {
    let request = MapDeserializer::<_, NameError>::new(once(("op", name)));
    !matches!(T::deserialize(request), Err(NameError::Unknown))
}

/// Why a name alone is no request.
#[derive(Debug)]
enum NameError {
    /// There is no such operation.
    Unknown,
    /// Arguments are missing, for example.
    Other,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown operation",
            Self::Other => "not a request",
        })
    }
}

impl std::error::Error for NameError {}

impl serde::de::Error for NameError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_one_table() {
        assert!(has_operation::<super::super::Request>("getBalance"));
        assert!(!has_operation::<super::super::Request>("cosmosRest"));
        let of = |op: &str| family_of(format!(r#"{{"args":{{}},"op":"{op}"}}"#).as_bytes());
        assert_eq!(of("cosmosRest"), Some(Family::Cosmos));
        assert_eq!(of("mine"), Some(Family::Dev));
        assert_eq!(of("getBalance"), None);
        assert_eq!(of("nothing"), None);
        assert_eq!(family_of(b"[]"), None);
    }

    #[test]
    fn an_error_names_the_argument_of_its_own_table() {
        let error = |text: &str| super::super::Request::from_json(text.as_bytes()).unwrap_err().to_string();
        let unknown = error(r#"{"op":"nothing"}"#);
        assert!(unknown.contains("unknown variant `nothing`"), "{unknown}");
        let cosmos = error(r#"{"args":{},"op":"addressOf"}"#);
        assert!(cosmos.contains("account"), "{cosmos}");
    }
}
