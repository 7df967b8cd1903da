use std::path::Path;

use serde_json::Value;

use super::*;
use crate::meta::yaml;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crds")
}

#[test]
fn committed_files_are_up_to_date() {
    for (folder, crds) in [(root(), own()), (root().join("lab"), lab())] {
        let mut names: Vec<String> = crds.iter().map(file_name).collect();
        for crd in &crds {
            let committed = std::fs::read_to_string(folder.join(file_name(crd))).unwrap_or_default();
            assert!(committed == to_yaml(crd).unwrap(), "{} differs: run `cargo gen`", file_name(crd));
        }
        names.sort();
        let mut files: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(Result::unwrap)
            .filter(|e| e.file_type().unwrap().is_file())
            .map(|e| e.file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, names, "in {}", folder.display());
    }
}

#[test]
fn files_read_back_as_what_was_written() {
    for crd in own().iter().chain(&lab()) {
        let mut want = serde_json::to_value(crd).unwrap();
        let read = yaml::parse_mapping(&to_yaml(crd).unwrap()).unwrap();
        floats_to_integers(&mut want);
        assert_eq!(read, want, "{}", file_name(crd));
    }
}

fn floats_to_integers(value: &mut Value) {
    match value {
        #[expect(clippy::cast_possible_truncation, reason = "bounds of our schemas are whole")]
        Value::Number(n) if n.is_f64() => *value = Value::from(n.as_f64().unwrap() as i64),
        Value::Array(items) => items.iter_mut().for_each(floats_to_integers),
        Value::Object(map) => map.values_mut().for_each(floats_to_integers),
        _ => {}
    }
}

/// What the API server asks of a structural schema, and what spec/08 7.2 asks on top.
#[test]
fn derived_schemas_are_structural_and_clean() {
    // metal3's are written by hand after the published ones.
    for crd in own().iter().chain(&lab()).filter(|c| c.spec.group != "metal3.io") {
        let value = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        walk(&file_name(crd), &value["openAPIV3Schema"]);
    }
}

fn walk(path: &str, schema: &Value) {
    let either = schema["x-kubernetes-int-or-string"] == true;
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    assert!(either || open || schema["type"].is_string(), "{path}: no type in {schema}");
    for word in ["nullable", "title", "$ref", "oneOf", "allOf", "not"] {
        assert!(schema[word].is_null(), "{path}: {word}");
    }
    assert!(schema["anyOf"].is_null() || either, "{path}: anyOf");
    if let Some(values) = schema["enum"].as_array() {
        assert!(!values.contains(&Value::Null), "{path}: null in enum");
    }
    let format = schema["format"].as_str().unwrap_or("date-time");
    assert!(matches!(format, "date-time" | "int64" | "int32"), "{path}: format {format}");
    if schema["x-kubernetes-list-type"] == "map" {
        let required = &schema["items"]["required"];
        for key in schema["x-kubernetes-list-map-keys"].as_array().unwrap() {
            assert!(required.as_array().unwrap().contains(key), "{path}: list key {key} is not required");
        }
    }
    for word in schema["required"].as_array().into_iter().flatten() {
        assert!(
            schema["properties"][word.as_str().unwrap()].is_object(),
            "{path}: required {word} is no property"
        );
    }
    let text = schema["description"].as_str().unwrap_or_default();
    for noise in ["`", "Auto-generated", "spec/"] {
        assert!(!text.contains(noise), "{path}: description {text}");
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property);
    }
    if schema["items"].is_object() {
        walk(&format!("{path}[]"), &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        walk(&format!("{path}{{}}"), &schema["additionalProperties"]);
    }
}
