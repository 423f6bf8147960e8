//! Refusals of the point evaluation contract (EIP-4844) after the commitment's hash has matched.

use crate::precompile::INVALID_FIELD_ELEMENT;
use crate::precompile_bls::g1_outside_subgroup;
use alloy_primitives::{U256, Uint, uint};

type U384 = Uint<384, 6>;

/// Modulus of the scalar field.
const SCALAR_MODULUS: U256 = uint!(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001_U256);
/// Modulus of the base field.
const MODULUS: U384 = uint!(
    0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab_U384
);
/// The three highest bits of a compressed point say what it is.
const FLAGS: u8 = 0b1110_0000;
const COMPRESSED: u8 = 0b1000_0000;
const COMPRESSED_LARGER: u8 = 0b1010_0000;
const COMPRESSED_INFINITY: u8 = 0b1100_0000;
const UNCOMPRESSED: u8 = 0b0000_0000;
const UNCOMPRESSED_INFINITY: u8 = 0b0100_0000;
/// Bytes of a compressed point.
const POINT: usize = 48;

/// Why a proof of 192 bytes does not verify: hash, point, claim, commitment, proof.
pub(crate) fn refusal(input: &[u8]) -> &'static str {
    let scalar = |at: usize| input.get(at..at + 32).map(U256::from_be_slice);
    let canonical = |scalar: Option<U256>| scalar.is_some_and(|s| s < SCALAR_MODULUS);
    // The claim is read before the point.
    if !canonical(scalar(64)) || !canonical(scalar(32)) {
        return "scalar is not canonical when interpreted as a big integer in big-endian";
    }
    let point = |at: usize| {
        input.get(at..at + POINT).and_then(|bytes| bytes.try_into().ok()).and_then(|bytes| compressed(&bytes))
    };
    point(96).or_else(|| point(144)).unwrap_or("can't verify opening proof")
}

/// Why a compressed point of the first group cannot be read.
fn compressed(bytes: &[u8; POINT]) -> Option<&'static str> {
    let mut x = *bytes;
    x[0] &= !FLAGS;
    match bytes[0] & FLAGS {
        COMPRESSED_INFINITY => return x.iter().any(|b| *b != 0).then_some("invalid infinity point encoding"),
        // An uncompressed point would be twice as long.
        UNCOMPRESSED | UNCOMPRESSED_INFINITY => return Some("short buffer"),
        COMPRESSED | COMPRESSED_LARGER => {}
        _ => return Some("invalid point encoding"),
    }
    let abscissa = U384::from_be_bytes(x);
    if abscissa >= MODULUS {
        return Some(INVALID_FIELD_ELEMENT);
    }
    let square = abscissa.pow_mod(U384::from(3), MODULUS).add_mod(U384::from(4), MODULUS);
    // The modulus is 3 modulo 4, so this is the root if there is one.
    let root = square.pow_mod((MODULUS + U384::from(1)) >> 2, MODULUS);
    if root.mul_mod(root, MODULUS) != square {
        return Some("invalid compressed coordinate: square root doesn't exist");
    }
    g1_outside_subgroup(x, root.to_be_bytes()).then_some("invalid point: subgroup check failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(first: u8, last: u8) -> [u8; POINT] {
        let mut bytes = [0; POINT];
        (bytes[0], bytes[POINT - 1]) = (first, last);
        bytes
    }

    #[test]
    fn points_are_refused_in_the_words_of_the_reference() {
        for (first, last, text) in [
            (0x00, 1, Some("short buffer")),
            (0x40, 0, Some("short buffer")),
            (0x20, 0, Some("invalid point encoding")),
            (0x60, 0, Some("invalid point encoding")),
            (0xe0, 0, Some("invalid point encoding")),
            (0xc0, 0, None),
            (0xc0, 1, Some("invalid infinity point encoding")),
            (0xc1, 0, Some("invalid infinity point encoding")),
            (0x9f, 0, Some("invalid fp.Element encoding")),
            (0x80, 0, Some("invalid point: subgroup check failed")),
            (0x80, 1, Some("invalid compressed coordinate: square root doesn't exist")),
            (0x80, 4, Some("invalid point: subgroup check failed")),
            (0xa0, 7, Some("invalid compressed coordinate: square root doesn't exist")),
            (0x9a, 3, Some("invalid compressed coordinate: square root doesn't exist")),
            (0x9a, 4, Some("invalid point: subgroup check failed")),
        ] {
            assert_eq!(compressed(&point(first, last)), text, "{first:02x}..{last:02x}");
        }
    }

    #[test]
    fn scalars_come_before_points() {
        let mut input = [0u8; 192];
        input[32..64].fill(0xff);
        assert!(refusal(&input).starts_with("scalar is not canonical"));
        input[32..64].fill(0);
        assert_eq!(refusal(&input), "short buffer");
        input[96] = 0xc0;
        input[144] = 0xff;
        assert_eq!(refusal(&input), "invalid point encoding");
        input[144] = 0xc0;
        assert_eq!(refusal(&input), "can't verify opening proof");
    }
}
