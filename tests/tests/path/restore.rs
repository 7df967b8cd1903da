//! Objects come back from a backup without status: the manager finds out from the world what is there, and touches
//! neither hosts nor clusters (DESIGN section 5).

use std::fmt::Debug;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube::{Resource, ResourceExt};
use manifests::clcm::{NodeAllocationRequest, ProvisioningPhase, ProvisioningRequest};
use manifests::meta::annotations;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::lab::apply;
use tests::lab::wait;
use tests::scene::Scene;
use tests::scene::fixture::Fixture;
use tests::sim::siteconfig;

use crate::kit::{self, Case, LIMIT, condition, details, list, merge, phase, strip};

/// What must not change: hosts, nodes and the ClusterInstance, without what others write there all the time.
#[derive(Debug, PartialEq)]
struct Ground {
    hosts: Vec<Value>,
    nodes: Vec<Value>,
    instance: Value,
}

async fn ground(case: &Case) -> Result<Ground> {
    let bare =
        |meta: &kube::core::ObjectMeta| json!([meta.name, meta.labels, meta.annotations, meta.generation]);
    let mut hosts = Vec::new();
    for name in case.fixture.hosts() {
        let host = case.hosts().get(&name).await?;
        let powered = host.status.as_ref().map(|s| s.powered_on);
        hosts.push(json!([
            bare(&host.metadata),
            host.metadata.uid,
            host.spec,
            powered,
            host.state().as_str()
        ]));
    }
    let nodes = case.own_nodes().await?.iter().map(|n| json!([bare(&n.metadata), n.spec])).collect();
    let instance = case.instances().get(case.cluster()).await?;
    let instance = json!([bare(&instance.metadata), instance.metadata.uid, instance.spec.0.value()]);
    Ok(Ground { hosts, nodes, instance })
}

async fn knows_that_it_is_up(case: &Case) -> Result<()> {
    let known = |a: &NodeAllocationRequest| a.spec.cluster_provisioned;
    wait::until(&case.allocations(), &case.name(), LIMIT, "it knows that the cluster is up", known)
        .await
        .map(drop)
}

async fn clear<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    let nothing = Patch::Merge(json!({"status": null}));
    api.patch_status(name, &PatchParams::default(), &nothing)
        .await
        .with_context(|| format!("status of {name}"))?;
    Ok(())
}

/// Since `mark` only status was written, and only of what lost it.
async fn only_status(case: &Case, mark: tests::lab::audit::Mark, also: &[&str]) -> Result<()> {
    let mut writes = kit::writes(case.scene, mark).await?;
    let ours = ["provisioningrequests", "nodeallocationrequests", "allocatednodes", "clustertemplates"];
    writes.retain(|w| {
        let is_status = w.subresource == "status" && ours.contains(&w.resource.as_str());
        !is_status && w.resource != "events" && !also.contains(&w.resource.as_str())
    });
    ensure!(writes.is_empty(), "more than status was written:\n{}", list(&writes));
    Ok(())
}

async fn is_back(case: &Case, before: &ProvisioningRequest) -> Result<ProvisioningRequest> {
    let after = case.fulfilled().await?;
    let facts = |r: &ProvisioningRequest| -> Option<Value> {
        let status = r.status.as_ref()?;
        let extensions = status.extensions.as_ref()?;
        let details = extensions.cluster_details.as_ref()?;
        let cluster = status.provisioning_status.as_ref()?.provisioned_resources.clone();
        let conditions: Vec<_> =
            status.conditions.iter().map(|c| json!([c.type_, c.status, c.reason, c.message])).collect();
        Some(json!([
            extensions.allocated_node_host_map,
            extensions.infrastructure_resource_statuses,
            details.name,
            details.fulfilled_node_count,
            details.ztp_status,
            cluster,
            conditions,
        ]))
    };
    ensure!(
        facts(&after) == facts(before),
        "before {:#}\nafter {:#}",
        json!(facts(before)),
        json!(facts(&after))
    );
    Ok(after)
}

#[test]
fn a_request_without_status_is_fulfilled_again_and_nothing_is_touched() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::multi("restore-mno").spare(2)).await?;
        case.ask().await?;
        let before = case.fulfilled().await?;
        let known = |a: &NodeAllocationRequest| a.spec.cluster_provisioned;
        wait::until(&case.allocations(), &case.name(), LIMIT, "it knows that the cluster is up", known)
            .await?;
        let ground_before = ground(&case).await?;

        scene.kill_manager().await?;
        clear(&case.requests(), &case.name()).await?;
        clear(&case.allocations(), &case.name()).await?;
        for node in case.own_nodes().await? {
            clear(&case.allocated(), &node.name_any()).await?;
        }
        clear(&case.templates(), &case.fixture.template_name()).await?;
        let mark = kit::mark(scene).await?;
        scene.start_manager(false).await?;
        let after = is_back(&case, &before).await?;
        ensure!(ground(&case).await? == ground_before, "something was touched");
        only_status(&case, mark, &[]).await?;
        ensure!(after.metadata.generation == before.metadata.generation);
        case.end().await
    })
}

