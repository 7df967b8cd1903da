//! OCloudSite (spec/01 1.9).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema};

/// A site at a location. metadata.uid is its oCloudSiteId in the API.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "ocloud.openshift.io",
    version = "v1alpha1",
    kind = "OCloudSite",
    plural = "ocloudsites",
    shortname = "osite",
    namespaced,
    status = "OCloudSiteStatus",
    doc = "A site at a location.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Location",
        type_ = "string",
        json_path = ".spec.globalLocationName",
        description = "Parent Location name"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct OCloudSiteSpec {
    /// metadata.name of the Location, in the same namespace.
    #[schemars(length(min = 1))]
    pub global_location_name: String,
    /// Free text.
    pub description: String,
    /// Further key/value pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, String>,
}

absent_is_default!(OCloudSiteSpec);

/// Observed state of a site.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OCloudSiteStatus {
    /// Only Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
