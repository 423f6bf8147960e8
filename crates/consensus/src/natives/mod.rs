//! Native transactions under CometBFT: those that wait, and their results for CometBFT.

mod check;
mod results;
mod waiting;

pub(crate) use results::{SDK, native_result};
pub(crate) use waiting::Waiting;
