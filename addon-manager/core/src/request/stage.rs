//! Conditions of the preparation stages (spec/02 3.2): what a stage says when it is over, well or badly.

use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::meta::condition::Next;

use super::error::InputError;

/// `ProvisioningRequestValidated`.
pub fn validated<T>(result: &Result<T, InputError>) -> Next {
    stage(
        RequestCondition::Validated,
        result,
        "The provisioning request validation succeeded",
        "Failed to validate the ProvisioningRequest: ",
    )
}

/// `ClusterInstanceRendered`.
pub fn rendered<T>(result: &Result<T, InputError>) -> Next {
    stage(
        RequestCondition::ClusterInstanceRendered,
        result,
        "ClusterInstance rendered and passed dry-run validation",
        "Failed to render and validate ClusterInstance: ",
    )
}

/// `ClusterResourcesCreated`.
pub fn resources<T>(result: &Result<T, InputError>) -> Next {
    stage(
        RequestCondition::ClusterResourcesCreated,
        result,
        "Cluster resources applied",
        "Failed to apply the required cluster resource: ",
    )
}

/// `NodeAllocationRequestRendered`.
pub fn allocation<T>(result: &Result<T, InputError>) -> Next {
    stage(
        RequestCondition::NodeAllocationRequestRendered,
        result,
        "Built NodeAllocationRequest successfully",
        "Failed to build the NodeAllocationRequest: ",
    )
}

fn stage<T>(type_: RequestCondition, result: &Result<T, InputError>, good: &str, bad: &str) -> Next {
    match result {
        Ok(_) => Next::yes(type_, RequestReason::Completed, good),
        Err(e) => Next::no(type_, RequestReason::Failed, format!("{bad}{e}")),
    }
}
