//! Lists of hexadecimal texts as clients write them: an array, an object of hash to bytes, or
//! nothing.

use crate::WitnessError;
use alloy_primitives::{Bytes, hex};
use rayon::prelude::*;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::{fmt, marker::PhantomData};

/// Items of an array, or the values of an object. `null` is an empty list.
#[derive(Debug)]
pub(crate) struct ListOrMap<T>(pub Vec<T>);

impl<T> Default for ListOrMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ListOrMap<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Items(PhantomData))
    }
}

struct Items<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
    type Value = ListOrMap<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list, or an object whose values are one")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ListOrMap::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(ListOrMap(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some((IgnoredAny, item)) = map.next_entry()? {
            items.push(item);
        }
        Ok(ListOrMap(items))
    }
}

/// Reads an object: a struct would take an array for its members in order.
pub(crate) fn object<'de, T: Deserialize<'de>>(
    what: &'static str,
    json: &'de [u8],
) -> Result<T, WitnessError> {
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(WitnessError::NoObject { what });
    }
    serde_json::from_slice(json).map_err(|source| WitnessError::Json { what, source })
}

/// The bytes of many texts, decoded in parallel.
pub(crate) fn decode(what: &'static str, texts: &[&str]) -> Result<Vec<Bytes>, WitnessError> {
    texts.par_iter().map(|text| bytes(what, text)).collect()
}

/// The bytes of a text.
pub(crate) fn bytes(what: &'static str, text: &str) -> Result<Bytes, WitnessError> {
    hex::decode(text).map(Into::into).map_err(|_| WitnessError::Hex { what })
}
