//! The sample repository (`tests/data/git`) converges, in whatever order its objects arrive (spec/01 section 13,
//! scenario 11).

use std::path::{Path, PathBuf};

use kube::CustomResourceExt;
use manager_core::template;
use manifests::meta::yaml;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use super::world::World;

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "yaml") && !path.ends_with("kustomization.yaml") {
            out.push(path);
        }
    }
}

fn objects() -> Vec<Value> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/git"), &mut paths);
    paths.sort();
    let documents = paths.iter().flat_map(|p| yaml::documents(&std::fs::read_to_string(p).unwrap()).unwrap());
    documents.filter(|d| d["kind"].is_string()).collect()
}

/// The condition of each object of a kind: its status, and its reason and message.
fn said(world: &World, kind: &str) -> Vec<(Value, String)> {
    let conditions = world.of_kind(kind).into_iter().map(|o| &o["status"]["conditions"][0]);
    conditions.map(|c| (c["status"].clone(), format!("{kind} {}: {}", c["reason"], c["message"]))).collect()
}

#[test]
fn s01_011_the_sample_repository_converges_in_any_order() {
    let definition = manifests::ran::ClusterInstance::crd();
    let schema = template::spec_schema(&definition).unwrap();
    let all = objects();
    let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
    runner
        .run(&Just(all).prop_shuffle(), |order| {
            let mut world = World::new(schema.clone());
            for object in order {
                world.create(object);
                world.settle();
            }
            for kind in ["ClusterTemplate", "HardwareProfile", "Location", "OCloudSite", "ResourcePool"] {
                let said = said(&world, kind);
                prop_assert!(!said.is_empty(), "no {}", kind);
                for (status, text) in said {
                    prop_assert_eq!(status, "True", "{}", text);
                }
            }
            Ok(())
        })
        .unwrap();
}
