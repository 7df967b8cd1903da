//! Label keys (spec/01 sections 7.3 and 9, spec/02 1.1, spec/04 section 2).

/// On namespaces, ClusterInstances and other children: the ProvisioningRequest that owns them.
pub const REQUEST_NAME: &str = "provisioningrequest.clcm.openshift.io/name";
/// On ManagedClusters and Agents: `spec.templateId` of the ClusterTemplate.
pub const TEMPLATE_ID: &str = "clustertemplates.clcm.openshift.io/templateId";
/// On Agents: uid of the BareMetalHost.
pub const HOST_ID: &str = "clcm.openshift.io/hwMgrNodeId";
/// On ManagedClusters: binds policies; mandatory in the template's extra labels.
pub const CLUSTER_VERSION: &str = "cluster-version";

/// On hosts: metadata.name of the ResourcePool.
pub const RESOURCE_POOL: &str = "resources.clcm.openshift.io/resourcePoolName";
/// On hosts: prefix of free selection criteria.
pub const RESOURCE_SELECTOR_PREFIX: &str = "resourceselector.clcm.openshift.io/";
/// On hosts: prefix of NIC labels; the value is a NIC name, or a MAC address with `-` for `:`.
pub const INTERFACE_LABEL_PREFIX: &str = "interfacelabel.clcm.openshift.io/";
/// On hosts: the boot NIC.
pub const BOOT_INTERFACE: &str = "interfacelabel.clcm.openshift.io/boot-interface";
/// The NIC label that marks the boot NIC in a node's network (without the prefix).
pub const BOOT_INTERFACE_NAME: &str = "boot-interface";
/// On hosts: `true` when taken.
pub const ALLOCATED: &str = "clcm.openshift.io/allocated";
/// On hosts: name of the AllocatedNode.
pub const ALLOCATED_NODE: &str = "clcm.openshift.io/allocated-node";
/// On hosts: why firmware data is incomplete.
pub const UNAVAILABLE: &str = "validation.clcm.openshift.io/unavailable";

/// On hosts and images: the InfraEnv, by the assisted installer; taken away at release.
pub const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";
/// On rendered objects, by the site-config operator: `<namespace>_<name>` of the ClusterInstance.
pub const SITECONFIG_OWNED_BY: &str = "siteconfig.open-cluster-management.io/owned-by";
/// On Agents: namespace of their ClusterDeployment, which is the cluster's name.
pub const AGENT_CLUSTER_NAMESPACE: &str = "agent-install.openshift.io/clusterdeployment-namespace";
/// On propagated policies: `<namespace>.<name>` of the root policy.
pub const ROOT_POLICY: &str = "policy.open-cluster-management.io/root-policy";
/// On ManagedClusters: the cluster's own id.
pub const CLUSTER_ID: &str = "clusterID";
/// On ClusterImageSets: the OpenShift version of a digest image.
pub const RELEASE_TAG: &str = "releaseTag";
