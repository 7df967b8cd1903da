//! The kinds that the simulators read and write.

use kube::core::{ApiResource, DynamicObject, Resource};

/// A kind by name: enough to build its URL and to write its type fields.
#[expect(clippy::struct_field_names, reason = "the API's own names")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

impl Kind {
    const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Kind { group, version, kind, plural }
    }

    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    pub(crate) fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
        }
    }

    /// Path of the collection; an empty namespace means cluster scope or all namespaces.
    pub(crate) fn path(&self, namespace: &str) -> String {
        DynamicObject::url_path(&self.resource(), (!namespace.is_empty()).then_some(namespace))
    }
}

/// The kind of a rendered object, by its `apiVersion` and `kind`.
pub(crate) fn of(api_version: &str, kind: &str) -> Option<Kind> {
    ALL.iter().copied().find(|k| k.kind == kind && k.api_version() == api_version)
}

pub(crate) const SECRET: Kind = Kind::new("", "v1", "Secret", "secrets");
pub(crate) const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps");
pub(crate) const NAMESPACE: Kind = Kind::new("", "v1", "Namespace", "namespaces");
pub(crate) const NODE: Kind = Kind::new("", "v1", "Node", "nodes");
pub(crate) const CRD: Kind =
    Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
pub(crate) const ADMISSION_POLICY: Kind = Kind::new(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
);
pub(crate) const ADMISSION_BINDING: Kind = Kind::new(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
);

pub(crate) const HOST: Kind = Kind::new("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts");
pub(crate) const HARDWARE_DATA: Kind = Kind::new("metal3.io", "v1alpha1", "HardwareData", "hardwaredata");
pub(crate) const FIRMWARE_SETTINGS: Kind =
    Kind::new("metal3.io", "v1alpha1", "HostFirmwareSettings", "hostfirmwaresettings");
pub(crate) const FIRMWARE_COMPONENTS: Kind =
    Kind::new("metal3.io", "v1alpha1", "HostFirmwareComponents", "hostfirmwarecomponents");
pub(crate) const FIRMWARE_SCHEMA: Kind =
    Kind::new("metal3.io", "v1alpha1", "FirmwareSchema", "firmwareschemas");
pub(crate) const UPDATE_POLICY: Kind =
    Kind::new("metal3.io", "v1alpha1", "HostUpdatePolicy", "hostupdatepolicies");
pub(crate) const IMAGE: Kind =
    Kind::new("metal3.io", "v1alpha1", "PreprovisioningImage", "preprovisioningimages");
pub(crate) const DATA_IMAGE: Kind = Kind::new("metal3.io", "v1alpha1", "DataImage", "dataimages");

pub(crate) const CLUSTER_INSTANCE: Kind =
    Kind::new("siteconfig.open-cluster-management.io", "v1alpha1", "ClusterInstance", "clusterinstances");
pub(crate) const IMAGE_SET: Kind =
    Kind::new("hive.openshift.io", "v1", "ClusterImageSet", "clusterimagesets");
pub(crate) const CLUSTER_DEPLOYMENT: Kind =
    Kind::new("hive.openshift.io", "v1", "ClusterDeployment", "clusterdeployments");
pub(crate) const AGENT_CLUSTER_INSTALL: Kind =
    Kind::new("extensions.hive.openshift.io", "v1beta1", "AgentClusterInstall", "agentclusterinstalls");
pub(crate) const IMAGE_CLUSTER_INSTALL: Kind =
    Kind::new("extensions.hive.openshift.io", "v1alpha1", "ImageClusterInstall", "imageclusterinstalls");
pub(crate) const AGENT: Kind = Kind::new("agent-install.openshift.io", "v1beta1", "Agent", "agents");
pub(crate) const INFRA_ENV: Kind =
    Kind::new("agent-install.openshift.io", "v1beta1", "InfraEnv", "infraenvs");
pub(crate) const NMSTATE: Kind =
    Kind::new("agent-install.openshift.io", "v1beta1", "NMStateConfig", "nmstateconfigs");
pub(crate) const KLUSTERLET_CONFIG: Kind =
    Kind::new("agent.open-cluster-management.io", "v1", "KlusterletAddonConfig", "klusterletaddonconfigs");

pub(crate) const MANAGED_CLUSTER: Kind =
    Kind::new("cluster.open-cluster-management.io", "v1", "ManagedCluster", "managedclusters");
pub(crate) const PLACEMENT: Kind =
    Kind::new("cluster.open-cluster-management.io", "v1beta1", "Placement", "placements");
pub(crate) const POLICY: Kind = Kind::new("policy.open-cluster-management.io", "v1", "Policy", "policies");
pub(crate) const PLACEMENT_BINDING: Kind =
    Kind::new("policy.open-cluster-management.io", "v1", "PlacementBinding", "placementbindings");

pub(crate) const CLUSTER_VERSION: Kind =
    Kind::new("config.openshift.io", "v1", "ClusterVersion", "clusterversions");
pub(crate) const CLUSTER_OPERATOR: Kind =
    Kind::new("config.openshift.io", "v1", "ClusterOperator", "clusteroperators");
pub(crate) const MACHINE_CONFIG_POOL: Kind =
    Kind::new("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools");

const ALL: &[Kind] = &[
    SECRET,
    CONFIG_MAP,
    NAMESPACE,
    HOST,
    FIRMWARE_COMPONENTS,
    CLUSTER_INSTANCE,
    DATA_IMAGE,
    CLUSTER_DEPLOYMENT,
    AGENT_CLUSTER_INSTALL,
    IMAGE_CLUSTER_INSTALL,
    AGENT,
    INFRA_ENV,
    NMSTATE,
    KLUSTERLET_CONFIG,
    MANAGED_CLUSTER,
];
