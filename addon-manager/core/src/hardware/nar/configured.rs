//! The `Configured` condition: a later HardwareProfile (spec/04 4.4 and section 8).

use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{AllocatedNode, NodeAllocationRequest, NodeRole};
use manifests::meta::condition::{self, Next, set_last};

use super::Draft;
use crate::hardware::texts::{APPLIED, AWAITING};

/// The profile that the request wants on a node that exists; an empty one means "leave it as it is" (B22).
pub(super) fn wanted_profile<'a>(
    request: &'a NodeAllocationRequest,
    node: &AllocatedNode,
) -> Option<&'a str> {
    request
        .spec
        .node_group
        .iter()
        .find(|g| g.node_group_data.name == node.spec.group_name)?
        .node_group_data
        .hw_profile
        .as_deref()
        .filter(|p| !p.is_empty())
}

/// Where a node is with the profile that the request wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Applied,
    Failed,
    Pending,
}

fn stage(request: &NodeAllocationRequest, node: &AllocatedNode) -> Stage {
    let Some(wanted) = wanted_profile(request, node) else { return Stage::Applied };
    let Some(status) = &node.status else { return Stage::Pending };
    if node.spec.hw_profile != wanted {
        return Stage::Pending;
    }
    if status.hw_profile.as_deref() == Some(wanted) {
        return Stage::Applied;
    }
    match condition::find(&status.conditions, HardwareCondition::Configured.as_str()) {
        Some(c)
            if c.observed_generation == node.metadata.generation
                && (c.reason == HardwareReason::Failed.as_str()
                    || c.reason == HardwareReason::InvalidUserInput.as_str()) =>
        {
            Stage::Failed
        }
        _ => Stage::Pending,
    }
}

impl Draft<'_> {
    /// A change of a provisioned request: profiles first, then the acknowledgement.
    pub(super) fn configure(&mut self) {
        let request = self.request();
        let kind = HardwareCondition::Configured.as_str();
        let nodes: Vec<&AllocatedNode> = self.nodes().map(AsRef::as_ref).collect();
        let stages: Vec<Stage> = nodes.iter().map(|n| stage(request, n)).collect();
        let is_current = self.status.observed_generation == request.metadata.generation;
        let was = condition::find(&self.status.conditions, kind);
        let is_open = was.is_some_and(|c| c.status == condition::status::FALSE);
        if stages.iter().all(|s| *s == Stage::Applied) {
            if is_open {
                let next = Next::yes(kind, HardwareReason::ConfigurationApplied.as_str(), APPLIED);
                set_last(&mut self.status.conditions, next, self.now);
            }
            if !is_current {
                self.observe();
            }
            return;
        }
        if is_current && !is_open {
            return;
        }
        let changed = nodes
            .iter()
            .any(|n| wanted_profile(request, n).is_some_and(|wanted| n.spec.hw_profile != wanted));
        let (reason, text) = if changed {
            (HardwareReason::InProgress, AWAITING.to_owned())
        } else if stages.contains(&Stage::Failed) {
            let what = format!("Configuration update failed ({})", self.summary(&nodes, &stages));
            (HardwareReason::Failed, what)
        } else {
            let what = format!("Configuration update in progress ({})", self.summary(&nodes, &stages));
            (HardwareReason::InProgress, what)
        };
        let next = Next::no(kind, reason.as_str(), text);
        set_last(&mut self.status.conditions, next, self.now);
        self.status.observed_config_transaction_id = request.spec.config_transaction_id;
        if reason == HardwareReason::Failed {
            self.status.observed_generation = request.metadata.generation;
        }
    }

    /// One node by name, more by group: master groups first, empty groups left out, a group with failures by their
    /// number (spec/04 3.1).
    fn summary(&self, nodes: &[&AllocatedNode], stages: &[Stage]) -> String {
        if let ([node], [stage]) = (nodes, stages) {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let message = node.status.as_ref().and_then(|s| {
                condition::find(&s.conditions, HardwareCondition::Configured.as_str())
                    .map(|c| c.message.as_str())
            });
            return match (stage, message) {
                (Stage::Failed, Some(message)) => format!("AllocatedNode {name}: {message}"),
                _ => format!("AllocatedNode {name}"),
            };
        }
        let mut groups: Vec<_> = self.request().spec.node_group.iter().map(|g| &g.node_group_data).collect();
        groups.sort_by_key(|g| g.role != NodeRole::Master);
        let mut parts = Vec::new();
        for group in groups {
            let of: Vec<Stage> = nodes
                .iter()
                .zip(stages)
                .filter(|(n, _)| n.spec.group_name == group.name)
                .map(|(_, s)| *s)
                .collect();
            let count = |stage| of.iter().filter(|s| **s == stage).count();
            if of.is_empty() {
                continue;
            }
            let (number, word) = match count(Stage::Failed) {
                0 => (count(Stage::Applied), "completed"),
                failed => (failed, "failed"),
            };
            parts.push(format!("group {}: {number}/{} {word}", group.name, of.len()));
        }
        parts.join(", ")
    }
}
