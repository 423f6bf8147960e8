//! Keccak-f[1600] on several states at once (FIPS 202, section 3.2), for each width of vectors.

use crate::{RATE_BYTES, RATE_WORDS, permutations};
use alloy_primitives::B256;
use std::arch::x86_64::*;

/// Words of a state.
const WORDS: usize = 25;

/// Words of a hash.
const HASH_WORDS: usize = 4;

/// Round constants of iota (FIPS 202, section 3.2.5).
pub(crate) const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// The last block of an input: what is left of it, and the padding (`0x01`, zeros, `0x80`).
pub(crate) fn last_block(input: &[u8]) -> [u8; RATE_BYTES] {
    let rest = &input[(permutations(input.len()) - 1) * RATE_BYTES..];
    let mut block = [0; RATE_BYTES];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 0x01;
    block[RATE_BYTES - 1] |= 0x80;
    block
}

fn word(block: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at * 8..at * 8 + 8]);
    u64::from_le_bytes(bytes)
}

/// The permutation and the sponge for one width: `$xor3`, `$xor`, `$rol`, `$chi` and `$splat` are
/// its operations.
macro_rules! width {
    ($name:ident, $feature:literal, $vector:ty, $lanes:literal,
     $zero:ident, $xor:ident, $xor3:ident, $rol:ident, $chi:ident, $splat:ident) => {
        pub(crate) mod $name {
            use super::*;

            /// Hashes inputs that need the same number of permutations.
            #[target_feature(enable = $feature)]
            pub(crate) fn hash(inputs: &[&[u8]; $lanes]) -> [B256; $lanes] {
                let blocks = permutations(inputs[0].len());
                let mut state = [$zero(); WORDS];
                for block in 0..blocks - 1 {
                    let parts = inputs.map(|input| &input[block * RATE_BYTES..]);
                    absorb(&mut state, &parts);
                }
                let last = inputs.map(last_block);
                absorb(&mut state, &last.each_ref().map(|block| block.as_slice()));
                let mut hashes = [B256::ZERO; $lanes];
                for (at, vector) in state.iter().take(HASH_WORDS).enumerate() {
                    // SAFETY: both are plain bytes of one size.
                    let words: [u64; $lanes] = unsafe { std::mem::transmute(*vector) };
                    for (hash, word) in hashes.iter_mut().zip(words) {
                        hash[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
                    }
                }
                hashes
            }

            #[target_feature(enable = $feature)]
            fn absorb(state: &mut [$vector; WORDS], blocks: &[&[u8]; $lanes]) {
                for (at, vector) in state.iter_mut().take(RATE_WORDS).enumerate() {
                    let words: [u64; $lanes] = blocks.map(|block| word(block, at));
                    // SAFETY: both are plain bytes of one size.
                    let words: $vector = unsafe { std::mem::transmute(words) };
                    *vector = $xor(*vector, words);
                }
                permute(state);
            }

            #[target_feature(enable = $feature)]
            fn permute(state: &mut [$vector; WORDS]) {
                let mut a = *state;
                for constant in ROUND_CONSTANTS {
                    // Theta: what a column gains stays two words, since an addition of three
                    // words is one instruction of AVX-512.
                    let c0 = $xor3($xor3(a[0], a[5], a[10]), a[15], a[20]);
                    let c1 = $xor3($xor3(a[1], a[6], a[11]), a[16], a[21]);
                    let c2 = $xor3($xor3(a[2], a[7], a[12]), a[17], a[22]);
                    let c3 = $xor3($xor3(a[3], a[8], a[13]), a[18], a[23]);
                    let c4 = $xor3($xor3(a[4], a[9], a[14]), a[19], a[24]);
                    let (d0, e0) = (c4, $rol::<1, 63>(c1));
                    let (d1, e1) = (c0, $rol::<1, 63>(c2));
                    let (d2, e2) = (c1, $rol::<1, 63>(c3));
                    let (d3, e3) = (c2, $rol::<1, 63>(c4));
                    let (d4, e4) = (c3, $rol::<1, 63>(c0));
                    // Rho and pi: b[y + 5 * (2x + 3y mod 5)] from a[x + 5y].
                    let b0 = $xor3(a[0], d0, e0);
                    let b10 = $rol::<1, 63>($xor3(a[1], d1, e1));
                    let b20 = $rol::<62, 2>($xor3(a[2], d2, e2));
                    let b5 = $rol::<28, 36>($xor3(a[3], d3, e3));
                    let b15 = $rol::<27, 37>($xor3(a[4], d4, e4));
                    let b16 = $rol::<36, 28>($xor3(a[5], d0, e0));
                    let b1 = $rol::<44, 20>($xor3(a[6], d1, e1));
                    let b11 = $rol::<6, 58>($xor3(a[7], d2, e2));
                    let b21 = $rol::<55, 9>($xor3(a[8], d3, e3));
                    let b6 = $rol::<20, 44>($xor3(a[9], d4, e4));
                    let b7 = $rol::<3, 61>($xor3(a[10], d0, e0));
                    let b17 = $rol::<10, 54>($xor3(a[11], d1, e1));
                    let b2 = $rol::<43, 21>($xor3(a[12], d2, e2));
                    let b12 = $rol::<25, 39>($xor3(a[13], d3, e3));
                    let b22 = $rol::<39, 25>($xor3(a[14], d4, e4));
                    let b23 = $rol::<41, 23>($xor3(a[15], d0, e0));
                    let b8 = $rol::<45, 19>($xor3(a[16], d1, e1));
                    let b18 = $rol::<15, 49>($xor3(a[17], d2, e2));
                    let b3 = $rol::<21, 43>($xor3(a[18], d3, e3));
                    let b13 = $rol::<8, 56>($xor3(a[19], d4, e4));
                    let b14 = $rol::<18, 46>($xor3(a[20], d0, e0));
                    let b24 = $rol::<2, 62>($xor3(a[21], d1, e1));
                    let b9 = $rol::<61, 3>($xor3(a[22], d2, e2));
                    let b19 = $rol::<56, 8>($xor3(a[23], d3, e3));
                    let b4 = $rol::<14, 50>($xor3(a[24], d4, e4));
                    // Chi and iota.
                    a = [
                        $xor($chi(b0, b1, b2), $splat(constant)),
                        $chi(b1, b2, b3),
                        $chi(b2, b3, b4),
                        $chi(b3, b4, b0),
                        $chi(b4, b0, b1),
                        $chi(b5, b6, b7),
                        $chi(b6, b7, b8),
                        $chi(b7, b8, b9),
                        $chi(b8, b9, b5),
                        $chi(b9, b5, b6),
                        $chi(b10, b11, b12),
                        $chi(b11, b12, b13),
                        $chi(b12, b13, b14),
                        $chi(b13, b14, b10),
                        $chi(b14, b10, b11),
                        $chi(b15, b16, b17),
                        $chi(b16, b17, b18),
                        $chi(b17, b18, b19),
                        $chi(b18, b19, b15),
                        $chi(b19, b15, b16),
                        $chi(b20, b21, b22),
                        $chi(b21, b22, b23),
                        $chi(b22, b23, b24),
                        $chi(b23, b24, b20),
                        $chi(b24, b20, b21),
                    ];
                }
                *state = a;
            }
        }
    };
}

width!(
    eight,
    "avx512f",
    __m512i,
    8,
    _mm512_setzero_si512,
    _mm512_xor_si512,
    xor3_512,
    rol_512,
    chi_512,
    splat_512
);
width!(
    four,
    "avx2",
    __m256i,
    4,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    xor3_256,
    rol_256,
    chi_256,
    splat_256
);
width!(
    four_of_eight,
    "avx512f,avx512vl",
    __m256i,
    4,
    _mm256_setzero_si256,
    _mm256_xor_si256,
    xor3_256_vl,
    rol_256_vl,
    chi_256_vl,
    splat_256
);

/// `a ^ b ^ c`.
#[target_feature(enable = "avx512f")]
pub(crate) fn xor3_512(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// `a ^ (!b & c)`.
#[target_feature(enable = "avx512f")]
pub(crate) fn chi_512(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
}

/// Rotates words left by `LEFT`; `RIGHT` is what is left of 64.
#[target_feature(enable = "avx512f")]
fn rol_512<const LEFT: i32, const RIGHT: i32>(a: __m512i) -> __m512i {
    const { assert!(LEFT + RIGHT == 64) };
    _mm512_rol_epi64::<LEFT>(a)
}

#[target_feature(enable = "avx512f")]
fn splat_512(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

/// `a ^ b ^ c`.
#[target_feature(enable = "avx512f,avx512vl")]
fn xor3_256_vl(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_ternarylogic_epi64::<0x96>(a, b, c)
}

/// `a ^ (!b & c)`.
#[target_feature(enable = "avx512f,avx512vl")]
fn chi_256_vl(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_ternarylogic_epi64::<0xd2>(a, b, c)
}

/// Rotates words left by `LEFT`; `RIGHT` is what is left of 64.
#[target_feature(enable = "avx512f,avx512vl")]
fn rol_256_vl<const LEFT: i32, const RIGHT: i32>(a: __m256i) -> __m256i {
    const { assert!(LEFT + RIGHT == 64) };
    _mm256_rol_epi64::<LEFT>(a)
}

/// `a ^ b ^ c`, of which the sum of the last two may serve several times.
#[target_feature(enable = "avx2")]
fn xor3_256(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(a, _mm256_xor_si256(b, c))
}

/// `a ^ (!b & c)`.
#[target_feature(enable = "avx2")]
fn chi_256(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(a, _mm256_andnot_si256(b, c))
}

/// Rotates words left by `LEFT`; `RIGHT` is what is left of 64.
#[target_feature(enable = "avx2")]
fn rol_256<const LEFT: i32, const RIGHT: i32>(a: __m256i) -> __m256i {
    const { assert!(LEFT + RIGHT == 64) };
    _mm256_or_si256(_mm256_slli_epi64::<LEFT>(a), _mm256_srli_epi64::<RIGHT>(a))
}

#[target_feature(enable = "avx2")]
fn splat_256(word: u64) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed())
}
