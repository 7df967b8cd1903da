//! ClusterTemplate (spec/01 1.2).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{FreeForm, absent_is_default, schema, words};

/// What a kind of cluster is made from: defaults for install, hardware, policies and upgrades, and the schema of the
/// parameters that a request may give.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "ClusterTemplate",
    plural = "clustertemplates",
    shortname = "ct",
    namespaced,
    status = "ClusterTemplateStatus",
    doc = "A kind of cluster: its defaults, and the schema of what a request may set.",
    derive = "Default",
    derive = "PartialEq",
    cel,
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.conditions[-1:].reason"),
    printcolumn(name = "Details", type_ = "string", json_path = ".status.conditions[-1:].message"),
    validation = Rule::new(
        "!has(oldSelf.status) || (has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, \
         c.type=='ClusterTemplateValidated' && c.status=='False')) || oldSelf.spec == self.spec"
    ).message("Spec changes are not allowed for a ClusterTemplate that has passed the validation"),
    validation = Rule::new("self.metadata.name == (self.spec.name + '.' + self.spec.version)")
        .message("metadata.name must be in the form of spec.name + '.' + spec.version")
)]
pub struct ClusterTemplateSpec {
    /// Base name; joined with the version by a point it is metadata.name.
    pub name: String,
    /// Version of the template.
    pub version: String,
    /// OpenShift release that clusters of this template run.
    pub release: String,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Identifier in the O-Cloud, a UUID; generated when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_id: Option<String>,
    /// Characteristics, served by the artifacts API.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub characteristics: BTreeMap<String, String>,
    /// Free key/value pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Default values.
    pub template_defaults: TemplateDefaults,
    /// OpenAPI v3 schema of a request's templateParameters.
    pub template_parameter_schema: FreeForm,
}

absent_is_default!(ClusterTemplateSpec);

/// Default values of a template.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateDefaults {
    /// ConfigMap in the template's namespace with ClusterInstance defaults.
    pub cluster_instance_defaults: String,
    /// ConfigMap in the template's namespace with policy defaults.
    pub policy_template_defaults: String,
    /// Hardware defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_mgmt_defaults: Option<HwMgmtDefaults>,
    /// Upgrade data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_defaults: Option<FreeForm>,
}

/// Hardware defaults of a template.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HwMgmtDefaults {
    /// How long hardware provisioning may take, a duration like 90m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_provisioning_timeout: Option<String>,
    /// Node groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub node_group_data: Vec<NodeGroupData>,
}

/// Which hosts a node group takes, and the profile that they get.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroupData {
    /// Name of the group, also of the MachineConfigPool on the cluster.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Role of its nodes.
    pub role: NodeRole,
    /// HardwareProfile that its hosts get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hw_profile: Option<String>,
    /// Name of the ResourcePool that its hosts come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_pool_id: Option<String>,
    /// Criteria that its hosts meet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_selector: BTreeMap<String, String>,
}

words! {
    /// Role of a node.
    NodeRole {
        /// Control plane.
        Master = "master",
        /// Worker.
        Worker = "worker",
    }
}

#[expect(clippy::derivable_impls, reason = "the enum comes from a macro")]
impl Default for NodeRole {
    fn default() -> Self {
        NodeRole::Master
    }
}

/// Observed state of a template.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTemplateStatus {
    /// Only ClusterTemplateValidated; the columns show the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
