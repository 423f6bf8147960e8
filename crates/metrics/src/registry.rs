//! The series of one home.

use crate::{Counter, Gauge, Histogram, Instrument, Kind, Log, Values, instruments};
use parking_lot::{Mutex, RwLock};
use std::{fmt, sync::Arc};

/// Collectors of one registry; a further one replaces the oldest.
pub const MAX_COLLECTORS: usize = 16;

/// The values behind one combination of labels.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Cell {
    fn new(row: &Instrument) -> Self {
        match row.kind {
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Histogram => Self::Histogram(Histogram::new(row)),
        }
    }
}

/// One combination of labels.
#[derive(Debug)]
pub(crate) struct Series {
    /// Values in the order of the row's labels.
    pub(crate) values: Box<[Box<str>]>,
    pub(crate) cell: Cell,
}

/// A row with its series.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) row: &'static Instrument,
    pub(crate) series: Vec<Series>,
}

impl Family {
    fn cell(&self, values: &[&str]) -> Option<&Cell> {
        let found =
            self.series.iter().find(|series| series.values.iter().map(|v| &**v).eq(values.iter().copied()));
        found.map(|series| &series.cell)
    }

    fn add(&mut self, values: &[&str]) -> Cell {
        let cell = Cell::new(self.row);
        let values = values.iter().map(|value| Box::from(*value)).collect();
        self.series.push(Series { values, cell: cell.clone() });
        cell
    }

    /// Adds a series for each combination of the labels' values, unless a label is open.
    fn fill(&mut self) {
        let mut combinations = vec![Vec::new()];
        for label in self.row.labels {
            let Values::Finite(values) = label.values else { return };
            let longer = |had: &Vec<&'static str>| {
                let had = had.clone();
                values.iter().map(move |value| [had.as_slice(), &[*value]].concat())
            };
            combinations = combinations.iter().flat_map(longer).collect();
        }
        for values in combinations {
            self.add(&values);
        }
    }
}

/// Updates gauges before a scrape. Returns false once its source is gone; it is never called again
/// then.
type Collector = Box<dyn Fn() -> bool + Send + Sync>;

struct Inner {
    families: RwLock<Vec<Family>>,
    collectors: Mutex<Vec<Collector>>,
    log: Log,
}

/// The series of one home, cheap to clone and shared by all its stores. Every instrument with
/// finite labels has its series from the start, at zero.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

impl Registry {
    /// A registry with everything at zero.
    pub fn new() -> Self {
        let family = |row: &'static Instrument| {
            let mut family = Family { row, series: Vec::new() };
            if row.from_start {
                family.fill();
            }
            family
        };
        let families = RwLock::new(instruments().map(family).collect());
        Self(Arc::new(Inner { families, collectors: Mutex::default(), log: Log::default() }))
    }

    /// Log entries of the stores of this home.
    pub fn log(&self) -> &Log {
        &self.0.log
    }

    /// Registers a collector, which runs before every snapshot and sets gauges that are too costly
    /// to keep up to date. It returns false once its source is gone. It must not take a snapshot
    /// itself.
    pub fn collect_with(&self, collector: impl Fn() -> bool + Send + Sync + 'static) {
        let mut collectors = self.0.collectors.lock();
        if collectors.len() == MAX_COLLECTORS {
            drop(collectors.remove(0));
        }
        collectors.push(Box::new(collector));
    }

    /// Runs the collectors.
    pub(crate) fn collect(&self) {
        self.0.collectors.lock().retain(|collector| collector());
    }

    /// Looks at all rows and their series.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&[Family]) -> T) -> T {
        read(&self.0.families.read())
    }

    pub(crate) fn counter(&self, row: &Instrument, values: &[&str]) -> Counter {
        match self.cell(row, values) {
            Cell::Counter(counter) => counter,
            _ => unreachable!("{} is declared as a {:?}", row.name, row.kind),
        }
    }

    pub(crate) fn gauge(&self, row: &Instrument, values: &[&str]) -> Gauge {
        match self.cell(row, values) {
            Cell::Gauge(gauge) => gauge,
            _ => unreachable!("{} is declared as a {:?}", row.name, row.kind),
        }
    }

    pub(crate) fn histogram(&self, row: &Instrument, values: &[&str]) -> Histogram {
        match self.cell(row, values) {
            Cell::Histogram(histogram) => histogram,
            _ => unreachable!("{} is declared as a {:?}", row.name, row.kind),
        }
    }

    /// The values behind a combination of labels, made where they are not there yet.
    fn cell(&self, row: &Instrument, values: &[&str]) -> Cell {
        debug_assert_eq!(row.labels.len(), values.len(), "labels of {}", row.name);
        let mut families = self.0.families.write();
        let family = families.iter_mut().find(|family| family.row.name == row.name);
        let family = family.expect("only rows of the table are read");
        family.cell(values).cloned().unwrap_or_else(|| family.add(values))
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}
