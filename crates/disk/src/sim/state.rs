//! Files, folders and names of a simulated disk: as they are seen, and as they are on the platter.

use super::{
    cut::{Style, image},
    plan::Plan,
    rng::Rng,
};
use crate::Holder;
use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    io,
    ops::Range,
    path::{Component, Path, PathBuf},
};

/// Identity of a file or folder.
pub(super) type Id = u64;
/// The folder that is always there.
pub(super) const ROOT: Id = 0;

/// A change to a file's bytes.
#[derive(Clone, Debug)]
pub(crate) enum DataOp {
    /// Bytes at an offset.
    Write(usize, Vec<u8>),
    /// A new size.
    SetLen(usize),
}

impl DataOp {
    /// Size of a file of `len` bytes after it.
    pub(crate) fn len_after(&self, len: usize) -> usize {
        match self {
            Self::Write(offset, bytes) => len.max(offset + bytes.len()),
            Self::SetLen(new) => *new,
        }
    }

    /// Bytes of a file of `len` bytes that it changes.
    pub(crate) fn touches(&self, len: usize) -> Range<usize> {
        match self {
            Self::Write(offset, bytes) => *offset..offset + bytes.len(),
            Self::SetLen(new) => (*new).min(len)..len,
        }
    }

    /// Changes the sector that starts at `start`.
    pub(crate) fn apply_to_sector(&self, sector: &mut [u8], start: usize) {
        match self {
            Self::Write(offset, bytes) => {
                let from = start.max(*offset);
                let to = (start + sector.len()).min(offset + bytes.len());
                if from < to {
                    sector[from - start..to - start].copy_from_slice(&bytes[from - offset..to - offset]);
                }
            }
            Self::SetLen(len) => {
                let from = len.saturating_sub(start).min(sector.len());
                sector[from..].fill(0);
            }
        }
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, new) => {
                let end = offset + new.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(new);
            }
            Self::SetLen(len) => bytes.resize(*len, 0),
        }
    }
}

/// A file: what readers see, what is on the platter, and what lies between, oldest first, with its
/// moment.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNode {
    pub(super) live: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<(u64, DataOp)>,
    /// Names that readers see.
    links: u32,
    pub(super) handles: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir { live: BTreeMap<OsString, Id>, durable: BTreeMap<OsString, Id> },
}

/// A change of names, whole or not at all: a name of a folder, and what it stands for afterwards.
#[derive(Clone, Debug)]
struct NameOp {
    at: u64,
    changes: Vec<(Id, OsString, Option<Id>)>,
}

impl NameOp {
    /// Whether this cannot have happened without an earlier one: it is about the same name or the
    /// same file.
    fn rests_on(&self, earlier: &Self) -> bool {
        self.changes.iter().any(|(dir, name, id)| {
            earlier
                .changes
                .iter()
                .any(|(of, named, was)| (of, named) == (dir, name) || (id.is_some() && id == was))
        })
    }
}

/// The changes of names that a cut leaves: any, but none without those that it rests on.
fn survivors(ops: &[NameOp], mut keeps: impl FnMut(&NameOp) -> bool) -> impl Iterator<Item = &NameOp> {
    let mut lost: Vec<&NameOp> = Vec::new();
    ops.iter().filter(move |op| {
        let kept = keeps(op) && !lost.iter().any(|earlier| op.rests_on(earlier));
        if !kept {
            lost.push(op);
        }
        kept
    })
}

#[derive(Debug)]
pub(super) struct State {
    nodes: HashMap<Id, Node>,
    next: Id,
    names: Vec<NameOp>,
    /// Counts changes; orders them.
    moment: u64,
    pub(super) locks: HashMap<PathBuf, Holder>,
    pub(super) plan: Plan,
    /// Bytes that files may take, and do.
    pub(super) capacity: u64,
    pub(super) used: u64,
}

