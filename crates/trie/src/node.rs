//! Nodes of a Merkle Patricia trie and their RLP (yellow paper, appendix D).
//!
//! Keys are Keccak-256 hashes, so all have 64 nibbles and no branch carries a value.

use crate::damaged;
use alloy_primitives::B256;
use alloy_rlp::{BufMut, Encodable, Header, PayloadView};
use hearth_keccak::{keccak256_each, keccak256_one};
use hearth_primitives::StateError;
use smallvec::{SmallVec, smallvec};

/// Nodes with a shorter RLP are embedded in their parent instead of being named by their hash.
const EMBED_BELOW_BYTES: usize = 32;
/// RLP of a hash: a byte that says its length, and the hash.
const HASH_RLP_BYTES: usize = 33;

/// A node whose children may still be on disk.
#[derive(Debug)]
pub(crate) enum Node {
    /// The rest of a key and its value.
    Leaf { path: Vec<u8>, value: Vec<u8> },
    /// Nibbles that all keys below share, never empty; the child is a branch.
    Extension { path: Vec<u8>, child: Link },
    /// One child a nibble, at least two of them set.
    Branch { children: Box<[Link; 16]>, marks: Marks },
}

/// The children of a branch that there is work on, a bit for each nibble. Most changes are to one
/// child, so hashing and collecting do not look at the other 15.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Those that changed since the branch was hashed.
    changed: u16,
    /// Those that changed since the branch was stored.
    unstored: u16,
}

impl Marks {
    /// Of a branch that is new, or whose changes are not known.
    pub(crate) const ALL: Self = Self { changed: u16::MAX, unstored: u16::MAX };

    /// Notes that a child changed.
    pub(crate) fn set(&mut self, nibble: u8) {
        let bit = 1 << (nibble & 15);
        self.changed |= bit;
        self.unstored |= bit;
    }

    /// Takes the children that are to be looked at for the store.
    pub(crate) fn take_unstored(&mut self) -> u16 {
        std::mem::take(&mut self.unstored)
    }
}

/// The children that a mask names, with their nibbles.
pub(crate) fn marked(children: &mut [Link; 16], mask: u16) -> impl Iterator<Item = (u8, &mut Link)> {
    (0u8..).zip(children).filter(move |(nibble, _)| mask >> nibble & 1 == 1)
}

/// What stands in a parent for its child.
#[derive(Debug, Default)]
pub(crate) enum Link {
    /// No child.
    #[default]
    Empty,
    /// A child that was not loaded.
    Hash(B256),
    /// A child in memory.
    Node(Loaded),
}

/// A node in memory. What its parent needs of it stands in the parent, so that hashing and
/// collecting do not fetch nodes that did not change; and no more, since a branch has 16 of these.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) body: Box<Body>,
    /// How the parent names it; `None` while it or anything below it changed.
    pub(crate) reference: Option<Reference>,
    /// Whether the store holds exactly this node at its path.
    pub(crate) stored: bool,
    /// Whether the store holds any node at its path.
    pub(crate) has_row: bool,
    /// In how many updates it changed since it was loaded; half of that where the trie was made
    /// smaller since.
    pub(crate) uses: u8,
}

/// What an allocation takes beside its content, about, in bytes.
const ALLOCATION_BYTES: usize = 16;
/// What a branch takes in memory, about, in bytes.
pub(crate) const BRANCH_BYTES: usize = size_of::<Body>() + size_of::<[Link; 16]>() + 2 * ALLOCATION_BYTES;
/// Updates that change a node, from which on it is likely to change again.
const HOT_USES: u8 = 2;

impl Loaded {
    /// A node as the store has it.
    pub(crate) fn stored(node: Node, hash: B256) -> Self {
        let reference = Some(Reference::Hash(hash));
        Self { body: Body::new(node), reference, stored: true, has_row: true, uses: 0 }
    }

