//! What confines a child holds where the report says so, layer by layer, and the report says no
//! more.

use crate::attempts::MANY_THREADS;
use crate::child::{ATTEMPT, CONFINE, ECHO, hear, lease, pool_with, send_to, wait_until};
use hearth_metrics::Registry;
use hearth_sandbox::{ADDRESS_SPACE_BYTES, Ended, Layers, Lease, Pool, Refused, Verdict};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// A child that has put these layers on itself, the most that its pool gave it.
fn confined(pool: &Pool, layers: Layers) -> Lease {
    let mut lease = lease(pool, "a", 1).unwrap();
    send_to(&mut lease, CONFINE, &layers.bits().to_le_bytes());
    assert_eq!(hear(&mut lease).unwrap().payload, b"confined");
    lease
}

/// How an attempt ends; `None` where the process did.
fn attempt(lease: &mut Lease, what: &str) -> Option<String> {
    send_to(lease, ATTEMPT, what.as_bytes());
    match hear(lease) {
        Ok(message) => Some(String::from_utf8(message.payload).unwrap()),
        Err(ended) => {
            assert_eq!(ended, Ended::Exited, "{what}");
            None
        }
    }
}

/// The layers that are available on this system. A test prints which layers it skips.
fn held(pool: &Pool, wanted: Layers) -> Layers {
    let lease = confined(pool, wanted);
    lease.end(Verdict::Unwanted);
    let held = pool.layers().unwrap();
    let missing = wanted.without(held);
    if missing != Layers::NONE {
        println!("skipped: this system confines processes without {missing}");
    }
    held
}

fn pool_of(layers: Layers) -> Arc<Pool> {
    pool_with(1, 2, layers, Layers::NONE, &Registry::new())
}

#[test]
fn a_confined_child_can_do_nothing_that_it_need_not() {
    let metrics = Registry::new();
    let pool = pool_with(1, 2, Layers::ALL, Layers::NONE, &metrics);
    if !held(&pool, Layers::ALL).contains(Layers::SECCOMP) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let parent = std::process::id();
    let mut child = confined(&pool, Layers::ALL);
    let far = ADDRESS_SPACE_BYTES + (64 << 30);
    for (what, outcome) in [
        ("open /etc/hostname".to_owned(), "ENOSYS"),
        ("open /proc/1/environ".to_owned(), "ENOSYS"),
        ("open-in-a-thread /etc/hostname".to_owned(), "ENOSYS"),
        ("unlink /tmp/none".to_owned(), "ENOSYS"),
        (format!("connect {port}"), "ENOSYS"),
        ("socket".to_owned(), "ENOSYS"),
        ("clone-of-a-process".to_owned(), "ENOSYS"),
        (format!("kill {parent}"), "ENOSYS"),
        (format!("tgkill {parent}"), "ENOSYS"),
        ("capability".to_owned(), "ENOSYS"),
        (format!("map {far}"), "ENOMEM"),
        (format!("map-writable {}", 8_u64 << 30), "ENOMEM"),
        // What V8 needs.
        ("thread".to_owned(), "done 7"),
        ("map 1048576".to_owned(), "done 0"),
    ] {
        assert_eq!(attempt(&mut child, &what).as_deref(), Some(outcome), "{what}");
    }
    child.end(Verdict::Unwanted);
    metrics.log().take();
    let deadly = ["exec", "ptrace 1", "process_vm_readv 1", "unshare", "io_uring"];
    for what in deadly.into_iter().chain(cfg!(target_arch = "x86_64").then_some("raw-fork")) {
        let mut child = confined(&pool, Layers::ALL);
        let process = child.process_id();
        assert_eq!(attempt(&mut child, what), None, "{what}");
        child.end(Verdict::Ended(Ended::Exited));
        let gone = || !std::path::Path::new(&format!("/proc/{process}")).exists();
        wait_until("it is buried", crate::child::PATIENCE, gone);
        let told = || {
            let entries = metrics.log().take();
            entries.iter().any(|entry| entry.message.contains("killed for a system call"))
        };
        wait_until("the log says so", crate::child::PATIENCE, told);
    }
}

