//! What a scrape takes away, as JSON.

use crate::{
    Instrument, Kind, Label, Registry, Unit, Values, instruments,
    registry::{Cell, Family, Series},
};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

/// Room for a snapshot with a few tables, in bytes.
const SNAPSHOT_BYTES: usize = 64 << 10;

#[derive(Serialize)]
struct CatalogRow {
    name: &'static str,
    kind: Kind,
    unit: Unit,
    help: &'static str,
    labels: Vec<CatalogLabel>,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    buckets: &'static [f64],
}

#[derive(Serialize)]
struct CatalogLabel {
    key: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'static [&'static str]>,
}

impl From<&'static Instrument> for CatalogRow {
    fn from(row: &'static Instrument) -> Self {
        let Instrument { name, kind, unit, help, labels, buckets, .. } = *row;
        Self { name, kind, unit, help, labels: labels.iter().map(CatalogLabel::from).collect(), buckets }
    }
}

impl From<&Label> for CatalogLabel {
    fn from(label: &Label) -> Self {
        let values = match label.values {
            Values::Finite(values) => Some(values),
            Values::Open => None,
        };
        Self { key: label.key, values }
    }
}

/// All rows.
struct Rows<'a>(&'a [Family]);

/// A row's series.
struct RowSeries<'a>(&'a Family);

/// One series.
struct OneSeries<'a>(&'a Instrument, &'a Series);

/// The labels of a series.
struct Labels<'a>(&'a Instrument, &'a Series);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            name: &'static str,
            series: RowSeries<'a>,
        }
        to.collect_seq(self.0.iter().map(|family| Row { name: family.row.name, series: RowSeries(family) }))
    }
}

impl Serialize for RowSeries<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.series.len()))?;
        for series in &self.0.series {
            list.serialize_element(&OneSeries(self.0.row, series))?;
        }
        list.end()
    }
}

impl Serialize for OneSeries<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("labels", &Labels(self.0, self.1))?;
        match &self.1.cell {
            Cell::Counter(counter) => map.serialize_entry("value", &counter.value())?,
            Cell::Gauge(gauge) => map.serialize_entry("value", &gauge.value())?,
            Cell::Histogram(histogram) => {
                // The total is the sum of the buckets that were read, so that a page never shows a
                // total that contradicts its buckets.
                let counts = histogram.counts();
                map.serialize_entry("counts", &counts)?;
                map.serialize_entry("sum", &histogram.sum())?;
                map.serialize_entry("count", &counts.iter().sum::<u64>())?;
            }
        }
        map.end()
    }
}

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.labels.iter().map(|label| label.key).zip(self.1.values.iter()))
    }
}

impl Registry {
    /// The table: an array of `{name, kind, unit, help, labels: [{key, values?}], buckets?}`. Kinds
    /// are `counter`, `gauge`, `histogram`; units `s`, `By`, `{count}`; a label without `values` is
    /// open.
    pub fn catalog_json(&self) -> String {
        let rows: Vec<CatalogRow> = instruments().map(CatalogRow::from).collect();
        serde_json::to_string(&rows).expect("plain data always serialises")
    }

    /// All values at this moment: an array of `{name, series}` in the order of the table. A series
    /// is `{labels, value}`, or for a histogram `{labels, counts, sum, count}`, with a count for
    /// each bucket, not cumulative; the bucket above all bounds is the last.
    ///
    /// Values are JSON numbers: counters are exact for readers with 64-bit floats up to 2^53.
    pub fn snapshot_json(&self) -> String {
        self.collect();
        let mut json = Vec::with_capacity(SNAPSHOT_BYTES);
        self.read(|families| serde_json::to_writer(&mut json, &Rows(families)))
            .expect("plain data always serialises");
        String::from_utf8(json).expect("JSON is text")
    }
}
