//! Objects that name a variant of an enum beside its content: `{"op":…,"args":…}`.
//!
//! serde has an attribute for this form, `tag` with `content`. Its code for the content of a
//! variant is compiled twice: to read it from the text, and from a copy in memory where it stands
//! before the name. For the requests to a node that was a third of this crate's machine code and of
//! the time that it takes to compile. Here an enum has serde's plain form, whose code is compiled
//! once: [`Variant`] gives it the name and the content, and content that stands before its name is
//! kept as a piece of the text. Errors in such a piece count their column from its beginning.

use serde::{
    Deserialize,
    de::{
        DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, IntoDeserializer, MapAccess,
        VariantAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, marker::PhantomData};

/// What such an object stands for.
pub(crate) trait Tagged<'de>: Sized {
    /// The key of the variant's name.
    const NAME: &'static str;
    /// The key of the variant's content.
    const CONTENT: &'static str;

    /// The value of a variant.
    fn of<D: Deserializer<'de>>(variant: Variant<'_, D>) -> Result<Self, D::Error>;
}

/// Reads a value from JSON; nothing may follow it.
pub(crate) fn from_json<'a, T: Tagged<'a>>(text: &'a str) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = from_part(&mut json)?;
    json.end()?;
    Ok(read)
}

/// Reads a value that is a part of JSON.
pub(crate) fn from_part<'de, T: Tagged<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(Object(PhantomData))
}

/// A variant of an enum as the input of its derived `Deserialize`.
pub(crate) struct Variant<'a, D> {
    /// The variant's name.
    pub(crate) name: &'a str,
    content: Content<D>,
}

/// What stands beside the name.
pub(crate) struct Content<D> {
    /// The key that it has, or should have.
    key: &'static str,
    value: Option<D>,
}

impl<D> Content<D> {
    fn required<E: Error>(self) -> Result<D, E> {
        self.value.ok_or_else(|| E::missing_field(self.key))
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Variant<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'a, 'de, D: Deserializer<'de>> EnumAccess<'de> for Variant<'a, D> {
    type Error = D::Error;
    type Variant = Content<D>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<D>), D::Error> {
        let name: StrDeserializer<'a, D::Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.content))
    }
}

