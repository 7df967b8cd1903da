//! AddOnDeploymentConfig (spec/07 section 13).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ResourceRequirements, Toleration};
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The spec as the API server returns it: its hash is taken over this, not over a typed form, which would drop what
/// we do not know (spec/07 4.3).
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[kube(
    group = "addon.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnDeploymentConfig",
    namespaced,
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "How an add-on's agent is deployed."
)]
#[serde(transparent)]
pub struct AddOnDeploymentConfigSpec(pub Value);

impl AddOnDeploymentConfig {
    /// The spec in our words.
    ///
    /// # Errors
    /// When a field has another type than the published schema says.
    pub fn read(&self) -> Result<DeploymentConfig, serde_json::Error> {
        DeploymentConfig::deserialize(&self.spec.0)
    }
}

/// How the agent is deployed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentConfig {
    /// Install namespace on the spoke; wins over everything else, unless empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_install_namespace: Option<String>,
    /// Free variables; we know `LOG` and `REPORT_SECONDS`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub customized_variables: Vec<Variable>,
    /// Where the agent may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_placement: Option<NodePlacement>,
    /// Mirrors of image registries; later entries win.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub registries: Vec<Registry>,
    /// Proxy on the way to the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_config: Option<ProxyConfig>,
    /// Requests and limits by container; when several match, the later wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_requirements: Vec<ContainerResources>,
}

/// A free variable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Variable {
    /// A C identifier of at most 255 characters.
    pub name: String,
    /// At most 1024 characters.
    #[serde(default)]
    pub value: String,
}

/// Node selector and tolerations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePlacement {
    /// Labels that the node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that the agent tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
}

/// A mirror of an image registry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Registry {
    /// Prefix of the image; empty means: any image, of which only the last path element stays.
    #[serde(default)]
    pub source: String,
    /// What stands there instead.
    #[serde(default)]
    pub mirror: String,
}

/// Proxy settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyConfig {
    /// For http.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    /// For https.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    /// Hosts, domains and CIDRs that are reached directly, separated by commas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
    /// Base64 of a PEM bundle to verify the proxy with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ca_bundle: String,
}

/// Resources of the containers that an id matches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerResources {
    /// `<kinds>:<name>:<container>`; each part may be `*`.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// Requests and limits.
    pub resources: ResourceRequirements,
}
