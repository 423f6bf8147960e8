//! The trace configuration: the second parameter of `debug_traceTransaction`, parsed as go-ethereum
//! does (eth/tracers/api.go: TraceConfig).

use crate::decode::{boolean, entries, number, string, wrong};
use crate::struct_log_config::StructLogConfig;
use hearth_recorder::error::ConfigError;
use serde::de::{Deserializer, Error as _};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Options of the struct logger, the default tracer. They are at the top level of the
/// configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggerConfig {
    /// Capture memory.
    pub enable_memory: bool,
    /// Leave the stack out.
    pub disable_stack: bool,
    /// Leave storage out.
    pub disable_storage: bool,
    /// Capture return data.
    pub enable_return_data: bool,
    /// Bytes of steps after which no more are written; 0 means no limit.
    pub limit: i64,
    /// Chain configuration overrides, as JSON text.
    pub overrides: Option<String>,
}

impl LoggerConfig {
    /// The struct logger of opcodeTracer, from its `tracerConfig`.
    pub(crate) fn parse_plan(json: &str) -> Result<StructLogConfig, ConfigError> {
        Ok(Self::parse(json)?.plan(true))
    }

    /// Sets the option with this lower-case key; other keys are ignored.
    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match key {
            "enablememory" => boolean(value, "TraceConfig.Config.EnableMemory", &mut self.enable_memory),
            "disablestack" => boolean(value, "TraceConfig.Config.DisableStack", &mut self.disable_stack),
            "disablestorage" => {
                boolean(value, "TraceConfig.Config.DisableStorage", &mut self.disable_storage)
            }
            "enablereturndata" => {
                boolean(value, "TraceConfig.Config.EnableReturnData", &mut self.enable_return_data)
            }
            "limit" => {
                if let Some(limit) = number(value, "TraceConfig.Config.Limit", "int")? {
                    self.limit = limit;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Reads `tracerConfig` of opcodeTracer, which takes the struct logger's options. `null` is the
    /// default.
    pub(crate) fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "logger.Config")? {
            config.set(&key.to_lowercase(), value.get())?;
        }
        Ok(config)
    }

    /// The options, checked; `summary` for opcodeTracer.
    pub(crate) fn plan(&self, summary: bool) -> StructLogConfig {
        StructLogConfig {
            memory: self.enable_memory,
            stack: !self.disable_stack,
            storage: !self.disable_storage,
            return_data: self.enable_return_data,
            limit: self.limit,
            summary,
        }
    }
}

/// The configuration of a trace in the client's JSON. Unknown keys are ignored, and keys ignore
/// case, as in Go's decoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceConfig {
    /// A tracer's name or JavaScript source; the struct logger without it.
    pub tracer: Option<String>,
    /// JSON text of the tracer's own configuration, `null` included.
    pub tracer_config: Option<String>,
    /// Whether the client sent a `tracerConfig`, `null` included.
    pub has_tracer_config: bool,
    /// Go duration for one transaction.
    pub timeout: Option<String>,
    /// Accepted for compatibility; state is never made again by executing blocks.
    pub reexec: Option<u64>,
    /// Options of the struct logger.
    pub logger: LoggerConfig,
}

impl TraceConfig {
    /// Reads a configuration from JSON text. `null` is the default.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "tracers.TraceConfig")? {
            config.set(&key, value.get())?;
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match key.to_lowercase().as_str() {
            "tracer" => self.tracer = string(value, "TraceConfig.Tracer")?,
            "timeout" => self.timeout = string(value, "TraceConfig.Timeout")?,
            "reexec" => self.reexec = number(value, "TraceConfig.Reexec", "uint64")?,
            "tracerconfig" => {
                // `null` included: the `setup` of a script is called with it.
                self.tracer_config = Some(value.to_owned());
                self.has_tracer_config = true;
            }
            "overrides" => match value.as_bytes().first() {
                Some(b'{') => self.logger.overrides = Some(value.to_owned()),
                Some(b'n') => self.logger.overrides = None,
                _ => return Err(wrong(value, "TraceConfig.Config.overrides", "params.ChainConfig")),
            },
            key => self.logger.set(key, value)?,
        }
        Ok(())
    }

    /// The configuration as JSON text, without what is not set.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and raw JSON always serialise")
    }
}

