//! Text of steps: numbers, stack and storage as JSON, made once and copied as long as it does not change.

use alloy_primitives::U256;

/// Longest decimal number of 64 bits, in digits.
const DECIMAL_DIGITS: usize = 20;

/// Bytes of a word of memory.
pub(crate) const WORD_BYTES: usize = 32;

/// Length of a word's hex digits.
pub(crate) const WORD_DIGITS: usize = 2 * WORD_BYTES;

/// Length of an entry of storage: two quoted words with `0x`, a colon and a comma.
const SLOT_TEXT_BYTES: usize = 2 * (WORD_DIGITS + 4) + 2;

/// Where the digits of the value begin in an entry of storage.
const SLOT_VALUE_AT: usize = WORD_DIGITS + 4 + 1 + 3;

/// Both digits of the numbers below one hundred.
const DECIMAL_PAIRS: [[u8; 2]; 100] = {
    let mut table = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        table[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    table
};

/// A piece of constant text in a block of fixed size, which is cheaper to copy than one of any length.
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

/// Appends to a buffer in which room was made before.
pub(crate) struct Tail<'v>(pub(crate) &'v mut Vec<u8>);

impl Tail<'_> {
    /// Appends the first `len` of `N` bytes.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: &[u8; N], len: usize) {
        let at = self.0.len();
        if self.0.capacity() - at < N {
            self.0.reserve(N);
        }
        debug_assert!(len <= N);
        // SAFETY: there is room for N bytes behind `at`, and the first `len <= N` of them are written here.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.as_mut_ptr().add(at), N);
            self.0.set_len(at + len.min(N));
        }
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
    pub(crate) fn decimal(&mut self, mut value: u64) {
        let mut digits = [0u8; 2 * DECIMAL_DIGITS];
        let mut at = DECIMAL_DIGITS;
        while value >= 100 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&DECIMAL_PAIRS[(value % 100) as usize]);
            value /= 100;
        }
        if value >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&DECIMAL_PAIRS[value as usize]);
        } else {
            at -= 1;
            digits[at] = b'0' + value as u8;
        }
        let (_, tail) = digits.split_at(at);
        if let Some(block) = tail.first_chunk::<DECIMAL_DIGITS>() {
            self.put(block, DECIMAL_DIGITS - at);
        }
    }

    /// Appends any bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
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

/// The stack of the running frame as text. Items that no instruction has touched since are not made again.
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

    /// Only the first `items` are as they were.
    #[inline(always)]
    pub(crate) fn keep(&mut self, items: usize) {
        self.valid = items;
    }

    /// The text of this stack, without brackets.
    #[inline(always)]
    pub(crate) fn of(&mut self, stack: &[U256]) -> &[u8] {
        let valid = self.valid.min(stack.len()).min(self.ends.len());
        self.ends.truncate(valid);
        self.text.truncate(self.ends.last().map_or(0, |end| *end as usize));
        for item in &stack[valid..] {
            self.push(item);
        }
        self.text.strip_suffix(b",").unwrap_or_default()
    }

    #[inline(always)]
    fn push(&mut self, item: &U256) {
        let [low, rest @ ..] = item.as_limbs();
        let mut digits = [0u8; 2 * WORD_DIGITS];
        let (bits, at) = if rest.iter().all(|limb| *limb == 0) {
            for (i, byte) in low.to_be_bytes().into_iter().enumerate() {
                digits[2 * i..2 * i + 2].copy_from_slice(&crate::json::HEX_PAIRS[usize::from(byte)]);
            }
            (64 - low.leading_zeros() as usize, 16)
        } else {
            digits[..WORD_DIGITS].copy_from_slice(&word_digits(&item.to_be_bytes()));
            (item.bit_len(), WORD_DIGITS)
        };
        let len = bits.div_ceil(4).max(1);
        let mut tail = Tail(&mut self.text);
        tail.text(b"\"0x");
        if let Some(block) = digits[at - len..].first_chunk::<WORD_DIGITS>() {
            tail.put(block, len);
        }
        tail.text(b"\",");
        self.ends.push(self.text.len() as u32);
    }
}

/// The slots of one contract that were seen, as text in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct StorageText {
    text: Vec<u8>,
    positions: std::collections::HashMap<U256, usize, alloy_primitives::map::DefaultHashBuilder>,
}

impl StorageText {
    /// Sets a slot.
    pub(crate) fn set(&mut self, slot: U256, value: U256) {
        let next = self.text.len();
        let at = *self.positions.entry(slot).or_insert(next);
        if at == next {
            let mut tail = Tail(&mut self.text);
            tail.word(&slot.to_be_bytes());
            tail.text(b":");
            tail.word(&value.to_be_bytes());
            tail.text(b",");
            return;
        }
        let digits = word_digits(&value.to_be_bytes());
        self.text[at + SLOT_VALUE_AT..at + SLOT_VALUE_AT + WORD_DIGITS].copy_from_slice(&digits);
    }

    /// The entries, without braces.
    pub(crate) fn entries(&self) -> &[u8] {
        self.text.strip_suffix(b",").unwrap_or_default()
    }

    /// Memory that it takes, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.text.len() / SLOT_TEXT_BYTES * (SLOT_TEXT_BYTES + size_of::<(U256, usize)>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for value in [0, 9, 10, 99, 100, 101, 12_345, u64::MAX / 10, u64::MAX] {
            let mut out = Vec::new();
            Tail(&mut out).decimal(value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn a_stack_is_the_same_whatever_was_kept() {
        let mut cache = StackText::default();
        let mut stack = Vec::new();
        let mut seed = 1u64;
        for step in 0..2_000u32 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let touched = (seed >> 60) as usize % (stack.len() + 1);
            stack.truncate(stack.len() - touched);
            cache.keep(stack.len());
            if step % 97 == 0 {
                cache.forget();
            }
            for i in 0..(seed >> 40) as usize % 4 {
                stack.push((U256::from(seed) << ((seed >> 50) as usize % 250)) >> (i * 60));
            }
            let text = String::from_utf8(cache.of(&stack).to_vec()).unwrap();
            let want: Vec<String> = stack.iter().map(|item| format!("\"{item:#x}\"")).collect();
            assert_eq!(text, want.join(","), "step {step}");
        }
    }

    #[test]
    fn storage_keeps_its_order_and_takes_new_values() {
        let mut storage = StorageText::default();
        assert_eq!(storage.entries(), b"");
        storage.set(U256::from(1), U256::MAX);
        storage.set(U256::MAX, U256::ZERO);
        storage.set(U256::from(1), U256::from(0xab));
        let json = format!("{{{}}}", String::from_utf8(storage.entries().to_vec()).unwrap());
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 2);
        assert_eq!(value[format!("0x{:064x}", 1)], format!("0x{:064x}", 0xab));
        assert_eq!(value[format!("0x{}", "f".repeat(64))], format!("0x{:064x}", 0));
    }
}
