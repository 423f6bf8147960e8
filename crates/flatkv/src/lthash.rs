//! A homomorphic hash over a set of rows: adding and removing rows costs those rows, whatever their number.
//!
//! LtHash with 1,024 lanes of 16 bits and BLAKE3 as its extendable-output function.

use alloy_primitives::B256;
use rayon::prelude::*;

/// Lanes of the vector.
const LANES: usize = 1024;
/// Bytes of the vector: lanes of 16 bits, little-endian.
pub(crate) const VECTOR_BYTES: usize = LANES * 2;

/// Rows from which on their elements are made in parallel: making one takes about a microsecond.
const PARALLEL_ROWS: usize = 128;
/// Rows that one task takes in, which then costs one addition of vectors.
const ROWS_A_TASK: usize = 64;

/// A row that goes into a vector, or out of it.
pub(crate) struct Term {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Whether it goes in.
    pub(crate) added: bool,
}

/// The sum of the elements of a set of rows, lane by lane, modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LtHash(Box<[u16; LANES]>);

impl Default for LtHash {
    fn default() -> Self {
        Self(Box::new([0; LANES]))
    }
}

impl LtHash {
    /// Adds a row. A row without key or without value contributes nothing.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.update(key, value, u16::wrapping_add);
    }

    /// Removes a row that was added.
    pub(crate) fn remove(&mut self, key: &[u8], value: &[u8]) {
        self.update(key, value, u16::wrapping_sub);
    }

    /// Takes rows in and out, on all of rayon's threads where there are many.
    pub(crate) fn apply(&mut self, terms: &[Term]) {
        if terms.len() < PARALLEL_ROWS {
            return terms.iter().for_each(|term| self.take(term));
        }
        let sums = terms.par_chunks(ROWS_A_TASK).map(|terms| {
            let mut sum = Self::default();
            terms.iter().for_each(|term| sum.take(term));
            sum
        });
        self.sum(&sums.reduce(Self::default, |mut sum, part| {
            sum.sum(&part);
            sum
        }));
    }

    fn take(&mut self, term: &Term) {
        let Term { key, value, added } = term;
        if *added { self.add(key, value) } else { self.remove(key, value) }
    }

    /// Adds all rows of another set.
    fn sum(&mut self, other: &Self) {
        for (lane, other) in self.0.iter_mut().zip(other.0.iter()) {
            *lane = lane.wrapping_add(*other);
        }
    }

    #[inline(always)]
    fn update(&mut self, key: &[u8], value: &[u8], apply: impl Fn(u16, u16) -> u16) {
        if key.is_empty() || value.is_empty() {
            return;
        }
        for (lane, bytes) in self.0.iter_mut().zip(element(key, value).chunks_exact(2)) {
            *lane = apply(*lane, u16::from_le_bytes([bytes[0], bytes[1]]));
        }
    }

    /// BLAKE3 of the vector's bytes.
    pub(crate) fn checksum(&self) -> B256 {
        B256::from(*blake3::hash(&self.to_bytes()).as_bytes())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    /// Reads the vector's bytes; `None` where their number is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
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

/// The element of one row: BLAKE3 output over both lengths (4 bytes, little-endian) and both strings.
fn element(key: &[u8], value: &[u8]) -> [u8; VECTOR_BYTES] {
    let mut hasher = blake3::Hasher::new();
    for bytes in [key, value] {
        hasher.update(&(bytes.len() as u32).to_le_bytes());
        hasher.update(bytes);
    }
    let mut out = [0; VECTOR_BYTES];
    hasher.finalize_xof().fill(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    /// The rows of the reference's vectors: storage, account (49 bytes), code, and a row of another module.
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
        let terms: Vec<Term> = (0..1_000u32)
            .map(|n| Term {
                key: n.to_be_bytes().to_vec(),
                value: vec![n as u8; 1 + n as usize % 90],
                added: n % 3 > 0,
            })
            .collect();
        for count in [0, 1, PARALLEL_ROWS - 1, PARALLEL_ROWS, PARALLEL_ROWS + 1, terms.len()] {
            let (mut one_by_one, mut at_once) = (LtHash::default(), LtHash::default());
            for vector in [&mut one_by_one, &mut at_once] {
                vector.add(b"before", b"1");
            }
            for Term { key, value, added } in &terms[..count] {
                if *added { one_by_one.add(key, value) } else { one_by_one.remove(key, value) }
            }
            at_once.apply(&terms[..count]);
            assert_eq!(at_once, one_by_one, "{count} rows");
        }
    }
}
