//! `clcm.openshift.io/v1alpha1` (spec/01 section 1): templates, requests, hardware.

mod allocated_node;
mod cluster_template;
pub mod conditions;
mod firmware_catalog;
mod hardware_profile;
mod node_allocation_request;
mod provisioning_request;

pub use allocated_node::{AllocatedNode, AllocatedNodeSpec, AllocatedNodeStatus, Bmc, Interface};
pub use cluster_template::{
    ClusterTemplate, ClusterTemplateSpec, ClusterTemplateStatus, HwMgmtDefaults, NodeGroupData, NodeRole,
    TemplateDefaults,
};
pub use firmware_catalog::{
    FirmwareCatalog, FirmwareCatalogSpec, FirmwareCatalogStatus, FirmwareComponent, FirmwareImage,
    ImageValidationStatus,
};
pub use hardware_profile::{
    AttributeValue, Bios, Firmware, HardwareProfile, HardwareProfileSpec, HardwareProfileStatus,
};
pub use node_allocation_request::{
    NodeAllocationRequest, NodeAllocationRequestSpec, NodeAllocationRequestStatus, NodeGroup, NodeProperties,
};
pub use provisioning_request::{
    ClusterDetails, ClusterUpgradeStatus, Extensions, InfrastructureResourceStatus, PolicyDetails,
    ProvisionedResources, ProvisioningPhase, ProvisioningRequest, ProvisioningRequestSpec,
    ProvisioningRequestStatus, ProvisioningStatus, ResourceProvisioningPhase, ztp_status,
};

/// API group of this module.
pub const GROUP: &str = "clcm.openshift.io";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
pub(crate) fn is_false(b: &bool) -> bool {
    !*b
}

#[cfg(test)]
mod tests;
