//! What a request has and what it still needs: its nodes, its claimed hosts, its groups.

use std::sync::Arc;

use jiff::SignedDuration;
use manifests::clcm::{AllocatedNode, NodeAllocationRequest, NodeGroup};
use manifests::meta::GoDuration;

use super::matching::{Host, Matching};
use super::select::Criteria;
use super::texts::{CREATION_FAILED, DEFAULT_TIMEOUT};
use super::{HostView, Pools};

/// One node group of a request.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) spec: &'a NodeGroup,
    /// Hosts that are missing.
    pub(super) need: usize,
}

impl Group<'_> {
    pub(super) fn name(&self) -> &str {
        &self.spec.node_group_data.name
    }
}

/// The groups of a request with the nodes that it has.
pub(super) fn groups(request: &NodeAllocationRequest, have: impl Fn(&str) -> usize) -> Vec<Group<'_>> {
    request
        .spec
        .node_group
        .iter()
        .map(|spec| {
            let have = have(&spec.node_group_data.name);
            let want = usize::try_from(spec.size).unwrap_or(0);
            Group { spec, need: want.saturating_sub(have) }
        })
        .collect()
}

/// Counts the living nodes of a group.
pub(super) fn count(nodes: &[Arc<AllocatedNode>], group: &str) -> usize {
    nodes.iter().filter(|n| is_living(n) && n.spec.group_name == group).count()
}

pub(super) fn is_living(node: &AllocatedNode) -> bool {
    node.metadata.deletion_timestamp.is_none()
}

/// The criteria of the groups that need hosts; the others get `None`.
///
/// # Errors
/// The text for the request's condition when the user must change one of them.
pub(super) fn criteria(
    request: &NodeAllocationRequest,
    groups: &[Group<'_>],
) -> Result<Vec<Option<Criteria>>, String> {
    groups
        .iter()
        .map(|group| {
            if group.need == 0 {
                return Ok(None);
            }
            Criteria::of(&group.spec.node_group_data, &request.spec.site).map(Some).map_err(|e| {
                format!("{CREATION_FAILED}unable to fetch BMHs for nodegroup={}: {e}", group.name())
            })
        })
        .collect()
}

/// Assigns hosts that are claimed for the request, but have no node yet, to groups that need one. Not all may fit.
pub(super) fn assign_claimed(
    groups: &[Group<'_>],
    criteria: &[Option<Criteria>],
    claimed: &[(Host, &HostView)],
    pools: &Pools,
) -> Matching {
    let fit: Vec<Vec<Host>> = criteria
        .iter()
        .map(|c| match c {
            Some(c) => claimed.iter().filter(|(_, v)| c.matches(v, pools).is_ok()).map(|(h, _)| *h).collect(),
            None => Vec::new(),
        })
        .collect();
    let needs: Vec<usize> = groups.iter().map(|g| g.need).collect();
    let mut matching = Matching::default();
    matching.fill(&needs, &fit.iter().map(Vec::as_slice).collect::<Vec<_>>(), |_| true);
    matching
}

/// How long the request may take.
///
/// # Errors
/// The text for the condition when the value is not a duration above zero.
pub(super) fn limit(request: &NodeAllocationRequest) -> Result<SignedDuration, String> {
    let Some(text) = request.spec.hardware_provisioning_timeout.as_deref() else {
        return Ok(DEFAULT_TIMEOUT.as_signed());
    };
    match GoDuration::parse(text) {
        Ok(d) if d.is_positive() => Ok(d.as_signed()),
        Ok(_) => Err(format!("invalid hardwareProvisioningTimeout {text:?}: it must be greater than zero")),
        Err(e) => Err(format!("invalid hardwareProvisioningTimeout {text:?}: {e}")),
    }
}
