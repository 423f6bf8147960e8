//! What a scrape reads: the table, the series that exist from the start, and the values that
//! change.

#![allow(clippy::unwrap_used)]

use hearth_metrics::{
    ChunkCache, DataDb, FlatkvMetrics, Kind, LittMetrics, MAX_COLLECTORS, MAX_TABLES, OTHER_TABLES, Registry,
    RocksdbMetrics, Unit, Values, instruments,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
};

/// Every series by name and labels, with its value or, for a histogram, its count.
fn page(registry: &Registry) -> BTreeMap<String, i64> {
    let page: Value = serde_json::from_str(&registry.snapshot_json()).unwrap();
    let families = page.as_array().unwrap().iter();
    let series = families.flat_map(|family| {
        let name = family["name"].as_str().unwrap().to_owned();
        family["series"].as_array().unwrap().iter().map(move |series| {
            let labels = series["labels"].as_object().unwrap().iter();
            let labels: Vec<_> =
                labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
            let value = series.get("value").or_else(|| series.get("count")).unwrap();
            (format!("{name}{{{}}}", labels.join(",")), value.as_i64().unwrap())
        })
    });
    series.collect()
}

/// What differs between two pages, and by how much; a series that is new counts from zero.
fn moved(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let by = |name: &String| after[name] - before.get(name).copied().unwrap_or(0);
    after.keys().map(|name| (name.clone(), by(name))).filter(|(_, by)| *by != 0).collect()
}

fn expected(rows: &[(&str, i64)]) -> BTreeMap<String, i64> {
    rows.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect()
}

