//! All waiting requests together (DESIGN section 4, Claims; spec/04 B2, B3, B5).
//!
//! Requests are served in order of creation time and name. A request gets all hosts that it misses or none; hosts that an
//! older request gets are reserved in memory, so that one run never gives a host twice; the guarded write of the claim
//! is what holds when several managers run. What was claimed earlier is kept: it is found again by the labels on the
//! hosts, never from memory.

mod fleet;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{AllocatedNode, NodeAllocationRequest};
use manifests::meta::{condition, finalizers};

pub(super) use self::fleet::is_untouched;
use self::fleet::{Fleet, taken_by_nodes};
use super::holdings::{self, Group, assign_claimed};
use super::matching::{Host, Matching};
use super::select::{Criteria, Rejection, why_not};
use super::texts::SHORTAGE;
use super::{HostKey, HostView, Pools, claim};
use crate::plan::Step;

/// Everything that one run looks at.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// All requests.
    pub requests: &'a [Arc<NodeAllocationRequest>],
    /// All nodes, in whatever state.
    pub nodes: &'a [Arc<AllocatedNode>],
    /// All hosts, in any order.
    pub hosts: &'a [HostView],
    /// All pools.
    pub pools: &'a Pools,
    /// Names of the ManagedClusters: they exist, so nothing is claimed for them as if they were new (DESIGN section 5).
    pub clusters: &'a BTreeSet<String>,
}

/// What one run decided.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Planned {
    /// By name of the request; requests that need nothing are not in it.
    pub outcomes: BTreeMap<String, Outcome>,
    /// The writes, oldest request first. They are independent of each other: one that is refused (the host changed) does
    /// not stop the others, the next run finds a host for it.
    pub steps: Vec<Step>,
}

/// What a run decided about one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Every group gets what it needs; these claims are being written or are there already.
    Granted(Vec<Grant>),
    /// There are not enough hosts; nothing more is claimed.
    Short(Shortage),
    /// The user must change the request.
    Invalid(String),
    /// The cluster exists, so hosts are missing that it runs on: nothing new is claimed (DESIGN section 5).
    Exists {
        /// Group that misses hosts.
        group: String,
        /// How many.
        missing: usize,
    },
    /// An older request is about the same cluster.
    SameCluster(String),
}

/// A host for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Node group.
    pub group: String,
    /// The host.
    pub host: HostKey,
    /// Name of the AllocatedNode to be.
    pub node: String,
    /// The claim was there before this run.
    pub claimed: bool,
}

/// Which group misses hosts and why others do not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// First group, in order of the request, that cannot be filled.
    pub group: String,
    /// Hosts that it could have.
    pub free: usize,
    /// Hosts that it needs.
    pub required: usize,
    /// Number of hosts by the reason for which they do not do.
    pub rejected: BTreeMap<&'static str, usize>,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SHORTAGE}{} criteria: freenodes={}, required={}", self.group, self.free, self.required)?;
        if self.rejected.is_empty() {
            return f.write_str("; there are no hosts");
        }
        // Without the numbers: a message that changes with every host would be written again and again.
        let reasons: Vec<&str> = self.rejected.keys().copied().collect();
        write!(f, "; other hosts are {}", reasons.join(", "))
    }
}

