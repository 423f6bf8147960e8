//! Evidence of misbehavior as the staking contract takes it.

use alloy_primitives::Bytes;
use hearth_abci::pb;

/// Bytes of one misbehavior: kind, consensus address, height of the infraction.
const MISBEHAVIOR_BYTES: usize = 1 + 20 + 8;

/// The evidence of CometBFT as bytes, one after the other; those without an address
/// are left out.
pub(crate) fn misbehavior_bytes(all: &[pb::Misbehavior]) -> Bytes {
    let mut out = Vec::with_capacity(all.len() * MISBEHAVIOR_BYTES);
    for one in all {
        let address = one.validator.as_ref().map(|validator| &validator.address[..]).unwrap_or_default();
        let (Ok(kind), true) = (u8::try_from(one.r#type), address.len() == 20) else { continue };
        out.push(kind);
        out.extend_from_slice(address);
        out.extend_from_slice(&u64::try_from(one.height).unwrap_or(0).to_be_bytes());
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_kind_its_validator_and_its_height() {
        let of = |address: Vec<u8>| pb::Misbehavior {
            r#type: 1,
            validator: Some(pb::Validator { address: address.into(), power: 5 }),
            height: 258,
            ..Default::default()
        };
        let bytes = misbehavior_bytes(&[of(vec![7; 20]), of(vec![7; 3]), pb::Misbehavior::default()]);
        assert_eq!(bytes[..], [&[1][..], &[7; 20], &[0, 0, 0, 0, 0, 0, 1, 2]].concat());
    }
}
