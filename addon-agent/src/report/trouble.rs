//! What is wrong on the spoke, and what would block an upgrade (spec/03 6.6).

use manifests::addon::{
    Check, Finding, Progress, ProgressPhase, ReportCondition, ReportReason, limits as max,
};
use manifests::meta::condition::Next;
use manifests::openshift::condition::{find, status};
use manifests::openshift::{ClusterOperator, StatusCondition};

use super::cut::text;
use super::parts::{node_trouble, pool_conditions, pool_message, worst};
use crate::observed::Observed;

/// The report's conditions, in order.
pub(super) const ORDER: [ReportCondition; 3] =
    [ReportCondition::Ready, ReportCondition::Reconciling, ReportCondition::Degraded];

/// The report's conditions.
pub(super) fn conditions(observed: &Observed, progress: Option<&Progress>) -> [Next; 3] {
    [ready(observed), reconciling(progress), degraded(observed, progress)]
}

fn ready(observed: &Observed) -> Next {
    if observed.failing.is_empty() {
        let text = "All kinds that this cluster serves are watched";
        return Next::yes(ReportCondition::Ready, ReportReason::Watching, text);
    }
    let lines: Vec<String> = observed.failing.iter().map(|(kind, why)| format!("{kind}: {why}")).collect();
    let words = format!("Cannot watch {}", lines.join("; "));
    Next::no(ReportCondition::Ready, ReportReason::WatchFailed, text(&words, max::SUMMARY))
}

fn reconciling(progress: Option<&Progress>) -> Next {
    let Some(progress) = progress else {
        return Next::no(ReportCondition::Reconciling, ReportReason::AsExpected, "No upgrade runs");
    };
    let (reason, words) = match progress.phase {
        ProgressPhase::Payload | ProgressPhase::Operators => {
            (ReportReason::ClusterVersionProgressing, "The cluster version is being applied")
        }
        ProgressPhase::Pools => (ReportReason::PoolsUpdating, "Machine configuration is being rolled out"),
        _ => (ReportReason::ImageBasedUpgradeInProgress, "An image-based upgrade runs"),
    };
    // How far it is stands in `progress`; here it would be a write for each step.
    Next::yes(ReportCondition::Reconciling, reason, words)
}

