//! Messages, and the calls that they are.

use crate::{
    TxError, bech32, proto,
    staking::{self, Staking},
    tx::exact,
};
use alloy_primitives::{Address, B256, Bytes, Log, LogData, U256, b256};
use alloy_sol_types::SolCall as _;
use hearth_evm::SYSTEM_ADDRESS;

/// The one denomination: wei, the smallest unit.
pub const DENOM: &str = "wei";

pub(crate) const SEND: &str = "/cosmos.bank.v1beta1.MsgSend";
pub(crate) const CREATE_VALIDATOR: &str = "/cosmos.staking.v1beta1.MsgCreateValidator";
pub(crate) const EDIT_VALIDATOR: &str = "/cosmos.staking.v1beta1.MsgEditValidator";
pub(crate) const DELEGATE: &str = "/cosmos.staking.v1beta1.MsgDelegate";
pub(crate) const UNDELEGATE: &str = "/cosmos.staking.v1beta1.MsgUndelegate";
pub(crate) const CANCEL_UNBONDING: &str = "/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation";
pub(crate) const UNJAIL: &str = "/cosmos.slashing.v1beta1.MsgUnjail";
/// Keys of validators.
const CONSENSUS_KEY: &str = "/cosmos.crypto.ed25519.PubKey";

/// `Transfer(address,address,uint256)`, as EIP-7708 has it for transfers of ether.
const TRANSFER_TOPIC: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Longest text of a validator's description, in bytes, by its place (the SDK's `MaxMonikerLength`
/// and so on).
const DESCRIPTION_BYTES_MAX: [(&str, usize); 5] =
    [("moniker", 70), ("identity", 3000), ("website", 140), ("security contact", 140), ("details", 280)];

/// The message of a native transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Wei to an account.
    Send {
        /// Who gets them.
        to: Address,
        /// How many.
        amount: U256,
    },
    /// A new validator, which the signer operates.
    CreateValidator {
        /// Its ed25519 key.
        key: B256,
        /// Moniker, identity, website, security contact, details.
        description: [String; 5],
        /// Rate of its commission; 1e18 is all.
        rate: U256,
        /// What the signer delegates to it, in wei.
        amount: U256,
    },
    /// Other texts or another rate for the signer's validator.
    EditValidator {
        /// As above; `[do-not-modify]` keeps a text.
        description: [String; 5],
        /// Another rate.
        rate: Option<U256>,
    },
    /// Wei for a validator.
    Delegate {
        /// Its operator.
        operator: Address,
        /// How many.
        amount: U256,
    },
    /// Delegated wei back, after the unbonding time.
    Undelegate {
        /// The validator's operator.
        operator: Address,
        /// How many.
        amount: U256,
    },
    /// Wei that unbond are delegated again.
    CancelUnbonding {
        /// The validator's operator.
        operator: Address,
        /// How many.
        amount: U256,
        /// Height at which their unbonding began.
        height: u64,
    },
    /// The signer's validator takes part again.
    Unjail,
}

/// The call that a message is.
pub(crate) struct Call {
    pub to: Address,
    pub value: U256,
    pub input: Bytes,
    pub log: Option<Log>,
}

/// A coin's amount in wei.
pub(crate) fn amount(coin: &proto::Coin) -> Result<U256, TxError> {
    if coin.denom != DENOM {
        return Err(TxError::Invalid(format!("the denomination is {DENOM}, and not {:?}", coin.denom)));
    }
    number(&coin.amount).ok_or_else(|| TxError::Invalid(format!("{:?} is no amount of {DENOM}", coin.amount)))
}

/// A number in decimal digits.
fn number(text: &str) -> Option<U256> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| U256::from_str_radix(text, 10).ok()).flatten()
}

fn positive(coin: Option<&proto::Coin>) -> Result<U256, TxError> {
    let coin = coin.ok_or_else(|| TxError::Invalid("a message without an amount".to_owned()))?;
    let amount = amount(coin)?;
    if amount.is_zero() {
        return Err(TxError::Invalid("an amount is more than 0".to_owned()));
    }
    Ok(amount)
}

