//! Refusals of the BLS12-381 contracts (EIP-2537), in go-ethereum's order of checks
//! (core/vm/contracts.go: bls12381G1Add and those after it).

use crate::precompile::{INVALID_FIELD_ELEMENT, INVALID_LENGTH, Text, refuses};
use alloy_primitives::{Address, hex};
use revm::precompile::{PrecompileSpecId, Precompiles, u64_to_address};

const TOP_BYTES: &str = "invalid field element top bytes";
const NOT_ON_CURVE: &str = "invalid point: not on curve";
const G1_NOT_IN_SUBGROUP: &str = "g1 point is not on correct subgroup";
const G2_NOT_IN_SUBGROUP: &str = "g2 point is not on correct subgroup";

/// Bytes of an encoded field element, the first sixteen of them zero.
const ELEMENT: usize = 64;
const ELEMENT_PADDING: usize = 16;
/// Bytes of a point of the first and of the second group.
const G1: usize = 2 * ELEMENT;
const G2: usize = 4 * ELEMENT;
const SCALAR: usize = 32;
/// Gas of a pairing check without pairs.
const PAIRING_BASE_GAS: u64 = 37_700;

const G1_ADD: u64 = 0x0b;
const G1_MSM: u64 = 0x0c;
const G2_ADD: u64 = 0x0d;
const G2_MSM: u64 = 0x0e;
const PAIRING: u64 = 0x0f;
const MAP_FP: u64 = 0x10;
const MAP_FP2: u64 = 0x11;

/// Modulus of the base field.
const MODULUS: [u8; 48] =
    hex!("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab");

/// Why the contract refuses `input`; `None` where its gas is not enough.
pub(crate) fn refusal(address: Address, input: &[u8], gas: u64) -> Option<Text> {
    let contract = (G1_ADD..=MAP_FP2).find(|contract| u64_to_address(*contract) == address)?;
    match contract {
        G1_ADD if input.len() != 2 * G1 => Some(INVALID_LENGTH),
        G1_ADD => input.chunks_exact(G1).find_map(|point| g1(point, false)),
        G2_ADD if input.len() != 2 * G2 => Some(INVALID_LENGTH),
        G2_ADD => input.chunks_exact(G2).find_map(|point| g2(point, false)),
        G1_MSM => many(contract, input, gas, G1 + SCALAR, |item| g1(&item[..G1], true)),
        G2_MSM => many(contract, input, gas, G2 + SCALAR, |item| g2(&item[..G2], true)),
        PAIRING => many(contract, input, gas, G1 + G2, pair),
        MAP_FP if input.len() != ELEMENT => Some(INVALID_LENGTH),
        MAP_FP2 if input.len() != 2 * ELEMENT => Some(INVALID_LENGTH),
        _ => input.chunks_exact(ELEMENT).find_map(element),
    }
}

/// A list of items. Its gas counts whole items and is checked before the length.
fn many(
    contract: u64,
    input: &[u8],
    gas: u64,
    size: usize,
    check: impl Fn(&[u8]) -> Option<Text>,
) -> Option<Text> {
    if !input.is_empty() && input.len().is_multiple_of(size) {
        return input.chunks_exact(size).find_map(check);
    }
    let count = input.len() / size;
    let paid = match count {
        0 => contract != PAIRING || gas >= PAIRING_BASE_GAS,
        // So many points at infinity cost the same.
        _ => {
            let contracts = Precompiles::new(PrecompileSpecId::PRAGUE);
            let output = contracts
                .get(&u64_to_address(contract))
                .and_then(|c| c.execute(&vec![0; count * size], gas, 0).ok());
            output.is_some_and(|output| output.halt_reason().is_none())
        }
    };
    paid.then_some(INVALID_LENGTH)
}

fn element(bytes: &[u8]) -> Option<Text> {
    let (padding, value) = bytes.split_at(ELEMENT_PADDING);
    if padding.iter().any(|b| *b != 0) {
        return Some(TOP_BYTES);
    }
    (value >= &MODULUS[..]).then_some(INVALID_FIELD_ELEMENT)
}

fn g1(point: &[u8], in_subgroup: bool) -> Option<Text> {
    point.chunks_exact(ELEMENT).find_map(element).or_else(|| {
        let on_curve = !refuses(G1_ADD, &[point, &[0; G1]].concat());
        if !on_curve {
            return Some(NOT_ON_CURVE);
        }
        (in_subgroup && refuses(G1_MSM, &[point, &one()].concat())).then_some(G1_NOT_IN_SUBGROUP)
    })
}

fn g2(point: &[u8], in_subgroup: bool) -> Option<Text> {
    point.chunks_exact(ELEMENT).find_map(element).or_else(|| {
        let on_curve = !refuses(G2_ADD, &[point, &[0; G2]].concat());
        if !on_curve {
            return Some(NOT_ON_CURVE);
        }
        (in_subgroup && refuses(G2_MSM, &[point, &one()].concat())).then_some(G2_NOT_IN_SUBGROUP)
    })
}

/// Both points of a pair are decoded before either's subgroup is looked at.
fn pair(item: &[u8]) -> Option<Text> {
    let (first, second) = item.split_at(G1);
    g1(first, false).or_else(|| g2(second, false)).or_else(|| g1(first, true)).or_else(|| g2(second, true))
}

/// The scalar one.
fn one() -> [u8; SCALAR] {
    let mut scalar = [0; SCALAR];
    scalar[SCALAR - 1] = 1;
    scalar
}

/// Whether the point with these affine coordinates, which lies on the curve, is outside of the
/// subgroup.
pub(crate) fn g1_outside_subgroup(x: [u8; 48], y: [u8; 48]) -> bool {
    let padding = [0; ELEMENT_PADDING];
    refuses(G1_MSM, &[&padding[..], &x, &padding, &y, &one()].concat())
}
