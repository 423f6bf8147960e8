//! Records an execution once and renders it as JSON bytes
