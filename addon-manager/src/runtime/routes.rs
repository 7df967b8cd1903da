//! Which areas must look again after a change, one function per cache of the World.

use std::collections::BTreeMap;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::PartialObjectMeta;
use manifests::addon::SpokeReport;
use manifests::clcm::{
    AllocatedNode, ClusterTemplate, FirmwareCatalog, HardwareProfile, NodeAllocationRequest,
    ProvisioningRequest,
};
use manifests::meta::labels;
use manifests::metal3::{
    BareMetalHost, HardwareData, HostFirmwareComponents, HostFirmwareSettings, PreprovisioningImage,
};
use manifests::ocloud::{Location, OCloudSite, ResourcePool};
use manifests::ocm::names as ocm;
use manifests::ocm::{
    AddOnDeploymentConfig, ClusterManagementAddOn, ManagedCluster, ManagedClusterAddOn, ManifestWork,
};
use manifests::openshift::ClusterImageSet;
use manifests::ran::{Agent, ClusterInstance, Policy};

use super::context::Context;
use super::key::Key;
use super::store::Change;
use super::world::{
    AGENT_CLUSTER, ONLY, REQUEST_BY_CLUSTER, REQUEST_BY_TEMPLATE, TEMPLATE_BY_CONFIG_MAP, TEMPLATE_BY_NAME,
    TEMPLATE_BY_PROFILE,
};

/// The only key of the planner's queue.
pub(crate) fn plan_key() -> Key {
    Key::cluster("plan")
}

/// Key of the inventory queue: the kind stands where a namespace would, the object behind it.
pub(crate) fn inventory_key<K: Resource<DynamicType = ()>>(object: &K) -> Key {
    Key { namespace: K::kind(&()).into_owned(), name: Key::of(object).to_string() }
}

fn label<'a, K: Resource>(object: &'a K, key: &str) -> Option<&'a str> {
    object.meta().labels.as_ref().and_then(|l| l.get(key)).map(String::as_str)
}

/// Whether anything but the status, and what hangs on it, changed.
fn intent_changed<K: Resource>(change: &Change<K>) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            let (old, new) = (old.meta(), new.meta());
            old.generation != new.generation
                || old.uid != new.uid
                || old.deletion_timestamp != new.deletion_timestamp
                || old.finalizers != new.finalizers
                || old.annotations != new.annotations
                || old.labels != new.labels
        }
        _ => true,
    }
}

fn requests_of_template(ctx: &Context, template: &str) {
    for request in ctx.world.requests.by_index(REQUEST_BY_TEMPLATE, template) {
        ctx.queues.request.add(Key::of(request.as_ref()));
    }
}

fn requests_of_cluster(ctx: &Context, cluster: &str) {
    for request in ctx.world.requests.by_index(REQUEST_BY_CLUSTER, cluster) {
        ctx.queues.request.add(Key::of(request.as_ref()));
    }
    // A request learns its cluster's name before it is in its status.
    if let Some(instance) = ctx.world.cluster_instances.get(cluster, cluster)
        && let Some(owner) = label(instance.as_ref(), labels::REQUEST_NAME)
    {
        ctx.queues.request.add(Key::cluster(owner));
    }
}

fn plan_if_waiting(ctx: &Context) {
    ctx.queues.planner.add(plan_key());
}

fn host_map(request: &ProvisioningRequest) -> Option<&BTreeMap<String, String>> {
    let extensions = request.status.as_ref()?.extensions.as_ref()?;
    Some(&extensions.allocated_node_host_map).filter(|map| !map.is_empty())
}

/// All nodes of a request.
fn nodes_of(ctx: &Context, request: &str) {
    for node in ctx.world.nodes.by_index(ONLY, request) {
        ctx.queues.node.add(Key::of(node.as_ref()));
    }
}

/// ProvisioningRequests.
pub(crate) fn requests(ctx: &Context, change: &Change<ProvisioningRequest>) {
    for side in change.sides() {
        if intent_changed(change) {
            ctx.queues.request.add(Key::of(side));
            if let Some(name) = &side.metadata.name {
                ctx.queues.allocation.add(Key::new(&ctx.config.namespace, name));
            }
        }
    }
    // Nodes bear the names that the request gives them.
    if change.old.as_deref().map(host_map) != change.new.as_deref().map(host_map)
        && let Some(side) = change.sides().next()
    {
        nodes_of(ctx, side.metadata.name.as_deref().unwrap_or_default());
    }
    if change.new.is_none()
        && let Some(old) = &change.old
    {
        let key = Key::of(old.as_ref());
        ctx.interests.request_config_maps.forget(&key);
        ctx.interests.request_profiles.forget(&key);
        ctx.secrets.forget_owner(old.metadata.uid.as_deref().unwrap_or_default());
    }
}

