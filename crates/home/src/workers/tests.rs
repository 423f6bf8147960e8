use super::slots::WHOLE;
use super::*;
use crate::stream::{ByteStream, CHUNK_BYTES, channel};
use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::mpsc,
};

fn pool(threads: usize, queue: usize) -> WorkerPool {
    WorkerPool::new("test", WorkerConfig { threads, queue }).expect("threads start")
}

fn limited(threads: usize, queue: usize, limits: Limits) -> WorkerPool {
    WorkerPool::with_limits("test", WorkerConfig { threads, queue }, &limits, None).expect("threads start")
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
    results: &mpsc::Sender<Result<&'static str, NodeError>>,
) {
    let results = results.clone();
    pool.submitter().submit_for(order, move |go| drop(results.send(go.map(|()| what))));
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
    let (results, seen) = mpsc::channel();
    for name in ["greedy", "greedy", "greedy", "greedy", "modest", "modest"] {
        say(&pool, order(name, Kind::Trace), name, &results);
    }
    drop((results, release));
    let order: Vec<_> = seen.iter().map(|done| done.expect("runs")).collect();
    assert_eq!(order, ["greedy", "modest", "greedy", "modest", "greedy", "greedy"]);
}

#[test]
fn a_full_queue_makes_room_for_who_has_little_in_it() {
    let pool = pool(1, 3);
    let release = hold(&pool, Kind::Trace);
    let (results, seen) = mpsc::channel();
    for name in ["first", "second", "third"] {
        say(&pool, order("greedy", Kind::Trace), name, &results);
    }
    say(&pool, order("modest", Kind::Simulation), "modest", &results);
    let refused = seen.recv().expect("sent").expect_err("the newest of the greedy one");
    assert!(matches!(refused, NodeError::Busy { queue: 3, .. }), "{refused}");
    say(&pool, order("greedy", Kind::Trace), "fourth", &results);
    assert!(matches!(seen.recv().expect("sent"), Err(NodeError::Busy { .. })));
    drop((results, release));
    let mut ran: Vec<_> = seen.iter().map(|done| done.expect("runs")).collect();
    ran.sort_unstable();
    assert_eq!(ran, ["first", "modest", "second"]);
}

#[test]
fn what_nobody_wants_makes_room_first() {
    let pool = pool(1, 2);
    let release = hold(&pool, Kind::Trace);
    let (results, seen) = mpsc::channel();
    let left = order("a", Kind::Trace);
    say(&pool, left.clone(), "left", &results);
    say(&pool, order("b", Kind::Trace), "b", &results);
    left.cancel.cancel();
    say(&pool, order("b", Kind::Trace), "b again", &results);
    assert!(matches!(seen.recv().expect("sent"), Err(NodeError::Cancelled)));
    drop((results, release));
    assert_eq!(seen.iter().map(|done| done.expect("runs")).collect::<Vec<_>>(), ["b", "b again"]);
}

#[test]
fn a_kind_has_its_own_threads_at_most_and_the_others_go_on() {
    let pool = limited(
        3,
        64,
        Limits { traces: NonZeroUsize::new(1), simulations: NonZeroUsize::new(1), ..Limits::default() },
    );
    let trace = hold(&pool, Kind::Trace);
    let simulation = hold(&pool, Kind::Simulation);
    let (results, seen) = mpsc::channel();
    say(&pool, order("a", Kind::Trace), "trace", &results);
    say(&pool, order("a", Kind::Simulation), "simulation", &results);
    say(&pool, order("a", Kind::Other), "other", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "other");
    assert!(seen.recv_timeout(Duration::from_millis(50)).is_err(), "the others wait for their kind");
    drop(simulation);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "simulation");
    drop(trace);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "trace");
}

#[test]
fn what_waits_too_long_is_refused_and_the_rest_runs() {
    let wait = Some(Duration::from_millis(40));
    let pool = limited(1, 64, Limits { wait, ..Limits::default() });
    let release = hold(&pool, Kind::Trace);
    let (results, seen) = mpsc::channel();
    let began = Instant::now();
    say(&pool, order("a", Kind::Trace), "first", &results);
    say(&pool, order("b", Kind::Simulation), "second", &results);
    for _ in 0..2 {
        let late = seen.recv().expect("sent").expect_err("late");
        assert!(matches!(late, NodeError::WaitedTooLong { pool: "test", waited_ms: 40 }), "{late}");
    }
    assert!(began.elapsed() >= Duration::from_millis(40));
    say(&pool, order("a", Kind::Trace), "third", &results);
    drop(release);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "third");
}

#[test]
fn a_panic_leaves_the_thread_alive_and_gives_its_permit_back() {
    let pool = limited(1, 8, Limits { traces: NonZeroUsize::new(1), ..Limits::default() });
    pool.submitter()
        .submit_for(order("a", Kind::Trace), |_| std::panic::resume_unwind(Box::new("on purpose")));
    let (results, seen) = mpsc::channel();
    say(&pool, order("a", Kind::Trace), "after", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "after");
}

#[test]
fn close_runs_what_was_queued_and_then_refuses() {
    let limits =
        Limits { traces: NonZeroUsize::new(1), wait: Some(Duration::from_secs(60)), ..Limits::default() };
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
fn a_client_at_its_share_waits_and_the_others_run() {
    let limits = Limits {
        traces: NonZeroUsize::new(2),
        client_share: NonZeroU32::new(WHOLE / 2),
        ..Limits::default()
    };
    let pool = limited(4, 64, limits);
    let release = hold(&pool, Kind::Trace);
    let (results, seen) = mpsc::channel();
    say(&pool, order("holder", Kind::Trace), "second of the holder", &results);
    say(&pool, order("other", Kind::Trace), "other", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "other");
    // Another kind has slots of its own.
    say(&pool, order("holder", Kind::Simulation), "call of the holder", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "call of the holder");
    drop(release);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "second of the holder");
}

