//! Ranges of blocks that are baked on request.

use hearth_home::Home;
use hearth_primitives::Height;
use serde::Deserialize;

/// Heights to bake, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeRequest {
    /// First height; the first block where absent.
    #[serde(default)]
    pub from: Option<Height>,
    /// Last height; the head where absent.
    #[serde(default)]
    pub to: Option<Height>,
}

/// A range that can be baked on this home: first and last height.
///
/// # Errors
/// A sentence that says which heights there are.
pub fn checked_range(
    home: &Home,
    from: Option<Height>,
    to: Option<Height>,
) -> Result<(Height, Height), String> {
    let (first, head) = (home.first_block().max(1), home.chain().head().height);
    let (from, to) = (from.unwrap_or(first), to.unwrap_or(head));
    let window = home.config().bake.window_blocks;
    if head < first {
        return Err("there is no block to bake yet".to_owned());
    }
    if from < first || to > head {
        return Err(format!("blocks {from} to {to} were requested; this node has blocks {first} to {head}"));
    }
    if from > to {
        return Err(format!("block {from}, the first, is above block {to}, the last"));
    }
    if let Some(window) = window
        && let oldest = head.saturating_sub(window.get())
        && from < oldest
    {
        let key = "evm.trace_bake_window_blocks";
        return Err(format!("with {key} = {window} traces are kept from block {oldest} on, not from {from}"));
    }
    Ok((from, to))
}
