//! HardwareProfile (spec/01 1.4, spec/04 1.1).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema};

/// BIOS settings and firmware that a host shall have. Never changes after creation.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "HardwareProfile",
    plural = "hardwareprofiles",
    shortname = "hwprofile",
    shortname = "hwprofiles",
    namespaced,
    status = "HardwareProfileStatus",
    doc = "BIOS settings and firmware that a host shall have; never changes after creation.",
    derive = "Default",
    derive = "PartialEq",
    cel,
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "The age of the HardwareProfile resource."
    ),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[-1:].reason"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[-1:].status"),
    printcolumn(name = "Details", type_ = "string", json_path = ".status.conditions[-1:].message"),
    validation = Rule::new("oldSelf.spec == self.spec").message("HardwareProfile spec is immutable")
)]
pub struct HardwareProfileSpec {
    /// BIOS settings.
    pub bios: Bios,
    /// BIOS firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bios_firmware: Option<Firmware>,
    /// BMC firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc_firmware: Option<Firmware>,
    /// NIC firmware, one entry per kind of NIC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nic_firmware: Vec<Firmware>,
}

absent_is_default!(HardwareProfileSpec);

/// BIOS settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bios {
    /// Value of each setting, by the vendor's name of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, AttributeValue>,
}

/// Value of a BIOS setting: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// Number.
    Int(i64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AttributeValue::Int(n) => write!(f, "{n}"),
            AttributeValue::Text(s) => f.write_str(s),
        }
    }
}

impl From<i64> for AttributeValue {
    fn from(n: i64) -> Self {
        AttributeValue::Int(n)
    }
}

impl From<&str> for AttributeValue {
    fn from(s: &str) -> Self {
        AttributeValue::Text(s.to_owned())
    }
}

impl JsonSchema for AttributeValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AttributeValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true})
    }
}

/// A firmware version and where to get it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Firmware {
    /// Wanted version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Observed state of a profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareProfileStatus {
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Only Validation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions_by_type")]
    pub conditions: Vec<Condition>,
}
