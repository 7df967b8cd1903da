//! Deep merge of the request over the defaults of its template (spec/02 6.4 and 6.4.1).
//!
//! ```text
//! labels of the template win (A) -> same format on both sides (B) -> deep merge (C) -> flat nodes (D, `expand`)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::error::InputError;
use super::expand;

/// A list that is merged by the string key `name` of its elements instead of by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedList {
    /// Where the list is, for example `nodeGroups[].nodeNetwork.interfaces`.
    pub path: &'static str,
    /// An element of the source that the destination does not have is an error; otherwise it is appended.
    pub reject_unknown: bool,
    /// The same name may occur several times: the last one counts in the destination, and in the source each is
    /// merged in order.
    pub allow_duplicates: bool,
}

/// Lists of cluster data in the nodeGroups format.
pub const CLUSTER_LISTS: &[KeyedList] = &[
    KeyedList { path: "nodeGroups", reject_unknown: true, allow_duplicates: false },
    KeyedList { path: "nodeGroups[].nodeNetwork.interfaces", reject_unknown: true, allow_duplicates: true },
];

/// Lists of hardware data.
pub const HARDWARE_LISTS: &[KeyedList] =
    &[KeyedList { path: "nodeGroupData", reject_unknown: false, allow_duplicates: false }];

/// Why a merge is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the words of the messages")]
pub enum MergeError {
    /// An element of a keyed list is no object.
    #[error("{side} element at path {path:?} index {index} is not a map")]
    NotAMap { side: Side, path: String, index: usize },
    /// An element of a keyed list has no name.
    #[error("{side} element at path {path:?} index {index} missing \"name\" field")]
    NoName { side: Side, path: String, index: usize },
    /// A name occurs twice on one side.
    #[error("duplicate name {name:?} at path {path:?} in {side}")]
    Duplicate { side: Side, path: String, name: String },
    /// The source has an element that the destination must have and has not.
    #[error("name {name:?} at path {path:?} in source does not match any destination entry")]
    Unmatched { path: String, name: String },
    /// Inside an object.
    #[error("error merging maps for key: {key}: {inner}")]
    InMap { key: String, inner: Box<MergeError> },
    /// Inside a list.
    #[error("error merging slices for key: {key}: {inner}")]
    InList { key: String, inner: Box<MergeError> },
    /// Inside an element of a list.
    #[error("error merging maps at slice index: {index}: {inner}")]
    InElement { index: usize, inner: Box<MergeError> },
}

/// The two sides of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is laid over.
    Source,
    /// What is laid under.
    Destination,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Side::Source => "source",
            Side::Destination => "destination",
        })
    }
}

/// Lays `source` over `destination` (spec/02 6.4.1): objects recurse, lists go by index or by name, everything else
/// (also `null`, also another type) is replaced by the source.
///
/// Every list of the source that was shorter than the one under it, so that the tail of the destination stayed, is
/// noted in `shorter` (B-22: users expect to replace the list).
///
/// # Errors
/// When a list of `rules` breaks its rule.
pub fn deep_merge(
    destination: &mut Map<String, Value>,
    source: Map<String, Value>,
    rules: &[KeyedList],
    shorter: &mut Vec<String>,
) -> Result<(), MergeError> {
    Merge { rules, shorter }.maps(destination, source, "")
}

struct Merge<'a> {
    rules: &'a [KeyedList],
    shorter: &'a mut Vec<String>,
}

