//! The hosts as the planner looks at them: sorted, indexed, and with what is the same for every request worked out once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use manifests::clcm::{AllocatedNode, NodeAllocationRequest};
use manifests::meta::labels;
use manifests::metal3::ProvisioningState;

use super::{Seen, name};
use crate::hardware::matching::Host;
use crate::hardware::select::{Criteria, Rejection};
use crate::hardware::{HostView, Pools, claim, holdings};
use crate::plan::Step;

/// Hosts that some node names, whatever their labels say.
pub(super) fn taken_by_nodes(nodes: &[Arc<AllocatedNode>]) -> HashMap<(&str, &str), &str> {
    nodes
        .iter()
        .filter_map(|node| {
            let host = (node.spec.hw_mgr_node_ns.as_deref()?, node.spec.hw_mgr_node_id.as_deref()?);
            Some((host, node.metadata.name.as_deref()?))
        })
        .collect()
}

/// The hosts, sorted, with what is the same for every request worked out once.
pub(super) struct Fleet<'a> {
    hosts: Vec<&'a HostView>,
    pub(super) pools: &'a Pools,
    pub(super) clusters: &'a BTreeSet<String>,
    /// Whether a host is free, whatever it is asked for.
    pub(super) free: Vec<Result<(), Rejection>>,
    /// Claimed hosts without a node.
    claimed: Vec<Host>,
    by_pool: HashMap<&'a str, Vec<Host>>,
    by_label: HashMap<&'a str, HashMap<&'a str, Vec<Host>>>,
    /// Living nodes by request and group.
    nodes: HashMap<(&'a str, &'a str), usize>,
    pub(super) node_names: HashSet<&'a str>,
    pub(super) all: Vec<Host>,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(seen: &Seen<'a>) -> Self {
        let taken = taken_by_nodes(seen.nodes);
        let node_names: HashSet<&str> =
            seen.nodes.iter().filter_map(|n| n.metadata.name.as_deref()).collect();
        let mut nodes: HashMap<(&str, &str), usize> = HashMap::new();
        for node in seen.nodes.iter().filter(|n| holdings::is_living(n)) {
            *nodes.entry((&node.spec.node_allocation_request, &node.spec.group_name)).or_default() += 1;
        }
        let mut hosts: Vec<&HostView> = seen.hosts.iter().collect();
        hosts.sort_by_key(|v| (v.host.metadata.namespace.as_deref(), v.host.metadata.name.as_deref()));
        let mut fleet = Fleet {
            free: Vec::with_capacity(hosts.len()),
            claimed: Vec::new(),
            by_pool: HashMap::new(),
            by_label: HashMap::new(),
            all: (0..hosts.len()).collect(),
            pools: seen.pools,
            clusters: seen.clusters,
            nodes,
            node_names,
            hosts,
        };
        for at in 0..fleet.hosts.len() {
            fleet.add(at, &taken);
        }
        fleet
    }

    fn add(&mut self, at: Host, taken: &HashMap<(&str, &str), &str>) {
        let Some(&view) = self.hosts.get(at) else { return };
        let meta = &view.host.metadata;
        let key = (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
        let node = claim::node_of(&view.host);
        if let Some(node) = node
            && !self.node_names.contains(node)
            && !taken.contains_key(&key)
        {
            self.claimed.push(at);
        }
        self.free.push(match taken.get(&key) {
            Some(node) => Err(Rejection::Allocated { node: Some((*node).to_owned()) }),
            None => Rejection::check(view),
        });
        for (key, value) in meta.labels.iter().flatten() {
            if key == labels::RESOURCE_POOL {
                self.by_pool.entry(value).or_default().push(at);
            }
            if key.starts_with(labels::RESOURCE_SELECTOR_PREFIX) {
                self.by_label.entry(key).or_default().entry(value).or_default().push(at);
            }
        }
    }

    pub(super) fn host(&self, at: Host) -> Option<&'a HostView> {
        self.hosts.get(at).copied()
    }

    pub(super) fn have(&self, request: &NodeAllocationRequest) -> impl Fn(&str) -> usize {
        let request = name(request).to_owned();
        move |group| self.nodes.get(&(request.as_str(), group)).copied().unwrap_or(0)
    }

    /// Which claimed hosts without a node belong to which request: the label tells the cluster. Of several requests for
    /// one cluster the first has them.
    pub(super) fn claims_by_request(
        &self,
        requests: &[&'a NodeAllocationRequest],
    ) -> HashMap<&'a str, Vec<Host>> {
        let mut by_cluster: HashMap<&str, &'a NodeAllocationRequest> = HashMap::new();
        for request in requests {
            by_cluster.entry(&request.spec.cluster_id).or_insert(request);
        }
        let mut out: HashMap<&str, Vec<Host>> = HashMap::new();
        for &at in &self.claimed {
            let Some(view) = self.host(at) else { continue };
            let plain = claim::node_of(&view.host)
                .and_then(|node| claim::cluster_in(node, &view.key()))
                .and_then(|cluster| by_cluster.get(cluster).copied());
            let request = plain.or_else(|| {
                requests.iter().copied().find(|r| claim::is_claim_of(&r.spec.cluster_id, &view.host))
            });
            if let Some(request) = request {
                out.entry(name(request)).or_default().push(at);
            }
        }
        out
    }

    /// Some host that is claimed for the cluster runs something already.
    pub(super) fn runs(&self, claimed: &[Host]) -> bool {
        claimed.iter().filter_map(|at| self.host(*at)).any(|v| v.host.state().is_provisioned())
    }

    /// The smallest indexed list that contains every host that may fit.
    pub(super) fn around<'b>(&'b self, criteria: &Criteria) -> &'b [Host] {
        const NONE: &[Host] = &[];
        let mut best: &'b [Host] = &self.all;
        if let Some(pool) = criteria.pool() {
            let by_uid = self.pools.0.iter().find(|(_, p)| p.uid == pool).map(|(name, _)| name.as_str());
            let named = self.by_pool.get(pool);
            let list = match (named, by_uid) {
                (Some(list), None) => list.as_slice(),
                (None, Some(name)) => self.by_pool.get(name).map_or(NONE, Vec::as_slice),
                (None, None) => NONE,
                (Some(_), Some(_)) => &self.all,
            };
            if list.len() < best.len() {
                best = list;
            }
        }
        for (key, value) in criteria.labels() {
            if key.starts_with(labels::RESOURCE_SELECTOR_PREFIX) {
                let list = self.by_label.get(key.as_str()).and_then(|values| values.get(value.as_str()));
                let list = list.map_or(NONE, Vec::as_slice);
                if list.len() < best.len() {
                    best = list;
                }
            }
        }
        best
    }

    /// A claim that nobody knows of any more: the request went away while the claim was being written. Only hosts that
    /// run nothing are given back.
    pub(super) fn give_back_orphans(&self, settled: &HashSet<Host>, steps: &mut Vec<Step>) {
        for &at in self.claimed.iter().filter(|at| !settled.contains(at)) {
            let Some(view) = self.host(at) else { continue };
            let host = &view.host;
            if is_untouched(view) && host.metadata.deletion_timestamp.is_none() {
                steps.push(claim::give_back(host));
            }
        }
    }
}

/// Nothing was done with the host since it was claimed.
pub(in crate::hardware) fn is_untouched(view: &HostView) -> bool {
    let host = &view.host;
    host.state() == ProvisioningState::Available
        && host.spec.image.as_ref().is_none_or(|i| i.url.is_empty())
        && host.spec.custom_deploy.is_none()
        && !host.spec.externally_provisioned
        && host.annotation(manifests::metal3::annotations::PAUSED).is_none()
}
