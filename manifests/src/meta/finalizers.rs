//! Finalizers (spec/01 section 9, spec/04 section 2).

/// On a ProvisioningRequest: the deletion flow (spec/02 section 17).
pub const REQUEST: &str = "provisioningrequest.clcm.openshift.io/finalizer";
/// On a NodeAllocationRequest: its nodes are released first.
pub const NODE_ALLOCATION_REQUEST: &str = "clcm.openshift.io/nodeallocationrequest-finalizer";
/// On an AllocatedNode: its host is released first.
pub const ALLOCATED_NODE: &str = "clcm.openshift.io/allocatednode-finalizer";
/// On a ClusterInstance, by the site-config operator.
pub const CLUSTER_INSTANCE: &str = "clusterinstance.siteconfig.open-cluster-management.io/finalizer";
/// On a PreprovisioningImage, by the assisted installer; taken away at release.
pub const PREPROVISIONING_IMAGE: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";
/// On BMC and network Secrets, by the bare-metal operator; taken away at release of an image-based host.
pub const HOST_SECRET: &str = "baremetalhost.metal3.io/secret";