    /// Whether it is likely to change again.
    pub(crate) fn is_hot(&self) -> bool {
        self.uses >= HOT_USES
    }
}

/// What only the work on a node itself needs.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) node: Node,
    /// Its RLP from when it was hashed until it is stored, or empty; outdated while there is no
    /// reference.
    pub(crate) rlp: Vec<u8>,
}

impl Body {
    pub(crate) fn new(node: Node) -> Box<Self> {
        Box::new(Self { node, rlp: Vec::new() })
    }

    /// Brings the RLP up to date. References of all children must be computed.
    fn encode(&mut self) {
        let Self { node, rlp } = self;
        if let Node::Branch { children, marks } = node {
            let changed = std::mem::take(&mut marks.changed);
            if replace_hashes(children, changed, rlp) {
                return;
            }
        }
        // The bytes from before a change are of no use but for their memory.
        rlp.clear();
        node.encode_to(rlp);
    }
}

/// Replaces the hashes of changed children in the RLP that a branch had before they changed.
/// `false` if that is not all that differs: one of these is not named by its hash now, or was not.
///
/// An entry is longest where it is a hash. So if all changed children are named by hashes now, and
/// the RLP would be as long as it was, then each was named by a hash before, and all entries stand
/// where they stood.
fn replace_hashes(children: &mut [Link; 16], changed: u16, rlp: &mut [u8]) -> bool {
    let payload: usize = children.iter().map(Link::encoded_len).sum::<usize>() + 1;
    let Some(start) = rlp.len().checked_sub(payload) else { return false };
    if start != list_header_len(payload) {
        return false;
    }
    let mut at = start;
    (0u8..).zip(children).all(|(nibble, child)| {
        let entry = at..at + child.encoded_len();
        at = entry.end;
        if changed >> nibble & 1 == 0 {
            return true;
        }
        match (child.named(), rlp.get_mut(entry)) {
            (Some(hash), Some([_, place @ ..])) => {
                place.copy_from_slice(hash.as_slice());
                true
            }
            _ => false,
        }
    })
}

/// Bytes before the items of a list.
fn list_header_len(payload: usize) -> usize {
    Header { list: true, payload_length: payload }.length()
}

/// How a parent names a child.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// By its hash.
    Hash(B256),
    /// By its RLP itself.
    Embedded(ShortRlp),
}

/// The RLP of a node that is shorter than a hash.
#[derive(Clone, Debug)]
pub(crate) struct ShortRlp {
    len: u8,
    bytes: [u8; EMBED_BELOW_BYTES - 1],
}

impl ShortRlp {
    /// `None` where it is too long.
    fn new(rlp: &[u8]) -> Option<Self> {
        let mut short = Self { len: rlp.len() as u8, bytes: [0; EMBED_BELOW_BYTES - 1] };
        short.bytes.get_mut(..rlp.len())?.copy_from_slice(rlp);
        Some(short)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Link {
    /// A link to a node that is new in memory.
    pub(crate) fn new(node: Node) -> Self {
        let (reference, stored) = (None, false);
        Self::Node(Loaded { body: Body::new(node), reference, stored, has_row: false, uses: 0 })
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The hash by which a parent names it; `None` of no child, of one that is embedded, and of
    /// one whose reference is not computed.
    fn named(&self) -> Option<&B256> {
        match self {
            Self::Hash(hash) => Some(hash),
            Self::Node(Loaded { reference: Some(Reference::Hash(hash)), .. }) => Some(hash),
            _ => None,
        }
    }

    /// Bytes that [`Self::encode`] appends.
    fn encoded_len(&self) -> usize {
        match self {
            Self::Empty => 1,
            Self::Hash(_) => HASH_RLP_BYTES,
            Self::Node(loaded) => match &loaded.reference {
                Some(Reference::Hash(_)) => HASH_RLP_BYTES,
                Some(Reference::Embedded(rlp)) => rlp.as_slice().len(),
                None => unreachable!("children are hashed before their parent"),
            },
        }
    }

    /// Appends what the parent's RLP holds for this child, whose reference must be computed.
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.put_u8(alloy_rlp::EMPTY_STRING_CODE),
            Self::Hash(hash) => encode_hash(hash, out),
            Self::Node(loaded) => match &loaded.reference {
                Some(Reference::Hash(hash)) => encode_hash(hash, out),
                Some(Reference::Embedded(rlp)) => out.extend_from_slice(rlp.as_slice()),
                None => unreachable!("children are hashed before their parent"),
            },
        }
    }

    /// Computes the references of this node and of everything below that changed.
    pub(crate) fn hash(&mut self) {
        Self::hash_all(std::iter::once(self));
    }

    /// Computes the references of nodes and of everything below them that changed: level by level
    /// from the lowest one, so that many nodes are hashed at once.
    pub(crate) fn hash_all<'a>(links: impl Iterator<Item = &'a mut Self>) {
        hash_level(&mut links.filter_map(Self::changed).collect());
    }

