//! Phase and details of a request, derived once per pass from its conditions (spec/02 3.1, section 21, B-04).
//!
//! ```text
//! deleting > failed (first failed stage) > pending > progressing (first unfinished stage) > fulfilled
//! ```

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::clcm::{PolicyDetails, ProvisioningPhase, ProvisioningStatus};
use manifests::meta::GoDuration;
use manifests::meta::condition::{self, status, whole_seconds};

use super::install;
use crate::policy;

/// Details of phase `pending`.
pub const PENDING: &str = "Validating and preparing resources";
/// Details of phase `fulfilled`.
pub const FULFILLED: &str = "Provisioning request has completed successfully";
/// Details of phase `deleting`.
pub const DELETING: &str = "Deletion is in progress";
/// Details while the installer works.
pub const INSTALLING: &str = "Cluster installation is in progress";
/// Details before the hardware manager reports.
pub const HARDWARE: &str = "Hardware provisioning is in progress";

/// What the conditions alone do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts<'a> {
    /// `metadata.generation`
    pub generation: i64,
    /// The request is being deleted.
    pub deleting: bool,
    /// The request has the pause annotation (B-42).
    pub paused: bool,
    /// A stage waits for the answer to something that this pass asked for: no result of this generation yet.
    pub pending: bool,
    /// `fulfilledNodeCount` is above zero.
    pub fulfilled_before: bool,
    /// What deletion, or fulfilment although every condition holds, waits for.
    pub blocker: Option<&'a str>,
    /// The install time-out, for its text.
    pub install_timeout: Option<GoDuration>,
    /// Text of the overall time-out when it is exceeded ([`super::clock::overall`]).
    pub overall: Option<&'a str>,
    /// Policies that are bound to the cluster.
    pub policies: &'a [PolicyDetails],
}

/// Phase and details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Phase.
    pub phase: ProvisioningPhase,
    /// One line about it.
    pub details: String,
}

impl Phase {
    fn new(phase: ProvisioningPhase, details: impl Into<String>) -> Self {
        Phase { phase, details: details.into() }
    }
}

/// Phase and details for these conditions.
pub fn derive(conditions: &[Condition], facts: &Facts<'_>) -> Phase {
    if facts.deleting {
        let details = match facts.blocker {
            Some(blocker) => format!("{DELETING}: {blocker}"),
            None => DELETING.to_owned(),
        };
        return Phase::new(ProvisioningPhase::Deleting, details);
    }
    let mut out = running(conditions, facts);
    if facts.paused {
        out.details = format!("Paused by annotation clcm.openshift.io/paused: {}", out.details);
    }
    out
}

fn running(conditions: &[Condition], facts: &Facts<'_>) -> Phase {
    let view = View { conditions, facts };
    if let Some(details) = view.failure() {
        return Phase::new(ProvisioningPhase::Failed, details);
    }
    if facts.pending {
        return Phase::new(ProvisioningPhase::Pending, PENDING);
    }
    view.unfinished().unwrap_or_else(|| Phase::new(ProvisioningPhase::Fulfilled, view.fulfilled()))
}

/// Stages that are over within a pass, unless something is wrong with the input.
const PREPARATION: [RequestCondition; 4] = [
    RequestCondition::Validated,
    RequestCondition::ClusterInstanceRendered,
    RequestCondition::ClusterResourcesCreated,
    RequestCondition::NodeAllocationRequestRendered,
];

struct View<'a> {
    conditions: &'a [Condition],
    facts: &'a Facts<'a>,
}

