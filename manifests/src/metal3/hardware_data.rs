use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// What inspection found, partial (spec/04 section 15). Same name and namespace as the host.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HardwareData",
    plural = "hardwaredata",
    shortname = "hd",
    namespaced,
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct HardwareDataSpec {
    /// Absent until inspection delivered something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareDetails>,
}

/// `spec.hardware`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDetails {
    /// Who built the machine.
    #[serde(default)]
    pub system_vendor: SystemVendor,
    /// What the machine boots with.
    #[serde(default)]
    pub firmware: SystemFirmware,
    /// Memory in MiB.
    #[serde(default)]
    pub ram_mebibytes: i64,
    /// Network interfaces; a dual-stack NIC may be listed twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nics: Vec<Nic>,
    /// Disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<Storage>,
    /// Processors.
    #[serde(default)]
    pub cpu: Cpu,
    /// Host name that inspection saw.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub hostname: Box<str>,
}

/// `spec.hardware.systemVendor`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemVendor {
    /// Vendor of the machine.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub manufacturer: Box<str>,
    /// Model of the machine.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub product_name: Box<str>,
    /// Serial number of the machine.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub serial_number: Box<str>,
}

/// `spec.hardware.firmware`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemFirmware {
    /// The BIOS.
    #[serde(default)]
    pub bios: Bios,
}

/// `spec.hardware.firmware.bios`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bios {
    /// Vendor of the BIOS.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub vendor: Box<str>,
    /// Version of the BIOS.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub version: Box<str>,
    /// Its date, as the vendor prints it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub date: Box<str>,
}

/// One item of `spec.hardware.nics`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    /// Kernel name of the NIC.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// PCI vendor and product id, for example `0x8086 0x159b`.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub model: Box<str>,
    /// May be empty.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub mac: Box<str>,
    /// Link speed in Gbit/s.
    #[serde(default)]
    pub speed_gbps: i64,
}

/// One item of `spec.hardware.storage`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Stable device path.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// Other paths of the same device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternate_names: Vec<Box<str>>,
    /// `HDD`, `SSD` or `NVME`.
    #[serde(rename = "type", default, skip_serializing_if = "str::is_empty")]
    pub kind: Box<str>,
    /// Size in bytes.
    #[serde(default)]
    pub size_bytes: i64,
    /// Vendor of the disk.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub vendor: Box<str>,
    /// Model of the disk.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub model: Box<str>,
    /// Serial number of the disk.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub serial_number: Box<str>,
    /// World wide name.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub wwn: Box<str>,
}

/// `spec.hardware.cpu`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cpu {
    /// `x86_64`, `aarch64`
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub arch: Box<str>,
    /// Model text of the processor.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub model: Box<str>,
    /// Clock in MHz.
    #[serde(default)]
    pub clock_megahertz: f64,
    /// Logical processors.
    #[serde(default)]
    pub count: i64,
}
