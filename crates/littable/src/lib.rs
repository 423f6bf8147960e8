//! Append-only segment store for bulk data
