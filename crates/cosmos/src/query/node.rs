//! What the node says of itself.

use super::{QueryError, View};
use crate::{
    message::DENOM,
    proto::{ConfigResponse, Nothing, StatusResponse, Timestamp},
};

/// The least price of gas is the base fee of the next block.
pub(super) fn config(view: &dyn View, _: Nothing) -> Result<ConfigResponse, QueryError> {
    Ok(ConfigResponse {
        minimum_gas_price: format!("{}{DENOM}", view.base_fee()),
        pruning_keep_recent: "0".to_owned(),
        pruning_interval: "0".to_owned(),
        halt_height: 0,
    })
}

pub(super) fn status(view: &dyn View, _: Nothing) -> Result<StatusResponse, QueryError> {
    let seconds = i64::try_from(view.timestamp()).unwrap_or(i64::MAX);
    Ok(StatusResponse {
        earliest_store_height: view.oldest(),
        height: view.height(),
        timestamp: Some(Timestamp { seconds, nanos: 0 }),
        app_hash: view.hash().to_vec(),
        validator_hash: Vec::new(),
    })
}
