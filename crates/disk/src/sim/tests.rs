//! What the simulated disk promises to lose, keep and tear.

use super::*;
use std::collections::BTreeSet;

const SEEDS: u64 = 400;

fn path(name: &str) -> &Path {
    Path::new(name)
}

fn write(disk: &SimDisk, name: &str, bytes: &[u8]) -> Arc<dyn DiskFile> {
    let file = disk.create(path(name)).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

/// What a file holds after each of many cuts; `None` where it is gone.
fn outcomes(name: &str, make: impl Fn(&SimDisk)) -> BTreeSet<Option<Vec<u8>>> {
    (0..SEEDS)
        .map(|seed| {
            let disk = SimDisk::new();
            make(&disk);
            disk.power_cut(seed).read(path(name)).ok()
        })
        .collect()
}

#[test]
fn what_is_synced_survives_every_cut() {
    let found = outcomes("/a", |disk| {
        let file = write(disk, "/a", &[7; 2000]);
        file.sync_data().unwrap();
        disk.sync_dir(path("/")).unwrap();
    });
    assert_eq!(found, BTreeSet::from([Some(vec![7; 2000])]));
}

#[test]
fn a_file_whose_folder_is_not_synced_may_vanish() {
    let found = outcomes("/a", |disk| write(disk, "/a", b"data").sync_all().unwrap());
    assert_eq!(found, BTreeSet::from([None, Some(b"data".to_vec())]));
}

#[test]
fn unsynced_bytes_are_lost_kept_or_torn_by_sectors() {
    let found = outcomes("/a", |disk| {
        let file = write(disk, "/a", &[1; 4 * SECTOR]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        file.write_all_at(&[2; 4 * SECTOR - 100], 100).unwrap();
    });
    let sectors = |bytes: &Vec<u8>| -> Vec<u8> { (1..=4).map(|n| bytes[n * SECTOR - 1]).collect() };
    let kinds: BTreeSet<_> = found.iter().flatten().map(sectors).collect();
    assert!(kinds.contains(&vec![1; 4]) && kinds.contains(&vec![2; 4]), "{kinds:?}");
    assert!(kinds.contains(&vec![2, 1, 2, 1]), "a tear in the middle: {kinds:?}");
    for bytes in found.iter().flatten() {
        assert_eq!(bytes.len(), 4 * SECTOR);
        assert_eq!(bytes[..100], [1; 100], "a sector that was kept has the bytes before it");
        assert!(bytes.chunks(SECTOR).skip(1).all(|sector| sector.iter().all(|b| *b == sector[0])));
    }
}

#[test]
fn a_size_may_be_durable_without_its_bytes() {
    let found = outcomes("/a", |disk| {
        let file = write(disk, "/a", &[1; SECTOR]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        file.write_all_at(&[2; SECTOR], SECTOR as u64).unwrap();
    });
    let (old, zeros) = (vec![1; SECTOR], [vec![1; SECTOR], vec![0; SECTOR]].concat());
    let kept = [vec![1; SECTOR], vec![2; SECTOR]].concat();
    assert_eq!(found, BTreeSet::from([Some(old), Some(zeros), Some(kept)]));
}

#[test]
fn of_several_writes_to_a_sector_any_number_may_have_got_there() {
    let found = outcomes("/a", |disk| {
        let file = write(disk, "/a", b"0");
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        file.write_all_at(b"1", 0).unwrap();
        file.write_all_at(b"2", 0).unwrap();
    });
    let found: Vec<_> = found.into_iter().flatten().collect();
    assert_eq!(found, [b"0", b"1", b"2"]);
}

#[test]
fn a_truncated_file_never_shows_earlier_bytes_past_the_cut() {
    for seed in 0..SEEDS {
        let disk = SimDisk::new();
        let file = write(&disk, "/a", &[1; 16384]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        file.set_len(1000).unwrap();
        file.sync_all().unwrap();
        file.write_all_at(&[2; 100], 9000).unwrap();
        let bytes = disk.power_cut(seed).read(path("/a")).unwrap();
        assert_eq!(bytes[..1000], [1; 1000]);
        assert!(bytes[1000..].iter().all(|b| *b != 1), "seed {seed}: bytes came back");
    }
}

#[test]
fn an_unsynced_truncation_leaves_the_old_bytes_or_none() {
    let found = outcomes("/a", |disk| {
        let file = write(disk, "/a", &[1; 16384]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        file.set_len(0).unwrap();
        file.write_all_at(&[2; 16384], 0).unwrap();
    });
    let mut old = 0;
    for bytes in found.iter().flatten().filter(|bytes| bytes.len() == 16384) {
        let blocks: BTreeSet<_> = bytes.chunks(SECTOR).map(|sector| sector[0]).collect();
        old += usize::from(blocks.contains(&1));
        assert!(!(blocks.contains(&1) && blocks.contains(&2)), "two lives of a file at once");
    }
    assert!(old > 0 && found.contains(&Some(vec![2; 16384])) && found.contains(&Some(Vec::new())));
}

#[test]
fn names_that_are_not_synced_may_stay_or_come() {
    let base = |disk: &SimDisk| {
        for (name, bytes) in [("/a", b"a"), ("/b", b"b")] {
            write(disk, name, bytes).sync_all().unwrap();
        }
        disk.sync_dir(path("/")).unwrap();
    };
    let a_and_b = |change: &dyn Fn(&SimDisk)| -> BTreeSet<(bool, Vec<u8>)> {
        let cut = |seed| {
            let disk = SimDisk::new();
            base(&disk);
            change(&disk);
            let after = disk.power_cut(seed);
            (after.exists(path("/a")).unwrap(), after.read(path("/b")).unwrap_or_default())
        };
        (0..SEEDS).map(cut).collect()
    };
    let renamed = a_and_b(&|disk| disk.rename(path("/a"), path("/b")).unwrap());
    assert_eq!(renamed, BTreeSet::from([(true, b"b".to_vec()), (false, b"a".to_vec())]), "a rename is whole");
    let removed = a_and_b(&|disk| disk.remove_file(path("/a")).unwrap());
    assert_eq!(removed, BTreeSet::from([(true, b"b".to_vec()), (false, b"b".to_vec())]));
    let both = a_and_b(&|disk| {
        disk.remove_file(path("/a")).unwrap();
        disk.remove_file(path("/b")).unwrap();
    });
    assert_eq!(both.len(), 4, "each unlink on its own: {both:?}");
    let synced = a_and_b(&|disk| {
        disk.remove_file(path("/a")).unwrap();
        disk.sync_dir(path("/")).unwrap();
    });
    assert_eq!(synced, BTreeSet::from([(false, b"b".to_vec())]));
}

#[test]
fn a_rename_rests_on_the_file_being_made() {
    for seed in 0..SEEDS {
        let disk = SimDisk::new();
        disk.create_dir_all(path("/d/e")).unwrap();
        write(&disk, "/d/tmp", b"new").sync_all().unwrap();
        disk.rename(path("/d/tmp"), path("/d/e/name")).unwrap();
        disk.sync_dir(path("/d/e")).unwrap();
        let after = disk.power_cut(seed);
        assert_eq!(after.files(path("/")).unwrap(), [path("/d/e/name")], "seed {seed}");
    }
}

#[test]
fn folders_need_a_sync_as_files_do() {
    let mut kept = 0;
    for seed in 0..SEEDS {
        let disk = SimDisk::new();
        disk.create_dir(path("/d")).unwrap();
        write(&disk, "/d/a", b"a").sync_all().unwrap();
        disk.sync_dir(path("/d")).unwrap();
        let after = disk.power_cut(seed);
        kept += usize::from(after.exists(path("/d")).unwrap());
        assert_eq!(after.exists(path("/d/a")).unwrap(), after.exists(path("/d")).unwrap(), "seed {seed}");
    }
    assert!(kept > 0 && kept < SEEDS as usize);
}

#[test]
fn a_failed_sync_drops_the_bytes_and_the_next_one_succeeds() {
    let mut seen = BTreeSet::new();
    for n in 0..SEEDS {
        let disk = SimDisk::new();
        let file = write(&disk, "/a", &[1; 4 * SECTOR]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        // Moves the generator, which counts changes.
        (0..n).for_each(|_| file.sync_all().unwrap());
        file.write_all_at(&[2; 4 * SECTOR], 0).unwrap();
        disk.fail(Call::Sync, 0, Fault::Io);
        assert_eq!(file.sync_data().unwrap_err().raw_os_error(), Some(5));
        file.sync_data().unwrap();
        let mut now = vec![0; 4 * SECTOR];
        file.read_exact_at(&mut now, 0).unwrap();
        let after = disk.power_cut(n).read(path("/a")).unwrap();
        seen.insert((now == [2; 4 * SECTOR], after == [2; 4 * SECTOR]));
    }
    assert!(seen.contains(&(true, false)), "readers saw it, the platter never had it");
    assert!(seen.contains(&(false, false)), "readers saw it go");
}

#[test]
fn a_failed_sync_of_a_folder_is_forgotten_as_well() {
    let lost = (0..SEEDS).filter(|n| {
        let disk = SimDisk::new();
        (0..*n).for_each(|_| disk.sync_dir(path("/")).unwrap());
        write(&disk, "/a", b"a").sync_all().unwrap();
        disk.fail(Call::SyncDir, 0, Fault::Io);
        disk.sync_dir(path("/")).unwrap_err();
        disk.sync_dir(path("/")).unwrap();
        !disk.power_cut(*n).exists(path("/a")).unwrap()
    });
    let lost = lost.count() as u64;
    assert!(lost > 0 && lost < SEEDS, "{lost}");
}

#[test]
fn a_full_disk_takes_what_fits_and_more_when_there_is_room() {
    let disk = SimDisk::with_capacity(1000);
    let a = write(&disk, "/a", &[1; 600]);
    let b = disk.create(path("/b")).unwrap();
    assert_eq!(b.write_at(&[2; 600], 0).unwrap(), 400);
    assert_eq!(b.write_at(&[2; 600], 400).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(b.set_len(401).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(disk.create(path("/c")).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(a.write_at(&[3; 600], 0).unwrap(), 600, "what is there may be written over");
    disk.remove_file(path("/a")).unwrap();
    assert_eq!(disk.free_bytes(path("/")).unwrap(), 0, "it is open still");
    drop(a);
    assert_eq!(disk.free_bytes(path("/")).unwrap(), 600);
    b.write_all_at(&[2; 200], 400).unwrap();
    b.set_len(100).unwrap();
    assert_eq!(disk.used(), 100);
    assert_eq!(disk.kill().used(), 100);
}

#[test]
fn faults_come_at_the_chosen_call() {
    let disk = SimDisk::new();
    let file = disk.create(path("/a")).unwrap();
    disk.fail(Call::Write, 1, Fault::Full);
    disk.fail(Call::Write, 2, Fault::Io);
    disk.fail(Call::Read, 0, Fault::Io);
    file.write_all_at(b"1", 0).unwrap();
    assert_eq!(file.write_all_at(b"2", 1).unwrap_err().raw_os_error(), Some(28));
    assert_eq!(file.write_all_at(b"3", 1).unwrap_err().raw_os_error(), Some(5));
    file.write_all_at(b"4", 1).unwrap();
    assert_eq!(disk.read(path("/a")).unwrap_err().raw_os_error(), Some(5));
    assert_eq!(disk.read(path("/a")).unwrap(), b"14");
}

#[test]
fn short_calls_are_finished_by_the_loops() {
    let disk = SimDisk::new();
    disk.short_calls(2, 9);
    let bytes: Vec<u8> = (0..5000_u32).map(|n| n as u8).collect();
    let file = write(&disk, "/a", &bytes);
    let writes = disk.changes() - 1;
    assert!(writes > 1, "{writes}");
    let mut buf = vec![0; 5000];
    assert!((0..50).any(|_| file.read_at(&mut buf, 0).unwrap() < 5000));
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(buf, bytes);
}

#[test]
fn the_disk_dies_at_the_chosen_change_in_every_handle() {
    let disk = SimDisk::new();
    disk.keep_journal(2);
    let file = write(&disk, "/a", b"1");
    disk.die_at(3);
    assert!(!disk.is_dead());
    assert!(file.sync_data().is_err(), "the third change");
    assert!(disk.is_dead());
    assert!(file.write_at(b"2", 1).is_err(), "nothing of it gets there");
    assert!(file.len().is_err() && disk.clone().list(path("/")).is_err());
    assert_eq!(disk.journal(), ["1 Write /a", "2 Sync /a"]);
    let after = disk.kill();
    assert_eq!(after.read(path("/a")).unwrap(), b"1");
    assert!(disk.exists(path("/a")).is_err(), "the old disk stays dead");
}

#[test]
fn a_killed_process_leaves_all_of_it_and_none_of_it_durable() {
    let mut lost = 0;
    for seed in 0..SEEDS {
        let disk = SimDisk::new();
        write(&disk, "/a", b"a");
        let after = disk.kill();
        assert_eq!(after.read(path("/a")).unwrap(), b"a");
        lost += u64::from(after.power_cut(seed).read(path("/a")).is_err());
    }
    assert!(lost > 0 && lost < SEEDS);
}

#[test]
fn a_seed_gives_the_same_cut_each_time() {
    let run = |seed| {
        let disk = SimDisk::new();
        for n in 0..8_u8 {
            let file = write(&disk, &format!("/{n}"), &[n; 3000]);
            file.write_all_at(&[n + 8; 700], 300).unwrap();
        }
        disk.remove_file(path("/3")).unwrap();
        let after = disk.power_cut(seed);
        let files = after.files(path("/")).unwrap();
        files.into_iter().map(|file| (file.clone(), after.read(&file).unwrap())).collect::<Vec<_>>()
    };
    assert!((0..50).all(|seed| run(seed) == run(seed)));
    assert!((0..50).map(run).collect::<BTreeSet<_>>().len() > 25);
}

#[test]
fn flips_are_seen_and_durable() {
    let disk = SimDisk::new();
    let file = write(&disk, "/a", b"abc");
    disk.flip(path("/a"), 1, 1).unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(path("/")).unwrap();
    disk.flip(path("/a"), 2, 1).unwrap();
    assert_eq!(disk.read(path("/a")).unwrap(), b"acb");
    assert_eq!(disk.power_cut(0).read(path("/a")).unwrap(), b"acb");
    assert_eq!(disk.flip(path("/a"), 3, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn paths_and_kinds_answer_as_the_real_disk_does() {
    let disk = SimDisk::new();
    disk.create_dir_all(path("/d/e")).unwrap();
    let kind = |result: io::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(disk.create_dir(path("/x/y"))), io::ErrorKind::NotFound);
    assert_eq!(kind(disk.create_dir(path("/d/e"))), io::ErrorKind::AlreadyExists);
    assert_eq!(kind(disk.remove_dir(path("/d"))), io::ErrorKind::DirectoryNotEmpty);
    assert_eq!(kind(disk.remove_file(path("/d"))), io::ErrorKind::IsADirectory);
    assert_eq!(kind(disk.rename(path("/n"), path("/d/n"))), io::ErrorKind::NotFound);
    write(&disk, "/d/f", b"f");
    assert_eq!(kind(disk.remove_dir(path("/d/f"))), io::ErrorKind::NotADirectory);
    let names: Vec<_> = disk.list(path("/d")).unwrap().into_iter().map(|e| (e.name, e.kind, e.len)).collect();
    assert_eq!(names, [("e".into(), EntryKind::Dir, 0), ("f".into(), EntryKind::File, 1)]);
    let reader = disk.open(path("/d/f"), OpenMode::Read).unwrap();
    assert_eq!(reader.write_at(b"x", 0).unwrap_err().raw_os_error(), Some(9));
    disk.remove_file(path("/d/f")).unwrap();
    let mut byte = [0];
    reader.read_exact_at(&mut byte, 0).unwrap();
    assert_eq!(&byte, b"f", "an open file stays readable");
    assert_eq!(reader.read_at(&mut byte, 1).unwrap(), 0);
}

#[test]
fn locks_name_their_holder_and_end_with_the_process() {
    let disk = SimDisk::new();
    let lock = disk.lock(path("/LOCK")).unwrap();
    let Err(LockError::Held { holder: Some(holder), .. }) = disk.lock(path("/LOCK")) else { panic!("twice") };
    assert_eq!(holder.pid, std::process::id());
    let disk = disk.kill();
    let again = disk.lock(path("/LOCK")).unwrap();
    drop(again);
    disk.lock(path("/LOCK")).unwrap();
    drop(lock);
}

#[test]
fn an_ignored_sync_loses_what_it_says_it_keeps() {
    for call in [Call::Sync, Call::SyncDir] {
        let lost = (0..SEEDS).filter(|seed| {
            let disk = SimDisk::new();
            disk.ignore(call);
            let disk = disk.power_cut(0);
            write(&disk, "/a", b"a").sync_all().unwrap();
            disk.sync_dir(path("/")).unwrap();
            disk.power_cut(*seed).read(path("/a")).unwrap_or_default() != b"a"
        });
        assert!(lost.count() > 0, "{call:?}");
    }
}

#[test]
fn a_write_in_which_the_process_dies_may_be_done_in_part() {
    let parts: BTreeSet<_> = (2..40)
        .map(|n| {
            let disk = SimDisk::new();
            let file = disk.create(path("/a")).unwrap();
            (2..n).for_each(|_| file.set_len(0).unwrap());
            disk.die_at(n);
            file.write_at(b"abc", 0).unwrap_err();
            file.write_at(b"xyz", 0).unwrap_err();
            disk.kill().read(path("/a")).unwrap()
        })
        .collect();
    assert_eq!(parts, BTreeSet::from([b"".to_vec(), b"a".to_vec(), b"ab".to_vec(), b"abc".to_vec()]));
}

#[test]
fn a_snapshot_goes_its_own_way() {
    let disk = SimDisk::new();
    let file = write(&disk, "/a", b"a");
    let other = disk.snapshot();
    file.write_all_at(b"b", 0).unwrap();
    other.remove_file(path("/a")).unwrap();
    assert_eq!(disk.read(path("/a")).unwrap(), b"b");
    assert_eq!(other.files(path("/")).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn a_second_name_is_durable_alone_and_keeps_the_bytes() {
    let found = outcomes("/b", |disk| {
        let file = write(disk, "/a", &[9; 10]);
        file.sync_all().unwrap();
        disk.sync_dir(path("/")).unwrap();
        disk.link(path("/a"), path("/b")).unwrap();
        disk.remove_file(path("/a")).unwrap();
        assert_eq!(disk.read(path("/b")).unwrap(), [9; 10]);
        assert!(disk.link(path("/a"), path("/c")).is_err() && disk.link(path("/b"), path("/b")).is_err());
    });
    assert_eq!(found, BTreeSet::from([None, Some(vec![9; 10])]));
}