pub(super) fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl State {
    pub(super) fn new(capacity: u64) -> Self {
        let root = Node::Dir { live: BTreeMap::new(), durable: BTreeMap::new() };
        Self {
            nodes: HashMap::from([(ROOT, root)]),
            next: ROOT + 1,
            names: Vec::new(),
            moment: 0,
            locks: HashMap::new(),
            plan: Plan::default(),
            capacity,
            used: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    // Names.

    /// What a path leads to.
    pub(super) fn find(&self, path: &Path) -> io::Result<Id> {
        let mut id = ROOT;
        for part in path.components() {
            match part {
                Component::Normal(name) => id = *self.dir(id)?.get(name).ok_or_else(not_found)?,
                Component::RootDir | Component::CurDir => {}
                _ => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(id)
    }

    /// The folder and the name of a path that may not exist.
    fn place(&self, path: &Path) -> io::Result<(Id, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let dir = self.find(path.parent().unwrap_or(Path::new("")))?;
        self.dir(dir)?;
        Ok((dir, name.to_owned()))
    }

    pub(super) fn dir(&self, id: Id) -> io::Result<&BTreeMap<OsString, Id>> {
        match self.nodes.get(&id) {
            Some(Node::Dir { live, .. }) => Ok(live),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[&id]
    }

    pub(super) fn file(&mut self, id: Id) -> io::Result<&mut FileNode> {
        match self.nodes.get_mut(&id) {
            Some(Node::File(file)) => Ok(file),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn lookup(&self, dir: Id, name: &OsStr) -> io::Result<Option<Id>> {
        Ok(self.dir(dir)?.get(name).copied())
    }

    /// Changes names, as readers see them; durable later.
    fn change(&mut self, changes: Vec<(Id, OsString, Option<Id>)>) {
        for (dir, name, id) in &changes {
            let Some(Node::Dir { live, .. }) = self.nodes.get_mut(dir) else { continue };
            let before = match id {
                Some(id) => live.insert(name.clone(), *id),
                None => live.remove(name),
            };
            for (id, by) in before.map(|id| (id, -1)).into_iter().chain(id.map(|id| (id, 1))) {
                if let Some(Node::File(file)) = self.nodes.get_mut(&id) {
                    file.links = file.links.saturating_add_signed(by);
                }
                self.free_if_unused(id, by < 0);
            }
        }
        let at = self.tick();
        self.names.push(NameOp { at, changes });
    }

    /// Frees a file's space when neither a name nor a handle is left; `less` says that one of these
    /// has just gone.
    pub(super) fn free_if_unused(&mut self, id: Id, less: bool) {
        if let (true, Some(Node::File(file))) = (less, self.nodes.get(&id))
            && file.links == 0
            && file.handles == 0
        {
            self.used = self.used.saturating_sub(file.live.len() as u64);
        }
    }

    /// Makes a file or folder.
    pub(super) fn make(&mut self, path: &Path, dir: bool) -> io::Result<Id> {
        let (parent, name) = self.place(path)?;
        if self.lookup(parent, &name)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if self.used >= self.capacity {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let id = self.next;
        self.next += 1;
        let node = if dir {
            Node::Dir { live: BTreeMap::new(), durable: BTreeMap::new() }
        } else {
            Node::File(FileNode::default())
        };
        self.nodes.insert(id, node);
        self.change(vec![(parent, name, Some(id))]);
        Ok(id)
    }

    /// Gives a file one more name.
    pub(super) fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let id = self.find(from)?;
        self.file(id)?;
        let (dir, name) = self.place(to)?;
        if self.lookup(dir, &name)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.change(vec![(dir, name, Some(id))]);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let ((from_dir, from_name), (to_dir, to_name)) = (self.place(from)?, self.place(to)?);
        let id = self.lookup(from_dir, &from_name)?.ok_or_else(not_found)?;
        if let Some(old) = self.lookup(to_dir, &to_name)? {
            match (self.node(id), self.node(old)) {
                _ if id == old => return Ok(()),
                (Node::File(_), Node::File(_)) => {}
                (Node::Dir { .. }, Node::Dir { live, .. }) if live.is_empty() => {}
                (Node::Dir { .. }, Node::Dir { .. }) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
                (Node::File(_), Node::Dir { .. }) => return Err(io::ErrorKind::IsADirectory.into()),
                (Node::Dir { .. }, Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        self.change(vec![(to_dir, to_name, Some(id)), (from_dir, from_name, None)]);
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path, dir: bool) -> io::Result<()> {
        let (parent, name) = self.place(path)?;
        let id = self.lookup(parent, &name)?.ok_or_else(not_found)?;
        match self.node(id) {
            Node::Dir { .. } if !dir => return Err(io::ErrorKind::IsADirectory.into()),
            Node::File(_) if dir => return Err(io::ErrorKind::NotADirectory.into()),
            Node::Dir { live, .. } if !live.is_empty() => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        self.change(vec![(parent, name, None)]);
        Ok(())
    }

    /// Makes the names of a folder durable. A rename goes whole, also where its other folder is not
    /// synced.
    pub(super) fn sync_dir(&mut self, dir: Id) {
        let now = self.take_names(dir);
        self.apply_names(now);
    }

    /// A sync of a folder that fails: any of its changes may have got through, and the next sync
    /// knows of none.
    pub(super) fn fail_sync_dir(&mut self, dir: Id, rng: &mut Rng) {
        let now = self.take_names(dir);
        let kept = survivors(&now, |_| rng.chance(1, 2)).cloned().collect();
        self.apply_names(kept);
    }

    /// Takes out the changes of a folder's names, and the earlier ones elsewhere that they rest on.
    fn take_names(&mut self, dir: Id) -> Vec<NameOp> {
        let mut taken: Vec<NameOp> = Vec::new();
        let mut left = Vec::new();
        for op in std::mem::take(&mut self.names).into_iter().rev() {
            let here = op.changes.iter().any(|(of, ..)| *of == dir);
            if here || taken.iter().any(|later| later.rests_on(&op)) {
                taken.push(op);
            } else {
                left.push(op);
            }
        }
        left.reverse();
        taken.reverse();
        self.names = left;
        taken
    }

    fn apply_names(&mut self, ops: Vec<NameOp>) {
        for (dir, name, id) in ops.into_iter().flat_map(|op| op.changes) {
            if let Some(Node::Dir { durable, .. }) = self.nodes.get_mut(&dir) {
                match id {
                    Some(id) => durable.insert(name, id),
                    None => durable.remove(&name),
                };
            }
        }
    }

    // Bytes.

    /// Writes as many bytes as there is room for.
    pub(super) fn write(&mut self, id: Id, buf: &[u8], offset: u64) -> io::Result<usize> {
        let free = self.capacity.saturating_sub(self.used);
        let len = self.file(id)?.live.len() as u64;
        let room = len.saturating_sub(offset).saturating_add(free.saturating_sub(offset.saturating_sub(len)));
        let n = (buf.len() as u64).min(room) as usize;
        if n == 0 && !buf.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.change_bytes(id, DataOp::Write(offset as usize, buf[..n].to_vec()))?;
        Ok(n)
    }

    pub(super) fn set_len(&mut self, id: Id, len: u64) -> io::Result<()> {
        let now = self.file(id)?.live.len() as u64;
        if len.saturating_sub(now) > self.capacity.saturating_sub(self.used) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.change_bytes(id, DataOp::SetLen(len as usize))
    }

    fn change_bytes(&mut self, id: Id, op: DataOp) -> io::Result<()> {
        let at = self.tick();
        let file = self.file(id)?;
        let before = file.live.len() as u64;
        op.apply(&mut file.live);
        let after = file.live.len() as u64;
        file.pending.push((at, op));
        self.used = (self.used + after).saturating_sub(before);
        Ok(())
    }

    /// Makes a file's bytes durable.
    pub(super) fn sync(&mut self, id: Id) -> io::Result<()> {
        let file = self.file(id)?;
        for (_, op) in file.pending.drain(..) {
            op.apply(&mut file.durable);
        }
        Ok(())
    }

    /// A sync that fails: some of the bytes got through, the rest count as clean and are never
    /// written again. Readers see them until their pages are dropped, which may be at once.
    pub(super) fn fail_sync(&mut self, id: Id, rng: &mut Rng) -> io::Result<()> {
        let at = self.tick();
        let file = self.file(id)?;
        let pending = std::mem::take(&mut file.pending);
        let len = file.live.len();
        file.durable = image(&file.durable, &pending, Style::Mixed(rng.below(8)), rng);
        if rng.chance(1, 2) {
            file.live.clone_from(&file.durable);
            file.live.resize(len, 0);
        }
        // The size lives in another place, and does get there with the next sync.
        if file.durable.len() != len {
            file.pending.push((at, DataOp::SetLen(len)));
        }
        Ok(())
    }

    /// Changes a byte where it lies, on the platter and for readers.
    pub(super) fn flip(&mut self, id: Id, offset: usize, mask: u8) -> io::Result<()> {
        let file = self.file(id)?;
        let byte = file.live.get_mut(offset).ok_or(io::ErrorKind::UnexpectedEof)?;
        *byte ^= mask;
        if let Some(byte) = file.durable.get_mut(offset) {
            *byte ^= mask;
        }
        for (_, op) in &mut file.pending {
            if let DataOp::Write(at, bytes) = op
                && let Some(byte) = offset.checked_sub(*at).and_then(|i| bytes.get_mut(i))
            {
                *byte ^= mask;
            }
        }
        Ok(())
    }

    // The end.

    /// The disk after a power cut.
    pub(super) fn after_power_cut(&self, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let files = self.nodes.values().filter_map(|node| match node {
            Node::File(file) => file.pending.first().map(|(at, _)| *at),
            Node::Dir { .. } => None,
        });
        let first = files.chain(self.names.first().map(|op| op.at)).min().unwrap_or(self.moment);
        let style = Style::choose(&mut rng, first, self.moment + 1);

        let mut after = Self::new(self.capacity);
        after.next = self.next;
        let platter = self.nodes.iter().filter_map(|(id, node)| match node {
            Node::Dir { durable, .. } => Some((*id, durable.clone())),
            Node::File(_) => None,
        });
        let mut dirs: HashMap<Id, BTreeMap<OsString, Id>> = platter.collect();
        for op in survivors(&self.names, |op| style.keeps_name(&mut rng, op.at)) {
            for (dir, name, id) in &op.changes {
                let Some(dir) = dirs.get_mut(dir) else { continue };
                match id {
                    Some(id) => dir.insert(name.clone(), *id),
                    None => dir.remove(name),
                };
            }
        }
        // What no name leads to any more is gone.
        let mut todo = vec![ROOT];
        while let Some(id) = todo.pop() {
            if let Some(Node::File(file)) = after.nodes.get_mut(&id) {
                file.links += 1;
                continue;
            }
            let node = match &self.nodes[&id] {
                Node::Dir { .. } => {
                    let names = dirs.remove(&id).unwrap_or_default();
                    todo.extend(names.values());
                    Node::Dir { live: names.clone(), durable: names }
                }
                Node::File(file) => {
                    let bytes = image(&file.durable, &file.pending, style, &mut rng);
                    after.used += bytes.len() as u64;
                    let (live, durable) = (bytes.clone(), bytes);
                    Node::File(FileNode { live, durable, links: 1, ..FileNode::default() })
                }
            };
            after.nodes.insert(id, node);
        }
        after
    }

    /// The disk after the process died: what readers saw is there, and what was not synced still is
    /// not.
    pub(super) fn killed(&self) -> Self {
        let mut nodes = self.nodes.clone();
        let mut used = 0;
        for node in nodes.values_mut() {
            if let Node::File(file) = node {
                file.handles = 0;
                used += if file.links > 0 { file.live.len() as u64 } else { 0 };
            }
        }
        Self {
            nodes,
            next: self.next,
            names: self.names.clone(),
            moment: self.moment,
            locks: HashMap::new(),
            plan: Plan::default(),
            capacity: self.capacity,
            used,
        }
    }
}
