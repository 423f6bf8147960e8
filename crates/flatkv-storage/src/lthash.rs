//! A homomorphic hash over a set of rows: adding and removing rows costs those rows, whatever their
//! number.
//!
//! LtHash with 1,024 lanes of 16 bits and BLAKE3 as its extendable-output function.

use alloy_primitives::B256;
use rayon::prelude::*;

/// Lanes of the vector.
const LANES: usize = 1024;
/// Bytes of the vector: lanes of 16 bits, little-endian.
pub const VECTOR_BYTES: usize = LANES * 2;

/// Rows from which on their elements are made in parallel: making one takes about a microsecond.
pub const PARALLEL_ROWS: usize = 128;
/// Rows that one task takes in, which then costs one addition of vectors.
const ROWS_A_TASK: usize = 128;
/// Bytes of a row before and in between its strings: their lengths.
const LENGTH_BYTES: usize = 4;

/// Rows that go into a vector, or out of it, one behind the other as their elements are made of
/// them.
#[derive(Default)]
pub struct Terms {
    bytes: Vec<u8>,
    terms: Vec<Term>,
}

/// Where a row stands, and whether it goes in.
#[derive(Clone, Copy)]
struct Term {
    start: usize,
    end: usize,
    added: bool,
}

impl Terms {
    /// Room for so many rows of so many bytes each.
    pub fn with_capacity(rows: usize, row_bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(rows * row_bytes), terms: Vec::with_capacity(rows) }
    }

    /// Adds a row. One without key or without value contributes nothing.
    pub fn push(&mut self, key: &[u8], value: &[u8], added: bool) {
        if key.is_empty() || value.is_empty() {
            return;
        }
        let start = self.bytes.len();
        for bytes in [key, value] {
            self.bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            self.bytes.extend_from_slice(bytes);
        }
        self.terms.push(Term { start, end: self.bytes.len(), added });
    }

    fn row(&self, term: Term) -> &[u8] {
        &self.bytes[term.start..term.end]
    }
}

/// The sum of the elements of a set of rows, lane by lane, modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtHash(Box<[u16; LANES]>);

impl Default for LtHash {
    fn default() -> Self {
        Self(Box::new([0; LANES]))
    }
}

impl LtHash {
    /// Adds a row. A row without key or without value contributes nothing.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        self.update(key, value, true);
    }

    /// Removes a row that was added.
    #[cfg(test)]
    pub fn remove(&mut self, key: &[u8], value: &[u8]) {
        self.update(key, value, false);
    }

    /// Takes rows in and out, on all of rayon's threads where there are many.
    pub fn apply(&mut self, rows: &Terms) {
        if rows.terms.len() < PARALLEL_ROWS {
            return self.take(rows, &rows.terms);
        }
        let sums = rows.terms.par_chunks(ROWS_A_TASK).map(|terms| {
            let mut sum = Self::default();
            sum.take(rows, terms);
            sum
        });
        self.sum(&sums.reduce(Self::default, |mut sum, part| {
            sum.sum(&part);
            sum
        }));
    }

    fn take(&mut self, rows: &Terms, terms: &[Term]) {
        let mut element = Element::new();
        for term in terms {
            let lanes = element.of(rows.row(*term));
            if term.added {
                self.combine(lanes, u16::wrapping_add)
            } else {
                self.combine(lanes, u16::wrapping_sub)
            }
        }
    }

    /// Adds all rows of another set.
    pub fn sum(&mut self, other: &Self) {
        for (lane, other) in self.0.iter_mut().zip(other.0.iter()) {
            *lane = lane.wrapping_add(*other);
        }
    }

    fn update(&mut self, key: &[u8], value: &[u8], added: bool) {
        let mut row = Terms::with_capacity(1, key.len() + value.len() + 2 * LENGTH_BYTES);
        row.push(key, value, added);
        self.take(&row, &row.terms);
    }

    #[inline(always)]
    fn combine(&mut self, element: &[u8; VECTOR_BYTES], apply: impl Fn(u16, u16) -> u16) {
        let (lanes, _) = element.as_chunks::<2>();
        for (lane, bytes) in self.0.iter_mut().zip(lanes) {
            *lane = apply(*lane, u16::from_le_bytes(*bytes));
        }
    }

    /// BLAKE3 of the vector's bytes.
    pub fn checksum(&self) -> B256 {
        B256::from(*blake3::hash(&self.to_bytes()).as_bytes())
    }

    /// The vector as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    /// Reads the vector's bytes; `None` where their number is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != VECTOR_BYTES {
            return None;
        }
        let mut vector = Self::default();
        for (lane, bytes) in vector.0.iter_mut().zip(bytes.chunks_exact(2)) {
            *lane = u16::from_le_bytes([bytes[0], bytes[1]]);
        }
        Some(vector)
    }
}

/// Makes the elements of rows: BLAKE3 output over both lengths (4 bytes, little-endian) and both
/// strings.
struct Element {
    hasher: blake3::Hasher,
    lanes: [u8; VECTOR_BYTES],
}

impl Element {
    fn new() -> Self {
        Self { hasher: blake3::Hasher::new(), lanes: [0; VECTOR_BYTES] }
    }

