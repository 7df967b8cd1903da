//! What a SpokeReport says of the cluster as a whole.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits as max;

/// The ClusterVersion as the agent sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionReport {
    /// `spec.clusterID`
    #[schemars(length(max = max::NAME))]
    #[serde(default, rename = "clusterID", skip_serializing_if = "String::is_empty")]
    pub cluster_id: String,
    /// Version that runs: the newest completed entry of the history.
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `status.desired.version`: what the operator works towards.
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub desired: String,
    /// `status.desired.image`
    #[schemars(length(max = max::URL))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub desired_image: String,
    /// `spec.desiredUpdate.version`: what somebody asked for.
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested: String,
    /// Field manager that owns `spec.desiredUpdate` (spec/03 6.2 rule 8).
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub requested_by: String,
    /// `spec.channel`
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// Field manager that owns `spec.channel` (spec/03 6.2 rule 1).
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub channel_by: String,
    /// `spec.upstream`
    #[schemars(length(max = max::URL))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub upstream: String,
    /// `metadata.generation`
    #[serde(default)]
    pub generation: i64,
    /// `status.observedGeneration`; older than `generation` means that the operator has not looked yet.
    #[serde(default)]
    pub observed_generation: i64,
    /// Newest first.
    #[schemars(length(max = max::HISTORY))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Release>,
    /// Those that matter to an upgrade (spec/03 6.5).
    #[schemars(length(max = max::CONDITIONS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ReportedCondition>,
    /// Versions that the update graph recommends now, in its order.
    #[schemars(length(max = max::UPDATES), inner(length(max = max::WORD)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_updates: Vec<String>,
    /// Versions that are offered with risks.
    #[schemars(length(max = max::CONDITIONAL))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditional_updates: Vec<ConditionalUpdate>,
}

/// An entry of the update history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Its version.
    #[schemars(length(max = max::WORD))]
    #[serde(default)]
    pub version: String,
    /// `Completed` or `Partial`.
    #[schemars(length(max = max::WORD))]
    #[serde(default)]
    pub state: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_time: Option<Time>,
    /// When it ended, also when it was superseded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

/// A condition of an object on the spoke.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportedCondition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(max = max::WORD))]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[schemars(length(max = 7))]
    pub status: String,
    /// Its reason.
    #[schemars(length(max = max::REASON))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its message, cut.
    #[schemars(length(max = max::MESSAGE))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When its status flipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Generation that it speaks of; the ImageBasedUpgrade tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// A version that is offered with risks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdate {
    /// The version.
    #[schemars(length(max = max::WORD))]
    pub version: String,
    /// Status of its condition `Recommended`.
    #[schemars(length(max = 7))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recommended: String,
    /// Reason of that condition.
    #[schemars(length(max = max::REASON))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Names of the risks.
    #[schemars(length(max = max::RISKS), inner(length(max = max::WORD)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<String>,
}

/// Cluster operators.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorsReport {
    /// How many there are.
    #[serde(default)]
    pub total: i32,
    /// Those that are not fine, worst first: not available, degraded, progressing.
    #[schemars(length(max = max::OPERATORS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<OperatorReport>,
}

/// An operator that is not fine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorReport {
    /// `metadata.name`
    #[schemars(length(max = max::NAME))]
    pub name: String,
    /// Version of the operator itself.
    #[schemars(length(max = max::WORD))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Status of `Available`.
    #[schemars(length(max = 7))]
    #[serde(default)]
    pub available: String,
    /// Status of `Progressing`.
    #[schemars(length(max = 7))]
    #[serde(default)]
    pub progressing: String,
    /// Status of `Degraded`.
    #[schemars(length(max = 7))]
    #[serde(default)]
    pub degraded: String,
    /// Reason of the condition that is worst.
    #[schemars(length(max = max::REASON))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Its message, cut.
    #[schemars(length(max = max::NOTE))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// The ImageBasedUpgrade as the agent sees it (spec/03 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageBasedUpgradeReport {
    /// `spec.stage`
    #[schemars(length(max = max::WORD))]
    #[serde(default)]
    pub stage: String,
    /// `spec.seedImageRef.version`
    #[schemars(length(max = max::NAME))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seed_version: String,
    /// `metadata.generation`
    #[serde(default)]
    pub generation: i64,
    /// `status.observedGeneration`
    #[serde(default)]
    pub observed_generation: i64,
    /// Stages that the lifecycle agent permits now.
    #[schemars(length(max = 4), inner(length(max = max::WORD)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub valid_next_stages: Vec<String>,
    /// Until when a rollback is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_availability_expiration: Option<Time>,
    /// Step within the stage, for example `Precache`.
    #[schemars(length(max = max::WORD))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// All of them, the most recently flipped last.
    #[schemars(length(max = max::CONDITIONS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ReportedCondition>,
}