/// Why each host that a group of a request did not get was not chosen, for the plan preview: the truth of this moment,
/// with the hosts that this run gave to others.
pub fn explain(seen: &Seen<'_>, planned: &Planned, request: &str, group: &str) -> Vec<(HostKey, Rejection)> {
    let Some(nar) = seen.requests.iter().find(|r| r.metadata.name.as_deref() == Some(request)) else {
        return Vec::new();
    };
    let Some(spec) = nar.spec.node_group.iter().find(|g| g.node_group_data.name == group) else {
        return Vec::new();
    };
    let Ok(criteria) = Criteria::of(&spec.node_group_data, &nar.spec.site) else { return Vec::new() };
    let mut granted: BTreeMap<&HostKey, (&str, &Grant)> = BTreeMap::new();
    for (name, outcome) in &planned.outcomes {
        if let Outcome::Granted(grants) = outcome {
            granted.extend(grants.iter().map(|g| (&g.host, (name.as_str(), g))));
        }
    }
    let taken = taken_by_nodes(seen.nodes);
    let mut out = Vec::new();
    for view in seen.hosts {
        let key = view.key();
        let reason = match (granted.get(&key), taken.get(&(key.namespace.as_str(), key.name.as_str()))) {
            (Some((name, grant)), _) if *name == request && grant.group == group => continue,
            (Some((name, grant)), _) if *name == request => {
                Rejection::OtherGroup { group: grant.group.clone() }
            }
            (Some((name, _)), _) => Rejection::Reserved { request: (*name).to_owned() },
            (None, Some(node)) => Rejection::Allocated { node: Some((*node).to_owned()) },
            (None, None) => match why_not(&criteria, view, seen.pools) {
                Ok(()) => Rejection::NotNeeded,
                Err(reason) => reason,
            },
        };
        out.push((key, reason));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

/// Plans all waiting requests.
pub fn plan(seen: &Seen<'_>) -> Planned {
    let fleet = Fleet::new(seen);
    let mut run =
        Run { fleet: &fleet, reserved: HashSet::new(), names: HashSet::new(), fits: HashMap::new() };
    let mut planned = Planned::default();
    let mut owners: HashMap<&str, &str> = HashMap::new();
    let mut waiting: Vec<&NodeAllocationRequest> = seen.requests.iter().map(Arc::as_ref).collect();
    waiting.sort_by_key(|r| (created(r), name(r)));
    let claims = fleet.claims_by_request(&waiting);
    let mut settled: HashSet<Host> = HashSet::new();
    for request in waiting {
        let claimed = claims.get(name(request)).map(Vec::as_slice).unwrap_or_default();
        if request.metadata.deletion_timestamp.is_some() {
            // The request itself gives them back, before its finalizer goes.
            settled.extend(claimed.iter().copied());
            owners.entry(&request.spec.cluster_id).or_insert(name(request));
            continue;
        }
        if !has_finalizer(request) {
            settled.extend(claimed.iter().copied());
            continue;
        }
        let first = *owners.entry(&request.spec.cluster_id).or_insert(name(request));
        let have = fleet.have(request);
        let groups = holdings::groups(request, have);
        if first != name(request) {
            if groups.iter().any(|g| g.need > 0) {
                planned.outcomes.insert(name(request).to_owned(), Outcome::SameCluster(first.to_owned()));
            }
            continue;
        }
        let (outcome, kept) = run.request(request, &groups, claimed, &mut planned.steps);
        settled.extend(kept);
        if let Some(outcome) = outcome {
            planned.outcomes.insert(name(request).to_owned(), outcome);
        }
    }
    fleet.give_back_orphans(&settled, &mut planned.steps);
    planned
}

fn name(request: &NodeAllocationRequest) -> &str {
    request.metadata.name.as_deref().unwrap_or_default()
}

fn created(request: &NodeAllocationRequest) -> Option<Timestamp> {
    request.metadata.creation_timestamp.as_ref().map(|t| t.0)
}

fn has_finalizer(request: &NodeAllocationRequest) -> bool {
    request.metadata.finalizers.iter().flatten().any(|f| f == finalizers::NODE_ALLOCATION_REQUEST)
}

/// May hosts be claimed that the request does not have yet?
///
/// Not when its cluster exists already, unless the request has recorded that it grows: a restored request has no status
/// (DESIGN section 5).
pub(super) fn may_claim(request: &NodeAllocationRequest, cluster_exists: bool) -> bool {
    !cluster_exists || is_growing(request)
}

/// The request was provisioned once and its spec asks for more since; see `nar` for how that is recorded.
pub(super) fn is_growing(request: &NodeAllocationRequest) -> bool {
    let Some(status) = &request.status else { return false };
    condition::find(&status.conditions, HardwareCondition::Provisioned.as_str()).is_some_and(|provisioned| {
        provisioned.status == condition::status::FALSE
            && (provisioned.observed_generation.is_some()
                || (request.spec.cluster_provisioned
                    && status.observed_generation < request.metadata.generation))
    })
}

/// A first allocation that ran out of time gives back what it had claimed without effect (B6).
fn is_out_of_time(request: &NodeAllocationRequest) -> bool {
    request.status.as_ref().is_some_and(|s| {
        condition::reason(&s.conditions, HardwareCondition::Provisioned.as_str())
            == HardwareReason::TimedOut.as_str()
    })
}

/// What fits one set of criteria, shared by all requests that ask for the same.
struct Fit {
    free: Vec<Host>,
    rejected: BTreeMap<&'static str, usize>,
}

struct Run<'a> {
    fleet: &'a Fleet<'a>,
    /// Hosts that this run gave away.
    reserved: HashSet<Host>,
    /// Names of nodes that this run chose.
    names: HashSet<String>,
    fits: HashMap<Criteria, Rc<Fit>>,
}

impl Run<'_> {
    /// Plans one request: its outcome, and which of its claimed hosts stay its own.
    fn request(
        &mut self,
        request: &NodeAllocationRequest,
        groups: &[Group<'_>],
        claimed: &[Host],
        steps: &mut Vec<Step>,
    ) -> (Option<Outcome>, Vec<Host>) {
        let all = claimed.to_vec();
        if groups.iter().all(|g| g.need == 0) {
            // Claims beyond the need: a race was lost in between. Orphans are given back.
            let cluster_runs = self.fleet.clusters.contains(&request.spec.cluster_id);
            return (None, if cluster_runs { all } else { Vec::new() });
        }
        if let Err(text) = holdings::limit(request) {
            return (Some(Outcome::Invalid(text)), all);
        }
        let criteria = match holdings::criteria(request, groups) {
            Ok(criteria) => criteria,
            Err(text) => return (Some(Outcome::Invalid(text)), all),
        };
        let exists = self.fleet.clusters.contains(&request.spec.cluster_id) || self.fleet.runs(claimed);
        let views: Vec<(Host, &HostView)> =
            claimed.iter().filter_map(|at| Some((*at, self.fleet.host(*at)?))).collect();
        let mut matching = assign_claimed(groups, &criteria, &views, self.fleet.pools);
        let kept: Vec<Host> =
            if exists { all.clone() } else { matching.pairs().map(|(host, _)| host).collect() };
        let fits: Vec<Option<Rc<Fit>>> = criteria.iter().map(|c| c.as_ref().map(|c| self.fit(c))).collect();
        let needs: Vec<usize> = groups.iter().map(|g| g.need).collect();
        let claimed_fit: Vec<Vec<Host>> = criteria
            .iter()
            .zip(&fits)
            .map(|(c, fit)| {
                let mine = views
                    .iter()
                    .filter(|(_, v)| c.as_ref().is_some_and(|c| c.matches(v, self.fleet.pools).is_ok()));
                let free = fit.iter().flat_map(|f| f.free.iter().copied());
                mine.map(|(h, _)| *h).chain(free).collect()
            })
            .collect();
        let mine: HashSet<Host> = matching.pairs().map(|(host, _)| host).collect();
        if may_claim(request, exists) {
            let slices: Vec<&[Host]> = claimed_fit.iter().map(Vec::as_slice).collect();
            matching.fill(&needs, &slices, |h| mine.contains(&h) || !self.reserved.contains(&h));
        }
        if let Some((at, group)) =
            groups.iter().enumerate().find(|(at, group)| matching.count(*at) < group.need)
        {
            if !may_claim(request, exists) {
                let missing = group.need - matching.count(at);
                return (Some(Outcome::Exists { group: group.name().to_owned(), missing }), kept);
            }
            let kept = if is_out_of_time(request) && !exists { Vec::new() } else { kept };
            return (Some(Outcome::Short(self.shortage(at, group, groups, &matching, &fits))), kept);
        }
        let grants = self.grant(request, groups, &matching, &mine, steps);
        (Some(Outcome::Granted(grants)), kept)
    }

    fn grant(
        &mut self,
        request: &NodeAllocationRequest,
        groups: &[Group<'_>],
        matching: &Matching,
        claimed: &HashSet<Host>,
        steps: &mut Vec<Step>,
    ) -> Vec<Grant> {
        let mut grants = Vec::new();
        for (at, group) in matching.pairs() {
            let (Some(view), Some(group)) = (self.fleet.host(at), groups.get(group)) else { continue };
            self.reserved.insert(at);
            let host = view.key();
            let is_claimed = claimed.contains(&at);
            let node = if is_claimed {
                claim::node_of(&view.host).unwrap_or_default().to_owned()
            } else {
                claim::node_name(&request.spec.cluster_id, &host, |n| {
                    self.fleet.node_names.contains(n) || self.names.contains(n)
                })
            };
            self.names.insert(node.clone());
            if !is_claimed || !claim::holds(&view.host, &node) {
                steps.push(claim::take(&view.host, &node));
            }
            grants.push(Grant { group: group.name().to_owned(), host, node, claimed: is_claimed });
        }
        grants
    }

    fn shortage(
        &self,
        at: usize,
        group: &Group<'_>,
        groups: &[Group<'_>],
        matching: &Matching,
        fits: &[Option<Rc<Fit>>],
    ) -> Shortage {
        let mut rejected = BTreeMap::new();
        if let Some(Some(fit)) = fits.get(at) {
            rejected.clone_from(&fit.rejected);
            for host in &fit.free {
                let reason = match matching.group_of(*host) {
                    Some(other) if other == at => continue,
                    Some(other) => Rejection::OtherGroup {
                        group: groups.get(other).map(|g| g.name().to_owned()).unwrap_or_default(),
                    },
                    None if self.reserved.contains(host) => Rejection::Reserved { request: String::new() },
                    None => continue,
                };
                *rejected.entry(reason.category()).or_default() += 1;
            }
        }
        Shortage { group: group.name().to_owned(), free: matching.count(at), required: group.need, rejected }
    }

    /// The free hosts that fit, in order. Worked out once per set of criteria.
    fn fit(&mut self, criteria: &Criteria) -> Rc<Fit> {
        if let Some(fit) = self.fits.get(criteria) {
            return Rc::clone(fit);
        }
        let around = self.fleet.around(criteria);
        let mut rejected: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut free = Vec::new();
        for &at in around {
            let (Some(view), Some(is_free)) = (self.fleet.host(at), self.fleet.free.get(at)) else {
                continue;
            };
            let verdict = criteria
                .matches_labels(&view.host, self.fleet.pools)
                .and_then(|()| is_free.clone())
                .and_then(|()| criteria.matches_hardware(view));
            match verdict {
                Ok(()) => free.push(at),
                Err(reason) => *rejected.entry(reason.category()).or_default() += 1,
            }
        }
        let others = self.fleet.all.len() - around.len();
        if others > 0 {
            *rejected.entry("in another pool or with other labels").or_default() += others;
        }
        let fit = Rc::new(Fit { free, rejected });
        self.fits.insert(criteria.clone(), Rc::clone(&fit));
        fit
    }
}

#[cfg(test)]
mod tests;
