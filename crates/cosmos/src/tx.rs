//! From the bytes of a transaction to the call that it is.

use crate::{Message, TxError, message, proto};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use hearth_primitives::NativeTransaction;
use k256::ecdsa::{Signature, VerifyingKey, signature::hazmat::PrehashVerifier as _};
use prost::Message as _;
use sha2::{Digest as _, Sha256};

/// Longest transaction, in bytes: messages have few fields, and descriptions of validators are
/// short.
pub const TX_BYTES_MAX: usize = 64 << 10;
/// Longest memo, in bytes (the SDK's `MaxMemoCharacters`).
pub const MEMO_BYTES_MAX: usize = 256;

/// First byte of a `TxRaw`: field 1, length-delimited. No transaction type of EIP-2718 has it.
const FIRST_BYTE: u8 = 0x0a;
/// `SIGN_MODE_DIRECT`.
const DIRECT: i32 = 1;

/// Keys of Ethereum accounts: the type of cosmos/evm, and the one that came before.
pub(crate) const ETHEREUM_KEYS: [&str; 2] =
    ["/cosmos.evm.crypto.v1.ethsecp256k1.PubKey", "/ethermint.crypto.v1.ethsecp256k1.PubKey"];

/// A transaction and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// As the EVM executes it.
    pub transaction: NativeTransaction,
    /// Its message.
    pub message: Message,
    /// The fee that it offers, in wei.
    pub fee: U256,
    /// Its signature, as events show it.
    pub signature: Bytes,
}

/// Whether these bytes, as a CometBFT block has them, are a native transaction.
pub fn is_native(bytes: &[u8]) -> bool {
    bytes.first() == Some(&FIRST_BYTE)
}

/// The hash of a transaction, native or not, as CometBFT has it.
pub fn sha256(bytes: &[u8]) -> B256 {
    B256::from(<[u8; 32]>::from(Sha256::digest(bytes)))
}

/// CometBFT's id of the chain with an Ethereum chain id.
pub fn chain_id(evm_chain_id: u64) -> String {
    format!("hearth-{evm_chain_id}")
}

/// Reads a transaction and checks its signature.
///
/// # Errors
/// [`TxError`]; those that depend on the state come from execution.
pub fn decode(bytes: &[u8], chain_id: &str) -> Result<Decoded, TxError> {
    let parts = Parts::read(bytes)?;
    let (key, signer) = parts.ethereum_key()?;
    let wrong = || TxError::Signature { sequence: parts.signer.sequence, chain_id: chain_id.to_owned() };
    let signature = parts.signature().ok_or_else(wrong)?;
    let document = proto::SignDoc {
        body_bytes: parts.raw.body_bytes.clone(),
        auth_info_bytes: parts.raw.auth_info_bytes.clone(),
        chain_id: chain_id.to_owned(),
        account_number: 0,
    };
    let digest = keccak256(document.encode_to_vec());
    key.verify_prehash(digest.as_slice(), &signature).map_err(|_| wrong())?;
    parts.finish(bytes, signer)
}

/// Decodes a transaction of a block, whose signature was verified before: its signer is known.
///
/// # Errors
/// As [`decode`].
pub fn decode_included(bytes: &[u8], signer: Address) -> Result<Decoded, TxError> {
    Parts::read(bytes)?.finish(bytes, signer)
}

/// A transaction taken apart.
pub(crate) struct Parts {
    pub raw: proto::TxRaw,
    pub body: proto::TxBody,
    pub signer: proto::SignerInfo,
    pub fee: proto::Fee,
}

/// Reads a message that must have no fields but those that are known, each once and in order: what
/// was signed is what is executed, and
/// one transaction has one hash (ADR-027).
pub(crate) fn exact<M: prost::Message + Default>(what: &str, bytes: &[u8]) -> Result<M, TxError> {
    let message = M::decode(bytes).map_err(|error| TxError::Parse(format!("{what}: {error}")))?;
    if message.encode_to_vec() != bytes {
        return Err(TxError::Parse(format!("{what} has fields that are unknown, repeated or out of order")));
    }
    Ok(message)
}

