//! Deletion of templates in use (spec/01 4.12). For admission; nothing depends on it where webhooks are off.

use kube::ResourceExt;
use manifests::clcm::{ClusterTemplate, ProvisioningRequest};
use manifests::meta::names;

use super::lookup::is_valid;

/// `"true"` on an object lets it be deleted although it is in use.
pub const FORCE_DELETE: &str = "clcm.openshift.io/force-delete";

/// How many users a refusal names.
const NAMED: usize = 5;

/// Why `template` must not be deleted: requests that are not being deleted themselves name it, and no other valid
/// template of that name could take its place.
pub fn refuse_delete<'a>(
    template: &ClusterTemplate,
    twins: impl IntoIterator<Item = &'a ClusterTemplate>,
    requests: impl IntoIterator<Item = &'a ProvisioningRequest>,
) -> Option<String> {
    if is_forced(template) || twins.into_iter().any(is_valid) {
        return None;
    }
    let name = template.name_any();
    let users: Vec<String> = requests
        .into_iter()
        .filter(|r| r.metadata.deletion_timestamp.is_none())
        .filter(|r| names::template(&r.spec.template_name, &r.spec.template_version) == name)
        .map(ResourceExt::name_any)
        .collect();
    in_use(&format!("ClusterTemplate {name}"), "ProvisioningRequest", users)
}

/// Whether [`FORCE_DELETE`] says so.
pub fn is_forced(object: &impl ResourceExt) -> bool {
    object.annotations().get(FORCE_DELETE).is_some_and(|value| value == "true")
}

/// The refusal, naming the first users in the order of their names; `None` without users.
pub(crate) fn in_use(what: &str, kind: &str, mut users: Vec<String>) -> Option<String> {
    users.sort_unstable();
    let more = users.len().checked_sub(NAMED).filter(|n| *n > 0);
    users.truncate(NAMED);
    let more = more.map_or_else(String::new, |n| format!(" and {n} more"));
    (!users.is_empty()).then(|| {
        format!(
            "{what} is in use by {kind} {}{more}; remove the users first, or set the annotation {FORCE_DELETE}: \"true\"",
            users.join(", ")
        )
    })
}
