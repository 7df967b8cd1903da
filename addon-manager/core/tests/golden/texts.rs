//! The schema errors that admission and provisioning were recorded with, against our validation.

use manager_core::schema;
use serde_json::Value;

use super::world::parts;

const PART: &str = " spec.templateParameterSchema.clusterInstanceParameters: ";
const WHOLE: &str = " spec.templateParameterSchema: ";

/// What was compared in one case: how many texts, and the differences.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) count: usize,
    pub(crate) differences: Vec<String>,
}

/// Creations of requests that admission refused.
pub(crate) fn admission(case: &Value) -> Comparison {
    let mut out = Comparison::default();
    for step in case["steps"].as_array().unwrap().iter().filter(|s| s["op"] == "create") {
        if let Some(message) = step["result"]["message"].as_str() {
            out.compare(case, &step["object"]["spec"], message, step["any_order"] == true);
        }
    }
    out
}

/// Requests whose validation failed; their siblings' errors were recorded in any order.
pub(crate) fn provisioning(case: &Value) -> Comparison {
    let mut out = Comparison::default();
    for step in case["steps"].as_array().into_iter().flatten() {
        for action in step["do"].as_array().into_iter().flatten() {
            let (object, name) = match (action.get("create"), action.get("replace")) {
                (Some(object), _) => (object, &object["metadata"]["name"]),
                (_, Some(object)) => (object, &object["name"]),
                _ => continue,
            };
            if object["kind"] != "ProvisioningRequest" {
                continue;
            }
            let changed = step["expect"]["changed"].as_array().into_iter().flatten();
            let mut changed =
                changed.filter(|c| c["kind"] == "ProvisioningRequest" && c["metadata"]["name"] == *name);
            let condition = changed.next().map(|c| &c["status"]["conditions"][0]["message"]);
            if let Some(message) = condition.and_then(Value::as_str) {
                out.compare(case, &object["spec"], message, true);
            }
        }
    }
    out
}

impl Comparison {
    fn compare(&mut self, case: &Value, spec: &Value, message: &str, any_order: bool) {
        let name = format!("{}.{}", text(&spec["templateName"]), text(&spec["templateVersion"]));
        let template =
            case["objects"].as_array().unwrap().iter().find(|o| o["metadata"]["name"] == name.as_str());
        let Some(template) = template else { return };
        let mut document = template["spec"]["templateParameterSchema"].clone();
        let mut input = spec["templateParameters"].clone();
        let wanted = if let Some((_, wanted)) = message.split_once(PART) {
            document = document["properties"]["clusterInstanceParameters"].take();
            input = input["clusterInstanceParameters"].take();
            schema::forbid_unknown(&mut document);
            wanted
        } else if let Some(wanted) = whole(message) {
            // As upstream has it; ours drops more here (spec/02 B-21).
            for part in ["clusterInstanceParameters", "policyTemplateParameters", "hwMgmtParameters"] {
                if let Some(part) = document["properties"].get_mut(part).and_then(Value::as_object_mut) {
                    part.remove("properties");
                }
            }
            wanted
        } else {
            return;
        };
        self.count += 1;
        let found = schema::check(&document, &input).err().map(|e| e.to_string()).unwrap_or_default();
        let same = if any_order { parts(&found) == parts(wanted) } else { found == wanted };
        if !same {
            self.differences.push(format!("{}: found {found:?}, wanted {wanted:?}", case["case"]));
        }
    }
}

/// What is wrong with the whole input; nothing, when the checks that come after it failed.
fn whole(message: &str) -> Option<&str> {
    let later = message.contains("failed to validate hwMgmt input: ");
    message.split_once(WHOLE).map(|(_, wanted)| wanted).or(later.then_some(""))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
