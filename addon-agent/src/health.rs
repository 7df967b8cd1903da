//! Whether the agent does its work: what the lease and the probes go by (spec/07 section 6).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::observed::Observed;

/// A watch that fails for longer counts as dead.
const WATCH_PATIENCE: Duration = Duration::from_mins(1);
/// A report that waits for longer counts as undelivered.
const HUB_PATIENCE: Duration = Duration::from_mins(2);

/// What the tasks of the agent share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    observed: Mutex<Observed>,
    state: Mutex<State>,
    /// Something in `observed` changed.
    pub changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Watches that fail, since when.
    failing: BTreeMap<String, Instant>,
    complete: bool,
    delivered: bool,
    /// Since when a report waits for delivery.
    waiting: Option<Instant>,
    hub_error: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Changes what is observed and wakes the reporter.
    pub(crate) fn observe(&self, change: impl FnOnce(&mut Observed)) {
        let mut observed = lock(&self.observed);
        change(&mut observed);
        let complete = observed.is_complete();
        drop(observed);
        lock(&self.state).complete = complete;
        self.changed.notify_one();
    }

    /// Reads what is observed.
    pub(crate) fn observed<T>(&self, read: impl FnOnce(&Observed) -> T) -> T {
        read(&lock(&self.observed))
    }

    /// A watch failed. A first failure is daily business; a row of them goes into the report.
    pub(crate) fn watch_failed(&self, kind: &str, text: &str, tell: bool) {
        lock(&self.state).failing.entry(kind.to_owned()).or_insert_with(Instant::now);
        if tell {
            self.observe(|o| {
                o.failing.insert(kind.to_owned(), text.to_owned());
            });
        }
    }

    /// A watch works.
    pub(crate) fn watch_works(&self, kind: &str) {
        lock(&self.state).failing.remove(kind);
        if self.observed(|o| o.failing.contains_key(kind)) {
            self.observe(|o| {
                o.failing.remove(kind);
            });
        }
    }

    /// There is something to deliver, or not any more.
    pub(crate) fn waiting(&self, waits: bool) {
        let mut state = lock(&self.state);
        if waits {
            state.waiting.get_or_insert_with(Instant::now);
        } else {
            state.waiting = None;
            state.delivered = true;
            state.hub_error = None;
        }
    }

    /// The hub, or the way to it, says no.
    pub(crate) fn hub_failed(&self, text: String) {
        lock(&self.state).hub_error = Some(text);
    }

    /// Why the agent is not well; `None` when it is.
    pub(crate) fn problem(&self) -> Option<String> {
        lock(&self.state).problem(Instant::now())
    }
}

impl State {
    fn problem(&self, now: Instant) -> Option<String> {
        let dead = self.failing.iter().find(|(_, since)| now.duration_since(**since) > WATCH_PATIENCE);
        if let Some((kind, since)) = dead {
            return Some(format!("watching {kind} fails for {} s", now.duration_since(*since).as_secs()));
        }
        if !self.complete {
            return Some("the first lists are not complete".to_owned());
        }
        let error = self.hub_error.as_deref().unwrap_or("waiting for the hub");
        if !self.delivered {
            return Some(format!("no report has been delivered: {error}"));
        }
        let late = self.waiting.map(|since| now.duration_since(since)).filter(|d| *d > HUB_PATIENCE);
        late.map(|d| format!("a report waits for {} s: {error}", d.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn well() -> State {
        State { complete: true, delivered: true, ..State::default() }
    }

    #[test]
    fn the_lease_depends_on_watches_lists_and_delivery() {
        let now = Instant::now();
        let later = now + WATCH_PATIENCE + Duration::from_secs(1);
        assert_eq!(well().problem(now), None);
        assert!(State { complete: false, ..well() }.problem(now).unwrap().contains("first lists"));
        let new = State { delivered: false, hub_error: Some("forbidden".into()), ..well() };
        assert_eq!(new.problem(now).unwrap(), "no report has been delivered: forbidden");
        let failing = State { failing: [("Node".to_owned(), now)].into(), ..well() };
        assert_eq!(failing.problem(now), None);
        assert_eq!(failing.problem(later).unwrap(), "watching Node fails for 61 s");
        let waits = State { waiting: Some(now), ..well() };
        assert_eq!(waits.problem(now + HUB_PATIENCE), None);
        assert!(
            waits.problem(now + HUB_PATIENCE + Duration::from_secs(1)).unwrap().starts_with("a report waits")
        );
    }
}
