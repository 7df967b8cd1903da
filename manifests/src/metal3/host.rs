use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// Desired state of a host, partial (spec/04 section 15).
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BareMetalHost",
    plural = "baremetalhosts",
    shortname = "bmh",
    shortname = "bmhost",
    namespaced,
    status = "BareMetalHostStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostSpec {
    /// Wanted power state.
    #[serde(default)]
    pub online: bool,
    /// How to reach the management controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bmc: Option<BmcDetails>,
    /// MAC of the NIC that boots; the operator refuses to change it once set.
    #[serde(rename = "bootMACAddress", default, skip_serializing_if = "Option::is_none")]
    pub boot_mac_address: Option<Box<str>>,
    /// Image that the host shall run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<HostImage>,
    /// Deployment by an agent in the ramdisk instead of an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_deploy: Option<CustomDeploy>,
    /// Secret with the network data of the discovery image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preprovisioning_network_data_name: Option<Box<str>>,
    /// The host was installed by other means (image-based installs).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub externally_provisioned: bool,
    /// Whether the disks are cleaned when the host is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automated_cleaning_mode: Option<CleaningMode>,
    /// Somebody else uses the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_ref: Option<ConsumerRef>,
}

/// `spec.bmc`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BmcDetails {
    /// URL of the management controller (spec/04 section 11).
    #[serde(default)]
    pub address: Box<str>,
    /// Secret with `username` and `password` in the namespace of the host.
    #[serde(default)]
    pub credentials_name: Box<str>,
}

/// `spec.image`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostImage {
    /// Location of the image.
    #[serde(default)]
    pub url: Box<str>,
}

/// `spec.customDeploy`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDeploy {
    /// Name of the deploy step.
    #[serde(default)]
    pub method: Box<str>,
}

/// `spec.consumerRef`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerRef {
    /// Kind of the consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Box<str>>,
    /// Namespace of the consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Box<str>>,
    /// Name of the consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
}

/// `spec.automatedCleaningMode`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CleaningMode {
    /// Clean partition tables and the like.
    Metadata,
    /// Leave the disks alone.
    Disabled,
}

/// Observed state of a host, partial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareMetalHostStatus {
    /// Health as the operator sees it.
    #[serde(default)]
    pub operational_status: OperationalStatus,
    /// What failed; absent without an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorType>,
    /// Text of the failure, empty without one.
    #[serde(default)]
    pub error_message: Box<str>,
    /// Real power state.
    #[serde(default)]
    pub powered_on: bool,
    /// Where the host is in the operator's state machine.
    #[serde(default)]
    pub provisioning: ProvisionStatus,
}

/// `status.provisioning`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvisionStatus {
    /// State of the operator's state machine (spec/04 section 16).
    #[serde(default)]
    pub state: ProvisioningState,
}

/// `status.operationalStatus`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationalStatus {
    /// Not reported yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// Fine.
    #[serde(rename = "OK")]
    Ok,
    /// Known, but without management details.
    Discovered,
    /// See `errorType`.
    Error,
    /// Waits for capacity of the operator.
    Delayed,
    /// Not managed for now.
    Detached,
    /// Settings or firmware are applied to a running host.
    Servicing,
    /// A value that we do not know.
    #[serde(other)]
    Other,
}

/// `status.errorType`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorType {
    /// A provisioned host could not be registered again.
    #[serde(rename = "provisioned registration error")]
    ProvisionedRegistration,
    /// The management controller could not be used.
    #[serde(rename = "registration error")]
    Registration,
    /// Inspection failed.
    #[serde(rename = "inspection error")]
    Inspection,
    /// RAID, BIOS or firmware could not be applied.
    #[serde(rename = "preparation error")]
    Preparation,
    /// The image could not be deployed.
    #[serde(rename = "provisioning error")]
    Provisioning,
    /// The power state could not be changed.
    #[serde(rename = "power management error")]
    PowerManagement,
    /// Settings or firmware could not be applied to a running host.
    #[serde(rename = "servicing error")]
    Servicing,
    /// A value that we do not know.
    #[serde(rename = "unknown error", other)]
    Other,
}

impl ErrorType {
    /// The wire text.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorType::ProvisionedRegistration => "provisioned registration error",
            ErrorType::Registration => "registration error",
            ErrorType::Inspection => "inspection error",
            ErrorType::Preparation => "preparation error",
            ErrorType::Provisioning => "provisioning error",
            ErrorType::PowerManagement => "power management error",
            ErrorType::Servicing => "servicing error",
            ErrorType::Other => "unknown error",
        }
    }
}

/// `status.provisioning.state`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProvisioningState {
    /// Not seen by the operator yet.
    #[default]
    #[serde(rename = "")]
    None,
    /// No management details.
    Unmanaged,
    /// The management controller is contacted.
    Registering,
    /// The hardware is looked at.
    Inspecting,
    /// RAID, BIOS and firmware are applied.
    Preparing,
    /// Ready for an image: the only state in which a host can be chosen.
    Available,
    /// The image is deployed.
    Provisioning,
    /// The host runs what it was told to.
    Provisioned,
    /// The host runs what somebody else installed.
    #[serde(rename = "externally provisioned")]
    ExternallyProvisioned,
    /// The host is cleaned.
    Deprovisioning,
    /// First step of a deletion.
    #[serde(rename = "powering off before delete")]
    PoweringOffBeforeDelete,
    /// Last step of a deletion.
    Deleting,
    /// An old or unknown value.
    #[serde(rename = "unknown", other)]
    Other,
}

impl ProvisioningState {
    /// The wire text.
    pub fn as_str(self) -> &'static str {
        match self {
            ProvisioningState::None => "",
            ProvisioningState::Unmanaged => "unmanaged",
            ProvisioningState::Registering => "registering",
            ProvisioningState::Inspecting => "inspecting",
            ProvisioningState::Preparing => "preparing",
            ProvisioningState::Available => "available",
            ProvisioningState::Provisioning => "provisioning",
            ProvisioningState::Provisioned => "provisioned",
            ProvisioningState::ExternallyProvisioned => "externally provisioned",
            ProvisioningState::Deprovisioning => "deprovisioning",
            ProvisioningState::PoweringOffBeforeDelete => "powering off before delete",
            ProvisioningState::Deleting => "deleting",
            ProvisioningState::Other => "unknown",
        }
    }

    /// The host runs a system: nobody may claim it, power it or reinstall it as if it were free.
    pub fn is_provisioned(self) -> bool {
        matches!(self, ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned)
    }
}

impl BareMetalHost {
    /// State of the operator's state machine; `None` before the operator saw the host.
    pub fn state(&self) -> ProvisioningState {
        self.status.as_ref().map(|s| s.provisioning.state).unwrap_or_default()
    }

    /// Health as the operator sees it.
    pub fn operational_status(&self) -> OperationalStatus {
        self.status.as_ref().map(|s| s.operational_status).unwrap_or_default()
    }

    /// Value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// The boot MAC, if set.
    pub fn boot_mac(&self) -> Option<&str> {
        self.spec.boot_mac_address.as_deref().filter(|m| !m.is_empty())
    }
}
