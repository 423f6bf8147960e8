//! Many pools that are opened, used and closed at the same time.

use crate::child::{ECHO, hear, lease, lease_request, pool, send_to};
use hearth_sandbox::{LeaseRequest, Refused, Verdict};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Pools that are open at the same time: more than small machines have processors.
const THREADS: usize = 8;

/// A round with processes among so many; processes take most of the time.
const WITH_PROCESSES: usize = 8;

/// Time in which one of the threads ends its next round: far more than a round takes.
const ROUND_LIMIT: Duration = Duration::from_secs(60);

fn rounds() -> usize {
    if std::env::var("HEARTH_TEST").is_ok_and(|mode| mode == "quick") { 200 } else { 2_000 }
}

/// Opens a pool, uses it as the number says, and closes it.
fn round(number: usize) {
    let pool = pool(2, 4);
    if number.is_multiple_of(WITH_PROCESSES) {
        let mut used = lease(&pool, "a", 1).unwrap();
        send_to(&mut used, ECHO, b"x");
        assert_eq!(hear(&mut used).unwrap().payload, b"x");
        used.end(Verdict::Clean);
    } else if number.is_multiple_of(2) {
        let unwanted = LeaseRequest { is_wanted: Box::new(|| false), ..lease_request("a", 1) };
        let outcome = pool.lease(LeaseRequest { until: Instant::now(), ..unwanted });
        assert!(matches!(outcome, Ok(_) | Err(Refused::Late | Refused::Unwanted)), "{outcome:?}");
    }
    // The close comes at another moment of the keeper's work each time.
    (0..number % 97 * 10).for_each(|_| std::hint::spin_loop());
    pool.close();
    assert_eq!(lease(&pool, "a", 1).unwrap_err(), Refused::Closed);
}

#[test]
fn pools_open_and_close_under_load() {
    let (ended, ends) = channel();
    let each = rounds() / THREADS;
    for thread in 0..THREADS {
        let ended = ended.clone();
        std::thread::spawn(move || {
            for number in 0..each {
                round(thread + number);
                ended.send(()).unwrap();
            }
        });
    }
    drop(ended);
    let mut done = 0;
    loop {
        match ends.recv_timeout(ROUND_LIMIT) {
            Ok(()) => done += 1,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("a pool hangs after {done} rounds"),
        }
    }
    assert_eq!(done, each * THREADS);
}
