//! Who gets the next child.
//!
//! Scripts that lately ran over a limit come after all others. Then clients take turns, and within
//! a client its scripts. The last idle child is kept: neither a client nor a script gets it that
//! has all the others already, unless the script has shown that it comes to an end. So a client
//! that fills the pool with scripts that never end leaves one child for the rest.

use crate::history::{History, ScriptRank};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Whose a child is, while it is leased.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub client: Arc<str>,
    pub script: u64,
}

/// A request that waits.
pub(crate) struct Waiting<G> {
    pub id: u64,
    pub holder: Holder,
    /// Children that it needs, all at once.
    pub children: usize,
    pub until: Instant,
    pub is_wanted: Box<dyn Fn() -> bool + Send>,
    pub grant: G,
}

/// What can be leased.
pub(crate) struct Supply<'a> {
    pub idle: usize,
    pub workers: usize,
    pub busy: &'a HashMap<u64, Holder>,
    pub history: &'a History,
    pub now: Instant,
}

impl Supply<'_> {
    /// Whether a holder may have so many of the idle children.
    pub fn may_take(&self, holder: &Holder, children: usize) -> bool {
        if children > self.idle {
            return false;
        }
        if children < self.idle || children >= self.workers {
            return true;
        }
        if self.busy.len() + children < self.workers {
            // More are being started.
            return true;
        }
        match self.history.standing(holder.script, self.now) {
            ScriptRank::Proven => true,
            ScriptRank::Overran => false,
            ScriptRank::New => {
                let mut others = self.busy.values();
                !others.all(|busy| busy.client == holder.client || busy.script == holder.script)
            }
        }
    }
}

/// Requests that wait, in the order in which they came.
pub(crate) struct Queue<G> {
    waiting: Vec<Waiting<G>>,
}

impl<G> Default for Queue<G> {
    fn default() -> Self {
        Self { waiting: Vec::new() }
    }
}

impl<G> Queue<G> {
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn push(&mut self, waiting: Waiting<G>) {
        self.waiting.push(waiting);
    }

    /// Takes out a request by its number.
    pub fn remove(&mut self, id: u64) -> Option<Waiting<G>> {
        let at = self.waiting.iter().position(|waiting| waiting.id == id)?;
        Some(self.waiting.remove(at))
    }

    /// Takes out the request to refuse where there are too many: of the client that has most in the
    /// queue and its script that has most the newest one. A client with few requests is not kept
    /// out by one with many.
    pub fn remove_excess(&mut self) -> Option<Waiting<G>> {
        let newest = &self.waiting.last()?.holder;
        let mut clients: HashMap<&str, usize> = HashMap::new();
        let mut scripts: HashMap<(&str, u64), usize> = HashMap::new();
        for Waiting { holder, .. } in &self.waiting {
            *clients.entry(&holder.client).or_default() += 1;
            *scripts.entry((&holder.client, holder.script)).or_default() += 1;
        }
        // Of those that have the same the newest request is it, since it was not promised a place.
        let rank = |waiting: &&Waiting<G>| {
            let Holder { client, script } = &waiting.holder;
            let (own_client, own) = (*client == newest.client, *script == newest.script);
            let of_client = clients.get(client.as_ref()).copied();
            let of_script = scripts.get(&(client.as_ref(), *script)).copied();
            ((of_client, own_client), (of_script, own), waiting.id)
        };
        let id = self.waiting.iter().max_by_key(rank)?.id;
        self.remove(id)
    }

    /// Removes and returns the next request whose children are available.
    pub fn next(&mut self, supply: &Supply<'_>) -> Option<Waiting<G>> {
        if supply.idle == 0 {
            return None;
        }
        let key = |waiting: &Waiting<G>| {
            let Holder { client, script } = &waiting.holder;
            let overran = supply.history.standing(*script, supply.now) == ScriptRank::Overran;
            (overran, supply.history.last_turns(client, *script))
        };
        let may = |waiting: &&Waiting<G>| supply.may_take(&waiting.holder, waiting.children);
        // Of equal ones the first is the one that came first.
        let id = self.waiting.iter().filter(may).min_by_key(|waiting| key(waiting))?.id;
        self.remove(id)
    }

    /// Takes out those that wait too long, or whose callers have given up.
    pub fn take_over(&mut self, now: Instant) -> Vec<Waiting<G>> {
        self.waiting.extract_if(.., |waiting| waiting.until <= now || !(waiting.is_wanted)()).collect()
    }

    /// Takes out everything.
    pub fn take_all(&mut self) -> Vec<Waiting<G>> {
        std::mem::take(&mut self.waiting)
    }

    /// When the first of them has waited too long.
    pub fn first_deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|waiting| waiting.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    struct Case {
        queue: Queue<&'static str>,
        busy: HashMap<u64, Holder>,
        history: History,
        now: Instant,
        workers: usize,
    }

    fn holder(client: &str, script: u64) -> Holder {
        Holder { client: Arc::from(client), script }
    }

