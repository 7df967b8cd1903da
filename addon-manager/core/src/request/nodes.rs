//! Data of allocated hosts into the ClusterInstance (spec/02 13.5).

use std::collections::{BTreeMap, BTreeSet};

use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::clcm::{AllocatedNode, AllocatedNodeStatus};
use manifests::meta::condition::Next;
use manifests::meta::labels;
use serde_json::{Map, Value, json};

use super::error::InputError;
use super::hwmgmt::Hardware;
use super::merge::NodeGroups;
use super::render::{self, PLACEHOLDER_MAC, host_name, interfaces_mut};

/// What [`apply`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// AllocatedNode to host name, with what was newly assigned, also when a later step failed: an assignment is
    /// never taken back.
    pub host_map: BTreeMap<String, String>,
    /// Why the object is not complete.
    pub result: Result<(), InputError>,
}

/// Writes BMC, host reference and MAC addresses of the allocated hosts into the nodes of `spec` (the spec of the
/// ClusterInstance that is about to be applied).
///
/// `input` is the merged cluster data, where interfaces still have their labels. `nodes` are the `AllocatedNodes` of
/// this request in any order.
///
/// A host keeps the node that it was assigned first; a new one gets the first free node of its group, in name order.
pub fn apply(
    spec: &mut Value,
    input: &Value,
    groups: &NodeGroups,
    hardware: &Hardware,
    nodes: &[AllocatedNode],
    host_map: &BTreeMap<String, String>,
) -> Applied {
    let mut host_map = host_map.clone();
    let result = Fill { input, groups, hardware }.run(spec, nodes, &mut host_map);
    Applied { host_map, result }
}

struct Fill<'a> {
    input: &'a Value,
    groups: &'a NodeGroups,
    hardware: &'a Hardware,
}

