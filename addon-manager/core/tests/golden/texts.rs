//! The schema errors that admission was recorded with, against our validation.

use manager_core::schema;
use serde_json::Value;

use super::world::parts;

const PART: &str = " spec.templateParameterSchema.clusterInstanceParameters: ";
const WHOLE: &str = " spec.templateParameterSchema: ";

/// Checks the refusals of one case; returns how many there were, and the differences.
pub(crate) fn check(case: &Value) -> (usize, Vec<String>) {
    let (mut count, mut out) = (0, Vec::new());
    for step in case["steps"].as_array().unwrap().iter().filter(|s| s["op"] == "create") {
        let spec = &step["object"]["spec"];
        let Some(message) = step["result"]["message"].as_str() else { continue };
        let name = format!("{}.{}", text(&spec["templateName"]), text(&spec["templateVersion"]));
        let template =
            case["objects"].as_array().unwrap().iter().find(|o| o["metadata"]["name"] == name.as_str());
        let Some(template) = template else { continue };
        let mut document = template["spec"]["templateParameterSchema"].clone();
        let mut input = spec["templateParameters"].clone();
        let wanted = if let Some((_, wanted)) = message.split_once(PART) {
            document = document["properties"]["clusterInstanceParameters"].take();
            input = input["clusterInstanceParameters"].take();
            schema::forbid_unknown(&mut document);
            wanted
        } else if let Some((_, wanted)) = message.split_once(WHOLE) {
            // As upstream has it; ours drops more here (spec/02 B-21).
            for part in ["clusterInstanceParameters", "policyTemplateParameters", "hwMgmtParameters"] {
                if let Some(part) = document["properties"].get_mut(part).and_then(Value::as_object_mut) {
                    part.remove("properties");
                }
            }
            wanted
        } else {
            continue;
        };
        count += 1;
        let found = schema::check(&document, &input).err().map(|e| e.to_string()).unwrap_or_default();
        let same = if step["any_order"] == true { parts(&found) == parts(wanted) } else { found == wanted };
        if !same {
            out.push(format!("{}: found {found:?}, wanted {wanted:?}", case["case"]));
        }
    }
    (count, out)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
