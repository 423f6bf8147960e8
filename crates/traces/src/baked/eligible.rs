//! Which requests the trace cache may answer.

use crate::{TraceRequest, TraceSubject};
use alloy_primitives::B256;
use hearth_bake::BakedTracer;
use hearth_home::BlockNumber;
use hearth_primitives::Height;
use hearth_tracers::{TraceConfig, TracePlan, TracerPlan};
use std::sync::LazyLock;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// A transaction of the canonical chain.
    Transaction(B256),
    /// The canonical block at a height.
    Number(Height),
    /// The head.
    Head,
    /// A block of any branch.
    Hash(B256),
}

/// Which method names what is to be traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOf {
    /// A transaction, by its hash.
    Transaction,
    /// A block, by its height or `latest`.
    BlockByNumber,
    /// A block, by its hash.
    BlockByHash,
}

/// A request that may be answered from the cache.
pub struct CachedTraceKey {
    pub(super) target: Target,
    pub(super) tracer: BakedTracer,
}

/// A request by its texts, of which only what is needed is parsed.
#[derive(Clone, Copy, Debug)]
pub struct NamedTrace<'a> {
    /// What `named` is.
    pub of: TraceOf,
    /// `0x` and 64 digits, `0x` and the digits of a height, or a tag.
    pub named: &'a str,
    /// The configuration as JSON.
    pub config: &'a str,
}

impl NamedTrace<'_> {
    /// What is to be traced; `first` is the height of the chain's first block. `None` for a text
    /// that the cache does not know.
    pub(super) fn target(&self, first: Height) -> Option<Target> {
        match self.of {
            TraceOf::Transaction => Some(Target::Transaction(self.hash()?)),
            TraceOf::BlockByHash => Some(Target::Hash(self.hash()?)),
            TraceOf::BlockByNumber => target_of(self.number()?, first),
        }
    }

    /// The whole request.
    pub(super) fn request(&self) -> Option<TraceRequest> {
        let subject = match self.of {
            TraceOf::Transaction => TraceSubject::Transaction(self.hash()?),
            TraceOf::BlockByHash => TraceSubject::BlockByHash(self.hash()?),
            TraceOf::BlockByNumber => TraceSubject::BlockByNumber(self.number()?),
        };
        TraceRequest::new(subject, Some(self.config)).ok()
    }

    fn hash(&self) -> Option<B256> {
        self.named.strip_prefix("0x").filter(|digits| digits.len() == 64)?.parse().ok()
    }

    fn number(&self) -> Option<BlockNumber> {
        let Some(digits) = self.named.strip_prefix("0x") else { return self.named.parse().ok() };
        let is_number = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        is_number.then(|| u64::from_str_radix(digits, 16).ok().map(BlockNumber::Number)).flatten()
    }
}