/// Checks that a message is the signer's.
fn of_signer(prefix: &'static str, text: &str, signer: Address) -> Result<(), TxError> {
    if bech32::decode(prefix, text)? == signer {
        return Ok(());
    }
    let expected = bech32::encode(prefix, &signer);
    Err(TxError::PublicKey(format!("the signer is {expected}, and the message is of {text}")))
}

fn rate(text: &str) -> Result<U256, TxError> {
    let most = U256::from(10u64.pow(18));
    number(text)
        .filter(|rate| *rate <= most)
        .ok_or_else(|| TxError::Invalid(format!("{text:?} is no rate: 0 to 1000000000000000000")))
}

fn texts(description: Option<proto::Description>) -> Result<[String; 5], TxError> {
    let given = description.unwrap_or_default();
    let texts = [given.moniker, given.identity, given.website, given.security_contact, given.details];
    for (text, (what, most)) in texts.iter().zip(DESCRIPTION_BYTES_MAX) {
        if text.len() > most {
            let wrong = format!("invalid {what} length; got: {}, max: {most}", text.len());
            return Err(TxError::Invalid(wrong));
        }
    }
    Ok(texts)
}

impl Message {
    /// Reads a message that this account signed.
    pub(crate) fn read(any: &proto::Any, signer: Address) -> Result<Self, TxError> {
        let bytes = &any.value;
        Ok(match any.type_url.as_str() {
            SEND => {
                let message: proto::MsgSend = exact("MsgSend", bytes)?;
                of_signer(bech32::ACCOUNT, &message.from_address, signer)?;
                let [coin] = message.amount.as_slice() else {
                    return Err(TxError::Invalid(format!("a MsgSend has one amount of {DENOM}")));
                };
                let to = bech32::decode(bech32::ACCOUNT, &message.to_address)?;
                Self::Send { to, amount: positive(Some(coin))? }
            }
            DELEGATE | UNDELEGATE => {
                let message: proto::MsgDelegate = exact("MsgDelegate", bytes)?;
                of_signer(bech32::ACCOUNT, &message.delegator_address, signer)?;
                let operator = bech32::decode(bech32::OPERATOR, &message.validator_address)?;
                let amount = positive(message.amount.as_ref())?;
                if any.type_url == DELEGATE {
                    Self::Delegate { operator, amount }
                } else {
                    Self::Undelegate { operator, amount }
                }
            }
            CANCEL_UNBONDING => {
                let message: proto::MsgCancelUnbondingDelegation =
                    exact("MsgCancelUnbondingDelegation", bytes)?;
                of_signer(bech32::ACCOUNT, &message.delegator_address, signer)?;
                let height = u64::try_from(message.creation_height)
                    .map_err(|_| TxError::Invalid("a height is not negative".to_owned()))?;
                let operator = bech32::decode(bech32::OPERATOR, &message.validator_address)?;
                Self::CancelUnbonding { operator, amount: positive(message.amount.as_ref())?, height }
            }
            CREATE_VALIDATOR => Self::create_validator(exact("MsgCreateValidator", bytes)?, signer)?,
            EDIT_VALIDATOR => {
                let message: proto::MsgEditValidator = exact("MsgEditValidator", bytes)?;
                of_signer(bech32::OPERATOR, &message.validator_address, signer)?;
                if !message.min_self_delegation.is_empty() {
                    let text = "the least self-delegation of a validator is fixed".to_owned();
                    return Err(TxError::Invalid(text));
                }
                let rate = (!message.commission_rate.is_empty()).then(|| rate(&message.commission_rate));
                Self::EditValidator { description: texts(message.description)?, rate: rate.transpose()? }
            }
            UNJAIL => {
                let message: proto::MsgUnjail = exact("MsgUnjail", bytes)?;
                of_signer(bech32::OPERATOR, &message.validator_addr, signer)?;
                Self::Unjail
            }
            other => return Err(TxError::UnknownMessage(other.to_owned())),
        })
    }

