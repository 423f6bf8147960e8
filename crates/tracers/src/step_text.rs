//! Text of steps: numbers, words and the stack as JSON, written once and copied as long as they do
//! not change.

use alloy_primitives::U256;
use revm::bytecode::opcode as op;

/// Bytes of a word of memory.
pub(crate) const WORD_BYTES: usize = 32;

/// Length of a word's hex digits.
pub(crate) const WORD_DIGITS: usize = 2 * WORD_BYTES;

/// Text of a word of memory: quotes, `0x`, digits and a comma.
pub(crate) const WORD_TEXT_BYTES: usize = WORD_DIGITS + 5;

/// Longest text of a stack item: quotes, `0x`, digits and a comma.
const ITEM_TEXT_BYTES: usize = WORD_DIGITS + 5;

/// Numbers below it have at most eight decimal digits.
const EIGHT_DIGITS: u64 = 100_000_000;

/// A piece of constant text in a block of fixed size, which is cheaper to copy than one of any
/// length.
#[derive(Clone, Copy)]
pub(crate) struct Piece<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Piece<N> {
    /// Takes at most `N` bytes.
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut bytes = [0; N];
        let len = text.len().min(N);
        bytes[..len].copy_from_slice(&text[..len]);
        Self { bytes, len }
    }
}

/// Appends to a buffer, whose length is updated when this is dropped. It keeps its own position and
/// end, so that they stay in registers while bytes are written.
pub(crate) struct Tail<'v> {
    buffer: &'v mut Vec<u8>,
    /// Bytes in the buffer, those written here included.
    len: usize,
    /// The buffer's memory.
    start: *mut u8,
    /// How many bytes fit there.
    capacity: usize,
}

impl<'v> Tail<'v> {
    /// Appends to `buffer`, whose capacity should have been reserved before.
    #[inline(always)]
    pub(crate) fn new(buffer: &'v mut Vec<u8>) -> Self {
        let (len, start, capacity) = (buffer.len(), buffer.as_mut_ptr(), buffer.capacity());
        Self { buffer, len, start, capacity }
    }

    /// Appends the first `len` of `N` bytes.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        if self.capacity - self.len < N {
            (self.start, self.capacity) = grow(self.buffer, self.len, N);
        }
        debug_assert!(len <= N);
        // SAFETY: `start` is the buffer's memory of `capacity` bytes, of which at least N follow
        // `len`; the first `len <= N` of them are written here.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(self.len), N) };
        self.len += len.min(N);
    }

    /// Appends constant text.
    #[inline(always)]
    pub(crate) fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.put(text, N);
    }

    /// Appends a piece.
    #[inline(always)]
    pub(crate) fn piece<const N: usize>(&mut self, piece: &Piece<N>) {
        self.put(&piece.bytes, piece.len);
    }

    /// Appends a decimal number.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, value: u64) {
        if value < 10 {
            return self.put(&[b'0' + value as u8], 1);
        }
        if value < EIGHT_DIGITS {
            return self.leading_digits(value);
        }
        let (high, low) = (value / EIGHT_DIGITS, value % EIGHT_DIGITS);
        if high < EIGHT_DIGITS {
            self.leading_digits(high);
        } else {
            self.leading_digits(high / EIGHT_DIGITS);
            self.put(&(eight_digits(high % EIGHT_DIGITS) | ASCII_ZEROS).to_be_bytes(), 8);
        }
        self.put(&(eight_digits(low) | ASCII_ZEROS).to_be_bytes(), 8);
    }

    /// Appends a number of at most eight digits.
    #[inline(always)]
    fn leading_digits(&mut self, value: u64) {
        let digits = eight_digits(value);
        let len = 8 - (digits.leading_zeros() as usize / 8).min(7);
        self.put(&((digits | ASCII_ZEROS) << (64 - 8 * len)).to_be_bytes(), len);
    }

    /// Appends any bytes.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.capacity - self.len < bytes.len() {
            (self.start, self.capacity) = grow(self.buffer, self.len, bytes.len());
        }
        // SAFETY: `start` is the buffer's memory of `capacity` bytes, of which at least
        // `bytes.len()` follow `len`. They cannot overlap: the buffer is borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(self.len), bytes.len()) };
        self.len += bytes.len();
    }

    /// Appends a quoted word with `0x` and all of its 64 digits.
    #[inline(always)]
    pub(crate) fn word(&mut self, word: &[u8; WORD_BYTES]) {
        let mut text = [0u8; WORD_DIGITS + 4];
        text[..3].copy_from_slice(b"\"0x");
        text[3..3 + WORD_DIGITS].copy_from_slice(&word_digits(word));
        text[WORD_DIGITS + 3] = b'"';
        self.text(&text);
    }

    /// Appends the hex digits of a number, without leading zeros.
    #[inline(always)]
    fn hex(&mut self, value: &U256) {
        let [low, rest @ ..] = value.as_limbs();
        if rest.iter().all(|limb| *limb == 0) {
            let len = (64 - low.leading_zeros() as usize).div_ceil(4).max(1);
            let digits =
                u128::from(hex_digits((*low >> 32) as u32)) << 64 | u128::from(hex_digits(*low as u32));
            return self.put(&(digits << (128 - 8 * len)).to_be_bytes(), len);
        }
        let mut digits = [0u8; 2 * WORD_DIGITS];
        digits[..WORD_DIGITS].copy_from_slice(&word_digits(&value.to_be_bytes()));
        let len = value.bit_len().div_ceil(4);
        if let Some(block) = digits[WORD_DIGITS - len..].first_chunk::<WORD_DIGITS>() {
            self.put(block, len);
        }
    }
}

