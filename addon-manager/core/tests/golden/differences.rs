//! Where we want to differ from what was recorded, with the reason (spec/01, marked there as better). Each entry holds
//! what ours says instead, in the order of the steps; anything else is a failure.

/// Message of a valid template.
const VALID: &str = "The cluster template validation succeeded";

/// Our values at the places where the case `name` is to differ.
pub(crate) fn wanted(name: &str) -> Vec<String> {
    match name {
        // 4.1, 4.10: a restart changes nothing; the oldest of two keeps the name.
        "013-dup-restart" => status(VALID),
        // 4.6: a ConfigMap that cannot be used is reported once, not by two checks.
        "067-ci-missing" => with(status(&not_found("gc-ci-missing")), &["immutable = null"]),
        "069-ci-key-missing" => {
            status("the ConfigMap 'ci-defaults' does not contain a field named 'clusterinstance-defaults'")
        }
        "070-ci-yaml-broken" => status(&not_yaml(
            "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
        )),
        "072-ci-yaml-list" => status(&not_mapping("array")),
        "073-ci-yaml-scalar" => status(&not_mapping("string")),
        "178-life-switch-cm" => {
            let text = not_found("gc-life-switch-cm");
            [status(&text), status(&text)].concat()
        }
        "180-life-invalid-used" => status(&not_found("gc-life-invalid-used")),
        // 4.5: ConfigMaps are locked only when the whole template is valid, so that they can be corrected in place.
        "111-imm-locked-invalid" => [
            with(Vec::new(), &["immutable = null", "ci-defaults refused = false"]),
            status(&not_found("gc-imm-locked-invalid")),
        ]
        .concat(),
        "174-joined-three" => with(Vec::new(), &["immutable = null", "immutable = null"]),
        // 4.6: a missing ClusterImageSet, and one without a version, are errors of the user and shown as such.
        "114-img-missing-stale" => status(&no_image_set("img-img-missing-stale")),
        "120-img-digest" => status(&no_version(
            "img-img-digest",
            "registry.example.net/ocp/release@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        )),
        "121-img-notag" => status(&no_version("img-img-notag", "registry.example.net/ocp/release")),
        // 4.6: engineering candidates are versions too.
        "124-img-ec" => status(VALID),
        // Section 3: what a template depends on is watched, also when the template is valid.
        "139-deps-deleted" => status(&format!(
            "HardwareProfile \"hwp-deps-deleted\" referenced by nodeGroup \"master\" does not exist;{}",
            no_image_set("img-deps-deleted")
        )),
        // The same: the template healed when the definition came back, so that its spec is frozen again.
        "181-crd-absent" => with(Vec::new(), &["crd-absent.v1-0 refused = true"]),
        // 1.13, spec/03 1.2: the older shape of upgrade data means what it says.
        "156-upd-nested-form" => status(
            "clusterVersion upgrade validation failed: the clusterVersion desiredUpdate.version (4.0.0) does not match \
             the ClusterTemplate spec.release (4.19.7)",
        ),
        _ => Vec::new(),
    }
}

fn status(message: &str) -> Vec<String> {
    vec![format!("status = {}", serde_json::Value::from(message))]
}

fn with(mut list: Vec<String>, more: &[&str]) -> Vec<String> {
    list.extend(more.iter().map(|&text| text.to_owned()));
    list
}

fn not_found(namespace: &str) -> String {
    format!(
        "failed to get ConfigmapReference: the ConfigMap 'ci-defaults' is not found in the namespace '{namespace}'"
    )
}

fn not_yaml(why: &str) -> String {
    format!(
        "the value of key clusterinstance-defaults from ConfigMap ci-defaults is not in a valid YAML string: {why}"
    )
}

fn not_mapping(what: &str) -> String {
    not_yaml(&format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {what} into Go value of type \
         map[string]interface {{}}"
    ))
}

fn no_image_set(name: &str) -> String {
    format!(
        "ClusterImageSet {name} referenced in ClusterInstanceDefaults ConfigMap ci-defaults does not exist"
    )
}

fn no_version(name: &str, image: &str) -> String {
    format!(
        "could not extract version from ClusterImageSet {name}: no releaseTag label and release image {image} has no \
         parseable tag"
    )
}
