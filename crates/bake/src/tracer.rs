//! Tracers whose answers can be baked.

use std::fmt;

/// A tracer with the canonical form of its options. The number of each is part of the rows on disk:
/// it is never used again for something else, and a tracer whose answers change gets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum BakedTracer {
    /// `callTracer` without options.
    Call = 1,
    /// `prestateTracer` without options.
    Prestate = 2,
    /// `flatCallTracer` without options.
    FlatCall = 3,
    /// `callTracer` with `withLog`.
    CallWithLog = 4,
    /// `prestateTracer` with `diffMode`.
    PrestateDiff = 5,
    /// `parityTracer` without options.
    Parity = 6,
    /// `parityTracer` in the form of `trace_transaction` and `trace_block`.
    ParityLocalized = 7,
}

impl BakedTracer {
    /// Those that the setting `evm.trace_bake_tracers` may name: tracers without options.
    pub const PLAIN: [Self; 3] = [Self::Call, Self::Prestate, Self::FlatCall];
    /// Those that the setting `evm.trace_bake_further_tracers` may name.
    pub const FURTHER: [Self; 1] = [Self::Parity];
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Call,
        Self::Prestate,
        Self::FlatCall,
        Self::CallWithLog,
        Self::PrestateDiff,
        Self::Parity,
        Self::ParityLocalized,
    ];

    /// The number in rows on disk.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The tracer's name in a request.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call | Self::CallWithLog => "callTracer",
            Self::Prestate | Self::PrestateDiff => "prestateTracer",
            Self::FlatCall => "flatCallTracer",
            Self::Parity | Self::ParityLocalized => "parityTracer",
        }
    }

    /// The tracer without options of this name.
    pub fn plain(name: &str) -> Option<Self> {
        Self::PLAIN.into_iter().chain(Self::FURTHER).find(|tracer| tracer.name() == name)
    }

    /// The request's second parameter for this, as JSON.
    pub const fn config_json(self) -> &'static str {
        match self {
            Self::Call => r#"{"tracer":"callTracer"}"#,
            Self::Prestate => r#"{"tracer":"prestateTracer"}"#,
            Self::FlatCall => r#"{"tracer":"flatCallTracer"}"#,
            Self::CallWithLog => r#"{"tracer":"callTracer","tracerConfig":{"withLog":true}}"#,
            Self::PrestateDiff => r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#,
            Self::Parity => r#"{"tracer":"parityTracer"}"#,
            Self::ParityLocalized => r#"{"tracer":"parityTracer","tracerConfig":{"form":"localized"}}"#,
        }
    }

    /// A word of its own, for labels, progress lines and names of files: the name, and the option
    /// where there is one.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Call => "callTracer",
            Self::Prestate => "prestateTracer",
            Self::FlatCall => "flatCallTracer",
            Self::CallWithLog => "callTracer.withLog",
            Self::PrestateDiff => "prestateTracer.diffMode",
            Self::Parity => "parityTracer",
            Self::ParityLocalized => "parityTracer.localized",
        }
    }
}

impl fmt::Display for BakedTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tracer_has_a_number_of_its_own_and_its_name() {
        let numbers: std::collections::BTreeSet<u8> = BakedTracer::ALL.map(BakedTracer::id).into();
        assert_eq!(numbers.len(), BakedTracer::ALL.len());
        assert!(!numbers.contains(&0));
        for tracer in BakedTracer::ALL {
            let config: serde_json::Value = serde_json::from_str(tracer.config_json()).unwrap();
            assert_eq!(config["tracer"], tracer.name());
        }
        assert_eq!(BakedTracer::plain("prestateTracer"), Some(BakedTracer::Prestate));
        assert_eq!(BakedTracer::plain("parityTracer"), Some(BakedTracer::Parity));
        assert_eq!(BakedTracer::plain("muxTracer"), None);
    }
}
