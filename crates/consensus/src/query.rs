//! ABCI Query: the queries of the Cosmos SDK as cosmjs makes them, and those of CometBFT itself.

use crate::{application::App, handshake::APP_VERSION};
use hearth_abci::pb;
use hearth_cosmos::query::{Input, Status};
use hearth_home::{NodeError, QueryAnswer};
use hearth_metrics::{Level, LogEntry};

/// Codespace of the Cosmos SDK's codes.
const SDK: &str = "sdk";

/// The Cosmos SDK's codes for the status of a query.
fn code(status: Status) -> u32 {
    match status {
        Status::InvalidArgument => 18,
        Status::NotFound => 22,
        Status::Unimplemented => 6,
        // `ErrLogic`
        Status::Internal => 35,
    }
}

impl App {
    pub(crate) fn query(&self, request: &pb::RequestQuery) -> pb::ResponseQuery {
        let head = self.home.chain().head().height;
        let of_text = |value: String, height| pb::ResponseQuery {
            value: value.into_bytes().into(),
            height,
            codespace: SDK.to_owned(),
            ..Default::default()
        };
        let path = request.path.as_str();
        if path == "/app/version" || path == "app/version" {
            return of_text(APP_VERSION.to_string(), as_height(head));
        }
        if is_peer_filter(path) {
            return of_text(String::new(), as_height(head));
        }
        // `/app/simulate` takes the bytes of a transaction, the service a message with them.
        let simulated =
            (path == "/app/simulate" || path == "app/simulate").then(|| simulate_request(&request.data));
        let (name, data) = match &simulated {
            Some(data) => ("cosmos.tx.v1beta1.Service/Simulate", data.as_slice()),
            None => (path.trim_start_matches('/'), &request.data[..]),
        };
        let height = match requested(request.height) {
            Ok(height) => height,
            Err(refused) => return shown(path, QueryAnswer { height: head, result: Err(refused) }),
        };
        let answer = self.home.cosmos_query(name, Input::Protobuf(data), height);
        let answer = answer.unwrap_or_else(|error| {
            let entry = LogEntry::new(Level::Warn, "consensus", "a query has no answer");
            self.log.add(entry.text("why", &error));
            failed(head, &error)
        });
        shown(path, answer)
    }
}

/// The height that a request names; 0 is the head. A negative one is refused as by the SDK
/// (`baseapp/abci.go`, `checkNegativeHeight`).
fn requested(height: i64) -> Result<Option<u64>, (Status, String)> {
    let refused = "cannot query with height < 0; please provide a valid height";
    let height = u64::try_from(height).map_err(|_| (Status::InvalidArgument, refused.to_owned()))?;
    Ok((height > 0).then_some(height))
}

/// Whether CometBFT queries for a peer that it may connect to (`filter_peers`).
pub(crate) fn is_peer_filter(path: &str) -> bool {
    path.trim_start_matches('/').starts_with("p2p/filter/")
}

/// The answer to a query whose state cannot be read. It is no exception: that would end CometBFT,
/// at the request of any client that names such a height.
fn failed(head: u64, error: &NodeError) -> QueryAnswer {
    let message = error.public().unwrap_or_else(|| error.to_string());
    QueryAnswer { height: head, result: Err((Status::Internal, message)) }
}

fn as_height(height: u64) -> i64 {
    i64::try_from(height).unwrap_or(i64::MAX)
}

/// A `SimulateRequest` with these bytes of a transaction.
fn simulate_request(bytes: &[u8]) -> Vec<u8> {
    let request = hearth_cosmos::proto::SimulateRequest { tx: Vec::new(), tx_bytes: bytes.to_vec() };
    prost::Message::encode_to_vec(&request)
}

fn shown(path: &str, answer: QueryAnswer) -> pb::ResponseQuery {
    let QueryAnswer { height, result } = answer;
    let height = as_height(height);
    match result {
        Ok(value) => pb::ResponseQuery { value: value.to_vec().into(), height, ..Default::default() },
        Err((status, message)) => {
            let log = match status {
                Status::Unimplemented => format!("unknown query path {path:?}: unknown request"),
                // cosmjs looks for both ends of this text.
                Status::NotFound => format!("rpc error: code = NotFound desc = {message}: key not found"),
                other => format!("rpc error: code = {} desc = {message}", other.name()),
            };
            pb::ResponseQuery {
                code: code(status),
                log,
                height,
                codespace: SDK.to_owned(),
                ..Default::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_is_the_head_one_of_its_own_or_refused() {
        assert_eq!((requested(0), requested(7)), (Ok(None), Ok(Some(7))));
        let refused = requested(-1).unwrap_err();
        let answer = shown("/p", QueryAnswer { height: 9, result: Err(refused) });
        assert_eq!((answer.code, answer.height), (18, 9));
        assert!(answer.log.contains("cannot query with height < 0"), "{}", answer.log);
    }

    #[test]
    fn state_that_cannot_be_read_is_no_exception() {
        let path = "/cosmos.bank.v1beta1.Query/Balance";
        let answer = shown(path, failed(7, &NodeError::HeaderNotFound));
        assert_eq!((answer.code, answer.codespace.as_str(), answer.height), (35, "sdk", 7));
        assert_eq!(answer.log, "rpc error: code = Internal desc = header not found");
    }
}
