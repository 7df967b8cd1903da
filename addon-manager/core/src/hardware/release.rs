//! Release of a host when its AllocatedNode is deleted (spec/04 9.2 to 9.4).
//!
//! Three writes, each seen before the next: the host is taken out of its cluster and marked as released; when it is in a
//! state in which that is safe it is powered off and the mark goes; then the node's finalizer goes. As long as the node
//! exists nobody else gets the host.

use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt as _;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{AllocatedNode, AllocatedNodeStatus, NodeAllocationRequest};
use manifests::meta::condition::{self, Next, set_last};
use manifests::meta::{annotations, finalizers, labels};
use manifests::metal3::{self, BareMetalHost, HostUpdatePolicy, PreprovisioningImage, ProvisioningState};
use serde_json::{Map, Value, json};

use super::claim;
use crate::plan::{APPLIED_HASH, Note, Plan, Step, Target, manager};

/// Everything about one node that is being deleted.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The node, with a deletion timestamp.
    pub node: Arc<AllocatedNode>,
    /// Its request, if it exists.
    pub request: Option<Arc<NodeAllocationRequest>>,
    /// Its host, if it exists.
    pub host: Option<Arc<BareMetalHost>>,
    /// The PreprovisioningImage of the same name as the host.
    pub image: Option<Arc<PreprovisioningImage>>,
    /// The HostUpdatePolicy of the same name as the host.
    pub update_policy: Option<Arc<HostUpdatePolicy>>,
    /// The Secret `network-data-<host>` exists in the namespace of the host (hosts of old releases).
    pub has_network_data: bool,
    /// Living nodes of the same group of the request.
    pub group_size: usize,
    /// The ManagedCluster of the request exists.
    pub cluster_exists: bool,
}

/// Decides about one node that is being deleted.
pub fn decide(seen: &Seen, now: Timestamp) -> Plan<AllocatedNodeStatus> {
    let mut plan = Plan::default();
    let node = &*seen.node;
    let is_ours = node.metadata.finalizers.iter().flatten().any(|f| f == finalizers::ALLOCATED_NODE);
    if node.metadata.deletion_timestamp.is_none() || !is_ours {
        return plan;
    }
    let done = claim::finalizer(node, finalizers::ALLOCATED_NODE, false, manager::OBJECTS);
    let name = node.name_any();
    let Some(host) = seen.host.as_deref() else {
        plan.steps.push(done);
        return plan;
    };
    if claim::node_of(host).is_some_and(|other| other != name) {
        // Somebody else's by now.
        plan.steps.push(done);
        return plan;
    }
    if is_by_accident(seen, host) {
        plan.events.push(Note {
            warning: true,
            reason: "HostKept".to_owned(),
            message: format!(
                "BareMetalHost {} runs the cluster and is kept: NodeAllocationRequest {} still asks for it. Take the node \
                 out of the request to release the host",
                super::HostKey::of(host),
                node.spec.node_allocation_request
            ),
        });
        plan.steps.push(done);
        return plan;
    }
    if host.annotation(metal3::annotations::PAUSED).is_some() {
        let text = format!(
            "BareMetalHost {} is paused; remove the annotation {}",
            super::HostKey::of(host),
            metal3::annotations::PAUSED
        );
        plan.status = waiting(node, text, now);
        return plan;
    }
    let skip = skips_cleanup(seen);
    if host.annotation(annotations::DEALLOCATION_COMPLETE).is_none() {
        plan.steps.extend(release_image(seen));
        plan.steps.extend(release_policy(seen));
        plan.steps.push(take_out(seen, host, skip));
        return plan;
    }
    if !skip
        && is_unfinished(node)
        && host.state() != ProvisioningState::Available
        && host.metadata.deletion_timestamp.is_none()
    {
        let text = format!(
            "Waiting for BareMetalHost {}, which is {}, to become available before it is powered off",
            super::HostKey::of(host),
            host.state().as_str()
        );
        plan.status = waiting(node, text, now);
        return plan;
    }
    let mut notes = Map::from_iter([(annotations::DEALLOCATION_COMPLETE.to_owned(), Value::Null)]);
    if host.annotation(annotations::HOST_ERROR_TIMESTAMP).is_some() {
        notes.insert(annotations::HOST_ERROR_TIMESTAMP.to_owned(), Value::Null);
    }
    let mut patch = json!({"metadata": {"annotations": notes}});
    if !skip {
        let mut spec = no_deployment(host);
        if host.spec.online {
            spec.insert("online".to_owned(), json!(false));
        }
        if !spec.is_empty() {
            put(&mut patch, "spec", Value::Object(spec));
        }
    }
    plan.steps.push(claim::merge(host, patch));
    plan.steps.push(done);
    plan
}

/// The request's word counts, it is newer than the node's.
fn skips_cleanup(seen: &Seen) -> bool {
    seen.request.as_ref().map_or(seen.node.spec.skip_cleanup, |r| r.spec.skip_cleanup)
}

