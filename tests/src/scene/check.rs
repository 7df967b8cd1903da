//! What must hold of a case, whatever happened on the way.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use kube::api::ListParams;
use kube::{Resource, ResourceExt};
use manifests::clcm::{AllocatedNode, ProvisioningRequest};
use manifests::meta::{annotations, labels, names};
use manifests::metal3::ProvisioningState;
use serde::Serialize;

use super::case::{Case, LIMIT};
use super::fixture::PULL_SECRET;
use crate::lab::wait::{self, yaml};

/// Fails with the object as YAML.
pub fn holds(holds: bool, what: &str, object: &(impl Resource + Clone + Serialize)) -> Result<()> {
    ensure!(holds, "{what}:\n{}", yaml(object));
    Ok(())
}

/// A fulfilled request has exactly what it needs: hosts, nodes, one allocation, one namespace; nothing is an orphan.
pub async fn whole(case: &Case, request: &ProvisioningRequest) -> Result<()> {
    let wanted = case.fixture.nodes().len();
    let nodes = case.own_nodes().await?;
    ensure!(nodes.len() == wanted, "{} AllocatedNodes: {nodes:#?}", nodes.len());
    let host = |n: &AllocatedNode| n.spec.hw_mgr_node_id.clone().unwrap_or_default();
    let taken: BTreeSet<_> = nodes.iter().map(|n| (host(n), n.name_any())).collect();
    let claimed: BTreeSet<_> = case.claimed().await?.into_iter().collect();
    ensure!(claimed == taken, "claimed are {claimed:?}, nodes are {taken:?}");
    let allocation = case.allocations().get(&case.name()).await?;
    for node in &nodes {
        let owned = node.owner_references().iter().any(|o| Some(&o.uid) == allocation.metadata.uid.as_ref());
        holds(owned, "the node has no owner", node)?;
    }
    let all = case.allocations().list(&ListParams::default()).await?.items;
    let same = all.iter().filter(|a| a.spec.cluster_id == case.cluster()).count();
    ensure!(same == 1, "{same} NodeAllocationRequests");
    let selector = format!("{}={}", labels::REQUEST_NAME, case.name());
    let namespaces = case.namespaces().list(&ListParams::default().labels(&selector)).await?.items;
    ensure!(namespaces.len() == 1, "{} namespaces", namespaces.len());
    let instance = case.instances().get(case.cluster()).await?;
    // Once created, once without the annotation that holds the import up until the cluster is installed.
    holds(instance.metadata.generation.is_some_and(|g| g <= 2), "it was changed", &instance)?;
    let extensions = request.status.as_ref().and_then(|s| s.extensions.as_ref());
    let names = extensions.map(|e| e.allocated_node_host_map.len());
    holds(names == Some(wanted), "not every node has its name", request)
}

/// Nothing of a deleted request is left, and its hosts are as they were.
pub async fn gone(case: &Case) -> Result<()> {
    ensure!(case.allocations().get_opt(&case.name()).await?.is_none(), "the NodeAllocationRequest is left");
    let nodes = case.own_nodes().await?;
    ensure!(nodes.is_empty(), "AllocatedNodes are left: {nodes:#?}");
    ensure!(case.instances().get_opt(case.cluster()).await?.is_none(), "the ClusterInstance is left");
    ensure!(case.clusters().get_opt(case.cluster()).await?.is_none(), "the ManagedCluster is left");
    ensure!(case.namespaces().get_opt(case.cluster()).await?.is_none(), "the namespace is left");
    for host in case.hosts().list(&ListParams::default()).await?.items {
        let kept = [labels::ALLOCATED, labels::ALLOCATED_NODE, labels::SITECONFIG_OWNED_BY];
        holds(kept.iter().all(|l| host.label(l).is_none()), "labels are left", &host)?;
        let kept = [
            annotations::ORIGINAL_NETWORK_DATA,
            annotations::ALLOW_PROVISIONED_HOST_MANAGEMENT,
            annotations::DEALLOCATION_COMPLETE,
        ];
        holds(kept.iter().all(|a| host.annotation(a).is_none()), "annotations are left", &host)?;
        holds(
            host.spec.custom_deploy.is_none() && host.spec.image.is_none(),
            "it is still deployed to",
            &host,
        )?;
    }
    for name in case.fixture.hosts() {
        wait::until(&case.hosts(), &name, LIMIT, "it is available and off", |h| {
            h.state() == ProvisioningState::Available
                && !h.spec.online
                && !h.status.as_ref().is_some_and(|s| s.powered_on)
        })
        .await?;
    }
    // Owned by the request in the namespaces of others: the garbage collector's, a moment later.
    let map = names::policy_config_map(case.cluster());
    wait::gone(&case.maps(&case.fixture.policy_namespace()), &map, LIMIT).await?;
    wait::gone(&case.secrets(&case.fixture.racks()), PULL_SECRET, LIMIT).await
}
