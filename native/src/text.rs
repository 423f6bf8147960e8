//! Texts of JavaScript.

use napi::bindgen_prelude::{BufferSlice, FromNapiValue, TypeName, ValidateNapiValue, ValueType};
use napi::{Result, check_status, sys};
use std::ops::Deref;

/// Bytes of a short text, with the zero that N-API writes behind it.
const SHORT_BYTES: usize = 96;

/// Most bytes of a character in UTF-8: where a text is cut off, less than one of them is missing.
const CHARACTER_BYTES_MAX: usize = 4;

/// A text that is expected to be short: it is read by one call and without an allocation, where
/// `String` takes two calls and an allocation. Longer ones are read as a `String`.
pub enum ShortText {
    /// Bytes in UTF-8, and how many.
    Short([u8; SHORT_BYTES], usize),
    /// Any other text.
    Long(String),
}

impl Deref for ShortText {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            // N-API writes whole characters, and others in place of what UTF-8 cannot have.
            Self::Short(bytes, length) => std::str::from_utf8(&bytes[..*length]).unwrap_or_default(),
            Self::Long(text) => text,
        }
    }
}

impl TypeName for ShortText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for ShortText {}

impl FromNapiValue for ShortText {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut bytes = [0; SHORT_BYTES];
        let mut length = 0;
        // SAFETY: `env` is the environment of the running callback, `value` one of its arguments,
        // and the call gets the length of the buffer.
        let status = unsafe {
            sys::napi_get_value_string_utf8(env, value, bytes.as_mut_ptr().cast(), SHORT_BYTES, &mut length)
        };
        check_status!(status, "Failed to read a text")?;
        if length + CHARACTER_BYTES_MAX < SHORT_BYTES {
            return Ok(Self::Short(bytes, length));
        }
        // SAFETY: as above.
        Ok(Self::Long(unsafe { String::from_napi_value(env, value)? }))
    }
}

/// JSON: a string, or the bytes of one that is too long to be copied. They are borrowed.
pub enum JsonText<'a> {
    /// A copy of a string.
    Text(String),
    /// Bytes of a buffer.
    Bytes(BufferSlice<'a>),
}

impl Deref for JsonText<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl TypeName for JsonText<'_> {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ValidateNapiValue for JsonText<'_> {}

impl FromNapiValue for JsonText<'_> {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut kind = sys::ValueType::napi_undefined;
        // The type is looked up first: a failed conversion writes the value into its error.
        // SAFETY: `env` is the environment of the running callback, `value` one of its arguments.
        check_status!(unsafe { sys::napi_typeof(env, value, &mut kind) }, "Failed to read a type")?;
        if kind == sys::ValueType::napi_object {
            // SAFETY: as above.
            return Ok(Self::Bytes(unsafe { BufferSlice::from_napi_value(env, value)? }));
        }
        // SAFETY: as above.
        Ok(Self::Text(unsafe { String::from_napi_value(env, value)? }))
    }
}
