//! Deadlines by the clock: a trace ends when its time is over, whatever the program does. Time
//! spent waiting for the reader does not count.

use crate::answers::full;
use crate::steps::PUSH_POP;
use crate::world::World;
use hearth_tracers::{
    Cancel, DeadlineAlarm, Limits, Sink, SinkClosed, TraceConfig, TraceError, TracePlan, trace_transaction,
};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Hashes 100 kB of memory, again and again.
const KECCAK: [u8; 12] = [0x5b, 0x62, 0x01, 0x86, 0xa0, 0x60, 0, 0x20, 0x50, 0x60, 0, 0x56];

/// Calls modexp in a loop, with base, exponent and modulus of 256 bytes each. Lengths and numbers
/// come from the program's own code.
fn modexp() -> Vec<u8> {
    let mut code = Vec::new();
    for slot in [0u8, 32, 64] {
        // PUSH2 256 PUSH1 slot MSTORE
        code.extend([0x61, 1, 0, 0x60, slot, 0x52]);
    }
    for word in 0..24u16 {
        // PUSH1 0 NOT PUSH2 at MSTORE
        let at = (96 + 32 * word).to_be_bytes();
        code.extend([0x60, 0, 0x19, 0x61, at[0], at[1], 0x52]);
    }
    let start = code.len() as u16;
    code.push(0x5b);
    // PUSH1 0, PUSH1 0, PUSH2 864, PUSH1 0, PUSH1 5, GAS, STATICCALL, POP
    code.extend([0x60, 0, 0x60, 0, 0x61, 3, 0x60, 0x60, 0, 0x60, 5, 0x5a, 0xfa, 0x50, 0x61]);
    code.extend(start.to_be_bytes());
    code.push(0x56);
    code
}

/// Discards the bytes after a pause for each chunk; the second field is the sum of the pauses.
struct Slow(Duration, Duration);

impl Slow {
    fn new(pause: Duration) -> Self {
        Self(pause, Duration::ZERO)
    }
}

impl Sink for Slow {
    fn write(&mut self, _: &[u8]) -> Result<(), SinkClosed> {
        let began = Instant::now();
        std::thread::sleep(self.0);
        self.1 += began.elapsed();
        Ok(())
    }
}

fn world(code: &[u8]) -> World {
    World::london().contract(0x71, 1, 0, code).call(0x71, 1_000_000_000_000, &[])
}

/// Time that a trace takes which is given up.
fn time_of(world: &World, config: &str, limits: &Limits, sink: &mut dyn Sink) -> (Duration, TraceError) {
    let plan = TracePlan::new(&TraceConfig::parse(config).unwrap()).unwrap();
    let mut replay = world.replay();
    let started = Instant::now();
    let error = trace_transaction(&mut replay, 0, &plan, limits, sink).unwrap_err();
    (started.elapsed(), error)
}

