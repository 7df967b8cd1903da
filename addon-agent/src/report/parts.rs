//! The parts of a report, one function each.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use manifests::addon::{
    ClusterVersionReport, ConditionalUpdate, ImageBasedUpgradeReport, LeftOff, NodesReport, NotReadyNode,
    OperatorReport, OperatorsReport, PoolReport, Release, ReportedCondition, limits as max,
};
use manifests::openshift::condition::{find, status};
use manifests::openshift::{ClusterOperator, ImageBasedUpgrade, MachineConfigPool, StatusCondition};

use super::cut::{list, text};
use crate::observed::{NodeView, Observed, VersionFacts};

/// Conditions of the ClusterVersion that matter to an upgrade (spec/03 6.5).
const VERSION_CONDITIONS: [&str; max::CONDITIONS] =
    ["Available", "Progressing", "Failing", "Upgradeable", "RetrievedUpdates", "ReleaseAccepted", "Invalid"];

pub(super) fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

fn reported(c: &StatusCondition) -> ReportedCondition {
    ReportedCondition {
        type_: text(&c.type_, max::WORD),
        status: text(&c.status, 7),
        reason: text(c.reason(), max::REASON),
        message: text(c.message(), max::MESSAGE),
        since: c.last_transition_time.clone(),
        observed_generation: c.observed_generation,
    }
}

pub(super) fn cluster_version(facts: &VersionFacts, left: &mut LeftOff) -> ClusterVersionReport {
    let object = &facts.object;
    let spec = &object.spec;
    let state = object.status.clone().unwrap_or_default();
    let opt = |t: &Option<String>, limit: usize| text(t.as_deref().unwrap_or_default(), limit);
    let running = state.history.iter().find(|h| h.state == "Completed");
    let updates = state.available_updates.iter().map(|r| text(&r.version, max::WORD)).collect();
    let conditional = state
        .conditional_updates
        .iter()
        .map(|u| {
            let verdict = find(&u.conditions, "Recommended");
            ConditionalUpdate {
                version: text(&u.release.version, max::WORD),
                recommended: verdict.map(|c| text(&c.status, 7)).unwrap_or_default(),
                reason: verdict.map(|c| text(c.reason(), max::REASON)).unwrap_or_default(),
                risks: u.risks.iter().take(max::RISKS).map(|r| text(&r.name, max::WORD)).collect(),
            }
        })
        .collect();
    ClusterVersionReport {
        cluster_id: text(&spec.cluster_id, max::NAME),
        version: running.map(|h| text(&h.version, max::NAME)).unwrap_or_default(),
        desired: text(&state.desired.version, max::NAME),
        desired_image: text(&state.desired.image, max::URL),
        requested: spec.desired_update.as_ref().map(|d| text(&d.version, max::NAME)).unwrap_or_default(),
        requested_by: text(&facts.requested_by, max::NAME),
        channel: opt(&spec.channel, max::NAME),
        channel_by: text(&facts.channel_by, max::NAME),
        upstream: opt(&spec.upstream, max::URL),
        generation: object.metadata.generation.unwrap_or_default(),
        observed_generation: state.observed_generation,
        history: state
            .history
            .iter()
            .take(max::HISTORY)
            .map(|h| Release {
                version: text(&h.version, max::WORD),
                state: text(&h.state, max::WORD),
                started_time: h.started_time.clone(),
                completion_time: h.completion_time.clone(),
            })
            .collect(),
        conditions: VERSION_CONDITIONS
            .iter()
            .filter_map(|t| find(&state.conditions, t))
            .map(reported)
            .collect(),
        available_updates: list(updates, max::UPDATES, &mut left.available_updates),
        conditional_updates: list(conditional, max::CONDITIONAL, &mut left.conditional_updates),
    }
}

/// What is worst about an operator: 0 not available, 1 degraded, 2 progressing, `None` nothing.
pub(super) fn worst(operator: &ClusterOperator) -> Option<(u8, Option<&StatusCondition>)> {
    let conditions = operator.status.as_ref().map_or(&[][..], |s| s.conditions.as_slice());
    if status(conditions, "Available") != "True" {
        return Some((0, find(conditions, "Available")));
    }
    if status(conditions, "Degraded") == "True" {
        return Some((1, find(conditions, "Degraded")));
    }
    if status(conditions, "Progressing") == "True" {
        return Some((2, find(conditions, "Progressing")));
    }
    None
}

pub(super) fn operators(observed: &Observed, left: &mut LeftOff) -> OperatorsReport {
    let mut items: Vec<(u8, OperatorReport)> = observed
        .operators
        .iter()
        .filter_map(|(name, operator)| {
            let (rank, why) = worst(operator)?;
            let state = operator.status.clone().unwrap_or_default();
            let of = |type_: &str| text(status(&state.conditions, type_), 7);
            let report = OperatorReport {
                name: text(name, max::NAME),
                version: text(state.version(), max::WORD),
                available: of("Available"),
                progressing: of("Progressing"),
                degraded: of("Degraded"),
                reason: why.map(|c| text(c.reason(), max::REASON)).unwrap_or_default(),
                message: why.map(|c| text(c.message(), max::NOTE)).unwrap_or_default(),
                since: why.and_then(|c| c.last_transition_time.clone()),
            };
            Some((rank, report))
        })
        .collect();
    // The map is sorted by name, and the sort keeps that within a rank.
    items.sort_by_key(|(rank, _)| *rank);
    let items = items.into_iter().map(|(_, item)| item).collect();
    OperatorsReport {
        total: count(observed.operators.len()),
        items: list(items, max::OPERATORS, &mut left.operators),
    }
}

