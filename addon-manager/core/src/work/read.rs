//! Reading ManifestWorks: only what speaks of the current generation counts (spec/07 8.6).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::ocm::work::{FieldValue, ManifestCondition, ResourceIdentifier};
use manifests::ocm::{ManifestWork, WorkCondition};

/// Whether the spoke took the current manifests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It has not said anything about this generation.
    Waiting,
    /// All of them.
    Yes,
    /// Not all; one line per manifest that was refused, or the work's own message.
    No(Vec<String>),
}

/// Whether the spoke took the current manifests of a work.
pub fn applied(work: &ManifestWork) -> Applied {
    let Some(condition) = work.condition(WorkCondition::Applied) else { return Applied::Waiting };
    if condition.observed_generation != work.metadata.generation {
        return Applied::Waiting;
    }
    match condition.status.as_str() {
        "True" => Applied::Yes,
        "False" => Applied::No(refusals(work, &condition.message)),
        _ => Applied::Waiting,
    }
}

fn refusals(work: &ManifestWork, otherwise: &str) -> Vec<String> {
    let manifests = work.status.iter().flat_map(|s| &s.resource_status.manifests);
    let lines: Vec<String> = manifests
        .filter_map(|m| {
            let condition = find(&m.conditions, WorkCondition::Applied.as_str())?;
            let meta = &m.resource_meta;
            let what = if meta.kind.is_empty() { meta.resource.as_str() } else { meta.kind.as_str() };
            (condition.status == "False").then(|| format!("{what} {}: {}", meta.name, condition.message))
        })
        .collect();
    if lines.is_empty() { vec![otherwise.to_owned()] } else { lines }
}

fn find<'a>(list: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    list.iter().find(|c| c.type_ == type_)
}

/// What the spoke says of one manifest of the current generation.
#[derive(Debug, Clone, Copy)]
pub struct Manifest<'a> {
    entry: &'a ManifestCondition,
}

/// The entry of one object; `None` until the work agent has looked at the current manifests. Feedback values carry no
/// generation of their own: also read `.metadata.generation` and `.status.observedGeneration` back where they exist.
pub fn manifest<'a>(work: &'a ManifestWork, id: &ResourceIdentifier) -> Option<Manifest<'a>> {
    let entries = &work.status.as_ref()?.resource_status.manifests;
    let entry = entries.iter().find(|e| {
        let m = &e.resource_meta;
        m.group == id.group && m.resource == id.resource && m.namespace == id.namespace && m.name == id.name
    })?;
    let applied = find(&entry.conditions, WorkCondition::Applied.as_str())?;
    (applied.observed_generation == work.metadata.generation).then_some(Manifest { entry })
}

impl<'a> Manifest<'a> {
    /// A condition: `Applied`, `Available`, or one of a condition rule.
    pub fn condition(&self, type_: &str) -> Option<&'a Condition> {
        find(&self.entry.conditions, type_)
    }

    /// Why it was refused.
    pub fn refusal(&self) -> Option<&'a str> {
        let condition = self.condition(WorkCondition::Applied.as_str())?;
        (condition.status == "False").then_some(condition.message.as_str())
    }

    /// The object exists on the spoke.
    pub fn exists(&self) -> bool {
        self.condition(WorkCondition::Available.as_str()).is_some_and(|c| c.status == "True")
    }

    /// A value read back.
    pub fn value(&self, name: &str) -> Option<&'a FieldValue> {
        self.entry.status_feedback.values.iter().find(|v| v.name == name).map(|v| &v.field_value)
    }

    /// A text read back.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name)?.string.as_deref()
    }

    /// A number read back.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.value(name)?.integer
    }

    /// A truth value read back.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.value(name)?.boolean
    }
}