/// The tracer of a configuration that is only the name of one, as `JSON.stringify` writes it;
/// `None` for every other text.
pub(super) fn tracer_of(config: &str) -> Option<BakedTracer> {
    let name = config.strip_prefix(r#"{"tracer":""#)?.strip_suffix(r#""}"#)?;
    BakedTracer::plain(name)
}

/// What each baked tracer runs.
static PLANS: LazyLock<Vec<(BakedTracer, TracerPlan)>> = LazyLock::new(|| {
    let plan = |tracer: BakedTracer| Some((tracer, plan_of(tracer.config_json())?.tracer));
    BakedTracer::ALL.into_iter().filter_map(plan).collect()
});

/// What a request is about and under which tracer, where it may be answered from the cache: its
/// tracer is one of those that can be baked, and it has no `tracerConfig`, null and an empty one
/// included; parityTracer may have one. With `options` a `tracerConfig` may mean what is baked.
/// `first` is the height of the chain's first block.
pub(super) fn eligible(
    request: &TraceRequest,
    options: bool,
    first: Height,
) -> Option<(Target, BakedTracer)> {
    let target = match &request.subject {
        TraceSubject::Transaction(hash) => Target::Transaction(*hash),
        TraceSubject::BlockByHash(hash) => Target::Hash(*hash),
        TraceSubject::BlockByNumber(block) => target_of(*block, first)?,
        _ => return None,
    };
    // The methods of the namespace trace write the configuration themselves.
    let is_parity = matches!(request.plan.tracer, TracerPlan::Parity(_));
    if request.has_tracer_config && !options && !is_parity {
        return None;
    }
    let (tracer, _) = PLANS.iter().find(|(_, baked)| *baked == request.plan.tracer)?;
    Some((target, *tracer))
}

/// `None` for the tags that a fork choice sets: where they are is looked up with the block.
fn target_of(block: BlockNumber, first: Height) -> Option<Target> {
    match block {
        BlockNumber::Number(number) => Some(Target::Number(number)),
        BlockNumber::Earliest => Some(Target::Number(first)),
        // Nothing is produced ahead of time.
        BlockNumber::Latest | BlockNumber::Pending => Some(Target::Head),
        BlockNumber::Safe | BlockNumber::Finalized => None,
    }
}

fn plan_of(text: &str) -> Option<TracePlan> {
    TracePlan::new(&TraceConfig::parse(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn tracer(config: Value, options: bool) -> Option<BakedTracer> {
        let subject = TraceSubject::Transaction(B256::ZERO);
        let request = TraceRequest::new(subject, Some(&config.to_string())).ok()?;
        eligible(&request, options, 0).map(|(target, tracer)| {
            assert_eq!(target, Target::Transaction(B256::ZERO));
            tracer
        })
    }

    #[test]
    fn eligible_is_a_baked_tracer_without_tracer_config() {
        use BakedTracer::{Call, CallWithLog, FlatCall, Parity, ParityLocalized, Prestate, PrestateDiff};
        // Configuration; without the setting; with it.
        let table = [
            (json!({"tracer": "callTracer"}), Some(Call), Some(Call)),
            (json!({"tracer": "prestateTracer"}), Some(Prestate), Some(Prestate)),
            (json!({"tracer": "flatCallTracer"}), Some(FlatCall), Some(FlatCall)),
            (json!({"tracer": "callTracer", "timeout": "5000ms"}), Some(Call), Some(Call)),
            (json!({"tracer": "callTracer", "timeout": "1m30s"}), Some(Call), Some(Call)),
            (json!({"Tracer": "callTracer", "TIMEOUT": "5s"}), Some(Call), Some(Call)),
            (json!({"tracer": "callTracer", "reexec": 128, "limit": 5}), Some(Call), Some(Call)),
            (json!({"tracer": "callTracer", "enableMemory": true, "unknown": [1]}), Some(Call), Some(Call)),
            // Present, whatever is in it.
            (json!({"tracer": "callTracer", "tracerConfig": null}), None, Some(Call)),
            (json!({"tracer": "callTracer", "tracerConfig": {}}), None, Some(Call)),
            (json!({"tracer": "callTracer", "TracerConfig": {}}), None, Some(Call)),
            (json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}}), None, Some(CallWithLog)),
            (json!({"tracer": "callTracer", "tracerConfig": {"withLog": false}}), None, Some(Call)),
            (json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": false}}), None, Some(Call)),
            (json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}}), None, None),
            (
                json!({"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}}),
                None,
                Some(PrestateDiff),
            ),
            (json!({"tracer": "prestateTracer", "tracerConfig": {"disableCode": true}}), None, None),
            (json!({"tracer": "flatCallTracer", "tracerConfig": {"convertParityErrors": true}}), None, None),
            // Live tracing says what is wrong with these.
            (json!({"tracer": "callTracer", "timeout": "soon"}), None, None),
            (json!({"tracer": "callTracer", "reexec": "x"}), None, None),
            (json!({"tracer": "callTracer", "tracerConfig": {"withLog": 1}}), None, None),
            (json!({"tracer": "parityTracer"}), Some(Parity), Some(Parity)),
            (
                json!({"tracer": "parityTracer", "tracerConfig": {"types": ["trace"]}}),
                Some(Parity),
                Some(Parity),
            ),
            (
                json!({"tracer": "parityTracer", "tracerConfig": {"form": "localized"}}),
                Some(ParityLocalized),
                Some(ParityLocalized),
            ),
            (json!({"tracer": "parityTracer", "tracerConfig": {"types": ["trace", "vmTrace"]}}), None, None),
            (
                json!({"tracer": "parityTracer", "tracerConfig": {"form": "localized", "elements": "joined"}}),
                None,
                None,
            ),
            // Other tracers.
            (json!({}), None, None),
            (json!({"tracer": null}), None, None),
            (json!({"tracer": " callTracer "}), None, None),
            (json!({"tracer": "4byteTracer"}), None, None),
            (json!({"tracer": "muxTracer"}), None, None),
            (json!({"tracer": "{step:function(){},fault:function(){},result:function(){}}"}), None, None),
        ];
        for (config, without, with) in table {
            assert_eq!(tracer(config.clone(), false), without, "{config}");
            assert_eq!(tracer(config.clone(), true), with, "{config} with options");
        }
        // Of two spellings the later one counts, as in go-ethereum's decoder.
        let two = r#"{"tracer":"callTracer","TRACER":"prestateTracer"}"#;
        let two = TraceRequest::new(TraceSubject::Transaction(B256::ZERO), Some(two)).unwrap();
        assert_eq!(eligible(&two, false, 0).unwrap().1, Prestate);
    }

    #[test]
    fn what_is_named_is_what_the_method_says() {
        let hash = format!("0x{}", "aB".repeat(32));
        let config = BakedTracer::Call.config_json();
        let target = |of, named: &str| NamedTrace { of, named, config }.target(7);
        let (bytes, of) = (B256::repeat_byte(0xab), TraceOf::BlockByNumber);
        assert_eq!(target(TraceOf::Transaction, &hash), Some(Target::Transaction(bytes)));
        assert_eq!(target(TraceOf::BlockByHash, &hash), Some(Target::Hash(bytes)));
        assert_eq!(target(of, "0x1B"), Some(Target::Number(27)));
        assert_eq!(target(of, "0xffffffffffffffff"), Some(Target::Number(u64::MAX)));
        assert_eq!(target(of, "latest"), Some(Target::Head));
        assert_eq!(target(of, "earliest"), Some(Target::Number(7)));
        for text in [&hash, "safe", "0x", "0x+1", "1b", "", "0x00000000000000001"] {
            assert_eq!(target(of, text), None, "{text}");
        }
        for text in ["0x1", "latest", &hash[2..], &hash[..65], &hash.replace('a', "g")] {
            assert_eq!(target(TraceOf::Transaction, text), None, "{text}");
        }
    }

    #[test]
    fn a_name_alone_is_known_without_parsing() {
        for tracer in [BakedTracer::Call, BakedTracer::Prestate, BakedTracer::FlatCall, BakedTracer::Parity] {
            assert_eq!(tracer_of(tracer.config_json()), Some(tracer));
        }
        let others = [r#"{"tracer":"4byteTracer"}"#, "null", "{}", r#"{"tracer":"callTracer","a":"b"}"#];
        for config in others {
            assert_eq!(tracer_of(config), None, "{config}");
        }
        let config = r#"{"tracer":"callTracer","timeout":"5s"}"#;
        let trace = NamedTrace { of: TraceOf::BlockByNumber, named: "0x2", config };
        let found = eligible(&trace.request().unwrap(), false, 0);
        assert_eq!(found, Some((Target::Number(2), BakedTracer::Call)));
    }

    #[test]
    fn methods_and_blocks_are_told_apart() {
        let target = |subject, config| {
            eligible(&TraceRequest::new(subject, config).unwrap(), false, 7).map(|(target, _)| target)
        };
        let (hash, call) = (B256::repeat_byte(1), Some(r#"{"tracer":"callTracer"}"#));
        let number = |block| target(TraceSubject::BlockByNumber(block), call).unwrap();
        assert_eq!(number(BlockNumber::Number(3)), Target::Number(3));
        assert_eq!(number(BlockNumber::Earliest), Target::Number(7));
        assert_eq!(number(BlockNumber::Latest), Target::Head);
        assert_eq!(target(TraceSubject::BlockByHash(hash), call), Some(Target::Hash(hash)));
        assert_eq!(target(TraceSubject::BadBlock(hash), call), None);
        assert_eq!(target(TraceSubject::TransactionProfile(hash), call), None);
        assert_eq!(target(TraceSubject::Transaction(hash), None), None);
    }
}
