//! The only place of the manager that reads the wall clock for decisions; they get it as a value.

use jiff::Timestamp;

/// The clock of decisions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock;

impl Clock {
    /// Now, cut to whole seconds: Kubernetes stores condition times with that precision, and a finer value would
    /// make every comparison with the stored status a difference.
    #[expect(clippy::unused_self, reason = "a value, so that a test can pass another clock")]
    pub(crate) fn now(self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }
}