impl Drop for Tail<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        debug_assert!(self.len <= self.buffer.capacity());
        // SAFETY: every byte up to `len` was written, and `len` is at most the capacity that `put`
        // and `bytes` check.
        unsafe { self.buffer.set_len(self.len) };
    }
}

/// Makes room for `more` bytes behind the first `len` that were written.
#[cold]
#[inline(never)]
fn grow(buffer: &mut Vec<u8>, len: usize, more: usize) -> (*mut u8, usize) {
    // SAFETY: `Tail` has written every byte up to `len`, within the capacity.
    unsafe { buffer.set_len(len) };
    buffer.reserve(more);
    (buffer.as_mut_ptr(), buffer.capacity())
}

/// Makes digits below ten into ASCII.
const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// The eight decimal digits of a number, one byte each, the highest first. All digits are computed
/// at once, by halving.
#[inline(always)]
const fn eight_digits(value: u64) -> u64 {
    // Two numbers of four digits, four of two, eight of one. The factors are reciprocals, exact for
    // these ranges.
    let fours = ((value / 10_000) << 32) | (value % 10_000);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = (hundreds << 16) | (fours - hundreds * 100);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    (tens << 8) | (twos - tens * 10)
}

/// The eight hex digits of a number as ASCII, the first one in the highest byte.
#[inline(always)]
const fn hex_digits(value: u32) -> u64 {
    let halves = ((value as u64) << 16 | value as u64) & 0x0000_ffff_0000_ffff;
    let bytes = (halves << 8 | halves) & 0x00ff_00ff_00ff_00ff;
    let nibbles = (bytes << 4 | bytes) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    nibbles + ASCII_ZEROS + letters * (b'a' - b'0' - 10) as u64
}

/// The hex digits of a word. Written so that the compiler does all of them at once.
#[inline(always)]
pub(crate) fn word_digits(word: &[u8; WORD_BYTES]) -> [u8; WORD_DIGITS] {
    let digit = |nibble: u8| nibble + b'0' + if nibble > 9 { b'a' - b'0' - 10 } else { 0 };
    let mut text = [0u8; WORD_DIGITS];
    let mut i = 0;
    while i < WORD_BYTES {
        text[2 * i] = digit(word[i] >> 4);
        text[2 * i + 1] = digit(word[i] & 15);
        i += 1;
    }
    text
}

/// The stack of the running frame as text. The effect of an instruction is applied to the text as
/// well, so that only new items are formatted.
#[derive(Debug, Default)]
pub(crate) struct StackText {
    text: Vec<u8>,
    /// Where each item's text ends, comma included.
    ends: Vec<u32>,
    /// Items from the bottom that are as they were.
    valid: usize,
}

impl StackText {
    /// Another frame runs now.
    pub(crate) fn forget(&mut self) {
        self.valid = 0;
    }

    /// Applies to the text the effect of an instruction on the stack that was last passed to
    /// [`Self::of`]. If the instruction fails, its frame ends, and the text must be
    /// [forgotten](Self::forget).
    #[inline(always)]
    pub(crate) fn apply(&mut self, opcode: u8) {
        let height = self.ends.len();
        match opcode {
            op::DUP1..=op::DUP16 => self.duplicate(usize::from(opcode - op::DUP1) + 1),
            op::SWAP1..=op::SWAP16 => self.swap(usize::from(opcode - op::SWAP1) + 1),
            _ => self.valid = height.saturating_sub(hearth_recorder::opcode::inputs(opcode)),
        }
    }

    /// Where the text of an item begins and ends.
    fn range(&self, item: usize) -> (usize, usize) {
        let start = if item == 0 { 0 } else { self.ends[item - 1] as usize };
        (start, self.ends[item] as usize)
    }

