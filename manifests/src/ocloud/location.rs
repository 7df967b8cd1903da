//! Location (spec/01 1.8).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema};

/// A place on earth or a logical one. metadata.name is its globalLocationId in the API.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "ocloud.openshift.io",
    version = "v1alpha1",
    kind = "Location",
    plural = "locations",
    shortname = "loc",
    namespaced,
    status = "LocationStatus",
    doc = "A place where sites can be.",
    derive = "Default",
    derive = "PartialEq",
    cel,
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.coordinate) || (has(self.civicAddress) && size(self.civicAddress) > 0) || \
        (has(self.address) && size(self.address) > 0)",
    "message": "at least one of coordinate, non-empty civicAddress, or non-empty address must be specified",
}]))]
pub struct LocationSpec {
    /// Free text; may be empty.
    pub description: String,
    /// Geographic position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinate: Option<Coordinate>,
    /// Civic address of RFC 4776.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub civic_address: Vec<CivicAddressElement>,
    /// Address as people write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Further key/value pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, String>,
}

absent_is_default!(LocationSpec);

/// Geographic position, in decimal text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "double(self.latitude) >= -90.0 && double(self.latitude) <= 90.0",
        "message": "latitude must be between -90.0 and 90.0",
    },
    {
        "rule": "double(self.longitude) >= -180.0 && double(self.longitude) <= 180.0",
        "message": "longitude must be between -180.0 and 180.0",
    },
]))]
pub struct Coordinate {
    /// Degrees from -90 to 90.
    #[schemars(regex(pattern = r"^-?[0-9]+(\.[0-9]+)?$"))]
    pub latitude: String,
    /// Degrees from -180 to 180.
    #[schemars(regex(pattern = r"^-?[0-9]+(\.[0-9]+)?$"))]
    pub longitude: String,
    /// Metres above sea level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^-?[0-9]+(\.[0-9]+)?$"))]
    pub altitude: Option<String>,
}

/// One element of a civic address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CivicAddressElement {
    /// Element type of RFC 4776: 0 country, 1 state, 3 city, 6 street, 19 building, 26 unit.
    #[schemars(schema_with = "schema::integer")]
    pub ca_type: i64,
    /// Its value.
    #[schemars(length(min = 1))]
    pub ca_value: String,
}

/// Observed state of a location.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocationStatus {
    /// Only Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
