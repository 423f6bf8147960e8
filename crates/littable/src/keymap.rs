//! Keys of a segment that is not sealed.

use crate::keys::{Id, KeyLocation, Spread};
use crate::pages::Budget;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// Where the keys of a segment are, in memory that counts against the bound for indexes.
#[derive(Debug)]
pub(crate) struct KeyMap {
    map: HashMap<Id, KeyLocation, Spread>,
    memory: usize,
    budget: Arc<Budget>,
}

impl KeyMap {
    pub fn new(budget: Arc<Budget>) -> Self {
        Self { map: HashMap::default(), memory: 0, budget }
    }

    pub fn insert(&mut self, id: Id, place: KeyLocation) {
        self.map.insert(id, place);
        let memory = self.bytes();
        if memory > self.memory {
            self.budget.add(memory - self.memory);
            self.memory = memory;
        }
    }

    /// Bytes in memory: the map keeps an eighth of its places free, and a byte beside each.
    fn bytes(&self) -> usize {
        match self.map.capacity() {
            0 => 0,
            capacity => (capacity * 8 / 7).next_power_of_two() * (size_of::<(Id, KeyLocation)>() + 1),
        }
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.memory
    }
}

impl Deref for KeyMap {
    type Target = HashMap<Id, KeyLocation, Spread>;

    fn deref(&self) -> &Self::Target {
        &self.map
    }
}

impl Drop for KeyMap {
    fn drop(&mut self) {
        self.budget.release(self.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NO_NUMBER;

    #[test]
    fn memory_is_charged_and_given_back() {
        let budget = Arc::new(Budget::new(0));
        let mut map = KeyMap::new(budget.clone());
        let place = KeyLocation { offset: 0, span: 0, skip: 0, len: 0, number: NO_NUMBER, raw: true };
        (0..1000_u32).for_each(|n| map.insert([n.to_be_bytes(); 3].concat().try_into().unwrap(), place));
        assert_eq!(budget.memory(), map.memory());
        let entry = size_of::<(Id, KeyLocation)>();
        assert!((1000 * entry..4000 * entry).contains(&map.memory()), "{}", map.memory());
        drop(map);
        assert_eq!(budget.memory(), 0);
    }
}
