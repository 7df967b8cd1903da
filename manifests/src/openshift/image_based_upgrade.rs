//! ImageBasedUpgrade, `lca.openshift.io/v1` (spec/03 section 5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::condition::StatusCondition;

/// Name of the one object.
pub const NAME: &str = "upgrade";

/// Stage that the single node shall reach.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "lca.openshift.io",
    version = "v1",
    kind = "ImageBasedUpgrade",
    status = "ImageBasedUpgradeStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "The image-based upgrade of a single-node cluster."
)]
#[serde(rename_all = "camelCase")]
pub struct ImageBasedUpgradeSpec {
    /// `Idle`, `Prep`, `Upgrade` or `Rollback`.
    #[serde(default)]
    pub stage: String,
    /// The seed.
    #[serde(default)]
    pub seed_image_ref: SeedImageRef,
}

/// The seed image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeedImageRef {
    /// Pull spec.
    #[serde(default)]
    pub image: String,
    /// Release in the seed.
    #[serde(default)]
    pub version: String,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBasedUpgradeStatus {
    /// Generation that the lifecycle agent has looked at.
    #[serde(default)]
    pub observed_generation: i64,
    /// The most recently flipped last.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// Stages that may come next.
    #[serde(default)]
    pub valid_next_stages: Vec<String>,
    /// Until when a rollback is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_availability_expiration: Option<Time>,
    /// Stages with their phases.
    #[serde(default)]
    pub history: Vec<StageHistory>,
}

/// A stage of the history.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageHistory {
    /// Which stage.
    #[serde(default)]
    pub stage: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Its phases.
    #[serde(default)]
    pub phases: Vec<PhaseHistory>,
}

/// A phase of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseHistory {
    /// Which phase.
    #[serde(default)]
    pub phase: String,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}