    /// The node, if its reference is not computed.
    fn changed(&mut self) -> Option<&mut Loaded> {
        match self {
            Self::Node(loaded) if loaded.reference.is_none() => Some(loaded),
            _ => None,
        }
    }
}

/// Changed nodes of one level. Mostly few: a block changes one path in each of some tries.
type Level<'a> = SmallVec<[&'a mut Loaded; 8]>;

/// Computes the references of nodes at equal depths, after those of everything below them. The
/// depth of calls is that of the trie, 64 at most.
fn hash_level(level: &mut Level<'_>) {
    let mut below = Level::new();
    for loaded in level.iter_mut() {
        match &mut loaded.body.node {
            Node::Leaf { .. } => {}
            Node::Extension { child, .. } => below.extend(child.changed()),
            Node::Branch { children, marks } => {
                below.extend(marked(children, marks.changed).filter_map(|(_, child)| child.changed()));
            }
        }
    }
    if !below.is_empty() {
        hash_level(&mut below);
    }
    drop(below);
    refer(level);
}

/// Computes the references of nodes whose children have theirs.
fn refer(level: &mut Level<'_>) {
    let mut named = SmallVec::<[&mut Loaded; 8]>::new();
    for loaded in level {
        loaded.body.encode();
        // Yellow paper, appendix D: what is shorter than its hash stands for itself.
        match ShortRlp::new(&loaded.body.rlp) {
            Some(short) => loaded.reference = Some(Reference::Embedded(short)),
            None => named.push(loaded),
        }
    }
    let rlps: SmallVec<[&[u8]; 8]> = named.iter().map(|loaded| loaded.body.rlp.as_slice()).collect();
    let mut hashes: SmallVec<[B256; 8]> = smallvec![B256::ZERO; rlps.len()];
    keccak256_each(&rlps, &mut hashes);
    drop(rlps);
    for (loaded, hash) in named.into_iter().zip(hashes) {
        loaded.reference = Some(Reference::Hash(hash));
    }
}

/// Most bytes of a value: an account's, of two hashes, a nonce, a balance and what says their
/// lengths.
const VALUE_BYTES: usize = 112;
/// Most bytes of a leaf with such a value: a list of two strings.
const LEAF_BYTES: usize = 2 + (1 + PACKED_BYTES) + 2 + VALUE_BYTES;

/// The hash of a leaf with this rest of a key; `None` where the value is longer than any.
pub(crate) fn leaf_hash(path: &[u8], value: &dyn Encodable) -> Option<B256> {
    let mut bytes = [0; VALUE_BYTES];
    let value = encoded(&mut bytes, value.length(), |out| value.encode(out))?;
    let path = pack(path, true);
    let payload_length = string_len(&path) + string_len(value);
    let header = Header { list: true, payload_length };
    let mut bytes = [0; LEAF_BYTES];
    let rlp = encoded(&mut bytes, header.length() + payload_length, |out| {
        header.encode(out);
        path.as_slice().encode(out);
        value.encode(out);
    });
    rlp.map(keccak256_one)
}