/// Deletes an object without its finalizers and makes it again as a restore does: without status, with a new uid, with
/// the owners that it had.
async fn restore<K>(scene: &Scene, api: &Api<K>, name: &str) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    let mut value = serde_json::to_value(api.get(name).await?)?;
    let fields = value.as_object_mut().context("an object")?;
    fields.remove("status");
    fields.insert("apiVersion".to_owned(), json!(K::api_version(&())));
    fields.insert("kind".to_owned(), json!(K::kind(&())));
    let meta = fields.get_mut("metadata").and_then(Value::as_object_mut).context("metadata")?;
    for key in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        meta.remove(key);
    }
    api.delete(name, &DeleteParams::background()).await?;
    strip(api, name).await?;
    wait::gone(api, name, LIMIT).await?;
    apply::all(&scene.client(), vec![apply::object(value)?]).await.map(drop)
}

/// The garbage collector takes what has an owner that does not exist any more; backup tools leave such owners out.
async fn disown<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    merge(api, name, &json!({"metadata": {"ownerReferences": null}})).await.map(drop)
}

#[test]
fn objects_with_new_uids_are_taken_back() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("restore-uid").spare(2)).await?;
        case.ask().await?;
        let before = case.fulfilled().await?;
        knows_that_it_is_up(&case).await?;
        let ground_before = ground(&case).await?;
        let node = case.own_nodes().await?.first().context("a node")?.name_any();
        let cluster = case.instances().get(case.cluster()).await?;

        scene.kill_manager().await?;
        disown(&case.namespaces(), case.cluster()).await?;
        disown(&case.instances(), case.cluster()).await?;
        let mark = kit::mark(scene).await?;
        restore(scene, &case.requests(), &case.name()).await?;
        restore(scene, &case.allocations(), &case.name()).await?;
        // Its owner is the request of before: the garbage collector may have begun with it.
        restore(scene, &case.allocated(), &node).await?;
        scene.start_manager(false).await?;
        is_back(&case, &before).await?;
        let allocation = case.allocations().get(&case.name()).await?;
        wait::until(&case.allocated(), &node, LIMIT, "it has its new owner", |n| {
            n.metadata.deletion_timestamp.is_none()
                && n.owner_references().iter().any(|o| Some(&o.uid) == allocation.metadata.uid.as_ref())
        })
        .await?;
        let after = ground(&case).await?;
        ensure!(after.hosts == ground_before.hosts, "hosts were touched: {after:#?}");
        let instance = case.instances().get(case.cluster()).await?;
        ensure!(
            instance.metadata.generation == cluster.metadata.generation,
            "the ClusterInstance was changed"
        );
        ensure!(instance.uid() == cluster.uid(), "the ClusterInstance was made anew");
        let mut writes = kit::writes(scene, mark).await?;
        writes.retain(|w| w.resource == "baremetalhosts");
        ensure!(writes.is_empty(), "hosts were written:\n{}", list(&writes));
        case.end().await
    })
}

#[test]
fn s02_107_a_hand_deleted_cluster_instance_is_not_made_again() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("restore-hand").spare(1)).await?;
        case.ask().await?;
        case.fulfilled().await?;
        let instance = case.instances().get(case.cluster()).await?;
        let mark = kit::mark(scene).await?;

        // The installer does not look (paused), so that the cluster stays: only its ClusterInstance goes.
        let paused = json!({"metadata": {"annotations": {annotations::CLUSTER_INSTANCE_PAUSED: ""}}});
        merge(&case.instances(), case.cluster(), &paused).await?;
        case.instances().delete(case.cluster(), &DeleteParams::default()).await?;
        strip(&case.instances(), case.cluster()).await?;
        wait::gone(&case.instances(), case.cluster(), LIMIT).await?;
        let text = "is missing although the cluster exists; it is not created again";
        case.says("ClusterInstanceProcessed", "False", text).await?;

        // Not by a restart, not by a new generation.
        scene.kill_manager().await?;
        scene.start_manager(false).await?;
        let labels = json!({"ManagedCluster": {"later": "yes"}});
        let edited = case
            .edit(json!({"spec": {"templateParameters": {"clusterInstanceParameters": {"extraLabels": labels}}}}))
            .await?;
        let request = case
            .until("the new generation says so too", |r| {
                let found = condition(r, "ClusterInstanceProcessed");
                found.is_some_and(|c| {
                    c.observed_generation == edited.metadata.generation && c.message.contains(text)
                })
            })
            .await?;
        ensure!(phase(&request) == Some(ProvisioningPhase::Failed), "{}", details(&request));
        ensure!(details(&request).contains("addon.clcm.openshift.io/reinstall"), "{}", details(&request));
        let mut writes = kit::writes(scene, mark).await?;
        writes.retain(|w| ["clusterinstances", "baremetalhosts"].contains(&w.resource.as_str()));
        ensure!(writes.is_empty(), "something was written:\n{}", list(&writes));
        ensure!(case.clusters().get_opt(case.cluster()).await?.is_some(), "the cluster is gone");
        ensure!(case.claimed().await?.len() == 1, "the host is not the cluster's any more");

        // An explicit request installs again.
        scene.control().siteconfig.outcome(case.cluster(), siteconfig::Outcome::Complete);
        let wanted = edited.metadata.generation.unwrap_or_default().to_string();
        case.edit(json!({"metadata": {"annotations": {"addon.clcm.openshift.io/reinstall": wanted}}}))
            .await?;
        let again = wait::present(&case.instances(), case.cluster(), LIMIT).await?;
        ensure!(again.uid() != instance.uid());
        case.end().await
    })
}
