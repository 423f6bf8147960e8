//! The transaction that represents a call in its simulated block. It has no signature.

use crate::simulate::{CallRequest, Message};
use alloy_consensus::{
    SignableTransaction as _, Signed, TxEip1559, TxEip4844, TxEip7702, TxLegacy, Typed2718 as _,
};
use alloy_eips::eip2718::Encodable2718 as _;
use alloy_primitives::{Address, B256, Signature, TxKind, U256, keccak256};
use hearth_primitives::Transaction;

/// Bytes of the three empty values of a signature at the end of a legacy transaction.
const SIGNATURE_BYTES: usize = 3;
/// RLP of zero.
const RLP_ZERO: u8 = 0x80;

/// A transaction of a simulated block.
#[derive(Clone, Debug)]
pub(in crate::simulate) struct Unsigned {
    pub tx: Transaction,
    pub hash: B256,
    /// Its EIP-2718 encoding.
    pub encoded: Vec<u8>,
}

impl Unsigned {
    /// The transaction of a message: type 2 unless the fields of the request determine another
    /// type; legacy if it has a gas price or the block has no base fee.
    pub fn new(request: &CallRequest, message: &Message, chain_id: u64, has_base_fee: bool) -> Self {
        let nobody = Signature::new(U256::ZERO, U256::ZERO, false);
        if request.gas_price.is_some() || !has_base_fee {
            return Self::legacy(message, nobody);
        }
        let to = message.to.unwrap_or(Address::ZERO);
        let (max_fee_per_gas, max_priority_fee_per_gas) = (narrow(message.fee_cap), narrow(message.tip));
        let (nonce, gas_limit, value) = (message.nonce, message.gas, message.value);
        let (input, access_list) = (message.data.clone(), message.access_list.clone());
        let tx: Transaction = if let Some(list) = &message.authorizations {
            let authorization_list = list.clone();
            TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to,
                value,
                access_list,
                authorization_list,
                input,
            }
            .into_signed(nobody)
            .into()
        } else if let Some(hashes) = &message.blob_hashes {
            let tx = TxEip4844 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to,
                value,
                access_list,
                blob_versioned_hashes: hashes.clone(),
                max_fee_per_blob_gas: narrow(message.blob_fee_cap.unwrap_or_default()),
                input,
            };
            Transaction::Eip4844(tx.into_signed(nobody))
        } else {
            let to = message.to.map_or(TxKind::Create, TxKind::Call);
            TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to,
                value,
                access_list,
                input,
            }
            .into_signed(nobody)
            .into()
        };
        let encoded = tx.encoded_2718();
        Self { hash: keccak256(&encoded), tx, encoded }
    }

    fn legacy(message: &Message, nobody: Signature) -> Self {
        let tx = TxLegacy {
            chain_id: None,
            nonce: message.nonce,
            gas_price: narrow(message.gas_price),
            gas_limit: message.gas,
            to: message.to.map_or(TxKind::Create, TxKind::Call),
            value: message.value,
            input: message.data.clone(),
        };
        let mut encoded = Transaction::Legacy(tx.clone().into_signed(nobody)).encoded_2718();
        // A signature's v is 27 at least, one byte long; of no signature it is zero.
        if let Some(v) = encoded.len().checked_sub(SIGNATURE_BYTES).and_then(|at| encoded.get_mut(at)) {
            *v = RLP_ZERO;
        }
        let hash = keccak256(&encoded);
        Self { tx: Transaction::Legacy(Signed::new_unchecked(tx, nobody, hash)), hash, encoded }
    }

    /// Its type.
    pub fn ty(&self) -> u8 {
        self.tx.ty()
    }
}

/// Prices above 128 bits saturate: no balance pays them.
fn narrow(value: U256) -> u128 {
    u128::try_from(value).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Bytes, hex};

    fn unsigned(request: CallRequest, base_fee: Option<u64>) -> Unsigned {
        let mut message = request.message(base_fee, 1, None).expect("fields that agree");
        (message.nonce, message.gas) = (9, 0x5208);
        Unsigned::new(&request, &message, 1, base_fee.is_some())
    }

    fn request() -> CallRequest {
        CallRequest {
            to: Some(Address::repeat_byte(0x11)),
            input: Some(Bytes::from_static(&[0xab, 0xcd])),
            ..CallRequest::default()
        }
    }

    #[test]
    fn legacy_ones_end_in_three_zeros() {
        let priced = CallRequest { gas_price: Some(U256::from(7)), ..request() };
        let tx = unsigned(priced, Some(5));
        // Nonce, price, gas, recipient, value, input, v, r, s.
        let want = format!("e1090782520894{}80", "11".repeat(20));
        assert_eq!(hex::encode(&tx.encoded), format!("{want}82abcd808080"));
        assert_eq!((tx.ty(), tx.hash, *tx.tx.tx_hash()), (0, keccak256(&tx.encoded), tx.hash));
        assert_eq!(unsigned(request(), None).ty(), 0, "without a base fee nothing else can be");
    }

    #[test]
    fn others_are_of_the_type_that_their_fields_ask_for() {
        let tx = unsigned(request(), Some(5));
        let want = format!("02e40109808082520894{}8082abcdc0808080", "11".repeat(20));
        assert_eq!(hex::encode(&tx.encoded), want);
        assert_eq!((tx.ty(), tx.hash), (2, keccak256(&tx.encoded)));
        let blobs = CallRequest { blob_versioned_hashes: Some(vec![B256::ZERO]), ..request() };
        assert_eq!(unsigned(blobs, Some(5)).ty(), 3);
        let codes = CallRequest { authorization_list: Some(Vec::new()), ..request() };
        assert_eq!(unsigned(codes, Some(5)).ty(), 4);
    }
}
