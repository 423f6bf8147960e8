//! A queue in which clients take turns, so that a client with many requests does not delay the
//! others.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Waiting items by client, up to a limit. The items of one client leave in the order in which they
/// came; clients take turns.
#[derive(Debug)]
pub struct FairQueue<T> {
    limit: usize,
    lines: HashMap<Arc<str>, VecDeque<T>>,
    /// Clients with queued items; the first one is served next.
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl<T> FairQueue<T> {
    /// An empty queue for at most `limit` things.
    pub fn new(limit: usize) -> Self {
        Self { limit, lines: HashMap::new(), turns: VecDeque::new(), len: 0 }
    }

    /// Number of things that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a thing behind the others of its client.
    ///
    /// # Errors
    /// The thing itself, where the queue is full.
    pub fn push(&mut self, client: &Arc<str>, thing: T) -> Result<(), T> {
        if self.len >= self.limit {
            return Err(thing);
        }
        let line = self.lines.entry(client.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(client.clone());
        }
        line.push_back(thing);
        self.len += 1;
        Ok(())
    }

    /// Removes and returns the first item of the next client.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_of(|_| true).map(|(_, thing)| thing)
    }

    /// As [`Self::pop`], of the clients that `may` says so of; the others keep their turns.
    pub fn pop_of(&mut self, mut may: impl FnMut(&Arc<str>) -> bool) -> Option<(Arc<str>, T)> {
        let at = self.turns.iter().position(&mut may)?;
        let client = self.turns.remove(at)?;
        let line = self.lines.get_mut(&client)?;
        let thing = line.pop_front()?;
        self.len -= 1;
        if line.is_empty() {
            self.lines.remove(&client);
        } else {
            self.turns.push_back(client.clone());
        }
        Some((client, thing))
    }

    /// Takes out all things that `is_over` says so of, wherever they stand.
    pub fn extract(&mut self, mut is_over: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for line in self.lines.values_mut() {
            for thing in std::mem::take(line) {
                if is_over(&thing) { taken.push(thing) } else { line.push_back(thing) }
            }
        }
        self.len -= taken.len();
        self.lines.retain(|_, line| !line.is_empty());
        self.turns.retain(|client| self.lines.contains_key(client));
        taken
    }

    /// Removes and returns the newest item of the client with the most items, if that client has
    /// more items than `client` would have with one more. A client with few requests is thus never
    /// refused because of a client with many.
    pub fn make_room_for(&mut self, client: &Arc<str>) -> Option<T> {
        let own = self.lines.get(client).map_or(0, VecDeque::len);
        let (longest, line) = self.lines.iter_mut().max_by_key(|(_, line)| line.len())?;
        if line.len() <= own + 1 {
            return None;
        }
        let thing = line.pop_back()?;
        self.len -= 1;
        if line.is_empty() {
            let longest = longest.clone();
            self.turns.retain(|client| *client != longest);
            self.lines.remove(&longest);
        }
        Some(thing)
    }

    /// Most things of one client.
    pub fn most(&self) -> usize {
        self.lines.values().map(VecDeque::len).max().unwrap_or(0)
    }

    /// The first thing of each client.
    pub fn firsts(&self) -> impl Iterator<Item = &T> {
        self.lines.values().filter_map(VecDeque::front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(things: &[(&str, u32)]) -> FairQueue<u32> {
        let mut queue = FairQueue::new(6);
        for (client, thing) in things {
            queue.push(&Arc::from(*client), *thing).expect("room");
        }
        queue
    }

    fn rest(queue: &mut FairQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn clients_take_turns_and_each_keeps_its_order() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("b", 6)]);
        assert_eq!(queue.len(), 6);
        assert_eq!(rest(&mut queue), [1, 4, 5, 2, 6, 3]);
        assert!(queue.is_empty() && queue.turns.is_empty() && queue.lines.is_empty());
        queue.push(&Arc::from("a"), 7).expect("room");
        assert_eq!(rest(&mut queue), [7]);
    }

    #[test]
    fn who_may_not_have_more_keeps_its_turn() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5)]);
        let mut next = |barred: &str| queue.pop_of(|client| **client != *barred).map(|(_, thing)| thing);
        assert_eq!([next("a"), next("a"), next("c"), next("b")], [Some(3), Some(5), Some(1), Some(2)]);
        assert_eq!([next("b"), next("a"), next("a")], [None, Some(4), None]);
    }

    #[test]
    fn a_full_queue_gives_the_thing_back() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("b", 3), ("c", 4), ("c", 5), ("c", 6)]);
        assert_eq!(queue.push(&Arc::from("d"), 7), Err(7));
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.push(&Arc::from("d"), 7), Ok(()));
        assert_eq!((queue.push(&Arc::from("a"), 8), queue.len()), (Err(8), 6));
        assert_eq!(rest(&mut queue), [3, 4, 2, 7, 5, 6]);
    }

    #[test]
    fn what_is_over_goes_wherever_it_stands() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("b", 3), ("a", 4), ("c", 6)]);
        let mut over = queue.extract(|thing| thing % 3 == 0 || *thing == 2);
        over.sort_unstable();
        assert_eq!(over, [2, 3, 6]);
        assert_eq!((queue.len(), queue.firsts().copied().collect::<Vec<_>>()), (2, vec![1]));
        assert_eq!(rest(&mut queue), [1, 4]);
        assert!(queue.turns.is_empty() && queue.lines.is_empty());
    }

    #[test]
    fn who_asks_for_little_finds_room_where_another_has_most() {
        let mut queue = queue(&[("a", 1), ("a", 2), ("a", 3), ("b", 4)]);
        assert_eq!(
            queue.make_room_for(&Arc::from("a")),
            None,
            "the one that has most makes no room for itself"
        );
        assert_eq!(queue.make_room_for(&Arc::from("b")), Some(3));
        assert_eq!(queue.make_room_for(&Arc::from("b")), None, "both would have the same");
        assert_eq!(queue.make_room_for(&Arc::from("c")), Some(2));
        assert_eq!(queue.make_room_for(&Arc::from("c")), None);
        assert_eq!(rest(&mut queue), [1, 4]);
    }
}