impl<'a> View<'a> {
    fn find(&self, type_: RequestCondition) -> Option<&'a Condition> {
        condition::find(self.conditions, type_)
    }

    fn is_true(&self, type_: RequestCondition) -> bool {
        condition::is_true(self.conditions, type_)
    }

    /// A preparation stage that speaks about an older generation has no result yet.
    fn is_stale(&self, found: &Condition) -> bool {
        found.observed_generation.is_some_and(|g| g < self.facts.generation)
    }

    fn failure(&self) -> Option<String> {
        for type_ in PREPARATION {
            if let Some(found) = self.find(type_)
                && found.status == status::FALSE
                && !self.is_stale(found)
            {
                return Some(found.message.clone());
            }
        }
        for type_ in [
            RequestCondition::HardwareProvisioned,
            RequestCondition::HardwareNodeConfigApplied,
            RequestCondition::HardwareConfigured,
            RequestCondition::ClusterInstanceProcessed,
        ] {
            if let Some(found) = self.find(type_)
                && found.status != status::TRUE
                && !is_waiting(found)
            {
                return Some(found.message.clone());
            }
        }
        if !self.is_true(RequestCondition::ClusterProvisioned)
            && let Some(text) = self.facts.overall
        {
            return Some(text.to_owned());
        }
        if let Some(found) = self.find(RequestCondition::ClusterProvisioned)
            && found.status != status::TRUE
        {
            match RequestReason::parse(&found.reason) {
                Some(RequestReason::Failed) => return Some("Cluster installation failed".to_owned()),
                Some(RequestReason::TimedOut) => {
                    return Some(match self.facts.install_timeout {
                        Some(limit) => format!("{} after {limit}", install::TIMED_OUT),
                        None => install::TIMED_OUT.to_owned(),
                    });
                }
                _ => {}
            }
        }
        if !self.upgrading()
            && let Some(found) = self.find(RequestCondition::ConfigurationApplied)
            && found.reason == RequestReason::TimedOut.as_str()
        {
            return Some("Cluster configuration timed out".to_owned());
        }
        self.find(RequestCondition::UpgradeCompleted).and_then(upgrade_failure)
    }

    /// An upgrade exists and is not complete.
    fn upgrading(&self) -> bool {
        self.find(RequestCondition::UpgradeCompleted).is_some_and(|c| c.status != status::TRUE)
    }

    fn unfinished(&self) -> Option<Phase> {
        let progressing = |text: &str| Some(Phase::new(ProvisioningPhase::Progressing, text));
        for type_ in PREPARATION {
            match self.find(type_) {
                Some(found) if found.status == status::TRUE => {}
                _ => return Some(Phase::new(ProvisioningPhase::Pending, PENDING)),
            }
        }
        for (type_, absent) in [
            (RequestCondition::HardwareProvisioned, Some(HARDWARE)),
            (RequestCondition::HardwareNodeConfigApplied, Some(HARDWARE)),
            (RequestCondition::HardwareConfigured, None),
            (RequestCondition::ClusterInstanceProcessed, Some(install::WAITING_TO_START)),
        ] {
            match (self.find(type_), absent) {
                (Some(found), _) if found.status != status::TRUE => return progressing(&found.message),
                (None, Some(text)) => return progressing(text),
                _ => {}
            }
        }
        match self.find(RequestCondition::ClusterProvisioned) {
            None => return progressing(install::WAITING_TO_START),
            Some(found) if found.status != status::TRUE => {
                let scaling =
                    found.message.starts_with("Scale-out: ") || found.message.starts_with("Scale-in: ");
                return progressing(if scaling { &found.message } else { INSTALLING });
            }
            Some(_) => {}
        }
        if let Some(found) = self.find(RequestCondition::UpgradeCompleted)
            && found.status != status::TRUE
        {
            return progressing(&upgrade_progress(&found.message));
        }
        let configuration = self.find(RequestCondition::ConfigurationApplied);
        match configuration {
            None => return progressing(policy::PREPARING),
            Some(found) if found.status != status::TRUE => {
                if let Some(text) = policy::progress(found, self.facts.policies) {
                    return progressing(text);
                }
                // Drift of inform policies needs a person; it does not take back a fulfilled request.
                if !self.facts.fulfilled_before {
                    let drift = found.reason == RequestReason::OutOfDate.as_str();
                    return progressing(if drift { &found.message } else { INSTALLING });
                }
            }
            Some(_) => {}
        }
        match self.facts.blocker {
            Some(text) if !self.facts.fulfilled_before => progressing(&format!("{INSTALLING}: {text}")),
            _ => None,
        }
    }

    /// After an upgrade its result is shown until the next change of the spec (DESIGN section 11).
    fn fulfilled(&self) -> String {
        self.find(RequestCondition::UpgradeCompleted)
            .filter(|c| c.status == status::TRUE && c.observed_generation == Some(self.facts.generation))
            .map_or_else(|| FULFILLED.to_owned(), |c| c.message.clone())
    }
}

/// Not over, and nothing wrong.
fn is_waiting(found: &Condition) -> bool {
    matches!(
        RequestReason::parse(&found.reason),
        Some(RequestReason::InProgress | RequestReason::Pending | RequestReason::Unknown)
    )
}

fn upgrade_failure(found: &Condition) -> Option<String> {
    if found.status == status::TRUE {
        return None;
    }
    match RequestReason::parse(&found.reason)? {
        RequestReason::PreconditionChecksFailed => {
            Some(format!("Upgrade precondition check failed: {}", found.message))
        }
        RequestReason::Failed if found.message.starts_with("Upgrade Failed: Action ") => {
            Some("Cluster upgrade is failed".to_owned())
        }
        RequestReason::Failed | RequestReason::TimedOut => Some(found.message.clone()),
        _ => None,
    }
}

fn upgrade_progress(message: &str) -> String {
    match message {
        "Upgrade is initiated" => "Cluster upgrade is initiated".to_owned(),
        text if text.starts_with("Upgrade is in progress") => {
            text.replacen("Upgrade is in progress", "Cluster upgrade is in progress", 1)
        }
        text => text.to_owned(),
    }
}

/// Puts phase and details into the status. `updateTime` moves when one of them changes; while fulfilled or deleting
/// only when the phase does. True if anything changed.
pub fn update(status: &mut ProvisioningStatus, next: &Phase, now: Timestamp) -> bool {
    let same_phase = status.provisioning_phase == Some(next.phase);
    let same_details = status.provisioning_details.as_deref() == Some(next.details.as_str());
    if same_phase && same_details {
        return false;
    }
    let quiet = matches!(next.phase, ProvisioningPhase::Fulfilled | ProvisioningPhase::Deleting);
    if !(same_phase && quiet) {
        status.update_time = Some(Time(whole_seconds(now)));
    }
    status.provisioning_phase = Some(next.phase);
    status.provisioning_details = Some(next.details.clone());
    true
}
