//! NodeAllocationRequest: from claims to nodes, and what the request says about it (spec/04 sections 4 and 9.1).
//!
//! Unlike upstream nothing is final (DESIGN section 11): a failed or timed-out request stays as it is in text and reason,
//! but it is looked at on every change and goes on when the world has recovered.
//!
//! A request that grows keeps `status.observedGeneration` at the generation of its last full allocation until it is full
//! again, and its Provisioned condition carries the generation that it grows to. That pair is the record that new hosts
//! may be claimed although the cluster exists (DESIGN section 5); a request that comes back from a backup has neither.

mod configured;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{
    AllocatedNode, AllocatedNodeSpec, NodeAllocationRequest, NodeAllocationRequestStatus, NodeProperties,
};
use manifests::meta::condition::{self, Condition, Next, set_last};
use manifests::meta::finalizers;

use super::holdings::{self, Group, assign_claimed, is_living};
use super::planner::{Outcome, is_growing, is_untouched};
use super::texts::{AWAITING, CREATED, HANDLING_CREATION, SCALING_OUT, TIMED_OUT};
use super::{HostView, Pools, claim};
use crate::plan::{Note, Plan, Step, Target, Wake, manager};

/// Everything about one request.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The request.
    pub request: Arc<NodeAllocationRequest>,
    /// All nodes whose `spec.nodeAllocationRequest` names it, also those being deleted.
    pub nodes: Vec<Arc<AllocatedNode>>,
    /// Hosts that are claimed for its cluster ([`super::is_claim_of`]) and that no AllocatedNode names.
    pub claimed: Vec<HostView>,
    /// All pools.
    pub pools: Arc<Pools>,
    /// What the last run of the planner said about it; `None` before the first.
    pub outcome: Option<Outcome>,
    /// The ManagedCluster of the request exists, or one of its hosts runs something.
    pub cluster_exists: bool,
}

/// A request that waits for hosts: its message names what is missing. For the phase AWAITING_FREE_RESOURCES (B35).
pub fn awaits_hosts(status: &NodeAllocationRequestStatus) -> bool {
    provisioned(status).is_some_and(|c| {
        c.status == condition::status::FALSE && c.message.starts_with(super::texts::SHORTAGE)
    })
}

/// Decides about one request.
pub fn decide(seen: &Seen, now: Timestamp) -> Plan<NodeAllocationRequestStatus> {
    let mut draft = Draft {
        seen,
        now,
        status: seen.request.status.clone().unwrap_or_default(),
        steps: Vec::new(),
        events: Vec::new(),
        wake: Wake::OnChange,
    };
    if seen.request.metadata.deletion_timestamp.is_some() {
        draft.delete();
    } else {
        draft.allocate();
    }
    let before = seen.request.status.clone().unwrap_or_default();
    Plan {
        steps: draft.steps,
        status: (draft.status != before).then_some(draft.status),
        events: draft.events,
        wake: draft.wake,
    }
}

/// What the facts of this moment say, whatever the status says.
enum Progress {
    /// The user must change the request.
    Invalid(String),
    /// Nodes failed.
    Failing(HardwareReason, String),
    /// All nodes are there and prepared.
    Complete,
    /// All hosts are claimed, nodes are created or prepared.
    Working,
    /// Hosts are missing; the text says what would resolve it.
    Waiting(String),
    /// The planner has not spoken, or its claims are being written.
    Planning,
}

struct Draft<'a> {
    seen: &'a Seen,
    now: Timestamp,
    status: NodeAllocationRequestStatus,
    steps: Vec<Step>,
    events: Vec<Note>,
    wake: Wake,
}

fn provisioned(status: &NodeAllocationRequestStatus) -> Option<&Condition> {
    condition::find(&status.conditions, HardwareCondition::Provisioned.as_str())
}

