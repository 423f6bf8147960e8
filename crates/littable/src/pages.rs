//! Memory of key indexes: its bound, and the pages that were read lately.

use crate::format::{be32, be64};
use crate::keys::Id;
use crate::run::{BIT_EXTENDED, BIT_NUMBER, PAGE_BYTES, PAGE_HEADER};
use parking_lot::Mutex;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

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

    /// The id of an entry beside another one. In words: a call for each comparison would take
    /// longer than it.
    fn compare(&self, number: usize, (first, last): (u64, u32)) -> Option<Ordering> {
        let id = self.id(number)?;
        Some(be64(id).cmp(&first).then_with(|| be32(&id[8..]).cmp(&last)))
    }

    /// The bytes that begin with the entry of an id.
    pub fn find(&self, id: &Id) -> Option<&[u8]> {
        let last = self.len().checked_sub(1)?;
        let words = (be64(id), be32(&id[8..]));
        // Hashed ids lie evenly: mostly it is near where it would be.
        let width = self.high.saturating_sub(self.low) as f64;
        let share = words.0.saturating_sub(self.low) as f64 / width.max(1.0);
        let mut at = ((share * last as f64) as usize).min(last);
        let mut upward = None;
        for _ in 0..MAX_STEPS {
            let up = match self.compare(at, words)? {
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
            match self.compare(middle, words)? {
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

/// Memory of all indexes of a store, against its bound. Filters, fences and keys of open segments
/// come first; pages of indexes that were read are kept in what they leave.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    /// Most bytes of pages, whatever room filters and fences leave.
    pages_limit: AtomicUsize,
    used: AtomicUsize,
    pages: AtomicUsize,
    /// The pages that are kept, in the order in which they are looked at when room is needed.
    ring: Mutex<VecDeque<(Weak<Pages>, u32)>>,
}

/// The pages of one index that are in memory. A look-up that finds its page here touches this
/// place, which lies beside those of the pages around it, and the page.
#[derive(Debug)]
pub(crate) struct Pages {
    slots: Box<[Mutex<Slot>]>,
    budget: Arc<Budget>,
}

#[derive(Debug, Default)]
struct Slot {
    page: Option<Box<Page>>,
    /// Whether it was used since it was looked at last.
    used: bool,
}

/// Bytes for each page of an index, kept or not.
pub(crate) const SLOT_BYTES: usize = size_of::<Mutex<Slot>>();

impl Pages {
    /// Of an index with so many pages, of which none is kept yet.
    pub fn new(pages: usize, budget: Arc<Budget>) -> Arc<Self> {
        Arc::new(Self { slots: (0..pages).map(|_| Mutex::default()).collect(), budget })
    }

    /// What a page that is kept says; `None` where it is not.
    pub fn look<T>(&self, number: usize, ask: impl FnOnce(&Page) -> T) -> Option<T> {
        let mut slot = self.slots.get(number)?.lock();
        slot.used = true;
        slot.page.as_deref().map(ask)
    }

    /// Keeps a page, in the place of another one where there is no room.
    pub fn keep(self: &Arc<Self>, number: usize, page: Page) {
        let budget = &self.budget;
        if !budget.make_room() {
            return;
        }
        let Some(slot) = self.slots.get(number) else { return };
        let mut slot = slot.lock();
        if slot.page.is_none() {
            (slot.page, slot.used) = (Some(Box::new(page)), false);
            budget.pages.fetch_add(1, Relaxed);
            drop(slot);
            budget.ring.lock().push_back((Arc::downgrade(self), number as u32));
        }
    }

    /// Drops a page that was not used lately; says whether it is gone.
    fn pass(&self, number: u32, even_used: bool) -> bool {
        let Some(slot) = self.slots.get(number as usize) else { return true };
        let mut slot = slot.lock();
        if std::mem::take(&mut slot.used) && !even_used {
            return false;
        }
        if slot.page.take().is_some() {
            self.budget.pages.fetch_sub(1, Relaxed);
        }
        true
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let kept = self.slots.iter_mut().filter_map(|slot| slot.get_mut().page.take()).count();
        self.budget.pages.fetch_sub(kept, Relaxed);
    }
}

impl Budget {
    pub fn new(limit: usize) -> Self {
        let zero = AtomicUsize::default;
        Self { limit, pages_limit: limit.into(), used: zero(), pages: zero(), ring: Mutex::default() }
    }

    /// Bounds the pages to `part` of `whole` of the limit, from now on. Filters, fences and keys
    /// stay: look-ups need them.
    pub fn set_capacity_fraction(&self, part: usize, whole: usize) {
        self.pages_limit.store(self.limit / whole * part, Relaxed);
        while self.pages.load(Relaxed) * PAGE_WEIGHT > self.pages_limit.load(Relaxed) {
            if !self.let_one_go() {
                return;
            }
        }
    }

    /// Drops a page, used or not; false where none is left.
    fn let_one_go(&self) -> bool {
        let Some((pages, number)) = self.ring.lock().pop_front() else { return false };
        if let Some(pages) = pages.upgrade() {
            pages.pass(number, true);
        }
        true
    }

    /// Bytes in use, pages included.
    pub fn memory(&self) -> usize {
        self.used.load(Relaxed) + self.pages.load(Relaxed) * PAGE_WEIGHT
    }

    /// Takes memory; pages make room for it.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Relaxed);
        while bytes > 0 && self.memory() > self.limit && self.let_one_go() {}
    }

    pub fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
    }

    /// Whether this much fits after an eviction.
    pub fn fits(&self, bytes: usize, going: usize) -> bool {
        (self.used.load(Relaxed) + bytes).saturating_sub(going) <= self.limit
    }

    /// Forgets the pages of an index that goes.
    pub fn forget(&self, pages: &Arc<Pages>) {
        self.ring.lock().retain(|(other, _)| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(pages)));
    }

    /// Whether a further page fits.
    fn has_room(&self) -> bool {
        let pages = (self.pages.load(Relaxed) + 1) * PAGE_WEIGHT;
        self.used.load(Relaxed) + pages <= self.limit && pages <= self.pages_limit.load(Relaxed)
    }

    /// Drops pages that were not used lately until one more fits; false where none is left to drop.
    fn make_room(&self) -> bool {
        let mut ring = self.ring.lock();
        // Every page may have been used; then it is found unused the second time.
        let mut looks = 2 * ring.len();
        while !self.has_room() {
            let Some((pages, number)) = ring.pop_front().filter(|_| looks > 0) else { return false };
            looks -= 1;
            // Those of an index that is gone went with it.
            if pages.upgrade().is_some_and(|pages| !pages.pass(number, false)) {
                ring.push_back((pages, number));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page::parse([0; PAGE_BYTES]).unwrap()
    }

    #[test]
    fn pages_stay_within_what_filters_leave() {
        let budget = Arc::new(Budget::new(100 * PAGE_WEIGHT));
        let pages = Pages::new(1000, budget.clone());
        for number in 0..1000 {
            pages.keep(number, page());
            assert!(budget.memory() <= 100 * PAGE_WEIGHT);
        }
        let kept = |pages: &Arc<Pages>| (0..1000).filter(|n| pages.look(*n, Page::len).is_some()).count();
        assert_eq!(kept(&pages), 100);
        budget.add(70 * PAGE_WEIGHT);
        assert!(budget.memory() <= 100 * PAGE_WEIGHT && kept(&pages) == 30);
        assert!(budget.fits(30 * PAGE_WEIGHT, 0) && !budget.fits(31 * PAGE_WEIGHT, 0));
        assert!(budget.fits(31 * PAGE_WEIGHT, PAGE_WEIGHT));
        budget.release(70 * PAGE_WEIGHT);
        let others = Pages::new(1000, budget.clone());
        others.keep(5, page());
        budget.forget(&pages);
        drop(pages);
        assert_eq!(kept(&others), 1);
        assert_eq!(budget.memory(), PAGE_WEIGHT);
        assert_eq!(budget.ring.lock().len(), 1);
        budget.forget(&others);
        drop(others);
        assert_eq!((budget.memory(), budget.ring.lock().len()), (0, 0));
        let none = Pages::new(1, Arc::new(Budget::new(0)));
        none.keep(0, page());
        assert!(none.look(0, Page::len).is_none() && none.budget.memory() == 0);
    }

    #[test]
    fn a_smaller_share_lets_pages_go_at_once() {
        let budget = Arc::new(Budget::new(160 * PAGE_WEIGHT));
        let pages = Pages::new(1000, budget.clone());
        let fill = || (0..1000).for_each(|number| pages.keep(number, page()));
        fill();
        assert_eq!(budget.memory(), 160 * PAGE_WEIGHT);
        budget.set_capacity_fraction(1, 16);
        assert_eq!(budget.memory(), 10 * PAGE_WEIGHT);
        fill();
        assert_eq!(budget.memory(), 10 * PAGE_WEIGHT);
        assert!(budget.fits(150 * PAGE_WEIGHT, 0), "what look-ups need has its room all the same");
        budget.set_capacity_fraction(16, 16);
        fill();
        assert_eq!(budget.memory(), 160 * PAGE_WEIGHT);
    }

    #[test]
    fn pages_that_are_used_outlive_others() {
        let pages = Pages::new(1000, Arc::new(Budget::new(50 * PAGE_WEIGHT)));
        for number in 0..1000 {
            pages.keep(number, page());
            assert!(pages.look(0, Page::len).is_some(), "{number}");
        }
        assert!(pages.look(1, Page::len).is_none() && pages.look(999, Page::len).is_some());
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
