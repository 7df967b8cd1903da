//! Installation: the ClusterInstance on the hub, and what comes back from it (spec/02 2.5, sections 9 and 10).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::core::ApiResource;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::meta::annotations;
use manifests::meta::condition::Next;
use manifests::ocm::{ManagedCluster, ManagedClusterAddOn, names as ocm};
use manifests::ran::ClusterInstance;
use serde_json::{Value, json};

use super::prepare::is_applied;
use super::{ADDON_RECORDED, Draft, REINSTALL, Stage};
use crate::plan::{APPLIED_HASH, Step, Target, manager};
use crate::request::clock;
use crate::request::install::{self, Live};
use crate::request::validate::Validated;

/// Applies the ClusterInstance. Never one for a cluster that exists already (DESIGN section 5, B-43).
pub(super) fn apply(d: &mut Draft<'_>, input: &Validated) {
    let prefix = format!("failed to apply the rendered ClusterInstance ({}): ", input.cluster_name);
    if d.blocked || d.take_fault(Stage::Instance, RequestCondition::ClusterInstanceProcessed, &prefix) {
        return;
    }
    let Some(mut object) = d.instance.clone() else { return };
    let name = &input.cluster_name;
    if d.seen.instance.is_none() && exists_already(d) && !reinstall_wanted(d) {
        d.set(Next::no(
            RequestCondition::ClusterInstanceProcessed,
            RequestReason::Missing,
            format!(
                "ClusterInstance ({name}) is missing although the cluster exists; it is not created again because \
                 that would install the cluster anew. Restore it, or set annotation {REINSTALL} to {} to ask for that",
                d.generation()
            ),
        ));
        d.blocked = true;
        return;
    }
    if d.seen.instance.as_ref().is_some_and(|i| i.metadata.deletion_timestamp.is_some()) {
        d.waiting = Some(format!("ClusterInstance ({name}) is being deleted"));
        d.blocked = true;
        return;
    }
    let live_spec = d.seen.instance.as_ref().map(|i| i.spec.0.value());
    let unchanged = live_spec.as_ref().is_some_and(|live| object.get("spec") == Some(live));
    let live_hash = d.instance_annotation(APPLIED_HASH).map(str::to_owned);
    if !unchanged && !is_applied(&mut object, live_hash.as_deref()) {
        match serde_json::from_value(object) {
            Ok(object) => d.push(
                Stage::Instance,
                Step::Apply {
                    api: ApiResource::erase::<ClusterInstance>(&()),
                    object: Box::new(object),
                    manager: manager::CLUSTER_INSTANCE,
                },
            ),
            Err(error) => {
                d.set(Next::no(
                    RequestCondition::ClusterInstanceProcessed,
                    RequestReason::Failed,
                    format!("{prefix}{error}"),
                ));
                d.blocked = true;
                return;
            }
        }
    }
    d.details().name = Some(name.clone());
}

/// The cluster of this request was installed, or stands in this hub, though its ClusterInstance does not.
fn exists_already(d: &Draft<'_>) -> bool {
    d.is_true(RequestCondition::ClusterProvisioned) || d.cluster_joined()
}

fn reinstall_wanted(d: &Draft<'_>) -> bool {
    let annotations = d.seen.request.metadata.annotations.as_ref();
    annotations.and_then(|a| a.get(REINSTALL)).is_some_and(|wanted| *wanted == d.generation().to_string())
}

/// Maps the ClusterInstance's conditions, whether or not the input of this generation can be used.
pub(super) fn status(d: &mut Draft<'_>) {
    let timeout = d.seen.input.as_ref().ok().map(|i| i.install_timeout);
    let started_at = d.cluster_details().and_then(|c| c.cluster_provision_started_at.as_ref()).map(|t| t.0);
    let Some(live) = d.seen.instance.clone() else {
        if d.cluster_details().is_some_and(|c| c.name.is_some())
            && let Some(next) = install::backup_timeout(&d.status.conditions, started_at, timeout, d.now)
        {
            d.set(next);
        }
        return;
    };
    // A new generation restarts the clock of the stage that it touches (B-01).
    let new_generation = d.status.observed_generation.is_some_and(|g| g != d.generation());
    if new_generation && d.cluster_details().is_some() {
        let conditions = d.status.conditions.clone();
        let now = d.now;
        clock::restart(d.details(), &conditions, now);
    }
    let started_at = d.cluster_details().and_then(|c| c.cluster_provision_started_at.as_ref()).map(|t| t.0);
    let name = live.metadata.name.clone().unwrap_or_default();
    let conditions = live.status.as_ref().map(|s| s.conditions.clone()).unwrap_or_default();
    let view = Live {
        conditions: &conditions,
        generation: live.metadata.generation,
        observed_generation: live.status.as_ref().and_then(|s| s.observed_generation),
    };
    let found = install::install(&name, &view, &d.status.conditions, started_at, timeout, d.now);
    // A stage that just failed to apply it knows better.
    if !d.seen.fault.as_ref().is_some_and(|f| f.stage == Stage::Instance) {
        d.set(found.processed);
    }
    if let Some(next) = found.provisioned {
        d.set(next);
    }
    let details = d.details();
    details.name = Some(name);
    details.cluster_provision_started_at = found.started_at.map(Time);
    d.wake_at(found.deadline);
}

/// The ManagedCluster: imported once the cluster is installed, and our add-on enabled on it, once.
pub(super) fn cluster(d: &mut Draft<'_>) {
    let seen = d.seen;
    let Some(cluster) = seen.cluster.as_deref().filter(|c| c.metadata.deletion_timestamp.is_none()) else {
        return;
    };
    if seen.instance.is_none() {
        return;
    }
    let name = cluster.metadata.name.clone().unwrap_or_default();
    let held = cluster
        .metadata
        .annotations
        .as_ref()
        .is_some_and(|a| a.contains_key(annotations::DISABLE_AUTO_IMPORT));
    if held && d.is_true(RequestCondition::ClusterProvisioned) {
        let step = Step::Merge {
            target: Target::of::<ManagedCluster>(None, &name),
            patch: json!({"metadata": {"annotations": {annotations::DISABLE_AUTO_IMPORT: Value::Null}}}),
            manager: manager::OBJECTS,
            resource_version: None,
        };
        d.push(Stage::Cluster, step);
    }
    if !seen.addon.offered
        || seen.addon.recorded
        || !cluster.spec.hub_accepts_client
        || seen.namespace.is_none()
    {
        return;
    }
    if !seen.addon.enabled {
        let addon = ManagedClusterAddOn {
            metadata: ObjectMeta {
                name: Some(ocm::ADDON.to_owned()),
                namespace: Some(name.clone()),
                annotations: Some(BTreeMap::from([(
                    ocm::ANNOTATION_CLEANUP_PRIORITY.to_owned(),
                    "50".to_owned(),
                )])),
                ..ObjectMeta::default()
            },
            ..ManagedClusterAddOn::default()
        };
        d.apply(Stage::Cluster, &addon, None);
    }
    d.push(
        Stage::Cluster,
        Step::Merge {
            target: Target::of::<k8s_openapi::api::core::v1::Namespace>(None, &name),
            patch: json!({"metadata": {"annotations": {ADDON_RECORDED: "true"}}}),
            manager: manager::OBJECTS,
            resource_version: None,
        },
    );
}
