//! The stages of a request, in order (spec/02 section 2). A stage reads facts and the [`Draft`], sets its condition,
//! adds steps, and blocks the stages behind it while it is not over. No stage reads another's texts.

mod configure;
mod deletion;
mod hardware;
mod install;
mod prepare;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::clcm::{ClusterDetails, Extensions, ProvisioningPhase, ProvisioningRequestStatus};
use manifests::meta::condition::{self, Next, status};
use serde_json::Value;

pub(super) use configure::is_unfinished;
pub(super) use deletion::advance as advance_deletion;
pub use deletion::{Progress, decide as decide_deletion};

use super::nar;
use super::resources::Owner;
use super::seen::Seen;
use crate::plan::{self, APPLIED_HASH, FaultClass, Note, Step, Wake};

/// Whose step a step is: a failure goes to the condition of that stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Finalizer.
    Begin,
    /// Cluster namespace and dry run of the ClusterInstance.
    Render,
    /// Pull secret, extra manifests, policy parameters.
    Resources,
    /// The NodeAllocationRequest.
    Allocation,
    /// Data of the hosts.
    Nodes,
    /// The ClusterInstance.
    Instance,
    /// The ManagedCluster and the add-on.
    Cluster,
    /// Labels after fulfilment.
    Labels,
    /// Deletion.
    Deletion,
}

/// On a ClusterInstance: hash of the rendered input that the API server accepted, so that a restart repeats no dry
/// run.
pub const RENDERED_HASH: &str = "addon.clcm.openshift.io/rendered-hash";
/// On a ProvisioningRequest: everything but deletion waits (B-42).
pub const PAUSED: &str = "clcm.openshift.io/paused";
/// On a ProvisioningRequest: install again although the cluster exists; the value is the wanted generation (B-43).
pub const REINSTALL: &str = "addon.clcm.openshift.io/reinstall";
/// On a cluster namespace: the add-on was enabled by us once (DESIGN section 11).
pub const ADDON_RECORDED: &str = "addon.clcm.openshift.io/addon-enabled";

