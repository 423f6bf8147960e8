//! A home of the suite and what a step does to it.

use crate::{
    child::mark,
    model::Block,
    story::{Step, Story},
    tables::FileTables,
};
use hearth_flatkv::{Commit, FlatKv, FlatKvError, JoinedTables, roll_back};
use hearth_primitives::Changeset;
use std::{
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
        let commit = Commit { height, hash, parent, changes, trie: None, state_root: None, index, positions };
        let kv = self.kv();
        if kv.head().is_none() { kv.init(commit) } else { kv.commit(commit) }
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
            Step::Rollback(to, anew) => {
                let options = story.setup.options(&self.dir);
                let anew = anew && self.kv().reach(&options, to, true).is_ok();
                self.kv().close()?;
                self.kv = None;
                let tables: Arc<dyn JoinedTables> = self.tables.clone();
                let rolled = roll_back(&options, &tables, to, anew);
                self.reopen(story)?;
                rolled.map(drop)
            }
        }
    }
}
