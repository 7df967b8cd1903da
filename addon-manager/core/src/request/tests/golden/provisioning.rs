//! What is made of the input.

use std::collections::BTreeMap;

use manifests::clcm::{
    AllocatedNode, NodeAllocationRequest, NodeAllocationRequestStatus, ProvisioningRequest,
};
use serde_json::{Value, json};

use super::super::super::nar::Change;
use super::super::super::resources::{self, Owner};
use super::super::super::validate::{Input, Validated, validate};
use super::super::super::{nar, nodes, render, stage};
use super::{Key, Store, apply_action, cases, key, target, text};

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
