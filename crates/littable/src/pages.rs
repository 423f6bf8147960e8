//! Memory of key indexes: its bound, and the pages that were read lately.

use crate::format::{be64, mix};
use crate::keys::Id;
use crate::run::{BIT_EXTENDED, BIT_NUMBER, PAGE_BYTES, PAGE_HEADER};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Pages that share a place in memory.
const WAYS: usize = 4;
/// What a page that is kept weighs: its bytes, where its entries begin, and its place.
const PAGE_WEIGHT: usize = PAGE_BYTES + 512;
const ENTRY_FIXED: usize = 22;
/// Entries that a look-up goes from where it guessed, before it searches.
const MAX_STEPS: usize = 12;

/// A page of a key index whose checksum was right. What a look-up needs first lies together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Page {
    /// The first eight bytes of the first and of the last id.
    low: u64,
    high: u64,
    len: usize,
    /// Bytes of each entry; 0 where they differ.
    stride: usize,
    /// Where each entry begins, where they differ.
    starts: Box<[u16]>,
    bytes: [u8; PAGE_BYTES],
}

impl Page {
    /// Finds the entries of a page; `None` where they do not fit into it.
    pub fn parse(bytes: [u8; PAGE_BYTES]) -> Option<Self> {
        let len = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
        let mut at = PAGE_HEADER;
        let mut starts = Vec::with_capacity(len.min(PAGE_BYTES / ENTRY_FIXED));
        for _ in 0..len {
            starts.push(at as u16);
            let word = bytes.get(at + 12..at + 14)?;
            let word = u16::from_be_bytes([word[0], word[1]]);
            at += entry_len(word);
            if at > PAGE_BYTES {
                return None;
            }
        }
        let all = (at - PAGE_HEADER) / len.max(1);
        let even = starts.iter().enumerate().all(|(n, start)| usize::from(*start) == PAGE_HEADER + n * all);
        let (stride, starts) = if even { (all, Box::default()) } else { (0, starts.into()) };
        let mut page = Self { low: 0, high: 0, len, stride, starts, bytes };
        page.low = page.id(0).map_or(0, be64);
        page.high = len.checked_sub(1).and_then(|last| page.id(last)).map_or(0, be64);
        Some(page)
    }

    fn start(&self, number: usize) -> Option<usize> {
        match self.stride {
            0 => self.starts.get(number).map(|start| usize::from(*start)),
            stride => (number < self.len).then_some(PAGE_HEADER + number * stride),
        }
    }

    /// The bytes of an entry and of those behind it.
    pub fn entry(&self, number: usize) -> Option<&[u8]> {
        self.bytes.get(self.start(number)?..)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    fn id(&self, number: usize) -> Option<&[u8]> {
        let start = self.start(number)?;
        self.bytes.get(start..start + size_of::<Id>())
    }

    /// The bytes that begin with the entry of an id.
    pub fn find(&self, id: &Id) -> Option<&[u8]> {
        let last = self.len().checked_sub(1)?;
        // Hashed ids lie evenly: mostly it is near where it would be.
        let width = self.high.saturating_sub(self.low) as f64;
        let share = be64(id).saturating_sub(self.low) as f64 / width.max(1.0);
        let mut at = ((share * last as f64) as usize).min(last);
        let mut upward = None;
        for _ in 0..MAX_STEPS {
            let up = match self.id(at)?.cmp(&id[..]) {
                Ordering::Equal => return self.entry(at),
                Ordering::Less => true,
                Ordering::Greater => false,
            };
            // It would lie between two neighbours, or behind the end.
            if upward.is_some_and(|upward| upward != up) || (up && at == last) || (!up && at == 0) {
                return None;
            }
            upward = Some(up);
            at = if up { at + 1 } else { at - 1 };
        }
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let middle = (from + to) / 2;
            match self.id(middle)?.cmp(&id[..]) {
                Ordering::Equal => return self.entry(middle),
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
            }
        }
        None
    }
}

