//! Replay of the recorded cases, where they are at hand: `GOLDEN_DIR`, or `shared/golden` beside the project.
//!
//! Admission cases are replayed whole. Of provisioning cases each recorded state is taken as it is, and what the pure
//! pieces make of it is compared: the validation text, the rendered ClusterInstance with host data, the
//! NodeAllocationRequest, the policy ConfigMap.

mod admission;
mod provisioning;
mod status;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manifests::clcm::ClusterTemplate;
use manifests::meta::yaml;
use serde_json::{Value, json};

use super::super::names::ClusterNamespace;
use super::super::template::{self, Template};

fn cases(area: &str) -> Vec<(String, Value)> {
    let fallback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    let root = std::env::var_os("GOLDEN_DIR").map_or(fallback, PathBuf::from);
    let Ok(dir) = std::fs::read_dir(root.join(area)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = dir.map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    files
        .into_iter()
        .map(|f| {
            let text = std::fs::read_to_string(&f).unwrap();
            (f.file_stem().unwrap().to_string_lossy().into_owned(), yaml::parse(&text).unwrap())
        })
        .collect()
}

type Key = (String, String, String);

/// Objects by kind, namespace, name.
#[derive(Default)]
struct Store(BTreeMap<Key, Value>);

fn text(v: &Value, pointer: &str) -> String {
    v.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn key(object: &Value) -> Key {
    (text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn target(t: &Value) -> Key {
    (text(t, "/kind"), text(t, "/namespace"), text(t, "/name"))
}

impl Store {
    fn put(&mut self, object: &Value) {
        // Times were normalised to a word.
        let text = object.to_string().replace("\"<time>\"", "\"2026-01-01T00:00:00Z\"");
        let mut object: Value = serde_json::from_str(&text).unwrap();
        let old = self.0.get(&key(&object));
        // A recorded object may lack the part that is not compared.
        for part in ["spec", "status", "data"] {
            if object.get(part).is_none()
                && let Some(old) = old.and_then(|o| o.get(part))
            {
                object[part] = old.clone();
            }
        }
        self.0.insert(key(&object), object);
    }

    fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |((k, _, _), _)| k == kind).map(|(_, v)| v)
    }

    fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.0.get(&(kind.to_owned(), namespace.to_owned(), name.to_owned()))
    }

    fn data(&self, namespace: &str, name: &str) -> Option<template::Data> {
        let data = self.get("ConfigMap", namespace, name)?.get("data")?.clone();
        serde_json::from_value(data).ok()
    }

    fn template(&self, name: &str) -> Option<Template> {
        let all: Vec<ClusterTemplate> =
            self.of_kind("ClusterTemplate").map(|v| serde_json::from_value(v.clone()).unwrap()).collect();
        let found = crate::template::find_valid(&all, name).ok()?;
        let namespace = found.metadata.namespace.clone().unwrap_or_default();
        let defaults = &found.spec.template_defaults;
        Some(Template::prepare(
            found,
            self.data(&namespace, &defaults.cluster_instance_defaults).as_ref(),
            self.data(&namespace, &defaults.policy_template_defaults).as_ref(),
        ))
    }

    fn namespace(&self, name: &str) -> Option<ClusterNamespace> {
        let found = self.get("Namespace", "", name)?;
        let owner = found.pointer("/metadata/labels/provisioningrequest.clcm.openshift.io~1name");
        Some(ClusterNamespace { owner: owner.and_then(Value::as_str).map(str::to_owned), terminating: false })
    }

    fn has_profile(&self, name: &str) -> bool {
        self.get("HardwareProfile", "oran-o2ims", name).is_some()
    }

    fn merge(&mut self, key: &Key, patch: &Value, part: Option<&str>) {
        let Some(object) = self.0.get_mut(key) else { return };
        let object = match part {
            Some(part) => {
                if object.get(part).is_none() {
                    object[part] = json!({});
                }
                &mut object[part]
            }
            None => object,
        };
        json_patch::merge(object, patch);
        let again = self.0[key].clone();
        self.put(&again);
    }
}

fn apply_action(store: &mut Store, action: &Value) {
    for (verb, body) in action.as_object().into_iter().flatten() {
        match verb.as_str() {
            "create" => store.put(body),
            "replace" => {
                let id = target(body);
                if let Some(object) = store.0.get_mut(&id) {
                    object["spec"] = body["spec"].clone();
                }
            }
            "merge" => store.merge(&target(body), &body["patch"], None),
            "mergeStatus" => store.merge(&target(body), &body["patch"], Some("status")),
            "delete" => {
                store.0.remove(&target(body));
            }
            _ => {}
        }
    }
}