/// ClusterTemplates.
pub(crate) fn templates(ctx: &Context, change: &Change<ClusterTemplate>) {
    for side in change.sides() {
        let key = Key::of(side);
        if intent_changed(change) {
            // Names are unique over all namespaces: the twins must look again.
            for twin in ctx.world.templates.by_index(TEMPLATE_BY_NAME, &key.name) {
                ctx.queues.template.add(Key::of(twin.as_ref()));
            }
            ctx.queues.template.add(key.clone());
        }
        requests_of_template(ctx, &key.name);
    }
    if change.new.is_none()
        && let Some(old) = &change.old
    {
        ctx.interests.template_image_sets.forget(&Key::of(old.as_ref()));
    }
}

/// HardwareProfiles.
pub(crate) fn profiles(ctx: &Context, change: &Change<HardwareProfile>) {
    for side in change.sides() {
        let name = side.metadata.name.clone().unwrap_or_default();
        ctx.queues.inventory.add(inventory_key(side));
        if change.old.is_none() || change.new.is_none() {
            for template in ctx.world.templates.by_index(TEMPLATE_BY_PROFILE, &name) {
                ctx.queues.template.add(Key::of(template.as_ref()));
            }
            for request in ctx.interests.request_profiles.of(&Key::cluster(&name)) {
                ctx.queues.request.add(request);
            }
        }
    }
}

/// FirmwareCatalogs.
pub(crate) fn catalogs(ctx: &Context, change: &Change<FirmwareCatalog>) {
    for side in change.sides() {
        ctx.queues.inventory.add(inventory_key(side));
    }
}

/// NodeAllocationRequests.
pub(crate) fn allocations(ctx: &Context, change: &Change<NodeAllocationRequest>) {
    for side in change.sides() {
        let key = Key::of(side);
        ctx.queues.request.add(Key::cluster(&key.name));
        if intent_changed(change) {
            nodes_of(ctx, &key.name);
        }
        ctx.queues.allocation.add(key);
    }
    plan_if_waiting(ctx);
}

/// AllocatedNodes.
pub(crate) fn nodes(ctx: &Context, change: &Change<AllocatedNode>) {
    for side in change.sides() {
        ctx.queues.node.add(Key::of(side));
        let owner = &side.spec.node_allocation_request;
        ctx.queues.allocation.add(Key::new(&ctx.config.namespace, owner));
        ctx.queues.request.add(Key::cluster(owner));
    }
    // A host without its node is to be given back, or to get its node again.
    if change.new.is_none() {
        plan_if_waiting(ctx);
    }
}

/// Locations.
pub(crate) fn locations(ctx: &Context, change: &Change<Location>) {
    for side in change.sides() {
        ctx.queues.inventory.add(inventory_key(side));
        let namespace = side.metadata.namespace.as_deref().unwrap_or_default();
        for site in ctx.world.sites.in_namespace(namespace) {
            if Some(&site.spec.global_location_name) == side.metadata.name.as_ref() {
                ctx.queues.inventory.add(inventory_key(site.as_ref()));
            }
        }
    }
}

/// OCloudSites.
pub(crate) fn sites(ctx: &Context, change: &Change<OCloudSite>) {
    for side in change.sides() {
        ctx.queues.inventory.add(inventory_key(side));
        let namespace = side.metadata.namespace.as_deref().unwrap_or_default();
        for pool in ctx.world.pools.in_namespace(namespace) {
            if Some(&pool.spec.o_cloud_site_name) == side.metadata.name.as_ref() {
                ctx.queues.inventory.add(inventory_key(pool.as_ref()));
            }
        }
    }
    plan_if_waiting(ctx);
}

/// ResourcePools.
pub(crate) fn pools(ctx: &Context, change: &Change<ResourcePool>) {
    for side in change.sides() {
        ctx.queues.inventory.add(inventory_key(side));
    }
    plan_if_waiting(ctx);
}

/// BareMetalHosts.
pub(crate) fn hosts(ctx: &Context, change: &Change<BareMetalHost>) {
    for side in change.sides() {
        if let Some(node) = label(side, labels::ALLOCATED_NODE) {
            ctx.queues.node.add(Key::new(&ctx.config.namespace, node));
            if let Some(node) = ctx.world.nodes.get(&ctx.config.namespace, node) {
                ctx.queues
                    .allocation
                    .add(Key::new(&ctx.config.namespace, &node.spec.node_allocation_request));
            }
        }
    }
    plan_if_waiting(ctx);
}

