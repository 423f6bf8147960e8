//! A queue in which clients take turns, so that one who asks for much does not keep the others waiting.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// What waits, by whose it is. Things of one client leave in the order in which they came; clients take turns. The queue itself
/// has no bound: whoever fills it looks at [`Self::len`] first.
#[derive(Debug)]
pub struct FairQueue<T> {
    lines: HashMap<Arc<str>, VecDeque<T>>,
    /// Clients with something in the queue; the first is next.
    turns: VecDeque<Arc<str>>,
    len: usize,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { lines: HashMap::new(), turns: VecDeque::new(), len: 0 }
    }
}

impl<T> FairQueue<T> {
    /// Number of things that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a thing behind the others of its client.
    pub fn push(&mut self, client: &Arc<str>, thing: T) {
        let line = self.lines.entry(client.clone()).or_default();
        if line.is_empty() {
            self.turns.push_back(client.clone());
        }
        line.push_back(thing);
        self.len += 1;
    }

    /// Takes out the first thing of the client whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let client = self.turns.pop_front()?;
        let line = self.lines.get_mut(&client)?;
        let thing = line.pop_front()?;
        self.len -= 1;
        if line.is_empty() {
            self.lines.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(things: &[(&str, u32)]) -> FairQueue<u32> {
        let mut queue = FairQueue::default();
        for (client, thing) in things {
            queue.push(&Arc::from(*client), *thing);
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
        queue.push(&Arc::from("a"), 7);
        assert_eq!(rest(&mut queue), [7]);
    }
}
