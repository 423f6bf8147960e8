//! Removing the files behind a cut; a cut that a crash interrupted is finished with it.

use crate::LittError;
use crate::ctx::Ctx;
use crate::doc;
use crate::format::{Head, SEGMENT_HEADER, SegmentHeader, position, put_head, split_position};
use crate::run::parse_run_name;
use crate::segment::{parse_segment_name, segment_name};
use crate::state::Cutting;
use hearth_disk::{Disk, DiskFile, OpenMode};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Removes the files behind a position and what is behind it in its own file, and takes the note of
/// the cut back.
pub(crate) fn drop_behind(ctx: &Ctx, shard: u8, cutting: Cutting) -> Result<(), LittError> {
    let disk = &*ctx.disk;
    let sync = |dir: &Path| disk.sync_dir(dir).map_err(LittError::io(dir));
    let (index, offset) = split_position(cutting.to);
    let (runs, segments) = files_from(ctx, shard, index)?;
    // Key indexes first: one that named what is not there any more would be believed.
    runs.iter().try_for_each(|path| doc::remove_if_there(disk, path))?;
    sync(&ctx.home)?;
    // From the back, so that there is never a gap.
    for number in (index + 1..=cutting.last).rev() {
        let name = segment_name(shard, number);
        let path = segments.get(&number).cloned();
        let path = path.unwrap_or_else(|| ctx.dir_for(shard, number).join(name));
        remove_for_sure(disk, &path)?;
        sync(path.parent().unwrap_or(&ctx.home))?;
    }
    if let Some(path) = segments.get(&index) {
        let file = disk.open(path, OpenMode::ReadWrite).map_err(LittError::io(path))?;
        let cut = file.set_len(offset.max(SEGMENT_HEADER as u64)).and_then(|()| file.sync_data());
        cut.map_err(LittError::io(path))?;
        if offset > SEGMENT_HEADER as u64 {
            note_durable(&*file, index, offset).map_err(LittError::io(path))?;
        }
    }
    ctx.update_state(|state| {
        state.forget_gone_from(shard, index + 1);
        state.cutting = None;
    })
}

/// Notes behind the last record of a segment that all of it is durable. The notes that said that
/// may have been behind the cut, and without one the next opening takes a damaged record for the
/// beginning of a torn tail.
fn note_durable(file: &dyn DiskFile, index: u32, end: u64) -> std::io::Result<()> {
    let mut header = [0; SEGMENT_HEADER];
    if file.read_at(&mut header, 0)? < SEGMENT_HEADER {
        return Ok(());
    }
    // A header that is damaged in both copies is found at the opening.
    let Ok(header) = SegmentHeader::decode(&header) else { return Ok(()) };
    let head = Head { mark: true, synced: Some(position(index, end)), ..Head::default() };
    let mut note = Vec::new();
    put_head(&mut note, header.seed(), end, &head, &[]);
    let noted = file.write_all_at(&note, end).and_then(|()| file.sync_data());
    match noted {
        // The first sync that finds space notes it.
        Err(error) if error.kind() == ErrorKind::StorageFull => {
            file.set_len(end).and_then(|()| file.sync_data())
        }
        noted => noted,
    }
}

/// Removes a file. One that is not there may come back with a power cut, if it was removed before
/// and the sync of its folder failed; it is made and removed once more, for the next sync to know
/// of it.
fn remove_for_sure(disk: &dyn Disk, path: &Path) -> Result<(), LittError> {
    let removed = match disk.remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => match disk.create(path) {
            // Nothing can be made, and a second failure at once is not expected.
            Err(error) if error.kind() == ErrorKind::StorageFull => Ok(()),
            made => made.and_then(|_| disk.remove_file(path)),
        },
        removed => removed,
    };
    removed.map_err(LittError::io(path))
}

type Paths = BTreeMap<u32, PathBuf>;

/// The files of a shard's key indexes that reach to a segment, and those of the segments from it
/// on. They are looked for on the disk: a merge that failed at its end leaves indexes that nothing
/// in memory knows.
fn files_from(ctx: &Ctx, shard: u8, index: u32) -> Result<(Vec<PathBuf>, Paths), LittError> {
    let (mut runs, mut segments) = (Vec::new(), Paths::new());
    for dir in &ctx.dirs {
        for entry in ctx.disk.list(dir).map_err(LittError::io(dir))? {
            let Some(name) = entry.name.to_str() else { continue };
            if parse_run_name(name).is_some_and(|(of, _, last)| of == shard && last >= index) {
                runs.push(dir.join(name));
            }
            if let Some((of, found)) = parse_segment_name(name)
                && of == shard
                && found >= index
            {
                segments.insert(found, dir.join(name));
            }
        }
    }
    Ok((runs, segments))
}
