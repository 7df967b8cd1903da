//! What the agent sees on the spoke, cut down to what a report needs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use manifests::addon::Served;
use manifests::openshift::{
    ClusterOperator, ClusterVersion, ImageBasedUpgrade, MachineConfigPool, StatusCondition,
};
use serde::{Deserialize, Serialize};

/// A Node without the many things that a report does not need.
#[derive(kube::Resource, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[resource(inherit = Node)]
pub(crate) struct NodeView {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: NodeViewSpec,
    #[serde(default)]
    pub status: NodeViewStatus,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct NodeViewSpec {
    #[serde(default)]
    pub unschedulable: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeViewStatus {
    #[serde(default)]
    pub conditions: Vec<StatusCondition>,
    #[serde(default)]
    pub node_info: NodeInfo,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeInfo {
    #[serde(default)]
    pub kubelet_version: String,
}

/// The ClusterVersion, and who owns the fields that the hub writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct VersionFacts {
    pub object: ClusterVersion,
    pub requested_by: String,
    pub channel_by: String,
}

/// Everything that the watches have brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Observed {
    pub version: Option<VersionFacts>,
    pub operators: BTreeMap<String, ClusterOperator>,
    pub pools: BTreeMap<String, MachineConfigPool>,
    pub upgrade: Option<ImageBasedUpgrade>,
    pub nodes: BTreeMap<String, NodeView>,
    /// Kinds that the spoke serves.
    pub served: BTreeSet<Served>,
    /// Kinds whose first list has arrived.
    pub listed: BTreeSet<Served>,
    /// Watches that do not work, with the API server's words.
    pub failing: BTreeMap<String, String>,
}

impl Observed {
    /// Every served kind has been listed once, or is known not to work: before that a report would claim that things
    /// are gone.
    pub(crate) fn is_complete(&self) -> bool {
        let settled =
            |kind: &Served| self.listed.contains(kind) || self.failing.contains_key(&format!("{kind:?}"));
        self.served.contains(&Served::Node) && self.served.iter().all(settled)
    }

    /// Forgets a kind that is not served any more.
    pub(crate) fn forget(&mut self, kind: Served) {
        self.served.remove(&kind);
        self.listed.remove(&kind);
        match kind {
            Served::ClusterVersion => self.version = None,
            Served::ClusterOperator => self.operators.clear(),
            Served::MachineConfigPool => self.pools.clear(),
            Served::ImageBasedUpgrade => self.upgrade = None,
            Served::Node => self.nodes.clear(),
        }
    }
}

/// A kind that the agent watches.
pub(crate) trait Fact:
    kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static
{
    /// Its name in the report.
    const KIND: Served;
    /// The only object that matters, for kinds with one.
    const ONLY: Option<&'static str>;
    /// Takes an object, cut down.
    fn put(self, observed: &mut Observed);
    /// Drops an object.
    fn remove(observed: &mut Observed, name: &str);
    /// Names of the objects that are known.
    fn names(observed: &Observed) -> Vec<String>;
}

fn name<K: kube::Resource>(object: &K) -> String {
    object.meta().name.clone().unwrap_or_default()
}

/// Keeps what identifies an object and its generation.
fn cut(meta: &mut ObjectMeta) {
    let full = std::mem::take(meta);
    *meta = ObjectMeta { name: full.name, generation: full.generation, ..ObjectMeta::default() };
}

impl Fact for ClusterVersion {
    const KIND: Served = Served::ClusterVersion;
    const ONLY: Option<&'static str> = Some(manifests::openshift::cluster_version::NAME);

    fn put(mut self, observed: &mut Observed) {
        let fields = self.metadata.managed_fields.take().unwrap_or_default();
        let facts = VersionFacts {
            requested_by: owner(&fields, "f:desiredUpdate"),
            channel_by: owner(&fields, "f:channel"),
            object: {
                cut(&mut self.metadata);
                self
            },
        };
        observed.version = Some(facts);
    }

    fn remove(observed: &mut Observed, _: &str) {
        observed.version = None;
    }

    fn names(observed: &Observed) -> Vec<String> {
        observed.version.iter().map(|v| name(&v.object)).collect()
    }
}

/// The field manager that owns a field of the spec; the one that wrote last, if several do.
fn owner(fields: &[ManagedFieldsEntry], field: &str) -> String {
    let owners = fields.iter().filter(|f| f.subresource.as_deref().unwrap_or_default().is_empty());
    let owners = owners.filter(|f| {
        let spec = f.fields_v1.as_ref().and_then(|v| v.0.get("f:spec"));
        spec.is_some_and(|s| s.get(field).is_some())
    });
    let last = owners.max_by(|a, b| a.time.cmp(&b.time));
    last.and_then(|f| f.manager.clone()).unwrap_or_default()
}

impl Fact for ClusterOperator {
    const KIND: Served = Served::ClusterOperator;
    const ONLY: Option<&'static str> = None;

    fn put(mut self, observed: &mut Observed) {
        cut(&mut self.metadata);
        if let Some(status) = &mut self.status {
            status.versions.retain(|v| v.name == "operator");
            status.conditions.retain(|c| {
                matches!(c.type_.as_str(), "Available" | "Progressing" | "Degraded" | "Upgradeable")
            });
        }
        observed.operators.insert(name(&self), self);
    }

