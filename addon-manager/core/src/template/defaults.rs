//! The two `ConfigMaps` with defaults: reading them, and what the ClusterInstance defaults must look like
//! (spec/01 4.5, 4.5.1, 4.7).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use manifests::clcm::NodeGroupData;
use manifests::meta::names::{config_map_key, parameter};
use manifests::meta::yaml::{self, Duplicate};
use manifests::meta::{GoDuration, labels};
use serde_json::{Map, Value, json};

use super::go::{quote, text};
use super::parameters::{self, Extract, NODE_GROUPS, NODES};
use crate::schema;

/// One of the two `ConfigMaps`.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) object: Option<&'a ConfigMap>,
    /// Key of the YAML mapping.
    pub(super) key: &'static str,
    /// Key of the optional time-out.
    pub(super) timeout: &'static str,
}

/// The YAML mapping of a ConfigMap.
pub(super) struct Defaults {
    pub(super) value: Value,
    pub(super) duplicates: Vec<Duplicate>,
}

impl Source<'_> {
    pub(super) fn get(&self, key: &str) -> Option<&String> {
        self.object?.data.as_ref()?.get(key)
    }

    /// Steps 1 to 3.
    pub(super) fn read(&self) -> Result<Defaults, String> {
        if self.object.is_none() {
            return Err(format!(
                "failed to get ConfigmapReference: the ConfigMap '{}' is not found in the namespace '{}'",
                self.name, self.namespace
            ));
        }
        let key = self.key;
        let Some(content) = self.get(key) else {
            return Err(format!("the ConfigMap '{}' does not contain a field named '{key}'", self.name));
        };
        match yaml::read_mapping(content) {
            Ok(document) => Ok(Defaults { value: document.value, duplicates: document.duplicates }),
            Err(e) => Err(format!(
                "the value of key {key} from ConfigMap {} is not in a valid YAML string: {e}",
                self.name
            )),
        }
    }

    /// Steps 5 and 6; a negative time-out is none of the template's errors (golden case 105).
    pub(super) fn check_rest(&self) -> Result<(), String> {
        if let Some(value) = self.get(self.timeout)
            && let Err(e) = GoDuration::parse(value)
        {
            return Err(format!(
                "failed to validate timeout config: the value of key {} from ConfigMap {} is not a valid duration \
                 string: {e}",
                self.timeout, self.name
            ));
        }
        if self.object.and_then(|o| o.immutable) == Some(false) {
            return Err(format!(
                "It is not allowed to set Immutable to false in the ConfigMap {}",
                self.name
            ));
        }
        Ok(())
    }
}

/// The `ClusterImageSet` that ClusterInstance defaults name.
pub(super) fn image_set_name(cluster_instance_defaults: &ConfigMap) -> Option<String> {
    let content = cluster_instance_defaults.data.as_ref()?.get(config_map_key::CLUSTER_INSTANCE_DEFAULTS)?;
    let value = yaml::parse_mapping(content).ok()?;
    value.get(super::image_set::KEY)?.as_str().map(str::to_owned)
}

/// 4.5.1: the content of the ClusterInstance defaults. `cluster_instance` is the schema of a ClusterInstance's spec.
pub(super) fn check_content(
    defaults: &Value,
    parameter_schema: &Value,
    groups: &[NodeGroupData],
    cluster_instance: Option<&Value>,
) -> Result<(), String> {
    let layout = match (defaults.get(NODES).is_some(), defaults.get(NODE_GROUPS).is_some()) {
        (true, true) => {
            return Err(
                "clusterinstance-defaults must not define both \"nodes\" and \"nodeGroups\"".to_owned()
            );
        }
        (false, false) => {
            return Err("clusterinstance-defaults must define either \"nodes\" or \"nodeGroups\"".to_owned());
        }
        (true, false) => NODES,
        (false, true) => NODE_GROUPS,
    };
    exposed(parameter_schema, layout)?;
    let entries = defaults.get(layout);
    let wrong = |e: String| format!("failed to validate the default ConfigMap: {e}");
    check_interfaces(entries, layout).map_err(wrong)?;
    if layout == NODE_GROUPS {
        check_groups(entries, groups).map_err(wrong)?;
    }
    check_fields(defaults, layout, cluster_instance).map_err(wrong)
}

/// Step 2: the schema lets requests set the same layout.
fn exposed(parameter_schema: &Value, layout: &str) -> Result<(), String> {
    let level =
        parameters::sub_schema(parameter_schema, parameter::CLUSTER_INSTANCE).map_err(|e: Extract| {
            format!(
                "failed to extract \"clusterInstanceParameters\" schema for defaults validation: {}",
                e.text()
            )
        })?;
    let Some(properties) = parameters::properties(level) else {
        return Err(parameters::no_cluster_properties());
    };
    if properties.contains_key(layout) {
        return Ok(());
    }
    let layout = quote(layout);
    Err(format!(
        "clusterinstance-defaults defines {layout}, but clusterInstanceParameters schema does not include a matching \
         {layout} definition"
    ))
}

