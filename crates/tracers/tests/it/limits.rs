//! Bounds: time, size, cancelling, and what a trace leaves behind.
