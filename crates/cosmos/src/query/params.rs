//! The parameters of a path and its query string.

use super::{FromParams, QueryError};
use crate::proto::{
    AddressPage, Nothing, OneText, PageRequest, QueryValidatorsRequest, SimulateRequest, TwoTexts,
};
use base64::{Engine as _, engine::general_purpose};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// Parameters by name. Of one that is given several times the last counts; unknown ones are
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// These.
    pub fn new<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn text(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// The first of these names that there is.
    fn first(&self, names: &[&str]) -> String {
        names.iter().find_map(|name| self.0.get(*name).cloned()).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Result<u64, QueryError> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(0);
        }
        text.parse()
            .map_err(|_| QueryError::invalid(format!("{name}: {text:?} is no number from 0 to 2^64 - 1")))
    }

    fn flag(&self, name: &str) -> Result<bool, QueryError> {
        match self.text(name).as_str() {
            "" | "false" | "0" => Ok(false),
            "true" | "1" => Ok(true),
            other => Err(QueryError::invalid(format!("{name}: {other:?} is neither true nor false"))),
        }
    }

    /// Bytes in base64, of either alphabet; a `+` that a query string made a space counts as one.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, QueryError> {
        let text = self.text(name).replace([' ', '-'], "+").replace('_', "/");
        let text = text.trim_end_matches('=');
        general_purpose::STANDARD_NO_PAD
            .decode(text)
            .map_err(|error| QueryError::invalid(format!("{name}: no base64: {error}")))
    }

    fn page(&self) -> Result<Option<PageRequest>, QueryError> {
        Ok(Some(PageRequest {
            key: self.bytes("pagination.key")?,
            offset: self.number("pagination.offset")?,
            limit: self.number("pagination.limit")?,
            count_total: self.flag("pagination.count_total")?,
            reverse: self.flag("pagination.reverse")?,
        }))
    }
}

impl<'de> Deserialize<'de> for Params {
    /// An object of texts, or of lists of texts.
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            One(String),
            Several(Vec<String>),
        }
        let all = BTreeMap::<String, Given>::deserialize(input)?;
        let last = |(name, given)| match given {
            Given::One(text) => Some((name, text)),
            Given::Several(mut texts) => texts.pop().map(|text| (name, text)),
        };
        Ok(Self(all.into_iter().filter_map(last).collect()))
    }
}

impl FromParams for Nothing {
    fn from_params(_: &Params) -> Result<Self, QueryError> {
        Ok(Self {})
    }
}

impl FromParams for AddressPage {
    fn from_params(params: &Params) -> Result<Self, QueryError> {
        let address = params.first(&["address", "validator_addr", "delegator_addr"]);
        Ok(Self { address, pagination: params.page()? })
    }
}

impl FromParams for OneText {
    fn from_params(params: &Params) -> Result<Self, QueryError> {
        Ok(Self { text: params.first(&["address", "validator_addr", "denom"]) })
    }
}

impl FromParams for TwoTexts {
    fn from_params(params: &Params) -> Result<Self, QueryError> {
        let first = params.first(&["address", "delegator_addr"]);
        Ok(Self { first, second: params.first(&["validator_addr", "denom"]) })
    }
}

impl FromParams for QueryValidatorsRequest {
    fn from_params(params: &Params) -> Result<Self, QueryError> {
        Ok(Self { status: params.text("status"), pagination: params.page()? })
    }
}

impl FromParams for SimulateRequest {
    fn from_params(params: &Params) -> Result<Self, QueryError> {
        Ok(Self { tx: Vec::new(), tx_bytes: params.bytes("tx_bytes")? })
    }
}
