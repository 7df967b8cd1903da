//! MachineConfigPool, `machineconfiguration.openshift.io/v1` (spec/03 6.3).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::condition::{self, StatusCondition};

/// Pools that are never paused: those of the control plane.
pub const CONTROL_PLANE: [&str; 2] = ["master", "arbiter"];

/// What the pool shall be.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "machineconfiguration.openshift.io",
    version = "v1",
    kind = "MachineConfigPool",
    status = "MachineConfigPoolStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "Machines that share one configuration."
)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigPoolSpec {
    /// New configuration is held back.
    #[serde(default)]
    pub paused: bool,
    /// How many machines may be away at once; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Configuration that the machines shall have.
    #[serde(default)]
    pub configuration: PoolConfiguration,
}

/// A rendered configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolConfiguration {
    /// For example `rendered-worker-...`.
    #[serde(default)]
    pub name: String,
}

/// What the pool is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigPoolStatus {
    /// Generation that the operator has looked at.
    #[serde(default)]
    pub observed_generation: i64,
    /// Configuration that all machines have.
    #[serde(default)]
    pub configuration: PoolConfiguration,
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
    /// Updated, Updating, Degraded, `NodeDegraded`, `RenderDegraded` and others.
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    /// Certificates that the pool carries.
    #[serde(default, rename = "certExpirys")]
    pub cert_expirys: Vec<CertExpiry>,
}

/// A certificate of the pool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CertExpiry {
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Time>,
}

impl MachineConfigPool {
    /// Every machine runs the newest configuration (spec/03 6.3; upstream looks at the condition alone).
    pub fn is_updated(&self) -> bool {
        let Some(status) = &self.status else { return false };
        status.observed_generation == self.metadata.generation.unwrap_or_default()
            && status.configuration.name == self.spec.configuration.name
            && status.updated_machine_count == status.machine_count
            && status.ready_machine_count == status.machine_count
            && condition::status(&status.conditions, "Updated") == "True"
            && condition::status(&status.conditions, "Degraded") != "True"
    }
}
