//! The errors that go-ethereum reports when a precompiled contract rejects its input
//! (core/vm/contracts.go: the method Run of each contract).
//!
//! revm only reports that it did. The input is checked again here, in go-ethereum's order; the
//! precompiled contracts themselves check whether a point lies on its curve or in its subgroup. The
//! work is paid for: a rejected call has used up its gas.

use crate::fault::Fault;
use crate::precompile_bls as bls;
use crate::precompile_kzg as kzg;
use alloy_primitives::{Address, U256, uint};
use revm::precompile::{PrecompileHalt, PrecompileSpecId, Precompiles, u64_to_address};
use revm::primitives::hardfork::SpecId;

pub(crate) const INVALID_LENGTH: &str = "invalid input length";
pub(crate) const INVALID_FIELD_ELEMENT: &str = "invalid fp.Element encoding";
const BN254_NOT_ON_CURVE: &str = "point is not on curve";
const BN254_NOT_IN_SUBGROUP: &str = "point is not in correct subgroup";
const MODEXP_TOO_LONG: &str = "one or more of base/exponent/modulus length exceeded 1024 bytes";

/// Gas for a call of a precompiled contract that checks a single point.
const PROBE_GAS: u64 = 10_000_000;
/// Bytes of a bn254 point of the first and of the second group.
const BN254_G1: usize = 64;
const BN254_G2: usize = 128;
/// Modulus of bn254's base field.
const BN254_P: U256 = uint!(0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47_U256);
/// Constant of the curve over the quadratic extension: 3 / (9 + u).
const BN254_TWIST_B: Fp2 = (
    uint!(19485874751759354771024239261021720505790618469301721065564631296452457478373_U256),
    uint!(266929791119991161246907387137283842545076965332900288569378510910307636690_U256),
);

/// Whether the address is a precompiled contract in this hard fork.
pub fn is_precompile(spec: SpecId, address: &Address) -> bool {
    Precompiles::new(PrecompileSpecId::from_spec_id(spec)).contains(address)
}

/// A refused call of a precompiled contract.
pub(crate) struct Refused<'a> {
    pub(crate) spec: SpecId,
    pub(crate) address: Address,
    pub(crate) input: &'a [u8],
    /// Gas that the call had.
    pub(crate) gas: u64,
}

/// The text of a refusal.
pub(crate) type Text = &'static str;

impl Refused<'_> {
    /// Why the call was rejected. The gas is checked before the input, even where revm checks in
    /// the opposite order.
    pub(crate) fn fault(&self) -> Fault {
        use PrecompileHalt as Halt;
        let contracts = Precompiles::new(PrecompileSpecId::from_spec_id(self.spec));
        let output =
            contracts.get(&self.address).and_then(|contract| contract.execute(self.input, self.gas, 0).ok());
        let Some(halt) = output.as_ref().and_then(|output| output.halt_reason()) else {
            return Fault::OutOfGas;
        };
        let text = match halt {
            Halt::Blake2WrongLength | Halt::BlobInvalidInputLength => Some(INVALID_LENGTH.into()),
            Halt::Blake2WrongFinalIndicatorFlag => {
                let rounds = self.input.first_chunk::<4>().map_or(0, |word| u32::from_be_bytes(*word));
                (self.gas >= u64::from(rounds)).then(|| "invalid final flag".into())
            }
            Halt::ModexpEip7823LimitSize => {
                (u128::from(self.gas) >= modexp_gas(self.input)).then(|| MODEXP_TOO_LONG.into())
            }
            Halt::Bn254PairLength => Some("bad elliptic curve pairing size".into()),
            Halt::Bn254FieldPointNotAMember | Halt::Bn254AffineGFailedToCreate => {
                self.bn254().map(Into::into)
            }
            Halt::BlobMismatchedVersion => Some("mismatched versioned hash".into()),
            Halt::BlobVerifyKzgProofFailed => {
                Some(format!("error verifying kzg proof: {}", kzg::refusal(self.input)))
            }
            _ => bls::refusal(self.address, self.input, self.gas).map(Into::into),
        };
        text.map_or(Fault::OutOfGas, Fault::Precompile)
    }

    fn bn254(&self) -> Option<Text> {
        if self.address == u64_to_address(8) {
            return self.input.chunks_exact(BN254_G1 + BN254_G2).find_map(|pair| {
                let (first, second) = pair.split_at(BN254_G1);
                bn254_g1(first).or_else(|| bn254_g2(second))
            });
        }
        let mut padded = [0u8; 2 * BN254_G1];
        let len = self.input.len().min(padded.len());
        padded[..len].copy_from_slice(&self.input[..len]);
        let points = if self.address == u64_to_address(6) { 2 } else { 1 };
        padded.chunks_exact(BN254_G1).take(points).find_map(bn254_g1)
    }
}

