//! The loop under every simulator: watches put keys into one de-duplicating queue with deadlines; workers take a key,
//! look at the world, and do at most a little.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::kinds::Kind;
use super::store::Failure;
use super::value::Key;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Default)]
struct Keys {
    due: BTreeMap<Key, Instant>,
    running: BTreeSet<Key>,
}

/// Keys waiting for their time. The same key never runs twice at once.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    keys: Mutex<Keys>,
    changed: Notify,
}

impl Queue {
    pub(crate) fn add(&self, key: Key) {
        self.add_after(key, Duration::ZERO);
    }

    /// The earliest of several deadlines counts.
    pub(crate) fn add_after(&self, key: Key, delay: Duration) {
        let when = Instant::now() + delay;
        let mut keys = lock(&self.keys);
        let due = keys.due.entry(key).or_insert(when);
        *due = when.min(*due);
        drop(keys);
        self.changed.notify_one();
    }

    async fn next(&self) -> Key {
        loop {
            let changed = self.changed.notified();
            let first = {
                let mut keys = lock(&self.keys);
                let Keys { due, running } = &mut *keys;
                let first = due
                    .iter()
                    .filter(|(key, _)| !running.contains(*key))
                    .min_by_key(|(_, when)| **when)
                    .map(|(key, when)| (key.clone(), *when));
                match first {
                    Some((key, when)) if when <= Instant::now() => {
                        due.remove(&key);
                        running.insert(key.clone());
                        drop(keys);
                        // More may be due: wake the next worker.
                        self.changed.notify_one();
                        return key;
                    }
                    other => other.map(|(_, when)| when),
                }
            };
            match first {
                Some(when) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(when) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    fn done(&self, key: &Key) {
        lock(&self.keys).running.remove(key);
        self.changed.notify_one();
    }
}

/// What a simulator does with a key: `Some` is when to look again even without a change.
pub(crate) trait Reconcile: Send + Sync + 'static {
    fn reconcile(&self, key: &Key) -> impl Future<Output = Result<Option<Duration>, Failure>> + Send;
}

/// Workers and watches of one simulator.
pub(crate) struct Engine {
    queue: Arc<Queue>,
    tasks: Vec<AbortOnDropHandle<()>>,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Engine { queue: Arc::new(Queue::default()), tasks: Vec::new() }
    }

    pub(crate) fn queue(&self) -> Arc<Queue> {
        self.queue.clone()
    }

    /// Watches a kind in all namespaces; `map` says which keys an object concerns.
    pub(crate) fn watch(
        &mut self,
        client: &Client,
        kind: Kind,
        labels: &str,
        map: impl Fn(&DynamicObject) -> Vec<Key> + Send + 'static,
    ) {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
        let config = watcher::Config::default().labels(labels);
        let queue = self.queue.clone();
        self.spawn(async move {
            let mut events = std::pin::pin!(watcher(api, config));
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(o) | Event::InitApply(o) | Event::Delete(o)) => {
                        for key in map(&o) {
                            queue.add(key);
                        }
                    }
                    Ok(Event::Init | Event::InitDone) => {}
                    Err(error) => {
                        tracing::debug!(kind = kind.kind, %error, "watch");
                        tokio::time::sleep(Duration::from_millis(300)).await;
                    }
                }
            }
        });
    }

    /// Starts `count` workers.
    pub(crate) fn work(&mut self, simulator: &Arc<impl Reconcile>, count: usize) {
        for _ in 0..count.max(1) {
            let (simulator, queue) = (simulator.clone(), self.queue.clone());
            self.spawn(async move {
                loop {
                    let key = queue.next().await;
                    let again = match simulator.reconcile(&key).await {
                        Ok(again) => again,
                        Err(Failure::Stale) => Some(Duration::from_millis(10)),
                        Err(error) => {
                            tracing::debug!(namespace = key.0, name = key.1, %error, "simulator");
                            Some(Duration::from_millis(300))
                        }
                    };
                    if let Some(delay) = again {
                        queue.add_after(key.clone(), delay);
                    }
                    queue.done(&key);
                }
            });
        }
    }

    pub(crate) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(AbortOnDropHandle::new(tokio::spawn(task)));
    }

    pub(crate) fn into_handle(self) -> super::Handle {
        super::Handle::new(self.tasks)
    }
}

/// How long each key has been in a phase. A phase that is asked for by another name starts anew.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    since: Mutex<BTreeMap<Key, (String, Instant)>>,
}

impl Phases {
    /// What is left of the phase's duration, `None` when it is over.
    pub(crate) fn left(&self, key: &Key, phase: &str, lasts: Duration) -> Option<Duration> {
        let now = Instant::now();
        let mut since = lock(&self.since);
        let entry = since.entry(key.clone()).or_insert_with(|| (phase.to_owned(), now));
        if entry.0 != phase {
            *entry = (phase.to_owned(), now);
        }
        let left = lasts.saturating_sub(now.duration_since(entry.1));
        (!left.is_zero()).then_some(left)
    }

    /// Forgets the phase of a key.
    pub(crate) fn reset(&self, key: &Key) {
        lock(&self.since).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    fn key(name: &str) -> Key {
        (String::new(), name.to_owned())
    }

    #[tokio::test]
    async fn hands_out_the_earliest_key_and_never_a_running_one() {
        let queue = Queue::default();
        queue.add_after(key("late"), SHORT * 2);
        queue.add_after(key("early"), SHORT);
        queue.add_after(key("early"), Duration::from_mins(15));
        assert_eq!(queue.next().await, key("early"));
        queue.add(key("early"));
        assert_eq!(queue.next().await, key("late"));
        queue.done(&key("early"));
        assert_eq!(queue.next().await, key("early"));
    }

    #[tokio::test]
    async fn counts_a_phase_from_its_first_sight() {
        let phases = Phases::default();
        let long = Duration::from_mins(15);
        assert_eq!(phases.left(&key("a"), "inspecting", long), Some(long));
        tokio::time::sleep(SHORT).await;
        assert!(phases.left(&key("a"), "inspecting", long).is_some_and(|left| left < long));
        assert_eq!(phases.left(&key("a"), "inspecting", SHORT), None);
        assert_eq!(phases.left(&key("a"), "preparing", long), Some(long));
    }
}
