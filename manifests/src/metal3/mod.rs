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

/// Annotations with which users take a host out of the operator's hands (spec/04 section 15).
pub mod annotations {
    /// Any value: the operator leaves the host alone, and so do we.
    pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// The operator does not manage the host for now.
    pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
}

#[cfg(test)]
mod tests;
