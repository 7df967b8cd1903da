//! From the status of the ClusterInstance to that of the request (spec/02 section 10).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::meta::GoDuration;
use manifests::meta::condition::{self, Next, status, whole_seconds};
use manifests::ran::ClusterInstanceCondition;

use super::clock;

/// `ClusterProvisioned` while the ClusterInstance says nothing about the installation.
pub const WAITING_TO_START: &str = "Waiting for cluster installation to start";
/// `ClusterProvisioned` and details of an installation that takes too long.
pub const TIMED_OUT: &str = "Cluster installation timed out";

/// Conditions of the ClusterInstance that must hold, in the order in which they are looked at.
const PROCESSING: [ClusterInstanceCondition; 4] = [
    ClusterInstanceCondition::Validated,
    ClusterInstanceCondition::RenderedTemplates,
    ClusterInstanceCondition::RenderedTemplatesValidated,
    ClusterInstanceCondition::RenderedTemplatesApplied,
];

/// What the site-config operator says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live<'a> {
    /// `status.conditions`
    pub conditions: &'a [Condition],
    /// `metadata.generation`
    pub generation: Option<i64>,
    /// `status.observedGeneration`; absent when the operator never set it.
    pub observed_generation: Option<i64>,
}

impl Live<'_> {
    /// The conditions are about an older spec (B-07).
    fn is_behind(&self) -> bool {
        match (self.observed_generation, self.generation) {
            (Some(observed), Some(generation)) if observed > 0 => observed < generation,
            _ => false,
        }
    }
}

/// What of the request's status concerns the installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Installation {
    /// `ClusterInstanceProcessed`.
    pub processed: Next,
    /// `ClusterProvisioned`; `None` leaves it as it is.
    pub provisioned: Option<Next>,
    /// The install clock.
    pub started_at: Option<Timestamp>,
    /// When the installation will have taken too long.
    pub deadline: Option<Timestamp>,
}

/// Steps M1 to M4. `before` are the conditions of the request, `started_at` its install clock, `timeout` the install
/// time-out if it is known (B-49).
pub fn install(
    name: &str,
    live: &Live<'_>,
    before: &[Condition],
    started_at: Option<Timestamp>,
    timeout: Option<GoDuration>,
    now: Timestamp,
) -> Installation {
    let processed = processed(name, live);
    let earlier = condition::find(before, RequestCondition::ClusterProvisioned);
    let reported =
        condition::find(live.conditions, ClusterInstanceCondition::Provisioned).map(copy_provisioned);
    let waiting = || {
        (processed.status == status::TRUE).then(|| {
            Next::no(RequestCondition::ClusterProvisioned, RequestReason::InProgress, WAITING_TO_START)
        })
    };
    let mut provisioned = reported.or_else(waiting);

    // Without a statement of the operator an earlier condition stays, and its clock goes on.
    let not_true = |c: &Next| c.status != status::TRUE;
    let was_installed = earlier.is_some_and(|c| c.status == status::TRUE);
    let started_at = match (&provisioned, earlier) {
        (None, None) => started_at,
        // B-16: installing again.
        (Some(next), _) if was_installed && not_true(next) => Some(whole_seconds(now)),
        _ => Some(started_at.unwrap_or_else(|| whole_seconds(now))),
    };
    let running = match (&provisioned, earlier) {
        (Some(next), _) => not_true(next) && next.reason != RequestReason::Failed.as_str(),
        (None, Some(c)) => c.status != status::TRUE && c.reason != RequestReason::Failed.as_str(),
        (None, None) => false,
    };
    if running && clock::is_exceeded(started_at, timeout, now) {
        provisioned = Some(timed_out());
    }
    let deadline = running
        .then(|| clock::deadline(started_at, timeout))
        .flatten()
        .filter(|_| provisioned.as_ref().is_none_or(|p| p.reason != RequestReason::TimedOut.as_str()));
    Installation { processed, provisioned, started_at, deadline }
}

/// The time-out of an installation whose ClusterInstance cannot be read (4.3).
pub fn backup_timeout(
    before: &[Condition],
    started_at: Option<Timestamp>,
    timeout: Option<GoDuration>,
    now: Timestamp,
) -> Option<Next> {
    let earlier = condition::find(before, RequestCondition::ClusterProvisioned);
    let over = earlier.is_some_and(|c| {
        c.status == status::TRUE
            || c.reason == RequestReason::Failed.as_str()
            || c.reason == RequestReason::TimedOut.as_str()
    });
    (!over && clock::is_exceeded(started_at, timeout, now)).then(timed_out)
}

fn timed_out() -> Next {
    Next::no(RequestCondition::ClusterProvisioned, RequestReason::TimedOut, TIMED_OUT)
}

/// M1 and M2.
fn processed(name: &str, live: &Live<'_>) -> Next {
    let type_ = RequestCondition::ClusterInstanceProcessed;
    let waiting = || {
        Next::no(
            type_,
            RequestReason::InProgress,
            format!("Waiting for ClusterInstance ({name}) to be processed"),
        )
    };
    if live.conditions.is_empty() {
        return waiting();
    }
    let bad = PROCESSING
        .iter()
        .filter_map(|type_| condition::find(live.conditions, type_))
        .find(|c| c.status != status::TRUE);
    match bad {
        Some(bad) => Next::new(type_, known_status(&bad.status), &bad.reason, bad.message.clone()),
        None if live.is_behind() => waiting(),
        None => Next::yes(
            type_,
            RequestReason::Completed,
            format!("Applied and processed ClusterInstance ({name}) successfully"),
        ),
    }
}

fn copy_provisioned(found: &Condition) -> Next {
    Next::new(
        RequestCondition::ClusterProvisioned,
        known_status(&found.status),
        &found.reason,
        found.message.clone(),
    )
}

fn known_status(text: &str) -> &'static str {
    match text {
        status::TRUE => status::TRUE,
        status::FALSE => status::FALSE,
        _ => status::UNKNOWN,
    }
}
