//! The child: the kind of each message says what it does.

use hearth_metrics::Registry;
use hearth_sandbox::{
    CONFINED, Layers, Lease, LeaseRequest, Message, Options, Pool, Program, Refused, confine,
};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const ECHO: u8 = 1;
pub const LOOP: u8 = 2;
pub const EXIT: u8 = 3;
pub const ALLOCATE: u8 = 4;
pub const REPORT: u8 = 5;
pub const GARBAGE: u8 = 6;
pub const CONFINE: u8 = 7;
pub const ATTEMPT: u8 = 8;

/// Memory and output that children may have.
pub const MEMORY_BYTES: u64 = 16 << 20;
pub const OUTPUT_BYTES: u64 = 256 << 10;

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Not a test: a child that reports what confines it, which is all but Landlock.
#[test]
#[ignore = "the program of the children"]
fn run_reporting() {
    // SAFETY: the parent has put the channel there, and no other code uses it.
    let mut channel = unsafe { File::from_raw_fd(3) };
    let own = confine(Layers::ALL.without(Layers::LANDLOCK));
    channel.write_all(&message(CONFINED, &own.bits().to_le_bytes())).unwrap();
    // Until the parent hangs up.
    let _ = channel.read(&mut [0]);
}

/// Not a test: what a child runs.
#[test]
#[ignore = "the program of the children"]
fn run() {
    // SAFETY: the parent has put the channel there, and no other code uses it.
    let mut channel = unsafe { File::from_raw_fd(3) };
    let mut header = [0; 8];
    while channel.read_exact(&mut header).is_ok() {
        let mut payload = vec![0; u32::from_le_bytes(header[..4].try_into().unwrap()) as usize];
        channel.read_exact(&mut payload).unwrap();
        match header[4] {
            ECHO => send(&mut channel, &payload),
            LOOP => loop {
                std::hint::spin_loop();
            },
            EXIT => std::process::exit(7),
            ALLOCATE => {
                let memory = vec![1_u8; u64::from_le_bytes(payload.try_into().unwrap()) as usize];
                std::thread::sleep(PATIENCE);
                drop(memory);
            }
            CONFINE => {
                let wanted = Layers::of_bits(u32::from_le_bytes(payload.try_into().unwrap()));
                channel.write_all(&message(CONFINED, &confine(wanted).bits().to_le_bytes())).unwrap();
                send(&mut channel, b"confined");
            }
            ATTEMPT => {
                let outcome = crate::attempts::attempt(std::str::from_utf8(&payload).unwrap());
                send(&mut channel, outcome.as_bytes());
            }
            REPORT => send(&mut channel, report().as_bytes()),
            GARBAGE => channel.write_all(b"these are no messages").unwrap(),
            _ => {}
        }
    }
}

fn send(channel: &mut File, payload: &[u8]) {
    channel.write_all(&message(13, payload)).unwrap();
}

/// What the child finds around itself.
fn report() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let open = (0..256).filter(|fd| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok());
    let variables = std::env::vars().count();
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        line[name.len()..].split_whitespace().next().unwrap().to_owned()
    };
    format!(
        "group {} of {}, nice {}, open {:?}, variables {variables}, core {}, file {}",
        fields[2],
        stat.split(' ').next().unwrap(),
        fields[16],
        open.collect::<Vec<_>>(),
        limit("Max core file size"),
        limit("Max file size"),
    )
}

/// A message in its frame.
pub fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend([kind, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

/// A pool of these children.
pub fn pool(workers: usize, queue: usize) -> Arc<Pool> {
    pool_with(workers, queue, Layers::ALL, Layers::NONE, &Registry::new())
}

/// A pool whose children are confined by some layers at most, and by others at least.
pub fn pool_with(
    workers: usize,
    queue: usize,
    layers: Layers,
    require: Layers,
    metrics: &Registry,
) -> Arc<Pool> {
    let path = std::env::current_exe().unwrap();
    let args = ["--exact", "child::run", "--ignored"].map(str::to_owned).to_vec();
    let program = Program { path, args };
    let options = Options {
        program,
        workers,
        queue,
        memory_bytes: MEMORY_BYTES,
        output_bytes: OUTPUT_BYTES,
        layers,
        require,
        warm_up: None,
    };
    Arc::new(Pool::new(options, metrics).unwrap())
}

/// A pool of two children, one of which starts before the first request.
pub fn warm_pool(after: Duration) -> Arc<Pool> {
    let program = Program {
        path: std::env::current_exe().unwrap(),
        args: ["--exact", "child::run", "--ignored"].map(str::to_owned).to_vec(),
    };
    let options = Options {
        program,
        workers: 2,
        queue: 4,
        memory_bytes: MEMORY_BYTES,
        output_bytes: OUTPUT_BYTES,
        layers: Layers::ALL,
        require: Layers::NONE,
        warm_up: Some(after),
    };
    Arc::new(Pool::new(options, &Registry::new()).unwrap())
}

/// A pool of one child that confines itself by some layers and reports before the first request.
pub fn reporting_pool(layers: Layers, require: Layers) -> Arc<Pool> {
    let program = Program {
        path: std::env::current_exe().unwrap(),
        args: ["--exact", "child::run_reporting", "--ignored"].map(str::to_owned).to_vec(),
    };
    let (memory_bytes, output_bytes) = (MEMORY_BYTES, OUTPUT_BYTES);
    let (workers, queue, warm_up) = (1, 2, None);
    let options = Options { program, workers, queue, memory_bytes, output_bytes, layers, require, warm_up };
    Arc::new(Pool::new(options, &Registry::new()).unwrap())
}

/// A request of one child.
pub fn lease_request(client: &str, script: u64) -> LeaseRequest {
    let until = Instant::now() + PATIENCE;
    LeaseRequest { client: Arc::from(client), script, children: 1, until, is_wanted: Box::new(|| true) }
}

/// One child.
pub fn lease(pool: &Pool, client: &str, script: u64) -> Result<Lease, Refused> {
    pool.lease(lease_request(client, script)).map(|mut leases| leases.pop().unwrap())
}

/// Sends a message whole.
pub fn send_to(lease: &mut Lease, kind: u8, payload: &[u8]) {
    let bytes = message(kind, payload);
    let mut sent = 0;
    while sent < bytes.len() {
        sent += lease.write(&bytes[sent..]).unwrap();
        lease.wait(true, Duration::from_millis(10));
    }
}

/// The next message.
pub fn hear(lease: &mut Lease) -> Result<Message, hearth_sandbox::Ended> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(message) = lease.read()? {
            return Ok(message);
        }
        assert!(Instant::now() < until, "nothing came");
        lease.wait(false, Duration::from_millis(20));
    }
}

/// Whether a process runs; one that ended with all its threads and is not reaped yet does not. Of
/// one that was killed the first thread may be over before the others.
pub fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    let threads = || std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
    state.is_some_and(|state| state != "Z" || threads() > 1)
}

/// Waits until something holds.
pub fn wait_until(what: &str, at_most: Duration, holds: impl Fn() -> bool) {
    let until = Instant::now() + at_most;
    while !holds() {
        assert!(Instant::now() < until, "{what}: not after {at_most:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
