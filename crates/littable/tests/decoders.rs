//! Decoders bear any bytes: an answer or a refusal, no panic, and no more memory than the bytes
//! account for.
//!
//! `fuzz` beside this has the same for cargo-fuzz.

#![allow(clippy::unwrap_used)]

use hearth_littable::decoders::Decoder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which notes the largest piece that the thread allocated.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(layout: Layout) {
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if let Ok(wanted) = Layout::from_size_align(size, layout.align()) {
            note(wanted);
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Inputs for each decoder.
const INPUTS: u64 = 20_000;
/// Memory that a decoder may allocate beside a multiple of its input: a frame, and what a
/// decompressor needs.
const FIXED_BYTES: usize = 256 << 10;

struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Random bytes, or a good sample with some of its bytes, its length or a count in it changed.
fn input(noise: &mut Noise, sample: &[u8]) -> Vec<u8> {
    if noise.below(4) == 0 {
        return (0..noise.below(300)).map(|_| noise.below(256) as u8).collect();
    }
    let mut bytes = sample.to_vec();
    for _ in 0..1 + noise.below(4) {
        let at = noise.below(bytes.len());
        match noise.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..noise.below(40)).map(|n| n as u8)),
            2 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
            3 => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << noise.below(8)),
        }
    }
    bytes
}

#[test]
fn any_bytes_are_decoded_or_refused() {
    for (number, decoder) in Decoder::ALL.into_iter().enumerate() {
        let sample = decoder.sample();
        assert!(decoder.feed(&sample), "{decoder:?} refuses its sample");
        let mut noise = Noise(number as u64);
        let mut refused = 0;
        for _ in 0..INPUTS {
            let bytes = input(&mut noise, &sample);
            LARGEST.set(0);
            refused += u64::from(!decoder.feed(&bytes));
            let largest = LARGEST.get();
            assert!(largest <= FIXED_BYTES + 32 * bytes.len(), "{decoder:?}: {largest} for {bytes:02x?}");
        }
        assert!(refused > INPUTS / 10, "{decoder:?} refused {refused}");
    }
}
