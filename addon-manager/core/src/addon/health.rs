//! `Degraded` of a ManagedClusterAddOn: what the console shows first (spec/07 14.1). Nobody else in OCM sets it, and
//! `Available=False` alone is shown there as progressing without a word.

use jiff::{SignedDuration, Timestamp};
use manifests::addon::{ReportCondition, SpokeReport, limits};
use manifests::meta::condition::Next;
use manifests::ocm::{AddOnCondition, AddOnReason, ManagedCluster, ManagedClusterAddOn};

use super::config::DEPLOYMENT;

/// How long a live agent may take to bring its first report, and a deployed one to renew its lease.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// What `Degraded` shall say; `None` leaves it as it is.
pub(super) struct Health {
    pub(super) condition: Option<Next>,
    /// When to look again although nothing changed.
    pub(super) deadline: Option<Timestamp>,
}

impl Health {
    fn keep() -> Self {
        Health { condition: None, deadline: None }
    }

    fn degraded(reason: &str, message: String) -> Self {
        let condition = Next::yes(AddOnCondition::Degraded, reason, cut(message));
        Health { condition: Some(condition), deadline: None }
    }
}

fn cut(mut text: String) -> String {
    const LONGEST: usize = 1024;
    if text.len() > LONGEST {
        let mut end = LONGEST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// In order: not deployed, lease gone, no report, what the report says.
pub(super) fn health(
    cluster: &ManagedCluster,
    addon: &ManagedClusterAddOn,
    namespace: &str,
    refusals: &[String],
    report: Option<&SpokeReport>,
    now: Timestamp,
) -> Health {
    if cluster.available() != Some("True") {
        // The last word stands; OCM itself says that the cluster is away.
        return Health::keep();
    }
    if !refusals.is_empty() {
        let text = format!("The cluster refuses the agent's manifests: {}", refusals.join("; "));
        return Health::degraded(AddOnReason::AgentNotDeployed.as_str(), text);
    }
    let status = report.and_then(|r| r.status.as_ref());
    let last = status.and_then(|s| s.updated_at.as_ref());
    let blind = report.and_then(|r| r.condition(ReportCondition::Ready)).filter(|c| c.status == "False");
    let blind = blind.map(|c| format!(". It says: {}", c.message)).unwrap_or_default();
    let Some(available) = addon.condition(AddOnCondition::Available) else { return Health::keep() };
    match available.status.as_str() {
        "True" => {}
        "False" => {
            let heard = last
                .map_or_else(|| "it never reported".to_owned(), |t| format!("its last report is of {}", t.0));
            let text = format!(
                "The agent has stopped renewing its lease; {heard}. Look at deployment {namespace}/{DEPLOYMENT} on the \
                 cluster{blind}"
            );
            return Health::degraded(AddOnReason::AgentNotAvailable.as_str(), text);
        }
        _ => {
            let deployed = addon.condition(AddOnCondition::ManifestApplied).filter(|c| c.status == "True");
            let Some(deployed) = deployed else { return Health::keep() };
            let since = deployed.last_transition_time.0.max(available.last_transition_time.0);
            let deadline = since + PATIENCE;
            if now < deadline {
                return Health { condition: None, deadline: Some(deadline) };
            }
            let text = format!(
                "The agent is deployed, but has no lease since {since}. Look at deployment {namespace}/{DEPLOYMENT} on \
                 the cluster{blind}"
            );
            return Health::degraded(AddOnReason::AgentNotAvailable.as_str(), text);
        }
    }
    let said = report.and_then(|r| r.condition(ReportCondition::Degraded));
    match said {
        Some(condition) if condition.status == "True" => {
            Health::degraded(&condition.reason, condition.message.clone())
        }
        Some(_) => {
            let text = "The cluster reports no trouble";
            let condition = Next::no(AddOnCondition::Degraded, AddOnReason::AsExpected, text);
            Health { condition: Some(condition), deadline: None }
        }
        None => {
            let since = available.last_transition_time.0;
            let deadline = since + PATIENCE;
            if now < deadline {
                return Health { condition: None, deadline: Some(deadline) };
            }
            let text = format!(
                "The agent renews its lease, but has brought no report since {since}. Look for refused writes in the \
                 log of deployment {namespace}/{DEPLOYMENT} on the cluster"
            );
            Health::degraded(AddOnReason::NoReport.as_str(), text)
        }
    }
}

// The report's own message must fit as it is.
const _: () = assert!(limits::SUMMARY <= 1024);
