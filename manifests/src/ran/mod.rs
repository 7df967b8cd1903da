//! What the site-config operator, governance and the assisted installer offer on the hub, partial
//! (spec/02 sections 9 to 12).

mod agent;
mod cluster_instance;
pub mod cluster_instance_schema;
mod policy;

pub use agent::{
    Agent, AgentSpec, AgentStatus, ClusterDeploymentReference, InfraEnv, InfraEnvSpec, NMStateConfig,
    NMStateConfigSpec,
};
pub use cluster_instance::{
    ClusterInstance, ClusterInstanceCondition, ClusterInstanceReason, ClusterInstanceSpec,
    ClusterInstanceStatus, DeploymentCondition, LocalReference, ManifestReference, Paused, ReinstallHistory,
    ReinstallStatus,
};
pub use policy::{
    ClusterCompliance, Compliance, Placement, PlacementBinding, PlacementBindingSpec,
    PlacementBindingSubject, Policy, PolicySpec, PolicyStatus,
};

#[cfg(test)]
mod tests;
