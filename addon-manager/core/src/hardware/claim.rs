//! The claim: two labels on a host, set by one guarded write (spec/04 6.2, B1, B2).

use kube::Resource;
use manifests::meta::{annotations, labels, names};
use manifests::metal3::BareMetalHost;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::HostKey;
use crate::plan::{Step, Target, manager};

/// The AllocatedNode that a host is claimed for.
pub fn node_of(host: &BareMetalHost) -> Option<&str> {
    host.label(labels::ALLOCATED_NODE).filter(|n| !n.is_empty())
}

/// Both labels are there, for this node.
pub(super) fn holds(host: &BareMetalHost, node: &str) -> bool {
    node_of(host) == Some(node) && host.label(labels::ALLOCATED) == Some("true")
}

/// The host is claimed for some node of this cluster. The claim alone tells: the name of a node follows from the
/// cluster and the host.
pub fn is_claim_of(cluster: &str, host: &BareMetalHost) -> bool {
    node_of(host).is_some_and(|label| {
        let key = HostKey::of(host);
        label == plain(cluster, &key) || label == distinct(cluster, &key)
    })
}

/// The name of the node for a host (spec/01 1.7). The published form, unless characters got lost in it or another node
/// has it already: `node.1` and `node-1` of one namespace are two nodes.
pub(super) fn node_name(cluster: &str, host: &HostKey, is_taken: impl Fn(&str) -> bool) -> String {
    let name = plain(cluster, host);
    let exact = format!("{cluster}-{}-{}", host.namespace, host.name);
    if name.ends_with(&hash(cluster, host)) || (name == exact && !is_taken(&name)) {
        return name;
    }
    distinct(cluster, host)
}

/// The part of a plain node name that comes before the host, if the name is of this host.
pub(super) fn cluster_in<'a>(node: &'a str, host: &HostKey) -> Option<&'a str> {
    node.strip_suffix(&plain("", host))?.strip_suffix('-')
}

fn plain(cluster: &str, host: &HostKey) -> String {
    names::allocated_node(cluster, &host.namespace, &host.name)
}

fn distinct(cluster: &str, host: &HostKey) -> String {
    const LABEL_VALUE: usize = 63;
    let hash = hash(cluster, host);
    let mut name = plain(cluster, host);
    if name.ends_with(&hash) {
        return name;
    }
    name.truncate(LABEL_VALUE - hash.len() - 1);
    format!("{}-{hash}", name.trim_end_matches('-'))
}

/// Ten hex digits of a UUID v5 over the full identity.
fn hash(cluster: &str, host: &HostKey) -> String {
    let space = Uuid::new_v5(&Uuid::nil(), cluster.as_bytes());
    let mut hash = Uuid::new_v5(&space, host.to_string().as_bytes()).simple().to_string();
    hash.truncate(10);
    hash
}

/// Takes the host for a node: refused by the API server when anybody wrote the host since it was observed. The
/// annotations belong to the same write: they keep what the host was like before the claim.
pub(super) fn take(host: &BareMetalHost, node: &str) -> Step {
    let mut patch = json!({"metadata": {
        "labels": {labels::ALLOCATED: "true", labels::ALLOCATED_NODE: node},
    }});
    let notes = marks(host);
    if !notes.is_empty()
        && let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("annotations".to_owned(), Value::Object(notes));
    }
    merge(host, patch)
}

/// The annotations of a claimed host that are still missing (spec/04 6.2, steps 6 and 7).
pub(super) fn marks(host: &BareMetalHost) -> Map<String, Value> {
    let mut notes = Map::new();
    if host.annotation(annotations::ORIGINAL_NETWORK_DATA).is_none() {
        let name = host.spec.preprovisioning_network_data_name.as_deref().unwrap_or_default();
        notes.insert(annotations::ORIGINAL_NETWORK_DATA.to_owned(), json!(name));
    }
    if host.annotation(annotations::ALLOW_PROVISIONED_HOST_MANAGEMENT).is_none() {
        notes.insert(annotations::ALLOW_PROVISIONED_HOST_MANAGEMENT.to_owned(), json!(""));
    }
    notes
}

/// Gives a host back that nothing was done with yet.
pub(super) fn give_back(host: &BareMetalHost) -> Step {
    merge(
        host,
        json!({"metadata": {
            "labels": {labels::ALLOCATED: null, labels::ALLOCATED_NODE: null},
            "annotations": {
                annotations::ORIGINAL_NETWORK_DATA: null,
                annotations::ALLOW_PROVISIONED_HOST_MANAGEMENT: null,
            },
        }}),
    )
}