/// Calls the latest version of a precompiled contract; `true` if it rejects the input.
pub(crate) fn refuses(contract: u64, input: &[u8]) -> bool {
    let contracts = Precompiles::new(PrecompileSpecId::OSAKA);
    let output = contracts.get(&u64_to_address(contract)).and_then(|c| c.execute(input, PROBE_GAS, 0).ok());
    output.is_none_or(|output| output.halt_reason().is_some())
}

/// Gas of MODEXP from Osaka on (EIP-7883).
fn modexp_gas(input: &[u8]) -> u128 {
    let data = |start: usize, len: usize| -> U256 {
        let mut word = [0u8; 32];
        let from = input.get(start.min(input.len())..).unwrap_or_default();
        let count = len.min(32).min(from.len());
        word[..count].copy_from_slice(&from[..count]);
        U256::from_be_bytes(word) >> (8 * (32 - len.min(32)))
    };
    let length = |index: usize| data(32 * index, 32).saturating_to::<u64>();
    let (base, exponent, modulus) = (length(0), length(1), length(2));
    let words = u128::from(base.max(modulus)).div_ceil(8);
    let complexity = if base.max(modulus) <= 32 { 16 } else { words.saturating_mul(words).saturating_mul(2) };
    let head_at =
        usize::try_from(base).ok().and_then(|base| base.checked_add(96)).filter(|at| *at < input.len());
    let head = head_at.map_or(U256::ZERO, |at| data(at, usize::try_from(exponent).unwrap_or(usize::MAX)));
    let long = u128::from(exponent.saturating_sub(32)) * 16;
    let iterations = (long + head.bit_len().saturating_sub(1) as u128).max(1);
    complexity.saturating_mul(iterations).max(500)
}

fn words<const N: usize>(bytes: &[u8]) -> [U256; N] {
    std::array::from_fn(|i| U256::from_be_slice(&bytes[32 * i..32 * (i + 1)]))
}

fn bn254_g1(bytes: &[u8]) -> Option<Text> {
    let [x, y] = words::<2>(bytes);
    if x.is_zero() && y.is_zero() {
        return None;
    }
    if x >= BN254_P || y >= BN254_P {
        return Some(INVALID_FIELD_ELEMENT);
    }
    let right = x.mul_mod(x, BN254_P).mul_mod(x, BN254_P).add_mod(U256::from(3), BN254_P);
    (y.mul_mod(y, BN254_P) != right).then_some(BN254_NOT_ON_CURVE)
}

fn bn254_g2(bytes: &[u8]) -> Option<Text> {
    let coordinates @ [x1, x0, y1, y0] = words::<4>(bytes);
    if coordinates.iter().all(U256::is_zero) {
        return None;
    }
    if coordinates.iter().any(|c| *c >= BN254_P) {
        return Some(INVALID_FIELD_ELEMENT);
    }
    let (x, y) = ((x0, x1), (y0, y1));
    let cube = fp2_mul(fp2_mul(x, x), x);
    let right = (cube.0.add_mod(BN254_TWIST_B.0, BN254_P), cube.1.add_mod(BN254_TWIST_B.1, BN254_P));
    if fp2_mul(y, y) != right {
        return Some(BN254_NOT_ON_CURVE);
    }
    let mut pair = [0u8; BN254_G1 + BN254_G2];
    pair[BN254_G1..].copy_from_slice(bytes);
    refuses(8, &pair).then_some(BN254_NOT_IN_SUBGROUP)
}

/// An element of bn254's quadratic extension: real and imaginary part.
type Fp2 = (U256, U256);

