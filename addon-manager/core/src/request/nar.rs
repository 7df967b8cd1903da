//! The NodeAllocationRequest of a request, and what comes back from it (spec/02 13.1 - 13.6).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason, RequestCondition, RequestReason};
use manifests::clcm::{
    AllocatedNode, InfrastructureResourceStatus, NodeAllocationRequest, NodeAllocationRequestSpec,
    NodeAllocationRequestStatus, NodeGroup, ResourceProvisioningPhase,
};
use manifests::meta::condition::{self, Next, status};
use manifests::meta::names::parameter;
use serde_json::Value;

use super::error::InputError;
use super::hwmgmt::Hardware;
use super::merge::NodeGroups;
use super::render;

/// Builds the spec (13.1). `parameters` are the request's `templateParameters`, `cluster` the rendered spec of the
/// ClusterInstance.
///
/// The transaction id is that of a new object; [`reconcile`] decides about an existing one.
///
/// # Errors
/// Of class input: what is missing is in the user's hands (B-20).
pub fn build(
    parameters: &Value,
    generation: i64,
    cluster: &Value,
    hardware: &Hardware,
    groups: &NodeGroups,
    skip_cleanup: bool,
) -> Result<NodeAllocationRequestSpec, InputError> {
    let cluster_id = text(parameters, parameter::NODE_CLUSTER_NAME)?;
    let site = text(parameters, parameter::O_CLOUD_SITE_ID)?;
    if !cluster.get("nodes").is_some_and(Value::is_array) {
        return Err(InputError::input("spec.nodes not found in cluster instance"));
    }
    let mut sizes: BTreeMap<&str, i64> = BTreeMap::new();
    for node in render::nodes(cluster) {
        if let Some(group) = hardware.group_of(groups.of(render::host_name(node)), render::role(node)) {
            *sizes.entry(group.name.as_str()).or_default() += 1;
        }
    }
    let node_group = hardware
        .groups
        .iter()
        .map(|group| NodeGroup {
            node_group_data: group.clone(),
            size: sizes.get(group.name.as_str()).copied().unwrap_or_default(),
        })
        .collect();
    Ok(NodeAllocationRequestSpec {
        cluster_id,
        site,
        node_group,
        config_transaction_id: generation,
        hardware_provisioning_timeout: Some(hardware.timeout.to_string()),
        skip_cleanup,
        ..NodeAllocationRequestSpec::default()
    })
}

fn text(parameters: &Value, key: &str) -> Result<String, InputError> {
    match parameters.get(key) {
        None => Err(InputError::input(format!(
            "failed to get {key} from templateParameters: the key does not exist"
        ))),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(InputError::input(format!("{key} is not a string"))),
    }
}

/// What to do with the object (13.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// There is none yet.
    Create(NodeAllocationRequestSpec),
    /// The spec that is to be there from now on.
    Update(NodeAllocationRequestSpec),
    /// It is as wanted.
    Keep,
}

/// Compares the live object with what is wanted (13.2, B-17).
///
/// `cluster_provisioned` and `skipCleanup` follow without a new transaction: nothing is to be done on the hosts for
/// them. Every other difference, and a swap whose old node is gone, takes the next transaction id.
pub fn reconcile(
    live: Option<&NodeAllocationRequest>,
    mut wanted: NodeAllocationRequestSpec,
    generation: i64,
    cluster_provisioned: bool,
) -> Change {
    let Some(live) = live else {
        wanted.cluster_provisioned = cluster_provisioned;
        return Change::Create(wanted);
    };
    let old = &live.spec;
    wanted.cluster_provisioned = old.cluster_provisioned || cluster_provisioned;
    wanted.config_transaction_id = old.config_transaction_id;
    wanted.location.clone_from(&old.location);
    wanted.extensions.clone_from(&old.extensions);
    let mut silent = old.clone();
    silent.cluster_provisioned = wanted.cluster_provisioned;
    silent.skip_cleanup = wanted.skip_cleanup;
    if silent != wanted || awaits_reallocation(live) {
        wanted.config_transaction_id = old.config_transaction_id.saturating_add(1).max(generation);
    }
    if *old == wanted { Change::Keep } else { Change::Update(wanted) }
}