    fn duplicate(&mut self, depth: usize) {
        let height = self.ends.len();
        self.valid = height;
        let Some(item) = height.checked_sub(depth) else { return };
        let (start, end) = self.range(item);
        self.text.extend_from_within(start..end);
        self.ends.push(self.text.len() as u32);
        self.valid += 1;
    }

    fn swap(&mut self, depth: usize) {
        let height = self.ends.len();
        self.valid = height;
        let Some(item) = height.checked_sub(depth + 1) else { return };
        let ((start, end), (top, top_end)) = (self.range(item), self.range(height - 1));
        if end - start == top_end - top {
            let (below, above) = self.text.split_at_mut(top);
            return below[start..end].swap_with_slice(above);
        }
        // Deep item, items between, top: the range is rotated, then the items between are moved to
        // their positions.
        let (deep, between) = (end - start, top - end);
        self.text[start..].rotate_left(deep);
        self.text[start..start + between + (top_end - top)].rotate_left(between);
        let shift = (top_end - top) as i64 - deep as i64;
        for end in &mut self.ends[item..height - 1] {
            *end = (i64::from(*end) + shift) as u32;
        }
    }

    /// The text of this stack, without brackets.
    #[inline(always)]
    pub(crate) fn of(&mut self, stack: &[U256]) -> &[u8] {
        let valid = self.valid.min(stack.len()).min(self.ends.len());
        if valid < self.ends.len() {
            self.ends.truncate(valid);
            self.text.truncate(self.ends.last().map_or(0, |end| *end as usize));
        }
        for item in &stack[valid..] {
            self.push(item);
        }
        self.valid = stack.len();
        self.text.strip_suffix(b",").unwrap_or_default()
    }

    #[inline(always)]
    fn push(&mut self, item: &U256) {
        self.text.reserve(2 * ITEM_TEXT_BYTES);
        let mut tail = Tail::new(&mut self.text);
        tail.text(b"\"0x");
        tail.hex(item);
        tail.text(b"\",");
        drop(tail);
        self.ends.push(self.text.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        let powers = (0..20).map(|digits| 10u64.pow(digits)).flat_map(|p| [p - 1, p, p + 1, p / 3]);
        let mut mixed = 1u64;
        let mixed = (0..5_000u32).map(move |i| {
            mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            mixed >> (i % 64)
        });
        for value in (0..20_000).chain(powers).chain(mixed).chain([u64::MAX]) {
            let mut out = b"x".to_vec();
            Tail::new(&mut out).decimal(value);
            assert_eq!(String::from_utf8(out).unwrap(), format!("x{value}"));
        }
    }

    #[test]
    fn a_tail_grows_where_no_room_was_made() {
        let mut out = Vec::new();
        let mut tail = Tail::new(&mut out);
        for _ in 0..1_000 {
            tail.text(b"ab");
            tail.piece(&Piece::<8>::new(b"c"));
            tail.bytes(b"def");
        }
        drop(tail);
        assert_eq!(out, b"abcdef".repeat(1_000));
    }

    #[test]
    fn a_stack_is_the_same_whatever_was_kept() {
        let mut cache = StackText::default();
        let mut stack: Vec<U256> = Vec::new();
        let mut seed = 1u64;
        for step in 0..20_000u32 {
            let text = String::from_utf8(cache.of(&stack).to_vec()).unwrap();
            let want: Vec<String> = stack.iter().map(|item| format!("\"{item:#x}\"")).collect();
            assert_eq!(text, want.join(","), "step {step}");
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (choice, depth) = (seed >> 61, (seed >> 40) as usize % 16 + 1);
            let fresh = U256::from(seed) << ((seed >> 50) as usize % 250);
            match choice {
                0..=2 => {
                    cache.apply(op::PUSH32);
                    stack.push(fresh >> ((seed >> 30) as usize % 256));
                }
                3 if stack.len() >= depth => {
                    cache.apply(op::DUP1 + depth as u8 - 1);
                    stack.push(stack[stack.len() - depth]);
                }
                4 | 5 if stack.len() > depth => {
                    cache.apply(op::SWAP1 + depth as u8 - 1);
                    let top = stack.len() - 1;
                    stack.swap(top, top - depth);
                }
                6 if stack.len() >= 2 => {
                    cache.apply(op::ADD);
                    stack.pop();
                    *stack.last_mut().unwrap() = fresh;
                }
                7 => {
                    cache.forget();
                    stack.truncate(depth);
                    stack.reverse();
                }
                _ => {
                    cache.apply(op::CALL);
                    stack.truncate(stack.len().saturating_sub(7));
                    stack.push(U256::from(seed & 1));
                }
            }
        }
    }
}