/// The request lives and asks for this node, and the cluster runs on the host: the garbage collector or a slip of the hand
/// deleted the node (after a restore owners have new uids). The request makes the node again from the host's labels
/// (DESIGN section 5).
fn is_by_accident(seen: &Seen, host: &BareMetalHost) -> bool {
    let Some(request) = seen.request.as_ref().filter(|r| r.metadata.deletion_timestamp.is_none()) else {
        return false;
    };
    let name = seen.node.name_any();
    let scale_in = request
        .annotations()
        .get(annotations::SCALE_IN_NODES)
        .is_some_and(|list| list.split(',').any(|n| n.trim() == name));
    let wants = request
        .spec
        .node_group
        .iter()
        .find(|g| g.node_group_data.name == seen.node.spec.group_name)
        .is_some_and(|g| usize::try_from(g.size).unwrap_or(0) > seen.group_size);
    let runs = seen.cluster_exists || host.state().is_provisioned();
    runs && wants && !scale_in && claim::holds(host, &name)
}

fn is_unfinished(node: &AllocatedNode) -> bool {
    node.status.as_ref().is_some_and(|s| {
        condition::find(&s.conditions, HardwareCondition::Provisioned.as_str()).is_some_and(|c| {
            c.status == condition::status::FALSE && c.reason == HardwareReason::InProgress.as_str()
        })
    })
}

/// Spec/04 9.3 b.
fn take_out(seen: &Seen, host: &BareMetalHost, skip: bool) -> Step {
    let gone = |keys: &[&str], there: &dyn Fn(&str) -> bool| -> Map<String, Value> {
        keys.iter().filter(|k| there(k)).map(|k| ((*k).to_owned(), Value::Null)).collect()
    };
    let labels = gone(
        &[labels::INFRA_ENV, labels::SITECONFIG_OWNED_BY, labels::ALLOCATED, labels::ALLOCATED_NODE],
        &|k| host.label(k).is_some(),
    );
    let mut notes = gone(
        &[
            annotations::BIOS_UPDATE_NEEDED,
            annotations::FIRMWARE_UPDATE_NEEDED,
            annotations::ORIGINAL_NETWORK_DATA,
            annotations::ALLOW_PROVISIONED_HOST_MANAGEMENT,
        ],
        &|k| host.annotation(k).is_some(),
    );
    notes.insert(annotations::DEALLOCATION_COMPLETE.to_owned(), json!("true"));
    let mut spec = Map::new();
    if !skip {
        spec = no_deployment(host);
        let now = host.spec.preprovisioning_network_data_name.as_deref().unwrap_or_default();
        let before = host.annotation(annotations::ORIGINAL_NETWORK_DATA).map(str::to_owned);
        let old =
            (now.is_empty() && seen.has_network_data).then(|| format!("network-data-{}", host.name_any()));
        if let Some(name) = before.or(old).filter(|name| name != now) {
            spec.insert("preprovisioningNetworkDataName".to_owned(), json!(name));
        }
        if host.state().is_provisioned() {
            spec.insert("automatedCleaningMode".to_owned(), json!("metadata"));
            spec.insert("online".to_owned(), json!(false));
            if host.spec.externally_provisioned {
                notes.insert(annotations::IBI_WARNING.to_owned(), json!(annotations::IBI_WARNING_TEXT));
            }
        }
    }
    let mut metadata = json!({"annotations": notes});
    if !labels.is_empty() {
        put(&mut metadata, "labels", Value::Object(labels));
    }
    let mut patch = json!({"metadata": metadata});
    if !spec.is_empty() {
        put(&mut patch, "spec", Value::Object(spec));
    }
    claim::merge(host, patch)
}

/// What deploys to the host goes. Looked at until the last write: the installer may have read the host just before the first.
fn no_deployment(host: &BareMetalHost) -> Map<String, Value> {
    let fields = [("customDeploy", host.spec.custom_deploy.is_some()), ("image", host.spec.image.is_some())];
    fields.into_iter().filter(|(_, there)| *there).map(|(key, _)| (key.to_owned(), Value::Null)).collect()
}

/// The assisted service's mark on the discovery image; a host without an image has none (B30).
fn release_image(seen: &Seen) -> Option<Step> {
    let image = seen.image.as_deref()?;
    let mut metadata = json!({});
    if image.label(labels::INFRA_ENV).is_some() {
        put(&mut metadata, "labels", json!({labels::INFRA_ENV: null}));
    }
    let list: &[String] = image.metadata.finalizers.as_deref().unwrap_or_default();
    if list.iter().any(|f| f == finalizers::PREPROVISIONING_IMAGE) {
        let rest: Vec<&String> = list.iter().filter(|f| *f != finalizers::PREPROVISIONING_IMAGE).collect();
        put(&mut metadata, "finalizers", json!(rest));
    }
    if metadata.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    Some(Step::Merge {
        target: Target::of::<PreprovisioningImage>(image.metadata.namespace.as_deref(), &image.name_any()),
        patch: json!({"metadata": metadata}),
        manager: manager::HOST,
        resource_version: image.metadata.resource_version.clone(),
    })
}

/// Only a policy that we made (B31).
fn release_policy(seen: &Seen) -> Option<Step> {
    let policy = seen.update_policy.as_deref().filter(|p| p.annotations().contains_key(APPLIED_HASH))?;
    Some(Step::Delete {
        target: Target::of::<HostUpdatePolicy>(policy.metadata.namespace.as_deref(), &policy.name_any()),
        uid: policy.metadata.uid.clone(),
        foreground: false,
    })
}

fn waiting(node: &AllocatedNode, text: String, now: Timestamp) -> Option<AllocatedNodeStatus> {
    let mut status = node.status.clone().unwrap_or_default();
    let kind = HardwareCondition::Deprovisioned.as_str();
    let next = Next::no(kind, HardwareReason::InProgress.as_str(), text);
    set_last(&mut status.conditions, next, now).then_some(status)
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests;
