//! SpokeReport: what a spoke tells the hub.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::limits as max;
use super::{
    ClusterVersionReport, Finding, ImageBasedUpgradeReport, NodesReport, OperationResult, OperatorsReport,
    PoolReport,
};
use crate::meta::words;

/// There is nothing to ask for: the agent reports what it sees.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "addon.clcm.openshift.io",
    version = "v1alpha1",
    kind = "SpokeReport",
    namespaced,
    no_spec,
    status = "SpokeReportStatus",
    derive = "PartialEq",
    derive = "Default",
    shortname = "spr",
    doc = "What the agent of one cluster sees there: versions, upgrade progress, operators, pools and nodes that are not fine. Lies in the cluster namespace; only the agent writes its status.",
    printcolumn(name = "Version", type_ = "string", json_path = ".status.clusterVersion.version"),
    printcolumn(name = "Desired", type_ = "string", json_path = ".status.clusterVersion.desired"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary"),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].status"
    ),
    printcolumn(name = "Progress", type_ = "string", json_path = ".status.progress.detail"),
    printcolumn(name = "Reported", type_ = "date", json_path = ".status.updatedAt"),
    printcolumn(
        name = "Trouble",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].message"
    ),
    printcolumn(
        name = "Stage",
        type_ = "string",
        json_path = ".status.imageBasedUpgrade.stage",
        priority = 1
    ),
    printcolumn(name = "Agent", type_ = "string", json_path = ".status.agentVersion", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct SpokeReportSpec {}

/// Everything that the agent reports. `resourceVersion` orders reports: the agent's own counters do not survive an
/// image-based upgrade.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpokeReportStatus {
    /// Version of the agent.
    #[schemars(length(max = max::WORD))]
    #[serde(default)]
    pub agent_version: String,
    /// When the agent wrote this, by the spoke's clock. There is no heartbeat: an old time with a fresh add-on lease
    /// means that nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Time>,
    /// Which of the kinds that the agent can watch this spoke serves. A missing `ImageBasedUpgrade` means that the
    /// lifecycle agent is not installed.
    #[schemars(length(max = 5))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<Served>,
    /// The ClusterVersion; absent where the spoke is not OpenShift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_version: Option<ClusterVersionReport>,
    /// What moves at the moment; absent at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Cluster operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operators: Option<OperatorsReport>,
    /// MachineConfigPools, degraded and outdated ones first.
    #[schemars(length(max = max::POOLS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolReport>,
    /// The ImageBasedUpgrade; absent where its kind is not served or the object does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_based_upgrade: Option<ImageBasedUpgradeReport>,
    /// Nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesReport>,
    /// What must be put right before an upgrade may begin (spec/03 6.6).
    #[schemars(length(max = max::FINDINGS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Finding>,
    /// What is worth a look before an upgrade begins.
    #[schemars(length(max = max::FINDINGS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
    /// Results of the hub's orders, newest first.
    #[schemars(length(max = max::OPERATIONS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationResult>,
    /// How many entries did not fit, by list; absent when all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_off: Option<LeftOff>,
    /// `Ready`: the agent sees all that it should; `Reconciling`: an upgrade runs; `Degraded`: something is wrong.
    #[schemars(schema_with = "conditions_schema")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// What moves at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What it is.
    pub phase: ProgressPhase,
    /// 0 to 99 within the phase, where the spoke tells.
    #[schemars(range(min = 0, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<i32>,
    /// Steps done.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<i32>,
    /// Steps in all.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<i32>,
    /// Operators that it waits for.
    #[schemars(length(max = max::WAITING_ON), inner(length(max = max::NAME)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<String>,
    /// One line for people.
    #[schemars(length(max = max::MESSAGE))]
    #[serde(default)]
    pub detail: String,
    /// When the phase began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// Phase of an upgrade, as far as one spoke can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProgressPhase {
    /// The release is being fetched and checked.
    Payload,
    /// The cluster-version operator applies the release.
    Operators,
    /// The ClusterVersion is done, MachineConfigPools still roll.
    Pools,
    /// Image-based: stage Prep.
    Prep,
    /// Image-based: stage Upgrade.
    Upgrade,
    /// Image-based: stage Rollback.
    Rollback,
    /// Image-based: on the way back to Idle, before the pivot.
    Aborting,
    /// Image-based: on the way back to Idle, after it.
    Finalizing,
}

