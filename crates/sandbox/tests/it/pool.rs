//! Leases: what is given back is used again, what is not is killed and replaced.

use crate::child::{
    ALLOCATE, ECHO, EXIT, GARBAGE, LOOP, MEMORY_BYTES, OUTPUT_BYTES, hear, lease, pool, runs, send_to,
    wait_until, warm_pool,
};
use hearth_sandbox::{Ended, Refused, Verdict};
use std::time::{Duration, Instant};

#[test]
fn a_child_that_is_given_back_clean_is_used_again() {
    let pool = pool(1, 1);
    let mut first = lease(&pool, "a", 1).unwrap();
    let process = first.process_id();
    let payload = vec![5; 200_000];
    send_to(&mut first, ECHO, &payload);
    let echo = hear(&mut first).unwrap();
    assert_eq!((echo.kind, echo.payload), (13, payload));
    first.end(Verdict::Clean);
    let second = lease(&pool, "b", 2).unwrap();
    assert_eq!(second.process_id(), process);
    second.end(Verdict::Unused);
}

#[test]
fn one_that_loops_is_killed_and_replaced() {
    for verdict in [Verdict::Late, Verdict::Unwanted, Verdict::Clean] {
        let pool = pool(1, 1);
        let mut first = lease(&pool, "a", 1).unwrap();
        let process = first.process_id();
        if verdict == Verdict::Clean {
            // Something is still on its way: it is not clean, whatever is said.
            send_to(&mut first, ECHO, b"nobody reads this");
            first.wait(false, Duration::from_secs(10));
        } else {
            send_to(&mut first, LOOP, &[]);
        }
        first.end(verdict.clone());
        wait_until("the child ends", Duration::from_secs(1), || !runs(process));
        let mut second = lease(&pool, "b", 2).unwrap();
        assert_ne!(second.process_id(), process);
        send_to(&mut second, ECHO, b"x");
        assert_eq!(hear(&mut second).unwrap().payload, b"x");
    }
}

#[test]
fn what_a_child_may_not_do_ends_it_and_nobody_else() {
    let pool = pool(2, 4);
    let mut honest = lease(&pool, "honest", 1).unwrap();
    let cases: [(u8, Vec<u8>, Ended); 4] = [
        (ALLOCATE, (1_u64 << 30).to_le_bytes().to_vec(), Ended::Memory { limit_bytes: MEMORY_BYTES }),
        (ECHO, vec![0; OUTPUT_BYTES as usize + 1], Ended::Output { limit_bytes: OUTPUT_BYTES }),
        (EXIT, vec![], Ended::Exited),
        (GARBAGE, vec![], Ended::Protocol),
    ];
    for (script, (kind, payload, ended)) in cases.into_iter().enumerate() {
        let mut hostile = lease(&pool, "hostile", 10 + script as u64).unwrap();
        send_to(&mut hostile, kind, &payload);
        assert_eq!(hear(&mut hostile), Err(ended.clone()));
        hostile.end(Verdict::Ended(ended));
        send_to(&mut honest, ECHO, b"still here");
        assert_eq!(hear(&mut honest).unwrap().payload, b"still here");
    }
}

#[test]
fn a_program_that_cannot_start_is_an_error_and_not_a_wait() {
    use hearth_sandbox::{Layers, Options, Pool, Program};
    let program = Program { path: "/no/such/program".into(), args: vec![] };
    let options = Options {
        program,
        workers: 2,
        queue: 4,
        memory_bytes: 1,
        output_bytes: 1,
        layers: Layers::ALL,
        require: Layers::NONE,
        warm_up: None,
    };
    let pool = Pool::new(options, &hearth_metrics::Registry::new()).unwrap();
    for _ in 0..2 {
        match pool.lease(crate::child::lease_request("a", 1)) {
            Err(Refused::Start { reason }) => assert!(reason.starts_with("/no/such/program: "), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_closed_pool_has_no_children() {
    let pool = pool(2, 4);
    let mut busy = lease(&pool, "a", 1).unwrap();
    send_to(&mut busy, ECHO, b"x");
    assert_eq!(hear(&mut busy).unwrap().payload, b"x");
    let process = busy.process_id();
    let closing = {
        let pool = pool.clone();
        std::thread::spawn(move || pool.close())
    };
    assert_eq!(hear(&mut busy), Err(Ended::Exited));
    busy.end(Verdict::Ended(Ended::Exited));
    closing.join().unwrap();
    assert!(!runs(process));
    assert_eq!(lease(&pool, "a", 1).unwrap_err(), Refused::Closed);
}

#[test]
fn killed_children_are_replaced_at_a_bounded_rate() {
    let pool = pool(1, 1);
    let began = Instant::now();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..4 {
        let lease = lease(&pool, "a", 1).unwrap();
        seen.insert(lease.process_id());
        lease.end(Verdict::Unwanted);
    }
    assert_eq!(seen.len(), 4);
    assert!(began.elapsed() >= Duration::from_millis(600), "three more than at once: {:?}", began.elapsed());
}

#[test]
fn one_child_starts_before_the_first_request() {
    let pool = warm_pool(Duration::from_millis(50));
    wait_until("one child is idle", Duration::from_secs(10), || pool.idle() == 1);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(pool.idle(), 1, "the second one starts with the first request");
    let mut leased = pool.try_lease(&"a".into(), 1).expect("it was started ahead");
    send_to(&mut leased, ECHO, b"x");
    assert_eq!(hear(&mut leased).unwrap().payload, b"x");
    leased.end(Verdict::Clean);
}

#[test]
fn a_request_before_the_warm_up_starts_children_at_once() {
    let pool = warm_pool(Duration::from_secs(3600));
    let leased = lease(&pool, "a", 1).unwrap();
    leased.end(Verdict::Unused);
    wait_until("both children run", Duration::from_secs(10), || pool.idle() == 2);
}

#[test]
fn a_child_that_ended_while_idle_is_leased_to_no_one() {
    let pool = pool(1, 1);
    let ended = || {
        let idle = lease(&pool, "a", 1).unwrap();
        let process = idle.process_id();
        idle.end(Verdict::Unused);
        wait_until("it is idle", Duration::from_secs(10), || pool.idle() == 1);
        let kill = std::process::Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status();
        assert!(kill.unwrap().success());
        wait_until("it ends", Duration::from_secs(10), || !runs(process));
        process
    };
    let process = ended();
    assert!(pool.try_lease(&"b".into(), 2).is_none_or(|lease| lease.process_id() != process));
    let process = ended();
    let mut other = lease(&pool, "b", 2).unwrap();
    assert_ne!(other.process_id(), process);
    send_to(&mut other, ECHO, b"x");
    assert_eq!(hear(&mut other).unwrap().payload, b"x");
}

#[test]
fn a_killed_child_leaves_nothing() {
    let pool = pool(2, 1);
    let lease = lease(&pool, "a", 1).unwrap();
    let process = lease.process_id();
    lease.end(Verdict::Unwanted);
    let gone = || !std::path::Path::new(&format!("/proc/{process}")).exists();
    wait_until("it is buried", Duration::from_secs(5), gone);
}
