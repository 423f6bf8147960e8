//! Points in time and durations (google/protobuf of Protocol Buffers).

/// Seconds since the Unix epoch, and nanoseconds that count forward.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Timestamp {
    /// Negative before the epoch.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// 0 to 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A number of seconds, and nanoseconds of the same sign.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Less than a second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}
