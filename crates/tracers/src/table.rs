//! The table of tracers: one row each, and everything that differs by tracer.
//!
//! To add a tracer, write its file and its row. The row gives the name in requests, the options of
//! `tracerConfig`, the variant of [`TracerPlan`] with the type of its checked options, the function
//! that parses them, and what observes the execution: `frames`, a [`crate::FrameView`], which
//! shares one recording with others; `tracer`, a type that implements [`crate::Tracing`]; or, if it
//! writes while the transaction runs, `engine` with the member of an ensemble as a second
//! expression.
//! Names and options in settings and documentation come from [`TRACERS`].

use crate::call_tracer::CallTracerConfig;
use crate::config::LoggerConfig;
use crate::directory::{no_scripts, parse_mux};
use crate::ensemble::{Ensemble, Member, View};
use crate::erc7562_tracer::{Erc7562Tracer, Erc7562TracerConfig};
use crate::flat_call_tracer::FlatCallTracerConfig;
use crate::four_byte_tracer::{FourByte, NoopTracer};
use crate::frame_tracer::FrameTracer;
use crate::keccak_tracer::Keccak256PreimageTracer;
use crate::mux_tracer::MuxTracer;
use crate::parity::{ParityConfig, ParityTracer, Streamed};
use crate::prestate_tracer::{PrestateTracer, PrestateTracerConfig};
use crate::steps::{Steps, StepsPlan};
use crate::struct_log_config::StructLogConfig;
use crate::struct_logger::StructLogs;
use crate::tracer_options::NoOptions;
use hearth_recorder::ScriptPlan;
use hearth_recorder::engine::{Engine, Recorded};
use hearth_recorder::error::TraceError;
use hearth_script_tracer::SingleScript;

/// A built-in tracer, as requests name it.
#[derive(Debug)]
pub struct TracerRow {
    /// The name that users type.
    pub name: &'static str,
    /// Names of the options in `tracerConfig`; those of muxTracer are names of tracers.
    pub options: &'static [&'static str],
    parse: fn(&str) -> Result<TracerPlan, TraceError>,
}

impl TracerRow {
    /// The tracer with its `tracerConfig` as JSON; `null` is the default.
    ///
    /// # Errors
    /// [`TraceError::Config`] names the option that cannot be used.
    pub fn plan(&self, options: &str) -> Result<TracerPlan, TraceError> {
        (self.parse)(options)
    }

    /// The row of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TRACERS.iter().find(|row| row.name == name)
    }
}

impl PartialEq for TracerRow {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TracerRow {}

/// What is done with the engine of a plan, whatever its type.
pub(crate) trait WithEngine {
    /// The result.
    type Output;

