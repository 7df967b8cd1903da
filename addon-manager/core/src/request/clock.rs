//! Clocks and time-outs of a request (spec/02 section 4).
//!
//! A time-out is a statement about now, never a state that holds the request: when the world recovers the next pass
//! takes it back (B-01). A duration that could not be loaded is never exceeded (B-49).

use jiff::Timestamp;
use manifests::clcm::ClusterDetails;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::meta::GoDuration;
use manifests::meta::condition::{self, Condition, whole_seconds};

/// Durations that are in force; `None` while they could not be loaded (B-49).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Durations {
    /// Hardware provisioning and configuration.
    pub hardware: Option<GoDuration>,
    /// Cluster installation.
    pub install: Option<GoDuration>,
    /// Cluster configuration.
    pub configuration: Option<GoDuration>,
}

/// More than `limit` has passed since `start`.
pub fn is_exceeded(start: Option<Timestamp>, limit: Option<GoDuration>, now: Timestamp) -> bool {
    match (start, limit) {
        (Some(start), Some(limit)) => now.duration_since(start) > limit.as_signed(),
        _ => false,
    }
}

/// When `limit` will be exceeded: the first instant, to the second, at which [`is_exceeded`] is true.
pub fn deadline(start: Option<Timestamp>, limit: Option<GoDuration>) -> Option<Timestamp> {
    let end = start?.checked_add(limit?.as_signed()).ok()?;
    whole_seconds(end).checked_add(jiff::SignedDuration::from_secs(1)).ok()
}

/// The overall time-out (4.2 a), measured from the start of the run of this generation (B-47): the details to show.
///
/// It only applies before the installation started, and not when the request was fulfilled before.
pub fn overall(run_started: Option<Timestamp>, durations: &Durations, now: Timestamp) -> Option<String> {
    let sum = overall_limit(durations)?;
    is_exceeded(run_started, Some(sum), now).then(|| format!("Overall provisioning timed out after {sum}"))
}

/// Installation and hardware together, when both are known.
pub fn overall_limit(durations: &Durations) -> Option<GoDuration> {
    let (install, hardware) = (durations.install?, durations.hardware?);
    Some(GoDuration::from_nanos(install.nanos().saturating_add(hardware.nanos())))
}

/// A new generation restarts the clock of the stage that it touches: the first one that is not over (B-01).
pub fn restart(details: &mut ClusterDetails, conditions: &[Condition], now: Timestamp) {
    let now = whole_seconds(now);
    let installed = condition::find(conditions, RequestCondition::ClusterProvisioned);
    match installed {
        Some(c) if c.status != condition::status::TRUE => {
            if let Some(start) = &mut details.cluster_provision_started_at {
                start.0 = now;
            }
        }
        _ => {
            if let Some(start) = &mut details.non_compliant_at {
                start.0 = now;
            }
        }
    }
}

/// The condition timed out, on one side or the other.
pub fn has_timed_out(found: Option<&Condition>) -> bool {
    found.is_some_and(|c| c.reason == RequestReason::TimedOut.as_str())
}
