//! ManagedCluster (spec/07 section 10).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::conditions::ClusterCondition;

/// What the hub wants of a cluster.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    status = "ManagedClusterStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "A cluster that joined, or wants to join, this hub."
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// The hub's administrator has let the cluster in.
    #[serde(default)]
    pub hub_accepts_client: bool,
    /// Seconds between two renewals of the cluster's lease; dead after five of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// Where the cluster's API is said to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed_cluster_client_configs: Vec<ClientConfig>,
    /// What keeps placements away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
}

/// One address of a cluster's API.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// Base URL.
    #[serde(default)]
    pub url: String,
    /// Base64 of the PEM bundle to verify it with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
}

/// A taint of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
}

/// What the cluster says of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// See [`ClusterCondition`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Claims, for example `version.openshift.io`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_claims: Vec<ClusterClaim>,
    /// Version of its Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersionInfo>,
}

/// Name and value that a cluster claims.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterClaim {
    /// For example `id.k8s.io`.
    #[serde(default)]
    pub name: String,
    /// At most 1024 characters.
    #[serde(default)]
    pub value: String,
}

/// Versions that a cluster reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterVersionInfo {
    /// Kubernetes version, with a leading `v`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kubernetes: String,
}

impl ManagedCluster {
    /// One of the cluster's conditions.
    pub fn condition(&self, kind: ClusterCondition) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|c| c.type_ == kind.as_str())
    }

    /// The value of a claim.
    pub fn claim(&self, name: &str) -> Option<&str> {
        let claims = &self.status.as_ref()?.cluster_claims;
        claims.iter().find(|c| c.name == name).map(|c| c.value.as_str())
    }

    /// `True`, `False` or `Unknown`; `None` when the cluster never told.
    pub fn available(&self) -> Option<&str> {
        self.condition(ClusterCondition::Available).map(|c| c.status.as_str())
    }
}