impl Merge<'_> {
    fn maps(
        &mut self,
        dst: &mut Map<String, Value>,
        src: Map<String, Value>,
        path: &str,
    ) -> Result<(), MergeError> {
        for (key, value) in src {
            match (dst.get_mut(&key), value) {
                (Some(Value::Object(d)), Value::Object(s)) => self
                    .maps(d, s, &join(path, &key))
                    .map_err(|inner| MergeError::InMap { key, inner: Box::new(inner) })?,
                (Some(Value::Array(d)), Value::Array(s)) => self
                    .lists(d, s, &join(path, &key))
                    .map_err(|inner| MergeError::InList { key, inner: Box::new(inner) })?,
                (Some(slot), value) => *slot = value,
                (None, value) => {
                    dst.insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn lists(&mut self, dst: &mut Vec<Value>, src: Vec<Value>, path: &str) -> Result<(), MergeError> {
        match self.rules.iter().find(|r| r.path == path) {
            Some(rule) => self.by_name(dst, src, path, *rule),
            None => self.by_index(dst, src, path),
        }
    }

    fn by_index(&mut self, dst: &mut Vec<Value>, src: Vec<Value>, path: &str) -> Result<(), MergeError> {
        if src.len() < dst.len() {
            self.shorter.push(format!(
                "{path}: {} of the {} default elements are given",
                src.len(),
                dst.len()
            ));
        }
        for (index, value) in src.into_iter().enumerate() {
            let inside = |inner| MergeError::InElement { index, inner: Box::new(inner) };
            match (dst.get_mut(index), value) {
                (Some(Value::Object(d)), Value::Object(s)) => {
                    self.maps(d, s, &format!("{path}[]")).map_err(inside)?;
                }
                (Some(Value::Array(d)), Value::Array(s)) => {
                    self.lists(d, s, &format!("{path}[]")).map_err(inside)?;
                }
                (Some(slot), value) => *slot = value,
                (None, value) => dst.push(value),
            }
        }
        Ok(())
    }

    fn by_name(
        &mut self,
        dst: &mut Vec<Value>,
        src: Vec<Value>,
        path: &str,
        rule: KeyedList,
    ) -> Result<(), MergeError> {
        let mut merged: Named = Vec::with_capacity(dst.len());
        for (name, element) in named(std::mem::take(dst), Side::Destination, path)? {
            match merged.iter_mut().find(|(n, _)| *n == name) {
                Some(_) if !rule.allow_duplicates => {
                    return Err(MergeError::Duplicate {
                        side: Side::Destination,
                        path: path.to_owned(),
                        name,
                    });
                }
                Some((_, earlier)) => *earlier = element,
                None => merged.push((name, element)),
            }
        }
        let mut seen = BTreeSet::new();
        for (index, (name, element)) in named(src, Side::Source, path)?.into_iter().enumerate() {
            if !seen.insert(name.clone()) && !rule.allow_duplicates {
                return Err(MergeError::Duplicate { side: Side::Source, path: path.to_owned(), name });
            }
            match merged.iter_mut().find(|(n, _)| *n == name) {
                Some((_, under)) => self
                    .maps(under, element, &format!("{path}[]"))
                    .map_err(|inner| MergeError::InElement { index, inner: Box::new(inner) })?,
                None if rule.reject_unknown => {
                    return Err(MergeError::Unmatched { path: path.to_owned(), name });
                }
                None => merged.push((name, element)),
            }
        }
        *dst = merged.into_iter().map(|(_, element)| Value::Object(element)).collect();
        Ok(())
    }
}

/// Elements of a keyed list with their names.
type Named = Vec<(String, Map<String, Value>)>;

fn named(list: Vec<Value>, side: Side, path: &str) -> Result<Named, MergeError> {
    let mut out = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let Value::Object(element) = value else {
            return Err(MergeError::NotAMap { side, path: path.to_owned(), index });
        };
        let Some(name) = element.get("name").and_then(Value::as_str) else {
            return Err(MergeError::NoName { side, path: path.to_owned(), index });
        };
        out.push((name.to_owned(), element));
    }
    Ok(out)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// What is known of node groups beside the flat nodes (B-25): nothing of it goes into the ClusterInstance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeGroups {
    /// Names of all merged groups, also of those without nodes, in order; `None` in the flat `nodes` format.
    pub names: Option<Vec<String>>,
    /// Host name to the name of the group that it was expanded from.
    pub of_host: BTreeMap<String, String>,
}

impl NodeGroups {
    /// The group that `host` was expanded from; `None` in the flat format.
    pub fn of(&self, host: &str) -> Option<&str> {
        self.of_host.get(host).map(String::as_str)
    }

    /// True when `name` is a node group of the cluster data.
    pub fn contains(&self, name: &str) -> bool {
        self.names.as_ref().is_some_and(|names| names.iter().any(|n| n == name))
    }
}

/// Cluster data after step D.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merged {
    /// The spec of the ClusterInstance, still with the interface labels and without hardware data.
    pub cluster: Value,
    /// Node groups of the nodes.
    pub groups: NodeGroups,
    /// Surprises of index merging (B-22), for an event.
    pub warnings: Vec<String>,
}

/// Steps A to D (spec/02 6.4): `clusterInstanceParameters` over the defaults of the template, as flat nodes.
///
/// # Errors
/// Always of class input.
pub fn merge_cluster(defaults: Value, input: Value) -> Result<Merged, InputError> {
    let mut defaults = object(defaults, "the clusterinstance-defaults of the ClusterTemplate")?;
    let mut input = object(input, "clusterInstanceParameters")?;
    override_labels(&mut input, &defaults)?;
    let format = check_format(&input, &defaults)?;

    let rules = if format == Format::Groups { CLUSTER_LISTS } else { &[] };
    let mut warnings = Vec::new();
    let within = |e: InputError| e.within("failed to merge data for clusterInstanceParameters: ");
    merge_over_defaults(&mut defaults, input, rules, &mut warnings).map_err(within)?;
    let groups = match format {
        Format::Groups => expand::expand(&mut defaults, &mut warnings).map_err(within)?,
        Format::Nodes => NodeGroups::default(),
    };
    check_nodes(&defaults).map_err(within)?;
    Ok(Merged { cluster: Value::Object(defaults), groups, warnings })
}

/// Policy parameters over the defaults of the template (spec/02 6.6).
///
/// # Errors
/// When both sides are empty.
pub fn merge_policy(defaults: Value, input: Value) -> Result<Map<String, Value>, InputError> {
    let mut merged = object(defaults, "the policytemplate-defaults of the ClusterTemplate")?;
    let input = object(input, "policyTemplateParameters")?;
    merge_over_defaults(&mut merged, input, &[], &mut Vec::new())
        .map_err(|e| e.within("failed to merge data for policyTemplateParameters: "))?;
    Ok(merged)
}

fn merge_over_defaults(
    defaults: &mut Map<String, Value>,
    input: Map<String, Value>,
    rules: &[KeyedList],
    warnings: &mut Vec<String>,
) -> Result<(), InputError> {
    match (defaults.is_empty(), input.is_empty()) {
        (true, true) => Err(InputError::input(
            "expected clusterTemplateInput data not provided in either ProvisioningRequest or Configmap",
        )),
        (true, false) => {
            *defaults = input;
            Ok(())
        }
        (false, true) => Ok(()),
        (false, false) => deep_merge(defaults, input, rules, warnings).map_err(|e| {
            InputError::input(format!(
                "failed to merge ProvisioningRequest clusterTemplateInput over ClusterTemplate defaults: {e}"
            ))
        }),
    }
}

fn object(value: Value, what: &str) -> Result<Map<String, Value>, InputError> {
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err(InputError::input(format!("{what} must be an object"))),
    }
}

