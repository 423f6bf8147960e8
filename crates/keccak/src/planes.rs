//! Keccak-f[1600] on one state with AVX-512: the five lanes of a plane (those of one `y`; FIPS 202,
//! section 3.1.1) stand in one register, so that a step works on a plane at once.
//!
//! Pi moves lanes between planes. It is done in two parts: each plane is rotated such that the five
//! lanes that Chi combines stand in the same place of five registers, and after Chi the registers
//! are transposed.

use crate::{
    RATE_BYTES,
    lanes::{ROUND_CONSTANTS, chi_512, last_block, xor3_512},
    permutations,
};
use alloy_primitives::B256;
use std::arch::x86_64::*;

/// Places of a register that lanes of a plane stand in; the other three are never read.
const PLANE: u8 = 0b1_1111;
/// Lanes of the fourth plane that a block reaches: 17 words are three planes and two lanes.
const LAST_PLANE: u8 = 0b11;
/// The fifth place.
const FIFTH: u8 = 0b1_0000;
/// Bytes of a plane.
const PLANE_BYTES: usize = 40;

/// The hash of one input.
#[target_feature(enable = "avx512f,avx512vl")]
pub(crate) fn hash(input: &[u8]) -> B256 {
    let mut planes = [_mm512_setzero_si512(); 5];
    let whole = permutations(input.len()) - 1;
    let (blocks, _) = input.as_chunks::<RATE_BYTES>();
    blocks.iter().take(whole).for_each(|block| absorb(&mut planes, block));
    absorb(&mut planes, &last_block(input));
    // SAFETY: both are plain bytes of one size.
    let words: [u64; 8] = unsafe { std::mem::transmute(planes[0]) };
    let mut hash = B256::ZERO;
    for (bytes, word) in hash.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    hash
}

#[target_feature(enable = "avx512f,avx512vl")]
fn absorb(planes: &mut [__m512i; 5], block: &[u8; RATE_BYTES]) {
    for (y, (plane, mask)) in planes.iter_mut().zip([PLANE, PLANE, PLANE, LAST_PLANE]).enumerate() {
        // SAFETY: the mask lets only bytes of the block be read.
        let words = unsafe { _mm512_maskz_loadu_epi64(mask, block.as_ptr().add(y * PLANE_BYTES).cast()) };
        *plane = _mm512_xor_si512(*plane, words);
    }
    *planes = permute(*planes);
}

/// A register of these words, the one of the lowest place first.
#[target_feature(enable = "avx512f")]
fn words(words: [i64; 8]) -> __m512i {
    let [a, b, c, d, e, f, g, h] = words;
    _mm512_setr_epi64(a, b, c, d, e, f, g, h)
}

/// The words of a plane.
#[target_feature(enable = "avx512f")]
fn plane([a, b, c, d, e]: [i64; 5]) -> __m512i {
    words([a, b, c, d, e, 0, 0, 0])
}

#[target_feature(enable = "avx512f,avx512vl")]
fn permute([mut p0, mut p1, mut p2, mut p3, mut p4]: [__m512i; 5]) -> [__m512i; 5] {
    // `left1` puts the lane of place x + 1 into place x, and so on.
    let left1 = plane([1, 2, 3, 4, 0]);
    let left2 = plane([2, 3, 4, 0, 1]);
    let left3 = plane([3, 4, 0, 1, 2]);
    let left4 = plane([4, 0, 1, 2, 3]);
    // Pairs of words out of two registers, of which the second one begins at 8.
    let pairs0 = words([0, 1, 8, 9, 0, 0, 0, 0]);
    let pairs2 = words([2, 3, 10, 11, 0, 0, 0, 0]);
    let pairs4 = words([4, 5, 12, 13, 0, 0, 0, 0]);
    // Offsets of rho (FIPS 202, table 2).
    let rho0 = plane([0, 1, 62, 28, 27]);
    let rho1 = plane([36, 44, 6, 55, 20]);
    let rho2 = plane([3, 10, 43, 25, 39]);
    let rho3 = plane([41, 45, 15, 21, 8]);
    let rho4 = plane([18, 2, 61, 56, 14]);
    for constant in ROUND_CONSTANTS {
        // Theta.
        let parity = xor3_512(xor3_512(p0, p1, p2), p3, p4);
        let before = _mm512_permutexvar_epi64(left4, parity);
        let behind = _mm512_rol_epi64::<1>(_mm512_permutexvar_epi64(left1, parity));
        // Rho and the first part of pi: place x of register y is B[y, 2x] of FIPS 202's A', where
        // B[y, 2x + 3y] is lane (x, y), hence lane x + y of plane y.
        let b0 = _mm512_rolv_epi64(xor3_512(p0, before, behind), rho0);
        let b1 = _mm512_permutexvar_epi64(left1, _mm512_rolv_epi64(xor3_512(p1, before, behind), rho1));
        let b2 = _mm512_permutexvar_epi64(left2, _mm512_rolv_epi64(xor3_512(p2, before, behind), rho2));
        let b3 = _mm512_permutexvar_epi64(left3, _mm512_rolv_epi64(xor3_512(p3, before, behind), rho3));
        let b4 = _mm512_permutexvar_epi64(left4, _mm512_rolv_epi64(xor3_512(p4, before, behind), rho4));
        // Chi and iota.
        let iota = _mm512_maskz_set1_epi64(1, constant.cast_signed());
        let c0 = _mm512_xor_si512(chi_512(b0, b1, b2), iota);
        let c1 = chi_512(b1, b2, b3);
        let c2 = chi_512(b2, b3, b4);
        let c3 = chi_512(b3, b4, b0);
        let c4 = chi_512(b4, b0, b1);
        // The transposition: plane y is place 3y (of modulo 5) of all registers, for 2 * 3y = y.
        let (even01, odd01) = (_mm512_unpacklo_epi64(c0, c1), _mm512_unpackhi_epi64(c0, c1));
        let (even23, odd23) = (_mm512_unpacklo_epi64(c2, c3), _mm512_unpackhi_epi64(c2, c3));
        p0 = _mm512_permutex2var_epi64(even01, pairs0, even23);
        p1 = _mm512_permutex2var_epi64(odd01, pairs2, odd23);
        p2 = _mm512_permutex2var_epi64(odd01, pairs0, odd23);
        p3 = _mm512_permutex2var_epi64(even01, pairs4, even23);
        p4 = _mm512_permutex2var_epi64(even01, pairs2, even23);
        p0 = _mm512_mask_permutexvar_epi64(p0, FIFTH, left1, c4);
        p1 = _mm512_mask_permutexvar_epi64(p1, FIFTH, left4, c4);
        p2 = _mm512_mask_permutexvar_epi64(p2, FIFTH, left2, c4);
        p3 = _mm512_mask_mov_epi64(p3, FIFTH, c4);
        p4 = _mm512_mask_permutexvar_epi64(p4, FIFTH, left3, c4);
    }
    [p0, p1, p2, p3, p4]
}
