//! Hardware data of a request: `hwMgmtParameters` over `hwMgmtDefaults` of the template (spec/02 6.8).

use std::collections::BTreeMap;

use manifests::clcm::{HwMgmtDefaults, NodeGroupData, NodeRole};
use manifests::meta::GoDuration;
use manifests::meta::names::{parameter, timeout};
use serde_json::{Map, Value, json};

use super::error::InputError;
use super::merge::{HARDWARE_LISTS, NodeGroups, deep_merge};

/// Merged and checked hardware data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hardware {
    /// Node groups: those of the template first, then what the request adds.
    pub groups: Vec<NodeGroupData>,
    /// How long hardware provisioning may take; always positive.
    pub timeout: GoDuration,
    /// What was ignored, for an event.
    pub warnings: Vec<String>,
}

impl Hardware {
    /// The group that a cluster node takes its host from: the one named like the node group that the node was
    /// expanded from, else the first one with the node's role (B-25).
    pub fn group_of(&self, node_group: Option<&str>, role: &str) -> Option<&NodeGroupData> {
        group_of(&self.groups, node_group, role)
    }
}

/// See [`Hardware::group_of`].
pub fn group_of<'a>(
    groups: &'a [NodeGroupData],
    node_group: Option<&str>,
    role: &str,
) -> Option<&'a NodeGroupData> {
    // An arbiter has no hardware role of its own, so only its name can find its group.
    let fits = |g: &NodeGroupData| g.role == role || NodeRole::parse(role).is_none();
    node_group
        .and_then(|name| groups.iter().find(|g| g.name == name && fits(g)))
        .or_else(|| groups.iter().find(|g| g.role == role))
}

/// Step 1: the template's side as JSON, without what is empty.
pub fn defaults_as_value(defaults: Option<&HwMgmtDefaults>) -> Map<String, Value> {
    let mut out = Map::new();
    let Some(defaults) = defaults else { return out };
    if let Some(text) = defaults.hardware_provisioning_timeout.as_ref().filter(|t| !t.is_empty()) {
        out.insert(parameter::HARDWARE_PROVISIONING_TIMEOUT.to_owned(), json!(text));
    }
    if defaults.node_group_data.is_empty() {
        return out;
    }
    let groups = defaults.node_group_data.iter().map(|group| {
        let mut one = Map::new();
        one.insert("name".to_owned(), json!(group.name));
        one.insert("role".to_owned(), json!(group.role.as_str()));
        for (key, value) in [("hwProfile", &group.hw_profile), ("resourcePoolId", &group.resource_pool_id)] {
            if let Some(value) = value.as_ref().filter(|v| !v.is_empty()) {
                one.insert(key.to_owned(), json!(value));
            }
        }
        if !group.resource_selector.is_empty() {
            one.insert("resourceSelector".to_owned(), json!(group.resource_selector));
        }
        Value::Object(one)
    });
    out.insert(parameter::NODE_GROUP_DATA.to_owned(), groups.collect());
    out
}

/// Step 4.
///
/// # Errors
/// When the request names a group twice.
pub fn merge_hardware(
    mut defaults: Map<String, Value>,
    input: Option<&Value>,
) -> Result<Map<String, Value>, InputError> {
    let input = match input {
        None | Some(Value::Null) => return Ok(defaults),
        Some(Value::Object(input)) => input.clone(),
        Some(_) => return Err(InputError::input("templateParameters.hwMgmtParameters must be an object")),
    };
    deep_merge(&mut defaults, input, HARDWARE_LISTS, &mut Vec::new()).map_err(|e| {
        InputError::input(format!(
            "failed to merge ProvisioningRequest templateParameters.hwMgmtParameters over ClusterTemplate \
             hwMgmtDefaults: {e}"
        ))
    })?;
    Ok(defaults)
}