    fn remove(observed: &mut Observed, name: &str) {
        observed.operators.remove(name);
    }

    fn names(observed: &Observed) -> Vec<String> {
        observed.operators.keys().cloned().collect()
    }
}

impl Fact for MachineConfigPool {
    const KIND: Served = Served::MachineConfigPool;
    const ONLY: Option<&'static str> = None;

    fn put(mut self, observed: &mut Observed) {
        cut(&mut self.metadata);
        observed.pools.insert(name(&self), self);
    }

    fn remove(observed: &mut Observed, name: &str) {
        observed.pools.remove(name);
    }

    fn names(observed: &Observed) -> Vec<String> {
        observed.pools.keys().cloned().collect()
    }
}

impl Fact for ImageBasedUpgrade {
    const KIND: Served = Served::ImageBasedUpgrade;
    const ONLY: Option<&'static str> = Some(manifests::openshift::image_based_upgrade::NAME);

    fn put(mut self, observed: &mut Observed) {
        cut(&mut self.metadata);
        observed.upgrade = Some(self);
    }

    fn remove(observed: &mut Observed, _: &str) {
        observed.upgrade = None;
    }

    fn names(observed: &Observed) -> Vec<String> {
        observed.upgrade.iter().map(name).collect()
    }
}

impl Fact for NodeView {
    const KIND: Served = Served::Node;
    const ONLY: Option<&'static str> = None;

    fn put(mut self, observed: &mut Observed) {
        let roles = self.metadata.labels.take().unwrap_or_default();
        cut(&mut self.metadata);
        self.metadata.labels = Some(
            roles
                .into_iter()
                .filter(|(k, _)| k.starts_with("node-role.kubernetes.io/"))
                .collect::<BTreeMap<_, _>>(),
        );
        self.status.conditions.retain(|c| matches!(c.type_.as_str(), "Ready" | "NetworkUnavailable"));
        observed.nodes.insert(name(&self), self);
    }

    fn remove(observed: &mut Observed, name: &str) {
        observed.nodes.remove(name);
    }

    fn names(observed: &Observed) -> Vec<String> {
        observed.nodes.keys().cloned().collect()
    }
}

impl NodeView {
    /// `Ready` is True and the network is not said to be unavailable (spec/04 section 8).
    pub(crate) fn is_ready(&self) -> bool {
        let is = |type_: &str| self.status.conditions.iter().any(|c| c.type_ == type_ && c.is_true());
        is("Ready") && !is("NetworkUnavailable")
    }

    pub(crate) fn is_control_plane(&self) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.is_some_and(|l| {
            l.contains_key("node-role.kubernetes.io/control-plane")
                || l.contains_key("node-role.kubernetes.io/master")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_writer_of_a_field_is_named() {
        let entry = |manager: &str, time: &str, fields: serde_json::Value| -> ManagedFieldsEntry {
            serde_json::from_value(json!({
                "manager": manager, "operation": "Apply", "time": time, "fieldsV1": {"f:spec": fields},
            }))
            .unwrap()
        };
        let fields = [
            entry("oc", "2026-01-01T00:00:00Z", json!({"f:channel": {}, "f:desiredUpdate": {}})),
            entry("work-agent-ocloud", "2026-01-02T00:00:00Z", json!({"f:desiredUpdate": {"f:version": {}}})),
        ];
        assert_eq!(owner(&fields, "f:desiredUpdate"), "work-agent-ocloud");
        assert_eq!(owner(&fields, "f:channel"), "oc");
        assert_eq!(owner(&fields, "f:upstream"), "");
    }

    #[test]
    fn a_report_waits_for_lists_but_not_for_what_is_forbidden() {
        let mut observed = Observed::default();
        assert!(!observed.is_complete());
        observed.served = [Served::Node, Served::ClusterVersion].into();
        observed.listed = [Served::Node].into();
        assert!(!observed.is_complete());
        observed.failing.insert("ClusterVersion".into(), "forbidden".into());
        assert!(observed.is_complete());
        observed.forget(Served::ClusterVersion);
        observed.failing.clear();
        assert!(observed.is_complete());
    }

    #[test]
    fn objects_are_cut_down() {
        let node: NodeView = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": "n1", "uid": "u", "labels": {"a": "b", "node-role.kubernetes.io/master": ""},
                "annotations": {"x": "y"},
            },
            "spec": {"podCIDR": "10.0.0.0/24"},
            "status": {
                "images": [{"names": ["i"]}],
                "conditions": [
                    {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"},
                    {"type": "MemoryPressure", "status": "False"},
                ],
                "nodeInfo": {"kubeletVersion": "v1.33.1"},
            },
        }))
        .unwrap();
        let mut observed = Observed::default();
        node.put(&mut observed);
        let node = &observed.nodes["n1"];
        assert!(node.is_ready() && node.is_control_plane());
        assert_eq!(node.status.conditions.len(), 1);
        assert_eq!(node.metadata.labels.as_ref().unwrap().len(), 1);
        assert!(node.metadata.annotations.is_none() && node.metadata.uid.is_none());
    }
}