    /// The element of a row in the form of [`Terms`].
    fn of(&mut self, row: &[u8]) -> &[u8; VECTOR_BYTES] {
        self.hasher.reset().update(row).finalize_xof().fill(&mut self.lanes);
        &self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    /// The rows of the reference's vectors: storage, account (49 bytes), code, and a row of another
    /// module.
    fn rows(nonce: u8) -> [(Vec<u8>, Vec<u8>); 4] {
        let height = [0, 0, 0, 0, 0, 0, 0, 0, 1];
        let address = [1; 20];
        let key = |kind: u8, rest: &[u8]| [b"evm/", [kind].as_slice(), &address, rest].concat();
        let word = |last: u8| {
            let mut word = [0; 32];
            word[31] = last;
            word
        };
        [
            (key(3, &[2; 32]), [height.as_slice(), &word(0x2a)].concat()),
            (key(0x0a, &[]), [height.as_slice(), &[0; 32], &word(nonce)[24..]].concat()),
            (key(7, &[]), [height.as_slice(), &hex!("6080604052")].concat()),
            (b"bank/k".to_vec(), [height.as_slice(), b"v"].concat()),
        ]
    }

    #[test]
    fn the_empty_set_has_the_reference_checksum() {
        assert_eq!(
            LtHash::default().checksum(),
            B256::from(hex!("be2a8de3dcf46c94ce85cdc8e07ac308f4d8a95490d956c38d780fd610db0813"))
        );
    }

    #[test]
    fn single_rows_have_the_reference_vectors() {
        let expected = [
            (
                hex!("fdc7d7b6dadf641152558f9df0495c77"),
                hex!("83ed109e3d17dcdefcebe2c9297ef21fee2bfe4933eb47a753847e93f0e3f9de"),
            ),
            (
                hex!("0ea27bf79b097505e42a3ffb2ed0b086"),
                hex!("7df11cf3e0af46f46a0fcf9703afddefbcead760410ed13cae5201bab47d0ba8"),
            ),
            (
                hex!("349f1969f6f18b13ae91de4e64b021cd"),
                hex!("16a8f60d72713182122d354aa362b5c7801c7925327cfca4db783bc6f8305c63"),
            ),
            (
                hex!("f8a78895188f94b03938594967e24ff4"),
                hex!("e1693de29b81ddb1a3bb3eedcfd8bc53d1e698023ce80150dba79238b5f4611d"),
            ),
        ];
        for ((key, value), (start, checksum)) in rows(7).iter().zip(expected) {
            let mut vector = LtHash::default();
            vector.add(key, value);
            assert_eq!(vector.to_bytes()[..16], start);
            assert_eq!(vector.checksum(), B256::from(checksum));
        }
    }

    #[test]
    fn rows_are_added_and_removed_in_any_order() {
        let mut vector = LtHash::default();
        for (key, value) in rows(7).iter().rev() {
            vector.add(key, value);
        }
        assert_eq!(
            vector.checksum(),
            B256::from(hex!("166626cc6904d4f2d89678a183dc41ebe054ae21ac50b2574aa9ae8e2e628131"))
        );
        // Block 2 deletes the slot and sets nonce 8, which restamps the account row.
        vector.remove(&rows(7)[0].0, &rows(7)[0].1);
        vector.remove(&rows(7)[1].0, &rows(7)[1].1);
        let (key, mut value) = rows(8)[1].clone();
        value[8] = 2;
        vector.add(&key, &value);
        assert_eq!(
            vector.checksum(),
            B256::from(hex!("78c89b8db4d85d9eb36e1aca7bf07ce7afbc50945a03e63acc5415142ae6da47"))
        );
        assert_eq!(LtHash::from_bytes(&vector.to_bytes()), Some(vector));
        assert_eq!(LtHash::from_bytes(&[0; VECTOR_BYTES - 1]), None);
    }

    #[test]
    fn rows_in_parallel_are_rows_one_by_one() {
        let rows: Vec<_> =
            (0..1_000u32).map(|n| (n.to_be_bytes(), vec![n as u8; 1 + n as usize % 90], n % 3 > 0)).collect();
        for count in [0, 1, PARALLEL_ROWS - 1, PARALLEL_ROWS, PARALLEL_ROWS + 1, rows.len()] {
            let (mut one_by_one, mut at_once) = (LtHash::default(), LtHash::default());
            for vector in [&mut one_by_one, &mut at_once] {
                vector.add(b"before", b"1");
            }
            let mut terms = Terms::default();
            for (key, value, added) in &rows[..count] {
                if *added {
                    one_by_one.add(key, value)
                } else {
                    one_by_one.remove(key, value)
                }
                terms.push(key, value, *added);
            }
            at_once.apply(&terms);
            assert_eq!(at_once, one_by_one, "{count} rows");
        }
    }

    #[test]
    fn a_row_without_key_or_value_contributes_nothing() {
        let mut vector = LtHash::default();
        vector.add(b"", b"value");
        vector.add(b"key", b"");
        assert_eq!(vector, LtHash::default());
    }
}
