//! ClusterOperator, `config.openshift.io/v1`.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::condition::StatusCondition;

/// Nothing is asked of an operator here.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "ClusterOperator",
    status = "ClusterOperatorStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "State of one operator of an OpenShift cluster."
)]
pub struct ClusterOperatorSpec {}

/// What the operator says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterOperatorStatus {
    /// Available, Progressing, Degraded, Upgradeable.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// Versions; the one named `operator` is the operator's.
    #[serde(default)]
    pub versions: Vec<OperandVersion>,
}

/// Version of one part of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OperandVersion {
    /// Which part.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

impl ClusterOperatorStatus {
    /// Version of the operator itself.
    pub fn version(&self) -> &str {
        self.versions.iter().find(|v| v.name == "operator").map_or("", |v| v.version.as_str())
    }
}