    impl Case {
        fn new(workers: usize) -> Self {
            let (queue, busy, history) = Default::default();
            Self { queue, busy, history, now: Instant::now(), workers }
        }

        fn wait(&mut self, client: &str, script: u64, name: &'static str) {
            let id = self.queue.len() as u64 + 100 * script;
            let until = self.now + Duration::from_secs(5);
            let is_wanted = Box::new(|| true);
            let holder = holder(client, script);
            self.queue.push(Waiting { id, holder, children: 1, until, is_wanted, grant: name });
        }

        /// Gives one child and keeps account of it.
        fn give(&mut self) -> Option<&'static str> {
            let supply = Supply {
                idle: self.workers - self.busy.len(),
                workers: self.workers,
                busy: &self.busy,
                history: &self.history,
                now: self.now,
            };
            let next = self.queue.next(&supply)?;
            self.history.served(&next.holder.client, next.holder.script);
            self.busy.insert(self.busy.len() as u64, next.holder);
            Some(next.grant)
        }
    }

    #[test]
    fn clients_take_turns_and_their_scripts_do() {
        let mut case = Case::new(10);
        for (client, script, name) in
            [("a", 1, "a1"), ("a", 1, "a1 again"), ("a", 2, "a2"), ("b", 3, "b3"), ("b", 3, "b3 again")]
        {
            case.wait(client, script, name);
        }
        let order: Vec<_> = std::iter::from_fn(|| case.give()).collect();
        assert_eq!(order, ["a1", "b3", "a2", "b3 again", "a1 again"]);
    }

    #[test]
    fn a_script_that_overran_waits_for_all_others() {
        let mut case = Case::new(4);
        case.history.served(&Arc::from("b"), 2);
        case.history.served(&Arc::from("a"), 1);
        case.history.overran(1, case.now);
        case.wait("c", 1, "overran");
        case.wait("b", 2, "served before");
        assert_eq!(case.give(), Some("served before"));
        assert_eq!(case.give(), Some("overran"));
    }

    #[test]
    fn the_last_child_is_kept_for_those_who_have_none() {
        let mut case = Case::new(2);
        for (script, name) in [(1, "first"), (2, "second"), (3, "third")] {
            case.wait("hostile", script, name);
        }
        assert_eq!(case.give(), Some("first"));
        assert_eq!(case.give(), None, "the client has all but one");
        case.wait("honest", 4, "honest");
        assert_eq!(case.give(), Some("honest"));
        assert_eq!(case.give(), None, "none is idle");
    }

    #[test]
    fn a_script_that_came_to_an_end_before_gets_the_last_child_too() {
        let mut case = Case::new(2);
        case.history.served(&Arc::from("a"), 2);
        case.history.completed(2);
        case.wait("a", 1, "new");
        case.wait("a", 2, "proven");
        assert_eq!(case.give(), Some("new"));
        assert_eq!(case.give(), Some("proven"));
        case.busy.clear();
        case.history.overran(2, case.now);
        case.wait("b", 1, "new");
        case.wait("a", 2, "overran");
        assert_eq!(case.give(), Some("new"));
        assert_eq!(case.give(), None, "the last child is not for it");
    }

    #[test]
    fn what_needs_several_children_gets_them_at_once_or_waits() {
        let mut case = Case::new(2);
        case.wait("a", 1, "both");
        case.queue.waiting[0].children = 2;
        case.busy.insert(9, holder("b", 7));
        assert_eq!(case.give(), None);
        case.busy.clear();
        assert_eq!(case.give(), Some("both"));
    }

    #[test]
    fn too_many_are_refused_to_whoever_has_most() {
        let mut case = Case::new(1);
        for (id, (client, script, name)) in
            [("greedy", 1, "1a"), ("greedy", 1, "1b"), ("greedy", 2, "2a"), ("modest", 3, "3a")]
                .into_iter()
                .enumerate()
        {
            case.wait(client, script, name);
            case.queue.waiting[id].id = id as u64;
        }
        let mut excess = || case.queue.remove_excess().map(|waiting| waiting.grant);
        assert_eq!(
            excess(),
            Some("1b"),
            "the newest of the script that has most, of the client that has most"
        );
        assert_eq!(excess(), Some("2a"), "of scripts that have the same the newest");
        assert_eq!(excess(), Some("3a"), "of clients that have the same the newest");
        assert_eq!((excess(), excess()), (Some("1a"), None));
    }

    #[test]
    fn what_waits_too_long_or_is_not_wanted_leaves() {
        let mut case = Case::new(1);
        case.wait("a", 1, "late");
        case.wait("a", 2, "unwanted");
        case.wait("a", 3, "stays");
        case.queue.waiting[0].until = case.now;
        case.queue.waiting[1].is_wanted = Box::new(|| false);
        let gone: Vec<_> = case.queue.take_over(case.now).into_iter().map(|waiting| waiting.grant).collect();
        assert_eq!((gone, case.queue.len()), (vec!["late", "unwanted"], 1));
        assert_eq!(case.queue.first_deadline(), Some(case.now + Duration::from_secs(5)));
    }
}
