//! Waiting for a child: bounded, fair, and no longer than it is of use.

use crate::child::{LOOP, lease, lease_request, pool, send_to};
use hearth_sandbox::{Lease, LeaseRequest, Pool, Refused, Verdict};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Told = Receiver<Result<Vec<Lease>, Refused>>;

fn request(pool: &Pool, request: LeaseRequest) -> Told {
    let (sender, receiver) = channel();
    pool.request(request, move |outcome| drop(sender.send(outcome)));
    receiver
}

/// Far more than an answer takes that does not wait, on a busy machine too.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn beyond_the_bound_one_is_refused_at_once() {
    let pool = pool(1, 1);
    let first = lease(&pool, "a", 1).unwrap();
    let waits = request(&pool, lease_request("a", 2));
    let asked = Instant::now();
    let refused = request(&pool, lease_request("b", 3)).recv_timeout(SOON).unwrap();
    assert_eq!(refused.unwrap_err(), Refused::Full { queue: 1 });
    assert!(asked.elapsed() < SOON);
    assert!(waits.try_recv().is_err());
    first.end(Verdict::Unused);
    assert_eq!(waits.recv_timeout(SOON).unwrap().unwrap().len(), 1);
    let many =
        request(&pool, LeaseRequest { children: 2, ..lease_request("a", 1) }).recv_timeout(SOON).unwrap();
    assert_eq!(many.unwrap_err(), Refused::TooMany { wanted: 2, workers: 1 });
}

#[test]
fn nobody_waits_longer_than_it_is_of_use() {
    let pool = pool(1, 4);
    let _first = lease(&pool, "a", 1).unwrap();
    let until = Instant::now() + Duration::from_millis(50);
    let late = request(&pool, LeaseRequest { until, ..lease_request("a", 2) });
    let wanted = Arc::new(AtomicBool::new(true));
    let is_wanted = wanted.clone();
    let given_up = request(
        &pool,
        LeaseRequest {
            is_wanted: Box::new(move || is_wanted.load(Ordering::Relaxed)),
            ..lease_request("b", 3)
        },
    );
    assert_eq!(late.recv_timeout(SOON).unwrap().unwrap_err(), Refused::Late);
    assert!(given_up.try_recv().is_err());
    wanted.store(false, Ordering::Relaxed);
    assert_eq!(given_up.recv_timeout(SOON).unwrap().unwrap_err(), Refused::Unwanted);
}

#[test]
fn hostile_scripts_leave_a_child_to_others() {
    let pool = pool(2, 300);
    // Both children are there, so that the order does not depend on when they start.
    let both = pool.lease(LeaseRequest { children: 2, ..lease_request("warm-up", 0) }).unwrap();
    both.into_iter().for_each(|lease| lease.end(Verdict::Unused));
    let leases = Arc::new(Mutex::new(Vec::new()));
    for script in 0..200 {
        let leases = leases.clone();
        pool.request(lease_request("hostile", 100 + script), move |granted| {
            let Ok(mut granted) = granted else { return };
            let mut lease = granted.pop().unwrap();
            send_to(&mut lease, LOOP, &[]);
            leases.lock().unwrap().push(lease);
        });
    }
    let asked = Instant::now();
    let honest = lease(&pool, "honest", 1).unwrap();
    assert!(asked.elapsed() < SOON);
    assert_eq!(leases.lock().unwrap().len(), 1, "the hostile client has all but one");
    honest.end(Verdict::Unused);
    assert!(pool.try_lease(&Arc::from("honest"), 1).is_none(), "others wait");
    let closing = {
        let pool = pool.clone();
        std::thread::spawn(move || pool.close())
    };
    crate::child::wait_until("the pool is closed", SOON, || {
        matches!(lease(&pool, "honest", 1), Err(Refused::Closed))
    });
    let held = std::mem::take(&mut *leases.lock().unwrap());
    drop(held);
    closing.join().unwrap();
}
