//! Annotation keys (spec/01 sections 7.3 and 9, spec/02 1.1, spec/04 section 2).

/// On a ClusterTemplate: `true` (any case) skips the check of the release against the image set.
pub const SKIP_IMAGE_SET_VALIDATION: &str = "clcm.openshift.io/skip-clusterimageset-validation";
/// On a ProvisioningRequest, presence only: hosts keep running when it is deleted.
pub const SKIP_CLEANUP: &str = "clcm.openshift.io/skip-cleanup";
/// On a NodeAllocationRequest: comma list of AllocatedNodes to drain and release.
pub const SCALE_IN_NODES: &str = "clcm.openshift.io/scale-in-nodes";
/// On an AllocatedNode: `bios-settings-update` or `firmware-update`.
pub const CONFIG_IN_PROGRESS: &str = "clcm.openshift.io/config-in-progress";
/// On an AllocatedNode: `true` when the profile changed while it was being applied.
pub const UPDATE_ABANDONED: &str = "clcm.openshift.io/update-abandoned";
/// On a root Policy: comma list of template names that expect it.
pub const TEMPLATES: &str = "clustertemplates.clcm.openshift.io/templates";
/// On the Inventory: repeat the SMO registration at each start.
pub const REGISTER_ON_RESTART: &str = "ocloud.openshift.io/register-on-restart";

/// On hosts: inventory text.
pub const HOST_DESCRIPTION: &str = "resourceinfo.clcm.openshift.io/description";
/// On hosts: part number for the inventory.
pub const HOST_PART_NUMBER: &str = "resourceinfo.clcm.openshift.io/partNumber";
/// On hosts: comma list of groups for the inventory.
pub const HOST_GROUPS: &str = "resourceinfo.clcm.openshift.io/groups";
/// On hosts: `true` while BIOS settings of the profile are not applied.
pub const BIOS_UPDATE_NEEDED: &str = "clcm.openshift.io/bios-update-needed";
/// On hosts: `true` while firmware of the profile is not applied.
pub const FIRMWARE_UPDATE_NEEDED: &str = "clcm.openshift.io/firmware-update-needed";
/// On hosts: when a transient error was first seen.
pub const HOST_ERROR_TIMESTAMP: &str = "clcm.openshift.io/bmh-error-timestamp";
/// On hosts: `true` when the release is done.
pub const DEALLOCATION_COMPLETE: &str = "clcm.openshift.io/deallocation-complete";
/// On hosts: the network data name from before the allocation.
pub const ORIGINAL_NETWORK_DATA: &str = "clcm.openshift.io/origNetworkData";
/// On hosts: the host was installed from an image and must be deleted before it is used again.
pub const IBI_WARNING: &str = "clcm.openshift.io/ibi-warning";
/// The text of [`IBI_WARNING`].
pub const IBI_WARNING_TEXT: &str = "Warning - this node was used for IBI and has been deprovisioned. BMH deletion and IBI \
    reinstall is required before it can be used in a new cluster";
/// On hosts, empty value: the assisted installer may manage a provisioned host.
pub const ALLOW_PROVISIONED_HOST_MANAGEMENT: &str =
    "bmac.agent-install.openshift.io/allow-provisioned-host-management";
/// On hosts: reboot to apply settings.
pub const REBOOT: &str = "reboot.metal3.io";

/// On ManagedClusters: `true` until the install is done.
pub const DISABLE_AUTO_IMPORT: &str = "import.open-cluster-management.io/disable-auto-import";
/// On a ClusterInstance: the site-config operator leaves it alone.
pub const CLUSTER_INSTANCE_PAUSED: &str = "clusterinstance.siteconfig.open-cluster-management.io/paused";
