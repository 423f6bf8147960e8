//! Addresses as text (BIP-173): the same 20 bytes as the Ethereum address.

use alloy_primitives::Address;
use bech32::{Bech32, Hrp};

/// Prefix of accounts.
pub const ACCOUNT: &str = "hearth";
/// Prefix of operators of validators.
pub const OPERATOR: &str = "hearthvaloper";
/// Prefix of CometBFT's addresses of validators.
pub const CONSENSUS: &str = "hearthvalcons";

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bech32Error {
    /// There is no text.
    #[error("empty address string is not allowed")]
    Empty,
    /// It is not bech32, or its checksum is wrong.
    #[error("decoding bech32 failed: {0}")]
    Text(String),
    /// It belongs to something else.
    #[error("decoding bech32 failed: invalid Bech32 prefix; expected {want}, got {have}")]
    Prefix {
        /// The prefix of the wanted kind.
        want: &'static str,
        /// The prefix that it has.
        have: String,
    },
    /// It does not have 20 bytes.
    #[error("decoding bech32 failed: an address has 20 bytes, got {0}")]
    Length(usize),
}

/// The text of an address under a prefix.
pub fn encode(prefix: &'static str, address: &Address) -> String {
    // Neither fails: the prefixes above are valid, and 20 bytes are shorter than a code word.
    Hrp::parse(prefix)
        .ok()
        .and_then(|prefix| bech32::encode::<Bech32>(prefix, address.as_slice()).ok())
        .unwrap_or_default()
}

/// The account that a text names.
pub fn account(address: &Address) -> String {
    encode(ACCOUNT, address)
}

/// The operator that a text names.
pub fn operator(address: &Address) -> String {
    encode(OPERATOR, address)
}

/// The address of a text that must have this prefix.
///
/// # Errors
/// [`Bech32Error`].
pub fn decode(prefix: &'static str, text: &str) -> Result<Address, Bech32Error> {
    if text.trim().is_empty() {
        return Err(Bech32Error::Empty);
    }
    let wrong = |error: &dyn std::fmt::Display| Bech32Error::Text(error.to_string());
    let checked = bech32::primitives::decode::CheckedHrpstring::new::<Bech32>(text);
    let checked = checked.map_err(|error| wrong(&error))?;
    let have = checked.hrp().to_lowercase();
    if have != prefix {
        return Err(Bech32Error::Prefix { want: prefix, have });
    }
    let bytes: Vec<u8> = checked.byte_iter().collect();
    Address::try_from(bytes.as_slice()).map_err(|_| Bech32Error::Length(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    /// Made with @cosmjs/encoding 0.38.1.
    const TEXTS: [(&str, Address, &str); 3] = [
        (
            ACCOUNT,
            address!("f39fd6e51aad88f6f4ce6ab8827279cfffb92266"),
            "hearth17w0adeg64ky0daxwd2ugyuneellmjgnxq0gq95",
        ),
        (
            OPERATOR,
            address!("f39fd6e51aad88f6f4ce6ab8827279cfffb92266"),
            "hearthvaloper17w0adeg64ky0daxwd2ugyuneellmjgnxw56mpk",
        ),
        (OPERATOR, Address::repeat_byte(0x22), "hearthvaloper1yg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zrfndsw"),
    ];

    #[test]
    fn texts_are_those_of_cosmjs() {
        for (prefix, address, text) in TEXTS {
            assert_eq!(encode(prefix, &address), text);
            assert_eq!(decode(prefix, text), Ok(address));
        }
    }

    #[test]
    fn what_is_no_address_is_told() {
        assert_eq!(decode(ACCOUNT, " "), Err(Bech32Error::Empty));
        let other = decode(ACCOUNT, TEXTS[1].2);
        assert_eq!(other, Err(Bech32Error::Prefix { want: ACCOUNT, have: OPERATOR.to_owned() }));
        assert!(matches!(decode(OPERATOR, "hearthvaloper1nonsense"), Err(Bech32Error::Text(_))));
        let mut damaged = TEXTS[0].2.to_owned();
        damaged.replace_range(10..11, "q");
        assert!(matches!(decode(ACCOUNT, &damaged), Err(Bech32Error::Text(_))));
        let long = bech32::encode::<Bech32>(Hrp::parse(ACCOUNT).unwrap(), &[1; 32]).unwrap();
        assert_eq!(decode(ACCOUNT, &long), Err(Bech32Error::Length(32)));
    }
}
