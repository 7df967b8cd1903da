//! The checks of spec/01 section 4, in their order.

use kube::ResourceExt;
use manifests::meta::names::{self, config_map_key, parameter};
use serde_json::Value;

use super::defaults::{self, Source};
use super::go::quote;
use super::version::Version;
use super::{Seen, Twin, hardware, identity, image_set, lookup, parameters, upgrade};
use crate::schema;

/// All messages, in the order of section 4; none when the template is valid.
pub fn errors(seen: &Seen<'_>) -> Vec<String> {
    let spec = &seen.template.spec;
    let defaults = &spec.template_defaults;
    let groups = defaults.hw_mgmt_defaults.as_ref().map_or(&[][..], |h| &h.node_group_data);
    let schema = spec.template_parameter_schema.value();
    let mut out = Vec::new();

    out.extend(name(seen));
    if let Some(id) = spec.template_id.as_ref().filter(|id| !id.is_empty() && !identity::is_uuid(id)) {
        out.push(format!("failed to validate templateID, invalid UUID:{id}"));
    }
    let has_upgrade = defaults.upgrade_defaults.is_some();
    out.extend(parameters::check(&seen.template.name_any(), &schema, !groups.is_empty(), has_upgrade).err());
    if let Some(hardware_defaults) = &defaults.hw_mgmt_defaults {
        out.extend(hardware::check(hardware_defaults, &seen.profiles));
    }

    let (cluster, policy) = sources(seen);
    match cluster.read() {
        // Upstream reports this a second time in the next check.
        Err(text) => out.push(text),
        Ok(read) => {
            let content = defaults::check_content(&read.value, &schema, groups, seen.cluster_instance_schema);
            out.extend(content.and_then(|()| cluster.check_rest()).err());
            if !lookup::skips_image_set(seen.template) {
                let verdict = image_set::check(&read.value, cluster.name, &spec.release, seen.image_set);
                out.extend(verdict.err());
            }
        }
    }
    out.extend(policy.read().and_then(|_| policy.check_rest()).err());

    if !spec.release.is_empty()
        && let Err(e) = Version::parse(&spec.release)
    {
        out.push(format!("spec.release {} is not a valid semantic version: {e}", quote(&spec.release)));
    }
    if let Some(upgrade_defaults) = &defaults.upgrade_defaults {
        out.extend(upgrade::check_defaults(&upgrade_defaults.value(), &schema, &spec.release).err());
    }
    out
}

fn sources<'a>(seen: &'a Seen<'_>) -> (Source<'a>, Source<'a>) {
    let namespace = seen.template.metadata.namespace.as_deref().unwrap_or_default();
    let defaults = &seen.template.spec.template_defaults;
    let cluster = Source {
        name: &defaults.cluster_instance_defaults,
        namespace,
        object: seen.cluster_instance_defaults,
        key: config_map_key::CLUSTER_INSTANCE_DEFAULTS,
        timeout: config_map_key::INSTALLATION_TIMEOUT,
    };
    let policy = Source {
        name: &defaults.policy_template_defaults,
        namespace,
        object: seen.policy_template_defaults,
        key: config_map_key::POLICY_TEMPLATE_DEFAULTS,
        timeout: config_map_key::CONFIGURATION_TIMEOUT,
    };
    (cluster, policy)
}

/// 4.1
fn name(seen: &Seen<'_>) -> Option<String> {
    let (name, spec) = (seen.template.name_any(), &seen.template.spec);
    let wanted = names::template(&spec.name, &spec.version);
    if name != wanted {
        return Some(format!(
            "failed to validate ClusterTemplate name {name}, should be in the format <spec.name>.<spec.version>: {wanted}"
        ));
    }
    let own = Twin::of(seen.template);
    let before = seen.twins.iter().filter(|twin| twin.rank() < own.rank());
    let mut namespaces: Vec<&str> = before.map(|twin| twin.namespace.as_str()).collect();
    namespaces.sort_unstable();
    (!namespaces.is_empty()).then(|| format!(
        "failed to validate ClusterTemplate name {name}, a identical name already exists in namespaces: {}",
        namespaces.join(",")
    ))
}

/// What does not make a template invalid but will stop its requests: for events, and for admission.
pub fn warnings(seen: &Seen<'_>) -> Vec<String> {
    let document = seen.template.spec.template_parameter_schema.value();
    let (cluster, policy) = sources(seen);
    let mut out = Vec::new();
    for (key, part) in document.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Err(e) = schema::compile(part) {
            // A reference may well be to the whole document, which is not looked at here.
            if part.to_string().contains("\"$ref\"") && schema::compile(&document).is_ok() {
                continue;
            }
            out.push(format!("templateParameterSchema of {key} cannot be used: {e}"));
        }
    }
    for (source, is_cluster) in [(&cluster, true), (&policy, false)] {
        let Ok(read) = source.read() else { continue };
        for duplicate in &read.duplicates {
            out.push(format!(
                "key {} of ConfigMap {} has {} more than once (line {}); the last one counts",
                source.key, source.name, duplicate.key, duplicate.line
            ));
        }
        if is_cluster {
            for entry in defaults::without_boot_interface(&read.value) {
                out.push(format!(
                    "{entry} in ConfigMap {} has no interface with label boot-interface; its hosts cannot be installed",
                    source.name
                ));
            }
        } else {
            for problem in defaults::odd_policy_defaults(&read.value, &document) {
                out.push(format!("{problem} (key {} of ConfigMap {})", source.key, source.name));
            }
        }
        if let Some(limit) = source.get(source.timeout)
            && manifests::meta::GoDuration::parse(limit).is_ok_and(|d| d.nanos() < 0)
        {
            out.push(format!(
                "{} of ConfigMap {} is negative; requests refuse it",
                source.timeout, source.name
            ));
        }
    }
    let root: Vec<&String> =
        document.get("properties").and_then(Value::as_object).map(|p| p.keys().collect()).unwrap_or_default();
    let known = [
        parameter::NODE_CLUSTER_NAME,
        parameter::O_CLOUD_SITE_ID,
        parameter::CLUSTER_INSTANCE,
        parameter::POLICY_TEMPLATE,
        parameter::HW_MGMT,
        parameter::UPGRADE,
    ];
    let unknown: Vec<&str> =
        root.into_iter().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if !unknown.is_empty() {
        out.push(format!(
            "templateParameterSchema has properties that nothing reads: {}",
            unknown.join(", ")
        ));
    }
    out
}
