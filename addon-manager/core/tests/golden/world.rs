//! An API server's memory, as far as the cases need one, and the controllers run on it until nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use manager_core::inventory::{self, PoolSeen, SiteSeen};
use manager_core::plan::{Plan, Step};
use manager_core::template::{self, Seen, Twin};
use manifests::clcm::ClusterTemplate;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Kind, namespace, name.
type Key = (String, String, String);

pub(crate) struct World {
    objects: BTreeMap<Key, Value>,
    /// Schema of a ClusterInstance's spec, and whether its definition is there.
    schema: Value,
    has_definition: bool,
    seconds: i64,
    counter: u64,
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn key(object: &Value) -> Key {
    (text(object, "/kind"), text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn target(step: &Value) -> Key {
    let t = &step["target"];
    (text(t, "/kind"), text(t, "/namespace"), text(t, "/name"))
}

fn typed<K: DeserializeOwned>(object: &Value) -> K {
    serde_json::from_value(object.clone()).unwrap()
}

impl World {
    pub(crate) fn new(schema: Value) -> Self {
        World { objects: BTreeMap::new(), schema, has_definition: true, seconds: 1_790_000_000, counter: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds).unwrap()
    }

    fn version(&mut self) -> String {
        self.counter += 1;
        self.counter.to_string()
    }

    pub(crate) fn create(&mut self, mut object: Value) {
        self.seconds += 1;
        let version = self.version();
        let meta = object["metadata"].as_object_mut().unwrap();
        meta.insert("uid".into(), json!(format!("uid-{version}")));
        meta.insert("resourceVersion".into(), json!(version));
        meta.insert("generation".into(), json!(1));
        meta.insert(
            "creationTimestamp".into(),
            json!(Timestamp::from_second(self.seconds).unwrap().to_string()),
        );
        let now = json!(self.now().to_string());
        fill_times(&mut object, &now);
        self.objects.insert(key(&object), object);
    }

    /// What the API server refuses: specs of valid templates and data of immutable `ConfigMaps` do not change.
    fn refuses(&self, key: &Key, new: &Value) -> bool {
        let old = &self.objects[key];
        match key.0.as_str() {
            "ClusterTemplate" => {
                let conditions = old["status"]["conditions"].as_array();
                let open = conditions.is_none_or(|c| c.iter().any(|c| c["status"] == "False"));
                let named = format!("{}.{}", text(new, "/spec/name"), text(new, "/spec/version"));
                (!open && old["spec"] != new["spec"]) || named != key.2
            }
            "ConfigMap" => {
                old["immutable"] == true && (old["data"] != new["data"] || new["immutable"] != true)
            }
            _ => false,
        }
    }

    fn put(&mut self, key: &Key, mut new: Value) {
        let old = &self.objects[key];
        if *old == new {
            return;
        }
        if old["spec"] != new["spec"] {
            new["metadata"]["generation"] = json!(old["metadata"]["generation"].as_i64().unwrap() + 1);
        }
        new["metadata"]["resourceVersion"] = json!(self.version());
        self.objects.insert(key.clone(), new);
    }

    /// Carries out a step of a case; returns differences.
    pub(crate) fn step(&mut self, step: &Value) -> Vec<String> {
        self.seconds += 1;
        match step["op"].as_str().unwrap() {
            "create" if step["result"]["code"] == 201 => {
                self.create(step["object"].clone());
            }
            "patch" | "replace" => {
                let is_patch = step["op"] == "patch";
                let key = if is_patch { target(step) } else { key(&step["object"]) };
                let mut new = self.objects[&key].clone();
                if is_patch {
                    json_patch::merge(&mut new, &step["patch"]);
                } else {
                    for (name, value) in step["object"].as_object().unwrap() {
                        if name != "metadata" {
                            new[name] = value.clone();
                        }
                    }
                }
                let now = json!(self.now().to_string());
                fill_times(&mut new, &now);
                let refused = self.refuses(&key, &new);
                let expected = step["result"]["code"].as_i64().unwrap();
                if refused != (expected == 422) {
                    return vec![format!("{} refused = {refused}", key.2)];
                }
                if !refused {
                    self.put(&key, new);
                }
            }
            "delete" => {
                self.objects.remove(&target(step));
            }
            "delete-clusterinstance-crd" => self.has_definition = false,
            "create-clusterinstance-crd" => self.has_definition = true,
            "observe" => return self.observe(step),
            _ => {}
        }
        Vec::new()
    }

    fn observe(&self, step: &Value) -> Vec<String> {
        let key = target(step);
        if key.0 == "ProvisioningRequest" {
            return Vec::new();
        }
        let Some(object) = self.objects.get(&key) else {
            return if step["absent"] == true { vec![] } else { vec![format!("{} is absent", key.2)] };
        };
        let mut out = Vec::new();
        for (path, expected) in step["fields"].as_object().unwrap() {
            let found = path.split('.').fold(object, |at, part| &at[part]);
            let mut found = found.clone();
            if key.0 == "ClusterTemplate" {
                // Ours says which generation the condition is about (spec/01 section 3).
                for c in found.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
                    c.as_object_mut().unwrap().remove("observedGeneration").unwrap();
                }
            }
            if !self.same(&found, expected, step["any_order"] == true) {
                let message = found.pointer("/conditions/0/message").cloned();
                out.push(format!("{path} = {}", message.unwrap_or(found)));
            }
        }
        out
    }

    fn same(&self, found: &Value, expected: &Value, any_order: bool) -> bool {
        match (found, expected) {
            (found, Value::String(e)) if e == "<absent>" => found.is_null(),
            (Value::String(f), Value::String(e)) if e == "<time>" => f.parse::<Timestamp>().is_ok(),
            (Value::String(f), Value::String(e)) if e == "<uuid>" => {
                uuid::Uuid::parse_str(f).is_ok_and(|id| id.get_version_num() == 4)
            }
            (Value::String(f), Value::String(e)) if e.starts_with("<uid:") => {
                let path: Vec<&str> =
                    e.trim_start_matches("<uid:").trim_end_matches('>').split('/').collect();
                let key = (path[0].to_owned(), path[1].to_owned(), path[2].to_owned());
                text(&self.objects[&key], "/metadata/uid") == *f
            }
            (Value::String(f), Value::String(e)) if any_order => parts(f) == parts(e),
            (Value::Array(f), Value::Array(e)) => {
                f.len() == e.len() && f.iter().zip(e).all(|(f, e)| self.same(f, e, any_order))
            }
            (Value::Object(f), Value::Object(e)) => {
                f.keys().eq(e.keys()) && f.iter().zip(e).all(|((_, f), (_, e))| self.same(f, e, any_order))
            }
            (f, e) => f == e,
        }
    }

    /// Runs all controllers until nothing changes.
    pub(crate) fn settle(&mut self) {
        for _ in 0..20 {
            let before = self.objects.clone();
            let keys: Vec<Key> = self.objects.keys().cloned().collect();
            for key in keys {
                self.reconcile(&key);
            }
            self.seconds += 1;
            if self.objects == before {
                return;
            }
        }
        panic!("the controllers do not come to rest");
    }

    fn reconcile(&mut self, key: &Key) {
        let object = self.objects[key].clone();
        let now = self.now();
        let parent = |kind: &str, name: &str| {
            self.objects.get(&(kind.to_owned(), key.1.clone(), text(&object, name))).cloned()
        };
        match key.0.as_str() {
            "ClusterTemplate" => {
                let plan = self.template(&object, now);
                self.act(key, &plan);
            }
            "Location" => {
                let plan = inventory::decide_location(&typed(&object), now);
                self.act(key, &plan);
            }
            "OCloudSite" => {
                let location = parent("Location", "/spec/globalLocationName").map(|l| typed(&l));
                let seen = SiteSeen { site: &typed(&object), location: location.as_ref() };
                let plan = inventory::decide_site(&seen, now);
                self.act(key, &plan);
            }
            "ResourcePool" => {
                let site = parent("OCloudSite", "/spec/oCloudSiteName").map(|s| typed(&s));
                let seen = PoolSeen { pool: &typed(&object), site: site.as_ref() };
                let plan = inventory::decide_pool(&seen, now);
                self.act(key, &plan);
            }
            "FirmwareCatalog" => {
                let plan = inventory::decide_catalog(&typed(&object), now);
                self.act(key, &plan);
            }
            "HardwareProfile" => {
                let plan = inventory::decide_profile(&typed(&object), now);
                self.act(key, &plan);
            }
            _ => {}
        }
    }

    /// Objects of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.objects.iter().filter(|(key, _)| key.0 == kind).map(|(_, object)| object).collect()
    }

    fn template(&self, object: &Value, now: Timestamp) -> Plan<manifests::clcm::ClusterTemplateStatus> {
        let template: ClusterTemplate = typed(object);
        let namespace = text(object, "/metadata/namespace");
        let defaults = &template.spec.template_defaults;
        let map = |name: &str| -> Option<ConfigMap> {
            self.objects.get(&("ConfigMap".into(), namespace.clone(), name.to_owned())).map(typed)
        };
        let cluster = map(&defaults.cluster_instance_defaults);
        let policy = map(&defaults.policy_template_defaults);
        let dependencies = template::dependencies(&template, cluster.as_ref());
        let exists = |name: &String| {
            self.objects.contains_key(&("HardwareProfile".into(), "oran-o2ims".into(), name.clone()))
        };
        let profiles: BTreeSet<String> = dependencies.profiles.into_iter().filter(exists).collect();
        let image_set = dependencies
            .image_set
            .and_then(|name| self.objects.get(&("ClusterImageSet".into(), String::new(), name)))
            .map(typed);
        let twins = self
            .objects
            .iter()
            .filter(|(k, _)| k.0 == "ClusterTemplate" && k.1 != namespace)
            .filter(|(k, _)| Some(&k.2) == template.metadata.name.as_ref())
            .map(|(_, o)| Twin::of(&typed(o)))
            .collect();
        let seen = Seen {
            template: &template,
            twins,
            cluster_instance_defaults: cluster.as_ref(),
            policy_template_defaults: policy.as_ref(),
            profiles,
            image_set: image_set.as_ref(),
            cluster_instance_schema: self.has_definition.then_some(&self.schema),
            hub: "hub",
            fault: None,
        };
        template::decide(&seen, now)
    }

    fn act<S: Serialize>(&mut self, key: &Key, plan: &Plan<S>) {
        for step in &plan.steps {
            let Step::Merge { target, patch, resource_version, .. } = step else { panic!("{step:?}") };
            let key =
                (target.api.kind.clone(), target.namespace.clone().unwrap_or_default(), target.name.clone());
            let mut new = self.objects[&key].clone();
            assert_eq!(resource_version.as_deref(), new["metadata"]["resourceVersion"].as_str());
            json_patch::merge(&mut new, patch);
            assert!(!self.refuses(&key, &new), "{step:?}");
            self.put(&key, new);
        }
        if let Some(status) = &plan.status {
            let mut new = self.objects[key].clone();
            let status = serde_json::to_value(status).unwrap();
            // Lists that are empty are not written.
            if text(&new, "/status/imageStatuses").is_empty() && new["status"]["imageStatuses"] == json!([]) {
                let mut same = status.clone();
                same["imageStatuses"] = json!([]);
                if same == new["status"] {
                    return;
                }
            }
            new["status"] = status;
            self.put(key, new);
        }
    }
}

fn fill_times(value: &mut Value, now: &Value) {
    match value {
        Value::String(s) if s == "<time>" => *value = now.clone(),
        Value::Array(list) => list.iter_mut().for_each(|v| fill_times(v, now)),
        Value::Object(map) => map.values_mut().for_each(|v| fill_times(v, now)),
        _ => {}
    }
}

/// The head of a message, and the errors that it lists in any order.
pub(crate) fn parts(message: &str) -> (String, BTreeSet<String>) {
    let (head, list) = message.split_once("invalid input: ").unwrap_or((message, ""));
    (head.to_owned(), list.split("; ").map(str::to_owned).collect())
}
