//! The N-API boundary: the only crate that names napi.