impl Fill<'_> {
    fn run(
        &self,
        spec: &mut Value,
        nodes: &[AllocatedNode],
        host_map: &mut BTreeMap<String, String>,
    ) -> Result<(), InputError> {
        let mut by_name = BTreeMap::new();
        for node in nodes {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let bmc = node.status.as_ref().and_then(|s| s.bmc.as_ref());
            if bmc.and_then(|b| b.credentials_name.as_deref()).unwrap_or_default().is_empty() {
                return Err(InputError::internal(format!("allocatedNode {name} does not have BMC details")));
            }
            by_name.insert(name, node);
        }
        let mut taken = BTreeSet::new();
        let mut unmatched = Vec::new();
        let list = spec.get_mut("nodes").and_then(Value::as_array_mut);
        for (index, node) in list.into_iter().flatten().enumerate() {
            let Some(node) = node.as_object_mut() else { continue };
            let host = host_name(node).to_owned();
            let Some(name) = self.assign(node, &host, &by_name, host_map, &taken) else {
                unmatched.push(format!("Index: {index}, Host Name: {host}"));
                continue;
            };
            if let Some(found) = by_name.get(name.as_str()) {
                taken.insert(name.clone());
                self.fill(node, &host, found)?;
                host_map.retain(|_, mapped| *mapped != host);
                host_map.insert(name, host);
            }
        }
        if unmatched.is_empty() {
            return Ok(());
        }
        Err(InputError::internal(format!(
            "failed to find matches for the following nodes: {}",
            unmatched.join("; ")
        )))
    }

    /// Name of the AllocatedNode for this host.
    fn assign(
        &self,
        node: &Map<String, Value>,
        host: &str,
        by_name: &BTreeMap<&str, &AllocatedNode>,
        host_map: &BTreeMap<String, String>,
        taken: &BTreeSet<String>,
    ) -> Option<String> {
        let group = self.hardware.group_of(self.groups.of(host), render::role(node))?;
        let of_group = || {
            by_name
                .iter()
                .filter(|(name, node)| node.spec.group_name == group.name && !taken.contains(**name))
                .map(|(name, _)| *name)
        };
        let mapped = of_group().find(|name| host_map.get(*name).is_some_and(|h| h == host));
        mapped.or_else(|| of_group().find(|name| !host_map.contains_key(*name))).map(str::to_owned)
    }

    fn fill(
        &self,
        node: &mut Map<String, Value>,
        host: &str,
        found: &AllocatedNode,
    ) -> Result<(), InputError> {
        let empty = AllocatedNodeStatus::default();
        let status = found.status.as_ref().unwrap_or(&empty);
        if let Some(bmc) = &status.bmc {
            node.insert("bmcAddress".to_owned(), json!(bmc.address.as_deref().unwrap_or_default()));
            node.insert("bmcCredentialsName".to_owned(), json!({ "name": bmc.credentials_name }));
        }
        let given = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
        if let (Some(name), Some(namespace)) =
            (given(&found.spec.hw_mgr_node_id), given(&found.spec.hw_mgr_node_ns))
        {
            node.insert("hostRef".to_owned(), json!({ "name": name, "namespace": namespace }));
        }
        let boot = status.interfaces.iter().find(|i| i.label == labels::BOOT_INTERFACE_NAME);
        let Some(boot) = boot else {
            return Err(InputError::internal(format!(
                "failed to get boot MAC for node '{host}': no boot interface found; missing interface with label {:?}",
                labels::BOOT_INTERFACE_NAME
            )));
        };
        node.insert("bootMACAddress".to_owned(), json!(boot.mac_address));
        self.fill_macs(node, host, status)
    }

    fn fill_macs(
        &self,
        node: &mut Map<String, Value>,
        host: &str,
        status: &AllocatedNodeStatus,
    ) -> Result<(), InputError> {
        let wanted = self.interface_labels(host)?;
        for interface in interfaces_mut(node) {
            let name = interface.get("name").and_then(Value::as_str).unwrap_or_default();
            let mac = wanted
                .iter()
                .filter(|(n, _)| *n == name)
                .find_map(|(_, label)| status.interfaces.iter().find(|i| i.label == *label))
                .map(|i| i.mac_address.clone());
            if let Some(mac) = mac {
                interface.insert("macAddress".to_owned(), Value::String(mac));
                continue;
            }
            // An interface that only the live object has keeps the address that it has.
            let known = interface.get("macAddress").and_then(Value::as_str);
            let only_live = !wanted.iter().any(|(n, _)| *n == name);
            if only_live && known.is_some_and(|mac| !mac.is_empty() && mac != PLACEHOLDER_MAC) {
                continue;
            }
            return Err(InputError::internal(format!(
                "mac address not assigned for interface {name}, node name {host}"
            )));
        }
        Ok(())
    }

    /// Names and labels of interfaces in the merged input: those of the host itself, then those of the other hosts of
    /// its group (B-30: never those of another group, whose NIC layout may differ).
    fn interface_labels(&self, host: &str) -> Result<Vec<(&str, &str)>, InputError> {
        let group = |node: &Map<String, Value>| {
            self.groups.of(host_name(node)).map_or_else(|| render::role(node).to_owned(), str::to_owned)
        };
        let own = render::nodes(self.input).find(|n| host_name(n) == host);
        let others = render::nodes(self.input)
            .filter(|n| host_name(n) != host && own.is_some_and(|own| group(own) == group(n)));
        let mut out = Vec::new();
        for node in own.into_iter().chain(others) {
            let list = node.get("nodeNetwork").and_then(|n| n.get("interfaces")).and_then(Value::as_array);
            for interface in list.into_iter().flatten() {
                let text = |key: &str| interface.get(key).and_then(Value::as_str);
                let (Some(name), Some(label)) = (text("name"), text("label")) else {
                    return Err(InputError::internal(
                        "interface map from the cluster input is missing 'label' or 'name' key",
                    ));
                };
                out.push((name, label));
            }
        }
        Ok(out)
    }
}

/// The condition `HardwareNodeConfigApplied` for a result of [`apply`]. After the installation a missing node is one
/// that is still to be allocated, no failure.
pub fn condition(result: &Result<(), InputError>, installed: bool) -> Next {
    let type_ = RequestCondition::HardwareNodeConfigApplied;
    match result {
        Ok(()) => Next::yes(
            type_,
            RequestReason::Completed,
            "Node configuration has been applied to the rendered ClusterInstance",
        ),
        Err(_) if installed => {
            Next::no(type_, RequestReason::InProgress, "Waiting for hardware allocation for new nodes")
        }
        Err(e) => Next::no(
            type_,
            RequestReason::NotApplied,
            format!("Failed to apply node configuration to the rendered ClusterInstance: {e}"),
        ),
    }
}
