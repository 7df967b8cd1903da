//! NodeAllocationRequest (spec/01 1.6, spec/04 1.2).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NodeGroupData, is_false};
use crate::meta::{absent_is_default, schema};

/// Hosts for one cluster. Named like the ProvisioningRequest that it serves.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "NodeAllocationRequest",
    plural = "nodeallocationrequests",
    shortname = "nar",
    namespaced,
    status = "NodeAllocationRequestStatus",
    doc = "Hosts for one cluster.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "Cluster ID", type_ = "string", json_path = ".spec.clusterId"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.conditions[-1:].reason")
)]
pub struct NodeAllocationRequestSpec {
    /// nodeClusterName of the request.
    pub cluster_id: String,
    /// oCloudSiteId of the request.
    pub site: String,
    /// Location; never set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The groups of hosts.
    pub node_group: Vec<NodeGroup>,
    /// Further key/value pairs; nothing reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, String>,
    /// Number of the change that this spec is; answered by status.observedConfigTransactionId.
    pub config_transaction_id: i64,
    /// How long hardware provisioning may take, a duration like 1h30m0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_provisioning_timeout: Option<String>,
    /// The cluster on these hosts is up.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cluster_provisioned: bool,
    /// Hosts keep running when this is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_cleanup: bool,
}

absent_is_default!(NodeAllocationRequestSpec);

/// A group of hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroup {
    /// Which hosts, and what they get.
    pub node_group_data: NodeGroupData,
    /// How many hosts.
    #[schemars(schema_with = "schema::integer")]
    pub size: i64,
}

/// Observed state of an allocation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeAllocationRequestStatus {
    /// The nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<NodeProperties>,
    /// Provisioned, Configured and others; a flipped one moves to the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last spec.configTransactionId that was carried out.
    pub observed_config_transaction_id: i64,
    /// Pool of each group; never set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selected_groups: BTreeMap<String, String>,
    /// When the current hardware operation started; time-outs count from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub hardware_operation_start_time: Option<Time>,
}

impl NodeAllocationRequestStatus {
    /// Names of the AllocatedNodes.
    pub fn node_names(&self) -> &[String] {
        self.properties.as_ref().map_or(&[], |p| &p.node_names)
    }
}

/// The nodes of an allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeProperties {
    /// Names of the AllocatedNodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_names: Vec<String>,
}
