//! Native transactions under CometBFT: those that wait, and what CometBFT is told of them.

mod check;
mod results;
mod waiting;

pub(crate) use results::{SDK, native_result};
pub(crate) use waiting::Waiting;
