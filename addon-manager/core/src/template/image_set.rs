//! The `ClusterImageSet` of the defaults against the release of the template (spec/01 4.6).

use std::cmp::Ordering;

use kube::ResourceExt;
use manifests::meta::labels;
use manifests::openshift::ClusterImageSet;
use regex::Regex;
use serde_json::Value;

use super::go::type_name;
use super::version::Version;

/// Key of the name in the defaults.
pub(super) const KEY: &str = "clusterImageSetNameRef";

/// `image_set` is the object that the defaults name, if it exists.
pub(super) fn check(
    defaults: &Value,
    config_map: &str,
    release: &str,
    image_set: Option<&ClusterImageSet>,
) -> Result<(), String> {
    let Some(name) = defaults.get(KEY) else {
        return Err(format!("{KEY} not found in ClusterInstanceDefaults ConfigMap {config_map}"));
    };
    let Some(name) = name.as_str() else {
        return Err(format!(
            "{KEY} in ClusterInstanceDefaults ConfigMap {config_map} is not a string: {}",
            type_name(name)
        ));
    };
    let Some(image_set) = image_set.filter(|set| set.name_any() == name) else {
        return Err(format!(
            "ClusterImageSet {name} referenced in ClusterInstanceDefaults ConfigMap {config_map} does not exist"
        ));
    };
    let image = &image_set.spec.release_image;
    let label = image_set.labels().get(labels::RELEASE_TAG);
    let tag = image.rsplit_once(':').map(|(_, tag)| tag);
    let found = label.and_then(|text| version_in(text)).or_else(|| tag.and_then(version_in));
    let Some(version) = found else {
        return Err(format!(
            "could not extract version from ClusterImageSet {name}: no releaseTag label and release image {image} has \
             no parseable tag"
        ));
    };
    matches(&version, release).map_err(|e| {
        format!(
            "ClusterImageSet {name} version ({version}) does not match ClusterTemplate release version ({release}): {e}"
        )
    })
}

/// The first version in a text. Upstream does not know `-ec.N` and cuts it off.
fn version_in(text: &str) -> Option<String> {
    let pattern = Regex::new(r"[0-9]+\.[0-9]+\.[0-9]+(-(rc|alpha|beta|ec)[0-9.]*)*").ok()?;
    pattern.find(text).map(|found| found.as_str().to_owned())
}

fn matches(version: &str, release: &str) -> Result<(), String> {
    let parse = |what: &str, text: &str| {
        Version::parse(text.strip_prefix('v').unwrap_or(text))
            .map_err(|e| format!("failed to parse {what} version '{text}' as semver: {e}"))
    };
    let image = parse("ClusterImageSet", version)?;
    let wanted = parse("ClusterTemplate release", release)?;
    if image.precedence(&wanted) == Ordering::Equal {
        Ok(())
    } else {
        Err(format!(
            "versions do not match exactly: ClusterImageSet version {version} != ClusterTemplate version {release}"
        ))
    }
}
