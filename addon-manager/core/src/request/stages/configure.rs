//! Configuration by policies, and fulfilment (spec/02 2.6, 2.8, sections 11 and 12).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{ProvisionedResources, ztp_status};
use manifests::meta::condition::{self, status};
use manifests::meta::{annotations, labels};
use manifests::ocm::ManagedCluster;
use manifests::ran::Agent;
use serde_json::json;

use super::{Draft, Stage};
use crate::plan::{Step, Target, manager};
use crate::policy::{self, Bound, Child, Cluster, Root};
use crate::request::{fulfil, render};

/// Label of a ManagedCluster: the OpenShift version that it runs.
pub(super) const OPENSHIFT_VERSION: &str = "openshiftVersion";

fn cluster_facts(cluster: &ManagedCluster) -> Cluster {
    let conditions = cluster.status.as_ref().map_or(&[][..], |s| &s.conditions);
    let is = |type_: &str| condition::is_true(conditions, type_);
    Cluster {
        available: is("ManagedClusterConditionAvailable"),
        accepted: is("HubAcceptedManagedCluster"),
        joined: is("ManagedClusterJoined"),
        available_since: condition::find(conditions, "ManagedClusterConditionAvailable")
            .filter(|c| c.status == status::TRUE)
            .map(|c| c.last_transition_time.0),
    }
}

fn bound(d: &Draft<'_>, template_namespace: &str) -> Bound {
    let seen = d.seen;
    let roots = seen.roots.iter().map(|p| Root {
        name: p.metadata.name.as_deref().unwrap_or_default(),
        templates: p
            .metadata
            .annotations
            .as_ref()
            .and_then(|a| a.get(annotations::TEMPLATES))
            .map(String::as_str),
        action: p.spec.remediation_action.as_deref(),
    });
    let children = seen.children.iter().map(|p| Child {
        name: p.metadata.name.as_deref().unwrap_or_default(),
        compliant: p.status.as_ref().and_then(|s| s.compliant.as_deref()),
        action: p.spec.remediation_action.as_deref(),
    });
    policy::bind(&seen.request.spec.template(), template_namespace, roots, children)
}

/// ConfigurationApplied, the configuration clock, ztpStatus and the list of bound policies.
pub(super) fn policies(d: &mut Draft<'_>) {
    let Some(namespace) = d.seen.template.as_ref().and_then(|t| t.metadata.namespace.clone()) else { return };
    let bound = bound(d, &namespace);
    let Some(found) = d.find(RequestCondition::ClusterProvisioned) else {
        // Before the installation policies are listed, not judged.
        if !bound.policies.is_empty() || d.status.extensions.as_ref().is_some_and(|e| !e.policies.is_empty())
        {
            d.extensions().policies = bound.policies;
        }
        return;
    };
    let installed = found.status == status::TRUE;
    let details = d.cluster_details().cloned().unwrap_or_default();
    let decision = policy::decide(
        &policy::Seen {
            bound: &bound,
            cluster: d.seen.cluster.as_deref().map(cluster_facts),
            installed: Some(installed),
            fulfilled_before: details.fulfilled_node_count.is_some_and(|n| n > 0),
            current: d.find(RequestCondition::ConfigurationApplied),
            non_compliant_at: details.non_compliant_at.as_ref().map(|t| t.0),
            timeout: d.seen.input.as_ref().ok().map(|i| i.configuration_timeout),
            ztp_status: details.ztp_status.as_deref(),
            new_generation: d.status.observed_generation.is_some_and(|g| g != d.generation()),
        },
        d.now,
    );
    d.set(decision.condition);
    d.extensions().policies = bound.policies;
    let details = d.details();
    details.non_compliant_at = decision.non_compliant_at.map(Time);
    details.ztp_status = decision.ztp_status;
    d.wake_at(decision.deadline);
}

/// What the request gets when everything is done: node count, cluster id, labels.
pub(super) fn fulfil(d: &mut Draft<'_>) {
    if d.blocked || !fulfil::is_complete(&d.status.conditions) {
        return;
    }
    let seen = d.seen;
    let first = d.cluster_details().and_then(|c| c.fulfilled_node_count).unwrap_or_default() == 0;
    let done = d.cluster_details().and_then(|c| c.ztp_status.as_deref()) == Some(ztp_status::DONE);
    let cluster_labels = seen.cluster.as_ref().and_then(|c| c.metadata.labels.clone()).unwrap_or_default();
    if first && done && !cluster_labels.contains_key(OPENSHIFT_VERSION) {
        d.waiting = Some(format!("waiting for label {OPENSHIFT_VERSION} on the ManagedCluster"));
        return;
    }
    let count = seen.instance.as_ref().map_or(0, |i| render::node_count(&i.spec.0.value()));
    d.details().fulfilled_node_count = i64::try_from(count).ok();
    if let Some(id) = cluster_labels.get(labels::CLUSTER_ID) {
        let provisioned = d.status.provisioning_status.get_or_insert_default();
        provisioned.provisioned_resources =
            Some(ProvisionedResources { o_cloud_node_cluster_id: Some(id.clone()) });
    }
    label(d);
}

/// Every condition holds, but this pass was stopped before it could fulfil the request for the first time: a restored
/// request is whole again step by step.
pub(in crate::request) fn is_unfinished(d: &Draft<'_>) -> bool {
    let first = d.cluster_details().and_then(|c| c.fulfilled_node_count).unwrap_or_default() == 0;
    d.blocked && first && fulfil::is_complete(&d.status.conditions)
}

fn template_id<'a>(d: &Draft<'a>) -> Option<&'a str> {
    d.seen.template.as_ref()?.spec.template_id.as_deref().filter(|id| !id.is_empty())
}

/// Section 12.
fn label(d: &mut Draft<'_>) {
    let Some(id) = template_id(d) else { return };
    let seen = d.seen;
    let host_map =
        d.status.extensions.as_ref().map(|e| e.allocated_node_host_map.clone()).unwrap_or_default();
    let cluster = seen.cluster.as_deref().map(|c| &c.metadata);
    let agents = seen.agents.iter().map(AsRef::as_ref);
    let found = fulfil::labels(id, cluster, agents, &host_map, |node| seen.host_ids.get(node).cloned());
    for missing in found.missing {
        let target = if let Some((namespace, name)) = &missing.agent {
            Target::of::<Agent>(Some(namespace), name)
        } else {
            Target::of::<ManagedCluster>(None, cluster.and_then(|c| c.name.as_deref()).unwrap_or_default())
        };
        let patch = json!({"metadata": {"labels": missing.labels}});
        d.push(
            Stage::Labels,
            Step::Merge { target, patch, manager: manager::OBJECTS, resource_version: None },
        );
    }
}
