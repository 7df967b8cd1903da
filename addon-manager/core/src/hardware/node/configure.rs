//! A later profile (spec/04 section 8).

use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::meta::condition::{Next, set_last};

use super::{Draft, needs_firmware};
use crate::hardware::HostView;
use crate::hardware::firmware::{self, Verdict};
use crate::hardware::texts::APPLIED;

impl Draft<'_> {
    /// Acknowledged where the host meets it already. A host that would have to be
    /// changed is left alone, and the condition names what differs.
    pub(super) fn configure(&mut self, view: &HostView) {
        let node = &self.seen.node;
        if !needs_firmware(node) {
            return;
        }
        let name = &node.spec.hw_profile;
        let (reason, text) = match &self.seen.profile {
            None => (
                HardwareReason::Failed,
                format!(
                    "unable to find HardwareProfile CR ({name}): HardwareProfile.clcm.openshift.io {name:?} not found"
                ),
            ),
            Some(profile) => match firmware::compare(&profile.spec, &self.reported()) {
                Verdict::Met => {
                    self.status.hw_profile = Some(name.clone());
                    (HardwareReason::ConfigurationApplied, APPLIED.to_owned())
                }
                Verdict::Invalid(text) => (HardwareReason::InvalidUserInput, text),
                Verdict::Waiting(text) => (HardwareReason::ConfigurationUpdatePending, text),
                Verdict::Differs { .. } => {
                    let list = firmware::differences(&profile.spec, &self.reported()).join("; ");
                    (
                        HardwareReason::InvalidUserInput,
                        format!(
                            "HardwareProfile {name} needs changes on BareMetalHost {}, which runs a cluster: {list}. BIOS \
                             settings and firmware are changed before the installation only; bring the host to this state \
                             or go back to the profile {:?}",
                            view.key(),
                            self.status.hw_profile.as_deref().unwrap_or_default()
                        ),
                    )
                }
            },
        };
        let kind = HardwareCondition::Configured.as_str();
        let next = if reason == HardwareReason::ConfigurationApplied {
            Next::yes(kind, reason.as_str(), text)
        } else {
            Next::no(kind, reason.as_str(), text)
        };
        set_last(&mut self.status.conditions, next.at(node.metadata.generation), self.now);
    }
}
