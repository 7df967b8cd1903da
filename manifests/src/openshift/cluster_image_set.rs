//! ClusterImageSet of hive (spec/01 4.6).

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::absent_is_default;

/// A release that clusters can be installed with.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "hive.openshift.io",
    version = "v1",
    kind = "ClusterImageSet",
    plural = "clusterimagesets",
    shortname = "imgset",
    doc = "A release that clusters can be installed with.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "Release", type_ = "string", json_path = ".spec.releaseImage")
)]
pub struct ClusterImageSetSpec {
    /// Pull specification of the release image.
    pub release_image: String,
}

absent_is_default!(ClusterImageSetSpec);
