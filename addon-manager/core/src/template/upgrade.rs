//! Upgrade data of templates and requests: its two published shapes, and the checks that both share
//! (spec/01 4.8, spec/03 1.2 and 1.3).

use manifests::meta::GoDuration;
use manifests::meta::names::parameter::{
    CLUSTER_UPGRADE_TIMEOUT, CLUSTER_VERSION, IMAGE_BASED_GROUP_UPGRADE, INTERMEDIATE_VERSION, UPGRADE,
};
use serde_json::{Map, Value};

use super::decode;
use super::go::quote;
use super::parameters::{self, Extract, NO_UPGRADE_PARAMETERS, NO_UPGRADE_PROPERTIES};
use super::version::Version;
use crate::schema;

/// Key under which the older shape keeps the spec of the `ClusterVersion`.
const CV_SPEC: &str = "cvSpec";

/// Brings `upgradeDefaults` or `upgradeParameters` (named by `label` in messages) into the flat shape: time-out and
/// intermediate version beside `clusterVersion`, which is the spec of a `ClusterVersion` itself.
///
/// # Errors
/// When a value is given in both places and differs.
pub fn normalize(data: &Value, label: &str) -> Result<Value, String> {
    let mut out = data.clone();
    let Some(top) = out.as_object_mut() else { return Ok(out) };
    let Some(Value::Object(version)) = top.get_mut(CLUSTER_VERSION) else { return Ok(out) };
    let mut lifted = Map::new();
    for key in [CLUSTER_UPGRADE_TIMEOUT, INTERMEDIATE_VERSION] {
        if let Some(value) = version.remove(key) {
            lifted.insert(key.to_owned(), value);
        }
    }
    if let Some(Value::Object(inner)) = version.get(CV_SPEC) {
        let inner = inner.clone();
        for (key, value) in &inner {
            if version.get(key).is_some_and(|other| other != value) {
                return Err(twice(label, key));
            }
        }
        *version = inner;
    }
    for (key, value) in lifted {
        match top.get(&key) {
            Some(other) if *other != value => return Err(twice(label, &key)),
            _ => {
                top.insert(key, value);
            }
        }
    }
    Ok(out)
}

fn twice(label: &str, key: &str) -> String {
    format!("{label}: {} is given both under clusterVersion and beside it with different values", quote(key))
}

/// The rules for `ClusterVersion` upgrades, for `upgradeDefaults` of a template and `upgradeParameters` of a request
/// (named by `label`). The first broken rule wins; they hold without a `clusterVersion` too.
///
/// # Errors
/// The broken rule.
pub fn check_cluster_version(data: &Value, label: &str, release: &str) -> Result<(), String> {
    if data.get(CLUSTER_VERSION).is_some_and(|value| !value.is_object()) {
        return Err(format!("{label} \"clusterVersion\" value must be an object"));
    }
    let data = normalize(data, label)?;
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    if let Some(version) =
        text("/clusterVersion/desiredUpdate/version").filter(|v| !v.is_empty() && *v != release)
    {
        return Err(format!(
            "the clusterVersion desiredUpdate.version ({version}) does not match the ClusterTemplate spec.release \
             ({release})"
        ));
    }
    if let Some(limit) = text("/clusterUpgradeTimeout") {
        let wrong = |e: String| format!("invalid clusterUpgradeTimeout {} in {label}: {e}", quote(limit));
        let parsed = GoDuration::parse(limit).map_err(|e| wrong(e.to_string()))?;
        if !parsed.is_positive() {
            return Err(wrong("must be a positive duration".to_owned()));
        }
    }
    match text("/intermediateVersion").filter(|v| !v.is_empty()) {
        Some(version) => check_intermediate(version, release),
        None => Ok(()),
    }
}

fn check_intermediate(text: &str, release: &str) -> Result<(), String> {
    let version = Version::parse(text)
        .map_err(|e| format!("intermediateVersion {} is not valid semver: {e}", quote(text)))?;
    let target = Version::parse(release).map_err(|e| {
        format!(
            "cannot validate intermediateVersion: ClusterTemplate's spec.release {} is not valid semver: {e}",
            quote(release)
        )
    })?;
    if version.major != target.major {
        return Err(format!(
            "intermediateVersion major version ({}) must equal ClusterTemplate's spec.release major version ({})",
            version.major, target.major
        ));
    }
    if version.minor.checked_add(1) != Some(target.minor) {
        return Err(format!(
            "intermediateVersion {text} must be exactly one minor version below ClusterTemplate's spec.release version \
             {release}"
        ));
    }
    Ok(())
}

/// `upgradeDefaults` of a template.
pub(super) fn check_defaults(
    defaults: &Value,
    parameter_schema: &Value,
    release: &str,
) -> Result<(), String> {
    let Some(map) = defaults.as_object() else {
        return Err(format!(
            "upgradeDefaults is not a map: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            decode::kind(defaults)
        ));
    };
    let kind = match (map.contains_key(CLUSTER_VERSION), map.get(IMAGE_BASED_GROUP_UPGRADE)) {
        (true, Some(_)) => {
            return Err("upgradeDefaults contains both \"clusterVersion\" and \"imageBasedGroupUpgrade\" keys; only one \
                        upgrade type is allowed"
                .to_owned());
        }
        (true, None) => CLUSTER_VERSION,
        (false, Some(_)) => IMAGE_BASED_GROUP_UPGRADE,
        (false, None) => return Ok(()),
    };
    conforms(defaults, parameter_schema, kind)?;
    match map.get(IMAGE_BASED_GROUP_UPGRADE) {
        Some(value) => image_based(value, release),
        None => check_cluster_version(defaults, "upgradeDefaults", release)
            .map_err(|e| format!("clusterVersion upgrade validation failed: {e}")),
    }
}

/// Step 3: the defaults as they are written against the schema of the parameters that may override them.
fn conforms(defaults: &Value, parameter_schema: &Value, kind: &str) -> Result<(), String> {
    let level = match parameters::sub_schema(parameter_schema, UPGRADE) {
        Ok(level) => level,
        Err(Extract::Absent(_)) => return Err(NO_UPGRADE_PARAMETERS.to_owned()),
        Err(Extract::Bad(text)) => {
            return Err(format!("failed to extract \"upgradeParameters\" schema: {text}"));
        }
    };
    let Some(properties) = parameters::properties(level) else {
        return Err(NO_UPGRADE_PROPERTIES.to_owned());
    };
    if !properties.contains_key(kind) {
        let kind = quote(kind);
        return Err(format!(
            "upgradeDefaults defines {kind}, but upgradeParameters schema does not include a matching {kind} definition"
        ));
    }
    schema::check(&Value::Object(level.clone()), defaults)
        .map_err(|e| format!("upgradeDefaults does not conform to the upgradeParameters schema: {e}"))
}

fn image_based(value: &Value, release: &str) -> Result<(), String> {
    decode::image_based_group_upgrade(value).map_err(|e| {
        format!("failed to get IBGU from upgradeDefaults: failed to unmarshal IBGU spec, unexpected data structure: {e}")
    })?;
    let version = value.pointer("/ibuSpec/seedImageRef/version").and_then(Value::as_str);
    match version.filter(|v| !v.is_empty() && *v != release) {
        Some(version) => Err(format!(
            "The ClusterTemplate spec.release ({release}) does not match the seedImageRef version ({version}) from the \
             upgrade defaults"
        )),
        None => Ok(()),
    }
}
