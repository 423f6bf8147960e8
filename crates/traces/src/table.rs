//! The table of tracers as settings and documentation show it.

use hearth_bake::BakedTracer;
use hearth_tracers::TRACERS;
use serde_json::json;

/// Every built-in tracer as JSON: `[{"name":…,"options":[…],"baked":…},…]`. `baked` is the field of
/// [`hearth_home::BakeConfig`] that may name the tracer: `tracers`, `furtherTracers`, or `null`.
pub fn tracer_table() -> String {
    let rows = TRACERS.iter().map(|row| {
        let named = |tracers: &[BakedTracer]| tracers.iter().any(|tracer| tracer.name() == row.name);
        let baked = if named(&BakedTracer::PLAIN) {
            Some("tracers")
        } else if named(&BakedTracer::FURTHER) {
            Some("furtherTracers")
        } else {
            None
        };
        json!({ "name": row.name, "options": row.options, "baked": baked })
    });
    serde_json::Value::from(rows.collect::<Vec<_>>()).to_string()
}
