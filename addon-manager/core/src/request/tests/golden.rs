//! Replay of the recorded cases, where they are at hand: `GOLDEN_DIR`, or `shared/golden` beside the project.
//!
//! Admission cases are replayed whole. Of provisioning cases each recorded state is taken as it is, and what the pure
//! pieces make of it is compared: the validation text, the rendered ClusterInstance with host data, the
//! NodeAllocationRequest, the policy ConfigMap.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{
    AllocatedNode, ClusterTemplate, NodeAllocationRequest, NodeAllocationRequestStatus, ProvisioningRequest,
};
use manifests::meta::condition::{self, Next};
use manifests::meta::yaml;
use manifests::ran::ClusterInstance;
use serde_json::{Value, json};

use super::super::admission::{self, World};
use super::super::install::{self, Live};
use super::super::names::ClusterNamespace;
use super::super::nar::Change;
use super::super::resources::{self, Owner};
use super::super::template::{self, Template};
use super::super::validate::{Input, Validated, validate};
use super::super::{nar, nodes, phase, render, stage};
use crate::policy;

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
        let found = template::find(&all, name)?;
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

/// Wanted differences of admission: case, step (from 0), and why.
const ADMISSION: &[(&str, &[usize], &str)] = &[
    ("027-update-meta", &[3, 4], "metadata can be edited when the template is gone (spec/01 8.2.1)"),
    ("028-update-meta-invalid", &[2], "metadata can be edited when the template is invalid (spec/01 8.2.1)"),
    ("043-update-done-null", &[1, 2], "null is a change (B-13)"),
    ("094-update-done-drop-master", &[3], "groups are compared by name (B-13)"),
    ("096-update-done-equal", &[3], "nodes are compared by host name (B-13)"),
    ("097-update-inprogress-null", &[1, 2], "null is a change (B-13)"),
];

