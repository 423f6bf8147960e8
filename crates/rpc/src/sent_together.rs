//! Transactions that one client sent together: a second thread recovers the senders of later ones
//! while earlier ones are processed. Recovery is the largest part of what a transaction takes that
//! needs no state.

use crate::Request;
use alloy_primitives::{Address, Bytes};
use hearth_evm::recover_pooled;
use hearth_pool::decode_transaction;
use hearth_tracers::Cancel;
use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

/// Fewest transactions for which a second thread pays.
const TRANSACTIONS_MIN: usize = 4;

/// The transactions of a list of requests, and their senders as far as they are recovered.
pub struct SentTogether {
    /// By the position of the request; `None` for a request of another kind.
    transactions: Vec<Option<Sent>>,
    /// The position of the request that is processed.
    reached: AtomicUsize,
}

struct Sent {
    bytes: Bytes,
    sender: OnceLock<Address>,
}

impl SentTogether {
    /// The transactions of these requests in their order; `None` where they are so few that
    /// [`Self::recover`] would not pay.
    pub fn of<'a>(requests: impl Iterator<Item = Option<&'a Request>>) -> Option<Self> {
        let sent = |request: Option<&Request>| match request {
            Some(Request::SendRawTransaction { transaction }) => {
                Some(Sent { bytes: transaction.clone(), sender: OnceLock::new() })
            }
            _ => None,
        };
        let transactions: Vec<_> = requests.map(sent).collect();
        let pays = transactions.iter().flatten().count() >= TRANSACTIONS_MIN;
        pays.then(|| Self { transactions, reached: AtomicUsize::new(0) })
    }

    /// Recovers senders until all are, or the list of requests is processed or cancelled. Leaves
    /// out a transaction that is under way already, and an invalid one, which fails when it is
    /// processed.
    pub fn recover(&self, cancel: &Cancel) {
        for (position, transaction) in self.transactions.iter().enumerate() {
            if cancel.is_cancelled() {
                return;
            }
            if position <= self.reached.load(Ordering::Relaxed) {
                continue;
            }
            let Some(Sent { bytes, sender }) = transaction else { continue };
            if let Some(address) = decode_transaction(bytes).ok().and_then(|sent| recover_pooled(&sent)) {
                let _ = sender.set(address);
            }
        }
    }

    /// The sender of the transaction at this position, if it is recovered; notes that the
    /// transactions up to it need no recovery any more.
    pub fn sender(&self, position: usize) -> Option<Address> {
        self.reached.store(position, Ordering::Relaxed);
        self.transactions.get(position)?.as_ref()?.sender.get().copied()
    }

    /// Notes that no sender is needed any more.
    pub fn end(&self) {
        self.reached.store(self.transactions.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{address, hex};

    const SENDER: Address = address!("f39fd6e51aad88f6f4ce6ab8827279cfffb92266");

    /// Signed by viem, by the first account of the phrase of tests.
    const SIGNED: [u8; 108] = hex!(
        "02f869821cbd80018504a817c80082520894eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee0180c080a0c48dab3899ba
         91d27ce763eaaa8e796fbc079627c7044bcd32f9a7a591f74eb8a01e13aefb116b5855920f51b1d97c71e2b18363e7cc96
         ef47bd478a8a3632558e"
    );

    fn send(bytes: &[u8]) -> Request {
        Request::SendRawTransaction { transaction: Bytes::copy_from_slice(bytes) }
    }

    #[test]
    fn senders_are_those_of_the_signatures() {
        let requests = [
            Some(send(&SIGNED)),
            Some(send(&SIGNED)),
            Some(Request::ChainId),
            None,
            Some(send(&SIGNED[..50])),
            Some(send(&SIGNED)),
        ];
        let together = SentTogether::of(requests.iter().map(Option::as_ref)).expect("four transactions");
        assert_eq!(together.sender(0), None);
        together.recover(&Cancel::new());
        // The first one was under way; the fifth is no transaction.
        let senders: Vec<_> = (0..7).map(|position| together.sender(position)).collect();
        assert_eq!(senders, [None, Some(SENDER), None, None, None, Some(SENDER), None]);
    }

    #[test]
    fn nothing_is_recovered_that_is_not_needed() {
        let requests = [send(&SIGNED), send(&SIGNED), send(&SIGNED), send(&SIGNED)];
        let together = || SentTogether::of(requests.iter().map(Some)).expect("four transactions");
        let reached = together();
        reached.sender(2);
        reached.recover(&Cancel::new());
        assert_eq!([1, 2, 3].map(|position| reached.sender(position)), [None, None, Some(SENDER)]);
        let ended = together();
        ended.end();
        ended.recover(&Cancel::new());
        assert_eq!(ended.sender(3), None);
        let cancelled = together();
        let cancel = Cancel::new();
        cancel.cancel();
        cancelled.recover(&cancel);
        assert_eq!(cancelled.sender(3), None);
        assert!(SentTogether::of(requests[1..].iter().map(Some)).is_none());
    }
}