/// The two ways to write nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Groups,
    Nodes,
}

/// Step B.
fn check_format(input: &Map<String, Value>, defaults: &Map<String, Value>) -> Result<Format, InputError> {
    let format =
        |side: &Map<String, Value>| match (side.contains_key("nodeGroups"), side.contains_key("nodes")) {
            (true, false) => Some(Format::Groups),
            (false, true) => Some(Format::Nodes),
            _ => None,
        };
    match (format(input), format(defaults)) {
        (Some(a), Some(b)) if a == b => Ok(a),
        _ => Err(InputError::input(
            "ProvisioningRequest clusterInstanceParameters and ClusterTemplate defaults must both use \"nodeGroups\" \
             or both use \"nodes\"",
        )),
    }
}

/// B-44: what later stages read from the nodes has the type that they expect, or is absent (then the API server
/// says in the dry run what is missing).
fn check_nodes(cluster: &Map<String, Value>) -> Result<(), InputError> {
    let Some(nodes) = cluster.get("nodes") else { return Ok(()) };
    let Some(nodes) = nodes.as_array() else { return Err(InputError::input("\"nodes\" must be an array")) };
    let mut hosts = BTreeSet::new();
    for (index, node) in nodes.iter().enumerate() {
        let Some(node) = node.as_object() else {
            return Err(InputError::input(format!("nodes[{index}] is not an object")));
        };
        match node.get("hostName") {
            None => {}
            Some(Value::String(host)) if hosts.insert(host.as_str()) => {}
            Some(Value::String(host)) => {
                return Err(InputError::input(format!("hostName {host:?} is used by more than one node")));
            }
            Some(_) => return Err(InputError::input(format!("nodes[{index}].hostName is not a string"))),
        }
    }
    Ok(())
}

