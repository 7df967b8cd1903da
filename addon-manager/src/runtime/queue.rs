//! The queue of an area: a set of keys waiting and keys with a deadline. De-duplicating; the same key never runs
//! twice at once; a key that is added while it runs runs once more afterwards.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

struct State<T> {
    waiting: VecDeque<T>,
    queued: HashSet<T>,
    running: HashSet<T>,
    again: HashSet<T>,
    /// Deadlines, and the deadline of each key.
    timers: BTreeMap<Instant, Vec<T>>,
    deadline: HashMap<T, Instant>,
    failures: HashMap<T, u32>,
    /// Passes in a row that wrote something.
    spins: HashMap<T, u32>,
    open: bool,
}

/// See the module.
pub(crate) struct Queue<T> {
    name: &'static str,
    state: Mutex<State<T>>,
    notify: Notify,
}

impl<T> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Back-off after failures: 0.5 s doubled, at most this.
const MAX_BACKOFF: Duration = Duration::from_secs(256);

impl<T: Clone + Eq + Hash> Queue<T> {
    /// A closed queue: keys are dropped until [`Queue::open`].
    pub(crate) fn new(name: &'static str) -> Self {
        Queue {
            name,
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                queued: HashSet::new(),
                running: HashSet::new(),
                again: HashSet::new(),
                timers: BTreeMap::new(),
                deadline: HashMap::new(),
                failures: HashMap::new(),
                spins: HashMap::new(),
                open: false,
            }),
            notify: Notify::new(),
        }
    }

    /// Name of the area.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes keys from now on (a term of leadership begins).
    pub(crate) fn open(&self) {
        self.lock().open = true;
    }

    /// Number of keys that wait or run.
    pub(crate) fn depth(&self) -> usize {
        let state = self.lock();
        state.waiting.len() + state.running.len()
    }

    /// A key to look at as soon as possible.
    pub(crate) fn add(&self, key: T) {
        let mut state = self.lock();
        if !state.open {
            return;
        }
        if state.running.contains(&key) {
            state.again.insert(key);
        } else if state.queued.insert(key.clone()) {
            state.waiting.push_back(key);
            drop(state);
            self.notify.notify_one();
        }
    }

    /// A key to look at after `delay`; an earlier deadline of the same key stands.
    pub(crate) fn add_after(&self, key: T, delay: Duration) {
        let at = Instant::now() + delay;
        let mut state = self.lock();
        if !state.open {
            return;
        }
        if let Some(old) = state.deadline.get(&key).copied() {
            if old <= at {
                return;
            }
            if let Some(list) = state.timers.get_mut(&old) {
                list.retain(|k| *k != key);
                if list.is_empty() {
                    state.timers.remove(&old);
                }
            }
        }
        state.deadline.insert(key.clone(), at);
        state.timers.entry(at).or_default().push(key);
        drop(state);
        self.notify.notify_one();
    }

    /// The next key to run. Waits for one. The caller must call [`Queue::done`] with it.
    pub(crate) async fn next(&self) -> T {
        loop {
            let notified = self.notify.notified();
            let due = {
                let mut state = self.lock();
                let now = Instant::now();
                while let Some((at, _)) = state.timers.first_key_value() {
                    if *at > now {
                        break;
                    }
                    if let Some((_, keys)) = state.timers.pop_first() {
                        for key in keys {
                            state.deadline.remove(&key);
                            if state.running.contains(&key) {
                                state.again.insert(key);
                            } else if state.queued.insert(key.clone()) {
                                state.waiting.push_back(key);
                            }
                        }
                    }
                }
                if let Some(key) = state.waiting.pop_front() {
                    state.queued.remove(&key);
                    state.running.insert(key.clone());
                    if !state.waiting.is_empty() {
                        self.notify.notify_one();
                    }
                    return key;
                }
                state.timers.first_key_value().map(|(at, _)| *at)
            };
            match due {
                Some(at) => {
                    tokio::select! {
                        () = notified => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
                None => notified.await,
            }
        }
    }

    /// The key has run. `failed` starts or prolongs its back-off; success ends it.
    pub(crate) fn done(&self, key: &T, failed: bool) {
        let (again, delay) = {
            let mut state = self.lock();
            state.running.remove(key);
            let again = state.again.remove(key);
            if failed {
                let n = state.failures.entry(key.clone()).or_insert(0);
                *n = n.saturating_add(1);
                let exponent = (*n - 1).min(9);
                let base = Duration::from_millis(500).saturating_mul(1 << exponent).min(MAX_BACKOFF);
                (again, Some(base.mul_f64(rand::random_range(0.8..1.2))))
            } else {
                state.failures.remove(key);
                (again, None)
            }
        };
        match delay {
            // A change arrived meanwhile: look once more, but not in a hot loop.
            Some(delay) if again => self.add_after(key.clone(), delay.min(Duration::from_secs(2))),
            Some(delay) => self.add_after(key.clone(), delay),
            None if again => self.add(key.clone()),
            None => {}
        }
    }

    /// The pass of this key wrote something, so it runs again. Returns how often that was so in a row.
    pub(crate) fn spin(&self, key: &T) -> u32 {
        let mut state = self.lock();
        let n = state.spins.entry(key.clone()).or_insert(0);
        *n = n.saturating_add(1);
        *n
    }

    /// The pass of this key found nothing to do.
    pub(crate) fn rest(&self, key: &T) {
        self.lock().spins.remove(key);
    }

    /// How often the key failed in a row.
    pub(crate) fn failures(&self, key: &T) -> u32 {
        self.lock().failures.get(key).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn de_duplicates_and_never_runs_a_key_twice_at_once() {
        let queue = Queue::new("test");
        queue.add("dropped while closed");
        queue.open();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        let a = queue.next().await;
        assert_eq!(a, "a");
        queue.add("a");
        assert_eq!(queue.next().await, "b");
        assert!(tokio::time::timeout(Duration::from_millis(50), queue.next()).await.is_err());
        queue.done(&a, false);
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test]
    async fn the_earlier_deadline_stands_and_failures_back_off() {
        let queue = Queue::new("test");
        queue.open();
        let start = Instant::now();
        queue.add_after("a", Duration::from_hours(1));
        queue.add_after("a", Duration::from_millis(50));
        queue.add_after("a", Duration::from_mins(90));
        assert_eq!(queue.next().await, "a");
        assert!(start.elapsed() >= Duration::from_millis(50));
        queue.done(&"a", true);
        let again = Instant::now();
        assert_eq!(queue.next().await, "a");
        assert!(again.elapsed() >= Duration::from_millis(300));
        queue.done(&"a", true);
        assert_eq!(queue.failures(&"a"), 2);
        queue.next().await;
        queue.done(&"a", false);
        assert_eq!(queue.failures(&"a"), 0);
    }
}