#[test]
fn a_client_leaves_a_slot_of_all_kinds_to_the_others() {
    let pool = limited(3, 64, Limits { client_share: NonZeroU32::new(WHOLE / 2), ..Limits::default() });
    let (trace, simulation) = (hold(&pool, Kind::Trace), hold(&pool, Kind::Simulation));
    let (results, seen) = mpsc::channel();
    say(&pool, order("holder", Kind::Other), "third of the holder", &results);
    say(&pool, order("other", Kind::Other), "other", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "other");
    drop(simulation);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "third of the holder");
    drop(trace);
}

#[test]
fn work_of_nobody_has_no_share() {
    let pool = limited(2, 64, Limits { client_share: NonZeroU32::new(1), ..Limits::default() });
    let (both, met) = (Arc::new(std::sync::Barrier::new(2)), mpsc::channel());
    for _ in 0..2 {
        let (both, met) = (both.clone(), met.0.clone());
        let run = move || {
            both.wait();
            met.send(()).expect("test waits");
        };
        pool.submit(run).expect("room");
    }
    met.1.recv().expect("both run at once");
    met.1.recv().expect("both run at once");
}

#[test]
fn a_second_trace_runs_at_low_priority_without_a_free_slot() {
    // Lower than the priority of a whole test run: only root may raise one.
    const NICE: i32 = 13;
    let start = || {
        limited(
            2,
            64,
            Limits { traces: NonZeroUsize::new(1), low_traces: 1, nice: NICE, ..Limits::default() },
        )
    };
    let nice = |pool: &WorkerPool, kind: Kind| {
        let (results, seen) = mpsc::channel();
        pool.submitter().submit_for(order("other", kind), move |go| {
            let stat = go.map(|()| std::fs::read_to_string("/proc/thread-self/stat").expect("a file"));
            results.send(stat).expect("test waits");
        });
        let stat = seen.recv().expect("sent").expect("runs");
        // What stands behind the name in parentheses; nice is field 19 of all.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        fields.split_whitespace().nth(16).expect("a field").to_owned()
    };
    assert_eq!(nice(&start(), Kind::Trace), NICE.to_string(), "the usual slot is free");
    let pool = start();
    let release = hold(&pool, Kind::Trace);
    assert_eq!(
        [nice(&pool, Kind::Trace), nice(&pool, Kind::Simulation)],
        ["19".to_owned(), NICE.to_string()]
    );
    drop(release);
}

/// A job that writes to a stream without end, until its reader goes; then it says `what`.
fn pour(
    pool: &WorkerPool,
    client: &str,
    what: &'static str,
    results: &mpsc::Sender<Result<&'static str, NodeError>>,
) -> ByteStream {
    let (mut sender, stream) = channel(|| {});
    let results = results.clone();
    pool.submitter().submit_for(order(client, Kind::Trace), move |go| {
        let chunk = vec![0; CHUNK_BYTES];
        while go.is_ok() && sender.write(&chunk).is_ok() {}
        sender.finish(Ok(()));
        drop(results.send(go.map(|()| what)));
    });
    stream
}

#[test]
fn a_trace_whose_reader_is_slow_holds_no_slot() {
    for limits in [
        Limits { traces: NonZeroUsize::new(1), parked: 1, ..Limits::default() },
        Limits {
            traces: NonZeroUsize::new(1),
            parked: 2,
            client_share: NonZeroU32::new(WHOLE / 2),
            ..Limits::default()
        },
    ] {
        let registry = hearth_metrics::Registry::new();
        let gauge = hearth_metrics::WorkerMetrics::new(&registry).parked;
        let config = WorkerConfig { threads: 1, queue: 8 };
        let pool =
            WorkerPool::with_limits("test", config, &limits, Some(gauge.clone())).expect("threads start");
        let (results, seen) = mpsc::channel();
        let first = pour(&pool, "slow", "first", &results);
        say(&pool, order("other", Kind::Trace), "other", &results);
        assert_eq!(seen.recv().expect("sent").expect("runs"), "other", "the first one still waits");
        assert_eq!(gauge.value(), 1);
        // As many wait without a slot as may: the second one keeps its own.
        let second = pour(&pool, "slow", "second", &results);
        say(&pool, order("other", Kind::Trace), "another", &results);
        drop(second);
        assert_eq!(seen.recv().expect("sent").expect("ends"), "second");
        assert_eq!(seen.recv().expect("sent").expect("runs"), "another");
        assert_eq!(gauge.value(), 1);
        drop(first);
        assert_eq!(seen.recv().expect("sent").expect("ends"), "first");
        assert_eq!(gauge.value(), 0);
        pool.close();
    }
}

#[test]
fn a_slow_reader_holds_no_slot_of_low_priority_either() {
    let limits = Limits { traces: NonZeroUsize::new(1), low_traces: 1, parked: 1, ..Limits::default() };
    let pool = limited(2, 8, limits);
    let release = hold(&pool, Kind::Trace);
    let (results, seen) = mpsc::channel();
    let slow = pour(&pool, "slow", "slow", &results);
    say(&pool, order("other", Kind::Trace), "other", &results);
    assert_eq!(seen.recv().expect("sent").expect("runs"), "other");
    drop(slow);
    assert_eq!(seen.recv().expect("sent").expect("ends"), "slow");
    drop(release);
}

#[test]
fn guarded_keeps_the_panics_words() {
    let error = guarded::<()>(|| panic!("broken {}", 7)).expect_err("panicked");
    assert_eq!(error.to_string(), "internal error: broken 7");
}
