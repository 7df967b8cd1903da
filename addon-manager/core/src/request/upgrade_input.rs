//! Checks of `upgradeParameters` that admission makes (spec/02 6.7, spec/01 4.8 step 4). Both published shapes are
//! read (B-24): time-out and intermediate version beside `clusterVersion` or inside of it, its content direct or
//! under `cvSpec`.

use manifests::meta::names::parameter;
use serde_json::Value;

use super::error::InputError;
use crate::template::upgrade::check_cluster_version;

/// Checks the upgrade input of a request against the release of its template.
///
/// # Errors
/// Of class input.
pub(super) fn check(parameters: &Value, release: &str) -> Result<(), InputError> {
    let Some(upgrade) = parameters.get(parameter::UPGRADE) else { return Ok(()) };
    if !upgrade.is_object() {
        return Err(InputError::input("spec.templateParameters.upgradeParameters must be an object"));
    }
    check_cluster_version(upgrade, parameter::UPGRADE, release)
        .map_err(|text| InputError::input(format!("spec.templateParameters.upgradeParameters: {text}")))
}
