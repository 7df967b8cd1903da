//! Which policies count (spec/02 11.1).

use jiff::Timestamp;
use manifests::clcm::PolicyDetails;
use manifests::meta::names;

const COMPLIANT: &str = "Compliant";
const INFORM: &str = "inform";

/// A policy in the policy namespace of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root<'a> {
    /// `metadata.name`
    pub name: &'a str,
    /// Annotation `clustertemplates.clcm.openshift.io/templates`.
    pub templates: Option<&'a str>,
    /// `spec.remediationAction`
    pub action: Option<&'a str>,
}

/// A policy with a root-policy label in the namespace of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child<'a> {
    /// `metadata.name`: namespace and name of the root, joined by a point.
    pub name: &'a str,
    /// `status.compliant`
    pub compliant: Option<&'a str>,
    /// `spec.remediationAction`
    pub action: Option<&'a str>,
}

/// What of the ManagedCluster decides whether it can take configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cluster {
    /// `ManagedClusterConditionAvailable` is True.
    pub available: bool,
    /// `HubAcceptedManagedCluster` is True.
    pub accepted: bool,
    /// `ManagedClusterJoined` is True.
    pub joined: bool,
    /// When Available turned True.
    pub available_since: Option<Timestamp>,
}

impl Cluster {
    /// All three conditions hold.
    pub fn is_ready(&self) -> bool {
        self.available && self.accepted && self.joined
    }
}

/// Policies of a cluster, sorted out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bound {
    /// Children whose root is in the template's policy namespace, by root name; also those of other templates.
    pub policies: Vec<PolicyDetails>,
    /// Some root names the template.
    pub any_expected: bool,
    /// Some expected child is absent.
    pub missing: bool,
    /// Every expected root only informs.
    pub expected_inform: bool,
    /// Every child is compliant; true without children.
    pub all_compliant: bool,
    /// Every child only informs; true without children.
    pub all_inform: bool,
}

/// Namespace and name of the root of a child policy.
pub fn root_of(child: &str) -> Option<(&str, &str)> {
    child.split_once('.')
}

/// Sorts out the policies of a cluster for the template `template` (`<name>.<version>`) in `template_namespace`.
pub fn bind<'a>(
    template: &str,
    template_namespace: &str,
    roots: impl IntoIterator<Item = Root<'a>>,
    children: impl IntoIterator<Item = Child<'a>>,
) -> Bound {
    let namespace = names::policy_namespace(template_namespace);
    let mut counted: Vec<(&str, Child<'_>)> = children
        .into_iter()
        .filter_map(|child| {
            let (ns, name) = root_of(child.name)?;
            (ns == namespace).then_some((name, child))
        })
        .collect();
    counted.sort_by_key(|(name, _)| *name);
    counted.dedup_by_key(|(name, _)| *name);

    let mut out = Bound { expected_inform: true, all_compliant: true, all_inform: true, ..Bound::default() };
    for root in roots.into_iter().filter(|r| expects(r.templates, template)) {
        out.any_expected = true;
        out.expected_inform &= is_inform(root.action);
        out.missing |= !counted.iter().any(|(name, _)| *name == root.name);
    }
    for (name, child) in counted {
        out.all_compliant &= child.compliant == Some(COMPLIANT);
        out.all_inform &= is_inform(child.action);
        out.policies.push(PolicyDetails {
            compliant: child.compliant.filter(|c| !c.is_empty()).map(str::to_owned),
            policy_name: Some(name.to_owned()),
            policy_namespace: Some(namespace.clone()),
            remediation_action: child.action.filter(|a| !a.is_empty()).map(str::to_owned),
        });
    }
    out
}

/// The comma list names the template, blanks and case aside.
fn expects(templates: Option<&str>, template: &str) -> bool {
    templates.is_some_and(|list| list.split(',').any(|one| one.trim().eq_ignore_ascii_case(template)))
}

pub(super) fn is_inform(action: Option<&str>) -> bool {
    action.is_some_and(|a| a.eq_ignore_ascii_case(INFORM))
}