impl Parts {
    pub fn read(bytes: &[u8]) -> Result<Self, TxError> {
        if bytes.len() > TX_BYTES_MAX {
            return Err(TxError::TooLarge { most: TX_BYTES_MAX, have: bytes.len() });
        }
        let raw: proto::TxRaw = exact("TxRaw", bytes)?;
        let body: proto::TxBody = exact("TxBody", &raw.body_bytes)?;
        let auth: proto::AuthInfo = exact("AuthInfo", &raw.auth_info_bytes)?;
        let invalid = |text: &str| Err(TxError::Invalid(text.to_owned()));
        if !body.extension_options.is_empty() || !body.non_critical_extension_options.is_empty() {
            return invalid("a transaction has no extension options here");
        }
        if body.memo.len() > MEMO_BYTES_MAX {
            return Err(TxError::Memo { most: MEMO_BYTES_MAX, have: body.memo.len() });
        }
        let [signer] = <[proto::SignerInfo; 1]>::try_from(auth.signer_infos).map_err(|all| {
            TxError::Invalid(format!("a transaction has one signer, and not {}", all.len()))
        })?;
        if raw.signatures.len() != 1 {
            return invalid("a transaction has one signature");
        }
        let Some(fee) = auth.fee else { return invalid("a transaction has a fee") };
        Ok(Self { raw, body, signer, fee })
    }

    /// The signer's key and address, where it signs as this chain has it.
    fn ethereum_key(&self) -> Result<(VerifyingKey, Address), TxError> {
        let mode = self.signer.mode_info.as_ref().and_then(|mode| mode.single);
        if mode.map(|single| single.mode) != Some(DIRECT) {
            return Err(TxError::Invalid("a transaction is signed with SIGN_MODE_DIRECT".to_owned()));
        }
        let wrong = |text: String| TxError::PublicKey(text);
        let any = self.signer.public_key.as_ref();
        let any = any.ok_or_else(|| wrong("a transaction carries the key of its signer".to_owned()))?;
        if !ETHEREUM_KEYS.contains(&any.type_url.as_str()) {
            let text = format!("a key {} has no EVM address: sign with {}", any.type_url, ETHEREUM_KEYS[0]);
            return Err(wrong(text));
        }
        let key: proto::PubKey = exact("PubKey", &any.value)?;
        if key.key.len() != 33 {
            return Err(wrong(format!("a key has 33 bytes, and not {}", key.key.len())));
        }
        let key = VerifyingKey::from_sec1_bytes(&key.key).map_err(|error| wrong(error.to_string()))?;
        let point = key.to_encoded_point(false);
        let hash = keccak256(point.as_bytes().get(1..).unwrap_or_default());
        Ok((key, Address::from_word(hash)))
    }

    /// The signature where it is 64 bytes, or 65 with the parity, and its `s` is low.
    fn signature(&self) -> Option<Signature> {
        let bytes = match self.raw.signatures.first()?.as_slice() {
            [rest @ .., 0 | 1 | 27 | 28] if rest.len() == 64 => rest,
            bytes => bytes,
        };
        let signature = Signature::from_slice(bytes).ok()?;
        signature.normalize_s().is_none().then_some(signature)
    }

    pub fn finish(self, bytes: &[u8], signer: Address) -> Result<Decoded, TxError> {
        let payer = self.fee.payer.as_str();
        if !self.fee.granter.is_empty() || !(payer.is_empty() || payer == crate::bech32::account(&signer)) {
            return Err(TxError::Invalid("a transaction's signer pays its fee".to_owned()));
        }
        let fee = match self.fee.amount.as_slice() {
            [] => U256::ZERO,
            [coin] => message::amount(coin)?,
            more => {
                let text = format!("a fee is one amount of {}, and not {}", message::DENOM, more.len());
                return Err(TxError::Invalid(text));
            }
        };
        let gas_limit = self.fee.gas_limit;
        let price = fee.checked_div(U256::from(gas_limit)).unwrap_or_default();
        let gas_price = u128::try_from(price)
            .map_err(|_| TxError::Invalid("the price of gas has more than 128 bits".to_owned()))?;
        let [any] = <[proto::Any; 1]>::try_from(self.body.messages).map_err(|all| {
            TxError::Invalid(format!("a transaction has one message, and not {}", all.len()))
        })?;
        let message = Message::read(&any, signer)?;
        let call = message.call(signer);
        let transaction = NativeTransaction {
            bytes: Bytes::copy_from_slice(bytes),
            hash: sha256(bytes),
            sender: signer,
            nonce: self.signer.sequence,
            gas_limit,
            gas_price,
            to: call.to,
            value: call.value,
            input: call.input,
            log: call.log,
            timeout_height: self.body.timeout_height,
        };
        let signature = self.raw.signatures.into_iter().next().unwrap_or_default().into();
        Ok(Decoded { transaction, message, fee, signature })
    }
}

#[cfg(test)]
mod tests;
