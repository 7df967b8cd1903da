//! Replays the recorded cases of templates and inventory (golden cases, area `templates`) against the decisions, on an
//! in-memory world, and the schema errors of areas `admission` and `provisioning`. Runs where the folder `../shared/golden` stands beside the
//! project, and for any folder in `GOLDEN_DIR`. The sample repository is played on the same world.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::match_same_arms,
    reason = "a test program: every failure is a failed test"
)]

#[cfg(test)]
mod differences;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod texts;
#[cfg(test)]
mod world;

use std::path::{Path, PathBuf};

use manifests::meta::yaml;
use serde_json::Value;
use world::World;

fn folders(area: &str) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    let given = std::env::var_os("GOLDEN_DIR").map(PathBuf::from);
    let folders = [Some(beside), given].into_iter().flatten();
    let mut out: Vec<PathBuf> = folders.filter_map(|f| f.join(area).canonicalize().ok()).collect();
    out.dedup();
    out
}

/// The YAML files of a folder as cases, in the order of their names.
fn cases(folder: &Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    files.iter().map(|f| yaml::parse(&std::fs::read_to_string(f).unwrap()).unwrap()).collect()
}

/// Schema of a ClusterInstance's spec: of the definition that the cases were recorded with, or ours where that is not
/// at hand.
fn cluster_instance(folder: &Path) -> Value {
    let upstream = folder.join("../../upstream/crds/siteconfig");
    let files = std::fs::read_dir(upstream).into_iter().flatten().flatten();
    let definition = files
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .flat_map(|text| yaml::documents(&text).unwrap_or_default())
        .find(|d| d["metadata"]["name"] == "clusterinstances.siteconfig.open-cluster-management.io")
        .unwrap_or_else(|| {
            use kube::CustomResourceExt;
            serde_json::to_value(manifests::ran::ClusterInstance::crd()).unwrap()
        });
    manager_core::template::spec_schema(&serde_json::from_value(definition).unwrap()).unwrap()
}

#[test]
fn templates_and_inventory_decide_as_recorded() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders("templates") {
        let schema = cluster_instance(&folder);
        for case in cases(&folder) {
            let name = case["case"].as_str().unwrap();
            let found = replay(&case, &schema);
            let wanted = differences::wanted(name);
            if found != wanted {
                failures
                    .push(format!("{name} ({})\n  found  {found:#?}\n  wanted {wanted:#?}", case["title"]));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn schema_errors_read_as_recorded() {
    for (area, compare) in [
        ("admission", texts::admission as fn(&Value) -> texts::Comparison),
        ("provisioning", texts::provisioning),
    ] {
        for folder in folders(area) {
            let results: Vec<_> = cases(&folder).iter().map(compare).collect();
            let differences: Vec<&String> = results.iter().flat_map(|r| &r.differences).collect();
            assert!(differences.is_empty(), "{differences:#?}");
            let count: usize = results.iter().map(|r| r.count).sum();
            assert!(count > 20, "only {count} texts in area {area}");
        }
    }
}

/// Plays one case; returns where we differ from the recording, as `<field> = <our value>`.
fn replay(case: &Value, schema: &Value) -> Vec<String> {
    let mut world = World::new(schema.clone());
    let mut found = Vec::new();
    for object in case["objects"].as_array().into_iter().flatten() {
        world.create(object.clone());
    }
    world.settle();
    for step in case["steps"].as_array().unwrap() {
        found.extend(world.step(step));
        world.settle();
    }
    found
}