impl<'de, D: Deserializer<'de>> VariantAccess<'de> for Content<D> {
    type Error = D::Error;

    fn unit_variant(self) -> Result<(), D::Error> {
        self.value.map_or(Ok(()), <()>::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, D::Error> {
        seed.deserialize(self.required()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.required::<D::Error>()?.deserialize_tuple(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // Not `deserialize_struct`, which would also take a list of the fields' values.
        self.required::<D::Error>()?.deserialize_map(visitor)
    }
}

/// Reads the object.
struct Object<T>(PhantomData<T>);

impl<'de, T: Tagged<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}` and `{}`", T::NAME, T::CONTENT)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut name: Option<Cow<'de, str>> = None;
        let mut early: Option<&'de RawValue> = None;
        let mut read: Option<T> = None;
        while let Some(Text(key)) = map.next_key()? {
            if key == T::NAME {
                if name.is_some() {
                    return Err(A::Error::duplicate_field(T::NAME));
                }
                name = Some(map.next_value::<Text<'_>>()?.0);
            } else if key == T::CONTENT {
                if early.is_some() || read.is_some() {
                    return Err(A::Error::duplicate_field(T::CONTENT));
                }
                match &name {
                    Some(name) => read = Some(map.next_value_seed(ContentOf::<T>(name, PhantomData))?),
                    None => early = Some(map.next_value()?),
                }
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let Some(name) = name else { return Err(A::Error::missing_field(T::NAME)) };
        // The same type of deserializer as that of the text, so that no more code is compiled.
        read.map_or_else(|| from_early(&name, early).map_err(A::Error::custom), Ok)
    }
}

/// A value whose content stood before its name, or is absent.
fn from_early<'de, T: Tagged<'de>>(name: &str, content: Option<&'de RawValue>) -> serde_json::Result<T> {
    let mut json = content.map(|text| serde_json::Deserializer::from_str(text.get()));
    T::of(Variant { name, content: Content { key: T::CONTENT, value: json.as_mut() } })
}

/// Reads the content of a variant whose name is known.
struct ContentOf<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Tagged<'de>> DeserializeSeed<'de> for ContentOf<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, content: D) -> Result<T, D::Error> {
        T::of(Variant { name: self.0, content: Content { key: T::CONTENT, value: Some(content) } })
    }
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
    enum Order {
        DoNothing,
        Count(u64),
        Pair(u8, u8),
        Move { to_place: String, fast: Option<bool> },
        Deep { list: Vec<Deep> },
        Both(#[serde(deserialize_with = "from_part")] Inner),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Deep(Vec<Deep>);

    #[derive(Debug, PartialEq, Deserialize)]
    enum Inner {
        A { b: u8 },
    }

    impl<'de> Tagged<'de> for Order {
        const NAME: &'static str = "op";
        const CONTENT: &'static str = "args";

        fn of<D: Deserializer<'de>>(variant: Variant<'_, D>) -> Result<Self, D::Error> {
            Self::deserialize(variant)
        }
    }

    impl<'de> Tagged<'de> for Inner {
        const NAME: &'static str = "what";
        const CONTENT: &'static str = "of";

        fn of<D: Deserializer<'de>>(variant: Variant<'_, D>) -> Result<Self, D::Error> {
            Self::deserialize(variant)
        }
    }

    fn read(text: &str) -> Order {
        from_json(text).expect(text)
    }

    fn refused(text: &str) -> String {
        from_json::<Order>(text).expect_err(text).to_string()
    }

    #[test]
    fn name_and_content_stand_in_any_order_beside_other_keys() {
        let moved = |fast| Order::Move { to_place: "x".to_owned(), fast };
        assert_eq!(read(r#"{"op":"move","args":{"toPlace":"x"}}"#), moved(None));
        assert_eq!(read(r#"{"args":{"fast":true,"toPlace":"x"},"op":"move"}"#), moved(Some(true)));
        assert_eq!(
            read(r#" {"a":[{}],"args" : {"toPlace":"x","b":1} ,"c":2,"op":"move","d":3} "#),
            moved(None)
        );
        assert_eq!(read(r#"{"\u006fp":"mo\u0076e","args":{"toPlace":"\u0078"}}"#), moved(None));
        assert_eq!(read(r#"{"op":"count","args":18446744073709551615}"#), Order::Count(u64::MAX));
        assert_eq!(read(r#"{"args":[1,2],"op":"pair"}"#), Order::Pair(1, 2));
    }

    #[test]
    fn a_variant_without_content_takes_none_or_null() {
        assert_eq!(read(r#"{"op":"doNothing"}"#), Order::DoNothing);
        assert_eq!(read(r#"{"op":"doNothing","args":null}"#), Order::DoNothing);
        assert_eq!(read(r#"{"args":null,"op":"doNothing"}"#), Order::DoNothing);
        let error = refused(r#"{"op":"doNothing","args":{}}"#);
        assert_eq!(error, "invalid type: map, expected unit at line 1 column 25");
        assert_eq!(refused(r#"{"op":"count"}"#), "missing field `args` at line 1 column 14");
        assert_eq!(refused(r#"{"op":"move"}"#), "missing field `args` at line 1 column 13");
        let error = refused(r#"{"op":"move","args":null}"#);
        assert_eq!(error, "invalid type: null, expected struct variant Order::Move at line 1 column 24");
    }

    #[test]
    fn an_error_names_what_is_wrong() {
        let unknown =
            "unknown variant `x`, expected one of `doNothing`, `count`, `pair`, `move`, `deep`, `both`";
        for text in [r#"{"op":"x"}"#, r#"{"op":"x","args":{}}"#, r#"{"args":{},"op":"x"}"#] {
            let error = refused(text);
            assert!(error.starts_with(unknown), "{text}: {error}");
        }
        let wrong = "invalid type: integer `1`, expected a string at line 1 column ";
        assert_eq!(refused(r#"{"op":"move","args":{"toPlace":1}}"#), format!("{wrong}32"));
        assert_eq!(refused(r#"{"args":{"toPlace":1},"op":"move"}"#), format!("{wrong}12"));
        assert_eq!(refused(r#"{"op":1}"#), format!("{wrong}7"));
        let missing = refused(r#"{"op":"move","args":{"fast":true}}"#);
        assert_eq!(missing, "missing field `toPlace` at line 1 column 33");
        assert_eq!(refused(r#"{"args":{}}"#), "missing field `op` at line 1 column 11");
        let list = refused(r#"{"op":"move","args":["x",true]}"#);
        assert!(list.starts_with("invalid type: sequence, expected struct variant Order::Move"), "{list}");
        assert!(refused(r#"["doNothing"]"#).contains("expected an object with `op` and `args`"));
        assert!(refused("").starts_with("EOF while parsing a value"));
    }

    #[test]
    fn a_key_stands_once() {
        for text in
            [r#"{"op":"doNothing","op":"doNothing"}"#, r#"{"op":"doNothing","args":null,"op":"doNothing"}"#]
        {
            assert!(refused(text).starts_with("duplicate field `op`"), "{text}");
        }
        for text in [
            r#"{"op":"doNothing","args":null,"args":null}"#,
            r#"{"args":null,"op":"doNothing","args":null}"#,
            r#"{"args":null,"args":null,"op":"doNothing"}"#,
        ] {
            assert!(refused(text).starts_with("duplicate field `args`"), "{text}");
        }
    }

    #[test]
    fn nothing_follows_the_object() {
        assert_eq!(refused(r#"{"op":"doNothing"} x"#), "trailing characters at line 1 column 20");
        assert!(refused(r#"{"op":"doNothing""#).starts_with("EOF while parsing an object"));
        assert!(refused(r#"{"args":{"toPlace":"x"}},"op":"move"}"#).starts_with("missing field `op`"));
        assert!(refused(r#"{"args":{"toPlace" "x"},"op":"move"}"#).starts_with("expected `:`"));
    }

    #[test]
    fn nested_content_has_a_limit() {
        let text = |first: bool, depth: usize| {
            let list = format!(r#""args":{{"list":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
            if first { format!(r#"{{{list},"op":"deep"}}"#) } else { format!(r#"{{"op":"deep",{list}}}"#) }
        };
        for first in [true, false] {
            assert!(matches!(read(&text(first, 100)), Order::Deep { .. }));
            assert!(refused(&text(first, 200)).starts_with("recursion limit exceeded"));
            assert!(refused(&text(first, 100_000)).starts_with("recursion limit exceeded"));
        }
    }

    #[test]
    fn content_may_be_such_an_object() {
        for text in [
            r#"{"op":"both","args":{"what":"A","of":{"b":7}}}"#,
            r#"{"args":{"of":{"b":7},"what":"A"},"op":"both"}"#,
        ] {
            assert_eq!(read(text), Order::Both(Inner::A { b: 7 }));
        }
        let error = refused(r#"{"op":"both","args":{"what":"B","of":{}}}"#);
        assert!(error.starts_with("unknown variant `B`, expected `A`"), "{error}");
        assert!(refused(r#"{"op":"both","args":{"what":"A"}}"#).starts_with("missing field `of`"));
    }
}