/// A kind that the agent can watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Served {
    /// `config.openshift.io/v1`
    ClusterVersion,
    /// `config.openshift.io/v1`
    ClusterOperator,
    /// `machineconfiguration.openshift.io/v1`
    MachineConfigPool,
    /// `lca.openshift.io/v1`
    ImageBasedUpgrade,
    /// The core group; always there.
    Node,
}

/// How many entries did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOff {
    /// Of `clusterVersion.availableUpdates`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub available_updates: i32,
    /// Of `clusterVersion.conditionalUpdates`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub conditional_updates: i32,
    /// Of `operators.items`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub operators: i32,
    /// Of `pools`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pools: i32,
    /// Of `nodes.ready`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ready_nodes: i32,
    /// Of `nodes.notReady`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_ready_nodes: i32,
    /// Of `nodes.cordoned`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cordoned_nodes: i32,
    /// Of `blockers`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blockers: i32,
    /// Of `warnings`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warnings: i32,
    /// Of `operations`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub operations: i32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &i32) -> bool {
    *n == 0
}

words! {
    /// Conditions of a SpokeReport, with kstatus meaning.
    ReportCondition {
        /// The agent sees all that it should.
        Ready = "Ready",
        /// An upgrade runs.
        Reconciling = "Reconciling",
        /// Something is wrong on the spoke.
        Degraded = "Degraded",
    }
}

words! {
    /// Reasons of the conditions of a SpokeReport.
    ReportReason {
        /// `Ready=True`
        Watching = "Watching",
        /// `Ready=False`: a watch does not work; the message has the API server's words.
        WatchFailed = "WatchFailed",
        /// `Reconciling=True`: the cluster-version operator works.
        ClusterVersionProgressing = "ClusterVersionProgressing",
        /// `Reconciling=True`: MachineConfigPools roll.
        PoolsUpdating = "PoolsUpdating",
        /// `Reconciling=True`: the lifecycle agent works.
        ImageBasedUpgradeInProgress = "ImageBasedUpgradeInProgress",
        /// `Reconciling=True`: an operation of the hub's is being carried out.
        OperationRunning = "OperationRunning",
        /// `Reconciling=False` or `Degraded=False`
        AsExpected = "AsExpected",
        /// `Degraded=True`
        ClusterVersionFailing = "ClusterVersionFailing",
        /// `Degraded=True`
        ClusterVersionNotAvailable = "ClusterVersionNotAvailable",
        /// `Degraded=True`
        ImageBasedUpgradeFailed = "ImageBasedUpgradeFailed",
        /// `Degraded=True`
        OperatorsNotAvailable = "OperatorsNotAvailable",
        /// `Degraded=True`
        OperatorsDegraded = "OperatorsDegraded",
        /// `Degraded=True`
        PoolsDegraded = "PoolsDegraded",
        /// `Degraded=True`
        NodesNotReady = "NodesNotReady",
    }
}

impl SpokeReport {
    /// One of the report's conditions.
    pub fn condition(&self, kind: ReportCondition) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|c| c.type_ == kind.as_str())
    }
}

fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": max::REPORT_CONDITIONS,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "message": {"type": "string", "maxLength": max::SUMMARY},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "reason": {"type": "string", "minLength": 1, "maxLength": max::REASON, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "type": {"type": "string", "maxLength": max::WORD, "pattern": "^[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"},
            }
        }
    })
}
