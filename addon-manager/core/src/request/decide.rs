//! The decision about one request: stages, then phase and details, once per pass (spec/02 section 2, B-03, B-04).

use jiff::Timestamp;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{ProvisioningPhase, ProvisioningRequest, ProvisioningRequestStatus};
use manifests::meta::{condition, finalizers};
use serde_json::json;

use super::clock::{self, Durations};
use super::error::Class;
use super::phase::{self, Facts};
use super::seen::Seen;
use super::stages::{self, Draft, PAUSED, Stage};
use super::validate::Validated;
use crate::plan::{Note, Plan, Step, Target, manager};

/// A plan, and whose each of its steps is.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestPlan {
    /// The plan.
    pub plan: Plan<ProvisioningRequestStatus>,
    /// Stage of each step.
    pub stages: Vec<Stage>,
    /// The pass must be repeated with back-off although no step failed: the text of the internal error.
    pub retry: Option<String>,
}

/// The decision.
pub fn decide(seen: &Seen<'_>, now: Timestamp) -> RequestPlan {
    let meta = &seen.request.metadata;
    let ours = meta.finalizers.as_ref().is_some_and(|f| f.iter().any(|f| f == finalizers::REQUEST));
    let mut draft = Draft::new(seen, now);
    match (meta.deletion_timestamp.is_some(), ours) {
        // B-02: what is being deleted and not ours any more is none of our business.
        (true, false) => return RequestPlan { plan: Plan::default(), stages: Vec::new(), retry: None },
        (true, true) => return delete(draft),
        (false, false) => {
            let step = finalizer(seen.request, true);
            draft.push(Stage::Begin, step);
            return finish(draft, Pending::Yes);
        }
        (false, true) => {}
    }
    if draft.has_annotation(PAUSED) {
        return finish(draft, Pending::No);
    }
    stages::run(&mut draft);
    let preparing =
        draft.steps.iter().any(|(s, _)| matches!(s, Stage::Render | Stage::Resources | Stage::Allocation));
    let pending = if stages::awaits_hardware(&draft) {
        Pending::Yes
    } else if preparing || stages::is_unfinished(&draft) {
        Pending::Unless
    } else {
        Pending::No
    };
    finish(draft, pending)
}

/// Whether something that this pass asked for keeps the request pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    /// Nothing is asked for.
    No,
    /// Yes, unless this generation is beyond its preparation: then phase and details stay what they are until the answer
    /// is there. A ClusterInstance that is rendered anew when the installation ends is no reason to begin at the front.
    Unless,
    /// Yes.
    Yes,
}

fn finalizer(request: &ProvisioningRequest, present: bool) -> Step {
    let mut list = request.metadata.finalizers.clone().unwrap_or_default();
    list.retain(|f| f != finalizers::REQUEST);
    if present {
        list.push(finalizers::REQUEST.to_owned());
    }
    Step::Merge {
        target: Target::of::<ProvisioningRequest>(None, request.metadata.name.as_deref().unwrap_or_default()),
        patch: json!({"metadata": {"finalizers": list}}),
        manager: manager::OBJECTS,
        resource_version: request.metadata.resource_version.clone(),
    }
}

fn delete(mut draft: Draft<'_>) -> RequestPlan {
    match stages::advance_deletion(&mut draft) {
        stages::Progress::Waiting(blocker) => {
            draft.waiting = Some(blocker);
            finish(draft, Pending::No)
        }
        stages::Progress::Done => {
            let step = finalizer(draft.seen.request, false);
            // The status of an object that goes away in this pass is not written.
            RequestPlan {
                plan: Plan { steps: vec![step], ..Plan::default() },
                stages: vec![Stage::Deletion],
                retry: None,
            }
        }
    }
}

