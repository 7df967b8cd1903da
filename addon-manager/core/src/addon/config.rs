//! Configuration of the agent on one cluster: which AddOnDeploymentConfig counts, and what it says (spec/07 4.3 and
//! 13).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use manifests::ocm::addon::ConfigReference;
use manifests::ocm::config::{NodePlacement, ProxyConfig, Registry};
use manifests::ocm::names::{ADDON_GROUP, ANNOTATION_IMAGE_REGISTRIES, DEPLOYMENT_CONFIGS};
use manifests::ocm::{AddOnDeploymentConfig, DeploymentConfig, ManagedCluster, ManagedClusterAddOn};
use regex::Regex;
use serde::Deserialize;

use super::Settings;
use super::hash::{config_hash, go_json};

/// Variable of an AddOnDeploymentConfig: the agent's log filter.
pub const VARIABLE_LOG: &str = "LOG";
/// Variable of an AddOnDeploymentConfig: least seconds between two reports that bring no change of phase.
pub const VARIABLE_REPORT_SECONDS: &str = "REPORT_SECONDS";

/// What the agent's manifests depend on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentConfig {
    /// Install namespace on the spoke.
    pub namespace: String,
    /// Image, mirrors applied.
    pub image: String,
    /// Priority class of the pod; empty for none.
    pub priority_class: String,
    /// Where the agent may run; `None` means the defaults.
    pub placement: Option<NodePlacement>,
    /// Proxy on the way to the hub.
    pub proxy: Option<ProxyConfig>,
    /// Requests and limits; `None` means the defaults.
    pub resources: Option<ResourceRequirements>,
    /// Log filter.
    pub log: Option<String>,
    /// Least seconds between two reports.
    pub report_seconds: Option<String>,
}

/// Whether the configuration can be deployed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved {
    /// It can.
    Ready(Box<AgentConfig>, Vec<String>),
    /// OCM has not settled it yet: what is deployed stays.
    Wait,
    /// Somebody must put it right.
    Broken(String),
}

pub(super) fn is_supported(group: &str, resource: &str) -> bool {
    group == ADDON_GROUP && resource == DEPLOYMENT_CONFIGS
}

/// The object that a reference desires: namespace and name.
pub fn wanted_configs(addon: &ManagedClusterAddOn) -> Vec<(String, String)> {
    let references = addon.status.iter().flat_map(|s| &s.config_references);
    references
        .filter(|r| is_supported(&r.group, &r.resource))
        .map(|r| match &r.desired_config {
            Some(d) => (d.namespace.clone(), d.name.clone()),
            None => (r.namespace.clone(), r.name.clone()),
        })
        .collect()
}

pub(super) fn find<'a, C: AsRef<AddOnDeploymentConfig>>(
    configs: &'a [C],
    namespace: &str,
    name: &str,
) -> Option<&'a AddOnDeploymentConfig> {
    configs.iter().map(AsRef::as_ref).find(|c| {
        c.metadata.namespace.as_deref().unwrap_or_default() == namespace
            && c.metadata.name.as_deref() == Some(name)
    })
}

/// Value of the annotation on the deploy work; `None` without configuration.
pub(super) fn work_annotation(addon: &ManagedClusterAddOn) -> Option<String> {
    let references = addon.status.iter().flat_map(|s| &s.config_references);
    let map: BTreeMap<String, String> = references
        .filter_map(|r| {
            let desired = r.desired_config.as_ref()?;
            let dot = if r.group.is_empty() { "" } else { "." };
            let key = format!("{}{dot}{}/{}/{}", r.resource, r.group, desired.namespace, desired.name);
            Some((key, desired.spec_hash.clone()))
        })
        .collect();
    if map.is_empty() {
        return None;
    }
    serde_json::to_value(map).ok().map(|v| go_json(&v))
}

