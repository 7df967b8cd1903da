//! ProvisioningRequest (spec/01 1.3, spec/02 1.1).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{FreeForm, absent_is_default, schema, words};

/// One cluster that somebody wants: which template, and the parameters for it. metadata.name is a UUID.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "ProvisioningRequest",
    plural = "provisioningrequests",
    shortname = "pr",
    status = "ProvisioningRequestStatus",
    doc = "One cluster that somebody wants: which template, and the parameters for it.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "DisplayName", type_ = "string", json_path = ".spec.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "ProvisionPhase",
        type_ = "string",
        json_path = ".status.provisioningStatus.provisioningPhase"
    ),
    printcolumn(
        name = "ProvisionDetails",
        type_ = "string",
        json_path = ".status.provisioningStatus.provisioningDetails"
    )
)]
pub struct ProvisioningRequestSpec {
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Base name of the ClusterTemplate.
    #[schemars(length(min = 1))]
    pub template_name: String,
    /// Version of the ClusterTemplate.
    #[schemars(length(min = 1))]
    pub template_version: String,
    /// Input, of the shape that the template's templateParameterSchema asks for.
    pub template_parameters: FreeForm,
    /// Further key/value pairs; nothing reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<FreeForm>,
}

absent_is_default!(ProvisioningRequestSpec);

impl ProvisioningRequestSpec {
    /// metadata.name of the ClusterTemplate.
    pub fn template(&self) -> String {
        crate::meta::names::template(&self.template_name, &self.template_version)
    }
}

/// Observed state of a request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningRequestStatus {
    /// One per stage, in the order of first appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Phase and details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_status: Option<ProvisioningStatus>,
    /// Details of cluster, nodes and policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Extensions>,
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisioningStatus {
    /// Phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_phase: Option<ProvisioningPhase>,
    /// One line about the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioning_details: Option<String>,
    /// When phase or details last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub update_time: Option<Time>,
    /// What exists already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned_resources: Option<ProvisionedResources>,
}

words! {
    /// Phase of a request (spec/02 3.1).
    ProvisioningPhase {
        /// A new generation is being validated and prepared.
        Pending = "pending",
        /// Work is under way.
        Progressing = "progressing",
        /// Done.
        Fulfilled = "fulfilled",
        /// Stopped by a failure or a time-out.
        Failed = "failed",
        /// Deletion is in progress.
        Deleting = "deleting",
    }
}

/// What exists already.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedResources {
    /// Identifier of the node cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub o_cloud_node_cluster_id: Option<String>,
}

/// Details of cluster, nodes and policies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Extensions {
    /// The cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_details: Option<ClusterDetails>,
    /// Host name of each AllocatedNode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated_node_host_map: BTreeMap<String, String>,
    /// Policies that are bound to the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyDetails>,
    /// State of each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub infrastructure_resource_statuses: Vec<InfrastructureResourceStatus>,
}

/// The cluster of a request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDetails {
    /// Name of the ClusterInstance, which is the cluster's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether all configuration has been applied once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ztp_status: Option<String>,
    /// Start of the install clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub cluster_provision_started_at: Option<Time>,
    /// Start of the configuration clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub non_compliant_at: Option<Time>,
    /// Number of nodes when the request was last fulfilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer")]
    pub fulfilled_node_count: Option<i64>,
    /// The upgrade in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_upgrade_status: Option<ClusterUpgradeStatus>,
}

/// Texts of `clusterDetails.ztpStatus`.
pub mod ztp_status {
    /// All configuration has been applied.
    pub const DONE: &str = "ZTP Done";
    /// Not yet.
    pub const NOT_DONE: &str = "ZTP Not Done";
}

/// The upgrade in progress.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterUpgradeStatus {
    /// When it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub started_at: Option<Time>,
    /// Version before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_version: Option<String>,
    /// Version in between, for EUS to EUS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intermediate_version: Option<String>,
}

/// One policy that is bound to the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDetails {
    /// Compliant, NonCompliant, Pending, or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compliant: Option<String>,
    /// Name of the root policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_name: Option<String>,
    /// Namespace of the root policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_namespace: Option<String>,
    /// inform or enforce.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation_action: Option<String>,
}

/// State of one node's hardware.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureResourceStatus {
    /// Host name.
    pub resource_name: String,
    /// Name of the AllocatedNode.
    pub resource_id: String,
    /// Its phase.
    pub resource_provisioning_phase: ResourceProvisioningPhase,
}

words! {
    /// Phase of one resource of a request.
    ResourceProvisioningPhase {
        /// Being provisioned.
        Processing = "PROCESSING",
        /// Ready.
        Provisioned = "PROVISIONED",
        /// Waits for hosts to become free.
        AwaitingFreeResources = "AWAITING_FREE_RESOURCES",
        /// Failed.
        Failed = "FAILED",
    }
}
