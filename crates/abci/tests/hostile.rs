//! Peers that send garbage, cut messages short, announce what never comes, or read nothing: each
//! costs its own connection alone,
//! and bounded memory and time.

#![allow(clippy::unwrap_used, missing_docs)]

use hearth_abci::{
    Address, Application, Exception, Request, Response, Server, pb, read_frame, request, response,
    write_frame,
};
use proptest::{collection::vec, prelude::*, test_runner::Config};
use std::{
    io::{BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// What one hostile peer may cost, in bytes of memory of the process.
const GROWTH_BYTES_MAX: u64 = 64 << 20;

/// How long a well-behaved peer may wait beside hostile ones.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Answers CheckTx with the length of the transaction, and Info with a text of 1 MiB.
struct Lengths;

impl Application for Lengths {
    fn answer(&self, request: request::Value) -> Result<response::Value, Exception> {
        match request {
            request::Value::CheckTx(check) => Ok(response::Value::CheckTx(pb::ResponseCheckTx {
                gas_wanted: check.tx.len() as i64,
                ..Default::default()
            })),
            request::Value::Info(_) => Ok(response::Value::Info(pb::ResponseInfo {
                data: "x".repeat(1 << 20),
                ..Default::default()
            })),
            other => Err(Exception(format!("not asked for: {}", other.name()))),
        }
    }
}

fn serve() -> (tempfile::TempDir, PathBuf, Server) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("abci.sock");
    let server = Server::start(&Address::Unix(path.clone()), Arc::new(Lengths)).unwrap();
    (dir, path, server)
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(ANSWER_MAX)).unwrap();
    stream.set_write_timeout(Some(ANSWER_MAX)).unwrap();
    stream
}

/// Sends a request as CometBFT does, and reads the answer.
fn answers(path: &Path) {
    let mut stream = connect(path);
    let began = Instant::now();
    for value in [
        request::Value::CheckTx(pb::RequestCheckTx { tx: "four".into(), r#type: 0 }),
        request::Value::Flush(pb::RequestFlush {}),
    ] {
        write_frame(&mut stream, &Request { value: Some(value) }).unwrap();
    }
    let read: Option<Response> = read_frame(&mut BufReader::new(stream), &mut Vec::new()).unwrap();
    let Some(response::Value::CheckTx(answer)) = read.unwrap().value else { panic!("no CheckTx") };
    assert_eq!(answer.gas_wanted, 4);
    assert!(began.elapsed() < ANSWER_MAX);
}

/// Resident memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Reads until the peer closes, at most 16 MiB: a server that answered without end would be seen.
fn drain(stream: &mut UnixStream) -> usize {
    const MOST: u64 = 16 << 20;
    let mut all = Vec::new();
    // A connection that was reset has ended as well.
    let _ = stream.take(MOST + 1).read_to_end(&mut all);
    assert!(all.len() as u64 <= MOST, "the answers have an end");
    all.len()
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let framed = vec(any::<u8>(), 0..40).prop_map(|tx| {
        let value = request::Value::CheckTx(pb::RequestCheckTx { tx: tx.into(), r#type: 0 });
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Request { value: Some(value) }).unwrap();
        bytes
    });
    let cut = (vec(any::<u8>(), 1..60), any::<prop::sample::Index>()).prop_map(|(tx, at)| {
        let value = request::Value::CheckTx(pb::RequestCheckTx { tx: tx.into(), r#type: 0 });
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Request { value: Some(value) }).unwrap();
        bytes.truncate(at.index(bytes.len()));
        bytes
    });
    // Lengths of many gigabytes, and some that would just be taken.
    let huge = (any::<u64>(), vec(any::<u8>(), 0..20)).prop_map(|(length, rest)| {
        let mut bytes = Vec::new();
        prost::encoding::encode_varint(length >> (length % 64), &mut bytes);
        bytes.extend(rest);
        bytes
    });
    prop_oneof![framed, cut, huge, vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(Config { cases: 300, ..Config::default() })]

    #[test]
    fn no_bytes_harm_the_others(messages in vec(message(), 1..8)) {
        let (_dir, path, server) = serve();
        let mut hostile = connect(&path);
        for message in messages {
            // The server may have closed the connection already.
            if hostile.write_all(&message).is_err() {
                break;
            }
        }
        answers(&path);
        hostile.shutdown(std::net::Shutdown::Write).unwrap_or_default();
        drain(&mut hostile);
        answers(&path);
        server.close();
    }
}

#[test]
fn lengths_of_what_never_comes_take_no_memory() {
    let (_dir, path, _server) = serve();
    let before = memory();
    // Three of the four connections announce the longest message that is taken, and send a part of
    // it.
    let stalled: Vec<UnixStream> = (0..3)
        .map(|_| {
            let mut stream = connect(&path);
            stream.write_all(&[0x80, 0x80, 0x80, 0x37]).unwrap();
            stream.write_all(&[7; 1000]).unwrap();
            stream
        })
        .collect();
    answers(&path);
    let grown = memory().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes for three announced messages of 110 MiB");
    drop(stalled);
}

#[test]
fn a_peer_that_does_not_read_delays_no_other() {
    let (_dir, path, server) = serve();
    let before = memory();
    let mut deaf = connect(&path);
    deaf.set_nonblocking(true).unwrap();
    let mut info = Vec::new();
    write_frame(&mut info, &Request { value: Some(request::Value::Info(pb::RequestInfo::default())) })
        .unwrap();
    // Far more requests than answers fit into the buffers of the socket: the server stops reading
    // them.
    let end = Instant::now() + Duration::from_secs(2);
    let mut sent = 0;
    while Instant::now() < end && sent < 1_000_000 {
        match deaf.write(&info) {
            Ok(written) if written > 0 => sent += 1,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
    assert!(sent > 0);
    answers(&path);
    let grown = memory().saturating_sub(before);
    assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes for answers that nobody reads");
    // The end of the server does not wait for it.
    let began = Instant::now();
    server.close();
    assert!(began.elapsed() < ANSWER_MAX);
}
