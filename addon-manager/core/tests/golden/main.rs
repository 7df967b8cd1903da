//! Replays the recorded cases of templates and inventory (golden cases, area `templates`) against the decisions, on an
//! in-memory world. Runs where the folder `../shared/golden` stands beside the project, and for any folder in
//! `GOLDEN_DIR`.

#[cfg(test)]
mod differences;
#[cfg(test)]
mod world;

use std::path::{Path, PathBuf};

use manifests::meta::yaml;
use serde_json::Value;
use world::World;

fn folders() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    let given = std::env::var_os("GOLDEN_DIR").map(PathBuf::from);
    let folders = [Some(beside), given].into_iter().flatten();
    let mut out: Vec<PathBuf> = folders.filter_map(|f| f.join("templates").canonicalize().ok()).collect();
    out.dedup();
    out
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
    for folder in folders() {
        let definition = cluster_instance(&folder);
        let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "yaml"));
        files.sort();
        for file in files {
            let case = yaml::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let name = case["case"].as_str().unwrap().to_owned();
            let found = replay(&case, &definition);
            let wanted = differences::wanted(&name);
            if found != wanted {
                failures
                    .push(format!("{name} ({})\n  found  {found:#?}\n  wanted {wanted:#?}", case["title"]));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases differ:\n{}", failures.len(), failures.join("\n"));
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
