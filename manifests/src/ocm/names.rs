//! Labels, annotations and names of the OCM contract (spec/07 sections 5 and 7).

/// Name of the add-on: of its ClusterManagementAddOn, of each ManagedClusterAddOn, of the lease on the spoke.
pub const ADDON: &str = "ocloud";
/// Install namespace when nobody says otherwise.
pub const DEFAULT_INSTALL_NAMESPACE: &str = "open-cluster-management-agent-addon";
/// Secret in the install namespace that the registration agent keeps: the hub kubeconfig of the add-on.
pub const HUB_KUBECONFIG_SECRET: &str = "ocloud-hub-kubeconfig";
/// The one ClusterRole that the manager may bind; the agent gets it in its own cluster namespace.
pub const AGENT_CLUSTER_ROLE: &str = "ocloud-agent";
/// The RoleBinding of it in each cluster namespace.
pub const AGENT_ROLE_BINDING: &str = "open-cluster-management:ocloud:agent";
/// Signer of the add-on's client certificates.
pub const KUBE_CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Label on ManifestWorks and CSRs: the add-on that they belong to. Never on payload works (spec/07 15).
pub const LABEL_ADDON_NAME: &str = "open-cluster-management.io/addon-name";
/// Label on CSRs: the cluster. A hint only, anyone may set it.
pub const LABEL_CLUSTER_NAME: &str = "open-cluster-management.io/cluster-name";
/// Label on our payload works: what they are for (`upgrade`, `operation`, ...).
pub const LABEL_PURPOSE: &str = "addon.clcm.openshift.io/purpose";
/// Label on our payload works: the request that they serve.
pub const LABEL_REQUEST: &str = "addon.clcm.openshift.io/request";
/// Label on a spoke ClusterRole: its rules become rules of the work agent.
pub const LABEL_AGGREGATE_TO_WORK: &str = "open-cluster-management.io/aggregate-to-work";

/// Annotation on a deploy work: JSON map from configuration to spec hash.
pub const ANNOTATION_CONFIG_HASH: &str = "open-cluster-management.io/config-spec-hash";
/// Annotation on ManagedClusterAddOns and works, 0 to 100: what is deleted later when a cluster is detached.
pub const ANNOTATION_CLEANUP_PRIORITY: &str = "open-cluster-management.io/cleanup-priority";
/// Annotation on a CSR that a gRPC hub made in the name of a cluster's agent.
pub const ANNOTATION_CSR_USER: &str = "open-cluster-management.io/csr-user";
/// Annotation on a manifest: it outlives the work.
pub const ANNOTATION_DELETION_ORPHAN: &str = "addon.open-cluster-management.io/deletion-orphan";
/// Annotation on a ManagedClusterAddOn: its install namespace.
pub const ANNOTATION_INSTALL_NAMESPACE: &str = "addon.open-cluster-management.io/v1alpha1-install-namespace";
/// Annotation on a ManagedCluster: JSON with mirrors of image registries.
pub const ANNOTATION_IMAGE_REGISTRIES: &str = "open-cluster-management.io/image-registries";
/// Annotation on a ManagedClusterAddOn: where the console's link goes.
pub const ANNOTATION_LAUNCH_LINK: &str = "console.open-cluster-management.io/launch-link";
/// Annotation on a ManagedClusterAddOn: the link's text; the console wants both.
pub const ANNOTATION_LAUNCH_LINK_TEXT: &str = "console.open-cluster-management.io/launch-link-text";

/// Group of the add-on kinds.
pub const ADDON_GROUP: &str = "addon.open-cluster-management.io";
/// Plural of the one kind of configuration that we support.
pub const DEPLOYMENT_CONFIGS: &str = "addondeploymentconfigs";

/// Name of the deploy work with index `i` (spec/07 5.7).
pub fn deploy_work(i: usize) -> String {
    format!("addon-{ADDON}-deploy-{i}")
}

/// The one alternative name that a certificate of the add-on may carry.
pub const AGENT_DNS_NAME: &str = "ocloud.addon.open-cluster-management.io";

/// User name in the client certificate of the agent of `cluster` (spec/07 5.3).
pub fn agent_user(cluster: &str) -> String {
    format!("system:open-cluster-management:cluster:{cluster}:addon:{ADDON}:agent:{ADDON}")
}

/// Group of the agent of one cluster.
pub fn agent_cluster_group(cluster: &str) -> String {
    format!("system:open-cluster-management:cluster:{cluster}:addon:{ADDON}")
}

/// Group that the agents of **all** clusters share; never a subject of a RoleBinding.
pub fn agent_shared_group() -> String {
    format!("system:open-cluster-management:addon:{ADDON}")
}

/// User name of the agent under the `token` driver: the ServiceAccount that OCM makes on the hub.
pub fn agent_token_user(cluster: &str) -> String {
    format!("system:serviceaccount:{cluster}:{ADDON}-agent")
}