/// The pass as it takes shape.
pub(super) struct Draft<'a> {
    pub(super) seen: &'a Seen<'a>,
    pub(super) now: Timestamp,
    pub(super) owner: Owner,
    pub(super) status: ProvisioningRequestStatus,
    pub(super) steps: Vec<(Stage, Step)>,
    pub(super) events: Vec<Note>,
    pub(super) wake: Wake,
    /// The next stage must not start.
    pub(super) blocked: bool,
    /// The ClusterInstance as this pass wants it.
    pub(super) instance: Option<Value>,
    /// Details to show while every condition is fine but something is waited for.
    pub(super) waiting: Option<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(seen: &'a Seen<'a>, now: Timestamp) -> Self {
        Draft {
            seen,
            now,
            owner: Owner::of(seen.request),
            status: seen.request.status.clone().unwrap_or_default(),
            steps: Vec::new(),
            events: Vec::new(),
            wake: Wake::OnChange,
            blocked: false,
            instance: None,
            waiting: None,
        }
    }

    pub(super) fn generation(&self) -> i64 {
        self.seen.request.metadata.generation.unwrap_or_default()
    }

    pub(super) fn has_annotation(&self, key: &str) -> bool {
        self.seen.request.metadata.annotations.as_ref().is_some_and(|a| a.contains_key(key))
    }

    pub(super) fn find(&self, type_: RequestCondition) -> Option<&Condition> {
        condition::find(&self.status.conditions, type_)
    }

    pub(super) fn is_true(&self, type_: RequestCondition) -> bool {
        condition::is_true(&self.status.conditions, type_)
    }

    pub(super) fn set(&mut self, next: Next) {
        let next = next.at(Some(self.generation()));
        let list = &mut self.status.conditions;
        let at = place(list, &next.type_);
        let is_new = condition::find(list, &next.type_).is_none();
        condition::set(list, next, self.now);
        if is_new && let Some(tail) = list.get_mut(at..) {
            tail.rotate_right(1);
        }
    }

    pub(super) fn push(&mut self, stage: Stage, step: Step) {
        self.steps.push((stage, step));
    }

    /// Server-side apply as our object manager, unless the live object was applied with the same content.
    pub(super) fn apply<K>(&mut self, stage: Stage, object: &K, live_hash: Option<&str>)
    where
        K: kube::Resource<DynamicType = ()> + serde::Serialize,
    {
        // Every type of ours turns into JSON; if one did not, the watch of its stage would show it missing.
        if let Ok(step) = Step::apply(object) {
            let hash = step_hash(&step);
            if hash.is_none() || hash.as_deref() != live_hash {
                self.push(stage, step);
            }
        }
    }

    /// A step of this stage failed: what the condition says depends on the class (spec/08 5.4). True if so.
    pub(super) fn take_fault(&mut self, stage: Stage, type_: RequestCondition, prefix: &str) -> bool {
        let Some(found) = self.seen.fault.as_ref().filter(|f| f.stage == stage) else { return false };
        let text = format!("{prefix}{}", found.fault.message);
        match found.fault.class {
            FaultClass::Invalid => self.set(Next::no(type_, RequestReason::Failed, text)),
            // A passing disturbance is no state of the request; one that lasts is.
            FaultClass::Transient if found.failures >= 3 => {
                let reason = if condition::is_true(&self.status.conditions, type_) {
                    // What was done stays done.
                    None
                } else {
                    Some(RequestReason::InProgress)
                };
                if let Some(reason) = reason {
                    self.set(Next::no(type_, reason, text.clone()));
                }
                self.waiting = Some(text);
            }
            FaultClass::Transient | FaultClass::Conflict => {}
        }
        self.blocked = true;
        true
    }

    pub(super) fn wake_at(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at.filter(|at| *at > self.now) {
            self.wake = self.wake.or(Wake::At(at));
        }
    }

    pub(super) fn extensions(&mut self) -> &mut Extensions {
        self.status.extensions.get_or_insert_default()
    }

    pub(super) fn details(&mut self) -> &mut ClusterDetails {
        self.extensions().cluster_details.get_or_insert_default()
    }

    pub(super) fn cluster_details(&self) -> Option<&ClusterDetails> {
        self.status.extensions.as_ref().and_then(|e| e.cluster_details.as_ref())
    }

    pub(super) fn phase(&self) -> Option<ProvisioningPhase> {
        self.seen.request.status.as_ref()?.provisioning_status.as_ref()?.provisioning_phase
    }

    /// The cluster is installed: the condition says so, or, after a restore without status, the world does (DESIGN
    /// section 5).
    pub(super) fn is_installed(&self) -> bool {
        self.is_true(RequestCondition::ClusterProvisioned)
            || (self.find(RequestCondition::ClusterProvisioned).is_none() && self.shows_cluster())
    }

    /// Something outside the request's status shows that the cluster exists.
    pub(super) fn shows_cluster(&self) -> bool {
        let instance = self.seen.instance.as_ref().and_then(|i| i.status.as_ref());
        let provisioned = instance.is_some_and(|s| condition::is_true(&s.conditions, "Provisioned"));
        provisioned || self.cluster_joined()
    }

    /// The ManagedCluster has joined this hub.
    pub(super) fn cluster_joined(&self) -> bool {
        self.seen.cluster.as_ref().and_then(|c| c.status.as_ref()).is_some_and(|s| {
            condition::find(&s.conditions, "ManagedClusterJoined").is_some_and(|c| c.status == status::TRUE)
        })
    }

    /// Annotation of the live ClusterInstance.
    pub(super) fn instance_annotation(&self, key: &str) -> Option<&str> {
        let meta = &self.seen.instance.as_ref()?.metadata;
        meta.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

/// Where a condition that is new belongs: the stages up to the configuration stand in the order of a healthy run
/// (spec/02 3.2), also in a request that lost its status and learns from the world what is done already. What comes
/// later is appended.
fn place(list: &[Condition], type_: &str) -> usize {
    let rank = |type_: &str| {
        let rank = RequestCondition::ALL.iter().position(|c| c.as_str() == type_);
        rank.filter(|rank| *rank <= RequestCondition::ConfigurationApplied as usize)
    };
    let Some(own) = rank(type_) else { return list.len() };
    list.iter().position(|c| rank(&c.type_).is_none_or(|other| other > own)).unwrap_or(list.len())
}

/// The hardware manager has not seen the last change of the allocation yet: what it says is about the one before
/// (B-48).
pub(super) fn awaits_hardware(draft: &Draft<'_>) -> bool {
    let Some(allocation) = draft.seen.allocation.as_deref() else { return false };
    draft.is_true(RequestCondition::HardwareProvisioned) && !nar::is_current(allocation)
}

/// The hash that a step's object was stamped with.
pub(super) fn step_hash(step: &Step) -> Option<String> {
    match step {
        Step::Apply { object, .. } => object.metadata.annotations.as_ref()?.get(APPLIED_HASH).cloned(),
        _ => None,
    }
}

/// Runs the stages over the draft.
pub(super) fn run(draft: &mut Draft<'_>) {
    match draft.seen.input {
        Ok(input) => {
            prepare::validated(draft, input);
            prepare::render(draft, input);
            prepare::resources(draft, input);
            hardware::allocation(draft, input);
            hardware::status(draft, Some(input));
            hardware::nodes(draft, input);
            install::apply(draft, input);
        }
        Err(error) => {
            prepare::rejected(draft, error);
            hardware::status(draft, None);
        }
    }
    install::status(draft);
    install::cluster(draft);
    configure::policies(draft);
    configure::fulfil(draft);
}

/// A hash of a JSON document; the plan's, under a name that says what it is for here.
pub(super) fn digest(value: &Value) -> String {
    plan::hash(value)
}

#[cfg(test)]
mod tests {
    use RequestCondition as C;

    use super::*;

    #[test]
    fn a_new_condition_stands_where_a_healthy_run_has_it() {
        let list = |types: &[C]| -> Vec<Condition> {
            let mut list = Vec::new();
            for type_ in types {
                let next = Next::yes(*type_, RequestReason::Completed, "");
                condition::set(&mut list, next, Timestamp::UNIX_EPOCH);
            }
            list
        };
        for (there, new, at) in [
            (vec![], C::Validated, 0),
            (vec![C::Validated, C::HardwareProvisioned], C::ClusterInstanceRendered, 1),
            (vec![C::Validated, C::ConfigurationApplied], C::ClusterProvisioned, 1),
            (vec![C::Validated], C::ConfigurationApplied, 1),
            (vec![C::Validated, C::UpgradeCompleted], C::ConfigurationApplied, 1),
            // What comes after the configuration comes in any order.
            (vec![C::ConfigurationApplied, C::UpgradeCompleted], C::HardwareConfigured, 2),
        ] {
            assert_eq!(place(&list(&there), new.as_str()), at, "{there:?} {new:?}");
        }
    }
}
