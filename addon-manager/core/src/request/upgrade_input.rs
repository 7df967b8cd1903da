//! Checks of `upgradeParameters` that admission makes (spec/02 6.7, spec/01 4.8 step 4). Both published shapes are
//! read (B-24): time-out and intermediate version beside `clusterVersion` or inside of it, its content direct or
//! under `cvSpec`.

use manifests::meta::GoDuration;
use manifests::meta::names::parameter;
use serde_json::Value;

use super::error::InputError;

/// Checks the upgrade input of a request against the release of its template.
///
/// # Errors
/// Of class input.
pub(super) fn check(parameters: &Value, release: &str) -> Result<(), InputError> {
    let Some(upgrade) = parameters.get(parameter::UPGRADE) else { return Ok(()) };
    if !upgrade.is_object() {
        return Err(InputError::input("spec.templateParameters.upgradeParameters must be an object"));
    }
    check_cluster_version(upgrade, release)
        .map_err(|text| InputError::input(format!("spec.templateParameters.upgradeParameters: {text}")))
}

fn check_cluster_version(upgrade: &Value, release: &str) -> Result<(), String> {
    let cluster_version = upgrade.get(parameter::CLUSTER_VERSION);
    if cluster_version.is_some_and(|c| !c.is_object()) {
        return Err("upgradeParameters \"clusterVersion\" value must be an object".to_owned());
    }
    let content = cluster_version.map(|c| c.get("cvSpec").unwrap_or(c));
    let version = content.and_then(|c| c.pointer("/desiredUpdate/version")).and_then(Value::as_str);
    if let Some(version) = version.filter(|v| !v.is_empty() && *v != release) {
        return Err(format!(
            "the clusterVersion desiredUpdate.version ({version}) does not match the ClusterTemplate spec.release \
             ({release})"
        ));
    }
    let beside_or_inside = |key: &str| {
        upgrade.get(key).or_else(|| cluster_version.and_then(|c| c.get(key))).and_then(Value::as_str)
    };
    if let Some(text) = beside_or_inside(parameter::CLUSTER_UPGRADE_TIMEOUT) {
        let invalid =
            |why: String| format!("invalid clusterUpgradeTimeout {text:?} in upgradeParameters: {why}");
        let limit = GoDuration::parse(text).map_err(|e| invalid(e.to_string()))?;
        if !limit.is_positive() {
            return Err(invalid("must be a positive duration".to_owned()));
        }
    }
    if let Some(text) = beside_or_inside(parameter::INTERMEDIATE_VERSION).filter(|t| !t.is_empty()) {
        check_intermediate(text, release)?;
    }
    Ok(())
}

fn check_intermediate(text: &str, release: &str) -> Result<(), String> {
    let (major, minor) =
        major_minor(text).map_err(|e| format!("intermediateVersion {text:?} is not valid semver: {e}"))?;
    let (release_major, release_minor) = major_minor(release).map_err(|e| {
        format!(
            "cannot validate intermediateVersion: ClusterTemplate's spec.release {release:?} is not valid semver: {e}"
        )
    })?;
    if major != release_major {
        return Err(format!(
            "intermediateVersion major version ({major}) must equal ClusterTemplate's spec.release major version \
             ({release_major})"
        ));
    }
    if minor.checked_add(1) != Some(release_minor) {
        return Err(format!(
            "intermediateVersion {text} must be exactly one minor version below ClusterTemplate's spec.release \
             version {release}"
        ));
    }
    Ok(())
}

/// Major and minor number; three numeric parts, then optional pre-release and metadata.
fn major_minor(text: &str) -> Result<(u64, u64), String> {
    let core = text.split('+').next().unwrap_or_default();
    let core = core.split('-').next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let [major, minor, patch] = parts.as_slice() else {
        return Err(format!("{core} is not in dotted-tri format"));
    };
    let number = |part: &str| {
        part.parse::<u64>().map_err(|_| format!("strconv.ParseInt: parsing {part:?}: invalid syntax"))
    };
    number(patch)?;
    Ok((number(major)?, number(minor)?))
}