impl Serialize for TraceConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn raw<E: serde::ser::Error>(text: &str) -> Result<Box<RawValue>, E> {
            RawValue::from_string(text.to_owned()).map_err(E::custom)
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(tracer) = &self.tracer {
            map.serialize_entry("tracer", tracer)?;
        }
        if let Some(config) = &self.tracer_config {
            map.serialize_entry("tracerConfig", &raw::<S::Error>(config)?)?;
        }
        if let Some(timeout) = &self.timeout {
            map.serialize_entry("timeout", timeout)?;
        }
        if let Some(reexec) = &self.reexec {
            map.serialize_entry("reexec", reexec)?;
        }
        let logger = &self.logger;
        for (key, value) in [
            ("enableMemory", logger.enable_memory),
            ("disableStack", logger.disable_stack),
            ("disableStorage", logger.disable_storage),
            ("enableReturnData", logger.enable_return_data),
        ] {
            if value {
                map.serialize_entry(key, &true)?;
            }
        }
        if logger.limit != 0 {
            map.serialize_entry("limit", &logger.limit)?;
        }
        if let Some(overrides) = &logger.overrides {
            map.serialize_entry("overrides", &raw::<S::Error>(overrides)?)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TraceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_tracer::CallTracerConfig;
    use crate::plan::TracePlan;
    use crate::table::TracerPlan;
    use hearth_recorder::ScriptPlan;
    use std::time::Duration;

    #[test]
    fn folds_keys_and_lets_the_last_one_win() {
        let config = TraceConfig::parse(
            r#" {"x":1,"tracer":"a","TRACER":"callTracer","TracerConfig":{"WITHLOG":true},"Timeout":"1m","reexec":128,
                "enablememory":true,"Limit":-3,"disableStorage":null,"Config":{"limit":9}} "#,
        )
        .unwrap();
        assert_eq!(config.tracer.as_deref(), Some("callTracer"));
        assert_eq!((config.reexec, config.logger.limit, config.logger.enable_memory), (Some(128), -3, true));
        let plan = TracePlan::new(&config).unwrap();
        assert_eq!(plan.tracer, TracerPlan::Call(CallTracerConfig { only_top_call: false, with_log: true }));
        assert_eq!(plan.timeout, Duration::from_secs(60));
    }