/// Only the first AddOnDeploymentConfig reference counts.
pub(super) fn resolve<C: AsRef<AddOnDeploymentConfig>>(
    settings: &Settings,
    cluster: &ManagedCluster,
    addon: &ManagedClusterAddOn,
    configs: &[C],
) -> Resolved {
    let references = addon.status.as_ref().map_or(&[][..], |s| s.config_references.as_slice());
    if let Some(open) = references.iter().find(|r| !is_hashed(r)) {
        let name = open.desired_config.as_ref().map_or_else(
            || (open.namespace.as_str(), open.name.as_str()),
            |d| (d.namespace.as_str(), d.name.as_str()),
        );
        if is_supported(&open.group, &open.resource) && find(configs, name.0, name.1).is_none() {
            return Resolved::Broken(missing(name.0, name.1));
        }
        return Resolved::Wait;
    }
    let first = references.iter().find(|r| is_supported(&r.group, &r.resource));
    let Some(desired) = first.and_then(|r| r.desired_config.as_ref()) else {
        let none = DeploymentConfig::default();
        let (config, notes) = read(settings, cluster, addon, &none);
        return Resolved::Ready(Box::new(config), notes);
    };
    let Some(object) = find(configs, &desired.namespace, &desired.name) else {
        return Resolved::Broken(missing(&desired.namespace, &desired.name));
    };
    if config_hash(object) != desired.spec_hash {
        // Edited since; the roll-out strategy has not reached this cluster yet.
        return Resolved::Wait;
    }
    match object.read() {
        Ok(spec) => {
            let (config, notes) = read(settings, cluster, addon, &spec);
            Resolved::Ready(Box::new(config), notes)
        }
        Err(error) => Resolved::Broken(format!(
            "AddOnDeploymentConfig {}/{} cannot be read: {error}",
            desired.namespace, desired.name
        )),
    }
}

fn is_hashed(reference: &ConfigReference) -> bool {
    reference.desired_config.as_ref().is_some_and(|d| !d.spec_hash.is_empty())
}

fn missing(namespace: &str, name: &str) -> String {
    format!(
        "AddOnDeploymentConfig {namespace}/{name} does not exist; create it or take it out of the configuration"
    )
}

fn read(
    settings: &Settings,
    cluster: &ManagedCluster,
    addon: &ManagedClusterAddOn,
    spec: &DeploymentConfig,
) -> (AgentConfig, Vec<String>) {
    let mut notes = Vec::new();
    let mut config = AgentConfig {
        namespace: spec
            .agent_install_namespace
            .as_deref()
            .filter(|n| !n.is_empty())
            .unwrap_or_else(|| addon.own_install_namespace())
            .to_owned(),
        image: image(&settings.agent_image, &spec.registries, cluster),
        priority_class: settings.priority_class.clone(),
        placement: spec.node_placement.clone(),
        proxy: spec.proxy_config.clone(),
        ..AgentConfig::default()
    };
    for variable in &spec.customized_variables {
        match variable.name.as_str() {
            VARIABLE_LOG => config.log = Some(variable.value.clone()),
            VARIABLE_REPORT_SECONDS if variable.value.parse::<u32>().is_ok() => {
                config.report_seconds = Some(variable.value.clone());
            }
            VARIABLE_REPORT_SECONDS => {
                notes.push(format!("variable {VARIABLE_REPORT_SECONDS}: {:?} is no number", variable.value));
            }
            other => notes.push(format!("variable {other} is not known and has no effect")),
        }
    }
    for entry in &spec.resource_requirements {
        match matches_container(&entry.container_id) {
            Some(true) => config.resources = Some(entry.resources.clone()),
            Some(false) => {}
            None => {
                notes.push(format!("containerID {:?} is not valid and has no effect", entry.container_id));
            }
        }
    }
    (config, notes)
}

/// Name of the agent's Deployment and of its container, as `resourceRequirements` address them.
pub(super) const DEPLOYMENT: &str = "ocloud-agent";
pub(super) const CONTAINER: &str = "agent";