impl<'a> Draft<'a> {
    fn request(&self) -> &'a NodeAllocationRequest {
        &self.seen.request
    }

    fn name(&self) -> &'a str {
        self.request().metadata.name.as_deref().unwrap_or_default()
    }

    fn nodes(&self) -> impl Iterator<Item = &'a Arc<AllocatedNode>> + use<'a> {
        let mut nodes: Vec<_> = self.seen.nodes.iter().filter(|n| is_living(n)).collect();
        nodes.sort_by_key(|n| n.metadata.name.as_deref());
        nodes.into_iter()
    }

    fn allocate(&mut self) {
        let request = self.request();
        let list = request.metadata.finalizers.iter().flatten();
        if !list.into_iter().any(|f| f == finalizers::NODE_ALLOCATION_REQUEST) {
            let name = finalizers::NODE_ALLOCATION_REQUEST;
            self.steps.push(claim::finalizer(request, name, true, manager::OBJECTS));
        }
        let groups = holdings::groups(request, |group| holdings::count(&self.seen.nodes, group));
        let limit = holdings::limit(request);
        let progress = match &limit {
            Err(text) => Progress::Invalid(text.clone()),
            Ok(_) => self.progress(&groups),
        };
        self.keep_nodes();
        self.settle(&progress, limit.ok());
        self.list_nodes();
        if provisioned(&self.status).is_some_and(|c| c.status == condition::status::TRUE) {
            self.configure();
        }
    }

    fn progress(&mut self, groups: &[Group<'_>]) -> Progress {
        let request = self.request();
        if groups.iter().any(|g| g.need > 0) {
            let criteria = match holdings::criteria(request, groups) {
                Ok(criteria) => criteria,
                Err(text) => return Progress::Invalid(text),
            };
            let views: Vec<(usize, &HostView)> = self.seen.claimed.iter().enumerate().collect();
            let matching = assign_claimed(groups, &criteria, &views, &self.seen.pools);
            if groups.iter().enumerate().any(|(at, group)| matching.count(at) < group.need) {
                return self.missing();
            }
            // The claims are complete, so they become nodes.
            for (host, group) in matching.pairs() {
                if let (Some(view), Some(group)) = (self.seen.claimed.get(host), groups.get(group)) {
                    self.create_node(view, group);
                }
            }
            return self.failing().unwrap_or(Progress::Working);
        }
        if let Some(failing) = self.failing() {
            return failing;
        }
        if self.nodes().all(|n| is_complete(n)) { Progress::Complete } else { Progress::Working }
    }

    fn missing(&self) -> Progress {
        let cluster = &self.request().spec.cluster_id;
        match &self.seen.outcome {
            Some(Outcome::Short(shortage)) => Progress::Waiting(shortage.to_string()),
            Some(Outcome::Invalid(text)) => Progress::Invalid(text.clone()),
            Some(Outcome::Exists { group, missing }) => Progress::Waiting(format!(
                "cluster {cluster} exists, but {missing} hosts of nodegroup={group} are not allocated to it and none are \
                 allocated anew; restore the labels of its hosts, or change the size of the group"
            )),
            Some(Outcome::SameCluster(other)) => Progress::Waiting(format!(
                "NodeAllocationRequest {other} allocates hosts for the same cluster {cluster}; delete one of them"
            )),
            Some(Outcome::Granted(_)) | None => Progress::Planning,
        }
    }

    /// The nodes that failed, in one text.
    fn failing(&self) -> Option<Progress> {
        let mut texts = Vec::new();
        let mut reason = HardwareReason::Failed;
        for node in self.nodes() {
            let Some(c) = node_provisioned(node).filter(|c| c.status == condition::status::FALSE) else {
                continue;
            };
            let host = node.spec.hw_mgr_node_id.as_deref().unwrap_or_default();
            if c.reason == HardwareReason::InvalidUserInput.as_str() {
                reason = HardwareReason::InvalidUserInput;
                let name = node.metadata.name.as_deref().unwrap_or_default();
                texts.push(format!(
                    "bmh {host}, error: failed to process hw profile for node ({name}): {}",
                    c.message
                ));
            } else if c.reason == HardwareReason::Failed.as_str() {
                texts.push(format!("bmh {host}, error: {}", c.message));
            }
        }
        let start = format!("failed to allocate BMHs to NodeAllocationRequest {}: ", self.name());
        (!texts.is_empty()).then(|| Progress::Failing(reason, start + &texts.join("\n")))
    }

    /// Brings the status to what the facts say.
    fn settle(&mut self, progress: &Progress, limit: Option<SignedDuration>) {
        let generation = self.request().metadata.generation;
        let is_new = provisioned(&self.status).is_none();
        let was_provisioned = provisioned(&self.status).is_some_and(|c| c.status == condition::status::TRUE);
        let is_current = self.status.observed_generation == generation;
        if was_provisioned {
            match progress {
                Progress::Complete => return,
                // A node is gone and nothing asks for another one: the cluster runs on; the request decides. A
                // generation that is behind is that of an object that came back from a backup.
                _ if self.status.observed_generation >= generation => return,
                Progress::Invalid(text) => {
                    self.not_provisioned(HardwareReason::InvalidUserInput, text, generation);
                    return;
                }
                _ => {
                    self.start(SCALING_OUT, generation);
                    return;
                }
            }
        }
        let growing = is_growing(self.request());
        let changed = if growing {
            provisioned(&self.status).and_then(|c| c.observed_generation) != generation
        } else {
            !is_current
        };
        let mark = if growing { generation } else { None };
        if !growing && !is_new && changed {
            self.observe();
        }
        self.status.observed_generation = if growing { self.status.observed_generation } else { generation };
        match progress {
            Progress::Complete => self.complete(),
            Progress::Invalid(text) => self.not_provisioned(HardwareReason::InvalidUserInput, text, mark),
            Progress::Failing(reason, text) => {
                self.status.hardware_operation_start_time = self
                    .status
                    .hardware_operation_start_time
                    .take()
                    .filter(|_| *reason != HardwareReason::Failed);
                self.not_provisioned(*reason, text, mark);
            }
            Progress::Working => self.in_progress(AWAITING, false, mark, changed, limit),
            Progress::Waiting(text) => self.in_progress(text, true, mark, changed, limit),
            Progress::Planning => {
                let text = if growing { SCALING_OUT } else { HANDLING_CREATION };
                self.in_progress(text, false, mark, changed, limit);
            }
        }
    }

    /// Acknowledges a change of the spec.
    fn observe(&mut self) {
        self.status.observed_generation = self.request().metadata.generation;
        self.status.observed_config_transaction_id = self.request().spec.config_transaction_id;
    }

    fn complete(&mut self) {
        self.status.hardware_operation_start_time = None;
        let kind = HardwareCondition::Provisioned.as_str();
        let next = Next::yes(kind, HardwareReason::Completed.as_str(), CREATED);
        set_last(&mut self.status.conditions, next, self.now);
    }

    fn not_provisioned(&mut self, reason: HardwareReason, text: &str, mark: Option<i64>) {
        let next = Next::no(HardwareCondition::Provisioned.as_str(), reason.as_str(), text).at(mark);
        set_last(&mut self.status.conditions, next, self.now);
    }

    fn start(&mut self, text: &str, mark: Option<i64>) {
        self.status.hardware_operation_start_time = Some(Time(condition::whole_seconds(self.now)));
        self.not_provisioned(HardwareReason::InProgress, text, mark);
        self.wake = self.deadline(holdings::limit(self.request()).ok()).map_or(self.wake, Wake::At);
    }

    /// When the running operation is out of time.
    fn deadline(&self, limit: Option<SignedDuration>) -> Option<Timestamp> {
        let start = self.status.hardware_operation_start_time.as_ref()?.0;
        start.checked_add(limit?).ok()
    }

    /// The operation runs, or starts now; a request that is out of time stays so until its spec changes.
    fn in_progress(
        &mut self,
        text: &str,
        waits: bool,
        mark: Option<i64>,
        changed: bool,
        limit: Option<SignedDuration>,
    ) {
        let reason = provisioned(&self.status).map(|c| c.reason.clone()).unwrap_or_default();
        if reason == HardwareReason::TimedOut.as_str() && !changed {
            return;
        }
        let continues = reason == HardwareReason::InProgress.as_str() && !changed;
        if !continues || self.status.hardware_operation_start_time.is_none() {
            self.start(text, mark);
        }
        let Some(end) = self.deadline(limit) else { return };
        if end <= self.now {
            return self.time_out(mark);
        }
        self.wake = Wake::At(end);
        let text = if waits { format!("{text}; waits for hosts until {end}") } else { text.to_owned() };
        self.not_provisioned(HardwareReason::InProgress, &text, mark);
    }

    fn time_out(&mut self, mark: Option<i64>) {
        self.wake = Wake::OnChange;
        self.status.hardware_operation_start_time = None;
        let blocker = provisioned(&self.status).map(|c| c.message.clone()).unwrap_or_default();
        self.events.push(Note {
            warning: true,
            reason: HardwareReason::TimedOut.as_str().to_owned(),
            message: format!("{TIMED_OUT}; last state: {blocker}"),
        });
        self.not_provisioned(HardwareReason::TimedOut, TIMED_OUT, mark);
    }

    /// `status.properties.nodeNames`: the nodes that are prepared.
    fn list_nodes(&mut self) {
        let names: Vec<String> =
            self.nodes().filter(|n| is_complete(n)).filter_map(|n| n.metadata.name.clone()).collect();
        if self.status.node_names() != names || self.status.properties.is_none() {
            self.status.properties = Some(NodeProperties { node_names: names });
        }
    }

    fn create_node(&mut self, view: &HostView, group: &Group<'_>) {
        let Some(name) = claim::node_of(&view.host) else { return };
        let host = view.key();
        let mut node = AllocatedNode::new(
            name,
            AllocatedNodeSpec {
                node_allocation_request: self.name().to_owned(),
                group_name: group.name().to_owned(),
                hw_profile: group.spec.node_group_data.hw_profile.clone().unwrap_or_default(),
                hw_mgr_node_id: Some(host.name),
                hw_mgr_node_ns: Some(host.namespace),
                skip_cleanup: self.request().spec.skip_cleanup,
                ..AllocatedNodeSpec::default()
            },
        );
        node.metadata.namespace.clone_from(&self.request().metadata.namespace);
        self.apply(node);
    }

    fn apply(&mut self, mut node: AllocatedNode) {
        node.metadata = ObjectMeta {
            name: node.metadata.name,
            namespace: node.metadata.namespace,
            finalizers: Some(vec![finalizers::ALLOCATED_NODE.to_owned()]),
            owner_references: Some(vec![self.owner()]),
            ..ObjectMeta::default()
        };
        node.status = None;
        match Step::apply(&node) {
            Ok(step) => self.steps.push(step),
            Err(e) => self.events.push(Note {
                warning: true,
                reason: HardwareReason::Failed.as_str().to_owned(),
                message: format!(
                    "AllocatedNode {} cannot be written: {e}",
                    node.metadata.name.unwrap_or_default()
                ),
            }),
        }
    }

    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: "clcm.openshift.io/v1alpha1".to_owned(),
            kind: "NodeAllocationRequest".to_owned(),
            name: self.name().to_owned(),
            uid: self.request().metadata.uid.clone().unwrap_or_default(),
            block_owner_deletion: Some(true),
            controller: None,
        }
    }

    /// Keeps living nodes in step with the request: `skipCleanup`, the profile once the cluster may take another one, and
    /// the owner, whose uid is another one after a restore.
    fn keep_nodes(&mut self) {
        let request = self.request();
        let uid = request.metadata.uid.as_deref().unwrap_or_default();
        let is_provisioned = provisioned(&self.status).is_some_and(|c| c.status == condition::status::TRUE);
        for node in self.nodes() {
            let owned = node.metadata.owner_references.iter().flatten().any(|o| o.uid == uid);
            let mut wanted = (**node).clone();
            if is_provisioned {
                wanted.spec.skip_cleanup = request.spec.skip_cleanup;
                if let Some(profile) = configured::wanted_profile(request, node) {
                    profile.clone_into(&mut wanted.spec.hw_profile);
                }
            }
            if !owned || wanted.spec != node.spec {
                self.apply(wanted);
            }
        }
    }

    /// Nodes release their hosts through their own finalizers; claims without a node are given back here (9.1, B29).
    fn delete(&mut self) {
        let request = self.request();
        let ours = finalizers::NODE_ALLOCATION_REQUEST;
        if !request.metadata.finalizers.iter().flatten().any(|f| f == ours) {
            return;
        }
        let mut left: Vec<&str> = Vec::new();
        for node in &self.seen.nodes {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            left.push(name);
            if is_living(node) {
                self.steps.push(Step::Delete {
                    target: Target::of::<AllocatedNode>(node.metadata.namespace.as_deref(), name),
                    uid: node.metadata.uid.clone(),
                    foreground: false,
                });
            }
        }
        for view in self.seen.claimed.iter().filter(|v| is_untouched(v)) {
            self.steps.push(claim::give_back(&view.host));
        }
        if left.is_empty() {
            self.steps.push(claim::finalizer(request, ours, false, manager::OBJECTS));
            return;
        }
        left.sort_unstable();
        let text = format!("Waiting for the release of AllocatedNode {}", left.join(", "));
        let kind = HardwareCondition::Deprovisioned.as_str();
        let next = Next::no(kind, HardwareReason::InProgress.as_str(), text);
        set_last(&mut self.status.conditions, next, self.now);
    }
}

fn node_provisioned(node: &AllocatedNode) -> Option<&Condition> {
    condition::find(&node.status.as_ref()?.conditions, HardwareCondition::Provisioned.as_str())
}

/// Prepared, with everything that the request needs to know (B4).
fn is_complete(node: &AllocatedNode) -> bool {
    node.status.as_ref().is_some_and(|s| s.bmc.is_some())
        && node_provisioned(node).is_some_and(|c| c.status == condition::status::TRUE)
}
