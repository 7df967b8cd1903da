//! Condition types and reasons of this group, with the exact texts of the wire.

use crate::meta::words;

words! {
    /// Condition types of Location, OCloudSite and ResourcePool (spec/01 section 5).
    PlaceCondition {
        /// It and everything above it exists and is ready.
        Ready = "Ready",
    }
}

words! {
    /// Reasons of [`PlaceCondition::Ready`] (spec/01 section 5).
    PlaceReason {
        /// Ready.
        Ready = "Ready",
        /// The object that it names does not exist.
        ParentNotFound = "ParentNotFound",
        /// The object that it names is not ready.
        ParentNotReady = "ParentNotReady",
    }
}

words! {
    /// Condition types of the Inventory (spec/01 6.1).
    InventoryCondition {
        /// Registered with the SMO.
        SmoRegistrationCompleted = "SmoRegistrationCompleted",
        /// Everything runs.
        InventoryReady = "InventoryReady",
        /// A deployment cannot be read.
        Error = "Error",
        /// The alarm server runs.
        AlarmServerAvailable = "AlarmServerAvailable",
        /// The artifacts server runs.
        ArtifactsServerAvailable = "ArtifactsServerAvailable",
        /// The cluster server runs.
        ClusterServerAvailable = "ClusterServerAvailable",
        /// The database runs.
        DatabaseServerAvailable = "DatabaseServerAvailable",
        /// The resource server runs.
        ResourceServerAvailable = "ResourceServerAvailable",
        /// The provisioning server runs.
        ProvisioningServerAvailable = "ProvisioningServerAvailable",
        /// The alarm server cannot be set up.
        AlarmServerError = "AlarmServerError",
        /// The artifacts server cannot be set up.
        ArtifactsServerError = "ArtifactsServerError",
        /// The cluster server cannot be set up.
        ClusterServerError = "ClusterServerError",
        /// The database cannot be set up.
        DatabaseServerError = "DatabaseServerError",
        /// The resource server cannot be set up.
        ResourceServerError = "ResourceServerError",
        /// The provisioning server cannot be set up.
        ProvisioningServerError = "ProvisioningServerError",
    }
}

words! {
    /// Reasons of the Inventory's own conditions (spec/01 6.1).
    InventoryReason {
        /// Registered, or nothing to register.
        SmoRegistrationSuccessful = "SmoRegistrationSuccessful",
        /// The SMO refused or did not answer.
        SmoRegistrationFailed = "SmoRegistrationFailed",
        /// No SMO is configured.
        SmoNotConfigured = "SmoNotConfigured",
        /// The OAuth client is not configured.
        OAuthClientIdNotConfigured = "OAuthClientIDNotConfigured",
        /// Everything runs (also while it does not, as published).
        AllDeploymentsReady = "AllDeploymentsReady",
        /// Bad arguments of a server.
        ServerArgumentsError = "ServerArgumentsError",
        /// The database cannot be set up.
        DatabaseDeploymentFailed = "DatabaseDeploymentFailed",
        /// A deployment is missing.
        DeploymentNotFound = "DeploymentNotFound",
        /// A deployment cannot be read.
        ErrorGettingDeploymentInformation = "ErrorGettingDeploymentInformation",
    }
}
