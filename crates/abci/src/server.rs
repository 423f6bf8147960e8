//! The socket that CometBFT connects to.

use crate::{
    Address, Request, Response, frame::FrameError, frame::read_frame, frame::write_frame, pb, request,
    response,
};
use parking_lot::{Condvar, Mutex};
use std::{
    fs,
    io::{self, BufReader, BufWriter, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixListener, UnixStream},
    },
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Connections of one CometBFT: query, snapshot, mempool and consensus, opened in this order
/// (proxy/multi_app_conn.go).
pub const CONNECTIONS: usize = 4;

/// Answers that wait for a flush, in bytes; more are written at once.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// What is read from the socket at once, in bytes.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// How long the place of a connection without a request is kept when it is closed alone. A CometBFT
/// that ends closes all of its connections together; a probe of the port leaves the others.
const LEFT_PLACE_TIME: Duration = Duration::from_secs(2);

/// How long a peer may take to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Stack of a connection's thread, in bytes: the application executes blocks on it.
const STACK_BYTES: usize = 16 << 20;

/// Why the application cannot continue. CometBFT logs the text and ends itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Exception(pub String);

/// What answers the requests. Called on four threads at the same time.
pub trait Application: Send + Sync + 'static {
    /// Answers a request; Echo and Flush never come here.
    ///
    /// # Errors
    /// [`Exception`] where CometBFT must not continue.
    fn answer(&self, request: request::Value) -> Result<response::Value, Exception>;

    /// The first connection of a CometBFT is there.
    fn connected(&self) {}

    /// The application raised an exception, or panicked; CometBFT was sent this text.
    fn failed(&self, _method: &'static str, _text: &str) {}
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Something listens there already.
    #[error("another process listens on {0}")]
    InUse(Address),
    /// The system refuses.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: Address,
        /// Why.
        source: io::Error,
    },
    /// The system gives no thread.
    #[error("no thread for the ABCI server: {0}")]
    Thread(#[source] io::Error),
}

/// What a server does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// Connections that are open.
    pub connections: usize,
}

/// Serves an application on a socket, one CometBFT at a time: the connections of a second one wait
/// until all of the first are closed. A connection that sent nothing, like that of a probe, gives
/// its place back. Dropping the server closes it.
pub struct Server {
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    acceptor: Mutex<Option<JoinHandle<()>>>,
    address: Address,
}

struct Shared {
    application: Arc<dyn Application>,
    open: Mutex<Open>,
    changed: Condvar,
}

#[derive(Default)]
struct Open {
    /// Connections by number, to be shut from outside.
    streams: Vec<(u64, Stream)>,
    /// Threads of connections that may have ended.
    threads: Vec<JoinHandle<()>>,
    places: Places,
    next: u64,
    closed: bool,
}

/// Whether another connection is served.
#[derive(Clone, Copy, Default)]
enum Places {
    /// It is: fewer than [`CONNECTIONS`] were open at the same time.
    #[default]
    Free,
    /// All of a CometBFT are open.
    Whole,
    /// One that sent nothing was closed then.
    Left(Instant),
    /// One that sent requests was closed: the CometBFT ends, and the others will be closed too.
    Ending,
}

impl Open {
    fn has_place(&self) -> bool {
        match self.places {
            Places::Free => true,
            Places::Whole | Places::Ending => false,
            Places::Left(since) => since.elapsed() >= LEFT_PLACE_TIME,
        }
    }

    /// Takes note of the end of a connection.
    fn ended(&mut self, number: u64, was_used: bool) {
        self.streams.retain(|(other, _)| *other != number);
        self.places = match self.places {
            _ if self.streams.is_empty() => Places::Free,
            Places::Whole if !was_used => Places::Left(Instant::now()),
            Places::Whole | Places::Left(_) if was_used => Places::Ending,
            other => other,
        };
    }
}

