//! Fills what the decisions of the hardware area see from the caches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use manager_core::hardware::planner::Outcome;
use manager_core::hardware::{HostView, Pool, Pools, Site, is_claim_of, nar, node, release};
use manifests::clcm::{AllocatedNode, NodeAllocationRequest};
use manifests::metal3::{BareMetalHost, FirmwareSchema, HostUpdatePolicy, ProvisioningState};

use crate::runtime::act::{CallError, call};
use crate::runtime::context::Context;
use crate::runtime::world::{ONLY, claimed_cluster};

/// What the last run of the planner left for the passes over single requests. Lost at a restart; the first run of the
/// new process makes it anew from the labels on the hosts.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    state: Mutex<(BTreeMap<String, Outcome>, Arc<Pools>)>,
}

impl Memory {
    /// Keeps the outcomes of a run. Returns the requests whose outcome changed, and those that were granted hosts.
    pub(super) fn keep(&self, outcomes: BTreeMap<String, Outcome>, pools: Arc<Pools>) -> Vec<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wake: BTreeSet<String> = BTreeSet::new();
        for (name, outcome) in &outcomes {
            if state.0.get(name) != Some(outcome) || matches!(outcome, Outcome::Granted(_)) {
                wake.insert(name.clone());
            }
        }
        wake.extend(state.0.keys().filter(|k| !outcomes.contains_key(*k)).cloned());
        *state = (outcomes, pools);
        wake.into_iter().collect()
    }

    fn outcome(&self, request: &str) -> Option<Outcome> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0.get(request).cloned()
    }

    fn pools(&self) -> Arc<Pools> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// The resource pools of the operator namespace with their sites.
pub(super) fn pools(ctx: &Context) -> Pools {
    let namespace = &ctx.config.namespace;
    let pools = ctx.world.pools.in_namespace(namespace);
    let of = |pool: &Arc<manifests::ocloud::ResourcePool>| {
        let site = ctx.world.sites.get(namespace, &pool.spec.o_cloud_site_name);
        let pool_of = Pool {
            uid: pool.metadata.uid.clone()?,
            site: Site {
                name: pool.spec.o_cloud_site_name.clone(),
                uid: site.and_then(|s| s.metadata.uid.clone()),
            },
        };
        Some((pool.metadata.name.clone()?, pool_of))
    };
    Pools(pools.iter().filter_map(of).collect())
}

pub(super) fn view(ctx: &Context, host: Arc<BareMetalHost>) -> HostView {
    let (namespace, name) = (
        host.metadata.namespace.as_deref().unwrap_or_default(),
        host.metadata.name.as_deref().unwrap_or_default(),
    );
    HostView { data: ctx.world.hardware_data.get(namespace, name), host }
}

/// All hosts.
pub(super) fn hosts(ctx: &Context) -> Vec<HostView> {
    ctx.world.hosts.all().into_iter().map(|h| view(ctx, h)).collect()
}

/// The ManagedCluster of the request that this allocation is for exists.
pub(super) fn has_managed_cluster(ctx: &Context, allocation: &NodeAllocationRequest) -> bool {
    let request = ctx.world.requests.get("", allocation.metadata.name.as_deref().unwrap_or_default());
    let named = request.as_deref().and_then(claimed_cluster);
    let name = named.unwrap_or_else(|| allocation.spec.cluster_id.clone());
    ctx.world.clusters.get("", &name).is_some()
}

fn host_of(ctx: &Context, node: &AllocatedNode) -> Option<Arc<BareMetalHost>> {
    ctx.world.hosts.get(node.spec.hw_mgr_node_ns.as_deref()?, node.spec.hw_mgr_node_id.as_deref()?)
}

fn runs_something(host: &BareMetalHost) -> bool {
    matches!(
        host.state(),
        ProvisioningState::Provisioning
            | ProvisioningState::Provisioned
            | ProvisioningState::ExternallyProvisioned
    )
}