/// A guarded merge patch of a host.
pub(super) fn merge(host: &BareMetalHost, patch: Value) -> Step {
    Step::Merge {
        target: target(host),
        patch,
        manager: manager::HOST,
        resource_version: host.metadata.resource_version.clone(),
    }
}

fn target(host: &BareMetalHost) -> Target {
    let key = HostKey::of(host);
    Target::of::<BareMetalHost>(Some(&key.namespace), &key.name)
}

/// A guarded merge patch that adds a finalizer to an object or takes it away.
pub(super) fn finalizer<K: Resource<DynamicType = ()>>(
    object: &K,
    name: &str,
    present: bool,
    manager: &'static str,
) -> Step {
    let meta = object.meta();
    let mut list: Vec<String> =
        meta.finalizers.iter().flatten().filter(|f| f.as_str() != name).cloned().collect();
    if present {
        list.push(name.to_owned());
    }
    Step::Merge {
        target: Target::of::<K>(meta.namespace.as_deref(), meta.name.as_deref().unwrap_or_default()),
        patch: json!({"metadata": {"finalizers": list}}),
        manager,
        resource_version: meta.resource_version.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::fixtures::host;

    fn key(namespace: &str, name: &str) -> HostKey {
        HostKey { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    #[test]
    fn s04_029_long_names_are_hashed_and_stay_label_values() {
        let host = key("a-rather-long-namespace-of-hosts", "a-host-with-a-long-name-in-rack-7");
        let name = node_name("edge-cluster-7", &host, |_| false);
        assert!(name.len() <= 63, "{name}");
        assert_eq!(name, node_name("edge-cluster-7", &host, |_| false));
        assert_ne!(name, node_name("edge-cluster-8", &host, |_| false));
    }

    #[test]
    fn s04_030_names_that_sanitise_alike_are_distinct() {
        let none = |_: &str| false;
        assert_eq!(node_name("c", &key("ns", "node-1"), none), "c-ns-node-1");
        let dotted = node_name("c", &key("ns", "node.1"), none);
        assert!(dotted.starts_with("c-ns-node-1-") && dotted.len() == 22, "{dotted}");
        // The same text from another cluster and namespace: whoever comes second gets the hash.
        assert_eq!(node_name("a-b", &key("c", "h"), none), "a-b-c-h");
        assert_ne!(node_name("a", &key("b-c", "h"), |n| n == "a-b-c-h"), "a-b-c-h");
    }

    #[test]
    fn a_claim_tells_its_cluster() {
        for (cluster, ns, name) in [
            ("edge", "racks", "h1"),
            ("edge", "racks", "h.1"),
            ("e".repeat(50).as_str(), "racks", "host-number-1"),
        ] {
            let node = node_name(cluster, &key(ns, name), |_| false);
            let mut claimed = host(ns, name);
            claimed
                .metadata
                .labels
                .get_or_insert_default()
                .insert(labels::ALLOCATED_NODE.to_owned(), node.clone());
            assert!(is_claim_of(cluster, &claimed), "{node}");
            assert!(!is_claim_of("other", &claimed), "{node}");
        }
        assert_eq!(cluster_in("a-b-c-h", &key("c", "h")), Some("a-b"));
        assert_eq!(cluster_in("a-b-c-h", &key("b-c", "h")), Some("a"));
        assert_eq!(cluster_in("a-b-c-h", &key("x", "h")), None);
    }

    #[test]
    fn the_claim_keeps_what_was_there_before() {
        let mut h = host("racks", "h1");
        h.spec.preprovisioning_network_data_name = Some("net-h1".into());
        let Step::Merge { patch, resource_version, .. } = take(&h, "c-racks-h1") else { panic!("a merge") };
        assert_eq!(resource_version.as_deref(), Some("1"));
        assert_eq!(
            patch,
            json!({"metadata": {
                "labels": {"clcm.openshift.io/allocated": "true", "clcm.openshift.io/allocated-node": "c-racks-h1"},
                "annotations": {
                    "clcm.openshift.io/origNetworkData": "net-h1",
                    "bmac.agent-install.openshift.io/allow-provisioned-host-management": "",
                },
            }})
        );
    }
}
