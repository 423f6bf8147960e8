//! The sides of a write row: each takes keys and values, and makes them durable on request.

use crate::harness::Fallible;
use hearth_littable::{Littable, StoreOptions, Table, TableOptions};
use rocksdb::{DB, DBCompressionType, Options, WriteOptions};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Something that values are written to.
pub trait Side {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Fallible<()>;
    /// Returns when all that was put is durable.
    fn sync(&mut self) -> Fallible<()>;
}

/// Which side.
#[derive(Clone, Copy, Debug)]
pub enum Rival {
    Ours,
    /// write(2) of each value and fdatasync(2). Keys are not written.
    File,
    /// write(2) of gathered values of 1 MiB.
    GatheredFile,
    /// RocksDB with its log, which is synced.
    Rocks,
    /// The same with values in files of their own.
    Blob,
    /// RocksDB without a log, whose tables are flushed.
    RocksNoLog,
}

impl Rival {
    pub fn open(self, dir: &Path) -> Fallible<Box<dyn Side>> {
        Ok(match self {
            Self::Ours => Box::new(Ours::open(dir)?),
            Self::File => Box::new(Plain {
                file: File::create_new(dir.join("values"))?,
                gathered: Vec::new(),
                gather: 0,
            }),
            Self::GatheredFile => {
                let file = File::create_new(dir.join("values"))?;
                Box::new(Plain { file, gathered: Vec::with_capacity(2 << 20), gather: 1 << 20 })
            }
            Self::Rocks => Box::new(Rocks::open(dir, false, true)?),
            Self::Blob => Box::new(Rocks::open(dir, true, true)?),
            Self::RocksNoLog => Box::new(Rocks::open(dir, false, false)?),
        })
    }
}

struct Ours {
    table: Arc<Table>,
    _store: Littable,
}

impl Ours {
    fn open(dir: &Path) -> Fallible<Self> {
        let store = Littable::open(StoreOptions::new(dir))?;
        Ok(Self { table: store.table(TableOptions::new("t"))?, _store: store })
    }
}

impl Side for Ours {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Fallible<()> {
        Ok(self.table.put(key, value)?)
    }
    fn sync(&mut self) -> Fallible<()> {
        Ok(self.table.flush()?)
    }
}

struct Plain {
    file: File,
    gathered: Vec<u8>,
    /// Bytes that are gathered before they are written; 0 for none.
    gather: usize,
}

impl Side for Plain {
    fn put(&mut self, _: &[u8], value: &[u8]) -> Fallible<()> {
        if self.gather == 0 {
            return Ok(self.file.write_all(value)?);
        }
        self.gathered.extend_from_slice(value);
        if self.gathered.len() >= self.gather {
            self.file.write_all(&self.gathered)?;
            self.gathered.clear();
        }
        Ok(())
    }
    fn sync(&mut self) -> Fallible<()> {
        self.file.write_all(&self.gathered)?;
        self.gathered.clear();
        Ok(self.file.sync_data()?)
    }
}

struct Rocks {
    db: DB,
    write: WriteOptions,
    log: bool,
}

impl Rocks {
    fn open(dir: &Path, blob: bool, log: bool) -> Fallible<Self> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(DBCompressionType::None);
        options.increase_parallelism(2);
        options.set_enable_blob_files(blob);
        options.set_blob_compression_type(DBCompressionType::None);
        let mut write = WriteOptions::default();
        write.disable_wal(!log);
        Ok(Self { db: DB::open(&options, dir)?, write, log })
    }
}

impl Side for Rocks {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Fallible<()> {
        Ok(self.db.put_opt(key, value, &self.write)?)
    }
    fn sync(&mut self) -> Fallible<()> {
        match self.log {
            true => self.db.flush_wal(true)?,
            false => self.db.flush()?,
        }
        Ok(())
    }
}
