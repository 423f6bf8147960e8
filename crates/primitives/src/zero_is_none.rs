//! Numbers of settings of which zero means none. Fields with
//! `#[serde(with = "hearth_primitives::zero_is_none")]` read zero as `None`, and write `None` as
//! zero.

use serde::{Deserialize, Deserializer, Serializer};
use std::num::NonZeroU64;

/// Writes the number; zero for none.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(number: &Option<NonZeroU64>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(number.map_or(0, NonZeroU64::get))
}

/// Reads the number; none for zero.
///
/// # Errors
/// The deserializer's.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<NonZeroU64>, D::Error> {
    u64::deserialize(from).map(NonZeroU64::new)
}
