//! Numbers of settings of which zero means none. Fields with
//! `#[serde(with = "hearth_primitives::zero_is_none")]` read zero as `None`, and write `None` as
//! zero.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::num::{NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize};

/// A number that is not zero, and the type that has zero too.
pub trait NonZeroNumber: Copy {
    /// The type with zero, which is its default.
    type Number: Default + Serialize + for<'de> Deserialize<'de>;

    /// The number as the type with zero.
    fn number(self) -> Self::Number;

    /// None for zero.
    fn of(number: Self::Number) -> Option<Self>;
}

macro_rules! non_zero_numbers {
    ($($non_zero:ty: $number:ty),*) => {$(
        impl NonZeroNumber for $non_zero {
            type Number = $number;

            fn number(self) -> $number {
                self.get()
            }

            fn of(number: $number) -> Option<Self> {
                Self::new(number)
            }
        }
    )*};
}

non_zero_numbers!(NonZeroU32: u32, NonZeroU64: u64, NonZeroU128: u128, NonZeroUsize: usize);

/// Writes the number; zero for none.
///
/// # Errors
/// The serializer's.
pub fn serialize<N: NonZeroNumber, S: Serializer>(number: &Option<N>, to: S) -> Result<S::Ok, S::Error> {
    number.map_or_else(N::Number::default, N::number).serialize(to)
}

/// Reads the number; none for zero.
///
/// # Errors
/// The deserializer's.
pub fn deserialize<'de, N: NonZeroNumber, D: Deserializer<'de>>(from: D) -> Result<Option<N>, D::Error> {
    N::Number::deserialize(from).map(N::of)
}
