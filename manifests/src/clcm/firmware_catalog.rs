//! FirmwareCatalog (spec/01 1.5, spec/04 1.4).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{absent_is_default, schema, words};

/// Firmware images that hardware profiles may name.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "clcm.openshift.io",
    version = "v1alpha1",
    kind = "FirmwareCatalog",
    plural = "firmwarecatalogs",
    shortname = "fwcatalog",
    shortname = "fwcatalogs",
    namespaced,
    status = "FirmwareCatalogStatus",
    doc = "Firmware images that hardware profiles may name.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "The age of the FirmwareCatalog resource."
    ),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[-1:].reason"),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.conditions[-1:].status"),
    printcolumn(name = "Details", type_ = "string", json_path = ".status.conditions[-1:].message")
)]
pub struct FirmwareCatalogSpec {
    /// The images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 1024),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub images: Vec<FirmwareImage>,
}

absent_is_default!(FirmwareCatalogSpec);

/// One firmware image. Everything but the description never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareImage {
    /// Unique in the catalog.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it is for.
    pub component: FirmwareComponent,
    /// Where the file is.
    #[schemars(length(min = 1), regex(pattern = "^(http|https)://.*$"))]
    pub url: String,
    /// Version.
    #[schemars(length(min = 1))]
    pub version: String,
    /// Vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub vendor: Option<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

words! {
    /// Component that firmware is for.
    FirmwareComponent {
        /// BIOS.
        Bios = "bios",
        /// Baseboard management controller.
        Bmc = "bmc",
        /// Network card.
        Nic = "nic",
    }
}

/// Observed state of a catalog.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FirmwareCatalogStatus {
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Result for each image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub image_statuses: Vec<ImageValidationStatus>,
    /// Only Validation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions_by_type")]
    pub conditions: Vec<Condition>,
}

/// Result of the checks of one image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageValidationStatus {
    /// Name of the image.
    pub name: String,
    /// Whether the entry is good.
    pub valid: bool,
    /// One CamelCase word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Details for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
