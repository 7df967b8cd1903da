//! Admission.

use manifests::clcm::ProvisioningRequest;
use serde_json::{Value, json};

use super::super::super::admission::{self, World};
use super::{Store, cases, key, target, text};

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