/// A swap: nothing in the spec differs, the hardware manager is done, and yet there are fewer nodes than asked for.
fn awaits_reallocation(live: &NodeAllocationRequest) -> bool {
    let Some(status) = &live.status else { return false };
    let wanted: i64 = live.spec.node_group.iter().map(|g| g.size).sum();
    let have = i64::try_from(status.node_names().len()).unwrap_or(i64::MAX);
    condition::is_true(&status.conditions, HardwareCondition::Provisioned)
        && status.observed_config_transaction_id == live.spec.config_transaction_id
        && have < wanted
}

/// The hardware manager has seen this transaction (B-48). Until then what it reports is about an older spec.
pub fn caught_up(transaction: i64, status: &NodeAllocationRequestStatus) -> bool {
    transaction == 0 || status.observed_config_transaction_id == transaction
}

/// What the hardware manager reports is about the spec as it stands (B-48). It acknowledges no transaction for the first
/// allocation, nor before the first change that follows it; and that the cluster is up is no change of the hardware.
pub fn is_current(allocation: &NodeAllocationRequest) -> bool {
    let Some(status) = &allocation.status else { return false };
    let first = status.observed_config_transaction_id == 0
        && (allocation.metadata.generation == Some(1) || allocation.spec.cluster_provisioned);
    first || caught_up(allocation.spec.config_transaction_id, status)
}

/// What a hardware condition means for the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The condition of the request.
    pub condition: Next,
    /// The stage is over, well.
    pub done: bool,
    /// The stage is over, badly.
    pub failed: bool,
}

/// `HardwareProvisioned` from the object's `Provisioned` (13.4). The state of the first provisioning always counts,
/// whatever transaction it belongs to.
pub fn provisioned(status: Option<&NodeAllocationRequestStatus>) -> Mapped {
    let found = status.and_then(|s| condition::find(&s.conditions, HardwareCondition::Provisioned));
    match found {
        Some(found) => map(RequestCondition::HardwareProvisioned, "provisioning", found),
        None => Mapped {
            condition: Next::no(
                RequestCondition::HardwareProvisioned,
                RequestReason::InProgress,
                "Hardware provisioning is in progress",
            ),
            done: false,
            failed: false,
        },
    }
}

/// State of a later profile change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configured {
    /// None was ever started.
    Absent,
    /// The state is that of an older transaction: change nothing, wait.
    Stale,
    /// State of the current one.
    Current(Mapped),
}

/// `HardwareConfigured` from the object's `Configured` (13.4). `transaction` is that of the spec as it shall be.
pub fn configured(transaction: i64, status: Option<&NodeAllocationRequestStatus>) -> Configured {
    let Some(status) = status else { return Configured::Absent };
    match condition::find(&status.conditions, HardwareCondition::Configured) {
        None => Configured::Absent,
        Some(_) if !caught_up(transaction, status) => Configured::Stale,
        Some(found) => Configured::Current(map(RequestCondition::HardwareConfigured, "configuring", found)),
    }
}

fn map(type_: RequestCondition, word: &str, found: &Condition) -> Mapped {
    let reason = reason(&found.reason);
    let tail = if found.message.is_empty() { String::new() } else { format!(": {}", found.message) };
    let failed =
        found.status == status::FALSE && matches!(reason, RequestReason::Failed | RequestReason::TimedOut);
    let done = found.status == status::TRUE;
    let condition = if done {
        Next::yes(type_, reason, format!("Hardware {word} completed{tail}"))
    } else if failed {
        // InvalidUserInput too (B-18): a clean failure.
        Next::no(type_, reason, format!("Hardware {word} failed{tail}"))
    } else {
        // Unknown counts as in progress (B-45).
        let unknown = found.status != status::FALSE;
        let reason = if unknown { RequestReason::InProgress } else { reason };
        Next::no(type_, reason, format!("Hardware {word} is in progress{tail}"))
    };
    Mapped { condition, done, failed }
}