/// Derives phase and details, and turns the draft into a plan.
fn finish(mut draft: Draft<'_>, pending: Pending) -> RequestPlan {
    let seen = draft.seen;
    let generation = draft.generation();
    let deleting = seen.request.metadata.deletion_timestamp.is_some();
    let stored = seen.request.status.as_ref();
    let durations = seen.input.as_ref().map(Validated::durations).unwrap_or_default();
    let before = stored.and_then(|s| s.provisioning_status.clone()).unwrap_or_default();
    let overall = overall(&mut draft, &durations);
    let policies = draft.status.extensions.as_ref().map(|e| e.policies.clone()).unwrap_or_default();
    let fulfilled_before =
        draft.cluster_details().and_then(|c| c.fulfilled_node_count).is_some_and(|n| n > 0);
    let facts = Facts {
        generation,
        deleting,
        paused: draft.has_annotation(PAUSED),
        pending: pending != Pending::No,
        fulfilled_before,
        blocker: draft.waiting.as_deref(),
        install_timeout: durations.install,
        overall: overall.as_deref(),
        policies: &policies,
    };
    let conditions =
        if keeps_phase(&draft) { without_validated(&draft) } else { draft.status.conditions.clone() };
    let mut next = phase::derive(&conditions, &facts);
    if pending == Pending::Unless
        && next.phase == ProvisioningPhase::Pending
        && stored.is_some_and(|s| s.observed_generation == Some(generation))
        && let Some(phase @ (ProvisioningPhase::Progressing | ProvisioningPhase::Fulfilled)) =
            before.provisioning_phase
    {
        next = phase::Phase { phase, details: before.provisioning_details.clone().unwrap_or_default() };
    }
    let changed = before.provisioning_phase != Some(next.phase)
        || (before.provisioning_details.as_deref() != Some(next.details.as_str()));
    if changed {
        draft.events.push(Note {
            warning: next.phase == ProvisioningPhase::Failed,
            reason: reason_word(next.phase).to_owned(),
            message: next.details.clone(),
        });
    }
    let now = draft.now;
    phase::update(draft.status.provisioning_status.get_or_insert_default(), &next, now);
    draft.status.observed_generation = Some(generation);
    let retry = match seen.input {
        Err(error) if error.class == Class::Internal && !deleting => Some(error.message.clone()),
        _ => None,
    };
    let (stages, steps) = draft.steps.into_iter().unzip();
    RequestPlan {
        plan: Plan { steps, status: Some(draft.status), events: draft.events, wake: draft.wake },
        stages,
        retry,
    }
}

fn reason_word(phase: ProvisioningPhase) -> &'static str {
    match phase {
        ProvisioningPhase::Pending => "Pending",
        ProvisioningPhase::Progressing => "Progressing",
        ProvisioningPhase::Fulfilled => "Fulfilled",
        ProvisioningPhase::Failed => "Failed",
        ProvisioningPhase::Deleting => "Deleting",
    }
}

/// Overall time-out (B-47): from when this generation was first validated, while no installation runs.
fn overall(draft: &mut Draft<'_>, durations: &Durations) -> Option<String> {
    let installing = draft.find(RequestCondition::ClusterProvisioned).is_some();
    if installing || draft.phase() == Some(ProvisioningPhase::Fulfilled) {
        return None;
    }
    let allocation = draft.seen.allocation.as_ref()?;
    let started = allocation.metadata.creation_timestamp.as_ref().map(|t| t.0);
    let limit = clock::overall_limit(durations);
    draft.wake_at(clock::deadline(started, limit));
    clock::overall(started, durations, draft.now)
}

/// A healthy cluster does not fail because its template was taken away (DESIGN section 11, spec/01 4.12), and a running
/// installation goes on (B-49).
fn keeps_phase(draft: &Draft<'_>) -> bool {
    draft.seen.template.is_none()
        && draft.seen.input.is_err()
        && (draft.find(RequestCondition::ClusterProvisioned).is_some())
        && draft.status.observed_generation == Some(draft.generation())
}

fn without_validated(draft: &Draft<'_>) -> Vec<condition::Condition> {
    let mut list = draft.status.conditions.clone();
    if let Some(found) = list.iter_mut().find(|c| c.type_ == RequestCondition::Validated.as_str()) {
        condition::status::TRUE.clone_into(&mut found.status);
    }
    list
}