fn fp2_mul(a: Fp2, b: Fp2) -> Fp2 {
    let mul = |x: U256, y: U256| x.mul_mod(y, BN254_P);
    let imaginary_squared = mul(a.1, b.1);
    let real = mul(a.0, b.0).add_mod(BN254_P - imaginary_squared, BN254_P);
    (real, mul(a.0, b.1).add_mod(mul(a.1, b.0), BN254_P))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::hex;

    fn text(contract: u64, input: &[u8], gas: u64) -> String {
        Refused { spec: SpecId::OSAKA, address: u64_to_address(contract), input, gas }.fault().to_string()
    }

    #[test]
    fn bn254_points() {
        let one = |at: usize, len: usize| {
            let mut bytes = vec![0u8; len];
            bytes[at] = 1;
            bytes
        };
        assert_eq!(text(6, &[0xff; 64], 1000), "invalid fp.Element encoding");
        assert_eq!(text(6, &one(63, 64), 1000), "point is not on curve");
        assert_eq!(text(6, &one(127, 128), 1000), "point is not on curve");
        assert_eq!(text(7, &one(63, 200), 10_000), "point is not on curve");
        assert_eq!(text(8, &[0; 64], 100_000), "bad elliptic curve pairing size");
        assert_eq!(text(8, &one(191, 192), 100_000), "point is not on curve");
        let mut noncanonical = vec![0u8; 192];
        noncanonical[64..].fill(0xff);
        assert_eq!(text(8, &noncanonical, 100_000), "invalid fp.Element encoding");
    }

    #[test]
    fn blake2_and_modexp() {
        assert_eq!(text(9, &[0; 10], 100), "invalid input length");
        let mut input = [0u8; 213];
        input[212] = 2;
        assert_eq!(text(9, &input, 100), "invalid final flag");
        input[3] = 101;
        assert_eq!(text(9, &input, 100), "out of gas");
        // A modulus of 1025 bytes: 2 * 129^2 gas.
        let mut input = [0u8; 96];
        input[94..].copy_from_slice(&1025u16.to_be_bytes());
        assert_eq!(
            text(5, &input, 33_282),
            "one or more of base/exponent/modulus length exceeded 1024 bytes"
        );
        assert_eq!(text(5, &input, 33_281), "out of gas");
    }

    #[test]
    fn kzg_checks_the_hash_and_its_length() {
        assert_eq!(text(10, &[0; 191], 100_000), "invalid input length");
        assert_eq!(text(10, &[0; 192], 100_000), "mismatched versioned hash");
    }

    #[test]
    fn bls_points() {
        let element = |hex_text: &str| {
            let mut out = vec![0u8; 64];
            let bytes = hex::decode(hex_text).unwrap();
            out[64 - bytes.len()..].copy_from_slice(&bytes);
            out
        };
        assert_eq!(text(11, &[0; 255], 1000), "invalid input length");
        assert_eq!(text(11, &[0xff; 256], 1000), "invalid field element top bytes");
        let noncanonical = [element(&"ff".repeat(48)), vec![0xff; 192]].concat();
        assert_eq!(text(11, &noncanonical, 1000), "invalid fp.Element encoding");
        let off_curve = [element("01"), vec![0; 192]].concat();
        assert_eq!(text(11, &off_curve, 1000), "invalid point: not on curve");
        assert_eq!(text(12, &off_curve[..160], 20_000), "invalid point: not on curve");
        // On the curve (0, 2), but of order three.
        let small = [element("00"), element("02"), vec![0; 32]].concat();
        assert_eq!(text(12, &small, 20_000), "g1 point is not on correct subgroup");
        assert_eq!(text(12, &[], 0), "invalid input length");
        assert_eq!(text(12, &[0; 161], 11_999), "out of gas");
        assert_eq!(text(12, &[0; 161], 12_000), "invalid input length");
        assert_eq!(text(15, &[], 37_699), "out of gas");
        assert_eq!(text(15, &[], 37_700), "invalid input length");
        assert_eq!(text(16, &[0xff; 64], 10_000), "invalid field element top bytes");
        assert_eq!(text(17, &[1; 64], 30_000), "invalid input length");
    }
}
