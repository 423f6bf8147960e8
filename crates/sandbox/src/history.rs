//! What is known of scripts and clients from before: who had a turn last, and which scripts lately
//! ran over a limit.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a script that ran over a limit goes behind the others.
pub(crate) const PENALTY: Duration = Duration::from_secs(60);

/// Scripts, and clients, that are remembered.
const REMEMBERED: usize = 4096;

#[derive(Clone, Copy, Debug, Default)]
struct Script {
    turn: u64,
    overran: Option<Instant>,
    completed: bool,
}

/// Rank of a script: scripts with a better record are served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScriptRank {
    /// It came to an end within its limits, the last time.
    Proven,
    /// It is not known.
    New,
    /// It ran over a limit not long ago.
    Overran,
}

/// What is remembered. The oldest is forgotten.
#[derive(Debug, Default)]
pub(crate) struct History {
    turn: u64,
    clients: HashMap<Arc<str>, u64>,
    scripts: HashMap<u64, Script>,
}

impl History {
    pub fn standing(&self, script: u64, now: Instant) -> ScriptRank {
        match self.scripts.get(&script) {
            Some(Script { overran: Some(when), .. }) if now.duration_since(*when) < PENALTY => {
                ScriptRank::Overran
            }
            Some(Script { completed: true, .. }) => ScriptRank::Proven,
            _ => ScriptRank::New,
        }
    }

    /// Sequence numbers of the last lease of the client and of the script.
    pub fn last_turns(&self, client: &Arc<str>, script: u64) -> (u64, u64) {
        let client = self.clients.get(client).copied().unwrap_or(0);
        (client, self.scripts.get(&script).map_or(0, |script| script.turn))
    }

    pub fn served(&mut self, client: &Arc<str>, script: u64) {
        self.turn += 1;
        self.clients.insert(client.clone(), self.turn);
        self.scripts.entry(script).or_default().turn = self.turn;
        forget_oldest(&mut self.clients, |turn| *turn);
        forget_oldest(&mut self.scripts, |script| script.turn);
    }

    pub fn completed(&mut self, script: u64) {
        if let Some(script) = self.scripts.get_mut(&script) {
            (script.completed, script.overran) = (true, None);
        }
    }

    pub fn overran(&mut self, script: u64, now: Instant) {
        if let Some(script) = self.scripts.get_mut(&script) {
            (script.completed, script.overran) = (false, Some(now));
        }
    }
}

/// Forgets the older half where there are too many.
fn forget_oldest<K: Hash + Eq, V>(map: &mut HashMap<K, V>, turn: impl Fn(&V) -> u64) {
    if map.len() > REMEMBERED {
        let mut turns: Vec<u64> = map.values().map(&turn).collect();
        turns.sort_unstable();
        let middle = turns[turns.len() / 2];
        map.retain(|_, value| turn(value) >= middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_stands_as_it_last_ended() {
        let (mut history, now) = (History::default(), Instant::now());
        let client = Arc::from("a");
        assert_eq!(history.standing(1, now), ScriptRank::New);
        history.served(&client, 1);
        assert_eq!((history.standing(1, now), history.last_turns(&client, 1)), (ScriptRank::New, (1, 1)));
        history.overran(1, now);
        assert_eq!(history.standing(1, now), ScriptRank::Overran);
        assert_eq!(history.standing(1, now + PENALTY), ScriptRank::New);
        history.completed(1);
        assert_eq!(history.standing(1, now), ScriptRank::Proven);
    }

    #[test]
    fn only_so_many_are_remembered() {
        let (mut history, now) = (History::default(), Instant::now());
        for script in 0..3 * REMEMBERED as u64 {
            history.served(&Arc::from(script.to_string()), script);
            history.overran(script, now);
        }
        assert!(history.scripts.len() <= REMEMBERED && history.clients.len() <= REMEMBERED);
        assert_eq!(history.standing(3 * REMEMBERED as u64 - 1, now), ScriptRank::Overran);
        assert_eq!(history.standing(0, now), ScriptRank::New);
    }
}
