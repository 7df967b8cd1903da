//! A hub in memory for tests: objects as JSON with resource versions, generations, finalizers and garbage collection by
//! hand, and the three decisions run over them until nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource;
use manifests::clcm::{AllocatedNode, HardwareProfile, NodeAllocationRequest};
use manifests::metal3::{
    BareMetalHost, FirmwareSchema, HardwareData, HostFirmwareComponents, HostFirmwareSettings,
    HostUpdatePolicy, PreprovisioningImage,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fixtures::{self, Host};
use super::planner::{self, Outcome, Planned};
use super::{HostView, Pools, claim, nar, node, release};
use crate::plan::{Step, Target, Wake};

type Key = (String, String, String);

pub(super) struct World {
    pub(super) objects: BTreeMap<Key, Value>,
    pub(super) pools: Arc<Pools>,
    pub(super) clusters: BTreeSet<String>,
    pub(super) hostnames: BTreeMap<String, String>,
    pub(super) now: Timestamp,
    pub(super) planned: Planned,
    pub(super) wake: Wake,
    /// What was written, in order, as short texts.
    pub(super) log: Vec<String>,
    version: u64,
}

impl World {
    pub(super) fn new() -> Self {
        World {
            objects: BTreeMap::new(),
            pools: Arc::new(fixtures::pools()),
            clusters: BTreeSet::new(),
            hostnames: BTreeMap::new(),
            now: fixtures::at(0),
            planned: Planned::default(),
            wake: Wake::OnChange,
            log: Vec::new(),
            version: 1,
        }
    }

    fn key<K: Resource<DynamicType = ()>>(namespace: &str, name: &str) -> Key {
        (K::kind(&()).into_owned(), namespace.to_owned(), name.to_owned())
    }

    pub(super) fn put<K: Resource<DynamicType = ()> + Serialize>(&mut self, object: &K) {
        let meta = object.meta();
        let key = Self::key::<K>(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
        );
        self.version += 1;
        let mut value = serde_json::to_value(object).unwrap();
        value["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key, value);
    }

    pub(super) fn host(&mut self, host: &Host) {
        self.put(&host.host);
        if let Some(data) = host.view().data {
            self.put(&*data);
        }
    }

    pub(super) fn get<K>(&self, namespace: &str, name: &str) -> Option<Arc<K>>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let value = self.objects.get(&Self::key::<K>(namespace, name))?;
        Some(Arc::new(serde_json::from_value(value.clone()).unwrap()))
    }

    pub(super) fn all<K>(&self) -> Vec<Arc<K>>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let kind = K::kind(&());
        self.objects
            .iter()
            .filter(|(key, _)| key.0 == kind)
            .map(|(_, v)| Arc::new(serde_json::from_value(v.clone()).unwrap()))
            .collect()
    }

    pub(super) fn nar(&self, name: &str) -> Arc<NodeAllocationRequest> {
        self.get("oran-o2ims", name).unwrap()
    }

    pub(super) fn bmh(&self, name: &str) -> Arc<BareMetalHost> {
        self.get("racks", name).unwrap()
    }

    pub(super) fn nodes(&self) -> Vec<Arc<AllocatedNode>> {
        self.all()
    }

    /// `type status/reason: message` of each condition.
    pub(super) fn conditions(&self, name: &str) -> Vec<String> {
        let status = self.nar(name).status.clone().unwrap_or_default();
        texts(&status.conditions)
    }

    pub(super) fn node_conditions(&self, name: &str) -> Vec<String> {
        let node: Arc<AllocatedNode> = self.get("oran-o2ims", name).unwrap();
        texts(&node.status.clone().unwrap_or_default().conditions)
    }

    /// A JSON merge patch by somebody else.
    pub(super) fn edit<K: Resource<DynamicType = ()>>(&mut self, namespace: &str, name: &str, patch: &Value) {
        let key = Self::key::<K>(namespace, name);
        self.merge(&key, patch);
    }

    pub(super) fn edit_host(&mut self, name: &str, patch: &Value) {
        self.edit::<BareMetalHost>("racks", name, patch);
    }

    pub(super) fn state(&mut self, name: &str, state: &str) {
        self.edit_host(name, &json!({"status": {"provisioning": {"state": state}}}));
    }

    pub(super) fn delete<K: Resource<DynamicType = ()>>(&mut self, namespace: &str, name: &str) {
        let key = Self::key::<K>(namespace, name);
        self.remove(&key);
    }

    fn merge(&mut self, key: &Key, patch: &Value) -> bool {
        let Some(object) = self.objects.get(key) else { return false };
        let mut new = object.clone();
        json_patch::merge(&mut new, patch);
        if new == *object {
            return false;
        }
        self.version += 1;
        if new["spec"] != object["spec"] {
            let generation = object["metadata"]["generation"].as_i64().unwrap_or(1) + 1;
            new["metadata"]["generation"] = json!(generation);
        }
        new["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let finalizers = new["metadata"]["finalizers"].as_array().map_or(0, Vec::len);
        if !new["metadata"]["deletionTimestamp"].is_null() && finalizers == 0 {
            self.objects.remove(key);
        } else {
            self.objects.insert(key.clone(), new);
        }
        true
    }

    fn remove(&mut self, key: &Key) -> bool {
        let Some(object) = self.objects.get_mut(key) else { return false };
        if object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
            self.objects.remove(key);
            return true;
        }
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return false;
        }
        object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
        true
    }

    fn key_of(target: &Target) -> Key {
        (target.api.kind.clone(), target.namespace.clone().unwrap_or_default(), target.name.clone())
    }

    /// Carries out one step. `Err`: refused with a conflict.
    pub(super) fn step(&mut self, step: &Step) -> Result<(), ()> {
        let done = match step {
            Step::Merge { target, patch, resource_version, .. } => {
                let key = Self::key_of(target);
                let Some(object) = self.objects.get(&key) else { return Err(()) };
                if let Some(version) = resource_version
                    && object["metadata"]["resourceVersion"] != json!(version)
                {
                    return Err(());
                }
                let done = self.merge(&key, patch);
                self.log.push(format!("merge {target} {patch}"));
                done
            }
            Step::Apply { api, object, .. } => {
                let value = serde_json::to_value(object).unwrap();
                let meta = &object.metadata;
                let key = (
                    api.kind.clone(),
                    meta.namespace.clone().unwrap_or_default(),
                    meta.name.clone().unwrap_or_default(),
                );
                self.log.push(format!("apply {} {}", key.0, key.2));
                if let Some(old) = self.objects.get(&key) {
                    // We own the whole spec: fields that we leave out go.
                    let mut patch = value;
                    for field in old["spec"].as_object().into_iter().flatten().map(|(field, _)| field) {
                        let spec = patch["spec"].as_object_mut().unwrap();
                        spec.entry(field).or_insert(Value::Null);
                    }
                    self.merge(&key, &patch)
                } else {
                    self.version += 1;
                    let mut value = value;
                    value["metadata"]["uid"] = json!(format!("uid-{}-{}", key.2, self.version));
                    value["metadata"]["generation"] = json!(1);
                    value["metadata"]["resourceVersion"] = json!(self.version.to_string());
                    self.objects.insert(key, value);
                    true
                }
            }
            Step::Delete { target, uid, .. } => {
                let key = Self::key_of(target);
                let same = self.objects.get(&key).is_some_and(|o| {
                    uid.as_ref().is_none_or(|uid| o["metadata"]["uid"].as_str() == Some(uid))
                });
                self.log.push(format!("delete {target}"));
                same && self.remove(&key)
            }
            other => panic!("not a step of this area: {other:?}"),
        };
        assert!(done, "a step without effect: {step:?}");
        Ok(())
    }

    fn write_status<K: Resource<DynamicType = ()>>(&mut self, object: &K, status: &impl Serialize) {
        let meta = object.meta();
        let key = Self::key::<K>(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
        );
        self.version += 1;
        if let Some(old) = self.objects.get_mut(&key) {
            let new = serde_json::to_value(status).unwrap();
            assert_ne!(old["status"], new, "a status write without a change");
            old["status"] = new;
            old["metadata"]["resourceVersion"] = json!(self.version.to_string());
        }
    }

    pub(super) fn views(&self) -> Vec<HostView> {
        self.all::<BareMetalHost>()
            .into_iter()
            .map(|host| {
                let data = self.get::<HardwareData>(
                    host.metadata.namespace.as_deref().unwrap_or_default(),
                    host.metadata.name.as_deref().unwrap_or_default(),
                );
                HostView { host, data }
            })
            .collect()
    }

    pub(super) fn plan(&self) -> Planned {
        let (requests, nodes, hosts) = (self.all::<NodeAllocationRequest>(), self.nodes(), self.views());
        planner::plan(&planner::Seen {
            requests: &requests,
            nodes: &nodes,
            hosts: &hosts,
            pools: &self.pools,
            clusters: &self.clusters,
        })
    }

    pub(super) fn outcome(&self, name: &str) -> Option<&Outcome> {
        self.planned.outcomes.get(name)
    }

    /// The planner once. Number of writes.
    pub(super) fn run_planner(&mut self) -> usize {
        self.planned = self.plan();
        let steps = self.planned.steps.clone();
        steps.iter().filter(|s| self.step(s).is_ok()).count()
    }

    fn steps(&mut self, steps: &[Step]) -> usize {
        for (i, step) in steps.iter().enumerate() {
            if self.step(step).is_err() {
                return i;
            }
        }
        steps.len()
    }

    pub(super) fn run_requests(&mut self) -> usize {
        let mut writes = 0;
        for request in self.all::<NodeAllocationRequest>() {
            let name = request.metadata.name.clone().unwrap();
            let nodes: Vec<_> =
                self.nodes().into_iter().filter(|n| n.spec.node_allocation_request == name).collect();
            let all: BTreeSet<_> = self.nodes().iter().filter_map(|n| n.metadata.name.clone()).collect();
            let claimed: Vec<HostView> = self
                .views()
                .into_iter()
                .filter(|v| claim::is_claim_of(&request.spec.cluster_id, &v.host))
                .filter(|v| !all.contains(claim::node_of(&v.host).unwrap()))
                .collect();
            let seen = nar::Seen {
                cluster_exists: self.clusters.contains(&request.spec.cluster_id),
                outcome: self.outcome(&name).cloned(),
                pools: Arc::clone(&self.pools),
                request: Arc::clone(&request),
                nodes,
                claimed,
            };
            let plan = nar::decide(&seen, self.now);
            self.wake = self.wake.or(plan.wake);
            writes += self.steps(&plan.steps);
            if let Some(status) = plan.status {
                writes += 1;
                self.write_status(&*request, &status);
            }
        }
        writes
    }

    pub(super) fn run_nodes(&mut self) -> usize {
        let mut writes = 0;
        for node in self.nodes() {
            let request = self.get::<NodeAllocationRequest>("oran-o2ims", &node.spec.node_allocation_request);
            let namespace = node.spec.hw_mgr_node_ns.clone().unwrap_or_default();
            let name = node.spec.hw_mgr_node_id.clone().unwrap_or_default();
            let host = self.get::<BareMetalHost>(&namespace, &name);
            let exists = request.as_ref().is_some_and(|r| self.clusters.contains(&r.spec.cluster_id));
            let plan = if node.metadata.deletion_timestamp.is_some() {
                let group_size = self
                    .nodes()
                    .iter()
                    .filter(|n| n.metadata.deletion_timestamp.is_none())
                    .filter(|n| n.spec.group_name == node.spec.group_name)
                    .filter(|n| n.spec.node_allocation_request == node.spec.node_allocation_request)
                    .count();
                release::decide(
                    &release::Seen {
                        node: Arc::clone(&node),
                        request,
                        host,
                        image: self.get::<PreprovisioningImage>(&namespace, &name),
                        update_policy: self.get::<HostUpdatePolicy>(&namespace, &name),
                        has_network_data: false,
                        group_size,
                        cluster_exists: exists,
                    },
                    self.now,
                )
            } else {
                let settings = self.get::<HostFirmwareSettings>(&namespace, &name);
                let schema = settings
                    .as_ref()
                    .and_then(|s| s.status.as_ref()?.schema.clone())
                    .and_then(|s| self.get::<FirmwareSchema>(&s.namespace, &s.name));
                let data = self.get::<HardwareData>(&namespace, &name);
                node::decide(
                    &node::Seen {
                        request,
                        host: host.map(|host| HostView { host, data }),
                        profile: self.get::<HardwareProfile>("oran-o2ims", &node.spec.hw_profile),
                        settings,
                        schema,
                        components: self.get::<HostFirmwareComponents>(&namespace, &name),
                        hostname: self.hostnames.get(node.metadata.name.as_deref().unwrap()).cloned(),
                        cluster_exists: exists,
                        node: Arc::clone(&node),
                    },
                    self.now,
                )
            };
            self.wake = self.wake.or(plan.wake);
            writes += self.steps(&plan.steps);
            if let Some(status) = plan.status {
                writes += 1;
                self.write_status(&*node, &status);
            }
        }
        writes
    }

    /// Everything once, in the order of the stages. Number of writes.
    pub(super) fn pass(&mut self) -> usize {
        self.wake = Wake::OnChange;
        self.run_planner() + self.run_requests() + self.run_nodes()
    }

    /// Until a pass writes nothing.
    pub(super) fn settle(&mut self) {
        for _ in 0..30 {
            if self.pass() == 0 {
                return;
            }
        }
        panic!("does not settle; last writes: {:#?}", self.log.iter().rev().take(10).collect::<Vec<_>>());
    }

    /// Moves the clock and settles.
    pub(super) fn after(&mut self, seconds: i64) {
        self.now = fixtures::at(seconds);
        self.settle();
    }
}

fn texts(list: &[manifests::meta::condition::Condition]) -> Vec<String> {
    list.iter().map(|c| format!("{} {}/{}: {}", c.type_, c.status, c.reason, c.message)).collect()
}
