//! `addon.clcm.openshift.io/v1alpha1`: our own kinds between hub and spoke (DESIGN section 2).
//!
//! [`SpokeReport`] is how a spoke speaks to the hub: one object named [`REPORT_NAME`] in the cluster namespace. The
//! manager creates it; the agent may get and watch it and patch its status, nothing else. It never exceeds
//! [`limits::REPORT_BYTES`], because the schema bounds every list and text; what did not fit is counted in
//! [`LeftOff`].

mod cluster;
pub mod limits;
mod report;
#[cfg(test)]
mod tests;
mod workload;

pub use cluster::{
    ClusterVersionReport, ConditionalUpdate, ImageBasedUpgradeReport, OperatorReport, OperatorsReport,
    Release, ReportedCondition,
};
pub use report::{
    LeftOff, Progress, ProgressPhase, ReportCondition, ReportReason, Served, SpokeReport, SpokeReportSpec,
    SpokeReportStatus,
};
pub use workload::{
    Check, Finding, NodesReport, NotReadyNode, OperationKind, OperationResult, OperationState, PoolReport,
};

/// API group of our own kinds between hub and spoke.
pub const GROUP: &str = "addon.clcm.openshift.io";
/// Name of the one SpokeReport in each cluster namespace.
pub const REPORT_NAME: &str = "ocloud";
/// Field manager of the agent.
pub const AGENT_MANAGER: &str = "addon-agent";
