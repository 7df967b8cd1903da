use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// Condition types of HostFirmwareSettings and HostFirmwareComponents (spec/04 section 15).
pub mod conditions {
    /// The wanted settings or components differ from the real ones.
    pub const CHANGE_DETECTED: &str = "ChangeDetected";
    /// What `spec` asks for can be applied.
    pub const VALID: &str = "Valid";
}

/// Wanted BIOS settings of a host (spec/04 section 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostFirmwareSettings",
    plural = "hostfirmwaresettings",
    shortname = "hfs",
    namespaced,
    status = "HostFirmwareSettingsStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct HostFirmwareSettingsSpec {
    /// Setting name to wanted value.
    #[serde(default)]
    pub settings: BTreeMap<String, IntOrString>,
}

/// Real BIOS settings of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFirmwareSettingsStatus {
    /// Where the rules for the settings stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaRef>,
    /// Setting name to real value.
    #[serde(default)]
    pub settings: BTreeMap<Box<str>, Box<str>>,
    /// [`conditions`]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Name of a FirmwareSchema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchemaRef {
    /// Namespace of the FirmwareSchema.
    #[serde(default)]
    pub namespace: Box<str>,
    /// Its name.
    #[serde(default)]
    pub name: Box<str>,
}

/// Rules for the BIOS settings of one model (spec/04 section 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "FirmwareSchema",
    plural = "firmwareschemas",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareSchemaSpec {
    /// Vendor of the machine.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub hardware_vendor: Box<str>,
    /// Model of the machine.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub hardware_model: Box<str>,
    /// Setting name to its rule.
    #[serde(default)]
    pub schema: BTreeMap<Box<str>, SettingSchema>,
}

/// Rule for one BIOS setting; field names are snake case on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingSchema {
    /// Absent: anything goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute_type: Option<AttributeType>,
    /// Values of an enumeration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowable_values: Vec<Box<str>>,
    /// Smallest integer, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<i64>,
    /// Largest integer, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_bound: Option<i64>,
    /// Shortest string in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// Longest string in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// The setting cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
}

/// `attribute_type`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum AttributeType {
    /// One of `allowable_values`.
    Enumeration,
    /// A text.
    String,
    /// A number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A secret.
    Password,
    /// No type: anything goes.
    None,
    /// A value that we do not know.
    Other(Box<str>),
}

impl From<String> for AttributeType {
    fn from(text: String) -> Self {
        match text.as_str() {
            "Enumeration" => AttributeType::Enumeration,
            "String" => AttributeType::String,
            "Integer" => AttributeType::Integer,
            "Boolean" => AttributeType::Boolean,
            "Password" => AttributeType::Password,
            "" => AttributeType::None,
            _ => AttributeType::Other(text.into_boxed_str()),
        }
    }
}

impl From<AttributeType> for String {
    fn from(value: AttributeType) -> Self {
        match value {
            AttributeType::Enumeration => "Enumeration".to_owned(),
            AttributeType::String => "String".to_owned(),
            AttributeType::Integer => "Integer".to_owned(),
            AttributeType::Boolean => "Boolean".to_owned(),
            AttributeType::Password => "Password".to_owned(),
            AttributeType::None => String::new(),
            AttributeType::Other(text) => text.into_string(),
        }
    }
}

/// Wanted firmware of a host (spec/04 section 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostFirmwareComponents",
    plural = "hostfirmwarecomponents",
    namespaced,
    status = "HostFirmwareComponentsStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct HostFirmwareComponentsSpec {
    /// What to flash; required by the CRD, also when empty.
    #[serde(default)]
    pub updates: Vec<FirmwareUpdate>,
}

/// One image to flash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirmwareUpdate {
    /// `bios`, `bmc` or `nic:<id>`
    pub component: Box<str>,
    /// Where the image is.
    pub url: Box<str>,
}

/// Real firmware of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFirmwareComponentsStatus {
    /// What the operator has started to flash.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<FirmwareUpdate>,
    /// What the management controller reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<FirmwareComponent>,
    /// [`conditions`]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// One component with its version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareComponent {
    /// `bios`, `bmc` or `nic:<id>`
    pub component: Box<str>,
    /// Version that runs.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub current_version: Box<str>,
}

/// When pending settings and firmware are applied to a host that runs (spec/04 section 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostUpdatePolicy",
    plural = "hostupdatepolicies",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct HostUpdatePolicySpec {
    /// For BIOS settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_settings: Option<UpdatePolicy>,
    /// For firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_updates: Option<UpdatePolicy>,
}

/// When to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UpdatePolicy {
    /// Only while the host is prepared.
    OnPreparing,
    /// At the next reboot.
    OnReboot,
}
