//! Transactions that are only simulated: wallets sign those with nothing.

use crate::{
    Decoded, TxError, bech32, proto,
    tx::{Parts, exact},
};

/// Reads a transaction whose signature and key are not looked at: the signer is whom its message
/// names.
///
/// cosmjs gives an empty signature, and a key of Bitcoin's kind even for Ethereum wallets
/// (`SigningStargateClient.simulate`).
///
/// # Errors
/// As [`crate::decode`].
pub fn decode_unsigned(bytes: &[u8]) -> Result<Decoded, TxError> {
    let parts = Parts::read(bytes)?;
    let named = parts.body.messages.first().map(named).transpose()?;
    let signer =
        named.ok_or_else(|| TxError::Invalid("a transaction has one message, and not 0".to_owned()))?;
    parts.finish(bytes, signer)
}

/// The account that signs a message.
fn named(any: &proto::Any) -> Result<alloy_primitives::Address, TxError> {
    let operator = |text: &str| Ok(bech32::decode(bech32::OPERATOR, text)?);
    let account = |text: &str| Ok(bech32::decode(bech32::ACCOUNT, text)?);
    match any.type_url.as_str() {
        crate::message::SEND => account(&exact::<proto::MsgSend>("MsgSend", &any.value)?.from_address),
        crate::message::DELEGATE | crate::message::UNDELEGATE => {
            account(&exact::<proto::MsgDelegate>("MsgDelegate", &any.value)?.delegator_address)
        }
        crate::message::CANCEL_UNBONDING => {
            let message: proto::MsgCancelUnbondingDelegation =
                exact("MsgCancelUnbondingDelegation", &any.value)?;
            account(&message.delegator_address)
        }
        crate::message::CREATE_VALIDATOR => {
            let message: proto::MsgCreateValidator = exact("MsgCreateValidator", &any.value)?;
            operator(&message.validator_address)
        }
        crate::message::EDIT_VALIDATOR => {
            operator(&exact::<proto::MsgEditValidator>("MsgEditValidator", &any.value)?.validator_address)
        }
        crate::message::UNJAIL => {
            operator(&exact::<proto::MsgUnjail>("MsgUnjail", &any.value)?.validator_addr)
        }
        other => Err(TxError::UnknownMessage(other.to_owned())),
    }
}
