//! Which table of operations has a name.

use super::{CosmosRequest, DevRequest, names::names_of};
use alloy_primitives::map::HashMap;
use hearth_consensus::ConsensusRequest;
use hearth_engine::EngineRequest;
use std::sync::LazyLock;

/// A table of operations beside that of [`super::Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// [`DevRequest`].
    Dev,
    /// [`EngineRequest`].
    Engine,
    /// [`CosmosRequest`].
    Cosmos,
    /// [`ConsensusRequest`].
    Consensus,
}

impl Family {
    /// The other table that has an operation; `None` if none has.
    pub(super) fn of(operation: &str) -> Option<Self> {
        FAMILIES.get(operation).copied()
    }
}

/// The operations of the other tables.
static FAMILIES: LazyLock<HashMap<&'static str, Family>> = LazyLock::new(|| {
    let tables = [
        (Family::Dev, names_of::<DevRequest>()),
        (Family::Engine, names_of::<EngineRequest>()),
        (Family::Cosmos, names_of::<CosmosRequest>()),
        (Family::Consensus, names_of::<ConsensusRequest>()),
    ];
    tables.into_iter().flat_map(|(family, names)| names.iter().map(move |name| (*name, family))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_one_table() {
        assert!(names_of::<super::super::Request>().contains(&"getBalance"));
        assert_eq!(Family::of("cosmosRest"), Some(Family::Cosmos));
        assert_eq!(Family::of("mine"), Some(Family::Dev));
        assert_eq!(Family::of("engineGetPayload"), Some(Family::Engine));
        assert_eq!(Family::of("consensusReap"), Some(Family::Consensus));
        assert_eq!(Family::of("getBalance"), None);
        assert_eq!(Family::of("nothing"), None);
        let names = [
            names_of::<super::super::Request>(),
            names_of::<DevRequest>(),
            names_of::<EngineRequest>(),
            names_of::<CosmosRequest>(),
            names_of::<ConsensusRequest>(),
        ];
        let mut all = names.concat();
        let many = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), many);
    }

    #[test]
    fn an_error_names_the_argument_of_its_own_table() {
        let error = |text: &str| super::super::Request::from_json(text.as_bytes()).unwrap_err().to_string();
        let unknown = error(r#"{"op":"nothing"}"#);
        assert!(unknown.contains("unknown variant `nothing`"), "{unknown}");
        let cosmos = error(r#"{"args":{},"op":"addressOf"}"#);
        assert!(cosmos.contains("account"), "{cosmos}");
    }
}