const LABEL_FIELDS: [&str; 2] = ["extraLabels", "extraAnnotations"];

/// Step A: for every kind and key that both sides give, the value of the template replaces that of the request, at
/// cluster level, for flat nodes by index, and for node groups by name (the group's defaults also against each node
/// that the request puts into the group).
///
/// # Errors
/// When one of the fields is no object.
pub fn override_labels(
    input: &mut Map<String, Value>,
    defaults: &Map<String, Value>,
) -> Result<(), InputError> {
    override_one(input, defaults)?;
    if let (Some(Value::Array(nodes)), Some(Value::Array(under))) =
        (input.get_mut("nodes"), defaults.get("nodes"))
    {
        for (node, under) in nodes.iter_mut().zip(under) {
            if let (Value::Object(node), Value::Object(under)) = (node, under) {
                override_one(node, under)?;
            }
        }
    }
    let (Some(Value::Array(groups)), Some(Value::Array(under))) =
        (input.get_mut("nodeGroups"), defaults.get("nodeGroups"))
    else {
        return Ok(());
    };
    for group in groups.iter_mut().filter_map(Value::as_object_mut) {
        let Some(name) = group.get("name").and_then(Value::as_str) else { continue };
        let found = under.iter().filter_map(Value::as_object);
        let Some(under) = found.into_iter().find(|g| g.get("name").and_then(Value::as_str) == Some(name))
        else {
            continue;
        };
        override_one(group, under)?;
        if let Some(Value::Array(nodes)) = group.get_mut("nodes") {
            for node in nodes.iter_mut().filter_map(Value::as_object_mut) {
                override_one(node, under)?;
            }
        }
    }
    Ok(())
}

fn override_one(input: &mut Map<String, Value>, defaults: &Map<String, Value>) -> Result<(), InputError> {
    for field in LABEL_FIELDS {
        let (Some(given), Some(under)) = (input.get_mut(field), defaults.get(field)) else { continue };
        let (Value::Object(given), Value::Object(under)) = (&mut *given, under) else {
            return Err(mismatch(field, given, under));
        };
        for (kind, given) in given {
            let Some(under) = under.get(kind) else { continue };
            let (Value::Object(given), Value::Object(under)) = (&mut *given, under) else {
                return Err(mismatch(&format!("{field}.{kind}"), given, under));
            };
            for (key, value) in given {
                if let Some(wins) = under.get(key) {
                    value.clone_from(wins);
                }
            }
        }
    }
    Ok(())
}

fn mismatch(field: &str, given: &Value, under: &Value) -> InputError {
    InputError::input(format!(
        "type mismatch for field {field}: (from ProvisioningRequest: {}, from default Configmap: {})",
        go_type(given),
        go_type(under)
    ))
}

/// The type as clients know it from these texts.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