/// What is written into the first `length` of some bytes, where they are as many.
fn encoded(bytes: &mut [u8], length: usize, encode: impl FnOnce(&mut dyn BufMut)) -> Option<&[u8]> {
    let bytes = bytes.get_mut(..length)?;
    encode(&mut &mut *bytes);
    Some(bytes)
}

impl Node {
    /// What it takes in memory without the nodes below it, about, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let own = size_of::<Body>() + ALLOCATION_BYTES;
        match self {
            Self::Leaf { path, value } => own + path.len() + value.len() + 2 * ALLOCATION_BYTES,
            Self::Extension { path, .. } => own + path.len() + ALLOCATION_BYTES,
            Self::Branch { .. } => BRANCH_BYTES,
        }
    }

    /// The node's RLP. References of all children must be computed.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_to(&mut out);
        out
    }

    /// Appends the node's RLP.
    fn encode_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Leaf { path, value } => {
                let path = pack(path, true);
                list(string_len(&path) + string_len(value), out);
                encode_string(&path, out);
                encode_string(value, out);
            }
            Self::Extension { path, child } => {
                let path = pack(path, false);
                list(string_len(&path) + child.encoded_len(), out);
                encode_string(&path, out);
                child.encode(out);
            }
            Self::Branch { children, .. } => {
                list(children.iter().map(Link::encoded_len).sum::<usize>() + 1, out);
                children.iter().for_each(|child| child.encode(out));
                out.put_u8(alloy_rlp::EMPTY_STRING_CODE);
            }
        }
    }

    /// Whether a node with this RLP is stored under its hash, not inlined in its parent. The root
    /// is always stored.
    pub(crate) fn has_own_node(rlp: &[u8]) -> bool {
        rlp.len() >= EMBED_BELOW_BYTES
    }

    /// Reads a node from its RLP.
    pub(crate) fn decode(mut rlp: &[u8]) -> Result<Self, StateError> {
        let bad = |_| damaged();
        let PayloadView::List(items) = Header::decode_raw(&mut rlp).map_err(bad)? else {
            return Err(damaged());
        };
        if !rlp.is_empty() {
            return Err(damaged());
        }
        match items.as_slice() {
            [path, rest] => {
                let (path, leaf) = unpack(string(path)?)?;
                if leaf {
                    return Ok(Self::Leaf { path, value: string(rest)?.to_vec() });
                }
                let child = decode_link(rest)?;
                if path.is_empty() || child.is_empty() {
                    return Err(damaged());
                }
                Ok(Self::Extension { path, child })
            }
            // The last item is the value, which no branch of a trie of hashed keys has.
            items if items.len() == 17 && string(items[16])?.is_empty() => {
                let mut children: Box<[Link; 16]> = Box::default();
                for (child, item) in children.iter_mut().zip(items) {
                    *child = decode_link(item)?;
                }
                Ok(Self::Branch { children, marks: Marks::default() })
            }
            _ => Err(damaged()),
        }
    }
}

/// Reads what a parent holds for a child: nothing, a hash, or the child itself.
fn decode_link(item: &[u8]) -> Result<Link, StateError> {
    if item.first().is_some_and(|byte| *byte >= alloy_rlp::EMPTY_LIST_CODE) {
        // A longer node would have been named by its hash: it has no second encoding.
        let short = ShortRlp::new(item).ok_or_else(damaged)?;
        let body = Body::new(Node::decode(item)?);
        let reference = Some(Reference::Embedded(short));
        return Ok(Link::Node(Loaded { body, reference, stored: false, has_row: false, uses: 0 }));
    }
    match string(item)? {
        [] => Ok(Link::Empty),
        hash => B256::try_from(hash).map(Link::Hash).map_err(|_| damaged()),
    }
}

