//! The names of an enum's variants, as serde has them.

use serde::{
    Deserialize,
    de::{Deserializer, Error, Unexpected, Visitor, value},
    forward_to_deserialize_any,
};

/// The names of an enum's variants; those of `#[serde(skip)]` are not among them.
pub(super) fn names_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // This ends in the error of `Names` after it has noted the names.
    let _: Result<T, _> = T::deserialize(Names(&mut names));
    names
}

/// Notes the names of an enum's variants.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        Err(value::Error::invalid_type(Unexpected::Enum, &visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = names;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_text() {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[expect(dead_code, reason = "only the names are looked at")]
        enum Order {
            DoNothing,
            Count(u64),
            #[serde(skip)]
            Other,
            Move {
                to: u8,
            },
        }
        assert_eq!(names_of::<Order>(), ["doNothing", "count", "move"]);
        assert!(names_of::<u64>().is_empty());
    }
}
