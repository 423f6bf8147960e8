use super::*;
use std::sync::mpsc;

fn pool(threads: usize, queue: usize) -> WorkerPool {
    WorkerPool::new("test", WorkerConfig { threads, queue }).expect("threads start")
}

fn limited(threads: usize, queue: usize, limits: Limits) -> WorkerPool {
    WorkerPool::with_limits("test", WorkerConfig { threads, queue }, &limits).expect("threads start")
}

fn order(client: &str, kind: Kind) -> Order {
    Order { client: Arc::from(client), kind, cancel: Cancel::new() }
}

/// A job that runs until the sender that this gives is used or dropped. It runs when this returns.
fn hold(pool: &WorkerPool, kind: Kind) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    let (started, begun) = mpsc::channel::<()>();
    pool.submitter().submit_for(order("holder", kind), move |go| {
        go.expect("runs");
        started.send(()).expect("test waits");
        let _ = gate.recv();
    });
    begun.recv().expect("job begins");
    release
}

/// Queues a job that says `what` when it runs, or why it does not.
fn say(
    pool: &WorkerPool,
    order: Order,
    what: &'static str,
    told: &mpsc::Sender<Result<&'static str, NodeError>>,
) {
    let told = told.clone();
    pool.submitter().submit_for(order, move |go| drop(told.send(go.map(|()| what))));
}

#[test]
fn a_full_queue_refuses_and_names_its_limit() {
    let pool = pool(1, 2);
    let release = hold(&pool, Kind::Other);
    pool.submit(|| {}).expect("first waits");
    pool.submit(|| {}).expect("second waits");
    let refused = pool.submit(|| {}).expect_err("third is refused");
    assert!(matches!(refused, NodeError::Busy { pool: "test", queue: 2 }));
    drop(release);
}

#[test]
fn clients_take_turns() {
    let pool = pool(1, 64);
    let release = hold(&pool, Kind::Trace);
    let (told, seen) = mpsc::channel();
    for name in ["greedy", "greedy", "greedy", "greedy", "modest", "modest"] {
        say(&pool, order(name, Kind::Trace), name, &told);
    }
    drop((told, release));
    let order: Vec<_> = seen.iter().map(|done| done.expect("runs")).collect();
    assert_eq!(order, ["greedy", "modest", "greedy", "modest", "greedy", "greedy"]);
}

#[test]
fn a_full_queue_makes_room_for_who_has_little_in_it() {
    let pool = pool(1, 3);
    let release = hold(&pool, Kind::Trace);
    let (told, seen) = mpsc::channel();
    for name in ["first", "second", "third"] {
        say(&pool, order("greedy", Kind::Trace), name, &told);
    }
    say(&pool, order("modest", Kind::Simulation), "modest", &told);
    let refused = seen.recv().expect("told").expect_err("the newest of the greedy one");
    assert!(matches!(refused, NodeError::Busy { queue: 3, .. }), "{refused}");
    say(&pool, order("greedy", Kind::Trace), "fourth", &told);
    assert!(matches!(seen.recv().expect("told"), Err(NodeError::Busy { .. })));
    drop((told, release));
    let mut ran: Vec<_> = seen.iter().map(|done| done.expect("runs")).collect();
    ran.sort_unstable();
    assert_eq!(ran, ["first", "modest", "second"]);
}

#[test]
fn what_nobody_wants_makes_room_first() {
    let pool = pool(1, 2);
    let release = hold(&pool, Kind::Trace);
    let (told, seen) = mpsc::channel();
    let left = order("a", Kind::Trace);
    say(&pool, left.clone(), "left", &told);
    say(&pool, order("b", Kind::Trace), "b", &told);
    left.cancel.cancel();
    say(&pool, order("b", Kind::Trace), "b again", &told);
    assert!(matches!(seen.recv().expect("told"), Err(NodeError::Cancelled)));
    drop((told, release));
    assert_eq!(seen.iter().map(|done| done.expect("runs")).collect::<Vec<_>>(), ["b", "b again"]);
}

#[test]
fn a_kind_has_its_own_threads_at_most_and_the_others_go_on() {
    let pool = limited(3, 64, Limits { traces: 1, simulations: 1, ..Limits::default() });
    let trace = hold(&pool, Kind::Trace);
    let simulation = hold(&pool, Kind::Simulation);
    let (told, seen) = mpsc::channel();
    say(&pool, order("a", Kind::Trace), "trace", &told);
    say(&pool, order("a", Kind::Simulation), "simulation", &told);
    say(&pool, order("a", Kind::Other), "other", &told);
    assert_eq!(seen.recv().expect("told").expect("runs"), "other");
    assert!(seen.recv_timeout(Duration::from_millis(50)).is_err(), "the others wait for their kind");
    drop(simulation);
    assert_eq!(seen.recv().expect("told").expect("runs"), "simulation");
    drop(trace);
    assert_eq!(seen.recv().expect("told").expect("runs"), "trace");
}

#[test]
fn what_waits_too_long_is_refused_and_the_rest_runs() {
    let wait = Some(Duration::from_millis(40));
    let pool = limited(1, 64, Limits { wait, ..Limits::default() });
    let release = hold(&pool, Kind::Trace);
    let (told, seen) = mpsc::channel();
    let began = Instant::now();
    say(&pool, order("a", Kind::Trace), "first", &told);
    say(&pool, order("b", Kind::Simulation), "second", &told);
    for _ in 0..2 {
        let late = seen.recv().expect("told").expect_err("late");
        assert!(matches!(late, NodeError::WaitedTooLong { pool: "test", waited_ms: 40 }), "{late}");
    }
    assert!(began.elapsed() >= Duration::from_millis(40));
    say(&pool, order("a", Kind::Trace), "third", &told);
    drop(release);
    assert_eq!(seen.recv().expect("told").expect("runs"), "third");
}

#[test]
fn a_panic_leaves_the_thread_alive_and_gives_its_permit_back() {
    let pool = limited(1, 8, Limits { traces: 1, ..Limits::default() });
    pool.submitter()
        .submit_for(order("a", Kind::Trace), |_| std::panic::resume_unwind(Box::new("on purpose")));
    let (told, seen) = mpsc::channel();
    say(&pool, order("a", Kind::Trace), "after", &told);
    assert_eq!(seen.recv().expect("told").expect("runs"), "after");
}

#[test]
fn close_runs_what_was_queued_and_then_refuses() {
    let limits = Limits { traces: 1, wait: Some(Duration::from_secs(60)), ..Limits::default() };
    let pool = limited(2, 64, limits);
    let (send, receive) = mpsc::channel();
    for i in 0..50 {
        let send = send.clone();
        let kind = if i % 2 == 0 { Kind::Trace } else { Kind::Other };
        pool.submitter().submit_for(order("a", kind), move |go| {
            go.expect("runs");
            send.send(i).expect("test waits");
        });
    }
    pool.close();
    pool.close();
    drop(send);
    assert_eq!(receive.iter().count(), 50);
    assert!(matches!(pool.submit(|| {}), Err(NodeError::Closed)));
}

#[test]
fn guarded_keeps_the_panics_words() {
    let error = guarded::<()>(|| panic!("broken {}", 7)).expect_err("panicked");
    assert_eq!(error.to_string(), "internal error: broken 7");
}
