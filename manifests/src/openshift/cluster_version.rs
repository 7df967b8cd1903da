//! ClusterVersion, `config.openshift.io/v1` (spec/03 section 6).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Deserializer, Serialize};

use super::condition::StatusCondition;

/// Name of the one object.
pub const NAME: &str = "version";

/// What the cluster shall run.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterVersion",
    status = "ClusterVersionStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "The release of an OpenShift cluster."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionSpec {
    /// Immutable id of the cluster.
    #[serde(rename = "clusterID", default)]
    pub cluster_id: String,
    /// Channel of the update graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// URL of the update graph; empty means the public one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The update that somebody asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_update: Option<DesiredUpdate>,
}

/// An update that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DesiredUpdate {
    /// Target version.
    #[serde(default)]
    pub version: String,
    /// Release image.
    #[serde(default)]
    pub image: String,
    /// Skip the operator's own checks.
    #[serde(default)]
    pub force: bool,
    /// `Multi`, or empty.
    #[serde(default)]
    pub architecture: String,
}

/// What the cluster runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    /// What the operator works towards.
    #[serde(default)]
    pub desired: Release,
    /// Newest first.
    #[serde(default)]
    pub history: Vec<UpdateHistory>,
    /// Generation that the operator has looked at.
    #[serde(default)]
    pub observed_generation: i64,
    /// Available, Progressing, Failing, Upgradeable, `RetrievedUpdates`, `ReleaseAccepted`, Invalid and others.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// Recommended updates; `null` is the usual way to say none.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub available_updates: Vec<Release>,
    /// Updates with risks.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub conditional_updates: Vec<ConditionalUpdate>,
}

/// A release.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Release {
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Its image.
    #[serde(default)]
    pub image: String,
    /// Channels that hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
}

/// An entry of the update history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    /// `Completed` or `Partial`.
    #[serde(default)]
    pub state: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_time: Option<Time>,
    /// When it ended, also when it was superseded.
    #[serde(default)]
    pub completion_time: Option<Time>,
}

/// An update with risks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConditionalUpdate {
    /// Which.
    #[serde(default)]
    pub release: Release,
    /// `Recommended`.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// What may go wrong.
    #[serde(default)]
    pub risks: Vec<Risk>,
}

/// A risk of an update.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Risk {
    /// Its name.
    #[serde(default)]
    pub name: String,
}

fn null_is_empty<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}