    /// Does it.
    fn with<E: Engine>(self, engine: E) -> Self::Output;
}

/// Expands the rows to the plans, the table of names, and the two ways to observe an execution.
macro_rules! tracers {
    (
        named { $(
            $(#[$meta:meta])*
            $name:literal [$($key:literal),*]
            $variant:ident($config:ident: $options:ty = $parse:expr)
            => $kind:ident($($observer:tt)*);
        )* }
        unnamed { $(
            $(#[$own_meta:meta])*
            $own_variant:ident($own_config:ident: $own_options:ty) => $own_kind:ident($($own_observer:tt)*);
        )* }
    ) => {
        /// A tracer with its checked options.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum TracerPlan {
            $(#[doc = concat!("`", $name, "`.")] $(#[$meta])* $variant($options),)*
            $($(#[$own_meta])* $own_variant($own_options),)*
        }

        /// Every built-in tracer.
        pub const TRACERS: &[TracerRow] = &[$(
            $(#[$meta])*
            TracerRow {
                name: $name,
                options: &[$($key),*],
                parse: |options| {
                    let parse: fn(&str) -> Result<$options, _> = $parse;
                    Ok(TracerPlan::$variant(parse(options)?))
                },
            },
        )*];

        impl TracerPlan {
            /// Does something with the engine that runs this tracer alone. The code of the engine
            /// is compiled once for each type of tracer, so that no hook is called indirectly.
            pub(crate) fn with_engine<W: WithEngine>(&self, with: W) -> W::Output {
                match self {
                    $($(#[$meta])* Self::$variant($config) => tracers!(@engine $kind with $($observer)*),)*
                    $(Self::$own_variant($own_config) => tracers!(@engine $own_kind with $($own_observer)*),)*
                }
            }
        }

        impl Member for TracerPlan {
            #[allow(unused_variables, reason = "a row's member needs its options, its plan, or neither")]
            fn add_to(&self, ensemble: &mut Ensemble<'_, Self>) -> View {
                match self {
                    $($(#[$meta])* Self::$variant($config) => {
                        tracers!(@member $kind ensemble self $($observer)*)
                    })*
                    $(Self::$own_variant($own_config) => {
                        tracers!(@member $own_kind ensemble self $($own_observer)*)
                    })*
                }
            }
        }
    };
    (@engine frames $with:ident $view:expr) => { $with.with(Recorded(FrameTracer::new($view))) };
    (@engine tracer $with:ident $tracer:expr) => { $with.with(Recorded($tracer)) };
    (@engine engine $with:ident $engine:expr, |$ensemble:ident, $plan:ident| $member:expr) => {
        $with.with($engine)
    };
    // A tracer with two engines: the first where the condition holds.
    (@engine either $with:ident $condition:expr, $engine:expr, $tracer:expr) => {
        if $condition { $with.with($engine) } else { $with.with(Recorded($tracer)) }
    };
    (@member frames $ensemble:ident $this:ident $view:expr) => {
        $ensemble.add_frames(Box::new($view))
    };
    (@member tracer $ensemble:ident $this:ident $tracer:expr) => {
        $ensemble.add_tracer($this, || Box::new($tracer))
    };
    (@member engine $ensemble:ident $this:ident $engine:expr, |$given:ident, $plan:ident| $member:expr) => {{
        let ($given, $plan) = ($ensemble, $this);
        $member
    }};
    (@member either $ensemble:ident $this:ident $condition:expr, $engine:expr, $tracer:expr) => {
        $ensemble.add_tracer($this, || Box::new($tracer))
    };
}

tracers! {
    named {
        "callTracer" ["onlyTopCall", "withLog"]
        Call(config: CallTracerConfig = CallTracerConfig::parse) => frames(*config);

        "prestateTracer" ["diffMode", "disableCode", "disableStorage", "includeEmpty"]
        Prestate(config: PrestateTracerConfig = PrestateTracerConfig::parse)
        => tracer(PrestateTracer::new(*config));

        "flatCallTracer" ["convertParityErrors", "includePrecompiles"]
        FlatCall(config: FlatCallTracerConfig = FlatCallTracerConfig::parse) => frames(*config);

        "parityTracer" ["types", "form", "traceAddress", "elements", "withHash"]
        Parity(config: ParityConfig = ParityConfig::parse) => either(
            config.is_streamed(), Streamed::new(config.clone()), ParityTracer::new(config.clone())
        );

        "4byteTracer" []
        FourByte(_config: NoOptions = NoOptions::parse) => frames(FourByte);

        "noopTracer" []
        Noop(_config: NoOptions = NoOptions::parse) => tracer(NoopTracer);

        "muxTracer" []
        Mux(plans: Vec<(String, TracerPlan)> = parse_mux)
        => engine(Recorded(MuxTracer::new(plans)), |ensemble, _plan| ensemble.add_mux(plans));

        "erc7562Tracer" ["ignoredOpcodes", "stackTopItemsSize", "withLog"]
        Erc7562(config: Erc7562TracerConfig = Erc7562TracerConfig::parse)
        => tracer(Erc7562Tracer::new(config));

        "keccak256PreimageTracer" []
        Keccak256Preimage(_config: NoOptions = NoOptions::parse)
        => tracer(Keccak256PreimageTracer::default());

        "opcodeTracer" [
            "enableMemory", "disableStack", "disableStorage", "enableReturnData", "limit", "overrides"
        ]
        StructLog(config: StructLogConfig = LoggerConfig::parse_plan)
        => engine(StructLogs::new(*config), |ensemble, _plan| ensemble.add_steps(*config));

        #[cfg(any(test, feature = "toy-tracer"))]
        "toyTracer" ["greeting"]
        Toy(config: crate::toy_tracer::ToyTracer = crate::toy_tracer::ToyTracer::parse)
        => frames(config.clone());
    }
    unnamed {
        /// Steps in pieces; no configuration names it.
        Steps(plan: StepsPlan)
        // No configuration of several tracers names steps in pieces.
        => engine(Steps(plan), |ensemble, plan| ensemble.add_tracer(plan, || Box::new(NoopTracer)));

        /// JavaScript.
        Script(script: ScriptPlan)
        => engine(
            SingleScript::new(script, no_scripts),
            |ensemble, plan| ensemble.add_script(plan, script, no_scripts)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TracePlan;
    use crate::{Named, TraceConfig};

    fn plan(config: &str) -> Result<TracerPlan, TraceError> {
        TracePlan::new(&TraceConfig::parse(config).unwrap()).map(|plan| plan.tracer)
    }

    #[test]
    fn a_row_is_enough_for_a_tracer() {
        let row = TracerRow::find("toyTracer").unwrap();
        assert_eq!(Named::find("toyTracer").unwrap(), Named::Tracer(row));
        assert_eq!(row.options, ["greeting"]);
        let toy = plan(r#"{"tracer":"toyTracer","tracerConfig":{"greeting":"hi"}}"#).unwrap();
        let TracerPlan::Toy(options) = &toy else { panic!("{toy:?}") };
        let expected: crate::ToyTracer = serde_json::from_str(r#"{"greeting":"hi"}"#).unwrap();
        assert_eq!(*options, expected);
        let mux = plan(r#"{"tracer":"muxTracer","tracerConfig":{"toyTracer":{"greeting":"hi"}}}"#).unwrap();
        assert_eq!(mux, TracerPlan::Mux(vec![("toyTracer".to_owned(), toy)]));
        let bad = plan(r#"{"tracer":"toyTracer","tracerConfig":{"greeting":1}}"#).unwrap_err();
        assert!(matches!(bad, TraceError::Config(_)), "{bad}");
        let unknown = plan(r#"{"tracer":"toytracer"}"#).unwrap_err();
        let TraceError::UnknownTracer { known, .. } = unknown else { panic!("{unknown}") };
        assert!(known.contains("toyTracer"), "{known}");
    }

    #[test]
    fn names_and_options_occur_once() {
        let names: std::collections::BTreeSet<_> = TRACERS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TRACERS.len());
        for row in TRACERS {
            let options: std::collections::BTreeSet<_> = row.options.iter().collect();
            assert_eq!(options.len(), row.options.len(), "{}", row.name);
        }
    }
}