fn host_part<K: Resource>(ctx: &Context, change: &Change<K>) {
    for side in change.sides() {
        let key = Key::of(side);
        if let Some(host) = ctx.world.hosts.get_key(&key)
            && let Some(node) = label(host.as_ref(), labels::ALLOCATED_NODE)
        {
            ctx.queues.node.add(Key::new(&ctx.config.namespace, node));
        }
    }
}

/// HardwareData.
pub(crate) fn hardware_data(ctx: &Context, change: &Change<HardwareData>) {
    host_part(ctx, change);
    plan_if_waiting(ctx);
}

/// HostFirmwareSettings.
pub(crate) fn firmware_settings(ctx: &Context, change: &Change<HostFirmwareSettings>) {
    host_part(ctx, change);
}

/// HostFirmwareComponents.
pub(crate) fn firmware_components(ctx: &Context, change: &Change<HostFirmwareComponents>) {
    host_part(ctx, change);
}

/// PreprovisioningImages.
pub(crate) fn images(ctx: &Context, change: &Change<PreprovisioningImage>) {
    host_part(ctx, change);
}

/// ClusterInstances.
pub(crate) fn cluster_instances(ctx: &Context, change: &Change<ClusterInstance>) {
    for side in change.sides() {
        if let Some(owner) = label(side, labels::REQUEST_NAME) {
            ctx.queues.request.add(Key::cluster(owner));
        }
    }
}

/// ClusterImageSets.
pub(crate) fn image_sets(ctx: &Context, change: &Change<ClusterImageSet>) {
    for side in change.sides() {
        let name = side.metadata.name.clone().unwrap_or_default();
        for template in ctx.interests.template_image_sets.of(&Key::cluster(&name)) {
            ctx.queues.template.add(template);
        }
    }
}

/// The definition of ClusterInstance.
pub(crate) fn definitions(ctx: &Context, change: &Change<CustomResourceDefinition>) {
    if intent_changed(change) {
        for key in ctx.world.templates.keys() {
            ctx.queues.template.add(key);
        }
    }
}

/// Agents of the assisted installer.
pub(crate) fn agents(ctx: &Context, change: &Change<Agent>) {
    for side in change.sides() {
        if let Some(cluster) = label(side, AGENT_CLUSTER) {
            requests_of_cluster(ctx, cluster);
        }
    }
}

/// ManagedClusters.
pub(crate) fn clusters(ctx: &Context, change: &Change<ManagedCluster>) {
    for side in change.sides() {
        let name = side.metadata.name.clone().unwrap_or_default();
        requests_of_cluster(ctx, &name);
        ctx.queues.addon.add(Key::cluster(&name));
        for csr in ctx.world.csrs.all() {
            if label(csr.as_ref(), ocm::LABEL_CLUSTER_NAME) == Some(name.as_str()) {
                ctx.queues.csr.add(Key::of(csr.as_ref()));
            }
        }
    }
}

/// Policies: a child concerns the request of its cluster, a root the requests of its templates.
pub(crate) fn policies(ctx: &Context, change: &Change<Policy>) {
    for side in change.sides() {
        let namespace = side.metadata.namespace.as_deref().unwrap_or_default();
        if label(side, labels::ROOT_POLICY).is_some() {
            requests_of_cluster(ctx, namespace);
        } else if let Some(templates) = namespace.strip_prefix("ztp-") {
            if change.old.is_some() && change.new.is_some() && !intent_changed(change) {
                continue;
            }
            for template in ctx.world.templates.in_namespace(templates) {
                requests_of_template(ctx, template.metadata.name.as_deref().unwrap_or_default());
            }
        }
    }
}

/// Namespaces.
pub(crate) fn namespaces(ctx: &Context, change: &Change<PartialObjectMeta<Namespace>>) {
    for side in change.sides() {
        if let Some(owner) = label(side, labels::REQUEST_NAME) {
            ctx.queues.request.add(Key::cluster(owner));
        }
        // A request that found the name taken, or a policy namespace missing.
        let name = side.metadata.name.clone().unwrap_or_default();
        for request in ctx.interests.request_config_maps.of(&Key::cluster(&name)) {
            ctx.queues.request.add(request);
        }
    }
}

