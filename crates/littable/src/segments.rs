//! The segments of a shard by index.

use crate::segment::Segment;
use std::sync::Arc;

/// Segments in the order of their indexes, which rarely have gaps: a look-up goes to where the
/// segment would be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments(Vec<(u32, Arc<Segment>)>);

impl Segments {
    fn at(&self, index: u32) -> Result<usize, usize> {
        let first = self.0.first().map_or(0, |(first, _)| *first);
        let guess = index.wrapping_sub(first) as usize;
        match self.0.get(guess) {
            Some((there, _)) if *there == index => Ok(guess),
            _ => self.0.binary_search_by_key(&index, |(index, _)| *index),
        }
    }

    pub fn get(&self, index: u32) -> Option<&Arc<Segment>> {
        self.at(index).ok().map(|at| &self.0[at].1)
    }

    pub fn has(&self, index: u32) -> bool {
        self.at(index).is_ok()
    }

    pub fn insert(&mut self, segment: Arc<Segment>) {
        let index = segment.index();
        match self.at(index) {
            Ok(at) => self.0[at].1 = segment,
            Err(at) => self.0.insert(at, (index, segment)),
        }
    }

    /// Takes those out for which the question is answered with no.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.0.retain(|(index, _)| keep(*index));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn last(&self) -> Option<u32> {
        self.0.last().map(|(index, _)| *index)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Arc<Segment>)> {
        self.0.iter().map(|(index, segment)| (*index, segment))
    }
}