/// Time that this thread was runnable but waited for a processor; zero if the system does not
/// report it.
fn waited_for_processor() -> Duration {
    let file = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(file.split_whitespace().nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

/// Attempts at a deadline.
const ATTEMPTS: usize = 5;

/// A deadline may be missed by 5 %, or by 25 ms.
fn allowed(timeout: Duration) -> Duration {
    timeout + (timeout / 20).max(Duration::from_millis(25))
}

#[test]
fn are_met_whatever_the_program_does() {
    let mut timeouts = vec![50, 500];
    if full() {
        timeouts.push(5_000);
    }
    for (name, code) in [("push/pop", PUSH_POP.to_vec()), ("keccak", KECCAK.to_vec()), ("modexp", modexp())] {
        let world = world(&code);
        for milliseconds in &timeouts {
            let timeout = Duration::from_millis(*milliseconds);
            for options in ["", r#","tracer":"callTracer","tracerConfig":{"onlyTopCall":true}"#] {
                let config = format!("{{\"timeout\":\"{milliseconds}ms\"{options}}}");
                // Other work of the machine is not the tracer's lateness, and time that the
                // hypervisor takes is not reported: one of a few attempts must be in time.
                let mut times = Vec::new();
                let met = (0..ATTEMPTS).any(|_| {
                    let sink = &mut Slow::new(Duration::ZERO);
                    let before = waited_for_processor();
                    let (took, error) = time_of(&world, &config, &Limits::default(), sink);
                    let waited = waited_for_processor() - before;
                    assert!(matches!(error, TraceError::ExecutionTimeout), "{name} {config}: {error}");
                    assert!(took >= timeout, "{name} {config}: {took:?}");
                    times.push((took, waited));
                    took.saturating_sub(waited) <= allowed(timeout)
                });
                assert!(met, "{name} {config}: took and waited for a processor {times:?}");
            }
        }
    }
}

/// Notes the deadlines for which an alarm was armed, and `None` where it was disarmed.
#[derive(Debug, Default)]
struct NotedAlarm(Mutex<Vec<Option<Instant>>>);

impl DeadlineAlarm for NotedAlarm {
    fn arm(&self, deadline: Instant) {
        self.0.lock().unwrap().push(Some(deadline));
    }

    fn disarm(&self) {
        self.0.lock().unwrap().push(None);
    }
}

#[test]
fn an_alarm_is_armed_while_a_transaction_runs() {
    let alarm = Arc::<NotedAlarm>::default();
    let limits = Limits { alarm: Some(alarm.clone()), ..Limits::default() };
    let noted = || std::mem::take(&mut *alarm.0.lock().unwrap());
    for (code, timeout, ends) in [(vec![0], "5s", true), (PUSH_POP.to_vec(), "20ms", false)] {
        for tracer in ["", r#","tracer":"callTracer""#, r#","tracer":"prestateTracer""#] {
            let config = format!("{{\"timeout\":\"{timeout}\"{tracer}}}");
            let plan = TracePlan::new(&TraceConfig::parse(&config).unwrap()).unwrap();
            let began = Instant::now();
            let outcome =
                trace_transaction(&mut world(&code).replay(), 0, &plan, &limits, &mut Vec::<u8>::new());
            assert_eq!(outcome.is_ok(), ends, "{config}");
            let noted = noted();
            let [Some(deadline), rest @ ..] = &*noted else { panic!("{config}: {noted:?}") };
            assert_eq!(rest, if ends { &[None][..] } else { &[] }, "{config}");
            assert!((began + plan.timeout..=Instant::now() + plan.timeout).contains(deadline), "{config}");
        }
    }
}

#[test]
fn do_not_count_waiting_for_the_reader() {
    let timeout = Duration::from_millis(50);
    let mut times = Vec::new();
    let met = (0..ATTEMPTS).any(|_| {
        let mut sink = Slow::new(Duration::from_millis(20));
        let before = waited_for_processor();
        let (took, error) =
            time_of(&world(&PUSH_POP), r#"{"timeout":"50ms"}"#, &Limits::default(), &mut sink);
        let waited = waited_for_processor() - before;
        assert!(matches!(error, TraceError::ExecutionTimeout), "{error}");
        // In 50 ms it makes more than a few chunks, for each of which it waits.
        assert!(sink.1 > 2 * timeout, "{:?}", sink.1);
        let running = took - sink.1;
        assert!(running >= timeout, "{took:?} without {:?}", sink.1);
        times.push((took, sink.1, waited));
        running.saturating_sub(waited) <= allowed(timeout)
    });
    assert!(met, "took, waited for the reader, waited for a processor: {times:?}");
}

#[test]
fn of_the_whole_call_count_it_and_are_raised_by_the_requests() {
    let limits = || Limits { call_timeout: Duration::from_millis(60), ..Limits::default() };
    let sink = &mut Slow::new(Duration::from_millis(5));
    let before = waited_for_processor();
    let (took, error) = time_of(&world(&PUSH_POP), r#"{"timeout":"10ms"}"#, &limits(), sink);
    let waited = waited_for_processor() - before;
    assert!(matches!(error, TraceError::ExecutionTimeout | TraceError::CallTimeout), "{error}");
    assert!(took.saturating_sub(waited) < Duration::from_millis(200), "{took:?}, {waited:?} of it waiting");
    let quick = &mut Slow::new(Duration::ZERO);
    // The time counts from the arrival of the request, which the limits have.
    let arrived = Instant::now();
    let (_, error) = time_of(&world(&PUSH_POP), r#"{"timeout":"200ms"}"#, &limits(), quick);
    let took = arrived.elapsed();
    assert!(matches!(error, TraceError::ExecutionTimeout | TraceError::CallTimeout), "{error}");
    assert!(took >= Duration::from_millis(200), "{took:?}");
}

#[test]
fn a_trace_that_is_not_wanted_ends_within_100_ms() {
    for code in [PUSH_POP.to_vec(), KECCAK.to_vec(), modexp()] {
        // Watched, and on the way to the transaction that is.
        for index in [0, 1] {
            let world = World::london().contract(0x71, 1, 0, &code).call(0x71, 1_000_000_000_000, &[]).call(
                0x71,
                1_000_000_000_000,
                &[],
            );
            let cancel = Cancel::new();
            let flag = cancel.clone();
            let asker = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                flag.cancel();
                Instant::now()
            });
            let limits = Limits { cancel, ..Limits::default() };
            let plan = TracePlan::new(&TraceConfig::parse("{}").unwrap()).unwrap();
            let before = waited_for_processor();
            let outcome =
                trace_transaction(&mut world.replay(), index, &plan, &limits, &mut Slow::new(Duration::ZERO));
            let ended = Instant::now();
            // Other work of the machine is not the tracer's lateness.
            let waited = waited_for_processor() - before;
            assert!(matches!(outcome, Err(TraceError::Cancelled)));
            let late = ended.duration_since(asker.join().unwrap());
            assert!(late.saturating_sub(waited) < Duration::from_millis(100), "{late:?}, {waited:?} waiting");
        }
    }
}
