//! The World: one cache per kind that a decision reads (DESIGN section 4).

use std::sync::Arc;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::DeserializeGuard;
use kube::core::dynamic::ParseDynamicObjectError;
use kube::runtime::watcher;
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
use manifests::ocm::{
    AddOnDeploymentConfig, ClusterManagementAddOn, ManagedCluster, ManagedClusterAddOn, ManifestWork,
};
use manifests::openshift::ClusterImageSet;
use manifests::ran::{Agent, ClusterInstance, Policy};
use tokio_util::sync::CancellationToken;

use super::context::{Context, Queues};
use super::routes;
use super::store::{Cached, IndexFn, Store};
use super::watch::watch;

/// Label of an agent-install Agent: the namespace of its cluster (spec/02 section 12).
pub(crate) const AGENT_CLUSTER: &str = "agent-install.openshift.io/clusterdeployment-namespace";

/// Position of the index by template reference (`<name>.<version>`) of requests.
pub(crate) const REQUEST_BY_TEMPLATE: usize = 0;
/// Position of the index by cluster name of requests.
pub(crate) const REQUEST_BY_CLUSTER: usize = 1;
/// Position of the index by claimed names of requests, see [`claimed_names`].
pub(crate) const REQUEST_BY_NAME: usize = 2;
/// Position of the index by `<namespace>/<ConfigMap>` of templates.
pub(crate) const TEMPLATE_BY_CONFIG_MAP: usize = 0;
/// Position of the index by `metadata.name` of templates.
pub(crate) const TEMPLATE_BY_NAME: usize = 1;
/// Position of the index by HardwareProfile of templates.
pub(crate) const TEMPLATE_BY_PROFILE: usize = 2;
/// Position of the only index of a kind.
pub(crate) const ONLY: usize = 0;

fn label<K: Resource>(object: &K, key: &str) -> Vec<String> {
    object.meta().labels.as_ref().and_then(|l| l.get(key)).cloned().into_iter().collect()
}

impl Cached for ProvisioningRequest {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[
            |r| vec![format!("{}.{}", r.spec.template_name, r.spec.template_version)],
            |r| {
                let details = r
                    .status
                    .as_ref()
                    .and_then(|s| s.extensions.as_ref())
                    .and_then(|e| e.cluster_details.as_ref());
                details.and_then(|d| d.name.clone()).into_iter().collect()
            },
            claimed_names,
        ]
    }
}

/// The cluster that a request is about: the one that it built, else the one that it asks for.
pub(crate) fn claimed_cluster(request: &ProvisioningRequest) -> Option<String> {
    let details =
        request.status.as_ref().and_then(|s| s.extensions.as_ref()).and_then(|e| e.cluster_details.as_ref());
    details.and_then(|d| d.name.clone()).or_else(|| {
        let parameters = request.spec.template_parameters.value();
        let name = parameters.pointer("/clusterInstanceParameters/clusterName")?.as_str()?;
        Some(name.to_owned())
    })
}

/// The cluster name and the node cluster name that a request asks for, told apart by a prefix (spec/02 B-23).
pub(crate) fn claimed_names(request: &ProvisioningRequest) -> Vec<String> {
    let parameters = request.spec.template_parameters.value();
    let text = |pointer: &str| parameters.pointer(pointer).and_then(|v| v.as_str()).filter(|t| !t.is_empty());
    [("cluster", "/clusterInstanceParameters/clusterName"), ("node cluster", "/nodeClusterName")]
        .into_iter()
        .filter_map(|(prefix, pointer)| text(pointer).map(|name| format!("{prefix} {name}")))
        .collect()
}

impl Cached for ClusterTemplate {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[
            |t| {
                let ns = t.metadata.namespace.as_deref().unwrap_or_default();
                let d = &t.spec.template_defaults;
                vec![
                    format!("{ns}/{}", d.cluster_instance_defaults),
                    format!("{ns}/{}", d.policy_template_defaults),
                ]
            },
            |t| t.metadata.name.clone().into_iter().collect(),
            |t| {
                let hardware = t.spec.template_defaults.hw_mgmt_defaults.as_ref();
                hardware
                    .into_iter()
                    .flat_map(|h| h.node_group_data.iter())
                    .filter_map(|g| g.hw_profile.clone())
                    .collect()
            },
        ]
    }
}