/// ConfigMaps.
pub(crate) fn config_maps(ctx: &Context, change: &Change<PartialObjectMeta<ConfigMap>>) {
    for side in change.sides() {
        let key = Key::of(side);
        for template in ctx.world.templates.by_index(TEMPLATE_BY_CONFIG_MAP, &key.to_string()) {
            ctx.queues.template.add(Key::of(template.as_ref()));
        }
        for request in ctx.interests.request_config_maps.of(&key) {
            ctx.queues.request.add(request);
        }
    }
}

fn cluster_namespace<K: Resource>(ctx: &Context, change: &Change<K>) {
    for side in change.sides() {
        ctx.queues.addon.add(Key::cluster(side.meta().namespace.as_deref().unwrap_or_default()));
    }
}

/// Our ManagedClusterAddOns.
pub(crate) fn addons(ctx: &Context, change: &Change<ManagedClusterAddOn>) {
    cluster_namespace(ctx, change);
    for side in change.sides() {
        let cluster = side.metadata.namespace.as_deref().unwrap_or_default();
        if change.old.is_none() || change.new.is_none() {
            requests_of_cluster(ctx, cluster);
        }
        for csr in ctx.world.csrs.all() {
            if label(csr.as_ref(), ocm::LABEL_CLUSTER_NAME) == Some(cluster) {
                ctx.queues.csr.add(Key::of(csr.as_ref()));
            }
        }
    }
}

/// Our ClusterManagementAddOn.
pub(crate) fn addon_kinds(ctx: &Context, change: &Change<ClusterManagementAddOn>) {
    for side in change.sides() {
        ctx.queues.cma.add(Key::of(side));
    }
}

/// Configurations of add-ons.
pub(crate) fn addon_configs(ctx: &Context, change: &Change<AddOnDeploymentConfig>) {
    if !intent_changed(change) {
        return;
    }
    for key in ctx.world.addon_kinds.keys() {
        ctx.queues.cma.add(key);
    }
    for addon in ctx.world.addons.keys() {
        ctx.queues.addon.add(Key::cluster(&addon.namespace));
    }
}

/// ManifestWorks of our add-on.
pub(crate) fn works(ctx: &Context, change: &Change<ManifestWork>) {
    cluster_namespace(ctx, change);
}

/// CertificateSigningRequests of our agents.
pub(crate) fn csrs(ctx: &Context, change: &Change<CertificateSigningRequest>) {
    for side in change.sides() {
        ctx.queues.csr.add(Key::of(side));
    }
}

/// Reports of our agents.
pub(crate) fn reports(ctx: &Context, change: &Change<SpokeReport>) {
    cluster_namespace(ctx, change);
}

/// RoleBindings of our agents.
pub(crate) fn bindings(ctx: &Context, change: &Change<PartialObjectMeta<RoleBinding>>) {
    cluster_namespace(ctx, change);
}

/// A term of leadership begins: every key of every area.
pub(crate) fn everything(ctx: &Context) {
    let world = &ctx.world;
    let queues = &ctx.queues;
    world.templates.keys().into_iter().for_each(|k| queues.template.add(k));
    world.allocations.keys().into_iter().for_each(|k| queues.allocation.add(k));
    world.nodes.keys().into_iter().for_each(|k| queues.node.add(k));
    world.locations.all().iter().for_each(|o| queues.inventory.add(inventory_key(o.as_ref())));
    world.sites.all().iter().for_each(|o| queues.inventory.add(inventory_key(o.as_ref())));
    world.pools.all().iter().for_each(|o| queues.inventory.add(inventory_key(o.as_ref())));
    world.profiles.all().iter().for_each(|o| queues.inventory.add(inventory_key(o.as_ref())));
    world.catalogs.all().iter().for_each(|o| queues.inventory.add(inventory_key(o.as_ref())));
    queues.planner.add(plan_key());
    world.requests.keys().into_iter().for_each(|k| queues.request.add(k));
    world.addon_kinds.keys().into_iter().for_each(|k| queues.cma.add(k));
    world.addons.keys().into_iter().for_each(|k| queues.addon.add(Key::cluster(&k.namespace)));
    world.csrs.keys().into_iter().for_each(|k| queues.csr.add(k));
}

/// A kind that was not served before is served now: those that reported it missing look again.
pub(crate) fn served(ctx: &Context) {
    ctx.world.templates.keys().into_iter().for_each(|k| ctx.queues.template.add(k));
    ctx.world.requests.keys().into_iter().for_each(|k| ctx.queues.request.add(k));
    plan_if_waiting(ctx);
}
