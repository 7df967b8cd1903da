//! Deletion of a request (spec/02 section 17): hardware first, then the ClusterInstance, then the namespaces; each
//! pass does as much as it can and says what it waits for (B-39).

use manifests::clcm::NodeAllocationRequest;
use manifests::meta::annotations;
use manifests::ocm::ManagedCluster;
use manifests::ran::ClusterInstance;
use serde_json::json;

use super::{Draft, Stage};
use crate::plan::{FaultClass, Step, Target, manager};
use crate::request::seen::Seen;

/// What deletion does in this pass.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something is still there: what it is.
    Waiting(String),
    /// Nothing is left: the finalizer may go.
    Done,
}

fn since(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> String {
    let when = meta.deletion_timestamp.as_ref().map(|t| t.0.to_string());
    when.map(|t| format!(" (being deleted since {t})")).unwrap_or_default()
}

/// Adds the steps of this pass.
pub(in crate::request) fn advance(d: &mut Draft<'_>) -> Progress {
    if let Some(found) = d.seen.fault.as_ref().filter(|f| f.fault.class != FaultClass::Conflict) {
        return Progress::Waiting(format!("{}: {}", found.fault.target, found.fault.message));
    }
    let seen = d.seen;
    detach(d);
    if let Some(allocation) = seen.allocation.as_deref() {
        let meta = &allocation.metadata;
        let name = meta.name.clone().unwrap_or_default();
        if meta.deletion_timestamp.is_none() {
            d.push(
                Stage::Deletion,
                Step::Delete {
                    target: Target::of::<NodeAllocationRequest>(meta.namespace.as_deref(), &name),
                    uid: meta.uid.clone(),
                    foreground: true,
                },
            );
        }
        let nodes = seen.nodes.iter().filter_map(|n| n.metadata.name.clone()).collect::<Vec<_>>().join(", ");
        let of = if nodes.is_empty() { String::new() } else { format!(" to release {nodes}") };
        return Progress::Waiting(format!("waiting for NodeAllocationRequest {name}{of}{}", since(meta)));
    }
    if let Some(instance) = seen.instance.as_deref() {
        let meta = &instance.metadata;
        let name = meta.name.clone().unwrap_or_default();
        if meta.deletion_timestamp.is_none() {
            d.push(
                Stage::Deletion,
                Step::Delete {
                    target: Target::of::<ClusterInstance>(meta.namespace.as_deref(), &name),
                    uid: meta.uid.clone(),
                    foreground: false,
                },
            );
        }
        let paused =
            meta.annotations.as_ref().is_some_and(|a| a.contains_key(annotations::CLUSTER_INSTANCE_PAUSED));
        let hint = if paused {
            format!(
                "; the site-config operator paused it: mend the cause, then remove its annotation {}",
                annotations::CLUSTER_INSTANCE_PAUSED
            )
        } else {
            String::new()
        };
        return Progress::Waiting(format!("waiting for ClusterInstance {name}{}{hint}", since(meta)));
    }
    let mut left = Vec::new();
    for (name, terminating) in &seen.owned_namespaces {
        if !terminating {
            d.push(
                Stage::Deletion,
                Step::Delete {
                    target: Target::of::<k8s_openapi::api::core::v1::Namespace>(None, name),
                    uid: None,
                    foreground: false,
                },
            );
        }
        left.push(name.as_str());
    }
    if left.is_empty() {
        Progress::Done
    } else {
        Progress::Waiting(format!("waiting for namespace {}", left.join(", ")))
    }
}

/// D2: the spoke is about to be powered off; the hub lets go of it at once instead of waiting for its lease.
fn detach(d: &mut Draft<'_>) {
    let known = d.cluster_details().is_some_and(|c| c.name.is_some());
    if !known || d.has_annotation(annotations::SKIP_CLEANUP) {
        return;
    }
    let Some(cluster) = d.seen.cluster.as_deref().filter(|c| c.spec.hub_accepts_client) else { return };
    let step = Step::Merge {
        target: Target::of::<ManagedCluster>(None, cluster.metadata.name.as_deref().unwrap_or_default()),
        patch: json!({"spec": {"hubAcceptsClient": false}}),
        manager: manager::OBJECTS,
        resource_version: None,
    };
    d.push(Stage::Deletion, step);
}

/// Deletion as a decision of its own, for tests.
pub fn decide(seen: &Seen<'_>, now: jiff::Timestamp) -> (Progress, Vec<Step>) {
    let mut draft = Draft::new(seen, now);
    let progress = advance(&mut draft);
    (progress, draft.steps.into_iter().map(|(_, step)| step).collect())
}
