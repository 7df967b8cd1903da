//! ClusterManagementAddOn (spec/07 section 3). Its status lists are atomic, so these types hold every field of the
//! published schema: we write the lists back whole, with the hashes filled in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::addon::AddOnMeta;
use super::{ConfigName, HashedConfig};

/// The add-on as the whole hub knows it.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterManagementAddOn",
    status = "ClusterManagementAddOnStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "An add-on, as the whole hub knows it."
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterManagementAddOnSpec {
    /// What the console shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_on_meta: Option<AddOnMeta>,
    /// Kinds of configuration, with their defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_configs: Vec<SupportedConfig>,
    /// `Manual`, or by placements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_strategy: Option<InstallStrategy>,
}

/// One kind of configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupportedConfig {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// What clusters get that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_config: Option<ConfigName>,
}

/// Who makes the ManagedClusterAddOns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InstallStrategy {
    /// `Manual` or `Placements`.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub type_: String,
}

/// State of the add-on on the whole hub.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterManagementAddOnStatus {
    /// Defaults with their hashes. The lower-case `c` is upstream's.
    #[serde(default, rename = "defaultconfigReferences", skip_serializing_if = "Vec::is_empty")]
    pub default_config_references: Vec<DefaultConfigReference>,
    /// One entry per placement of the install strategy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub install_progressions: Vec<InstallProgression>,
}

/// A default configuration (an atomic list).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefaultConfigReference {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Which object, with its hash; OCM names it, the hash is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<HashedConfig>,
}

/// How far a placement's roll-out is (an atomic list).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallProgression {
    /// Namespace of the Placement.
    pub namespace: String,
    /// Name of the Placement.
    pub name: String,
    /// Configuration for its clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_references: Vec<InstallConfigReference>,
    /// OCM's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Configuration of a placement's clusters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallConfigReference {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Which object, with its hash; the hash is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<HashedConfig>,
    /// OCM's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_config: Option<HashedConfig>,
    /// OCM's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_good_config: Option<HashedConfig>,
}
