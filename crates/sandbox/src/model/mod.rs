//! A model of the pool: keeper, leases and requests as they are, under thousands of orders of their
//! threads. Shuttle fails a run in which every thread waits, such as one whose wake-up was lost.

pub(crate) mod process;
pub(crate) mod sync;

use crate::sync::{mpsc, thread};
use crate::{Layers, Lease, LeaseRequest, Options, Pool, Program, Refused, Verdict};
use hearth_metrics::Registry;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Orders that are tried of each scenario, chosen at random and by priorities.
const ORDERS: usize = 2_000;

/// Switches of priority in one run of the second kind.
const PRIORITY_SWITCHES: usize = 3;

fn explore(scenario: fn()) {
    shuttle::check_random(scenario, ORDERS);
    shuttle::check_pct(scenario, ORDERS, PRIORITY_SWITCHES);
}

fn pool(path: &str, workers: usize) -> Arc<Pool> {
    let program = Program { path: path.into(), args: vec![] };
    let options = Options {
        program,
        workers,
        queue: 4,
        memory_bytes: 1 << 20,
        output_bytes: 1 << 20,
        layers: Layers::ALL,
        require: Layers::NONE,
        warm_up: None,
    };
    Arc::new(Pool::new(options, &Registry::new()).unwrap())
}

fn ask(script: u64, is_wanted: bool) -> LeaseRequest {
    LeaseRequest {
        client: Arc::from("client"),
        script,
        children: 1,
        until: Instant::now() + Duration::from_secs(3600),
        is_wanted: Box::new(move || is_wanted),
    }
}

type Outcome = Result<Vec<Lease>, Refused>;

/// Requests children on a thread of its own, and gives them back.
fn client(
    pool: &Arc<Pool>,
    ask: LeaseRequest,
    verdict: Verdict,
) -> thread::JoinHandle<Result<usize, Refused>> {
    let pool = pool.clone();
    thread::spawn(move || {
        let outcome: Outcome = pool.lease(ask);
        outcome.map(|leases| {
            let count = leases.len();
            leases.into_iter().for_each(|lease| lease.end(verdict.clone()));
            count
        })
    })
}

#[test]
fn an_unused_pool_closes() {
    explore(|| {
        let pool = pool("/model", 1);
        pool.close();
        assert_eq!(pool.lease(ask(1, true)).unwrap_err(), Refused::Closed);
    });
}

#[test]
fn a_pool_closes_while_requests_come_and_go() {
    explore(|| {
        let pool = pool("/model", 2);
        let clients = [
            client(&pool, ask(1, true), Verdict::Clean),
            client(&pool, ask(2, true), Verdict::Unwanted),
            client(&pool, ask(3, false), Verdict::Unused),
        ];
        pool.close();
        for client in clients {
            let outcome = client.join().unwrap();
            assert!(matches!(outcome, Ok(1) | Err(Refused::Closed | Refused::Unwanted)), "{outcome:?}");
        }
        assert_eq!(process::running(), 0);
        assert!(pool.try_lease(&Arc::from("client"), 1).is_none());
    });
}

#[test]
fn a_pool_closes_after_its_children_were_used() {
    explore(|| {
        let pool = pool("/model", 2);
        let clients =
            [client(&pool, ask(1, true), Verdict::Clean), client(&pool, ask(2, true), Verdict::Unused)];
        let outcomes = clients.map(|client| client.join().unwrap());
        assert_eq!(outcomes, [Ok(1), Ok(1)]);
        pool.close();
        assert_eq!(process::running(), 0);
    });
}

#[test]
fn a_pool_whose_program_cannot_start_closes() {
    explore(|| {
        let pool = pool("/absent", 1);
        let client = client(&pool, ask(1, true), Verdict::Clean);
        let outcome = client.join().unwrap();
        assert!(matches!(outcome, Err(Refused::Start { .. })), "{outcome:?}");
        pool.close();
    });
}

#[test]
fn a_grant_that_panics_does_not_end_the_pool() {
    explore(|| {
        // A second child: the first one's ends with the panic, and starts are limited by time.
        let pool = pool("/model", 2);
        // Planted: what a caller does with its children is not the pool's to trust.
        pool.request(ask(1, true), |leases| {
            // Shuttle's locks do nothing while their thread unwinds.
            drop(leases);
            std::panic::resume_unwind(Box::new("planted"))
        });
        let (granted, outcome) = mpsc::channel();
        pool.request(ask(2, true), move |leases| granted.send(leases.map(|all| all.len())).unwrap());
        assert_eq!(outcome.recv().unwrap(), Ok(1));
        pool.close();
        assert_eq!(process::running(), 0);
    });
}

#[test]
fn a_pool_closed_by_a_grant_ends() {
    explore(|| {
        let pool = pool("/model", 1);
        let (closed, is_closed) = mpsc::channel();
        let inner = pool.clone();
        pool.request(ask(1, true), move |leases| {
            drop(leases);
            inner.close();
            closed.send(()).unwrap();
        });
        is_closed.recv().unwrap();
        assert_eq!(pool.lease(ask(1, true)).unwrap_err(), Refused::Closed);
    });
}