/// Observes one NodeAllocationRequest.
pub(super) fn allocation(ctx: &Context, request: Arc<NodeAllocationRequest>) -> nar::Seen {
    let name = request.metadata.name.clone().unwrap_or_default();
    let nodes = ctx.world.nodes.by_index(ONLY, &name);
    let outcome = ctx.hardware.outcome(&name);
    let without_node = |host: &BareMetalHost| {
        host.label(manifests::meta::labels::ALLOCATED_NODE)
            .is_some_and(|n| ctx.world.nodes.get(&ctx.config.namespace, n).is_none())
    };
    let claimed: Vec<HostView> = if request.metadata.deletion_timestamp.is_some() {
        // Whatever the planner remembers: nothing of ours may stay behind.
        let all = ctx.world.hosts.all().into_iter();
        all.filter(|h| is_claim_of(&request.spec.cluster_id, h) && without_node(h))
            .map(|h| view(ctx, h))
            .collect()
    } else if let Some(Outcome::Granted(grants)) = &outcome {
        grants
            .iter()
            .filter_map(|g| ctx.world.hosts.get(&g.host.namespace, &g.host.name).map(|h| (h, g)))
            .filter(|(h, g)| {
                h.label(manifests::meta::labels::ALLOCATED_NODE) == Some(g.node.as_str()) && without_node(h)
            })
            .map(|(h, _)| view(ctx, h))
            .collect()
    } else {
        Vec::new()
    };
    let running = nodes.iter().filter_map(|n| host_of(ctx, n)).any(|h| runs_something(&h));
    nar::Seen {
        cluster_exists: running || has_managed_cluster(ctx, &request),
        request,
        nodes,
        claimed,
        pools: ctx.hardware.pools(),
        outcome,
    }
}

fn request_of(ctx: &Context, node: &AllocatedNode) -> Option<Arc<NodeAllocationRequest>> {
    ctx.world.allocations.get(&ctx.config.namespace, &node.spec.node_allocation_request)
}

/// Observes one AllocatedNode that is wanted.
pub(super) async fn node(ctx: &Context, node: Arc<AllocatedNode>) -> Result<node::Seen, CallError> {
    let request = request_of(ctx, &node);
    let host = host_of(ctx, &node);
    let mut seen = node::Seen {
        cluster_exists: request.as_deref().is_some_and(|r| has_managed_cluster(ctx, r)),
        request,
        host: host.clone().map(|h| view(ctx, h)),
        profile: ctx.world.profiles.get(&ctx.config.namespace, &node.spec.hw_profile),
        hostname: ctx
            .world
            .requests
            .get("", &node.spec.node_allocation_request)
            .and_then(|r| r.status.clone())
            .and_then(|s| s.extensions)
            .and_then(|e| e.allocated_node_host_map.get(node.metadata.name.as_deref()?).cloned()),
        ..node::Seen::default()
    };
    if let Some(host) = host.filter(|_| node::needs_firmware(&node)) {
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let name = host.metadata.name.clone().unwrap_or_default();
        seen.settings = ctx.world.firmware_settings.get(&namespace, &name);
        seen.components = ctx.world.firmware_components.get(&namespace, &name);
        let schema = seen.settings.as_ref().and_then(|s| s.status.as_ref()).and_then(|s| s.schema.clone());
        if let Some(schema) = schema {
            let api: Api<FirmwareSchema> = Api::namespaced(ctx.client.clone(), &schema.namespace);
            seen.schema = call(api.get_opt(&schema.name)).await?.map(Arc::new);
        }
    }
    seen.node = node;
    Ok(seen)
}

/// Observes one AllocatedNode that is being deleted.
pub(super) async fn release(ctx: &Context, node: Arc<AllocatedNode>) -> Result<release::Seen, CallError> {
    let request = request_of(ctx, &node);
    let host = host_of(ctx, &node);
    let group_size = ctx
        .world
        .nodes
        .by_index(ONLY, &node.spec.node_allocation_request)
        .iter()
        .filter(|n| n.spec.group_name == node.spec.group_name && n.metadata.deletion_timestamp.is_none())
        .count();
    let mut seen = release::Seen {
        cluster_exists: request.as_deref().is_some_and(|r| has_managed_cluster(ctx, r)),
        request,
        group_size,
        ..release::Seen::default()
    };
    if let Some(host) = &host {
        let namespace = host.metadata.namespace.as_deref().unwrap_or_default();
        let name = host.metadata.name.as_deref().unwrap_or_default();
        seen.image = ctx.world.images.get(namespace, name);
        if ctx.world.firmware_settings.is_served() {
            let policies: Api<HostUpdatePolicy> = Api::namespaced(ctx.client.clone(), namespace);
            seen.update_policy = match call(policies.get_opt(name)).await {
                Ok(found) => found.map(Arc::new),
                // Hubs whose metal3 does not know the kind.
                Err(CallError::Kube(kube::Error::Api(status))) if status.is_not_found() => None,
                Err(error) => return Err(error),
            };
        }
        let secrets: Api<Secret> = Api::namespaced(ctx.client.clone(), namespace);
        let found = call(secrets.get_metadata_opt(&format!("network-data-{name}"))).await?;
        seen.has_network_data = found.is_some();
    }
    seen.host = host;
    seen.node = node;
    Ok(seen)
}
