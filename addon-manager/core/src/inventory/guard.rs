//! Admission of the small kinds: updates of a `FirmwareCatalog` (spec/01 8.3), deletion of what is in use (spec/01 4.12,
//! section 5).

use kube::ResourceExt;
use manifests::clcm::{
    AllocatedNode, ClusterTemplate, FirmwareCatalogSpec, FirmwareImage, HardwareProfile, ProvisioningRequest,
};
use manifests::meta::names::parameter;
use serde_json::Value;

use crate::template::go::quote;
use crate::template::guard;

/// Why `new` must not replace `old`: entries that stay keep everything but their description.
pub fn refuse_catalog_update(old: &FirmwareCatalogSpec, new: &FirmwareCatalogSpec) -> Option<String> {
    let mut problems = Vec::new();
    for after in &new.images {
        if let Some(before) = old.images.iter().find(|image| image.name == after.name) {
            let fixed = fixed_fields(before, after);
            problems.extend(fixed.map(|field| format!("{}: {field} is immutable", quote(&after.name))));
        }
    }
    (!problems.is_empty()).then(|| format!("firmware catalog entries are immutable: {}", problems.join("; ")))
}

/// The fields that must not but do differ.
fn fixed_fields(before: &FirmwareImage, after: &FirmwareImage) -> impl Iterator<Item = &'static str> {
    [
        ("component", before.component != after.component),
        ("url", before.url != after.url),
        ("version", before.version != after.version),
        ("vendor", before.vendor != after.vendor),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
}

/// Why `profile` must not be deleted: templates, requests or allocated hosts name it.
pub fn refuse_profile_delete<'a>(
    profile: &HardwareProfile,
    templates: impl IntoIterator<Item = &'a ClusterTemplate>,
    requests: impl IntoIterator<Item = &'a ProvisioningRequest>,
    nodes: impl IntoIterator<Item = &'a AllocatedNode>,
) -> Option<String> {
    if guard::is_forced(profile) {
        return None;
    }
    let name = profile.name_any();
    let what = format!("HardwareProfile {name}");
    let templates = templates.into_iter().filter(|t| {
        let hardware = t.spec.template_defaults.hw_mgmt_defaults.as_ref();
        hardware.is_some_and(|h| h.node_group_data.iter().any(|g| g.hw_profile.as_deref() == Some(&name)))
    });
    let templates =
        templates.map(|t| format!("{}/{}", t.namespace().unwrap_or_default(), t.name_any())).collect();
    let requests = requests.into_iter().filter(|r| r.metadata.deletion_timestamp.is_none());
    let requests = requests.filter(|r| names_profile(r, &name)).map(ResourceExt::name_any).collect();
    let nodes = nodes.into_iter().filter(|n| n.spec.hw_profile == name).map(ResourceExt::name_any).collect();
    guard::in_use(&what, "ClusterTemplate", templates)
        .or_else(|| guard::in_use(&what, "ProvisioningRequest", requests))
        .or_else(|| guard::in_use(&what, "AllocatedNode", nodes))
}

fn names_profile(request: &ProvisioningRequest, profile: &str) -> bool {
    let parameters = request.spec.template_parameters.value();
    let groups = parameters.get(parameter::HW_MGMT).and_then(|h| h.get(parameter::NODE_GROUP_DATA));
    groups
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|g| g.get("hwProfile") == Some(&Value::from(profile)))
}

/// Warning when a Location, `OCloudSite` or ResourcePool is deleted that others stand on: it is allowed, they will not
/// be ready and leave the inventory of the SMO.
pub fn delete_warning(kind: &str, name: &str, child_kind: &str, children: &[String]) -> Option<String> {
    let mut children = children.to_vec();
    children.sort_unstable();
    (!children.is_empty()).then(|| {
        format!(
            "{kind} {name} is the parent of {child_kind} {}, which will not be ready without it",
            children.join(", ")
        )
    })
}