fn sentence(condition: &StatusCondition) -> String {
    match (condition.reason(), condition.message()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// Worst first: the cluster version, the image-based upgrade, operators, pools, nodes.
fn degraded(observed: &Observed, progress: Option<&Progress>) -> Next {
    let mut found: Vec<(ReportReason, String)> = Vec::new();
    let version = observed.version.as_ref().and_then(|v| v.object.status.as_ref());
    let version = version.map_or(&[][..], |s| s.conditions.as_slice());
    if let Some(c) = find(version, "Failing").filter(|c| c.is_true()) {
        found.push((
            ReportReason::ClusterVersionFailing,
            format!("ClusterVersion is failing: {}", sentence(c)),
        ));
    }
    if let Some(c) = find(version, "Available").filter(|c| c.status == "False") {
        let words = format!("ClusterVersion is not available: {}", sentence(c));
        found.push((ReportReason::ClusterVersionNotAvailable, words));
    }
    found.extend(failed_stage(observed).map(|text| (ReportReason::ImageBasedUpgradeFailed, text)));
    for (rank, reason, words) in [
        (0, ReportReason::OperatorsNotAvailable, "not available"),
        (1, ReportReason::OperatorsDegraded, "degraded"),
    ] {
        let bad = observed.operators.iter().filter_map(|(name, o)| Some((name, worst(o)?)));
        let lines: Vec<String> = bad
            .filter(|(_, (r, _))| *r == rank)
            .map(|(name, (_, why))| {
                format!("{name} ({})", why.map_or_else(|| "no condition".to_owned(), sentence))
            })
            .collect();
        if !lines.is_empty() {
            found.push((reason, format!("Operators {words}: {}", lines.join(", "))));
        }
    }
    let pools: Vec<String> = observed
        .pools
        .iter()
        .filter(|(_, p)| status(pool_conditions(p), "Degraded") == "True")
        .map(|(name, p)| format!("{name} ({})", pool_message(p)))
        .collect();
    if !pools.is_empty() {
        found.push((
            ReportReason::PoolsDegraded,
            format!("MachineConfigPools degraded: {}", pools.join(", ")),
        ));
    }
    // While something rolls nodes come and go.
    if progress.is_none() {
        let nodes: Vec<String> = observed
            .nodes
            .iter()
            .filter(|(_, n)| !n.is_ready())
            .map(|(name, n)| format!("{name} ({})", node_trouble(n).0))
            .collect();
        if !nodes.is_empty() {
            found.push((ReportReason::NodesNotReady, format!("Nodes not ready: {}", nodes.join(", "))));
        }
    }
    let Some((reason, _)) = found.first() else {
        return Next::no(ReportCondition::Degraded, ReportReason::AsExpected, "");
    };
    let words: Vec<&str> = found.iter().map(|(_, t)| t.as_str()).collect();
    Next::yes(ReportCondition::Degraded, reason, text(&words.join("; "), max::SUMMARY))
}

/// The stage that failed, in the words of the condition that knows the cause (spec/03 5.3).
fn failed_stage(observed: &Observed) -> Option<String> {
    let state = observed.upgrade.as_ref()?.status.as_ref()?;
    let conditions = &state.conditions;
    for stage in ["Prep", "Upgrade", "Rollback"] {
        let failed = |type_: &str| {
            find(conditions, &format!("{stage}{type_}"))
                .filter(|c| c.status == "False" && c.reason() == "Failed")
        };
        if let Some(outcome) = failed("Completed") {
            let cause = failed("InProgress").filter(|c| !c.message().is_empty()).unwrap_or(outcome);
            return Some(format!("Image-based {stage} failed: {}", cause.message()));
        }
    }
    let idle = find(conditions, "Idle")?;
    matches!(idle.reason(), "AbortFailed" | "FinalizeFailed")
        .then(|| format!("Image-based upgrade cannot return to Idle: {}", sentence(idle)))
}

/// Blockers and warnings before an upgrade. While something rolls the one blocker is that.
pub(super) fn findings(observed: &Observed, moving: bool) -> (Vec<Finding>, Vec<Finding>) {
    let finding = |check: Check, words: String| Finding { check, message: text(&words, max::NOTE) };
    let mut blockers = Vec::new();
    let mut warnings = Vec::new();
    if moving {
        blockers.push(finding(Check::ClusterVersion, "an upgrade or a roll-out runs already".to_owned()));
        return (blockers, warnings);
    }
    if let Some(facts) = &observed.version {
        let state = facts.object.status.clone().unwrap_or_default();
        let conditions = &state.conditions;
        if status(conditions, "Available") != "True" {
            let why = find(conditions, "Available").map(sentence).unwrap_or_default();
            blockers.push(finding(Check::ClusterVersion, format!("ClusterVersion is not available: {why}")));
        }
        if let Some(c) = find(conditions, "Failing").filter(|c| c.is_true()) {
            blockers
                .push(finding(Check::ClusterVersion, format!("ClusterVersion is failing: {}", sentence(c))));
        }
        if let Some(c) = find(conditions, "RetrievedUpdates").filter(|c| c.status == "False") {
            warnings.push(finding(Check::ClusterVersion, format!("no update graph: {}", sentence(c))));
        }
    }
    for (name, operator) in &observed.operators {
        match worst(operator) {
            Some((0, why)) => {
                blockers.push(finding(Check::ClusterOperator, told(name, "not available", why)));
            }
            Some((1, why)) => blockers.push(finding(Check::ClusterOperator, told(name, "degraded", why))),
            _ => {}
        }
    }
    blockers.extend(not_upgradeable(observed).into_iter().map(|words| finding(Check::Upgradeable, words)));
    for (name, pool) in &observed.pools {
        let words = pool_message(pool);
        if status(pool_conditions(pool), "Degraded") == "True" {
            blockers.push(finding(Check::MachineConfigPool, format!("pool {name} is degraded: {words}")));
        } else if pool.spec.paused {
            blockers.push(finding(Check::MachineConfigPool, format!("pool {name} is paused")));
        } else if !pool.is_updated() {
            blockers.push(finding(Check::MachineConfigPool, format!("pool {name} is not updated: {words}")));
        }
    }
    for (name, node) in &observed.nodes {
        if !node.is_ready() {
            blockers
                .push(finding(Check::Node, format!("node {name} is not ready: {}", node_trouble(node).0)));
        } else if node.spec.unschedulable {
            warnings.push(finding(Check::Node, format!("node {name} is cordoned")));
        }
    }
    if let Some(upgrade) = &observed.upgrade {
        let conditions = upgrade.status.as_ref().map_or(&[][..], |s| s.conditions.as_slice());
        if status(conditions, "Idle") != "True" {
            let words =
                format!("ImageBasedUpgrade is in stage {}; it must be Idle before Prep", upgrade.spec.stage);
            blockers.push(finding(Check::ImageBasedUpgrade, words));
        }
    }
    (blockers, warnings)
}

fn told(name: &str, what: &str, why: Option<&StatusCondition>) -> String {
    format!("operator {name} is {what}: {}", why.map(sentence).unwrap_or_default())
}

/// The operators that forbid the next minor version; the ClusterVersion's own word when none of them says so.
fn not_upgradeable(observed: &Observed) -> Vec<String> {
    let forbids = |o: &ClusterOperator| {
        let conditions = o.status.as_ref().map_or(&[][..], |s| s.conditions.as_slice());
        find(conditions, "Upgradeable").filter(|c| c.status == "False").map(sentence)
    };
    let named: Vec<String> = observed
        .operators
        .iter()
        .filter_map(|(name, o)| Some(format!("operator {name} is not upgradeable: {}", forbids(o)?)))
        .collect();
    if !named.is_empty() {
        return named;
    }
    let version = observed.version.as_ref().and_then(|v| v.object.status.as_ref());
    let said = version.and_then(|s| find(&s.conditions, "Upgradeable")).filter(|c| c.status == "False");
    said.map(|c| format!("the cluster is not upgradeable: {}", sentence(c))).into_iter().collect()
}
