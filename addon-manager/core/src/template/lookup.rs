//! Finding templates, and what a template depends on (spec/01 section 3, 4.10).

use std::borrow::Borrow;
use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use manifests::clcm::ClusterTemplate;
use manifests::clcm::conditions::TemplateCondition;
use manifests::meta::condition;
use serde_json::Value;

use super::defaults;

/// No valid template of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a valid ClusterTemplate ({0}) does not exist in any namespace")]
pub struct NotFound(pub String);

/// The template that a request names (`<templateName>.<templateVersion>`): the oldest valid one, in any namespace. Equal ages are ordered by namespace.
///
/// # Errors
/// When there is none.
pub fn find_valid<T: Borrow<ClusterTemplate>>(
    templates: impl IntoIterator<Item = T>,
    name: &str,
) -> Result<T, NotFound> {
    templates
        .into_iter()
        .filter(|t| t.borrow().metadata.name.as_deref() == Some(name) && is_valid(t.borrow()))
        .min_by_key(|t| (created(t.borrow()), t.borrow().metadata.namespace.clone()))
        .ok_or_else(|| NotFound(name.to_owned()))
}

/// Whether the template passed its validation.
pub fn is_valid(template: &ClusterTemplate) -> bool {
    template.status.as_ref().is_some_and(|s| condition::is_true(&s.conditions, TemplateCondition::Validated))
}

/// Objects without a time are the youngest.
pub(super) fn created(template: &ClusterTemplate) -> Timestamp {
    template.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |t| t.0)
}

/// Everything outside of a template that its validity follows from, so that a change of it wakes the template. Other
/// templates of the same name and the definition of ClusterInstance count too, for all templates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dependencies {
    /// `ConfigMaps` in the template's namespace, by name.
    pub config_maps: BTreeSet<String>,
    /// `HardwareProfiles` in the operator namespace, by name.
    pub profiles: BTreeSet<String>,
    /// The `ClusterImageSet`, if it can be told.
    pub image_set: Option<String>,
}

/// What `template` depends on; `cluster_instance_defaults` is its first ConfigMap, if that exists.
pub fn dependencies(
    template: &ClusterTemplate,
    cluster_instance_defaults: Option<&ConfigMap>,
) -> Dependencies {
    let defaults = &template.spec.template_defaults;
    let groups = defaults.hw_mgmt_defaults.iter().flat_map(|h| &h.node_group_data);
    Dependencies {
        config_maps: [&defaults.cluster_instance_defaults, &defaults.policy_template_defaults]
            .into_iter()
            .filter(|name| !name.is_empty())
            .cloned()
            .collect(),
        profiles: groups.filter_map(|g| g.hw_profile.clone()).filter(|p| !p.is_empty()).collect(),
        image_set: cluster_instance_defaults
            .filter(|_| !skips_image_set(template))
            .and_then(defaults::image_set_name),
    }
}

/// The annotation that turns the comparison with the `ClusterImageSet` off.
pub(super) fn skips_image_set(template: &ClusterTemplate) -> bool {
    template
        .annotations()
        .get(manifests::meta::annotations::SKIP_IMAGE_SET_VALIDATION)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The schema of a ClusterInstance's spec: that of the version which is served and stored.
pub fn spec_schema(definition: &CustomResourceDefinition) -> Option<Value> {
    let version = definition.spec.versions.iter().find(|v| v.served && v.storage)?;
    let root = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    serde_json::to_value(root.properties.as_ref()?.get("spec")?).ok()
}
