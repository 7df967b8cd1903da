//! The ClusterInstance of a request (spec/02 section 7).
//!
//! ```text
//! merged cluster data --render--> object with placeholders --carry_over--> hardware data of the live object
//!     --adapt_for_upgrade, check_scaling (installed clusters only)--> dry run
//! ```

use std::collections::BTreeMap;

use manifests::meta::{annotations, labels};
use serde_json::{Map, Value, json};

use super::diff;
use super::error::InputError;
use super::resources::Owner;

/// BMC address before hardware is known.
pub const PLACEHOLDER_BMC: &str = "placeholder";
/// MAC address before hardware is known.
pub const PLACEHOLDER_MAC: &str = "00:00:5E:00:53:AF";
/// `apiVersion` of the ClusterInstance.
pub const API_VERSION: &str = "siteconfig.open-cluster-management.io/v1alpha1";
/// Wraps every error of this stage.
pub const DRY_RUN_PREFIX: &str = "failed to validate the rendered ClusterInstance with dry-run: ";
/// Before the API server's text when the user must change something.
pub const INVALID_PREFIX: &str = "invalid ClusterInstance configuration: ";

/// Steps N1 to N4 and N6: the object as it is applied, with placeholders for hardware data that is missing.
/// `installed` is whether `ClusterProvisioned` is True.
///
/// # Errors
/// When a node has no interfaces.
pub fn render(
    cluster: &Value,
    cluster_name: &str,
    owner: &Owner,
    installed: bool,
) -> Result<Value, InputError> {
    let mut spec = cluster.as_object().cloned().unwrap_or_default();
    if let Some(Value::Array(nodes)) = spec.get_mut("nodes") {
        for node in nodes {
            let Some(node) = node.as_object_mut() else {
                return Err(InputError::input("a node of the ClusterInstance is not an object"));
            };
            add_placeholders(node);
            remove_labels(node)?;
        }
    }
    if !installed {
        hold_import(&mut spec);
    }
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterInstance",
        "metadata": {
            "name": cluster_name,
            "namespace": cluster_name,
            "labels": { labels::REQUEST_NAME: owner.name },
            "ownerReferences": [owner.controller()],
        },
        "spec": spec,
    }))
}

