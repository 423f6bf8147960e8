//! How fields are written in JSON, as protobuf's JSON mapping and the SDK's own types have them.

use super::{base64, time};
use crate::{
    proto::{Any, BaseAccount, Coin, Description, Duration, PubKey, Timestamp},
    staking,
};
use alloy_primitives::U256;
use prost::Message as _;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use std::fmt::Display;

/// A 64-bit number as text.
pub(crate) fn text<S: Serializer>(value: &impl Display, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

/// Bytes in base64.
pub(crate) fn bytes<S: Serializer>(value: &[u8], out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&base64(value))
}

/// The key of the next page: null after the last one.
pub(crate) fn key<S: Serializer>(value: &[u8], out: S) -> Result<S::Ok, S::Error> {
    if value.is_empty() { out.serialize_none() } else { bytes(value, out) }
}

/// A decimal number of 18 places, from the text of its atoms.
pub(crate) fn dec<S: Serializer>(atoms: &str, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&staking::dec(&U256::from_str_radix(atoms, 10).unwrap_or_default()))
}

/// A validator's status by its name.
pub(crate) fn bond_status<S: Serializer>(value: &i32, out: S) -> Result<S::Ok, S::Error> {
    let status = super::validators::STATUSES.iter().find(|(_, number)| number == value);
    out.serialize_str(status.map_or("BOND_STATUS_UNSPECIFIED", |(name, _)| name))
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&time::rfc3339(u64::try_from(self.seconds).unwrap_or(0)))
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&format!("{}s", self.seconds))
    }
}

impl Serialize for Coin {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(2))?;
        map.serialize_entry("denom", &self.denom)?;
        map.serialize_entry("amount", &self.amount)?;
        map.end()
    }
}

impl Serialize for Description {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(Some(5))?;
        map.serialize_entry("moniker", &self.moniker)?;
        map.serialize_entry("identity", &self.identity)?;
        map.serialize_entry("website", &self.website)?;
        map.serialize_entry("security_contact", &self.security_contact)?;
        map.serialize_entry("details", &self.details)?;
        map.end()
    }
}

/// An account or a key with its type beside its fields.
impl Serialize for Any {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("@type", &self.type_url)?;
        if self.type_url == super::auth::BASE_ACCOUNT {
            let account = BaseAccount::decode(self.value.as_slice()).unwrap_or_default();
            map.serialize_entry("address", &account.address)?;
            map.serialize_entry("pub_key", &account.pub_key)?;
            map.serialize_entry("account_number", &account.account_number.to_string())?;
            map.serialize_entry("sequence", &account.sequence.to_string())?;
        } else {
            let key = PubKey::decode(self.value.as_slice()).unwrap_or_default();
            map.serialize_entry("key", &base64(&key.key))?;
        }
        map.end()
    }
}