fn reason(text: &str) -> RequestReason {
    match HardwareReason::parse(text) {
        Some(HardwareReason::InProgress | HardwareReason::ConfigurationUpdateRequested) => {
            RequestReason::InProgress
        }
        Some(HardwareReason::Completed | HardwareReason::ConfigurationApplied) => RequestReason::Completed,
        Some(HardwareReason::TimedOut) => RequestReason::TimedOut,
        Some(
            HardwareReason::Failed
            | HardwareReason::InvalidUserInput
            | HardwareReason::Unprovisioned
            | HardwareReason::NotInitialized,
        ) => RequestReason::Failed,
        Some(HardwareReason::ConfigurationUpdatePending) | None => RequestReason::Unknown,
    }
}

/// True when the hardware failure is one that an edit of the request can repair (B-18); admission then allows edits.
pub fn is_user_error(status: Option<&NodeAllocationRequestStatus>) -> bool {
    status
        .and_then(|s| condition::find(&s.conditions, HardwareCondition::Provisioned))
        .is_some_and(|c| c.reason == HardwareReason::InvalidUserInput.as_str())
}

/// One entry per node, sorted by id (13.6). `waiting` are the hosts of the cluster that have no node yet while the
/// hardware manager waits for free ones (B-08); empty otherwise.
pub fn infrastructure(
    nodes: &[AllocatedNode],
    host_map: &BTreeMap<String, String>,
    waiting: &[String],
) -> Vec<InfrastructureResourceStatus> {
    let mut out: Vec<_> = nodes
        .iter()
        .filter_map(|node| Some((node.metadata.name.clone()?, node)))
        .map(|(id, node)| InfrastructureResourceStatus {
            resource_name: host_map.get(&id).unwrap_or(&id).clone(),
            resource_provisioning_phase: phase(node),
            resource_id: id,
        })
        .chain(waiting.iter().map(|host| InfrastructureResourceStatus {
            resource_name: host.clone(),
            resource_id: String::new(),
            resource_provisioning_phase: ResourceProvisioningPhase::AwaitingFreeResources,
        }))
        .collect();
    out.sort_by(|a, b| (&a.resource_id, &a.resource_name).cmp(&(&b.resource_id, &b.resource_name)));
    out
}

fn phase(node: &AllocatedNode) -> ResourceProvisioningPhase {
    let conditions = node.status.as_ref().map_or(&[][..], |s| &s.conditions);
    match condition::find(conditions, HardwareCondition::Provisioned) {
        Some(c) if c.status == status::TRUE => ResourceProvisioningPhase::Provisioned,
        Some(c)
            if c.reason == HardwareReason::Failed.as_str()
                || c.reason == HardwareReason::TimedOut.as_str() =>
        {
            ResourceProvisioningPhase::Failed
        }
        _ => ResourceProvisioningPhase::Processing,
    }
}

/// Hosts of the cluster without a node, while the hardware manager says that it waits for free hosts (B-08).
pub fn waiting_hosts(
    status: Option<&NodeAllocationRequestStatus>,
    cluster: &Value,
    host_map: &BTreeMap<String, String>,
) -> Vec<String> {
    let waits = status
        .and_then(|s| condition::find(&s.conditions, HardwareCondition::Provisioned))
        .is_some_and(|c| {
            c.status == status::FALSE
                && c.reason == HardwareReason::InProgress.as_str()
                && c.message.contains("not enough free resources")
        });
    if !waits {
        return Vec::new();
    }
    let hosts = render::nodes(cluster).map(render::host_name).filter(|h| !h.is_empty());
    hosts.filter(|h| !host_map.values().any(|v| v == h)).map(str::to_owned).collect()
}