    fn create_validator(message: proto::MsgCreateValidator, signer: Address) -> Result<Self, TxError> {
        // The SDK's v0.50 deprecates the delegator's field, so clients leave it out.
        if !message.delegator_address.is_empty() {
            of_signer(bech32::ACCOUNT, &message.delegator_address, signer)?;
        }
        of_signer(bech32::OPERATOR, &message.validator_address, signer)?;
        let wrong = |text: &str| TxError::Invalid(text.to_owned());
        let any = message.pubkey.filter(|any| any.type_url == CONSENSUS_KEY);
        let any = any.ok_or_else(|| wrong("a validator has a key /cosmos.crypto.ed25519.PubKey"))?;
        let key: proto::PubKey = exact("PubKey", &any.value)?;
        let key = B256::try_from(key.key.as_slice()).map_err(|_| wrong("an ed25519 key has 32 bytes"))?;
        let description = texts(message.description)?;
        if description[0].is_empty() {
            return Err(wrong("a validator has a moniker"));
        }
        let commission = message.commission.unwrap_or_default();
        let rate = if commission.rate.is_empty() { U256::ZERO } else { rate(&commission.rate)? };
        Ok(Self::CreateValidator { key, description, rate, amount: positive(message.value.as_ref())? })
    }

    /// The address of its type.
    pub fn type_url(&self) -> &'static str {
        match self {
            Self::Send { .. } => SEND,
            Self::CreateValidator { .. } => CREATE_VALIDATOR,
            Self::EditValidator { .. } => EDIT_VALIDATOR,
            Self::Delegate { .. } => DELEGATE,
            Self::Undelegate { .. } => UNDELEGATE,
            Self::CancelUnbonding { .. } => CANCEL_UNBONDING,
            Self::Unjail => UNJAIL,
        }
    }

    /// The call of its signer.
    pub(crate) fn call(&self, signer: Address) -> Call {
        let staking = |value: U256, input: Vec<u8>| Call {
            to: staking::ADDRESS,
            value,
            input: input.into(),
            log: None,
        };
        match self {
            Self::Send { to, amount } => Call {
                to: *to,
                value: *amount,
                input: Bytes::new(),
                log: Some(Log {
                    address: SYSTEM_ADDRESS,
                    data: LogData::new_unchecked(
                        vec![TRANSFER_TOPIC, signer.into_word(), to.into_word()],
                        amount.to_be_bytes::<32>().into(),
                    ),
                }),
            },
            Self::CreateValidator { key, description, rate, amount } => {
                let call =
                    Staking::createValidatorCall { key: *key, description: description.clone(), rate: *rate };
                staking(*amount, call.abi_encode())
            }
            Self::EditValidator { description, rate } => {
                let rate = rate.unwrap_or(U256::MAX);
                let call = Staking::editValidatorCall { description: description.clone(), rate };
                staking(U256::ZERO, call.abi_encode())
            }
            Self::Delegate { operator, amount } => {
                staking(*amount, Staking::delegateCall { operator: *operator }.abi_encode())
            }
            Self::Undelegate { operator, amount } => {
                let call = Staking::undelegateCall { operator: *operator, amount: *amount };
                staking(U256::ZERO, call.abi_encode())
            }
            Self::CancelUnbonding { operator, amount, height } => {
                let (operator, amount, height) = (*operator, *amount, *height);
                let call = Staking::cancelUnbondingCall { operator, amount, height };
                staking(U256::ZERO, call.abi_encode())
            }
            Self::Unjail => staking(U256::ZERO, Staking::unjailCall {}.abi_encode()),
        }
    }

    /// The message's response (`MsgSendResponse` and so on) from what its call returned.
    pub fn response(&self, output: &[u8]) -> proto::Any {
        let value = match self {
            Self::Undelegate { amount, .. } => {
                let completion = Staking::undelegateCall::abi_decode_returns(output).unwrap_or_default();
                let seconds = i64::try_from(completion).unwrap_or(i64::MAX);
                prost::Message::encode_to_vec(&proto::MsgUndelegateResponse {
                    completion_time: Some(proto::Timestamp { seconds, nanos: 0 }),
                    amount: Some(proto::Coin { denom: DENOM.to_owned(), amount: amount.to_string() }),
                })
            }
            _ => Vec::new(),
        };
        proto::Any { type_url: format!("{}Response", self.type_url()), value }
    }
}
