//! Spec hashes in the status of the ClusterManagementAddOn (spec/07 5.1). Until they stand there, OCM rolls nothing
//! out.

use std::sync::Arc;

use manifests::ocm::names::ADDON;
use manifests::ocm::{AddOnDeploymentConfig, ClusterManagementAddOn, HashedConfig};
use serde_json::json;

use super::config::{find, is_supported};
use super::hash::config_hash;
use crate::plan::{Note, Plan, Step, Target, manager};

/// What the decision needs.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The ClusterManagementAddOn `ocloud`.
    pub addon: Arc<ClusterManagementAddOn>,
    /// The AddOnDeploymentConfigs that it refers to ([`wanted`]); others do no harm.
    pub configs: Vec<Arc<AddOnDeploymentConfig>>,
}

/// Namespace and name of each configuration object that it refers to.
pub fn wanted(addon: &ClusterManagementAddOn) -> Vec<(String, String)> {
    let Some(status) = &addon.status else { return Vec::new() };
    let defaults =
        status.default_config_references.iter().map(|r| (&r.group, &r.resource, &r.desired_config));
    let installs = status.install_progressions.iter().flat_map(|p| &p.config_references);
    let installs = installs.map(|r| (&r.group, &r.resource, &r.desired_config));
    let mut out: Vec<_> = defaults
        .chain(installs)
        .filter(|(group, resource, _)| is_supported(group, resource))
        .filter_map(|(_, _, desired)| desired.as_ref())
        .map(|d| (d.namespace.clone(), d.name.clone()))
        .collect();
    out.sort();
    out.dedup();
    out
}

/// One pass: a merge patch of the lists whose hashes are not the current ones. A missing object has the hash `""`;
/// the others are still written, and an event tells.
pub fn decide(seen: &Seen) -> Plan<()> {
    let mut plan = Plan::default();
    let addon = &*seen.addon;
    if addon.metadata.name.as_deref() != Some(ADDON) || addon.metadata.deletion_timestamp.is_some() {
        return plan;
    }
    let Some(status) = &addon.status else { return plan };
    let mut next = status.clone();
    let mut missing = Vec::new();
    let mut fill = |group: &str, resource: &str, desired: &mut Option<HashedConfig>| {
        let Some(desired) = desired.as_mut().filter(|d| is_supported(group, resource) && !d.name.is_empty())
        else {
            return;
        };
        let object = find(&seen.configs, &desired.namespace, &desired.name);
        let hash = object.map(config_hash).unwrap_or_default();
        if hash.is_empty() && !desired.spec_hash.is_empty() {
            missing.push(format!("{}/{}", desired.namespace, desired.name));
        }
        desired.spec_hash = hash;
    };
    for r in &mut next.default_config_references {
        fill(&r.group, &r.resource, &mut r.desired_config);
    }
    for r in next.install_progressions.iter_mut().flat_map(|p| &mut p.config_references) {
        fill(&r.group, &r.resource, &mut r.desired_config);
    }
    let mut patch = serde_json::Map::new();
    if next.default_config_references != status.default_config_references {
        patch.insert("defaultconfigReferences".to_owned(), json!(next.default_config_references));
    }
    if next.install_progressions != status.install_progressions {
        patch.insert("installProgressions".to_owned(), json!(next.install_progressions));
    }
    if patch.is_empty() {
        return plan;
    }
    plan.steps.push(Step::MergeStatus {
        target: Target::of::<ClusterManagementAddOn>(None, ADDON),
        patch: json!({"status": patch}),
        manager: manager::STATUS,
        resource_version: addon.metadata.resource_version.clone(),
    });
    missing.dedup();
    plan.events.extend(missing.into_iter().map(|name| Note {
        warning: true,
        reason: "ConfigurationMissing".to_owned(),
        message: format!("AddOnDeploymentConfig {name} is gone; clusters that use it keep what they have"),
    }));
    plan
}

#[cfg(test)]
#[path = "cma_tests.rs"]
mod tests;