#[test]
fn admission_answers_as_recorded() {
    let mut failures = Vec::new();
    for (name, case) in cases("admission") {
        if case["setting"] != "webhook" || case["objects"].to_string().contains("FirmwareCatalog") {
            continue;
        }
        let mut store = Store::default();
        for object in case["objects"].as_array().into_iter().flatten() {
            store.put(object);
        }
        for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let Some(got) = admit(&mut store, step) else { continue };
            let wanted = match step["result"]["code"].as_i64() {
                Some(200 | 201) => Ok(()),
                // The schema of the kind refuses before admission is asked.
                Some(403) => Err(text(step, "/result/message").replace(
                    "admission webhook \"provisioningrequests.clcm.openshift.io\" denied the request: ",
                    "",
                )),
                _ => continue,
            };
            let known = ADMISSION.iter().any(|(case, steps, _)| *case == name && steps.contains(&i));
            let (a, b) = (normal(got), normal(wanted));
            if a != b && !known {
                failures.push(format!("{name} step {i}\n   ours   {a:?}\n   theirs {b:?}"));
            }
            if a == b && known {
                failures.push(format!("{name} step {i}: no difference any more"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Lists in a message come in random order.
fn normal(answer: Result<(), String>) -> Result<(), Vec<String>> {
    answer.map_err(|text| {
        let text = text.replace("invalid input: ", "; ").replace("fields: ", "; ").replace(", ", "; ");
        let mut parts: Vec<String> = text.split("; ").map(str::to_owned).collect();
        parts.sort();
        parts
    })
}

/// Carries out one step on requests; `None` for everything else.
fn admit(store: &mut Store, step: &Value) -> Option<Result<(), String>> {
    let op = text(step, "/op");
    let full = step.get("object");
    let id = full.map_or_else(|| target(&step["target"]), key);
    if id.0 != "ProvisioningRequest" || op == "observe" {
        match op.as_str() {
            "delete" => {
                store.0.remove(&id);
            }
            "patch" => store.merge(
                &id,
                &step["patch"],
                step.get("subresource").map(|_| "").filter(|p| !p.is_empty()),
            ),
            _ => {}
        }
        return None;
    }
    if step.get("subresource").is_some() {
        store.merge(&id, &step["patch"], None);
        return None;
    }
    let old = store.0.get(&id).cloned();
    let new = match op.as_str() {
        "patch" => {
            let mut new = old.clone()?;
            json_patch::merge(&mut new, &step["patch"]);
            new
        }
        "create" | "replace" => {
            let mut new = full?.clone();
            if let Some(status) = old.as_ref().and_then(|o| o.get("status")) {
                new["status"] = status.clone();
            }
            new
        }
        "delete" => old.clone()?,
        _ => return None,
    };
    let parse = |v: &Value| serde_json::from_value::<ProvisioningRequest>(v.clone()).ok();
    let request = parse(&new)?;
    let template = store.template(&request.spec.template());
    let answer = {
        let profile_exists = |name: &str| store.has_profile(name);
        let namespace = |name: &str| store.namespace(name);
        let world = World {
            template: template.as_ref(),
            profile_exists: &profile_exists,
            operator_namespace: "oran-o2ims",
            namespace: &namespace,
            others: &[],
            allocation: None,
        };
        match op.as_str() {
            "create" => admission::create(&request, &world),
            "delete" => admission::delete(&request),
            _ => admission::update(&parse(&old?)?, &request, &world),
        }
    };
    match (&answer, op.as_str()) {
        (Ok(_), "delete") => {
            store.0.get_mut(&id)?["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        // What was recorded goes on, not what we answered.
        _ if step["result"]["code"].as_i64().is_some_and(|c| c < 300) => store.put(&new),
        _ => {}
    }
    Some(answer.map(|_| ()))
}

/// Wanted differences of provisioning: case, step, and why.
const PROVISIONING: &[(&str, &str, &str)] = &[
    (
        "16-cluster-parameters-errors",
        "nodes instead of nodeGroups",
        "required keys are checked together with unknown ones (B-21)",
    ),
    (
        "33-day2-edits",
        "objects edited by hand, not reconciled by themselves",
        "the recorded object is not ours",
    ),
    ("51-bad-timeouts-in-configmaps", "zero and negative", "negative time-outs are refused (B-19)"),
];

/// Wanted differences of the validation text.
fn expected_validation(recorded: &str) -> Vec<String> {
    let mut out = vec![recorded.to_owned()];
    // B-21: what is required inside of a part is reported by the check of that part.
    if let Some((head, tail)) =
        recorded.split_once("spec.templateParameters does not match the schema defined in ")
        && let Some((ct, errors)) =
            tail.split_once(" spec.templateParameterSchema: invalid input: clusterInstanceParameters: ")
    {
        out.push(format!(
            "{head}failed to validate ClusterInstance input: the provided clusterInstanceParameters does not match the \
             schema from {ct}: spec.templateParameters.clusterInstanceParameters does not match the schema defined in \
             {ct} spec.templateParameterSchema.clusterInstanceParameters: invalid input: (root): {errors}"
        ));
    }
    out
}

#[test]
fn provisioning_states_follow_from_their_inputs() {
    let mut failures = Vec::new();
    let mut compared = [0_usize; 4];
    for (name, case) in cases("provisioning") {
        let mut store = Store::default();
        for list in ["objects", "initial"] {
            for object in case[list].as_array().into_iter().flatten() {
                store.put(object);
            }
        }
        for step in case["steps"].as_array().unwrap() {
            for action in step["do"].as_array().into_iter().flatten() {
                apply_action(&mut store, action);
            }
            for gone in step["expect"]["gone"].as_array().into_iter().flatten() {
                store.0.remove(&target(gone));
            }
            for object in step["expect"]["changed"].as_array().into_iter().flatten() {
                store.put(object);
            }
            let id = format!("{name} / {}", text(step, "/name"));
            let known = PROVISIONING.iter().any(|(case, step, _)| id == format!("{case} / {step}"));
            let before = failures.len();
            let changed: Vec<Key> =
                step["expect"]["changed"].as_array().into_iter().flatten().map(key).collect();
            let requests: Vec<Value> = store.of_kind("ProvisioningRequest").cloned().collect();
            for request in requests {
                if request.pointer("/metadata/deletionTimestamp").is_some() {
                    continue;
                }
                compare(&store, &request, &changed, &id, &mut compared, &mut failures);
            }
            match (known, failures.len() > before) {
                (true, true) => failures.truncate(before),
                (true, false) => failures.push(format!("{id}: no difference any more")),
                _ => {}
            }
        }
    }
    let found = cases("provisioning").len();
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures.join("\n"));
    assert!(found == 0 || compared.iter().all(|n| *n > 20), "{compared:?}");
}

/// Wanted differences of what a status says: case, step, and why.
const STATUS: &[(&str, &str, &str)] = &[
    (
        "23-install-failed",
        "ClusterInstance reports completion after all",
        "the failure is over (scenario 107e)",
    ),
    ("24-install-timeout", "request edited (description only)", "the time-out is over (scenario 107e)"),
    (
        "26-policies-enforce",
        "all policies inform",
        "drift of inform policies changes nothing (scenario 107f)",
    ),
    (
        "30-no-policies",
        "cluster installer at work: ClusterInstance processed and Provisioned InProgress, ManagedCluster exists",
        "no policies is not believed yet (B-10)",
    ),
    (
        "30-no-policies",
        "cluster installed, ManagedCluster not available, no cluster id yet",
        "B-10, and the blocker is named",
    ),
    ("31-template-change-day2", "templateVersion that does not exist", "stays failed (scenario 107d)"),
    (
        "33-day2-edits",
        "policy turns NonCompliant while the edit is invalid",
        "an invalid edit stays failed (B-04)",
    ),
    (
        "41-firmware-invalid-profile",
        "profile badenum: {\"bios\": {\"TurboMode\": \"Maybe\"}}",
        HARDWARE_GOES_ON,
    ),
    ("41-firmware-invalid-profile", "profile lowint: {\"bios\": {\"FanFloor\": -1}}", HARDWARE_GOES_ON),
    (
        "41-firmware-invalid-profile",
        "profile longstr: {\"bios\": {\"AssetTag\": \"123456789\"}}",
        HARDWARE_GOES_ON,
    ),
    (
        "41-firmware-invalid-profile",
        "profile notbool: {\"bios\": {\"Quiet\": \"perhaps\"}}",
        HARDWARE_GOES_ON,
    ),
    (
        "41-firmware-invalid-profile",
        "profile nics2: {\"nic\": [{\"version\": \"9\", \"url\": \"https://fw.fjord.test/a\"}, {\"version\": \"10\", \"url\": \
         \"https://fw.fjord.test/b\"}]}",
        HARDWARE_GOES_ON,
    ),
    ("48-clusterinstance-deleted-by-hand", "ClusterInstance deleted (finalizer released)", "B-43"),
    ("54-shared-pull-secret", "first cluster installs", "no policies is not believed yet (B-10)"),
];
const HARDWARE_GOES_ON: &str = "the phase follows the conditions (B-04)";

#[test]
fn statuses_follow_from_recorded_objects() {
    let mut failures = Vec::new();
    let mut compared = [0_usize; 4];
    for (name, case) in cases("provisioning") {
        let mut store = Store::default();
        for list in ["objects", "initial"] {
            for object in case[list].as_array().into_iter().flatten() {
                store.put(object);
            }
        }
        for step in case["steps"].as_array().unwrap() {
            for action in step["do"].as_array().into_iter().flatten() {
                apply_action(&mut store, action);
            }
            for gone in step["expect"]["gone"].as_array().into_iter().flatten() {
                store.0.remove(&target(gone));
            }
            let changed = step["expect"]["changed"].as_array().cloned().unwrap_or_default();
            for object in &changed {
                store.put(object);
            }
            let id = format!("{name} / {}", text(step, "/name"));
            let known = STATUS.iter().any(|(case, step, _)| id == format!("{case} / {step}"));
            let before = failures.len();
            for request in changed.iter().filter(|o| o["kind"] == "ProvisioningRequest") {
                let request = store.0[&key(request)].clone();
                compare_status(&store, &request, &id, &mut compared, &mut failures);
            }
            match (known, failures.len() > before) {
                (true, true) => failures.truncate(before),
                (true, false) => failures.push(format!("{id}: no difference any more")),
                _ => {}
            }
        }
    }
    let found = cases("provisioning").len();
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures.join("\n"));
    assert!(found == 0 || compared.iter().all(|n| *n > 20), "{compared:?}");
}

fn compare_status(
    store: &Store,
    request: &Value,
    id: &str,
    compared: &mut [usize; 4],
    failures: &mut Vec<String>,
) {
    let typed: ProvisioningRequest = serde_json::from_value(request.clone()).unwrap();
    let Some(status) = typed.status.clone() else { return };
    let name = typed.metadata.name.clone().unwrap();
    let conditions = &status.conditions;
    let extensions = status.extensions.clone().unwrap_or_default();
    let details = extensions.cluster_details.clone().unwrap_or_default();
    let now = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    let mut check = |index: usize, what: &str, ours: String, theirs: String| {
        compared[index] += 1;
        if ours != theirs {
            failures.push(format!("{id}: {what}\n   ours   {ours}\n   theirs {theirs}"));
        }
    };
    let print = |c: Option<&Condition>| {
        c.map_or_else(String::new, |c| format!("{} {}/{}: {}", c.type_, c.status, c.reason, c.message))
    };
    let next = |n: Option<&Next>| {
        n.map_or_else(String::new, |n| format!("{} {}/{}: {}", n.type_, n.status, n.reason, n.message))
    };
    let deleting = typed.metadata.deletion_timestamp.is_some();

    // Hardware.
    let allocation: Option<NodeAllocationRequest> = store
        .get("NodeAllocationRequest", "oran-o2ims", &name)
        .map(|n| serde_json::from_value(n.clone()).unwrap());
    if let Some(recorded) =
        condition::find(conditions, RequestCondition::HardwareProvisioned).filter(|_| !deleting)
    {
        let mapped = nar::provisioned(allocation.as_ref().and_then(|a| a.status.as_ref()));
        check(0, "hardware", next(Some(&mapped.condition)), print(Some(recorded)));
    }

    // Installation.
    let cluster = details.name.clone().unwrap_or_default();
    let live: Option<ClusterInstance> =
        store.get("ClusterInstance", &cluster, &cluster).map(|n| serde_json::from_value(n.clone()).unwrap());
    if let Some(live) = live.filter(|_| !deleting) {
        let list = live.status.map(|s| s.conditions).unwrap_or_default();
        let seen = Live { conditions: &list, generation: None, observed_generation: None };
        let late = condition::reason(conditions, RequestCondition::ClusterProvisioned) == "TimedOut";
        let limit = late.then_some(manifests::meta::GoDuration::from_nanos(0));
        let started = now.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap();
        let i = install::install(&cluster, &seen, conditions, Some(started), limit, now);
        let recorded = condition::find(conditions, RequestCondition::ClusterInstanceProcessed);
        check(1, "processed", next(Some(&i.processed)), print(recorded));
        let recorded = condition::find(conditions, RequestCondition::ClusterProvisioned);
        check(1, "provisioned", next(i.provisioned.as_ref()), print(recorded));
    }

    // Policies.
    let template = store.template(&typed.spec.template());
    let managed = store.get("ManagedCluster", "", &cluster);
    let recorded = condition::find(conditions, RequestCondition::ConfigurationApplied);
    if let (Some(template), Some(recorded)) = (template.filter(|_| !deleting), recorded) {
        let ns = format!("ztp-{}", template.namespace);
        let of = |ns: &str| -> Vec<Value> {
            store.of_kind("Policy").filter(|p| text(p, "/metadata/namespace") == ns).cloned().collect()
        };
        let (roots, children) = (of(&ns), of(&cluster));
        let at = |v: &'_ Value, pointer: &str| v.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let roots: Vec<[Option<String>; 3]> = roots
            .iter()
            .map(|r| {
                [
                    at(r, "/metadata/name"),
                    at(r, "/metadata/annotations/clustertemplates.clcm.openshift.io~1templates"),
                    at(r, "/spec/remediationAction"),
                ]
            })
            .collect();
        let children: Vec<[Option<String>; 3]> = children
            .iter()
            .map(|r| [at(r, "/metadata/name"), at(r, "/status/compliant"), at(r, "/spec/remediationAction")])
            .collect();
        let bound = policy::bind(
            &typed.spec.template(),
            &template.namespace,
            roots.iter().map(|[name, templates, action]| policy::Root {
                name: name.as_deref().unwrap_or_default(),
                templates: templates.as_deref(),
                action: action.as_deref(),
            }),
            children.iter().map(|[name, compliant, action]| policy::Child {
                name: name.as_deref().unwrap_or_default(),
                compliant: compliant.as_deref(),
                action: action.as_deref(),
            }),
        );
        let is_true = |type_: &str| {
            managed
                .and_then(|m| m.pointer("/status/conditions"))
                .and_then(Value::as_array)
                .is_some_and(|l| l.iter().any(|c| c["type"] == type_ && c["status"] == "True"))
        };
        let facts = policy::Cluster {
            available: is_true("ManagedClusterConditionAvailable"),
            accepted: is_true("HubAcceptedManagedCluster"),
            joined: is_true("ManagedClusterJoined"),
            available_since: None,
        };
        let decision = policy::decide(
            &policy::Seen {
                bound: &bound,
                cluster: managed.map(|_| facts),
                installed: condition::find(conditions, RequestCondition::ClusterProvisioned)
                    .map(|c| c.status == "True"),
                fulfilled_before: details.fulfilled_node_count.is_some_and(|n| n > 0),
                current: Some(recorded),
                non_compliant_at: details.non_compliant_at.as_ref().map(|_| now),
                timeout: None,
                ztp_status: details.ztp_status.as_deref(),
                new_generation: false,
            },
            now,
        );
        check(2, "configuration", next(Some(&decision.condition)), print(Some(recorded)));
        check(2, "policies", format!("{:?}", bound.policies), format!("{:?}", extensions.policies));
        check(2, "ztp", format!("{:?}", decision.ztp_status), format!("{:?}", details.ztp_status));
    }

    // Phase.
    let recorded = status.provisioning_status.unwrap_or_default();
    let install_timeout = store.template(&typed.spec.template()).and_then(|t| t.install_timeout.ok());
    let labelled = managed.is_some_and(|m| m.pointer("/metadata/labels/openshiftVersion").is_some());
    let p = phase::derive(
        conditions,
        &phase::Facts {
            generation: typed.metadata.generation.unwrap_or_default(),
            deleting,
            fulfilled_before: details.fulfilled_node_count.is_some_and(|n| n > 0),
            blocker: (!labelled && !deleting).then_some("label"),
            install_timeout,
            policies: &extensions.policies,
            ..phase::Facts::default()
        },
    );
    let theirs = format!(
        "{} {}",
        recorded.provisioning_phase.map_or("", |p| p.as_str()),
        recorded.provisioning_details.unwrap_or_default()
    );
    check(3, "phase", format!("{} {}", p.phase, p.details), theirs);
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

fn compare(
    store: &Store,
    request: &Value,
    changed: &[Key],
    id: &str,
    compared: &mut [usize; 4],
    failures: &mut Vec<String>,
) {
    let typed: ProvisioningRequest = serde_json::from_value(request.clone()).unwrap();
    let name = typed.metadata.name.clone().unwrap();
    let parameters = typed.spec.template_parameters.value();
    let template_name = typed.spec.template();
    let template = store.template(&template_name);
    let profile_exists = |profile: &str| store.has_profile(profile);
    let namespace = |ns: &str| store.namespace(ns);
    let result = validate(&Input {
        request: &name,
        template_name: &template_name,
        template: template.as_ref(),
        parameters: &parameters,
        operator_namespace: "oran-o2ims",
        profile_exists: &profile_exists,
        namespace: &namespace,
        others: &[],
    });
    let conditions =
        request.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let condition = |type_: &str| conditions.iter().find(|c| c["type"] == type_);
    if changed.contains(&key(request))
        && let Some(recorded) = condition("ProvisioningRequestValidated")
    {
        compared[0] += 1;
        let ours = stage::validated(&result).message;
        if !expected_validation(&text(recorded, "/message")).contains(&ours) {
            failures.push(format!(
                "{id}: validation\n   ours   {ours}\n   theirs {}",
                text(recorded, "/message")
            ));
        }
    }
    let Ok(v) = result else { return };
    compare_objects(store, request, &parameters, &v, changed, id, compared, failures);
}

#[expect(clippy::too_many_arguments, reason = "one comparison, cut in two")]
fn compare_objects(
    store: &Store,
    request: &Value,
    parameters: &Value,
    v: &Validated,
    changed: &[Key],
    id: &str,
    compared: &mut [usize; 4],
    failures: &mut Vec<String>,
) {
    let name = text(request, "/metadata/name");
    let owner = Owner { name: name.clone(), uid: "<uid>".to_owned() };
    let conditions =
        request.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let holds = |type_: &str| conditions.iter().any(|c| c["type"] == type_ && c["status"] == "True");
    let installed = holds("ClusterProvisioned");
    let Ok(mut object) = render::render(&v.cluster, &v.cluster_name, &owner, installed) else { return };

    let nar_id = ("NodeAllocationRequest".to_owned(), "oran-o2ims".to_owned(), name.clone());
    let live_nar: Option<NodeAllocationRequest> =
        store.0.get(&nar_id).map(|n| serde_json::from_value(n.clone()).unwrap());
    let generation = request.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(1);
    let skip = request.pointer("/metadata/annotations/clcm.openshift.io~1skip-cleanup").is_some();
    if changed.contains(&nar_id)
        && holds("ClusterInstanceRendered")
        && let Some(live) = &live_nar
    {
        compared[1] += 1;
        let wanted =
            nar::build(parameters, generation, &object["spec"], &v.hardware, &v.groups, skip).unwrap();
        // A state that settled asks for no further change.
        let mut settled = live.clone();
        settled.status = Some(NodeAllocationRequestStatus::default());
        if let Change::Update(ours) = nar::reconcile(Some(&settled), wanted, generation, false) {
            let theirs = serde_json::to_value(&live.spec).unwrap();
            failures.push(format!(
                "{id}: allocation\n   ours   {}\n   theirs {theirs}",
                serde_json::to_value(&ours).unwrap()
            ));
        }
    }

    let ci_id = ("ClusterInstance".to_owned(), v.cluster_name.clone(), v.cluster_name.clone());
    let live = store.0.get(&ci_id).filter(|_| changed.contains(&ci_id) && holds("HardwareNodeConfigApplied"));
    let frozen = !installed && request.pointer("/metadata/generation") != Some(&json!(1));
    if let Some(live) = live.filter(|_| !frozen) {
        compared[2] += 1;
        let allocated: Vec<AllocatedNode> = store
            .of_kind("AllocatedNode")
            .filter(|n| text(n, "/spec/nodeAllocationRequest") == name)
            .map(|n| serde_json::from_value(n.clone()).unwrap())
            .collect();
        let host_map: BTreeMap<String, String> = request
            .pointer("/status/extensions/allocatedNodeHostMap")
            .map(|m| serde_json::from_value(m.clone()).unwrap())
            .unwrap_or_default();
        render::carry_over(&mut object, &live["spec"]);
        if installed {
            render::adapt_for_upgrade(&mut object, &live["spec"]);
        }
        let applied =
            nodes::apply(&mut object["spec"], &v.cluster, &v.groups, &v.hardware, &allocated, &host_map);
        assert_eq!(applied.result, Ok(()), "{id}");
        assert_eq!(applied.host_map, host_map, "{id}");
        let mut theirs = live["spec"].clone();
        drop_api_defaults(&mut theirs, &object["spec"]);
        if object["spec"] != theirs {
            failures.push(format!("{id}: ClusterInstance\n   ours   {}\n   theirs {theirs}", object["spec"]));
        }
        for part in ["labels", "ownerReferences"] {
            if object["metadata"][part] != live["metadata"][part] {
                failures.push(format!("{id}: ClusterInstance {part} {}", object["metadata"][part]));
            }
        }
    }

    let map_name = format!("{}-pg", v.cluster_name);
    let map_id = ("ConfigMap".to_owned(), format!("ztp-{}", v.template_namespace), map_name);
    if let Some(live) = store.0.get(&map_id).filter(|_| changed.contains(&map_id)) {
        compared[3] += 1;
        let ours = resources::policy_config_map(
            &object["spec"],
            &v.cluster_name,
            &v.template_namespace,
            &owner,
            &v.policy,
        )
        .unwrap()
        .unwrap();
        let ours = serde_json::to_value(&ours).unwrap();
        if ours["data"] != live["data"]
            || ours["metadata"]["ownerReferences"] != live["metadata"]["ownerReferences"]
        {
            failures.push(format!("{id}: policy ConfigMap\n   ours   {ours}\n   theirs {live}"));
        }
    }
}

/// Takes away what the API server added and what others write.
fn drop_api_defaults(theirs: &mut Value, ours: &Value) {
    let defaults = [
        ("cpuArchitecture", json!("x86_64")),
        ("cpuPartitioningMode", json!("None")),
        ("holdInstallation", json!(false)),
        ("networkType", json!("OVNKubernetes")),
        ("role", json!("master")),
        ("bootMode", json!("UEFI")),
        ("automatedCleaningMode", json!("metadata")),
        ("ironicInspect", json!("")),
    ];
    let Value::Object(map) = theirs else { return };
    for (key, value) in defaults {
        if map.get(key) == Some(&value) && ours.get(key).is_none() {
            map.remove(key);
        }
    }
    let nodes = map.get_mut("nodes").and_then(Value::as_array_mut);
    for (i, node) in nodes.into_iter().flatten().enumerate() {
        drop_api_defaults(node, &ours["nodes"][i]);
    }
}
