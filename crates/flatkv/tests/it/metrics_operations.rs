//! Metrics of what operators do: snapshots, rollbacks, imports. Each series moves by exactly what
//! was done.

use crate::{
    metrics::{Page, expected, moved, page, with_flush},
    model::{BASE, Block, Home, Random},
    snapshots::{at, grow},
};
use hearth_flatkv::{CommitmentKind, FlatKv, FlatKvError, ImportSource, JoinedTables, Options, roll_back};
use hearth_metrics::Registry;
use hearth_primitives::Height;
use std::{sync::Arc, thread::sleep, time::Duration};

/// Options of a home with a registry of metrics.
fn told(home: &Home, registry: &Registry) -> Options {
    Options { metrics: registry.clone(), ..home.options() }
}

fn chain_of(home: &Home, options: Options, to: Height) -> (Arc<FlatKv>, Vec<Block>) {
    let kv = FlatKv::open(options, home.tables.clone()).unwrap();
    let (mut chain, mut random) = (Vec::new(), Random(11));
    grow(&kv, home, &mut chain, to, &mut random);
    (kv, chain)
}

/// What moves but for the series that commits and openings move, which have tests of their own.
fn moved_by_operation(before: &Page, after: &Page) -> Page {
    let mut moved = moved(before, after);
    moved.retain(|name, _| {
        ["flatkv_snapshot_", "flatkv_current_snapshot", "flatkv_rollback", "flatkv_import", "flatkv_flush"]
            .iter()
            .any(|part| name.starts_with(part))
    });
    moved
}

#[test]
fn a_snapshot_is_one_write_and_one_pruning_pass() {
    let (home, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    let options =
        Options { metrics: registry.clone(), ..home.options_with(|settings| settings.snapshot_keep = 2) };
    let (kv, mut chain) = chain_of(&home, options, BASE);
    let mut random = Random(12);
    let one = [("flatkv_snapshot_write_latency(true)", 1), ("flatkv_snapshot_prune_latency()", 1)];
    for (height, removed) in [(BASE + 3, 0), (BASE + 5, 0), (BASE + 9, 1)] {
        grow(&kv, &home, &mut chain, height, &mut random);
        let before = page(&registry);
        kv.snapshot().unwrap();
        let mut rows = with_flush(expected(&one));
        let height_before = before["flatkv_current_snapshot_height()"];
        rows.insert("flatkv_current_snapshot_height()".into(), height as i64 - height_before);
        if removed > 0 {
            rows.insert("flatkv_snapshot_prune_attempts(true)".into(), removed);
        }
        assert_eq!(eventually(&before, &registry, &rows), rows, "height {height}");
    }
    // One of this height is there: nothing was done.
    let before = page(&registry);
    kv.snapshot().unwrap();
    assert_eq!(moved(&before, &page(&registry)), Page::new());
}

/// What moved, once it is what is expected or after a while: a thread looks for the end of a flush.
fn eventually(before: &Page, registry: &Registry, expected: &Page) -> Page {
    for _ in 0..500 {
        if moved(before, &page(registry)) == *expected {
            break;
        }
        sleep(Duration::from_millis(2));
    }
    moved(before, &page(registry))
}

#[test]
fn a_rollback_is_one_sample_however_it_goes() {
    for from_snapshot in [false, true] {
        let home = Home::new(CommitmentKind::LtHash);
        let (kv, mut chain) = chain_of(&home, home.options(), BASE + 4);
        kv.snapshot().unwrap();
        grow(&kv, &home, &mut chain, BASE + 8, &mut Random(13));
        kv.close().unwrap();
        drop(kv);
        let tables = home.tables.clone() as Arc<dyn JoinedTables>;
        let registry = Registry::new();
        let before = page(&registry);
        let refused = roll_back(&told(&home, &registry), &tables, BASE + 9, from_snapshot).unwrap_err();
        assert!(matches!(refused, FlatKvError::Unreachable { .. }), "{refused}");
        let after = page(&registry);
        assert_eq!(moved_by_operation(&before, &after)["flatkv_rollback_latency(false)"], 1);
        roll_back(&told(&home, &registry), &tables, BASE + 6, from_snapshot).unwrap();
        let done = moved(&after, &page(&registry));
        assert_eq!(
            (done["flatkv_rollback_latency(true)"], done.get("flatkv_rollback_latency(false)")),
            (1, None)
        );
        let (height, there) = (BASE as i64 + 6, &page(&registry));
        assert_eq!(
            (there["flatkv_current_version()"], there["flatkv_current_snapshot_height()"]),
            (height, height)
        );
        // Opening a home that was rolled back is no rollback.
        let reopened = Registry::new();
        drop(FlatKv::open(told(&home, &reopened), home.tables.clone()).unwrap());
        assert_eq!(page(&reopened)["flatkv_rollback_latency(true)"], 0);
    }
}

#[test]
fn an_import_counts_its_rows_by_data_db() {
    let home = Home::new(CommitmentKind::LtHash);
    let (kv, chain) = chain_of(&home, home.options(), BASE + 20);
    let top = at(&chain, BASE + 20);
    let mut bytes = Vec::new();
    let exported = kv.export(top.height, top.parent, &[], &mut bytes, &mut |_| true).unwrap();
    let (target, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    let import = |home: &Home, registry: &Registry, bytes: &[u8]| {
        let mut input = bytes;
        let source = ImportSource::open(&mut input)?;
        let anchor = |_: &_| Ok::<_, FlatKvError>((Vec::new(), home.tables.append(10)));
        FlatKv::import(&told(home, registry), home.tables.clone(), source, anchor, &mut |_| true)
    };
    let before = page(&registry);
    let (kv, _) = import(&target, &registry, &bytes).unwrap();
    let done = moved_by_operation(&before, &page(&registry));
    let of = |name: &str| done.get(name).copied().unwrap_or(0);
    let counts = exported.counts;
    assert!(counts.accounts > 0 && counts.slots > 0 && counts.codes > 0, "{counts:?}");
    for (db, rows) in [("account", counts.accounts), ("storage", counts.slots), ("code", counts.codes)] {
        assert_eq!(of(&format!("flatkv_import_kv_pairs({db})")), rows as i64, "{db}");
        // So few rows are one batch.
        assert_eq!(of(&format!("flatkv_import_worker_flush_latency({db},true)")), 1, "{db}");
    }
    assert_eq!(
        of("flatkv_import_kv_pairs(legacy)") + of("flatkv_import_worker_flush_latency(legacy,true)"),
        0
    );
    assert_eq!((of("flatkv_import_latency(true)"), of("flatkv_import_latency(false)")), (1, 0));
    assert_eq!(of("flatkv_snapshot_write_latency(true)"), 1, "an import ends in a snapshot");
    drop(kv);

    // What is cut off is an import that failed.
    let (other, registry) = (Home::new(CommitmentKind::LtHash), Registry::new());
    assert!(import(&other, &registry, &bytes[..bytes.len() - 3]).is_err());
    let there = page(&registry);
    assert_eq!((there["flatkv_import_latency(false)"], there["flatkv_import_latency(true)"]), (1, 0));
}
