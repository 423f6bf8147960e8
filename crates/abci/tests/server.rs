//! The server as CometBFT sees it: over real sockets.

#![allow(clippy::unwrap_used, missing_docs)]

use hearth_abci::{
    Address, Application, CONNECTIONS, Exception, Request, Response, Server, ServerError, pb, read_frame,
    request, response, write_frame,
};
use parking_lot::Mutex;
use std::{
    io::{BufReader, Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Answers CheckTx with the length of the transaction; fails and panics on demand.
#[derive(Default)]
struct Lengths {
    failures: Mutex<Vec<(&'static str, String)>>,
    sets: Mutex<usize>,
}

impl Application for Lengths {
    fn answer(&self, request: request::Value) -> Result<response::Value, Exception> {
        match request {
            request::Value::CheckTx(check) if check.tx == "panic" => panic!("on purpose"),
            request::Value::CheckTx(check) if check.tx == "fail" => Err(Exception("no disk".to_owned())),
            request::Value::CheckTx(check) => {
                let gas_wanted = check.tx.len() as i64;
                Ok(response::Value::CheckTx(pb::ResponseCheckTx { gas_wanted, ..Default::default() }))
            }
            other => Err(Exception(format!("not asked for: {}", other.name()))),
        }
    }

    fn connected(&self) {
        *self.sets.lock() += 1;
    }

    fn failed(&self, method: &'static str, text: &str) {
        self.failures.lock().push((method, text.to_owned()));
    }
}

struct Client {
    writer: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Client {
    fn connect(path: &Path) -> Self {
        let writer = UnixStream::connect(path).unwrap();
        writer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let reader = BufReader::new(writer.try_clone().unwrap());
        Self { writer, reader }
    }

    fn send(&mut self, value: request::Value) {
        write_frame(&mut self.writer, &Request { value: Some(value) }).unwrap();
    }

    fn check(&mut self, tx: &'static str) {
        self.send(request::Value::CheckTx(pb::RequestCheckTx { tx: tx.into(), r#type: 0 }));
        self.send(request::Value::Flush(pb::RequestFlush {}));
    }

    fn read(&mut self) -> Option<response::Value> {
        let response: Option<Response> = read_frame(&mut self.reader, &mut Vec::new()).unwrap();
        response.map(|response| response.value.unwrap())
    }
}

fn serve(application: &Arc<Lengths>) -> (tempfile::TempDir, PathBuf, Server) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("abci.sock");
    let server = Server::start(&Address::Unix(path.clone()), application.clone()).unwrap();
    (dir, path, server)
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what} does not come to hold");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn answers_come_in_the_order_of_the_requests_once_flushed() {
    let (_dir, path, _server) = serve(&Arc::default());
    let mut client = Client::connect(&path);
    client.send(request::Value::Echo(pb::RequestEcho { message: "hello".to_owned() }));
    for length in 0..50 {
        let tx = vec![b'x'; length].into();
        client.send(request::Value::CheckTx(pb::RequestCheckTx { tx, r#type: 0 }));
    }
    client.send(request::Value::Flush(pb::RequestFlush {}));
    assert_eq!(client.read(), Some(response::Value::Echo(pb::ResponseEcho { message: "hello".to_owned() })));
    for length in 0..50 {
        let Some(response::Value::CheckTx(answer)) = client.read() else { panic!("no CheckTx") };
        assert_eq!(answer.gas_wanted, length);
    }
    assert_eq!(client.read(), Some(response::Value::Flush(pb::ResponseFlush {})));
}

#[test]
fn failures_and_panics_are_exceptions_and_the_server_goes_on() {
    let lengths = Arc::<Lengths>::default();
    let (_dir, path, _server) = serve(&lengths);
    let mut client = Client::connect(&path);
    for (tx, text) in [("fail", "no disk"), ("panic", "CheckTx panicked: on purpose")] {
        client.check(tx);
        let error = text.to_owned();
        assert_eq!(client.read(), Some(response::Value::Exception(pb::ResponseException { error })));
        assert_eq!(client.read(), Some(response::Value::Flush(pb::ResponseFlush {})));
    }
    client.check("four");
    let Some(response::Value::CheckTx(answer)) = client.read() else { panic!("no CheckTx") };
    assert_eq!(answer.gas_wanted, 4);
    let told = lengths.failures.lock().clone();
    let wanted = [("CheckTx", "no disk"), ("CheckTx", "CheckTx panicked: on purpose")];
    assert_eq!(told, wanted.map(|(method, text)| (method, text.to_owned())));
}

#[test]
fn garbage_ends_its_own_connection_alone() {
    let (_dir, path, server) = serve(&Arc::default());
    let mut good = Client::connect(&path);
    let mut bad = Client::connect(&path);
    // A length of 4 GiB.
    bad.writer.write_all(&[0x80, 0x80, 0x80, 0x80, 0x10]).unwrap();
    let Some(response::Value::Exception(answer)) = bad.read() else { panic!("no exception") };
    assert_eq!(answer.error, "a message of 4294967296 bytes, at most 115343360");
    assert_eq!(bad.reader.read(&mut [0]).unwrap(), 0, "the connection ends");
    let mut unknown = Client::connect(&path);
    // Field 99: an unknown request.
    unknown.writer.write_all(&[3, 0x9a, 0x06, 0]).unwrap();
    assert!(matches!(unknown.read(), Some(response::Value::Exception(_))));
    good.check("three");
    assert!(matches!(good.read(), Some(response::Value::CheckTx(_))));
    until("two connections", || server.status().connections == 2);
}

#[test]
fn a_second_set_of_connections_waits_for_the_end_of_the_first() {
    let lengths = Arc::<Lengths>::default();
    let (_dir, path, server) = serve(&lengths);
    let first: Vec<Client> = (0..CONNECTIONS).map(|_| Client::connect(&path)).collect();
    until("four connections", || server.status().connections == CONNECTIONS);
    let mut second = Client::connect(&path);
    second.check("waits");
    second.writer.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut byte = [0];
    assert!(second.reader.read(&mut byte).is_err(), "nothing is answered before the first set is gone");
    assert_eq!((server.status().connections, *lengths.sets.lock()), (CONNECTIONS, 1));
    drop(first);
    second.writer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(second.read(), Some(response::Value::CheckTx(_))));
    assert_eq!((server.status().connections, *lengths.sets.lock()), (1, 2));
}

#[test]
fn a_probe_that_leaves_gives_its_place_back() {
    let (_dir, path, server) = serve(&Arc::default());
    let probe = Client::connect(&path);
    until("the probe", || server.status().connections == 1);
    let others: Vec<Client> = (1..CONNECTIONS).map(|_| Client::connect(&path)).collect();
    until("four connections", || server.status().connections == CONNECTIONS);
    drop(probe);
    let mut last = Client::connect(&path);
    let message = "hello".to_owned();
    last.send(request::Value::Echo(pb::RequestEcho { message: message.clone() }));
    last.send(request::Value::Flush(pb::RequestFlush {}));
    assert_eq!(last.read(), Some(response::Value::Echo(pb::ResponseEcho { message })));
    assert_eq!(last.read(), Some(response::Value::Flush(pb::ResponseFlush {})));
    assert_eq!(server.status().connections, CONNECTIONS);
    drop(others);
}

#[test]
fn a_socket_of_a_dead_process_is_replaced_a_live_one_not() {
    let (dir, path, server) = serve(&Arc::default());
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = Server::start(&Address::Unix(path.clone()), Arc::<Lengths>::default());
    assert!(matches!(again.err().unwrap(), ServerError::InUse(Address::Unix(at)) if at == path));
    server.close();
    assert!(!path.exists());
    // As a process leaves it that is killed.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = Server::start(&Address::Unix(path.clone()), Arc::<Lengths>::default()).unwrap();
    let mut client = Client::connect(&path);
    client.check("x");
    assert!(matches!(client.read(), Some(response::Value::CheckTx(_))));
    drop((server, dir));
}

#[test]
fn closing_ends_open_connections_also_over_tcp() {
    let at: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let server = Server::start(&at, Arc::<Lengths>::default()).unwrap();
    let Address::Tcp(bound) = server.address() else { panic!("not TCP") };
    let mut client = std::net::TcpStream::connect(bound).unwrap();
    until("a connection", || server.status().connections == 1);
    server.close();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    server.close();
}

/// A file of the socket that was removed, as by a cleaner of `/tmp`, does not make a stop wait.
#[test]
fn a_server_closes_whose_socket_was_removed() {
    let (dir, path, server) = serve(&Arc::default());
    let mut client = Client::connect(&path);
    client.check("x");
    assert!(matches!(client.read(), Some(response::Value::CheckTx(_))));
    std::fs::remove_file(&path).unwrap();
    let (closed, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        server.close();
        closed.send(server).unwrap();
    });
    let server = finished.recv_timeout(Duration::from_secs(20)).expect("no deadlock");
    assert_eq!(server.status().connections, 0);
    drop(dir);
}

/// Opens and closes a server while clients connect: nothing hangs.
#[test]
fn servers_close_at_any_time() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..200 {
        let path = dir.path().join(format!("{round}.sock"));
        let server = Server::start(&Address::Unix(path.clone()), Arc::<Lengths>::default()).unwrap();
        let clients: Vec<_> = (0..round % 6).map(|_| UnixStream::connect(&path)).collect();
        if round % 3 == 0 {
            std::thread::yield_now();
        }
        server.close();
        drop(clients);
    }
}