impl Server {
    /// Listens. The path of a Unix socket is made for the owner alone; a socket that a dead process
    /// left is removed.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn start(address: &Address, application: Arc<dyn Application>) -> Result<Self, ServerError> {
        let listener = Arc::new(Listener::bind(address)?);
        let address = listener.address(address);
        let shared = Arc::new(Shared { application, open: Mutex::default(), changed: Condvar::new() });
        let (of_thread, accepting) = (shared.clone(), listener.clone());
        let acceptor = thread::Builder::new()
            .name("abci-accept".to_owned())
            .spawn(move || accept(&accepting, &of_thread))
            .map_err(ServerError::Thread)?;
        Ok(Self { shared, listener, acceptor: Mutex::new(Some(acceptor)), address })
    }

    /// Where it listens, with the port that the system chose for port 0.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it does at the moment.
    pub fn status(&self) -> ServerStatus {
        ServerStatus { connections: self.shared.open.lock().streams.len() }
    }

    /// Closes all connections, waits for the requests that are answered at the moment, and ends the
    /// threads. A second call does nothing.
    pub fn close(&self) {
        let threads = {
            let mut open = self.shared.open.lock();
            open.closed = true;
            open.streams.iter().for_each(|(_, stream)| stream.shut());
            std::mem::take(&mut open.threads)
        };
        self.shared.changed.notify_all();
        let acceptor = self.acceptor.lock().take();
        if let Some(acceptor) = acceptor {
            // The acceptor waits in `accept`. On Linux the end of the listener ends that; elsewhere
            // a connection does, unless the path of the socket was removed: then the thread, which
            // accepts nothing any more, is left behind.
            let is_ended = self.listener.shut();
            let is_connected = Stream::connect(&self.address).is_ok();
            if is_ended || is_connected {
                let _ = acceptor.join();
            }
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
        if let Address::Unix(path) = &self.address {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close();
    }
}

/// Accepts connections until the server is closed.
fn accept(listener: &Listener, shared: &Arc<Shared>) {
    loop {
        let Ok(stream) = listener.accept() else {
            if shared.open.lock().closed {
                return;
            }
            // Out of file descriptors: some will be free again.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let mut open = shared.open.lock();
        while !open.closed && !open.has_place() {
            let places = open.places;
            match places {
                Places::Left(since) => {
                    shared.changed.wait_until(&mut open, since + LEFT_PLACE_TIME);
                }
                _ => shared.changed.wait(&mut open),
            }
        }
        if open.closed {
            return;
        }
        let Ok(kept) = stream.try_clone() else { continue };
        let number = open.next;
        let of_thread = shared.clone();
        let spawned = thread::Builder::new()
            .name(format!("abci-{number}"))
            .stack_size(STACK_BYTES)
            .spawn(move || of_thread.connection(number, stream));
        if let Ok(thread) = spawned {
            if open.streams.is_empty() {
                shared.application.connected();
            }
            open.next += 1;
            open.streams.push((number, kept));
            open.places = if open.streams.len() == CONNECTIONS { Places::Whole } else { Places::Free };
            open.threads.retain(|thread| !thread.is_finished());
            open.threads.push(thread);
        }
    }
}

impl Shared {
    /// Serves a connection to its end.
    fn connection(&self, number: u64, stream: Stream) {
        // A peer that sends garbage, goes away or does not read ends its connection alone.
        let mut was_used = false;
        let _ = self.serve(stream, &mut was_used);
        self.open.lock().ended(number, was_used);
        self.changed.notify_all();
    }

    /// Answers requests. `was_used` becomes true with the first one.
    fn serve(&self, stream: Stream, was_used: &mut bool) -> Result<(), FrameError> {
        stream.set_write_timeout(WRITE_TIMEOUT)?;
        let mut reader = BufReader::with_capacity(READ_BUFFER_BYTES, stream.try_clone()?);
        let mut writer = BufWriter::with_capacity(WRITE_BUFFER_BYTES, stream);
        let mut buffer = Vec::new();
        loop {
            let request: Option<Request> = match read_frame(&mut reader, &mut buffer) {
                Ok(request) => request,
                Err(error) => {
                    if !matches!(error, FrameError::Io(_)) {
                        let _ = exception(&mut writer, error.to_string()).and_then(|()| writer.flush());
                    }
                    return Err(error);
                }
            };
            let Some(Request { value }) = request else { return Ok(()) };
            *was_used = true;
            let answer = match value {
                Some(request::Value::Echo(pb::RequestEcho { message })) => {
                    response::Value::Echo(pb::ResponseEcho { message })
                }
                Some(request::Value::Flush(_)) => response::Value::Flush(pb::ResponseFlush {}),
                Some(request) => self.answer(request),
                None => response::Value::Exception(pb::ResponseException {
                    error: "a request that this version of ABCI does not know".to_owned(),
                }),
            };
            let is_flush = matches!(answer, response::Value::Flush(_));
            let is_last = matches!(answer, response::Value::Exception(_));
            write_frame(&mut writer, &Response { value: Some(answer) })?;
            if is_flush || is_last {
                writer.flush()?;
            }
        }
    }

    /// The application's answer; an exception where it fails or panics.
    fn answer(&self, request: request::Value) -> response::Value {
        let method = request.name();
        let answered = catch_unwind(AssertUnwindSafe(|| self.application.answer(request)));
        let error = match answered {
            Ok(Ok(answer)) => return answer,
            Ok(Err(Exception(text))) => text,
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                format!("{method} panicked: {}", text.unwrap_or_default())
            }
        };
        self.application.failed(method, &error);
        response::Value::Exception(pb::ResponseException { error })
    }
}

fn exception(writer: &mut impl Write, error: String) -> io::Result<()> {
    let value = response::Value::Exception(pb::ResponseException { error });
    write_frame(writer, &Response { value: Some(value) })
}

/// A socket that listens.
enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    fn bind(address: &Address) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Listen { address: address.clone(), source };
        match address {
            Address::Tcp(at) => match TcpListener::bind(at) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    Err(ServerError::InUse(address.clone()))
                }
                bound => bound.map(Self::Tcp).map_err(failed),
            },
            Address::Unix(path) => {
                if path.exists() {
                    if UnixStream::connect(path).is_ok() {
                        return Err(ServerError::InUse(address.clone()));
                    }
                    fs::remove_file(path).map_err(failed)?;
                }
                let bound = UnixListener::bind(path).map_err(failed)?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
                Ok(Self::Unix(bound))
            }
        }
    }

    fn address(&self, given: &Address) -> Address {
        match self {
            Self::Tcp(listener) => listener.local_addr().map_or_else(|_| given.clone(), Address::Tcp),
            Self::Unix(_) => given.clone(),
        }
    }

    /// Ends it, where the system can: a call of [`Self::accept`] then returns an error.
    fn shut(&self) -> bool {
        use rustix::net::{Shutdown::Both, shutdown};
        match self {
            Self::Unix(listener) => shutdown(listener, Both).is_ok(),
            Self::Tcp(listener) => shutdown(listener, Both).is_ok(),
        }
    }

    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => Ok(Stream::Unix(listener.accept()?.0)),
            Self::Tcp(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

/// A connection.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(path) => UnixStream::connect(PathBuf::from(path)).map(Self::Unix),
            Address::Tcp(at) => TcpStream::connect(at).map(Self::Tcp),
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Self::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }

    /// Ends it for both sides; a second time does nothing.
    fn shut(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.flush(),
            Self::Tcp(stream) => stream.flush(),
        }
    }
}
