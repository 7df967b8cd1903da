//! Condition types and reasons of the OCM kinds (spec/07 sections 4.1, 8.6 and 10).

use crate::meta::words;

words! {
    /// Conditions of a ManagedCluster; OCM writes them.
    ClusterCondition {
        /// The hub's administrator accepted it.
        HubAccepted = "HubAcceptedManagedCluster",
        /// It has its client certificate.
        Joined = "ManagedClusterJoined",
        /// It renews its lease and its API answers; `Unknown` when the lease stopped.
        Available = "ManagedClusterConditionAvailable",
        /// Its clock is near the hub's.
        ClockSynced = "ManagedClusterConditionClockSynced",
        /// What still keeps it from being deleted.
        Deleting = "Deleting",
    }
}

words! {
    /// Conditions of a ManagedClusterAddOn. We write the first three.
    AddOnCondition {
        /// Ours: the agent may register and has its rights on the hub.
        RegistrationApplied = "RegistrationApplied",
        /// Ours: the agent's manifests are on the spoke.
        ManifestApplied = "ManifestApplied",
        /// Ours: something is wrong on the spoke, or with the agent.
        Degraded = "Degraded",
        /// The spoke's registration agent: the add-on's lease is fresh.
        Available = "Available",
        /// OCM's add-on manager: the configuration is known.
        Configured = "Configured",
        /// OCM's add-on manager: works and configuration agree.
        Progressing = "Progressing",
    }
}

words! {
    /// Reasons of the conditions of a ManagedClusterAddOn that we write.
    AddOnReason {
        /// `RegistrationApplied=True`
        SetPermissionApplied = "SetPermissionApplied",
        /// `RegistrationApplied=False`: the write failed.
        SetPermissionFailed = "SetPermissionFailed",
        /// `RegistrationApplied=False`: nobody has named the subject yet.
        PermissionConfigPending = "PermissionConfigPending",
        /// `ManifestApplied=True`
        AddonManifestApplied = "AddonManifestApplied",
        /// `ManifestApplied=False`: the spoke refused.
        AddonManifestAppliedFailed = "AddonManifestAppliedFailed",
        /// `ManifestApplied=False`: the work could not be built or written.
        ManifestWorkApplyFailed = "ManifestWorkApplyFailed",
        /// `Degraded=False`
        AsExpected = "AsExpected",
        /// `Degraded=True`: the spoke could not apply the agent's manifests.
        AgentNotDeployed = "AgentNotDeployed",
        /// `Degraded=True`: the add-on's lease is stale although the cluster is available.
        AgentNotAvailable = "AgentNotAvailable",
        /// `Degraded=True`: the agent is alive, but its report does not reach the hub.
        NoReport = "NoReport",
    }
}

words! {
    /// Conditions of a ManifestWork and of its manifests; the work agent writes them.
    WorkCondition {
        /// The spoke took the manifests.
        Applied = "Applied",
        /// The objects exist; nothing more.
        Available = "Available",
        /// The work agent will not touch it again.
        Complete = "Complete",
        /// Made by condition rules.
        Progressing = "Progressing",
        /// Made by condition rules.
        Degraded = "Degraded",
        /// Feedback values could be read.
        FeedbackSynced = "StatusFeedbackSynced",
        /// It is being deleted.
        Deleting = "Deleting",
    }
}

words! {
    /// Reasons of the condition `Approved` or `Denied` that we put on a certificate request (spec/07 5.4).
    CsrReason {
        /// Approved; upstream's word.
        AutoApproved = "AutoApprovedByHubCSRApprovingController",
        /// No label names the cluster.
        ClusterNotNamed = "ClusterNotNamed",
        /// The hub does not accept the cluster.
        ClusterNotAccepted = "ClusterNotAccepted",
        /// The cluster or the add-on on it is being deleted.
        Leaving = "Leaving",
        /// Not the signer of client certificates.
        WrongSigner = "WrongSigner",
        /// Usages beyond those of a client.
        WrongUsages = "WrongUsages",
        /// A lifetime out of bounds.
        WrongLifetime = "WrongLifetime",
        /// The requester is not the agent of that cluster.
        WrongRequester = "WrongRequester",
        /// The request is not one PEM block with one request in it.
        MalformedRequest = "MalformedRequest",
        /// Not the user name of the add-on's agent.
        WrongCommonName = "WrongCommonName",
        /// Not exactly the groups of the add-on's agent.
        WrongOrganizations = "WrongOrganizations",
        /// Something else in the subject, or an extension that a client needs not.
        UnexpectedContent = "UnexpectedContent",
        /// Alternative names beyond the add-on's own.
        WrongAlternativeNames = "WrongAlternativeNames",
    }
}
