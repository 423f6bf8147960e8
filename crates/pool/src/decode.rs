//! Transactions as they are sent: EIP-2718 bytes.

use alloy_eips::eip2718::{Decodable2718, Eip2718Error};
use hearth_primitives::PooledTransaction;

/// Bytes that are no transaction, in go-ethereum's words (core/types/transaction.go: decodeTyped).
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Nothing, or a type without content.
    #[error("typed transaction too short")]
    TooShort,
    /// A first byte that is the type of no known transaction.
    #[error("transaction type not supported")]
    UnknownType,
    /// The content is not that of a transaction.
    #[error("rlp: {0}")]
    Rlp(Eip2718Error),
    /// A string in place of the list that a transaction without a type is.
    #[error("rlp: expected input list for types.LegacyTx")]
    NoList,
    /// A string that ends behind the last byte.
    #[error("rlp: value size exceeds available input length")]
    CutString,
    /// Bytes follow the transaction.
    #[error("rlp: input contains more than one value")]
    Trailing,
}

/// Decodes a transaction's EIP-2718 bytes; nothing may follow them.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_transaction(bytes: &[u8]) -> Result<PooledTransaction, DecodeError> {
    match bytes.first().copied() {
        None => return Err(DecodeError::TooShort),
        Some(0..=0x7f) if bytes.len() == 1 => return Err(DecodeError::TooShort),
        // EIP-2718: 0x00 to 0x7f are types, of which 1 to 4 are known; a list begins at 0xc0.
        Some(1..=4 | 0xc0..) => {}
        Some(first @ 0x80..=0xb7) if usize::from(first - 0x80) >= bytes.len() => {
            return Err(DecodeError::CutString);
        }
        Some(0x80..=0xbf) => return Err(DecodeError::NoList),
        Some(_) => return Err(DecodeError::UnknownType),
    }
    let mut rest = bytes;
    let transaction = PooledTransaction::decode_2718(&mut rest).map_err(DecodeError::Rlp)?;
    if rest.is_empty() { Ok(transaction) } else { Err(DecodeError::Trailing) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecodable_transactions_have_go_ethereums_errors() {
        let words = |bytes: &[u8]| decode_transaction(bytes).unwrap_err().to_string();
        assert_eq!(words(&[]), "typed transaction too short");
        assert_eq!(words(&[2]), "typed transaction too short");
        assert_eq!(words(&[9, 0xc0]), "transaction type not supported");
        assert_eq!(words(&[0x80, 0xc0]), "rlp: expected input list for types.LegacyTx");
        assert_eq!(words(&[0x81, 0xc0]), "rlp: expected input list for types.LegacyTx");
        assert_eq!(words(&[0x82, 0xc0]), "rlp: value size exceeds available input length");
        assert!(words(&[0xc1, 0x80]).starts_with("rlp: "));
    }
}
