use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// Image that is attached as virtual media (spec/04 sections 9.5 and 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "DataImage",
    plural = "dataimages",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct DataImageSpec {
    /// Location of the image.
    #[serde(default)]
    pub url: Box<str>,
}

/// Discovery image of a host, same name and namespace (spec/04 sections 9.3 and 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "PreprovisioningImage",
    plural = "preprovisioningimages",
    shortname = "ppimg",
    namespaced,
    status = "PreprovisioningImageStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct PreprovisioningImageSpec {
    /// Secret with network data that is built into the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_data_name: Option<Box<str>>,
}

/// Observed state of a discovery image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreprovisioningImageStatus {
    /// `Ready` and `Error`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl PreprovisioningImage {
    /// Value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }
}