/// Bytes of an entry with these bits.
pub(crate) fn entry_len(word: u16) -> usize {
    ENTRY_FIXED + if word & BIT_NUMBER != 0 { 4 } else { 0 } + if word & BIT_EXTENDED != 0 { 8 } else { 0 }
}

/// Memory of all indexes of a store, against its bound. Filters, fences and keys of open segments come first; pages of
/// indexes that were read are kept in what they leave.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    used: AtomicUsize,
    pages: AtomicUsize,
    /// Made when the first page comes.
    sets: OnceLock<Box<[Mutex<Set>]>>,
}

/// Small enough to lie in two cache lines with its lock.
#[derive(Debug, Default)]
struct Set {
    ways: [Option<Way>; WAYS],
    /// A bit for each page that was used since the hand passed it.
    used: u8,
    hand: u8,
}

#[derive(Debug)]
struct Way {
    key: NonZeroU64,
    page: Arc<Page>,
}

/// One number for a file and a page of it. There are less than 2^28 pages in a file, and less than 2^36 files.
fn key(uid: u64, number: usize) -> NonZeroU64 {
    NonZeroU64::new(uid << 28 | number as u64).unwrap_or(NonZeroU64::MIN)
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        let zero = AtomicUsize::default;
        Self { limit, used: zero(), pages: zero(), sets: OnceLock::new() }
    }

    /// Bytes in use, pages included.
    pub fn memory(&self) -> usize {
        self.used.load(Relaxed) + self.pages.load(Relaxed) * PAGE_WEIGHT
    }

    /// Takes memory; pages make room for it.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Relaxed);
        if bytes > 0 && self.memory() > self.limit {
            self.trim();
        }
    }

    pub fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }

    /// Whether there is room for this much, when something else has gone.
    pub fn fits(&self, bytes: usize, going: usize) -> bool {
        (self.used.load(Relaxed) + bytes).saturating_sub(going) <= self.limit
    }

    fn set_of(&self, key: NonZeroU64) -> Option<&Mutex<Set>> {
        let sets = self.sets.get()?;
        sets.get(mix(key.get()) as usize % sets.len().max(1))
    }

    /// A page of an index that is in memory.
    pub fn page(&self, uid: u64, number: usize) -> Option<Arc<Page>> {
        let key = key(uid, number);
        let mut set = self.set_of(key)?.lock();
        let at = set.find(key)?;
        set.used |= 1 << at;
        set.ways[at].as_ref().map(|way| way.page.clone())
    }

    /// Keeps a page, in the place of another one where there is no room.
    pub fn keep(&self, uid: u64, number: usize, page: Arc<Page>) {
        let sets = (self.limit / PAGE_WEIGHT).div_ceil(WAYS);
        self.sets.get_or_init(|| (0..sets).map(|_| Mutex::default()).collect());
        let key = key(uid, number);
        let Some(set) = self.set_of(key) else { return };
        let mut set = set.lock();
        if set.find(key).is_some() {
            return;
        }
        let room = self.memory() + PAGE_WEIGHT <= self.limit;
        let free = set.ways.iter().position(Option::is_none).filter(|_| room);
        let Some(at) = free.or_else(|| set.victim()) else { return };
        set.used &= !(1 << at);
        if set.ways[at].replace(Way { key, page }).is_none() {
            self.pages.fetch_add(1, Relaxed);
        }
    }

    /// Drops the pages of an index that goes.
    pub fn forget(&self, uid: u64, pages: usize) {
        for key in (0..pages).map(|number| key(uid, number)) {
            let Some(set) = self.set_of(key) else { return };
            let mut set = set.lock();
            if let Some(at) = set.find(key) {
                set.ways[at] = None;
                self.pages.fetch_sub(1, Relaxed);
            }
        }
    }

    /// Drops pages until everything fits, or none is left.
    fn trim(&self) {
        for set in self.sets.get().into_iter().flatten() {
            if self.memory() <= self.limit {
                return;
            }
            for way in &mut set.lock().ways {
                if way.take().is_some() {
                    self.pages.fetch_sub(1, Relaxed);
                }
            }
        }
    }
}