fn matches_container(id: &str) -> Option<bool> {
    let parts: Vec<&str> = id.splitn(3, ':').collect();
    let [kind, name, container] = parts.as_slice() else { return None };
    let part = |p: &str| if p == "*" { ".+".to_owned() } else { p.to_owned() };
    let pattern = format!("^{}:{}:{}$", part(kind), part(name), part(container));
    Some(Regex::new(&pattern).ok()?.is_match(&format!("deployments:{DEPLOYMENT}:{CONTAINER}")))
}

#[derive(Deserialize, Default)]
struct ImageRegistries {
    #[serde(default)]
    registries: Vec<Registry>,
}

fn image(image: &str, registries: &[Registry], cluster: &ManagedCluster) -> String {
    let own = mirrored(image, registries);
    let annotation = || {
        let text = cluster.metadata.annotations.as_ref()?.get(ANNOTATION_IMAGE_REGISTRIES)?;
        let list: ImageRegistries = serde_json::from_str(text).ok()?;
        mirrored(image, &list.registries)
    };
    own.or_else(annotation).unwrap_or_else(|| image.to_owned())
}

/// The last mirror that applies; `None` when none does.
fn mirrored(image: &str, registries: &[Registry]) -> Option<String> {
    let mut replaced = registries.iter().filter_map(|r| {
        let source = r.source.strip_suffix('/').unwrap_or(&r.source);
        let mirror = r.mirror.strip_suffix('/').unwrap_or(&r.mirror);
        if source.is_empty() {
            let last = image.rsplit('/').next().unwrap_or(image);
            return Some(if mirror.is_empty() { last.to_owned() } else { format!("{mirror}/{last}") });
        }
        image.strip_prefix(source).map(|rest| format!("{mirror}{rest}"))
    });
    replaced.rfind(|new| new != image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn registries(list: &[(&str, &str)]) -> Vec<Registry> {
        list.iter().map(|(s, m)| Registry { source: (*s).into(), mirror: (*m).into() }).collect()
    }

    #[rstest]
    #[case::none(&[], "quay.io/ocloud/agent:1")]
    #[case::prefix(&[("quay.io/ocloud", "registry.local:5000/mirror")], "registry.local:5000/mirror/agent:1")]
    #[case::slashes(&[("quay.io/", "m.local/")], "m.local/ocloud/agent:1")]
    #[case::any(&[("", "m.local/all")], "m.local/all/agent:1")]
    #[case::last_wins(&[("quay.io", "a"), ("quay.io/ocloud", "b")], "b/agent:1")]
    #[case::no_match(&[("docker.io", "a")], "quay.io/ocloud/agent:1")]
    fn mirrors(#[case] list: &[(&str, &str)], #[case] want: &str) {
        let cluster = ManagedCluster::default();
        assert_eq!(image("quay.io/ocloud/agent:1", &registries(list), &cluster), want);
    }

    #[test]
    fn mirrors_of_the_cluster_are_the_second_choice() {
        let mut cluster = ManagedCluster::default();
        let text = r#"{"registries":[{"source":"quay.io","mirror":"cluster.local"}]}"#;
        cluster.metadata.annotations =
            Some([(ANNOTATION_IMAGE_REGISTRIES.to_owned(), text.to_owned())].into());
        assert_eq!(image("quay.io/a:1", &[], &cluster), "cluster.local/a:1");
        assert_eq!(image("quay.io/a:1", &registries(&[("quay.io", "own")]), &cluster), "own/a:1");
    }

    #[rstest]
    #[case("deployments:ocloud-agent:agent", Some(true))]
    #[case("*:*:*", Some(true))]
    #[case("deployments:ocloud-.+:agent", Some(true))]
    #[case("daemonsets:*:*", Some(false))]
    #[case("deployments:ocloud:agent", Some(false))]
    #[case("deployments:x", None)]
    #[case("deployments:[:agent", None)]
    fn container_ids(#[case] id: &str, #[case] want: Option<bool>) {
        assert_eq!(matches_container(id), want);
    }
}