/// Step 3. What is no list is found by the later steps.
fn check_interfaces(entries: Option<&Value>, layout: &str) -> Result<(), String> {
    for entry in entries.and_then(Value::as_array).into_iter().flatten() {
        if !entry.is_object() {
            return Err(format!("unexpected: invalid {layout} data structure"));
        }
        let interfaces = entry.pointer("/nodeNetwork/interfaces").and_then(Value::as_array);
        let Some(interfaces) = interfaces.filter(|list| !list.is_empty()) else {
            return Err("failed to extract the interfaces from the node map".to_owned());
        };
        for interface in interfaces {
            let name = || text(interface.get("name").unwrap_or(&Value::Null));
            match interface.get("label") {
                None => return Err(format!("'label' is missing for interface: {}", name())),
                Some(Value::String(label)) if label.is_empty() => {
                    return Err(format!("'label' is empty for interface: {}", name()));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Step 4.
fn check_groups(entries: Option<&Value>, hardware: &[NodeGroupData]) -> Result<(), String> {
    let Some(entries) = entries.and_then(Value::as_array) else {
        return Err("\"nodeGroups\" must be an array".to_owned());
    };
    let mut seen = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let Some(entry) = entry.as_object() else { return Err(format!("nodeGroups[{i}] is not an object")) };
        if entry.contains_key(NODES) {
            return Err(format!(
                "nodeGroups[{i}] must omit \"nodes\"; per-host identity belongs only in the ProvisioningRequest"
            ));
        }
        let Some(name) = entry.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(format!("nodeGroups[{i}].name must be a non-empty string"));
        };
        if !seen.insert(name) {
            return Err(format!("duplicate nodeGroups name {}", quote(name)));
        }
        if !hardware.is_empty() && !hardware.iter().any(|group| group.name == name) {
            return Err(format!(
                "nodeGroups name {} does not match any hardware node group in the nodeGroupData",
                quote(name)
            ));
        }
    }
    Ok(())
}

/// Step 5: the defaults against the schema of a ClusterInstance.
fn check_fields(defaults: &Value, layout: &str, cluster_instance: Option<&Value>) -> Result<(), String> {
    const CRD: &str = "clusterinstances.siteconfig.open-cluster-management.io";
    let Some(cluster_instance) = cluster_instance else {
        return Err(format!(
            "failed to obtain the {CRD} CRD: customresourcedefinitions.apiextensions.k8s.io \"{CRD}\" not found"
        ));
    };
    let mut expected = cluster_instance.clone();
    if layout == NODE_GROUPS
        && let Some(properties) = expected.get_mut("properties").and_then(Value::as_object_mut)
    {
        let nodes = properties.remove(NODES).unwrap_or_else(|| json!({}));
        properties.insert(NODE_GROUPS.to_owned(), nodes);
    }
    schema::strip_required(&mut expected);
    schema::forbid_unknown(&mut expected);
    schema::check(&expected, &without_own_keys(defaults, layout))
        .map_err(|e| format!("the ConfigMap does not match the ClusterInstance schema: {e}"))
}

/// A copy without the keys that a ClusterInstance does not have: names of groups, labels of interfaces.
fn without_own_keys(defaults: &Value, layout: &str) -> Value {
    let mut copy = defaults.clone();
    for entry in copy.get_mut(layout).and_then(Value::as_array_mut).into_iter().flatten() {
        if layout == NODE_GROUPS
            && let Some(entry) = entry.as_object_mut()
        {
            entry.remove("name");
        }
        let interfaces = entry.pointer_mut("/nodeNetwork/interfaces").and_then(Value::as_array_mut);
        for interface in interfaces.into_iter().flatten() {
            interface.as_object_mut().map(|i| i.remove("label"));
        }
    }
    copy
}

/// Entries of which no interface is the boot interface: no host can be rendered from them.
pub(super) fn without_boot_interface(defaults: &Value) -> Vec<String> {
    let is_boot = |interface: &Value| {
        interface.get("label").and_then(Value::as_str) == Some(labels::BOOT_INTERFACE_NAME)
    };
    let mut out = Vec::new();
    for layout in [NODE_GROUPS, NODES] {
        for (i, entry) in defaults.get(layout).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let interfaces = entry.pointer("/nodeNetwork/interfaces").and_then(Value::as_array);
            if interfaces.is_some_and(|list| !list.iter().any(is_boot)) {
                out.push(format!("{layout}[{i}]"));
            }
        }
    }
    out
}

/// Policy defaults that a request cannot use as they are: undeclared keys, and values that are no text.
pub(super) fn odd_policy_defaults(defaults: &Value, parameter_schema: &Value) -> Vec<String> {
    let level = parameters::sub_schema(parameter_schema, parameter::POLICY_TEMPLATE).ok();
    let declared = level.and_then(parameters::properties);
    let empty = Map::new();
    let mut out = Vec::new();
    for (key, value) in defaults.as_object().unwrap_or(&empty) {
        if declared.is_some_and(|d| !d.contains_key(key)) {
            out.push(format!("{key} is not declared in policyTemplateParameters"));
        }
        if !value.is_string() {
            out.push(format!("{key} is not a string"));
        }
    }
    out
}
