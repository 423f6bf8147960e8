//! The events of a native transaction, which wallets and explorers show.

use crate::{Decoded, Message, bech32, message::DENOM};
use alloy_primitives::{Address, U256};
use hearth_primitives::NativeOutcome;

/// An event: its type, and its attributes by name, in order.
pub type Event = (&'static str, Vec<(&'static str, String)>);

fn coins(amount: &U256) -> String {
    format!("{amount}{DENOM}")
}

/// The events of a transaction in a block, in the SDK's order: the fee first, of a transaction that
/// failed nothing else.
pub fn events(decoded: &Decoded, outcome: &NativeOutcome) -> Vec<Event> {
    let transaction = &decoded.transaction;
    let signer = bech32::account(&transaction.sender);
    let mut events = vec![
        ("tx", vec![("fee", coins(&decoded.fee)), ("fee_payer", signer.clone())]),
        ("tx", vec![("acc_seq", format!("{signer}/{}", transaction.nonce))]),
        ("tx", vec![("signature", base64(&decoded.signature))]),
    ];
    if !outcome.is_success() {
        return events;
    }
    let message = &decoded.message;
    let module = if matches!(message, Message::Send { .. }) { "bank" } else { "staking" };
    let module = if *message == Message::Unjail { "slashing" } else { module };
    let action = message.type_url().to_owned();
    let message_attributes =
        vec![("action", action), ("sender", signer.clone()), ("module", module.to_owned())];
    events.push(("message", message_attributes));
    events.extend(transfer(message, &signer));
    events.extend(staking(message, &signer, outcome));
    events
}

/// Wei that change hands.
fn transfer(message: &Message, signer: &str) -> Vec<Event> {
    let (to, amount): (&Address, &U256) = match message {
        Message::Send { to, amount } => (to, amount),
        Message::Delegate { amount, .. } | Message::CreateValidator { amount, .. } => {
            (&crate::staking::ADDRESS, amount)
        }
        _ => return Vec::new(),
    };
    let (signer, to, amount) = (signer.to_owned(), bech32::account(to), coins(amount));
    vec![
        ("coin_spent", vec![("spender", signer.clone()), ("amount", amount.clone())]),
        ("coin_received", vec![("receiver", to.clone()), ("amount", amount.clone())]),
        ("transfer", vec![("recipient", to), ("sender", signer), ("amount", amount)]),
    ]
}

fn staking(message: &Message, signer: &str, outcome: &NativeOutcome) -> Option<Event> {
    let delegator = ("delegator", signer.to_owned());
    match message {
        Message::Delegate { operator, amount } => {
            let shares = outcome.logs.last().map(|log| crate::staking::second_word(&log.data.data));
            // The contract counts whole shares.
            let shares = format!("{}.{:0>18}", shares.unwrap_or_default(), 0);
            let validator = ("validator", bech32::operator(operator));
            Some(("delegate", vec![validator, delegator, ("amount", coins(amount)), ("new_shares", shares)]))
        }
        Message::Undelegate { operator, amount } => {
            let time = outcome.logs.last().map(|log| crate::staking::second_word(&log.data.data));
            let time = u64::try_from(time.unwrap_or_default()).unwrap_or_default();
            let time = ("completion_time", crate::query::time::rfc3339(time));
            let validator = ("validator", bech32::operator(operator));
            Some(("unbond", vec![validator, delegator, ("amount", coins(amount)), time]))
        }
        _ => None,
    }
}

pub(crate) use crate::query::base64;
