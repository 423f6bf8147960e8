//! Requests that may take long: their client, their kind of work, and how one is cancelled.

use super::Node;
use hearth_home::{
    NodeError,
    workers::{Kind, Order, guarded},
};
use hearth_rpc::{Request, SentTogether};
use hearth_tracers::Cancel;
use hearth_traces::Caller;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// What a request is, for the threads that it runs on.
fn kind_of(request: &Request) -> Kind {
    match request {
        Request::Call { .. }
        | Request::EstimateGas { .. }
        | Request::CreateAccessList { .. }
        | Request::SimulateV1 { .. }
        | Request::FillTransaction { .. }
        | Request::SignTransaction { .. }
        | Request::BuildBlock { .. } => Kind::Simulation,
        Request::IntermediateRoots { .. }
        | Request::ExecutionWitness { .. }
        | Request::StorageRangeAt { .. }
        | Request::AccountTransactions(_)
        | Request::ContractCreation { .. } => Kind::Trace,
        _ => Kind::Other,
    }
}

/// Whether a request submits a transaction. Such a request is also accepted when memory is short,
/// since the pool has its own bounds.
fn is_sent(request: &Request) -> bool {
    matches!(request, Request::SendRawTransaction { .. } | Request::SendTransaction { .. })
}

/// Long requests that can be ended, by the numbers that their callers gave them.
#[derive(Default)]
pub(super) struct Calls(Mutex<Running>);

#[derive(Default)]
struct Running {
    by_ticket: HashMap<u64, Cancel>,
    /// All requests are ended, those that begin later too.
    ended: bool,
}

impl Calls {
    fn begin(&self, ticket: u64, cancel: &Cancel) {
        let mut running = self.0.lock();
        running.by_ticket.insert(ticket, cancel.clone());
        if running.ended {
            cancel.cancel();
        }
    }

    fn end(&self, ticket: u64) {
        self.0.lock().by_ticket.remove(&ticket);
    }

    fn cancel(&self, ticket: u64) {
        if let Some(cancel) = self.0.lock().by_ticket.get(&ticket) {
            cancel.cancel();
        }
    }

    /// Ends all of them, and those that begin from now on: a request may have found the node open
    /// just before it closes.
    pub(super) fn cancel_all(&self) {
        let mut running = self.0.lock();
        running.ended = true;
        running.by_ticket.values().for_each(Cancel::cancel);
    }
}

impl Node {
    /// Answers a request on one of the node's threads; short reads have their own threads. The
    /// callback is called exactly once, at once with [`NodeError::Busy`] if the queue is full.
    pub fn spawn(
        self: &Arc<Self>,
        request: Request,
        done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    ) {
        self.spawn_for(request, &Caller::default(), None, done);
    }

    /// Same as [`Self::spawn`], for a named client: long requests of clients take turns, and
    /// [`Self::cancel`] ends the request with this ticket. Tickets of requests in progress must
    /// differ.
    pub fn spawn_for(
        self: &Arc<Self>,
        request: Request,
        asker: &Caller,
        ticket: Option<u64>,
        done: impl FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    ) {
        let opened = match self.opened() {
            Ok(opened) => opened,
            Err(error) => return done(Err(error)),
        };
        let is_heavy = request.is_heavy();
        if is_heavy
            && !is_sent(&request)
            && let Err(error) = self.memory.admit()
        {
            return done(Err(error));
        }
        let ticket = ticket.filter(|_| is_heavy);
        let cancel = if ticket.is_some() { Cancel::new() } else { opened.home.stop() };
        if let Some(ticket) = ticket {
            self.calls.begin(ticket, &cancel);
        }
        let order = Order { client: asker.client.clone(), kind: kind_of(&request), cancel: cancel.clone() };
        // A weak reference: a waiting job must not keep the node open.
        let node = Arc::downgrade(self);
        let ordered = matches!(&request, Request::Engine(request) if request.is_ordered());
        let workers = match &self.engine {
            Some(engine) if ordered => engine,
            _ if is_heavy => &self.heavy,
            _ => &self.read,
        };
        workers.submitter().submit_for(order, move |go| {
            let answer = go.and_then(|()| match cancel.is_cancelled() {
                true => Err(opened.home.interrupted()),
                false => guarded(|| opened.rpc.answer(request, &cancel)),
            });
            if let (Some(ticket), Some(node)) = (ticket, node.upgrade()) {
                node.calls.end(ticket);
            }
            // The home is released before the answer is visible, so that a caller can close it
            // after the answer.
            drop(opened);
            done(answer);
        });
    }

