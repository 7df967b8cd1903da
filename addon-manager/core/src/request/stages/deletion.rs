//! Deletion of a request (spec/02 section 17): hardware first, then the ClusterInstance, then the namespaces; each
//! pass does as much as it can and says what it waits for (B-39).

use jiff::{SignedDuration, Timestamp};
use manifests::clcm::NodeAllocationRequest;
use manifests::meta::annotations;
use manifests::meta::condition::{self, status};
use manifests::ocm::ManagedCluster;
use manifests::ran::{ClusterInstance, ClusterInstanceCondition};
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
        if let Some((name, until)) = in_processing(d).filter(|_| meta.deletion_timestamp.is_none()) {
            d.wake_at(Some(until));
            return Progress::Waiting(format!(
                "waiting until ClusterInstance {name} is processed, so that hosts are not taken again after their release"
            ));
        }
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

/// How long deletion waits for the site-config operator to come to the end of what it is doing.
const PROCESSING: SignedDuration = SignedDuration::from_mins(1);

/// The ClusterInstance that the site-config operator has not finished with, and until when that is waited for.
///
/// While it is at work, it would apply its BareMetalHosts to hosts that are released already: they would be deployed to
/// again, and deleted with the ClusterInstance.
fn in_processing(d: &Draft<'_>) -> Option<(String, Timestamp)> {
    let until = d.seen.request.metadata.deletion_timestamp.as_ref()?.0.checked_add(PROCESSING).ok()?;
    let instance = d.seen.instance.as_deref().filter(|i| i.metadata.deletion_timestamp.is_none())?;
    let status = instance.status.clone().unwrap_or_default();
    let is = |type_: ClusterInstanceCondition, value: &str| {
        condition::find(&status.conditions, type_).is_some_and(|c| c.status == value)
    };
    let behind = status.observed_generation.is_some_and(|seen| Some(seen) < instance.metadata.generation);
    let applied = is(ClusterInstanceCondition::RenderedTemplatesApplied, status::TRUE) && !behind;
    let failed = [
        ClusterInstanceCondition::Validated,
        ClusterInstanceCondition::RenderedTemplates,
        ClusterInstanceCondition::RenderedTemplatesValidated,
        ClusterInstanceCondition::RenderedTemplatesApplied,
    ]
    .into_iter()
    .any(|type_| is(type_, status::FALSE));
    (!applied && !failed && d.now < until)
        .then(|| (instance.metadata.name.clone().unwrap_or_default(), until))
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
pub fn decide(seen: &Seen<'_>, now: Timestamp) -> (Progress, Vec<Step>) {
    let mut draft = Draft::new(seen, now);
    let progress = advance(&mut draft);
    (progress, draft.steps.into_iter().map(|(_, step)| step).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use manifests::clcm::ProvisioningRequest;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;
    use crate::request::InputError;
    use crate::request::seen::{AddonSeen, PullSecret};

    fn object<K: DeserializeOwned>(value: Value) -> K {
        serde_json::from_value(value).unwrap()
    }

    /// Deletes a request, `seconds` after the user said so, whose ClusterInstance has these conditions.
    fn deletion(seconds: i64, observed: Option<i64>, conditions: &Value) -> (Progress, Vec<Step>) {
        let request: ProvisioningRequest = object(json!({
            "metadata": {"name": "r", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"templateName": "t", "templateVersion": "1", "templateParameters": {}},
        }));
        let input = Err(InputError::input("template is gone"));
        let seen = Seen {
            request: &request,
            operator_namespace: "op",
            template: None,
            input: &input,
            cluster_name: Some("c".into()),
            namespace: None,
            owned_namespaces: Vec::new(),
            policy_namespace: false,
            policy_map: None,
            pull_secret: PullSecret::default(),
            extra_manifests: BTreeMap::new(),
            instance: Some(Arc::new(object(json!({
                "metadata": {"name": "c", "namespace": "c", "generation": 2}, "spec": {},
                "status": {"observedGeneration": observed, "conditions": conditions},
            })))),
            allocation: Some(Arc::new(object(
                json!({"metadata": {"name": "r", "namespace": "op"}, "spec": {
                "clusterId": "c", "site": "s", "nodeGroup": [], "configTransactionId": 1}}),
            ))),
            nodes: Vec::new(),
            host_ids: BTreeMap::new(),
            cluster: None,
            addon: AddonSeen::default(),
            agents: Vec::new(),
            roots: Vec::new(),
            children: Vec::new(),
            dry_run: &|_| None,
            fault: None,
        };
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        decide(&seen, now + SignedDuration::from_secs(seconds))
    }

    fn condition(type_: &str, status: &str) -> Value {
        json!({"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    #[test]
    fn hosts_are_not_released_while_the_cluster_instance_is_in_processing() {
        let applied = json!([condition("RenderedTemplatesApplied", "True")]);
        for (observed, conditions) in [
            (None, json!([])),
            (
                None,
                json!([
                    condition("ClusterInstanceValidated", "True"),
                    condition("RenderedTemplates", "True")
                ]),
            ),
            (Some(1), applied.clone()),
        ] {
            let (progress, steps) = deletion(1, observed, &conditions);
            assert!(steps.is_empty(), "{conditions}");
            let Progress::Waiting(text) = progress else { panic!("something is left") };
            assert!(text.starts_with("waiting until ClusterInstance c is processed"), "{text}");
        }
        for (seconds, observed, conditions) in [
            (1, Some(2), applied.clone()),
            (1, None, applied),
            // It will not get on by itself.
            (1, None, json!([condition("ClusterInstanceValidated", "False")])),
            // It does not get on at all.
            (60, None, json!([])),
        ] {
            let (progress, steps) = deletion(seconds, observed, &conditions);
            assert!(matches!(steps.as_slice(), [Step::Delete { foreground: true, .. }]), "{steps:?}");
            assert_eq!(progress, Progress::Waiting("waiting for NodeAllocationRequest r".into()));
        }
    }
}