/// Steps 5 to 7. `groups` are the node groups of the cluster data: groups of one role are told apart by their name,
/// so several of one role are allowed when each is such a node group (B-25).
///
/// # Errors
/// Always of class input.
pub fn check_hardware(
    merged: &Map<String, Value>,
    groups: &NodeGroups,
    profile_exists: impl Fn(&str) -> bool,
) -> Result<Hardware, InputError> {
    let elements = match merged.get(parameter::NODE_GROUP_DATA) {
        None | Some(Value::Null) => {
            return Err(InputError::input(
                "nodeGroupData is required: provide it via hwMgmtDefaults in the ClusterTemplate or \
                 hwMgmtParameters in the ProvisioningRequest",
            ));
        }
        Some(Value::Array(list)) if list.is_empty() => {
            return Err(InputError::input(
                "nodeGroupData must not be empty: provide at least one node group via hwMgmtDefaults or \
                 hwMgmtParameters",
            ));
        }
        Some(Value::Array(list)) => list,
        Some(_) => return Err(InputError::input("nodeGroupData must be an array")),
    };
    let mut out = Hardware::default();
    for element in elements {
        let group = node_group(element, &mut out.warnings)?;
        let same_role = out.groups.iter().find(|g| g.role == group.role);
        if let Some(first) = same_role.filter(|g| !(groups.contains(&g.name) && groups.contains(&group.name)))
        {
            return Err(InputError::input(format!(
                "duplicate role {:?} in nodeGroupData for groups {:?} and {:?}",
                group.role.as_str(),
                first.name,
                group.name
            )));
        }
        out.groups.push(group);
    }
    for group in &out.groups {
        if let Some(profile) = group.hw_profile.as_ref().filter(|p| !profile_exists(p)) {
            return Err(InputError::input(format!(
                "HardwareProfile {profile:?} referenced by nodeGroup {:?} does not exist",
                group.name
            )));
        }
    }
    out.timeout = provisioning_timeout(merged.get(parameter::HARDWARE_PROVISIONING_TIMEOUT))?;
    Ok(out)
}

fn node_group(element: &Value, warnings: &mut Vec<String>) -> Result<NodeGroupData, InputError> {
    let Some(element) = element.as_object() else {
        return Err(InputError::input("nodeGroupData element is not an object"));
    };
    let text = |key: &str| element.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let Some(name) = text("name") else {
        return Err(InputError::input("nodeGroupData element is missing required field 'name'"));
    };
    let Some(role) = text("role") else {
        return Err(InputError::input(format!("no role specified for nodeGroup {name:?}")));
    };
    let Some(role) = NodeRole::parse(role) else {
        return Err(InputError::input(format!(
            "invalid role {role:?} for nodeGroup {name:?}: must be 'master' or 'worker'"
        )));
    };
    let mut selector = BTreeMap::new();
    if let Some(given) = element.get("resourceSelector").and_then(Value::as_object) {
        for (key, value) in given {
            match value.as_str() {
                Some(value) => {
                    selector.insert(key.clone(), value.to_owned());
                }
                None => warnings.push(format!(
                    "resourceSelector {key:?} of nodeGroup {name:?} is not a string and is ignored"
                )),
            }
        }
    }
    Ok(NodeGroupData {
        name: name.to_owned(),
        role,
        hw_profile: text("hwProfile").map(str::to_owned),
        resource_pool_id: text("resourcePoolId").map(str::to_owned),
        resource_selector: selector,
    })
}

fn provisioning_timeout(given: Option<&Value>) -> Result<GoDuration, InputError> {
    let text = match given {
        None | Some(Value::Null) => return Ok(timeout::HARDWARE),
        Some(Value::String(text)) if text.is_empty() => return Ok(timeout::HARDWARE),
        Some(Value::String(text)) => text,
        Some(_) => return Err(InputError::input("hardwareProvisioningTimeout is not a string")),
    };
    let parsed = GoDuration::parse(text).map_err(|e| {
        InputError::input(format!("hardwareProvisioningTimeout {text:?} is not a valid duration: {e}"))
    })?;
    if parsed.is_positive() {
        return Ok(parsed);
    }
    Err(InputError::input(format!("hardwareProvisioningTimeout {text:?} must be a positive duration")))
}

/// Profiles that admission misses (spec/02 5.4 step 3): those that the request itself names. Malformed shapes are
/// skipped, the reconciler reports them.
///
/// # Errors
/// Of class input.
pub fn check_named_profiles(input: &Value, profile_exists: impl Fn(&str) -> bool) -> Result<(), InputError> {
    let groups = input
        .get(parameter::HW_MGMT)
        .and_then(|hardware| hardware.get(parameter::NODE_GROUP_DATA))
        .and_then(Value::as_array);
    for group in groups.into_iter().flatten() {
        let text = |key: &str| group.get(key).and_then(Value::as_str).unwrap_or_default();
        let profile = text("hwProfile");
        if !profile.is_empty() && !profile_exists(profile) {
            return Err(InputError::input(format!(
                "hardwareProfile {profile:?} referenced by nodeGroup {:?} does not exist",
                text("name")
            )));
        }
    }
    Ok(())
}