fn is_blank(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

fn set_blank(map: &mut Map<String, Value>, key: &str, text: &str) {
    if is_blank(map.get(key)) {
        map.insert(key.to_owned(), Value::String(text.to_owned()));
    }
}

/// N2.
fn add_placeholders(node: &mut Map<String, Value>) {
    set_blank(node, "bmcAddress", PLACEHOLDER_BMC);
    set_blank(node, "bootMACAddress", PLACEHOLDER_MAC);
    let named = match node.get("bmcCredentialsName") {
        Some(Value::Object(credentials)) => !is_blank(credentials.get("name")),
        other => !is_blank(other),
    };
    if !named {
        let host = node.get("hostName").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let short = host.split('.').next().unwrap_or_default();
        node.insert("bmcCredentialsName".to_owned(), json!({ "name": format!("{short}-bmc-secret") }));
    }
    for interface in interfaces_mut(node) {
        set_blank(interface, "macAddress", PLACEHOLDER_MAC);
    }
}

/// N3.
fn remove_labels(node: &mut Map<String, Value>) -> Result<(), InputError> {
    if !node.get("nodeNetwork").and_then(|n| n.get("interfaces")).is_some_and(Value::is_array) {
        return Err(InputError::input(
            "failed to remove interface labels from ClusterInstance spec: failed to extract the interfaces from the \
             node map",
        ));
    }
    for interface in interfaces_mut(node) {
        interface.remove("label");
    }
    Ok(())
}

/// N6.
fn hold_import(spec: &mut Map<String, Value>) {
    let extra = spec.entry("extraAnnotations").or_insert_with(|| Value::Object(Map::new()));
    if let Some(extra) = extra.as_object_mut() {
        let of_cluster = extra.entry("ManagedCluster").or_insert_with(|| Value::Object(Map::new()));
        if let Some(of_cluster) = of_cluster.as_object_mut() {
            of_cluster.insert(annotations::DISABLE_AUTO_IMPORT.to_owned(), Value::String("true".to_owned()));
        }
    }
}

/// Nodes of a ClusterInstance spec that are objects, in order.
pub fn nodes(spec: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    spec.get("nodes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// Host name of a node; empty when it has none.
pub fn host_name(node: &Map<String, Value>) -> &str {
    node.get("hostName").and_then(Value::as_str).unwrap_or_default()
}

/// Role of a node as the API server will default it (B-26).
pub fn role(node: &Map<String, Value>) -> &str {
    match node.get("role").and_then(Value::as_str) {
        Some(role) if !role.is_empty() => role,
        _ => "master",
    }
}

/// Number of nodes with a host name: what `fulfilledNodeCount` counts.
pub fn node_count(spec: &Value) -> usize {
    nodes(spec).filter(|n| !host_name(n).is_empty()).count()
}

pub(super) fn interfaces_mut(node: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    node.get_mut("nodeNetwork")
        .and_then(|n| n.get_mut("interfaces"))
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// N7: hardware data of the nodes of the live object, by host name, into the rendered one.
pub fn carry_over(rendered: &mut Value, live_spec: &Value) {
    let live: BTreeMap<&str, &Map<String, Value>> =
        nodes(live_spec).filter(|n| !host_name(n).is_empty()).map(|n| (host_name(n), n)).collect();
    let Some(Value::Array(list)) = rendered.pointer_mut("/spec/nodes") else { return };
    for node in list.iter_mut().filter_map(Value::as_object_mut) {
        let Some(live) = live.get(host_name(node)).copied() else { continue };
        for key in ["bmcAddress", "bootMACAddress", "hostRef"] {
            if let Some(value) = live.get(key).filter(|v| !is_blank(Some(v))) {
                node.insert(key.to_owned(), value.clone());
            }
        }
        let credentials = live.get("bmcCredentialsName").and_then(|c| c.get("name"));
        if let Some(name) = credentials.filter(|n| !is_blank(Some(n))) {
            node.insert("bmcCredentialsName".to_owned(), json!({ "name": name }));
        }
        carry_macs(node, live);
    }
}

fn carry_macs(node: &mut Map<String, Value>, live: &Map<String, Value>) {
    let known = live.get("nodeNetwork").and_then(|n| n.get("interfaces")).and_then(Value::as_array);
    for interface in known.into_iter().flatten() {
        let (Some(name), Some(mac)) = (
            interface.get("name").and_then(Value::as_str),
            interface.get("macAddress").and_then(Value::as_str).filter(|m| !m.is_empty()),
        ) else {
            continue;
        };
        let found = interfaces_mut(node).find(|i| i.get("name").and_then(Value::as_str) == Some(name));
        if let Some(found) = found {
            found.insert("macAddress".to_owned(), Value::String(mac.to_owned()));
            continue;
        }
        let list =
            node.get_mut("nodeNetwork").and_then(|n| n.get_mut("interfaces")).and_then(Value::as_array_mut);
        if let Some(list) = list {
            list.push(json!({ "name": name, "macAddress": mac }));
        }
    }
}

/// Fields that differ between a live and a rendered object without the user having changed them.
const HARDWARE_FIELDS: &[&str] = &[
    "nodes.*.bmcAddress",
    "nodes.*.bmcCredentialsName",
    "nodes.*.bootMACAddress",
    "nodes.*.hostRef",
    "nodes.*.nodeNetwork.interfaces.*.macAddress",
    "nodes.*.nodeNetwork.interfaces.*.label",
    "suppressedManifests",
];

/// Section 7.3, for an installed cluster: a new image set suppresses the `AgentClusterInstall` (its admission forbids
/// the change), and manifests once suppressed stay so.
pub fn adapt_for_upgrade(rendered: &mut Value, live_spec: &Value) {
    let Some(spec) = rendered.get("spec") else { return };
    let changes = diff::diff(live_spec, spec);
    let sorted = diff::classify(&changes, HARDWARE_FIELDS, diff::ALLOWED_AFTER_INSTALL);
    let mut add: Vec<&str> = Vec::new();
    if sorted.immutable.iter().any(|path| path == "clusterImageSetNameRef") {
        add.push("AgentClusterInstall");
    }
    let live = live_spec.get("suppressedManifests").and_then(Value::as_array);
    add.extend(live.into_iter().flatten().filter_map(Value::as_str));
    if add.is_empty() {
        return;
    }
    let Some(spec) = rendered.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let list = spec.entry("suppressedManifests").or_insert_with(|| Value::Array(Vec::new()));
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    let Some(list) = list.as_array_mut() else { return };
    for kind in add {
        if !list.iter().any(|have| have == kind) {
            list.push(Value::String(kind.to_owned()));
        }
    }
}

/// Section 7.4, for an installed cluster: only workers may come and go, and no role changes in place.
///
/// # Errors
/// Of class input.
pub fn check_scaling(live_spec: &Value, rendered_spec: &Value) -> Result<(), InputError> {
    let map = |spec| -> BTreeMap<String, String> {
        nodes(spec)
            .filter(|n| !host_name(n).is_empty())
            .map(|n| (host_name(n).to_owned(), role(n).to_owned()))
            .collect()
    };
    let (live, wanted) = (map(live_spec), map(rendered_spec));
    let scaling = !live.keys().eq(wanted.keys());
    if scaling {
        let masters = live.values().filter(|r| is_control_plane(r)).count();
        if live.len() == 1 || (masters == live.len() && masters <= 1) {
            return Err(InputError::input("node scaling is not supported on single-node clusters"));
        }
        if let Some((host, role)) = live.iter().find(|(h, r)| !wanted.contains_key(*h) && *r != "worker") {
            return Err(InputError::input(format!(
                "node scaling is restricted to worker nodes: cannot remove {role} node {host:?}"
            )));
        }
        if let Some((host, role)) = wanted.iter().find(|(h, r)| !live.contains_key(*h) && *r != "worker") {
            return Err(InputError::input(format!(
                "node scaling is restricted to worker nodes: cannot add {role} node {host:?}"
            )));
        }
    }
    for (host, before) in &live {
        if let Some(after) = wanted.get(host).filter(|after| *after != before) {
            return Err(InputError::input(format!(
                "in-place role change is not supported: node {host:?} role changed from {before} to {after}"
            )));
        }
    }
    Ok(())
}

fn is_control_plane(role: &str) -> bool {
    role == "master" || role == "control-plane"
}

/// Section 7.5: the live object is used instead of a new one while an installation (or scaling) runs, and after one
/// that failed.
#[expect(clippy::fn_params_excessive_bools, reason = "four facts of the status, all alike")]
pub fn is_frozen(rendered: bool, cluster_known: bool, installed: bool, exists: bool) -> bool {
    rendered && cluster_known && !installed && exists
}

/// The live object as the intent of this pass (7.5): its spec, with our metadata only.
pub fn from_live(live_spec: &Value, cluster_name: &str, owner: &Owner) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "ClusterInstance",
        "metadata": {
            "name": cluster_name,
            "namespace": cluster_name,
            "labels": { labels::REQUEST_NAME: owner.name },
            "ownerReferences": [owner.controller()],
        },
        "spec": live_spec,
    })
}
