//! ManagedClusterAddOn (spec/07 section 4).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::conditions::AddOnCondition;
use super::names::{ANNOTATION_INSTALL_NAMESPACE, DEFAULT_INSTALL_NAMESPACE};
use super::{ConfigKind, HashedConfig};

/// What the user wants of the add-on on one cluster.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ManagedClusterAddOn",
    namespaced,
    status = "ManagedClusterAddOnStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "An add-on on one cluster; lies in the cluster namespace."
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterAddOnSpec {
    /// Install namespace on the spoke; deprecated upstream, filled by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_namespace: Option<String>,
    /// Configuration of this cluster that overrides the defaults per group and resource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configs: Vec<AddOnConfig>,
}

/// A configuration object that the user refers to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AddOnConfig {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// State of the add-on on one cluster; several writers share it (spec/07 4.1).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterAddOnStatus {
    /// Install namespace in force; ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// How the agent registers; ours, under the `token` driver the spoke's registration agent fills the subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registrations: Vec<Registration>,
    /// `csr` or `token`; the spoke's registration agent writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_client_driver: Option<String>,
    /// Kinds of configuration that we understand; ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_configs: Vec<ConfigKind>,
    /// Configuration in force; OCM fills it, the generation and the hashes of overrides are ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_references: Vec<ConfigReference>,
    /// How health is judged; ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheck>,
    /// Name and description that the console shows; ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_on_meta: Option<AddOnMeta>,
    /// Objects of ours that belong to this cluster; ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_objects: Vec<RelatedObject>,
    /// See [`AddOnCondition`]; a list map by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// One way to register (an atomic list).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Who signs the certificates.
    pub signer_name: String,
    /// Who the agent will be on the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
}

/// Identity of an agent on the hub.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// User name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// Groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Organization units; for custom signers only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organization_unit: Vec<String>,
}

/// A configuration in force (an atomic list).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReference {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Required by the schema, beside `desiredConfig`.
    pub name: String,
    /// What shall be applied, with its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_config: Option<HashedConfig>,
    /// What was applied last; OCM writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_config: Option<HashedConfig>,
    /// Generation of the configuration object that we saw; ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_observed_generation: Option<i64>,
}

/// How health is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HealthCheck {
    /// `Lease` or `Customized`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What the console shows of an add-on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddOnMeta {
    /// Name for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// One sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An object that belongs to the add-on on this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RelatedObject {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

impl ManagedClusterAddOn {
    /// One of the add-on's conditions.
    pub fn condition(&self, kind: AddOnCondition) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|c| c.type_ == kind.as_str())
    }

    /// Install namespace when no AddOnDeploymentConfig names one: annotation, then spec, then the default (spec/07 4).
    pub fn own_install_namespace(&self) -> &str {
        let annotation = self
            .metadata
            .annotations
            .as_ref()
            .and_then(|a| a.get(ANNOTATION_INSTALL_NAMESPACE))
            .map(String::as_str);
        [annotation, self.spec.install_namespace.as_deref()]
            .into_iter()
            .flatten()
            .find(|n| !n.is_empty())
            .unwrap_or(DEFAULT_INSTALL_NAMESPACE)
    }
}
