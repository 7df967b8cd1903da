//! Governance policies (spec/02 section 11), partial: compliance, action, labels.

use kube::CustomResource;
use serde::{Deserialize, Serialize};

use crate::meta::words;

/// What a policy wants. Its templates are not read here: they are large, and governance alone acts on them.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1",
    kind = "Policy",
    plural = "policies",
    namespaced,
    schema = "disabled",
    status = "PolicyStatus",
    doc = "A governance policy.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct PolicySpec {
    /// inform or enforce, in either case of the first letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation_action: Option<String>,
    /// Out of force.
    #[serde(default)]
    pub disabled: bool,
}

impl PolicySpec {
    /// The policy changes the cluster. Absent and unknown actions do not.
    pub fn enforces(&self) -> bool {
        self.remediation_action.as_deref().is_some_and(|a| a.eq_ignore_ascii_case("enforce"))
    }
}

/// Observed state of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// Over all clusters that it is placed on; absent while not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
    /// Per cluster, on root policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<ClusterCompliance>,
    /// Where it is placed, on root policies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placement: Vec<Placement>,
}

/// Compliance of one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub struct ClusterCompliance {
    /// Name of the ManagedCluster.
    #[serde(default)]
    pub clustername: String,
    /// Its namespace.
    #[serde(default)]
    pub clusternamespace: String,
    /// Absent while not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
}

/// Where a root policy is placed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Name of the Placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// Name of the PlacementBinding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_binding: Option<String>,
}

words! {
    /// Compliance of a cluster with a policy.
    Compliance {
        /// As the policy wants.
        Compliant = "Compliant",
        /// Waits for another policy.
        Pending = "Pending",
        /// Not as the policy wants.
        NonCompliant = "NonCompliant",
    }
}

/// Nothing: a binding has its fields at the root.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "policy.open-cluster-management.io",
    version = "v1",
    kind = "PlacementBinding",
    plural = "placementbindings",
    namespaced,
    no_spec,
    schema = "disabled",
    doc = "Binds policies to a placement.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct PlacementBindingSpec {
    /// The placement.
    #[serde(default)]
    pub placement_ref: PlacementBindingSubject,
    /// The policies.
    #[serde(default)]
    pub subjects: Vec<PlacementBindingSubject>,
}

/// One end of a binding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementBindingSubject {
    /// API group.
    #[serde(default)]
    pub api_group: String,
    /// Kind.
    #[serde(default)]
    pub kind: String,
    /// metadata.name
    #[serde(default)]
    pub name: String,
}