    #[test]
    fn null_and_empty_are_the_default() {
        for text in ["null", "{}", " null ", r#"{"tracer":null,"timeout":null,"limit":null}"#] {
            assert_eq!(TraceConfig::parse(text), Ok(TraceConfig::default()), "{text}");
        }
        let null = TraceConfig::parse(r#"{"tracerConfig":null}"#).unwrap();
        let tracer_config = Some("null".to_owned());
        assert_eq!(null, TraceConfig { tracer_config, has_tracer_config: true, ..TraceConfig::default() });
        let script = TraceConfig { tracer: Some("{}".to_owned()), ..null };
        let plan = ScriptPlan { text: "{}".to_owned(), config: Some("null".to_owned()) };
        assert_eq!(TracePlan::new(&script).unwrap().tracer, TracerPlan::Script(plan));
        for options in ["null", "{}", r#"{"withLog":null}"#] {
            assert_eq!(CallTracerConfig::parse(options), Ok(CallTracerConfig::default()));
        }
    }

    #[test]
    fn refuses_with_the_texts_of_the_reference() {
        for (text, message) in [
            ("1", "json: cannot unmarshal number into Go value of type tracers.TraceConfig"),
            ("\"x\"", "json: cannot unmarshal string into Go value of type tracers.TraceConfig"),
            ("[]", "json: cannot unmarshal array into Go value of type tracers.TraceConfig"),
            ("true", "json: cannot unmarshal bool into Go value of type tracers.TraceConfig"),
            (
                r#"{"tracer":1}"#,
                "json: cannot unmarshal number into Go struct field TraceConfig.Tracer of type string",
            ),
            (
                r#"{"timeout":5}"#,
                "json: cannot unmarshal number into Go struct field TraceConfig.Timeout of type string",
            ),
            (
                r#"{"reexec":-1}"#,
                "json: cannot unmarshal number -1 into Go struct field TraceConfig.Reexec of type uint64",
            ),
            (
                r#"{"reexec":"1"}"#,
                "json: cannot unmarshal string into Go struct field TraceConfig.Reexec of type uint64",
            ),
            (
                r#"{"reexec":1e3}"#,
                "json: cannot unmarshal number 1e3 into Go struct field TraceConfig.Reexec of type uint64",
            ),
            (
                r#"{"enableMemory":1}"#,
                "json: cannot unmarshal number into Go struct field TraceConfig.Config.EnableMemory of type bool",
            ),
            (
                r#"{"disableStack":{}}"#,
                "json: cannot unmarshal object into Go struct field TraceConfig.Config.DisableStack of type bool",
            ),
            (
                r#"{"limit":1.5}"#,
                "json: cannot unmarshal number 1.5 into Go struct field TraceConfig.Config.Limit of type int",
            ),
            (
                r#"{"overrides":1}"#,
                "json: cannot unmarshal number into Go struct field TraceConfig.Config.overrides of type params.ChainConfig",
            ),
            ("", "unexpected end of JSON input"),
        ] {
            assert_eq!(TraceConfig::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        for (text, message) in [
            ("[]", "json: cannot unmarshal array into Go value of type native.callTracerConfig"),
            (
                r#"{"withLog":"yes"}"#,
                "json: cannot unmarshal string into Go struct field callTracerConfig.withLog of type bool",
            ),
            (
                r#"{"onlyTopCall":1}"#,
                "json: cannot unmarshal number into Go struct field callTracerConfig.onlyTopCall of type bool",
            ),
        ] {
            assert_eq!(CallTracerConfig::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert!(matches!(TraceConfig::parse(r#"{"tracer":"#), Err(ConfigError::Syntax(_))));
    }

    #[test]
    fn survives_a_round_trip() {
        let text = r#"{"tracer":"callTracer","tracerConfig":{"withLog": true},"timeout":"3s","reexec":1,"enableMemory":true,"limit":5}"#;
        let config = TraceConfig::parse(text).unwrap();
        assert_eq!(TraceConfig::parse(&config.to_json()), Ok(config.clone()));
        assert_eq!(serde_json::from_str::<TraceConfig>(&config.to_json()).unwrap(), config);
        assert_eq!(TraceConfig::default().to_json(), "{}");
    }

    #[test]
    fn plans_name_what_is_missing() {
        let plan = |text: &str| TracePlan::new(&TraceConfig::parse(text).unwrap());
        let options = r#"{"enableMemory":true,"disableStack":true,"limit":7}"#;
        let top = plan(options).unwrap().tracer;
        let under = plan(&format!(r#"{{"tracer":"opcodeTracer","tracerConfig":{options}}}"#)).unwrap().tracer;
        let want = StructLogConfig {
            memory: true,
            stack: false,
            storage: true,
            return_data: false,
            limit: 7,
            summary: false,
        };
        assert_eq!(top, TracerPlan::StructLog(want));
        assert_eq!(under, TracerPlan::StructLog(StructLogConfig { summary: true, ..want }));
        let timeout = plan(r#"{"tracer":"callTracer","timeout":"5"}"#).unwrap_err();
        assert_eq!(timeout.to_string(), r#"time: missing unit in duration "5""#);
    }
}