fn string(mut item: &[u8]) -> Result<&[u8], StateError> {
    Header::decode_bytes(&mut item, false).map_err(|_| damaged())
}

/// Appends the start of a list whose items take so many bytes, and makes room for them.
fn list(payload_length: usize, out: &mut Vec<u8>) {
    let header = Header { list: true, payload_length };
    out.reserve_exact(header.length() + payload_length);
    header.encode(out);
}

fn string_len(bytes: &[u8]) -> usize {
    Encodable::length(bytes)
}

fn encode_string(bytes: &[u8], out: &mut Vec<u8>) {
    Encodable::encode(bytes, out);
}

fn encode_hash(hash: &B256, out: &mut Vec<u8>) {
    out.put_u8(alloy_rlp::EMPTY_STRING_CODE + B256::len_bytes() as u8);
    out.extend_from_slice(hash.as_slice());
}

/// Most bytes of a packed path: the flags, and 64 nibbles.
const PACKED_BYTES: usize = 33;

/// Hex-prefix encoding (yellow paper, appendix C): a flag nibble, then two nibbles a byte.
fn pack(path: &[u8], leaf: bool) -> SmallVec<[u8; PACKED_BYTES]> {
    let flag = if leaf { 0x20 } else { 0 };
    let (first, rest) = match path.len() % 2 {
        1 => (flag | 0x10 | path[0], &path[1..]),
        _ => (flag, path),
    };
    let mut out = SmallVec::new();
    out.push(first);
    out.extend(rest.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    out
}

fn unpack(packed: &[u8]) -> Result<(Vec<u8>, bool), StateError> {
    let (&first, rest) = packed.split_first().ok_or_else(damaged)?;
    if first & 0xc0 != 0 || (first & 0x10 == 0 && first & 0x0f != 0) {
        return Err(damaged());
    }
    let mut path = Vec::with_capacity(1 + rest.len() * 2);
    if first & 0x10 != 0 {
        path.push(first & 0x0f);
    }
    path.extend(rest.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]));
    Ok((path, first & 0x20 != 0))
}

/// A hash as its 64 nibbles.
pub(crate) fn nibbles(hash: &B256) -> [u8; 64] {
    let mut out = [0; 64];
    for (pair, byte) in out.chunks_exact_mut(2).zip(hash.iter()) {
        pair[0] = byte >> 4;
        pair[1] = byte & 0x0f;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A child by a number: none, one named by its hash, or an embedded one of some length.
    fn child(number: u64) -> Link {
        let byte = number as u8;
        match number % 8 {
            0 => Link::Empty,
            1 | 2 => {
                let reference = ShortRlp::new(&vec![byte; 1 + (number >> 8) as usize % 31]);
                let body = Body::new(Node::Leaf { path: Vec::new(), value: Vec::new() });
                let reference = reference.map(Reference::Embedded);
                Link::Node(Loaded { body, reference, stored: false, has_row: false, uses: 0 })
            }
            _ => Link::Hash(B256::repeat_byte(byte)),
        }
    }

    #[test]
    fn hashes_replaced_in_place_give_the_rlp_of_the_branch() {
        let node = Node::Branch { children: Box::default(), marks: Marks::ALL };
        let mut body = Body { node, rlp: Vec::new() };
        let (mut random, mut replaced) = (1_u64, 0);
        for round in 0..20_000 {
            let Node::Branch { children, marks } = &mut body.node else { unreachable!() };
            for _ in 0..1 + round % 3 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let nibble = (random >> 60) as u8;
                children[usize::from(nibble)] = child(random >> 24);
                marks.set(nibble);
            }
            let (changed, mut rlp) = (marks.changed, body.rlp.clone());
            replaced += usize::from(replace_hashes(children, changed, &mut rlp));
            body.encode();
            assert_eq!(body.rlp, body.node.encode(), "round {round}");
        }
        assert!(replaced > 2_000, "{replaced}");
    }
}
