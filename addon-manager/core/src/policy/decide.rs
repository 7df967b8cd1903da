//! The decision table (spec/02 11.2) and ztpStatus (11.3).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::clcm::{PolicyDetails, ztp_status};
use manifests::meta::GoDuration;
use manifests::meta::condition::{Next, status, whole_seconds};

use super::inputs::{Bound, Cluster, is_inform};
use super::{APPLYING, GRACE, PREPARING, WAITING_FOR_CLUSTER};
use crate::request::clock;

const NONE_PRESENT: &str = "No configuration present";
const NOT_ALL_PRESENT: &str = "Not all expected configuration is present";
const UP_TO_DATE: &str = "The configuration is up to date";
const NOT_READY: &str = "The Cluster is not yet ready";
const OUT_OF_DATE: &str = "The configuration is out of date";
const NOT_PREPARED: &str = "Expected configuration is not yet prepared";
const NOT_PREPARED_IN_TIME: &str = "Timed out waiting for expected configuration to be present";
const BEING_APPLIED: &str = "The configuration is still being applied";
const NOT_APPLIED_IN_TIME: &str = "The configuration is still being applied, but it timed out";

/// What the decision needs.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// The policies.
    pub bound: &'a Bound,
    /// The ManagedCluster, when there is one.
    pub cluster: Option<Cluster>,
    /// Status of `ClusterProvisioned`: absent, or whether it is True.
    pub installed: Option<bool>,
    /// `fulfilledNodeCount` is above zero.
    pub fulfilled_before: bool,
    /// `ConfigurationApplied` as it stands.
    pub current: Option<&'a Condition>,
    /// `nonCompliantAt` as it stands.
    pub non_compliant_at: Option<Timestamp>,
    /// The configuration time-out, when it is known (B-49).
    pub timeout: Option<GoDuration>,
    /// `ztpStatus` as it stands.
    pub ztp_status: Option<&'a str>,
    /// The request has a new generation: a time-out that stuck starts anew (B-01).
    pub new_generation: bool,
}

/// What of the request's status concerns its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `ConfigurationApplied`.
    pub condition: Next,
    /// `nonCompliantAt`
    pub non_compliant_at: Option<Timestamp>,
    /// `ztpStatus`; `None` while nothing is known of an installation.
    pub ztp_status: Option<String>,
    /// When to look again: the end of the grace period, or of the configuration time-out.
    pub deadline: Option<Timestamp>,
}

/// First match of the table.
pub fn decide(seen: &Seen<'_>, now: Timestamp) -> Decision {
    let bound = seen.bound;
    let ready = seen.cluster.is_some_and(|c| c.is_ready());
    let grace = grace_end(seen, now);
    let believed = grace == Grace::Over;

    let (condition, non_compliant_at, deadline) = if !bound.missing && bound.policies.is_empty() && believed {
        (applied(RequestReason::Missing, NONE_PRESENT), None, None)
    } else if !bound.missing && !bound.policies.is_empty() && bound.all_compliant {
        (applied(RequestReason::Completed, UP_TO_DATE), None, None)
    } else if !ready {
        (waiting(RequestReason::ClusterNotReady, NOT_READY), seen.non_compliant_at, None)
    } else if !bound.missing && bound.policies.is_empty() {
        let until = match grace {
            Grace::Until(end) => Some(end),
            _ => None,
        };
        (waiting(RequestReason::InProgress, NOT_PREPARED), seen.non_compliant_at, until)
    } else if bound.missing && bound.expected_inform {
        (applied(RequestReason::Missing, NOT_ALL_PRESENT), None, None)
    } else if bound.missing {
        timed(seen, now, NOT_PREPARED, NOT_PREPARED_IN_TIME)
    } else if bound.all_inform {
        (waiting(RequestReason::OutOfDate, OUT_OF_DATE), None, None)
    } else {
        timed(seen, now, BEING_APPLIED, NOT_APPLIED_IN_TIME)
    };
    let complete = seen.installed == Some(true) && bound.all_compliant && !bound.missing && believed;
    let ztp_status = match (seen.ztp_status, seen.installed) {
        (Some(ztp_status::DONE), _) => Some(ztp_status::DONE),
        (_, Some(_)) if complete => Some(ztp_status::DONE),
        (_, Some(_)) => Some(ztp_status::NOT_DONE),
        (before, None) => before,
    };
    Decision { condition, non_compliant_at, ztp_status: ztp_status.map(str::to_owned), deadline }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grace {
    /// The absence of policies is believed.
    Over,
    /// Not before the cluster is ready.
    NotStarted,
    /// Not before then.
    Until(Timestamp),
}

/// B-10: without any policy, a cluster that was never fulfilled is given time for its policies to arrive.
fn grace_end(seen: &Seen<'_>, now: Timestamp) -> Grace {
    if seen.fulfilled_before || seen.bound.any_expected || !seen.bound.policies.is_empty() {
        return Grace::Over;
    }
    let Some(cluster) = seen.cluster.filter(Cluster::is_ready) else { return Grace::NotStarted };
    let end = cluster.available_since.and_then(|since| since.checked_add(GRACE).ok());
    match end {
        Some(end) if now < end => Grace::Until(end),
        _ => Grace::Over,
    }
}

fn applied(reason: RequestReason, message: &str) -> Next {
    Next::yes(RequestCondition::ConfigurationApplied, reason, message)
}

fn waiting(reason: RequestReason, message: &str) -> Next {
    Next::no(RequestCondition::ConfigurationApplied, reason, message)
}

/// The clock check: running, or over.
fn timed(
    seen: &Seen<'_>,
    now: Timestamp,
    running: &str,
    over: &str,
) -> (Next, Option<Timestamp>, Option<Timestamp>) {
    let reason = seen.current.and_then(|c| RequestReason::parse(&c.reason));
    let stuck = reason == Some(RequestReason::TimedOut) && !seen.new_generation;
    let goes_on = matches!(
        reason,
        Some(RequestReason::InProgress | RequestReason::TimedOut | RequestReason::ClusterNotReady)
    );
    let anew = seen.new_generation && reason == Some(RequestReason::TimedOut);
    let start = seen.non_compliant_at.filter(|_| goes_on && !anew).unwrap_or_else(|| whole_seconds(now));
    if stuck || clock::is_exceeded(Some(start), seen.timeout, now) {
        return (waiting(RequestReason::TimedOut, over), Some(start), None);
    }
    (waiting(RequestReason::InProgress, running), Some(start), clock::deadline(Some(start), seen.timeout))
}

/// Details of phase `progressing` for a `ConfigurationApplied` that is not True; `None` when it does not keep the
/// request from being fulfilled by itself (a person must act on inform policies).
pub fn progress(found: &Condition, policies: &[PolicyDetails]) -> Option<&'static str> {
    if found.status == status::TRUE {
        return None;
    }
    let all_inform = policies.iter().all(|p| is_inform(p.remediation_action.as_deref()));
    match RequestReason::parse(&found.reason) {
        Some(RequestReason::ClusterNotReady) => (!all_inform).then_some(WAITING_FOR_CLUSTER),
        Some(RequestReason::InProgress) if found.message == NOT_PREPARED => Some(PREPARING),
        Some(RequestReason::InProgress) => Some(APPLYING),
        _ => None,
    }
}
