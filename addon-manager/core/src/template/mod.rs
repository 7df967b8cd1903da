//! ClusterTemplate validation (spec/01 sections 3 and 4).
//!
//! ```text
//! template, its twins, two ConfigMaps, HardwareProfiles, ClusterImageSet, schema of ClusterInstance
//!     --decide--> templateId, ConfigMaps made immutable, condition ClusterTemplateValidated
//! ```
//!
//! Every check of section 4 runs, in its order; the condition holds all messages, joined by `;`. Everything that the
//! verdict depends on is watched ([`dependencies`]), nothing is polled. Against upstream: `ConfigMaps` become immutable
//! only when the whole template is valid; a missing `ClusterImageSet` and one without a version are errors of the user; a
//! ConfigMap that cannot be read is reported once; of twins, the oldest stays valid; what can only fail later (policy
//! defaults that are no text, no boot interface, a schema that does not compile) is told in events.

mod check;
mod decode;
mod defaults;
pub mod go;
pub mod guard;
mod hardware;
pub mod identity;
mod image_set;
mod lookup;
mod parameters;
pub mod upgrade;
pub mod version;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use manifests::clcm::conditions::{TemplateCondition, TemplateReason};
use manifests::clcm::{ClusterTemplate, ClusterTemplateStatus};
use manifests::meta::condition::{self, Next};
use manifests::openshift::ClusterImageSet;
use serde_json::{Value, json};

use crate::plan::{Fault, FaultClass, Note, Plan, Step, Target, Wake, manager};

pub use check::{errors, warnings};
pub use lookup::{Dependencies, NotFound, dependencies, find_valid, is_valid, spec_schema};

/// Message of a valid template.
const SUCCEEDED: &str = "The cluster template validation succeeded";
/// When to try a write again that the API server refused.
const REFUSED_AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// Another template with the same `metadata.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// Its namespace.
    pub namespace: String,
    /// When it was created.
    pub created: Timestamp,
    /// Whether its condition says that it is valid.
    pub valid: bool,
}

impl Twin {
    /// What counts of a template here.
    pub fn of(template: &ClusterTemplate) -> Self {
        Twin {
            namespace: template.namespace().unwrap_or_default(),
            created: lookup::created(template),
            valid: is_valid(template),
        }
    }

    /// The one of equals that keeps the name: the oldest; of equal age the one that is valid already.
    fn rank(&self) -> (Timestamp, bool, &str) {
        (self.created, !self.valid, &self.namespace)
    }
}

/// Everything that the decision needs.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    /// The template.
    pub template: &'a ClusterTemplate,
    /// The other templates with its `metadata.name`, in other namespaces.
    pub twins: Vec<Twin>,
    /// ConfigMap `spec.templateDefaults.clusterInstanceDefaults` of its namespace.
    pub cluster_instance_defaults: Option<&'a ConfigMap>,
    /// ConfigMap `spec.templateDefaults.policyTemplateDefaults` of its namespace.
    pub policy_template_defaults: Option<&'a ConfigMap>,
    /// Which of [`Dependencies::profiles`] exist in the operator namespace.
    pub profiles: BTreeSet<String>,
    /// [`Dependencies::image_set`], if it exists.
    pub image_set: Option<&'a ClusterImageSet>,
    /// Schema of a ClusterInstance's spec ([`spec_schema`]), if its definition is installed.
    pub cluster_instance_schema: Option<&'a Value>,
    /// Identity of the hub, which templateIds are derived from.
    pub hub: &'a str,
    /// The step of the last plan that failed.
    pub fault: Option<&'a Fault>,
}

/// What to do about one template.
pub fn decide(seen: &Seen<'_>, now: Timestamp) -> Plan<ClusterTemplateStatus> {
    let template = seen.template;
    let fault = match seen.fault {
        None => None,
        Some(fault) if fault.class == FaultClass::Invalid => Some(fault),
        // The system retries; the status stays what it is (spec/01 section 3).
        Some(_) => return Plan::default(),
    };
    if template.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    if fault.is_none() && template.spec.template_id.as_ref().is_none_or(String::is_empty) {
        return Plan { steps: vec![give_id(seen)], ..Plan::default() };
    }

    let mut errors = check::errors(seen);
    let steps = if errors.is_empty() && fault.is_none() { lock(seen) } else { Vec::new() };
    if let Some(fault) = fault {
        errors.push(format!("failed to write {}: {}", fault.target, fault.message));
    }

    let next = if errors.is_empty() {
        Next::yes(TemplateCondition::Validated, TemplateReason::Completed, SUCCEEDED)
    } else {
        Next::no(TemplateCondition::Validated, TemplateReason::Failed, errors.join(";"))
    };
    let mut status = template.status.clone().unwrap_or_default();
    let said = condition::find(&status.conditions, TemplateCondition::Validated)
        .is_some_and(|old| old.status == next.status && old.message == next.message);
    let events = if said { Vec::new() } else { events(seen, &next) };
    condition::set(&mut status.conditions, next.at(template.metadata.generation), now);
    // No watch tells when a refused write would be accepted.
    let wake = if fault.is_some() { Wake::At(now + REFUSED_AGAIN) } else { Wake::OnChange };
    Plan { steps, status: Some(status), events, wake }
}

fn events(seen: &Seen<'_>, next: &Next) -> Vec<Note> {
    let verdict = Note {
        warning: next.status != condition::status::TRUE,
        reason: next.reason.clone(),
        message: next.message.clone(),
    };
    let warnings = warnings(seen).into_iter().map(|message| Note {
        warning: true,
        reason: "TemplateWarning".to_owned(),
        message,
    });
    std::iter::once(verdict).chain(warnings).collect()
}

/// 4.11: an id, once. The template is validated when the change comes back.
fn give_id(seen: &Seen<'_>) -> Step {
    let (name, namespace) = (seen.template.name_any(), seen.template.namespace().unwrap_or_default());
    let id = identity::generate(seen.hub, &namespace, &name);
    Step::Merge {
        target: Target::of::<ClusterTemplate>(Some(&namespace), &name),
        patch: json!({"spec": {"templateId": id.to_string()}}),
        manager: manager::OBJECTS,
        resource_version: seen.template.resource_version(),
    }
}

/// 4.5 step 6: the `ConfigMaps` of a valid template never change again. The resource version makes sure that what is
/// locked is what was checked.
fn lock(seen: &Seen<'_>) -> Vec<Step> {
    let maps = [seen.cluster_instance_defaults, seen.policy_template_defaults];
    let mut steps = Vec::new();
    let mut names = BTreeSet::new();
    for map in maps.into_iter().flatten().filter(|map| map.immutable.is_none()) {
        if names.insert(map.name_any()) {
            steps.push(Step::Merge {
                target: Target::of::<ConfigMap>(map.metadata.namespace.as_deref(), &map.name_any()),
                patch: json!({"immutable": true}),
                manager: manager::OBJECTS,
                resource_version: map.resource_version(),
            });
        }
    }
    steps
}
