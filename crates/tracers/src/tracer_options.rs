//! `tracerConfig` of the native tracers, read as go-ethereum reads it (the `Config` types of
//! eth/tracers/native).

use crate::call_tracer::CallTracerConfig;
use crate::decode::{boolean, entries, hex_number, number, wrong};
use crate::erc7562_tracer::Erc7562TracerConfig;
use crate::flat_call_tracer::FlatCallTracerConfig;
use crate::prestate_tracer::PrestateTracerConfig;
use hearth_recorder::error::ConfigError;
use serde_json::value::RawValue;

/// `tracerConfig` of a tracer without options: anything is accepted, as by
/// go-ethereum (eth/tracers/native/4byte.go: newFourByteTracer).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoOptions;

impl NoOptions {
    /// Ignores what is given.
    pub(crate) fn parse(_: &str) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl CallTracerConfig {
    /// Reads `tracerConfig` of callTracer. `null` is the default.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "native.callTracerConfig")? {
            match key.to_lowercase().as_str() {
                "onlytopcall" => {
                    boolean(value.get(), "callTracerConfig.onlyTopCall", &mut config.only_top_call)?
                }
                "withlog" => boolean(value.get(), "callTracerConfig.withLog", &mut config.with_log)?,
                _ => {}
            }
        }
        Ok(config)
    }
}

impl FlatCallTracerConfig {
    /// Reads `tracerConfig` of flatCallTracer. `null` is the default.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "native.flatCallTracerConfig")? {
            let value = value.get();
            match key.to_lowercase().as_str() {
                "convertparityerrors" => boolean(
                    value,
                    "flatCallTracerConfig.convertParityErrors",
                    &mut config.convert_parity_errors,
                )?,
                "includeprecompiles" => boolean(
                    value,
                    "flatCallTracerConfig.includePrecompiles",
                    &mut config.include_precompiles,
                )?,
                _ => {}
            }
        }
        Ok(config)
    }
}

impl PrestateTracerConfig {
    /// Reads `tracerConfig` of prestateTracer. `null` is the default.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "native.PrestateTracerConfig")? {
            let value = value.get();
            match key.to_lowercase().as_str() {
                "diffmode" => boolean(value, "PrestateTracerConfig.diffMode", &mut config.diff_mode)?,
                "disablecode" => {
                    boolean(value, "PrestateTracerConfig.disableCode", &mut config.disable_code)?
                }
                "disablestorage" => {
                    boolean(value, "PrestateTracerConfig.disableStorage", &mut config.disable_storage)?
                }
                "includeempty" => {
                    boolean(value, "PrestateTracerConfig.includeEmpty", &mut config.include_empty)?
                }
                _ => {}
            }
        }
        if config.diff_mode && config.include_empty {
            return Err(ConfigError::DiffWithEmpty);
        }
        Ok(config)
    }
}

impl Erc7562TracerConfig {
    /// Parses `tracerConfig` of erc7562Tracer. `null` is the default. `stackTopItemsSize` has to be
    /// a number, but changes no result.
    pub fn parse(json: &str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for (key, value) in entries(json, "native.erc7562TracerConfig")? {
            let value = value.get();
            match key.to_lowercase().as_str() {
                "stacktopitemssize" => {
                    number::<i64>(value, "erc7562TracerConfig.stackTopItemsSize", "int")?;
                }
                "ignoredopcodes" => {
                    let field = "erc7562TracerConfig.ignoredOpcodes";
                    let list: Option<Vec<&RawValue>> =
                        serde_json::from_str(value).map_err(|_| wrong(value, field, "[]hexutil.Uint64"))?;
                    // As in the reference, the low byte counts.
                    let opcode = |item: &RawValue| hex_number(item.get(), field).map(|number| number as u8);
                    config.ignored_opcodes =
                        list.map(|list| list.into_iter().map(opcode).collect()).transpose()?;
                }
                "withlog" => boolean(value, "erc7562TracerConfig.withLog", &mut config.with_log)?,
                _ => {}
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceConfig, TracePlan, TracerPlan};

    fn plan(json: &str) -> Result<TracerPlan, String> {
        let config = TraceConfig::parse(json).unwrap();
        TracePlan::new(&config).map(|plan| plan.tracer).map_err(|error| error.to_string())
    }

    #[test]
    fn options_fold_case_and_are_checked() {
        assert_eq!(
            plan(r#"{"tracer":"prestateTracer","tracerConfig":{"DIFFMODE":true,"disableCode":null}}"#),
            Ok(TracerPlan::Prestate(PrestateTracerConfig { diff_mode: true, ..Default::default() }))
        );
        assert_eq!(
            plan(r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true,"includeEmpty":true}}"#),
            Err("cannot use diffMode with includeEmpty".to_owned())
        );
        assert_eq!(
            plan(r#"{"tracer":"flatCallTracer","tracerConfig":{"includePrecompiles":1}}"#),
            Err("json: cannot unmarshal number into Go struct field flatCallTracerConfig.includePrecompiles of type bool".to_owned())
        );
    }

    #[test]
    fn opcodes_are_numbers_as_the_reference_reads_them() {
        let erc = |key: &str, value: &str| {
            plan(&format!(
                r#"{{"tracer":"erc7562Tracer","tracerConfig":{{"{key}":{value},"withLog":true}}}}"#
            ))
        };
        let ignored_opcodes = Some(vec![0x54, 0x55, 0xff, 0]);
        assert_eq!(
            erc("ignoredOpcodes", r#"["0x54","0X55","0x1fF",""]"#),
            Ok(TracerPlan::Erc7562(Erc7562TracerConfig { ignored_opcodes, with_log: true }))
        );
        assert!(erc("stackTopItemsSize", "9").is_ok());
        let text = |got: &str, field: &str, wanted: &str| {
            format!(
                "json: cannot unmarshal {got} into Go struct field erc7562TracerConfig.{field} of type {wanted}"
            )
        };
        for (item, got) in [
            ("84", "non-string"),
            ("null", "non-string"),
            (r#""54""#, "hex string without 0x prefix"),
            (r#""0x""#, r#"hex string "0x""#),
            (r#""0x054""#, "hex number with leading zero digits"),
            (r#""0x12345678123456781""#, "hex number > 64 bits"),
            (r#""0x+1""#, "invalid hex string"),
        ] {
            let want = text(got, "ignoredOpcodes", "hexutil.Uint64");
            assert_eq!(erc("ignoredOpcodes", &format!(r#"["0x54",{item}]"#)), Err(want));
        }
        let want = text("string", "ignoredOpcodes", "[]hexutil.Uint64");
        assert_eq!(erc("ignoredOpcodes", r#""0x54""#), Err(want));
        let want = text("string", "stackTopItemsSize", "int");
        assert_eq!(erc("stackTopItemsSize", r#""3""#), Err(want));
    }
}