    /// Answers long requests of a client one after the other, as one job; [`Self::cancel`] ends
    /// those that are left. Each callback is called exactly once, in this order, after the last
    /// request: calls that come together wake the thread that waits for them once.
    pub fn spawn_in_order<F>(
        self: &Arc<Self>,
        requests: Vec<(Result<Request, NodeError>, F)>,
        asker: &Caller,
        ticket: u64,
    ) where
        F: FnOnce(Result<Vec<u8>, NodeError>) + Send + 'static,
    {
        let opened = match self.opened() {
            Ok(opened) => opened,
            Err(error) => return requests.into_iter().for_each(|(_, done)| done(Err(error.clone()))),
        };
        let cancel = Cancel::new();
        self.calls.begin(ticket, &cancel);
        let order = Order { client: asker.client.clone(), kind: Kind::Other, cancel: cancel.clone() };
        // A weak reference: a waiting job must not keep the node open.
        let node = Arc::downgrade(self);
        let together =
            SentTogether::of(requests.iter().map(|(request, _)| request.as_ref().ok())).map(Arc::new);
        let senders = together.clone().map(|together| (together, order.clone()));
        self.heavy.submitter().submit_for(order, move |go| {
            let answer = |position: usize, request: Result<Request, NodeError>| {
                go.clone()?;
                let request = request?;
                let sender = together.as_ref().and_then(|together| together.sender(position));
                match cancel.is_cancelled() {
                    true => Err(opened.home.interrupted()),
                    false => guarded(|| opened.rpc.answer_with_sender(request, sender, &cancel)),
                }
            };
            let requests = requests.into_iter().enumerate();
            let answers: Vec<_> =
                requests.map(|(position, (request, done))| (answer(position, request), done)).collect();
            if let Some(together) = &together {
                together.end();
            }
            if let Some(node) = node.upgrade() {
                node.calls.end(ticket);
            }
            // As above: a caller can close the home after the last answer.
            drop(opened);
            answers.into_iter().for_each(|(answer, done)| done(answer));
        });
        if let Some((together, order)) = senders {
            self.recover_senders(together, order);
        }
    }

    /// Recovers senders on a thread of its own. If the job is refused, each sender is recovered
    /// when its transaction is processed.
    fn recover_senders(&self, together: Arc<SentTogether>, order: Order) {
        let cancel = order.cancel.clone();
        self.heavy.submitter().submit_for(order, move |go| {
            let recover = || {
                together.recover(&cancel);
                Ok(())
            };
            // A panic repeats where the transaction is processed, whose client is answered.
            let _ = go.and_then(|()| guarded(recover));
        });
    }

    /// Cancels the long request with this ticket, whose answer is no longer needed.
    pub fn cancel(&self, ticket: u64) {
        self.calls.cancel(ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_ended_by_its_ticket_and_forgotten() {
        let calls = Calls::default();
        let (first, second) = (Cancel::new(), Cancel::new());
        calls.begin(1, &first);
        calls.begin(2, &second);
        calls.cancel(1);
        calls.cancel(7);
        assert_eq!((first.is_cancelled(), second.is_cancelled()), (true, false));
        calls.end(1);
        calls.cancel_all();
        assert!(second.is_cancelled());
        calls.end(2);
        assert!(calls.0.lock().by_ticket.is_empty());
    }

    #[test]
    fn a_call_that_begins_after_the_end_of_all_is_ended_at_once() {
        let calls = Calls::default();
        calls.cancel_all();
        let late = Cancel::new();
        calls.begin(3, &late);
        assert!(late.is_cancelled());
    }
}