impl Cached for AllocatedNode {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[|n| vec![n.spec.node_allocation_request.clone()]]
    }
}

impl Cached for BareMetalHost {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[|h| label(h, labels::ALLOCATED_NODE)]
    }
}

impl Cached for ClusterInstance {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[|c| label(c, labels::REQUEST_NAME)]
    }
}

impl Cached for PartialObjectMeta<Namespace> {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[|n| label(n, labels::REQUEST_NAME)]
    }
}

impl Cached for Agent {
    fn indexes() -> &'static [IndexFn<Self>] {
        &[|a| label(a, AGENT_CLUSTER)]
    }
}

impl Cached for HardwareProfile {}
impl Cached for FirmwareCatalog {}
impl Cached for NodeAllocationRequest {}
impl Cached for Location {}
impl Cached for OCloudSite {}
impl Cached for ResourcePool {}
impl Cached for HardwareData {}
impl Cached for HostFirmwareSettings {}
impl Cached for HostFirmwareComponents {}
impl Cached for PreprovisioningImage {}
impl Cached for ClusterImageSet {}
impl Cached for ManagedCluster {}
impl Cached for PartialObjectMeta<ConfigMap> {}
impl Cached for CustomResourceDefinition {}
impl Cached for ManagedClusterAddOn {}
impl Cached for ClusterManagementAddOn {}
impl Cached for AddOnDeploymentConfig {}
impl Cached for ManifestWork {
    fn trim(&mut self) {
        // Of the manifests only the identities: their content is known by the hash annotation.
        ManifestWork::trim(self);
    }
}

impl Cached for CertificateSigningRequest {}
impl Cached for SpokeReport {}
impl Cached for PartialObjectMeta<RoleBinding> {}
impl Cached for Policy {}

macro_rules! scope {
    (operator, $ctx:expr) => {
        Api::namespaced($ctx.client.clone(), &$ctx.config.namespace)
    };
    (all, $ctx:expr) => {
        Api::all($ctx.client.clone())
    };
}