pub(super) fn pool_conditions(pool: &MachineConfigPool) -> &[StatusCondition] {
    pool.status.as_ref().map_or(&[], |s| s.conditions.as_slice())
}

/// The words that explain a pool's state: what degrades it, else why it is behind.
pub(super) fn pool_message(pool: &MachineConfigPool) -> &str {
    let conditions = pool_conditions(pool);
    let said = |c: &&StatusCondition| !c.message().is_empty();
    let degraded = conditions.iter().filter(|c| c.type_.ends_with("Degraded") && c.is_true());
    let behind = || find(conditions, "Updating").filter(|_| !pool.is_updated());
    degraded.clone().find(said).or_else(behind).map(StatusCondition::message).unwrap_or_default()
}

pub(super) fn pools(observed: &Observed) -> Vec<PoolReport> {
    let mut pools: Vec<PoolReport> = observed
        .pools
        .iter()
        .map(|(name, pool)| {
            let state = pool.status.clone().unwrap_or_default();
            let expiry = state.cert_expirys.iter().filter_map(|c| c.expiry.clone()).min();
            PoolReport {
                name: text(name, max::NAME),
                paused: pool.spec.paused,
                max_unavailable: match &pool.spec.max_unavailable {
                    Some(IntOrString::Int(n)) => n.to_string(),
                    Some(IntOrString::String(s)) => text(s, max::WORD),
                    None => String::new(),
                },
                machine_count: state.machine_count,
                updated_machine_count: state.updated_machine_count,
                ready_machine_count: state.ready_machine_count,
                unavailable_machine_count: state.unavailable_machine_count,
                degraded_machine_count: state.degraded_machine_count,
                updated: pool.is_updated(),
                updating: status(&state.conditions, "Updating") == "True",
                degraded: status(&state.conditions, "Degraded") == "True",
                message: text(pool_message(pool), max::NOTE),
                certificate_expiry: expiry.filter(|_| pool.spec.paused),
            }
        })
        .collect();
    pools.sort_by_key(|p| (!p.degraded, p.updated));
    pools
}

pub(super) fn image_based_upgrade(object: &ImageBasedUpgrade) -> ImageBasedUpgradeReport {
    let state = object.status.clone().unwrap_or_default();
    let current = state.history.iter().rfind(|h| h.stage == object.spec.stage && h.completion_time.is_none());
    let step = current.and_then(|h| h.phases.iter().rfind(|p| p.completion_time.is_none()));
    ImageBasedUpgradeReport {
        stage: text(&object.spec.stage, max::WORD),
        seed_version: text(&object.spec.seed_image_ref.version, max::NAME),
        generation: object.metadata.generation.unwrap_or_default(),
        observed_generation: state.observed_generation,
        valid_next_stages: state.valid_next_stages.iter().take(4).map(|s| text(s, max::WORD)).collect(),
        rollback_availability_expiration: state.rollback_availability_expiration.clone(),
        step: step.map(|p| text(&p.phase, max::WORD)).unwrap_or_default(),
        conditions: state.conditions.iter().take(max::CONDITIONS).map(reported).collect(),
    }
}

/// Why a node is not ready.
pub(super) fn node_trouble(node: &NodeView) -> (String, Option<&StatusCondition>) {
    let conditions = &node.status.conditions;
    let network = find(conditions, "NetworkUnavailable").filter(|c| c.is_true());
    let why = find(conditions, "Ready").filter(|c| !c.is_true()).or(network);
    let words =
        why.map_or("no condition Ready", |c| if c.message().is_empty() { c.reason() } else { c.message() });
    (words.to_owned(), why)
}

pub(super) fn nodes(observed: &Observed, left: &mut LeftOff) -> NodesReport {
    let nodes = &observed.nodes;
    let named = |wanted: &dyn Fn(&NodeView) -> bool| -> Vec<String> {
        nodes.iter().filter(|(_, n)| wanted(n)).map(|(name, _)| text(name, max::NAME)).collect()
    };
    let ready = named(&NodeView::is_ready);
    let not_ready = nodes
        .iter()
        .filter(|(_, n)| !n.is_ready())
        .map(|(name, node)| {
            let (message, why) = node_trouble(node);
            NotReadyNode {
                name: text(name, max::NAME),
                message: text(&message, max::NOTE),
                since: why.and_then(|c| c.last_transition_time.clone()),
            }
        })
        .collect();
    let kubelets: BTreeSet<&str> =
        nodes.values().map(|n| n.status.node_info.kubelet_version.as_str()).collect();
    NodesReport {
        summary: format!("{}/{}", ready.len(), nodes.len()),
        total: count(nodes.len()),
        control_plane: count(nodes.values().filter(|n| n.is_control_plane()).count()),
        ready: list(ready, max::READY_NODES, &mut left.ready_nodes),
        not_ready: list(not_ready, max::NOT_READY_NODES, &mut left.not_ready_nodes),
        cordoned: list(named(&|n| n.spec.unschedulable), max::CORDONED_NODES, &mut left.cordoned_nodes),
        kubelets: kubelets
            .into_iter()
            .filter(|k| !k.is_empty())
            .take(max::KUBELETS)
            .map(|k| text(k, max::WORD))
            .collect(),
    }
}
