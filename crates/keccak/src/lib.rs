//! Keccak-256 of many inputs at once (FIPS 202 with the padding of the original submission, as
//! Ethereum uses it).
//!
//! One Keccak permutation fills a scalar core but only an eighth of a vector unit: the same words
//! of eight states (AVX-512) or four (AVX2) stand in the lanes of one register, and are permuted
//! together. Inputs of one batch must need the same number of permutations, so [`keccak256_many`]
//! sorts them by that number. An input that is left over has its five planes in five registers with
//! AVX-512; processors without these instructions use the scalar permutation.

#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod planes;

use alloy_primitives::{B256, utils::keccak256_uncached};

/// Bytes that one permutation takes in: 1600 bits of state less a capacity of 512.
const RATE_BYTES: usize = 136;

/// Words of [`RATE_BYTES`].
#[cfg(target_arch = "x86_64")]
const RATE_WORDS: usize = RATE_BYTES / 8;

/// Permutations that an input needs; its padding takes at least one byte.
const fn permutations(len: usize) -> usize {
    len / RATE_BYTES + 1
}

/// Inputs that go through one call of a vector permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// AVX-512; the few that are left over go through its vectors of four.
    #[cfg(target_arch = "x86_64")]
    Eight,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Four,
    /// No vectors.
    One,
}

/// The widest permutation of this processor.
fn widest() -> Width {
    #[cfg(target_arch = "x86_64")]
    {
        if has_eight() {
            return Width::Eight;
        }
        if std::is_x86_feature_detected!("avx2") {
            return Width::Four;
        }
    }
    Width::One
}

#[cfg(target_arch = "x86_64")]
fn has_eight() -> bool {
    std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vl")
}

/// The Keccak-256 hash of an input, without a look into a cache of hashes.
pub fn keccak256_one(input: impl AsRef<[u8]>) -> B256 {
    one_with(widest(), input.as_ref())
}

fn one_with(width: Width, input: &[u8]) -> B256 {
    match width {
        #[cfg(target_arch = "x86_64")]
        Width::Eight => {
            // SAFETY: `widest` found the instructions; tests use no width that the processor lacks.
            unsafe { planes::hash(input) }
        }
        _ => keccak256_uncached(input),
    }
}

/// The Keccak-256 hashes of inputs, in their order.
pub fn keccak256_many<T: AsRef<[u8]>>(inputs: &[T]) -> Vec<B256> {
    many_with(widest(), inputs)
}

/// As [`keccak256_many`], into memory of the caller: as many places as inputs.
pub fn keccak256_each<T: AsRef<[u8]>>(inputs: &[T], hashes: &mut [B256]) {
    each_with(widest(), inputs, hashes);
}

fn many_with<T: AsRef<[u8]>>(width: Width, inputs: &[T]) -> Vec<B256> {
    let mut hashes = vec![B256::ZERO; inputs.len()];
    each_with(width, inputs, &mut hashes);
    hashes
}

/// Inputs that are put into order without an allocation.
const FEW_INPUTS: usize = 16;

fn each_with<T: AsRef<[u8]>>(width: Width, inputs: &[T], hashes: &mut [B256]) {
    if width == Width::One || inputs.len() == 1 {
        for (hash, input) in hashes.iter_mut().zip(inputs) {
            *hash = one_with(width, input.as_ref());
        }
        return;
    }
    let (mut few, mut many) = ([0; FEW_INPUTS], Vec::new());
    let order: &mut [u32] = match few.get_mut(..inputs.len()) {
        Some(few) => few,
        None => {
            many.resize(inputs.len(), 0);
            &mut many
        }
    };
    order.iter_mut().zip(0..).for_each(|(place, at)| *place = at);
    let bytes = |at: u32| inputs[at as usize].as_ref();
    order.sort_unstable_by_key(|at| permutations(bytes(*at).len()));
    for same in order.chunk_by(|a, b| permutations(bytes(*a).len()) == permutations(bytes(*b).len())) {
        #[cfg(target_arch = "x86_64")]
        let same = vectors(width, same, &bytes, hashes);
        for at in same {
            hashes[*at as usize] = one_with(width, bytes(*at));
        }
    }
}

