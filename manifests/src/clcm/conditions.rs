//! Condition types and reasons of this group, with the exact texts of the wire.

use crate::meta::words;

words! {
    /// Condition types of a ProvisioningRequest (spec/02 3.2), in the order of a healthy run.
    RequestCondition {
        /// Input is valid.
        Validated = "ProvisioningRequestValidated",
        /// The ClusterInstance is rendered and the API server accepts it.
        ClusterInstanceRendered = "ClusterInstanceRendered",
        /// Namespace, pull secret, extra manifests and policy parameters are there.
        ClusterResourcesCreated = "ClusterResourcesCreated",
        /// The NodeAllocationRequest is built.
        NodeAllocationRequestRendered = "NodeAllocationRequestRendered",
        /// Hosts are allocated and prepared.
        HardwareProvisioned = "HardwareProvisioned",
        /// Data of the hosts is in the ClusterInstance.
        HardwareNodeConfigApplied = "HardwareNodeConfigApplied",
        /// The site-config operator took the ClusterInstance.
        ClusterInstanceProcessed = "ClusterInstanceProcessed",
        /// The cluster is installed.
        ClusterProvisioned = "ClusterProvisioned",
        /// Policies are compliant.
        ConfigurationApplied = "ConfigurationApplied",
        /// A later profile change is applied.
        HardwareConfigured = "HardwareConfigured",
        /// An upgrade is done.
        UpgradeCompleted = "UpgradeCompleted",
    }
}

impl RequestCondition {
    /// The types whose failure fails the request (spec/02 3.2).
    pub const FATAL: &'static [RequestCondition] = &[
        RequestCondition::HardwareProvisioned,
        RequestCondition::HardwareNodeConfigApplied,
        RequestCondition::HardwareConfigured,
        RequestCondition::ClusterInstanceProcessed,
        RequestCondition::ClusterProvisioned,
        RequestCondition::ConfigurationApplied,
        RequestCondition::UpgradeCompleted,
    ];
}

words! {
    /// Reasons of a ProvisioningRequest's conditions (spec/02 3.2).
    RequestReason {
        /// Could not be applied.
        NotApplied = "NotApplied",
        /// The cluster cannot take configuration yet.
        ClusterNotReady = "ClusterNotReady",
        /// Done.
        Completed = "Completed",
        /// Failed.
        Failed = "Failed",
        /// Under way.
        InProgress = "InProgress",
        /// Nothing is there.
        Missing = "Missing",
        /// Behind what is wanted.
        OutOfDate = "OutOfDate",
        /// Waits.
        Pending = "Pending",
        /// The checks before an upgrade failed.
        PreconditionChecksFailed = "PreconditionChecksFailed",
        /// Took too long.
        TimedOut = "TimedOut",
        /// Not known.
        Unknown = "Unknown",
    }
}

words! {
    /// Condition types of a ClusterTemplate (spec/01 section 3).
    TemplateCondition {
        /// The template is valid.
        Validated = "ClusterTemplateValidated",
    }
}

words! {
    /// Reasons of a ClusterTemplate's condition (spec/01 section 3).
    TemplateReason {
        /// Valid.
        Completed = "Completed",
        /// Not valid.
        Failed = "Failed",
    }
}

words! {
    /// Condition types of NodeAllocationRequest and AllocatedNode (spec/04 section 3), and `Validation` of
    /// HardwareProfile and FirmwareCatalog.
    HardwareCondition {
        /// Hosts are allocated and prepared.
        Provisioned = "Provisioned",
        /// A later profile change is applied.
        Configured = "Configured",
        /// The host is drained and released.
        Deprovisioned = "Deprovisioned",
        /// Input is valid.
        Validation = "Validation",
        /// Not known.
        Unknown = "Unknown",
    }
}

words! {
    /// Reasons of the hardware kinds' conditions (spec/04 section 3).
    HardwareReason {
        /// Under way.
        InProgress = "InProgress",
        /// Done.
        Completed = "Completed",
        /// Released; declared, never set.
        Unprovisioned = "Unprovisioned",
        /// Failed.
        Failed = "Failed",
        /// Declared, never set.
        NotInitialized = "NotInitialized",
        /// Took too long.
        TimedOut = "TimedOut",
        /// A change waits for its turn.
        ConfigurationUpdatePending = "ConfigurationUpdatePending",
        /// A change is requested.
        ConfigurationUpdateRequested = "ConfigurationUpdateRequested",
        /// A change is applied.
        ConfigurationApplied = "ConfigurationApplied",
        /// The user must change the input.
        InvalidUserInput = "InvalidUserInput",
    }
}
