//! Our CRDs against the published ones, field by field. Descriptions are ours.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::*;
use crate::meta::yaml;

/// Differences that we want: file, place, why. Each must be found.
const WANTED: &[(&str, &str, &str)] = &[
    (
        "clcm.openshift.io_clustertemplates.yaml",
        "schema: x-kubernetes-validations[0].rule",
        "a status without conditions is no evaluation error (spec/01 1.2)",
    ),
    (
        "clcm.openshift.io_hardwareprofiles.yaml",
        "schema: required",
        "without its spec a profile can never be changed (spec/01 1.4)",
    ),
];

fn upstream(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/upstream/crds").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: the published CRDs are not there ({})", path.display());
    None
}

#[test]
fn own_crds_equal_the_published_ones() {
    let Some(folder) = upstream("own") else { return };
    let ours = own();
    let mut found = Vec::new();
    let mut unwanted = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        files += 1;
        let Some(crd) = ours.iter().find(|c| file_name(c) == file) else {
            unwanted.push(format!("{file}: we have none"));
            continue;
        };
        for difference in differences(crd, &path) {
            match WANTED.iter().find(|(f, place, _)| *f == file && difference.starts_with(place)) {
                Some(wanted) => found.push(*wanted),
                None => unwanted.push(format!("{file}: {difference}")),
            }
        }
    }
    assert!(unwanted.is_empty(), "differences that nobody wants:\n{}", unwanted.join("\n"));
    for wanted in WANTED {
        assert!(found.contains(wanted), "a wanted difference is not there: {wanted:?}");
    }
    let published =
        |c: &&CustomResourceDefinition| [crate::clcm::GROUP, crate::ocloud::GROUP].contains(&&*c.spec.group);
    assert_eq!(files, ours.iter().filter(published).count());
}

#[test]
fn the_lab_s_cluster_instance_equals_the_published_one() {
    let Some(folder) = upstream("siteconfig") else { return };
    let crd = lab().into_iter().find(|c| c.spec.names.kind == "ClusterInstance").unwrap();
    let found = differences(&crd, &folder.join(file_name(&crd)));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn differences(crd: &CustomResourceDefinition, theirs: &Path) -> Vec<String> {
    let ours = serde_json::to_value(crd).unwrap();
    let theirs = yaml::parse_mapping(&std::fs::read_to_string(theirs).unwrap()).unwrap();
    let mut out = Vec::new();
    compare("name", &ours["metadata"]["name"], &theirs["metadata"]["name"], &mut out);
    for part in ["group", "scope"] {
        compare(part, &ours["spec"][part], &theirs["spec"][part], &mut out);
    }
    compare("names", &names(&ours), &names(&theirs), &mut out);
    compare("versions", &json!(ours["spec"]["versions"].as_array().unwrap().len()), &json!(1), &mut out);
    let (ours, theirs) = (&ours["spec"]["versions"][0], &theirs["spec"]["versions"][0]);
    for part in ["name", "served", "storage", "subresources", "additionalPrinterColumns", "selectableFields"]
    {
        compare(part, &ours[part], &theirs[part], &mut out);
    }
    let schema = |version: &Value| normal(&version["schema"]["openAPIV3Schema"]);
    compare("schema: ", &schema(ours), &schema(theirs), &mut out);
    out
}

/// Names without what the API server fills in.
fn names(crd: &Value) -> Value {
    let mut names = crd["spec"]["names"].clone();
    let kind = names["kind"].as_str().unwrap().to_owned();
    let map = names.as_object_mut().unwrap();
    map.entry("listKind").or_insert_with(|| format!("{kind}List").into());
    map.entry("singular").or_insert_with(|| kind.to_lowercase().into());
    names
}

/// A schema without descriptions, with `required` in order and numbers as numbers.
fn normal(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                if key == "description" && value.is_string() {
                    continue;
                }
                let mut value = match key.as_str() {
                    // Names of fields are not keywords.
                    "properties" => value
                        .as_object()
                        .unwrap()
                        .iter()
                        .map(|(name, property)| (name.clone(), normal(property)))
                        .collect(),
                    "default" => value.clone(),
                    _ => normal(value),
                };
                if key == "required" {
                    value.as_array_mut().unwrap().sort_by_key(Value::to_string);
                }
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Number(n) => json!(n.as_f64().unwrap()),
        other => other.clone(),
    }
}

fn compare(path: &str, ours: &Value, theirs: &Value, out: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let dot = if path.is_empty() || path.ends_with(' ') { "" } else { "." };
                compare(
                    &format!("{path}{dot}{key}"),
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    out,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{i}]"), x, y, out);
            }
        }
        _ if ours == theirs => {}
        _ => out.push(format!("{path}: ours {ours}, published {theirs}")),
    }
}