/// Inputs from which on a permutation by AVX2 takes less time than the scalar one for each
/// (`benches/many.rs`).
#[cfg(target_arch = "x86_64")]
const FOUR_LANES_MIN: usize = 3;
/// The same for vectors of four with the instructions of AVX-512.
#[cfg(target_arch = "x86_64")]
const FOUR_OF_EIGHT_MIN: usize = 2;
/// Inputs from which on vectors of eight take less time than one or two of four.
#[cfg(target_arch = "x86_64")]
const EIGHT_LANES_MIN: usize = 5;

/// Hashes inputs of equal numbers of permutations; returns those that are left over.
#[cfg(target_arch = "x86_64")]
fn vectors<'a, 'b>(
    width: Width,
    same: &'a [u32],
    bytes: &impl Fn(u32) -> &'b [u8],
    hashes: &mut [B256],
) -> &'a [u32] {
    fn rounds<'a, 'b, const LANES: usize>(
        same: &'a [u32],
        lanes_min: usize,
        bytes: &impl Fn(u32) -> &'b [u8],
        hashes: &mut [B256],
        hash: impl Fn(&[&[u8]; LANES]) -> [B256; LANES],
    ) -> &'a [u32] {
        let mut left = same;
        while left.len() >= lanes_min {
            let (some, behind) = left.split_at(left.len().min(LANES));
            // Lanes without an input repeat the first one.
            let lanes = std::array::from_fn(|lane| bytes(*some.get(lane).unwrap_or(&some[0])));
            for (at, hash) in some.iter().zip(hash(&lanes)) {
                hashes[*at as usize] = hash;
            }
            left = behind;
        }
        left
    }
    match width {
        Width::Eight => {
            // SAFETY: `widest` found the instructions; tests use no width that the processor lacks.
            let eight = |inputs: &[&[u8]; 8]| unsafe { lanes::eight::hash(inputs) };
            // SAFETY: as above.
            let four = |inputs: &[&[u8]; 4]| unsafe { lanes::four_of_eight::hash(inputs) };
            let left = rounds(same, EIGHT_LANES_MIN, bytes, hashes, eight);
            rounds(left, FOUR_OF_EIGHT_MIN, bytes, hashes, four)
        }
        Width::Four => {
            // SAFETY: as above.
            let four = |inputs: &[&[u8]; 4]| unsafe { lanes::four::hash(inputs) };
            rounds(same, FOUR_LANES_MIN, bytes, hashes, four)
        }
        Width::One => same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widths that this processor has.
    fn widths() -> Vec<Width> {
        let mut widths = vec![Width::One];
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx2") {
                widths.push(Width::Four);
            }
            if has_eight() {
                widths.push(Width::Eight);
            }
        }
        widths
    }

    fn input(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|at| ((at * 31 + seed * 17 + (at >> 3)) % 251) as u8).collect()
    }

    #[test]
    fn every_length_has_the_hash_of_the_scalar_permutation() {
        for width in widths() {
            let inputs: Vec<_> = (0..=6 * RATE_BYTES).map(|len| input(len, len)).collect();
            let wanted: Vec<_> = inputs.iter().map(keccak256_uncached).collect();
            assert_eq!(many_with(width, &inputs), wanted, "{width:?}");
            let one_by_one: Vec<_> = inputs.iter().map(|input| one_with(width, input)).collect();
            assert_eq!(one_by_one, wanted, "{width:?}");
        }
    }

    #[test]
    fn any_number_of_inputs_keeps_its_order() {
        for width in widths() {
            for count in 0..=40 {
                let inputs: Vec<_> = (0..count).map(|n| input(n * 97 % 560, n)).collect();
                let wanted: Vec<_> = inputs.iter().map(keccak256_uncached).collect();
                assert_eq!(many_with(width, &inputs), wanted, "{width:?}, {count} inputs");
            }
        }
    }

    #[test]
    fn known_hashes() {
        // The empty input and "abc": vectors of the Keccak team's KeccakKAT-3 for r = 1088.
        let hashes = keccak256_many(&[b"".as_slice(), b"abc"]);
        let hex: Vec<_> = hashes.iter().map(ToString::to_string).collect();
        assert_eq!(
            hex,
            [
                "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
                "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
            ]
        );
    }
}
