//! Open files of sealed segments and indexes, at most so many at a time.

use crate::LittError;
use crate::keys::Spread;
use hearth_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Independent parts, so that readers rarely meet at a lock.
const PARTS: usize = 8;

/// A number for a file that no other file of this process has.
pub(crate) fn next_uid() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Open files by number. Who holds one keeps it open; beyond that the bound holds.
#[derive(Debug)]
pub(crate) struct Handles {
    disk: Arc<dyn Disk>,
    parts: Vec<Mutex<HandlePart>>,
    part_files: usize,
}

#[derive(Debug, Default)]
struct HandlePart {
    places: HashMap<u64, usize, Spread>,
    ring: Vec<(u64, Arc<dyn DiskFile>, bool)>,
    hand: usize,
}

impl Handles {
    pub fn new(disk: Arc<dyn Disk>, max_open_files: usize) -> Self {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Self { disk, parts, part_files: (max_open_files / PARTS).max(1) }
    }

    /// The open file with a number; opens it if it is not.
    pub fn get(&self, uid: u64, path: &Path) -> Result<Arc<dyn DiskFile>, LittError> {
        self.get_near(uid, path, &AtomicU32::default())
    }

    /// The same for who keeps the place where the file was last.
    pub fn get_near(&self, uid: u64, path: &Path, near: &AtomicU32) -> Result<Arc<dyn DiskFile>, LittError> {
        let part = &self.parts[uid as usize % PARTS];
        {
            let mut part = part.lock();
            let place = near.load(Ordering::Relaxed) as usize;
            let place = match part.ring.get(place) {
                Some((there, ..)) if *there == uid => Some(place),
                _ => part.places.get(&uid).copied(),
            };
            if let Some(place) = place {
                near.store(place as u32, Ordering::Relaxed);
                let (_, file, used) = &mut part.ring[place];
                *used = true;
                return Ok(file.clone());
            }
        }
        // Opened without the lock; two threads may do it at once, and the second one's handle is
        // kept.
        let file = self.disk.open(path, OpenMode::Read).map_err(LittError::io(path))?;
        let mut part = part.lock();
        let part = &mut *part;
        if part.places.contains_key(&uid) {
            return Ok(file);
        }
        if part.ring.len() < self.part_files {
            part.places.insert(uid, part.ring.len());
            part.ring.push((uid, file.clone(), false));
            return Ok(file);
        }
        while std::mem::take(&mut part.ring[part.hand].2) {
            part.hand = (part.hand + 1) % part.ring.len();
        }
        let place = part.hand;
        part.hand = (part.hand + 1) % part.ring.len();
        part.places.remove(&part.ring[place].0);
        part.places.insert(uid, place);
        part.ring[place] = (uid, file.clone(), false);
        Ok(file)
    }

    /// Closes a file that is going to be removed.
    pub fn close(&self, uid: u64) {
        let mut part = self.parts[uid as usize % PARTS].lock();
        let Some(place) = part.places.remove(&uid) else { return };
        part.ring.swap_remove(place);
        if let Some((moved, ..)) = part.ring.get(place) {
            let moved = *moved;
            part.places.insert(moved, place);
        }
        part.hand = 0;
    }
}
