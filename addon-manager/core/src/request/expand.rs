//! Expansion of `nodeGroups` to the flat `nodes` of a ClusterInstance (spec/02 6.4.2).

use serde_json::{Map, Value, json};

use super::error::InputError;
use super::merge::{KeyedList, NodeGroups, deep_merge};

/// Lists of a node that is laid over its group.
const NODE_LISTS: &[KeyedList] =
    &[KeyedList { path: "nodeNetwork.interfaces", reject_unknown: true, allow_duplicates: true }];

/// Replaces `nodeGroups` of merged cluster data by `nodes`: the hosts of each group, in group order and host order,
/// laid over the shared fields of the group. Which group a host came from is returned beside it.
///
/// # Errors
/// Always of class input.
pub(super) fn expand(
    cluster: &mut Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<NodeGroups, InputError> {
    let groups = match cluster.get("nodeGroups") {
        None => return Err(InputError::input("\"nodeGroups\" is required for the nodeGroups format")),
        Some(Value::Array(_)) => cluster.remove("nodeGroups"),
        Some(_) => return Err(InputError::input("\"nodeGroups\" must be an array")),
    };
    let Some(Value::Array(groups)) = groups else { return Ok(NodeGroups::default()) };
    let any_group = !groups.is_empty();

    let mut nodes = Vec::new();
    let mut names = Vec::with_capacity(groups.len());
    let mut known = NodeGroups::default();
    for (index, group) in groups.into_iter().enumerate() {
        let Value::Object(mut group) = group else {
            return Err(InputError::input(format!("node group [{index}] is not an object")));
        };
        let name = match group.remove("name") {
            Some(Value::String(name)) => name,
            _ => String::new(),
        };
        let hosts = match group.remove("nodes") {
            None => Vec::new(),
            Some(Value::Array(hosts)) => hosts,
            Some(_) => return Err(InputError::input(format!("node group {name:?} nodes must be an array"))),
        };
        for (at, host) in hosts.into_iter().enumerate() {
            let Value::Object(host) = host else {
                return Err(InputError::input(format!("node group {name:?} node[{at}] is not an object")));
            };
            let mut node = group.clone();
            let mut shorter = Vec::new();
            deep_merge(&mut node, host, NODE_LISTS, &mut shorter).map_err(|e| {
                InputError::input(format!("failed to merge node[{at}] onto node group {name:?}: {e}"))
            })?;
            warnings
                .extend(shorter.into_iter().map(|text| format!("node group {name:?} node[{at}]: {text}")));
            place_addresses(&mut node)
                .map_err(|text| InputError::input(format!("node group {name:?} node[{at}]: {text}")))?;
            if let Some(host) = node.get("hostName").and_then(Value::as_str) {
                known.of_host.insert(host.to_owned(), name.clone());
            }
            nodes.push(Value::Object(node));
        }
        names.push(name);
    }
    if any_group && nodes.is_empty() {
        return Err(InputError::input(
            "at least one node is required across nodeGroups in clusterInstanceParameters",
        ));
    }
    cluster.insert("nodes".to_owned(), Value::Array(nodes));
    known.names = Some(names);
    Ok(known)
}

/// Moves `interfaces[].addresses` of a node into the nmstate configuration of the interface.
fn place_addresses(node: &mut Map<String, Value>) -> Result<(), String> {
    let Some(Value::Object(network)) = node.get_mut("nodeNetwork") else { return Ok(()) };
    let mut given = Vec::new();
    if let Some(Value::Array(interfaces)) = network.get_mut("interfaces") {
        for interface in interfaces.iter_mut().filter_map(Value::as_object_mut) {
            let name = interface.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            match interface.remove("addresses") {
                None | Some(Value::Null) => {}
                Some(Value::Object(addresses)) => given.push((name, addresses)),
                Some(_) => return Err(format!("interface {name:?} addresses must be an object")),
            }
        }
    }
    for (name, addresses) in given {
        let configured = network
            .get_mut("config")
            .and_then(|config| config.get_mut("interfaces"))
            .and_then(Value::as_array_mut)
            .and_then(|list| list.iter_mut().find(|i| i.get("name").and_then(Value::as_str) == Some(&name)))
            .and_then(Value::as_object_mut);
        let Some(configured) = configured else {
            return Err(format!(
                "interface {name:?} has addresses but no matching entry in nodeNetwork.config.interfaces"
            ));
        };
        for family in ["ipv4", "ipv6"] {
            let list = match addresses.get(family) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(list)) => list,
                Some(_) => return Err(format!("interface {name:?} addresses.{family} must be an array")),
            };
            let mut address = Vec::with_capacity(list.len());
            for (index, entry) in list.iter().enumerate() {
                let Some(text) = entry.as_str() else {
                    return Err(format!("interface {name:?} addresses.{family}[{index}] is not a string"));
                };
                let (ip, prefix) = parse_cidr(text)
                    .map_err(|why| format!("interface {name:?} addresses.{family} {text:?}: {why}"))?;
                address.push(json!({ "ip": ip, "prefix-length": prefix }));
            }
            let slot = configured.entry(family).or_insert_with(|| Value::Object(Map::new()));
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            if let Some(slot) = slot.as_object_mut() {
                slot.insert("address".to_owned(), Value::Array(address));
            }
        }
    }
    Ok(())
}

/// Address and prefix length; host bits and ranges are left to nmstate.
fn parse_cidr(text: &str) -> Result<(&str, u64), String> {
    let parts = text.split_once('/').filter(|(ip, prefix)| !ip.is_empty() && !prefix.is_empty());
    let (ip, prefix) = parts.ok_or_else(|| "not a valid CIDR (expected <address>/<prefix>)".to_owned())?;
    let digits = prefix.bytes().all(|b| b.is_ascii_digit());
    match prefix.parse::<u64>() {
        Ok(length) if digits => Ok((ip, length)),
        _ => Err(format!("invalid prefix length {prefix:?}")),
    }
}
