//! What a row of the table says.

use serde::Serialize;

/// Bounds of latencies of single operations, in seconds.
pub(crate) const LATENCY: &[f64] = &[
    1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
/// Bounds of work that may take hours, in seconds.
pub(crate) const LONG: &[f64] = &[
    0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 2_700.0,
    3_600.0, 5_400.0, 7_200.0, 10_800.0, 14_400.0, 21_600.0, 28_800.0, 43_200.0,
];

/// What kind of instrument a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts samples by bucket.
    Histogram,
}

/// What a value is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bytes.
    #[serde(rename = "By")]
    Bytes,
    /// Things counted, heights, and yes or no as 1 or 0.
    #[serde(rename = "{count}")]
    Count,
}

impl Unit {
    /// Parts of a unit that a sum is kept in: whole nanoseconds for seconds.
    pub(crate) const fn ticks(self) -> f64 {
        match self {
            Self::Seconds => 1e9,
            Self::Bytes | Self::Count => 1.0,
        }
    }
}

/// The values that a label takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// These and no others: their series are there from the start.
    Finite(&'static [&'static str]),
    /// Known while running (names of tables): a series appears with its value and stays.
    Open,
}

/// A label of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its key.
    pub key: &'static str,
    /// Its values.
    pub values: Values,
}

impl Label {
    pub(crate) const fn finite(key: &'static str, values: &'static [&'static str]) -> Self {
        Self { key, values: Values::Finite(values) }
    }

    pub(crate) const fn open(key: &'static str) -> Self {
        Self { key, values: Values::Open }
    }
}

/// Values of a boolean label, in the order of [`Flag`](crate::Flag).
pub(crate) const BOOLEAN: &[&str] = &["true", "false"];
/// Whether the work was done without an error.
pub(crate) const SUCCESS: Label = Label::finite("success", BOOLEAN);

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instrument {
    /// Name, without any suffix that a page adds to a kind.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Unit of its values.
    pub unit: Unit,
    /// What is counted or measured, for the page.
    pub help: &'static str,
    /// Its labels, in the order of a page.
    pub labels: &'static [Label],
    /// Upper bounds of a histogram's buckets, ascending, in its unit; empty for other kinds.
    pub buckets: &'static [f64],
    /// Whether the series of finite labels exist from the start, at zero. The others appear when a
    /// setting enables them.
    pub from_start: bool,
}

impl Instrument {
    pub(crate) const fn counter(
        name: &'static str,
        unit: Unit,
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Counter, unit, help, labels, buckets: &[], from_start: true }
    }

    pub(crate) const fn gauge(
        name: &'static str,
        unit: Unit,
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Gauge, unit, help, labels, buckets: &[], from_start: true }
    }

    /// A histogram of seconds.
    pub(crate) const fn seconds(
        name: &'static str,
        buckets: &'static [f64],
        labels: &'static [Label],
        help: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Histogram, unit: Unit::Seconds, help, labels, buckets, from_start: true }
    }

    /// The same, with series that only a setting brings.
    pub(crate) const fn on_demand(self) -> Self {
        Self { from_start: false, ..self }
    }
}

/// Declares rows as constants, and the slice of all of them.
macro_rules! rows {
    ($($(#[$attribute:meta])* $row:ident = $instrument:expr;)*) => {
        $($(#[$attribute])* const $row: $crate::Instrument = $instrument;)*
        /// The rows of this store.
        pub(crate) const ROWS: &[$crate::Instrument] = &[$($row),*];
    };
}
pub(crate) use rows;
