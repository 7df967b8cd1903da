//! Open Cluster Management: cluster, work and addon groups, partial (spec/07).
//!
//! | Kind | Module | Group and version |
//! |---|---|---|
//! | ManagedCluster | [`cluster`] | `cluster.open-cluster-management.io/v1` |
//! | ManagedClusterAddOn | [`addon`] | `addon.open-cluster-management.io/v1alpha1`, the storage version |
//! | ClusterManagementAddOn | [`management`] | the same |
//! | AddOnDeploymentConfig | [`config`] | the same |
//! | ManifestWork | [`work`] | `work.open-cluster-management.io/v1` |
//!
//! `spec` is not required by the schemas of ManagedCluster and ManifestWork: read them behind a guard that skips what
//! cannot be decoded.

pub mod addon;
pub mod cluster;
pub mod conditions;
pub mod config;
pub mod management;
pub mod names;
pub mod work;

pub use addon::{ManagedClusterAddOn, ManagedClusterAddOnSpec, ManagedClusterAddOnStatus};
pub use cluster::{ManagedCluster, ManagedClusterSpec, ManagedClusterStatus};
pub use conditions::{AddOnCondition, AddOnReason, ClusterCondition, CsrReason, WorkCondition};
pub use config::{AddOnDeploymentConfig, AddOnDeploymentConfigSpec, DeploymentConfig};
pub use management::{ClusterManagementAddOn, ClusterManagementAddOnSpec, ClusterManagementAddOnStatus};
pub use work::{ManifestWork, ManifestWorkSpec, ManifestWorkStatus};

use serde::{Deserialize, Serialize};

/// Group and resource of a kind of configuration (`supportedConfigs[]`, a list map by both).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ConfigKind {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Plural resource name.
    pub resource: String,
}

/// Name of a configuration object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ConfigName {
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// Name of a configuration object with the hash of what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HashedConfig {
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
    /// Spec hash (spec/07 4.3), 64 hex digits; empty while nobody has written it.
    #[serde(default)]
    pub spec_hash: String,
}

impl HashedConfig {
    /// Without the hash.
    pub fn config_name(&self) -> ConfigName {
        ConfigName { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}