impl Set {
    fn find(&self, key: NonZeroU64) -> Option<usize> {
        self.ways.iter().position(|way| way.as_ref().is_some_and(|way| way.key == key))
    }

    /// The next place that holds a page that was not used since the hand passed it.
    fn victim(&mut self) -> Option<usize> {
        for _ in 0..2 * WAYS {
            self.hand = (self.hand + 1) % WAYS as u8;
            let bit = 1 << self.hand;
            let at = usize::from(self.hand);
            if self.ways[at].is_some() && self.used & bit == 0 {
                return Some(at);
            }
            self.used &= !bit;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Arc<Page> {
        Arc::new(Page::parse([0; PAGE_BYTES]).unwrap())
    }

    #[test]
    fn pages_stay_within_what_filters_leave() {
        let budget = Budget::new(100 * PAGE_WEIGHT);
        for number in 0..1000 {
            budget.keep(1, number, page());
            assert!(budget.memory() <= 100 * PAGE_WEIGHT);
        }
        let kept = |uid| (0..1000).filter(|n| budget.page(uid, *n).is_some()).count();
        assert!(kept(1) > 60, "{}", kept(1));
        budget.add(70 * PAGE_WEIGHT);
        assert!(budget.memory() <= 100 * PAGE_WEIGHT && kept(1) <= 30);
        assert!(budget.fits(30 * PAGE_WEIGHT, 0) && !budget.fits(31 * PAGE_WEIGHT, 0));
        assert!(budget.fits(31 * PAGE_WEIGHT, PAGE_WEIGHT));
        budget.give_back(70 * PAGE_WEIGHT);
        budget.keep(2, 5, page());
        budget.forget(1, 1000);
        assert_eq!((kept(1), kept(2)), (0, 1));
        budget.forget(2, 1000);
        assert_eq!(budget.memory(), 0);
        let none = Budget::new(0);
        none.keep(1, 0, page());
        assert!(none.page(1, 0).is_none() && none.memory() == 0);
    }

    #[test]
    fn entries_are_found_however_they_lie() {
        for spread in [1_u64, 1 << 40, 1 << 57] {
            let mut bytes = [0; PAGE_BYTES];
            bytes[4..6].copy_from_slice(&120_u16.to_be_bytes());
            let id = |n: u64| {
                let mut id = [0; 12];
                // The second half lies far from the first.
                let far = if n >= 120 { u64::MAX / 2 } else { 0 };
                id[..8].copy_from_slice(&(far + (n % 120) * spread / 120).to_be_bytes());
                id[8..].copy_from_slice(&(n as u32).to_be_bytes());
                id
            };
            // Every second id is there.
            for n in 0..120 {
                let start = PAGE_HEADER + n as usize * ENTRY_FIXED;
                bytes[start..start + 12].copy_from_slice(&id(2 * n));
            }
            let page = Page::parse(bytes).unwrap();
            for n in 0..240 {
                let found = page.find(&id(n)).map(|entry| entry[..12].to_vec());
                assert_eq!(found, (n % 2 == 0).then(|| id(n).to_vec()), "{n}");
            }
            assert!(page.find(&[0xff; 12]).is_none());
        }
    }

    #[test]
    fn entries_that_do_not_fit_are_refused() {
        let mut bytes = [0; PAGE_BYTES];
        bytes[4..6].copy_from_slice(&185_u16.to_be_bytes());
        assert_eq!(Page::parse(bytes).unwrap().len(), 185);
        bytes[4..6].copy_from_slice(&186_u16.to_be_bytes());
        assert!(Page::parse(bytes).is_none());
        bytes[4..6].copy_from_slice(&u16::MAX.to_be_bytes());
        assert!(Page::parse(bytes).is_none());
    }
}