#[test]
fn each_layer_holds_without_the_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("connect {}", listener.local_addr().unwrap().port());
    let kill = format!("kill {}", std::process::id());
    let processes = Layers::USER.and(Layers::PROCESSES);
    let cases = [
        (Layers::USER.and(Layers::NETWORK), connect.as_str(), "ENETUNREACH"),
        (processes, kill.as_str(), "ESRCH"),
        (Layers::LANDLOCK.and(Layers::NO_NEW_PRIVS), "open /etc/hostname", "EACCES"),
        (Layers::SECCOMP.and(Layers::NO_NEW_PRIVS), "open /etc/hostname", "ENOSYS"),
        (Layers::LANDLOCK.and(Layers::NO_NEW_PRIVS), "write-in-a-thread /tmp/no-such-file", "EACCES"),
        (Layers::CAPABILITIES, "capability", "EPERM"),
        (Layers::LIMITS, "map 90194313216", "ENOMEM"),
    ];
    for (layers, what, outcome) in cases {
        let pool = pool_of(layers);
        if held(&pool, layers).contains(layers) {
            let mut child = confined(&pool, layers);
            assert_eq!(attempt(&mut child, what).as_deref(), Some(outcome), "{what} under {layers}");
            child.end(Verdict::Unwanted);
        }
    }
    let threads = Layers::USER.and(Layers::THREADS);
    let pool = pool_of(threads);
    if held(&pool, threads).contains(threads) {
        let told = attempt(&mut confined(&pool, threads), "threads").unwrap();
        let made: usize = told.strip_prefix("done ").unwrap().parse().unwrap();
        assert!(made < MANY_THREADS, "{made}");
    }
}

#[test]
fn before_it_is_loaded_a_child_has_no_ring_and_writes_nothing() {
    let pool = pool_of(Layers::ALL);
    let held = held(&pool, Layers::ALL);
    let mut child = lease(&pool, "a", 1).unwrap();
    for (layer, what, outcome) in [
        (Layers::SECCOMP, "io_uring", "ENOSYS"),
        (Layers::SECCOMP, "ptrace 1", "ENOSYS"),
        (Layers::LANDLOCK, "write-in-a-thread /tmp/no-such-file", "EACCES"),
        // The program has to load.
        (Layers::NONE, "open /etc/hostname", "done 0"),
    ] {
        if held.contains(layer) {
            assert_eq!(attempt(&mut child, what).as_deref(), Some(outcome), "{what}");
        }
    }
}

#[test]
fn the_report_names_what_was_left_out_and_that_is_open() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connect = format!("connect {}", listener.local_addr().unwrap().port());
    let metrics = Registry::new();
    let pool = pool_with(1, 2, Layers::NONE, Layers::NONE, &metrics);
    assert_eq!(pool.layers(), None);
    let mut child = confined(&pool, Layers::NONE);
    let told = pool.layers().unwrap();
    // A test may itself run confined; nothing else comes by itself.
    let from_outside = Layers::NO_NEW_PRIVS.and(Layers::CAPABILITIES);
    assert_eq!(told.without(from_outside), Layers::NONE);
    for (what, outcome) in
        [("open /etc/hostname", "done 0"), (connect.as_str(), "done 0"), ("thread", "done 7")]
    {
        assert_eq!(attempt(&mut child, what).as_deref(), Some(outcome), "{what}");
    }
    let entries = metrics.log().take();
    let entry = entries.iter().find(|entry| entry.message.contains("are confined")).unwrap();
    let text = format!("{entry:?}");
    assert!(text.contains("seccomp") && text.contains("landlock"), "{text}");
}

#[test]
fn a_child_without_a_layer_that_must_hold_is_given_nothing() {
    let without = Layers::ALL.without(Layers::LANDLOCK);
    let pool = pool_with(1, 2, without, Layers::LANDLOCK, &Registry::new());
    let mut first = lease(&pool, "a", 1).unwrap();
    // Nothing is written before the child reports; this one reports nothing by itself, and answers
    // to nothing.
    assert_eq!(first.write(&crate::child::message(ECHO, b"x")), Ok(0));
    first.wait(true, Duration::from_millis(1));
    assert_eq!(first.read(), Ok(None));
    first.end(Verdict::Unwanted);
    let telling = crate::child::reporting_pool(without, Layers::LANDLOCK);
    let mut second = lease(&telling, "a", 1).unwrap();
    let missing = Layers::LANDLOCK;
    let refused = || loop {
        match second.write(&crate::child::message(ECHO, b"x")) {
            Ok(0) => second.wait(true, Duration::from_millis(20)),
            other => return other,
        }
    };
    let mut refused = refused;
    assert_eq!(refused(), Err(Ended::Unconfined { missing }));
    drop(second);
    assert_eq!(lease(&telling, "a", 1).unwrap_err(), Refused::Unconfined { missing });
    let text = Refused::Unconfined { missing }.to_string();
    assert!(text.contains("without landlock") && text.contains("evm.trace_js_require_confinement"), "{text}");
}
