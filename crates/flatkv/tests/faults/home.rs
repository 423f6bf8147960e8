//! A home of the suite and what a step does to it.

use crate::{
    child::mark,
    model::Block,
    story::{Step, Story},
    tables::FileTables,
};
use hearth_flatkv::{Commit, FlatKv, FlatKvError, ImportSource, JoinedTables, roll_back};
use hearth_primitives::Changeset;
use std::{
    fs::{self, File},
    io::{BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The store with the table beside it.
pub struct Home {
    pub kv: Option<Arc<FlatKv>>,
    tables: Arc<FileTables>,
    dir: PathBuf,
}

impl Home {
    pub fn open(story: &Story, dir: &Path) -> Result<Self, FlatKvError> {
        let io = |source| FlatKvError::Io { path: dir.to_owned(), source };
        let tables = FileTables::open(dir).map_err(io)?;
        let mut home = Self { kv: None, tables, dir: dir.to_owned() };
        home.reopen(story)?;
        Ok(home)
    }

    fn reopen(&mut self, story: &Story) -> Result<(), FlatKvError> {
        self.kv = Some(FlatKv::open(story.setup.options(&self.dir), self.tables.clone())?);
        Ok(())
    }

    pub fn kv(&self) -> &Arc<FlatKv> {
        self.kv.as_ref().unwrap()
    }

    fn commit(&self, block: &Block, changes: &Changeset) -> Result<(), FlatKvError> {
        let io = |source| FlatKvError::Io { path: self.dir.join("table"), source };
        let positions = self.tables.append(block.height, &block.hash).map_err(io)?;
        let Block { height, hash, parent, .. } = *block;
        let index = block.index.clone();
        let commit = |positions| {
            let index = index.clone();
            Commit { height, hash, parent, changes, trie: None, state_root: None, index, positions }
        };
        let kv = self.kv();
        if kv.head().is_none() {
            return kv.init(commit(positions));
        }
        // Every other block that stands alone is prepared; where the store has no use for that, it
        // is committed like the others.
        let prepares = !changes.is_empty() && height.is_multiple_of(2);
        if prepares && kv.commit_prepared(kv.prepare(commit(Vec::new()))?, positions.clone())? {
            return Ok(());
        }
        kv.commit(commit(positions))
    }

    /// Carries out a step that the story has taken.
    pub fn step(&mut self, story: &Story, step: Step) -> Result<(), FlatKvError> {
        let top = story.chain.last().unwrap();
        match step {
            Step::Commit => self.commit(top, &top.changes),
            Step::Apply => {
                for part in &story.parts {
                    mark("apply");
                    self.kv().apply(&part.changes, &part.legacy)?;
                    mark("apply");
                }
                self.commit(top, &Changeset::default())
            }
            Step::Unwind(to) => self.kv().unwind(to),
            Step::Flush => self.kv().flush(),
            Step::Snapshot => self.kv().snapshot().map(drop),
            Step::Transfer(n) => self.transfer(story, top, n),
            Step::Rollback(to, from_snapshot) => {
                let options = story.setup.options(&self.dir);
                let from_snapshot = from_snapshot && self.kv().rollback_source(&options, to, true).is_ok();
                self.kv().close()?;
                self.kv = None;
                let tables: Arc<dyn JoinedTables> = self.tables.clone();
                let rolled = roll_back(&options, &tables, to, from_snapshot);
                self.reopen(story)?;
                rolled.map(drop)
            }
        }
    }

    /// Exports the head and imports it into a folder of its own.
    fn transfer(&self, story: &Story, top: &Block, n: u64) -> Result<(), FlatKvError> {
        let dir = side_dir(&self.dir, n);
        let path = dir.join("stream");
        let io = |source| FlatKvError::Io { path: path.clone(), source };
        // What a kill left of an earlier try of this step is the store's to deal with.
        fs::create_dir_all(&dir).map_err(io)?;
        let mut out = BufWriter::new(File::create(&path).map_err(io)?);
        self.kv().export(top.height, top.parent, &[], &mut out, &mut |_| true)?;
        out.flush().map_err(io)?;
        let mut input = BufReader::new(File::open(&path).map_err(io)?);
        let source = ImportSource::open(&mut input)?;
        let tables = FileTables::open(&dir).map_err(io)?;
        let anchor =
            |_: &_| Ok::<_, FlatKvError>((Vec::new(), tables.append(top.height, &top.hash).map_err(io)?));
        let options = story.setup.options(&dir);
        match FlatKv::import(&options, tables.clone(), source, anchor, &mut |_| true) {
            Ok((kv, _)) => kv.close(),
            // A kill between the end of the import and its acknowledgement.
            Err(FlatKvError::NotEmpty { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Where a transfer's store is.
pub fn side_dir(dir: &Path, n: u64) -> PathBuf {
    dir.join(format!("side-{n}"))
}
