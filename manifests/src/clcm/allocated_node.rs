//! AllocatedNode (spec/01 1.7, spec/04 1.3).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_false;
use crate::meta::{absent_is_default, schema};

/// One host that is taken for a cluster.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "AllocatedNode",
    plural = "allocatednodes",
    shortname = "allocatednode",
    namespaced,
    status = "AllocatedNodeStatus",
    doc = "One host that is taken for a cluster.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "NodeAllocationRequest", type_ = "string", json_path = ".spec.nodeAllocationRequest"),
    printcolumn(name = "HwMgr Node ID", type_ = "string", json_path = ".spec.hwMgrNodeId"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.conditions[-1:].reason")
)]
pub struct AllocatedNodeSpec {
    /// Name of the NodeAllocationRequest.
    pub node_allocation_request: String,
    /// Name of the node group.
    pub group_name: String,
    /// HardwareProfile that the host shall have; may be empty.
    pub hw_profile: String,
    /// Name of the BareMetalHost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_mgr_node_id: Option<String>,
    /// Namespace of the BareMetalHost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_mgr_node_ns: Option<String>,
    /// Further key/value pairs; nothing reads them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, String>,
    /// The host keeps running when this is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_cleanup: bool,
}

absent_is_default!(AllocatedNodeSpec);

/// Observed state of a taken host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatedNodeStatus {
    /// Its BMC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<Bmc>,
    /// Its NICs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Host name of the node in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// HardwareProfile that is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_profile: Option<String>,
    /// Provisioned, Configured and others; a flipped one moves to the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// A baseboard management controller.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bmc {
    /// Its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Secret with username and password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_name: Option<String>,
}

/// A network interface of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Device name.
    pub name: String,
    /// Label that the host gives it; may be empty.
    pub label: String,
    /// MAC address.
    #[schemars(regex(pattern = "^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$"))]
    pub mac_address: String,
}
