//! What a SpokeReport says of pools, nodes, findings and operations.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits as max;

/// A MachineConfigPool (spec/03 6.3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolReport {
    /// `metadata.name`
    #[schemars(length(max = max::NAME))]
    pub name: String,
    /// `spec.paused`
    #[serde(default)]
    pub paused: bool,
    /// `spec.maxUnavailable`, a number or a percentage; absent means 1.
    #[schemars(length(max = max::WORD))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub max_unavailable: String,
    /// Machines in the pool.
    #[serde(default)]
    pub machine_count: i32,
    /// With the newest configuration.
    #[serde(default)]
    pub updated_machine_count: i32,
    /// Ready.
    #[serde(default)]
    pub ready_machine_count: i32,
    /// Not available.
    #[serde(default)]
    pub unavailable_machine_count: i32,
    /// Degraded.
    #[serde(default)]
    pub degraded_machine_count: i32,
    /// Every machine runs the newest configuration, judged by generation, configuration, counts and conditions.
    #[serde(default)]
    pub updated: bool,
    /// Condition `Updating`.
    #[serde(default)]
    pub updating: bool,
    /// Condition `Degraded`.
    #[serde(default)]
    pub degraded: bool,
    /// Message of the condition that explains the state, cut.
    #[schemars(length(max = max::NOTE))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The first certificate that expires while the pool is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_expiry: Option<Time>,
}

/// Nodes of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodesReport {
    /// `<ready>/<all>`, for the column.
    #[schemars(length(max = max::WORD))]
    #[serde(default)]
    pub summary: String,
    /// How many there are.
    #[serde(default)]
    pub total: i32,
    /// How many of them are control plane nodes.
    #[serde(default)]
    pub control_plane: i32,
    /// Names of those that are ready, sorted.
    #[schemars(length(max = max::READY_NODES), inner(length(max = max::NAME)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready: Vec<String>,
    /// Those that are not, sorted by name.
    #[schemars(length(max = max::NOT_READY_NODES))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ready: Vec<NotReadyNode>,
    /// Names of those that take no new pods, sorted.
    #[schemars(length(max = max::CORDONED_NODES), inner(length(max = max::NAME)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cordoned: Vec<String>,
    /// Different kubelet versions, sorted; more than one during an upgrade.
    #[schemars(length(max = max::KUBELETS), inner(length(max = max::WORD)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kubelets: Vec<String>,
}

/// A node that is not ready: its condition `Ready` is not True, or `NetworkUnavailable` is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotReadyNode {
    /// `metadata.name`
    #[schemars(length(max = max::NAME))]
    pub name: String,
    /// Why, in the kubelet's or node controller's words.
    #[schemars(length(max = max::NOTE))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A blocker or a warning before an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which check found it.
    pub check: Check,
    /// What is wrong, with names.
    #[schemars(length(max = max::NOTE))]
    pub message: String,
}

/// A check before an upgrade (spec/03 6.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Check {
    /// The ClusterVersion is available, not failing, not busy.
    ClusterVersion,
    /// An operator is available and not degraded.
    ClusterOperator,
    /// An operator or the ClusterVersion forbids the next minor version.
    Upgradeable,
    /// A pool is neither paused, degraded nor outdated.
    MachineConfigPool,
    /// A node is ready and schedulable.
    Node,
    /// The ImageBasedUpgrade is idle.
    ImageBasedUpgrade,
}

impl Check {
    /// It concerns only updates to another minor version.
    pub fn minor_only(self) -> bool {
        self == Check::Upgradeable
    }

    /// The cluster-version operator guards it itself, so `desiredUpdate.force` turns a blocker into a warning.
    pub fn yields_to_force(self) -> bool {
        matches!(self, Check::Upgradeable | Check::ClusterVersion)
    }
}

/// How far an order of the hub's is (DESIGN section 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationResult {
    /// Id that the hub gave it.
    #[schemars(length(max = max::NAME))]
    pub id: String,
    /// What was ordered.
    pub kind: OperationKind,
    /// How far it is.
    pub state: OperationState,
    /// Node or pools that it is about.
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// What happened, or what it waits for.
    #[schemars(length(max = max::NOTE))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the state was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// What the hub can order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum OperationKind {
    /// Pause all pools but the control plane's; the agent remembers which.
    PauseWorkers,
    /// Release the pools that `PauseWorkers` paused.
    ResumeWorkers,
    /// Cordon and drain a node.
    DrainNode,
    /// Make it schedulable again.
    UncordonNode,
    /// Approve the certificate requests of one expected node.
    ApproveNodeCsr,
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum OperationState {
    /// Under way.
    Running,
    /// Done.
    Succeeded,
    /// Given up; the message says why.
    Failed,
}