#[test]
fn the_table_is_sound() {
    let names: Vec<_> = instruments().map(|row| row.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a name twice");
    assert_eq!(names.iter().filter(|name| name.starts_with("flatkv_")).count(), 19);
    assert_eq!(names.iter().filter(|name| name.starts_with("litt_")).count(), 22);
    for row in instruments() {
        let name = row.name;
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        assert!(!name.ends_with("_total") && !row.help.is_empty() && !row.help.ends_with('.'), "{name}");
        assert_eq!(row.buckets.is_empty(), row.kind != Kind::Histogram, "{name}");
        assert!(row.buckets.is_sorted_by(|a, b| a < b), "{name}");
        assert_eq!(row.unit == Unit::Seconds, row.kind == Kind::Histogram, "{name}");
    }
}

#[test]
fn the_catalogue_says_what_the_table_says() {
    let catalog: Value = serde_json::from_str(&Registry::new().catalog_json()).unwrap();
    let rows = catalog.as_array().unwrap();
    assert_eq!(rows.len(), instruments().count());
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let open = row("flatkv_open_latency");
    assert_eq!((&open["kind"], &open["unit"]), (&json!("histogram"), &json!("s")));
    let boolean = json!(["true", "false"]);
    let labels = json!([{ "key": "read_only", "values": boolean }, { "key": "success", "values": boolean }]);
    assert_eq!(open["labels"], labels);
    let buckets = open["buckets"].as_array().unwrap();
    assert_eq!((buckets.len(), &buckets[0], &buckets[23]), (24, &json!(0.01), &json!(43_200.0)));
    assert_eq!(row("flatkv_commit_latency")["buckets"].as_array().unwrap().len(), 23);
    let size = row("litt_table_size_bytes");
    assert_eq!((&size["kind"], &size["unit"]), (&json!("gauge"), &json!("By")));
    assert_eq!((&size["labels"], size.get("buckets")), (&json!([{ "key": "table" }]), None));
    let pairs = row("flatkv_num_kv_pairs");
    assert_eq!((&pairs["kind"], &pairs["unit"]), (&json!("counter"), &json!("{count}")));
    assert_eq!(pairs["labels"][0]["values"], json!(["account", "code", "storage", "legacy", "metadata"]));
}

#[test]
fn everything_finite_is_there_from_the_start_at_zero() {
    let page = page(&Registry::new());
    assert!(page.values().all(|value| *value == 0), "{page:?}");
    for row in instruments() {
        let values = row.labels.iter().map(|label| match label.values {
            Values::Finite(values) => values.len(),
            Values::Open => 0,
        });
        let expected = if row.from_start { values.product() } else { 0 };
        let found = page.keys().filter(|key| key.split('{').next() == Some(row.name)).count();
        assert_eq!(found, expected, "{}", row.name);
    }
    assert!(page.contains_key("flatkv_open_latency{read_only=true,success=false}"));
    assert!(page.contains_key("flatkv_flush_latency{db=metadata,success=true}"));
    assert!(page.contains_key("litt_chunk_cache_key_count{cache=chunk_write}"));
}

#[test]
fn a_tables_series_appear_with_it_and_stay() {
    let registry = Registry::new();
    let litt = LittMetrics::new(&registry);
    let before = page(&registry);
    let table = litt.table("blocks");
    let opened = page(&registry);
    let per_table = instruments().filter(|row| row.labels.first().is_some_and(|label| label.key == "table"));
    assert_eq!(opened.len() - before.len(), per_table.count());
    table.bytes_read.add(9);
    table.read.record(0.5);
    litt.table("blocks").keys_read.add(1);
    litt.cache(ChunkCache::Read).weight_bytes.add(11);
    drop(table);
    // Another store of the same home has the same series.
    LittMetrics::new(&registry).table("blocks").keys_read.add(2);
    let expected = expected(&[
        ("litt_bytes_read{table=blocks}", 9),
        ("litt_read_latency_seconds{table=blocks}", 1),
        ("litt_keys_read{table=blocks}", 3),
        ("litt_chunk_cache_weight_bytes{cache=chunk_read}", 11),
    ]);
    assert_eq!(moved(&opened, &page(&registry)), expected);
}

#[test]
fn tables_beyond_the_limit_share_one_name() {
    let registry = Registry::new();
    let litt = LittMetrics::new(&registry);
    for number in 0..MAX_TABLES + 5 {
        litt.table(&format!("t{number}")).keys_written.add(1);
    }
    let page = page(&registry);
    let written = page.keys().filter(|name| name.starts_with("litt_keys_written{")).count();
    assert_eq!(written, MAX_TABLES + 1);
    assert_eq!(page[&format!("litt_keys_written{{table={OTHER_TABLES}}}")], 5);
}

#[test]
fn handles_move_their_own_series_and_no_other() {
    let registry = Registry::new();
    let (flatkv, other) = (FlatkvMetrics::new(&registry), Registry::new());
    let before = page(&registry);
    flatkv.open.of(false).of(true).record(1.0);
    flatkv.commit_batch[DataDb::Storage].no.record(1.0);
    flatkv.num_kv_pairs[DataDb::Legacy].add(4);
    flatkv.snapshot_prune_attempts.no.add(2);
    flatkv.current_version.set(77);
    flatkv.snapshot_prune.record(3.0);
    let expected = expected(&[
        ("flatkv_open_latency{read_only=false,success=true}", 1),
        ("flatkv_commit_batch_latency{db=storage,success=false}", 1),
        ("flatkv_num_kv_pairs{db=legacy}", 4),
        ("flatkv_snapshot_prune_attempts{success=false}", 2),
        ("flatkv_current_version{}", 77),
        ("flatkv_snapshot_prune_latency{}", 1),
    ]);
    let after = page(&registry);
    assert_eq!(moved(&before, &after), expected);
    assert_eq!(page(&other), before, "registries do not mix");
    assert_eq!(page(&registry), after, "looking moves nothing");
}

#[test]
fn a_histogram_shows_its_buckets() {
    let registry = Registry::new();
    let table = LittMetrics::new(&registry).table("t\"");
    [1e-5, 3e-5, 299.0, 301.0].into_iter().for_each(|value| table.write.record(value));
    let page: Value = serde_json::from_str(&registry.snapshot_json()).unwrap();
    let name = "litt_write_latency_seconds";
    let family = page.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    let series = &family["series"][0];
    assert_eq!(series["labels"], json!({ "table": "t\"" }));
    let mut counts = [0; 24];
    [0, 2, 22, 23].into_iter().for_each(|bucket| counts[bucket] = 1);
    assert_eq!(series["counts"], json!(counts));
    assert_eq!((&series["count"], &series["sum"]), (&json!(4), &json!(600.00004)));
}

#[test]
fn collectors_run_before_a_snapshot_until_their_source_is_gone() {
    let registry = Registry::new();
    assert!(!page(&registry).keys().any(|name| name.starts_with("rocksdb_")));
    let rocksdb = RocksdbMetrics::new(&registry);
    let source = Arc::new(AtomicI64::new(5));
    let weak = Arc::downgrade(&source);
    let calls = Arc::new(AtomicI64::new(0));
    let counted = calls.clone();
    registry.collect_with(move || {
        counted.fetch_add(1, SeqCst);
        let Some(source) = weak.upgrade() else { return false };
        rocksdb.families[DataDb::Code].files[6].set(source.load(SeqCst));
        true
    });
    let name = "rocksdb_files{db=code,level=6}";
    assert_eq!(page(&registry)[name], 5);
    source.store(6, SeqCst);
    assert_eq!(page(&registry)[name], 6);
    drop(source);
    assert_eq!((page(&registry)[name], page(&registry)[name]), (6, 6));
    assert_eq!(calls.load(SeqCst), 3, "never called again once its source is gone");
    // The oldest gives way to one too many.
    let ran = Arc::new(AtomicI64::new(0));
    for number in 0..=MAX_COLLECTORS as i64 {
        let ran = ran.clone();
        registry.collect_with(move || ran.fetch_add(1 << number, SeqCst) >= 0);
    }
    page(&registry);
    assert_eq!(ran.load(SeqCst), (1 << (MAX_COLLECTORS + 1)) - 2);
}
