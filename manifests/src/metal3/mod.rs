//! `metal3.io/v1alpha1`, partial (spec/04 section 15): the kinds of the baremetal-operator that we read, and the few
//! fields of them that we set.
//!
//! The hub caches thousands of hosts, so these types hold only what a decision or the inventory reads: states are
//! enums of one byte, texts are boxed slices, and the hardware details are kept once, in [`HardwareData`] (the operator
//! writes the same content to `BareMetalHost.status.hardware`). Nothing here is ever written back whole; the manager
//! sends merge patches with single fields.

mod crds;
mod firmware;
mod hardware_data;
mod host;
mod image;
mod schema;

pub use crds::crds;
pub use firmware::{
    AttributeType, FirmwareComponent, FirmwareSchema, FirmwareSchemaSpec, FirmwareUpdate,
    HostFirmwareComponents, HostFirmwareComponentsSpec, HostFirmwareComponentsStatus, HostFirmwareSettings,
    HostFirmwareSettingsSpec, HostFirmwareSettingsStatus, HostUpdatePolicy, HostUpdatePolicySpec, SchemaRef,
    SettingSchema, UpdatePolicy, conditions,
};
pub use hardware_data::{
    Cpu, HardwareData, HardwareDataSpec, HardwareDetails, Nic, Storage, SystemFirmware, SystemVendor,
};
pub use host::{
    BareMetalHost, BareMetalHostSpec, BareMetalHostStatus, BmcDetails, CleaningMode, ConsumerRef,
    CustomDeploy, ErrorType, HostImage, OperationalStatus, ProvisionStatus, ProvisioningState,
};
pub use image::{
    DataImage, DataImageSpec, PreprovisioningImage, PreprovisioningImageSpec, PreprovisioningImageStatus,
};

/// Annotations and finalizers that the baremetal-operator and the assisted service define and we read or remove
/// (spec/04 sections 2 and 15).
pub mod keys {
    /// Any value: the operator leaves the host alone, and so do we.
    pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// The host is not managed by the operator for now.
    pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
    /// Reboot request; removed by the operator after power off.
    pub const REBOOT: &str = "reboot.metal3.io";
    /// Finalizer of the operator on Secrets that a host uses.
    pub const SECRET_FINALIZER: &str = "baremetalhost.metal3.io/secret";
    /// Finalizer of the assisted service on a PreprovisioningImage.
    pub const AI_DEPROVISION: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";
    /// Label of hosts and PreprovisioningImages that belong to an InfraEnv; removed at release.
    pub const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";
    /// Label of objects that the site-config operator manages; removed at release.
    pub const OWNED_BY: &str = "siteconfig.open-cluster-management.io/owned-by";
    /// Lets the assisted service manage a host that is provisioned already.
    pub const ALLOW_PROVISIONED: &str = "bmac.agent-install.openshift.io/allow-provisioned-host-management";
}

#[cfg(test)]
mod tests;
