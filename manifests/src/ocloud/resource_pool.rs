//! ResourcePool (spec/01 1.10).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema};

/// A pool of hosts at a site. metadata.uid is its resourcePoolId in the API.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "ocloud.openshift.io",
    version = "v1alpha1",
    kind = "ResourcePool",
    plural = "resourcepools",
    shortname = "opool",
    namespaced,
    status = "ResourcePoolStatus",
    doc = "A pool of hosts at a site.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Site",
        type_ = "string",
        json_path = ".spec.oCloudSiteName",
        description = "Parent OCloudSite name"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ResourcePoolSpec {
    /// metadata.name of the OCloudSite, in the same namespace.
    #[schemars(length(min = 1))]
    pub o_cloud_site_name: String,
    /// Free text.
    pub description: String,
    /// Further key/value pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, String>,
}

absent_is_default!(ResourcePoolSpec);

/// Observed state of a pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcePoolStatus {
    /// Only Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// metadata.uid of the site while it is ready.
    #[serde(default, rename = "resolvedOCloudSiteUID", skip_serializing_if = "Option::is_none")]
    pub resolved_o_cloud_site_uid: Option<String>,
}