macro_rules! stores {
    ($( $(#[$doc:meta])* $scope:ident $field:ident: $kind:ty = $config:expr; )*) => {
        /// All caches. Each has a route of the same name in [`routes`].
        #[derive(Debug, Default)]
        pub(crate) struct World {
            $( $(#[$doc])* pub $field: Store<$kind>, )*
        }

        impl World {
            /// Kinds whose first list is not complete.
            pub(crate) fn not_ready(&self) -> Vec<String> {
                let mut out = Vec::new();
                $( if !self.$field.is_ready() { out.push(<$kind as Resource>::kind(&()).into_owned()); } )*
                out
            }

            /// Takes the answer to one of our writes. An object that is being deleted and has no finalizer any more is gone:
            /// the answer to the write that took the last one away still has the resource version from before.
            pub(crate) fn absorb(
                &self,
                ctx: &Context,
                api: &ApiResource,
                object: &DynamicObject,
            ) -> Result<(), ParseDynamicObjectError> {
                $(
                    if api.kind == <$kind as Resource>::kind(&()) && api.group == <$kind as Resource>::group(&()) {
                        let typed: $kind = object.clone().try_parse()?;
                        let change =
                            if is_gone(&typed) { self.$field.remove(&typed) } else { self.$field.put(typed) };
                        if let Some(change) = change {
                            routes::$field(ctx, &change);
                        }
                        return Ok(());
                    }
                )*
                Ok(())
            }
        }

        /// Starts one watch per kind.
        pub(crate) fn start_watches(ctx: &Arc<Context>, stop: &CancellationToken) -> tokio::task::JoinSet<()> {
            let mut tasks = tokio::task::JoinSet::new();
            $(
                let api: Api<DeserializeGuard<$kind>> = scope!($scope, ctx);
                tasks.spawn(watch::<$kind>(ctx.clone(), api, $config, |w| &w.$field, routes::$field, stop.clone()));
            )*
            tasks
        }
    };
}

/// Namespaces have their finalizers elsewhere.
fn is_gone<K: Resource<DynamicType = ()>>(object: &K) -> bool {
    let meta = object.meta();
    let held = meta.finalizers.as_ref().is_some_and(|list| !list.is_empty());
    meta.deletion_timestamp.is_some() && !held && K::kind(&()) != "Namespace"
}

fn plain() -> watcher::Config {
    watcher::Config::default().any_semantic()
}

stores! {
    /// ProvisioningRequests.
    all requests: ProvisioningRequest = plain();
    /// ClusterTemplates of all namespaces.
    all templates: ClusterTemplate = plain();
    /// HardwareProfiles of the operator namespace.
    operator profiles: HardwareProfile = plain();
    /// FirmwareCatalogs of the operator namespace.
    operator catalogs: FirmwareCatalog = plain();
    /// NodeAllocationRequests.
    operator allocations: NodeAllocationRequest = plain();
    /// AllocatedNodes.
    operator nodes: AllocatedNode = plain();
    /// Locations.
    all locations: Location = plain();
    /// OCloudSites.
    all sites: OCloudSite = plain();
    /// ResourcePools.
    all pools: ResourcePool = plain();
    /// BareMetalHosts.
    all hosts: BareMetalHost = plain();
    /// HardwareData of hosts.
    all hardware_data: HardwareData = plain();
    /// HostFirmwareSettings of hosts.
    all firmware_settings: HostFirmwareSettings = plain();
    /// HostFirmwareComponents of hosts.
    all firmware_components: HostFirmwareComponents = plain();
    /// PreprovisioningImages of hosts.
    all images: PreprovisioningImage = plain();
    /// ClusterInstances of the site-config operator.
    all cluster_instances: ClusterInstance = plain();
    /// ClusterImageSets.
    all image_sets: ClusterImageSet = plain();
    /// The definition of ClusterInstance, whose schema template defaults must fit.
    all definitions: CustomResourceDefinition =
        plain().fields("metadata.name=clusterinstances.siteconfig.open-cluster-management.io");
    /// Agents of the assisted installer.
    all agents: Agent = plain();
    /// ManagedClusters.
    all clusters: ManagedCluster = plain();
    /// Policies, root and replicated.
    all policies: Policy = plain();
    /// Namespaces, metadata only.
    all namespaces: PartialObjectMeta<Namespace> = plain();
    /// ConfigMaps, metadata only, without the two that every namespace has.
    all config_maps: PartialObjectMeta<ConfigMap> =
        plain().fields("metadata.name!=kube-root-ca.crt,metadata.name!=openshift-service-ca.crt");
    /// Our ManagedClusterAddOns.
    all addons: ManagedClusterAddOn = plain().fields("metadata.name=ocloud");
    /// Our ClusterManagementAddOn.
    all addon_kinds: ClusterManagementAddOn = plain().fields("metadata.name=ocloud");
    /// Configurations of add-ons.
    all addon_configs: AddOnDeploymentConfig = plain();
    /// ManifestWorks of our add-on.
    all works: ManifestWork = plain().labels("open-cluster-management.io/addon-name=ocloud");
    /// CertificateSigningRequests of our agents.
    all csrs: CertificateSigningRequest = plain().labels("open-cluster-management.io/addon-name=ocloud");
    /// Reports of our agents.
    all reports: SpokeReport = plain();
    /// RoleBindings that give our agents their rights, metadata only.
    all bindings: PartialObjectMeta<RoleBinding> = plain().labels("open-cluster-management.io/addon-name=ocloud");
}

impl World {
    /// Takes the answer to an approval.
    pub(crate) fn put_csr(&self, csr: CertificateSigningRequest, queues: &Queues) {
        if let Some(change) = self.csrs.put(csr) {
            for side in change.sides() {
                queues.csr.add(super::key::Key::of(side));
            }
        }
    }
}
