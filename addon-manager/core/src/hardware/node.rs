//! AllocatedNode: prepares the claimed host and reports it (spec/04 6.2 to 6.4, 7).

mod configure;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::Timestamp;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{AllocatedNode, AllocatedNodeStatus, Bmc, HardwareProfile, NodeAllocationRequest};
use manifests::meta::condition::{self, Next, set_last};
use manifests::meta::{annotations, finalizers};
use manifests::metal3::{
    self, ErrorType, FirmwareSchema, FirmwareUpdate, HostFirmwareComponents, HostFirmwareComponentsSpec,
    HostFirmwareSettings, HostFirmwareSettingsSpec, OperationalStatus, ProvisioningState,
};
use serde_json::{Map, Value, json};

use super::firmware::{self, Reported, Settings, Verdict};
use super::texts::{EFFECT_TOLERANCE, ERROR_TOLERANCE, NODE_COMPLETED, NODE_IN_PROGRESS, NODE_PROVISIONED};
use super::{HostKey, HostView, boot, claim, planner};
use crate::plan::{Plan, Step, Target, Wake, manager};

/// Everything about one node. Firmware objects are needed only while [`needs_firmware`] says so.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The node; not being deleted, see [`super::release`].
    pub node: Arc<AllocatedNode>,
    /// Its request, if it exists.
    pub request: Option<Arc<NodeAllocationRequest>>,
    /// The host that `spec.hwMgrNodeNs` and `spec.hwMgrNodeId` name.
    pub host: Option<HostView>,
    /// The HardwareProfile that `spec.hwProfile` names.
    pub profile: Option<Arc<HardwareProfile>>,
    /// HostFirmwareSettings of the host.
    pub settings: Option<Arc<HostFirmwareSettings>>,
    /// The FirmwareSchema that its status names.
    pub schema: Option<Arc<FirmwareSchema>>,
    /// HostFirmwareComponents of the host.
    pub components: Option<Arc<HostFirmwareComponents>>,
    /// Host name that the ProvisioningRequest gave the node (`status.extensions.allocatedNodeHostMap`).
    pub hostname: Option<String>,
    /// The ManagedCluster of the request exists.
    pub cluster_exists: bool,
}

/// Whether the firmware objects of the host matter for this node now: a profile is asked for and not applied.
pub fn needs_firmware(node: &AllocatedNode) -> bool {
    let status = node.status.as_ref();
    !node.spec.hw_profile.is_empty()
        && (status.and_then(|s| s.hw_profile.as_deref()) != Some(node.spec.hw_profile.as_str())
            || status
                .is_none_or(|s| !condition::is_true(&s.conditions, HardwareCondition::Provisioned.as_str())))
}

/// Decides about one node.
pub fn decide(seen: &Seen, now: Timestamp) -> Plan<AllocatedNodeStatus> {
    let mut draft = Draft {
        seen,
        now,
        status: seen.node.status.clone().unwrap_or_default(),
        steps: Vec::new(),
        notes: Map::new(),
        wake: Wake::OnChange,
    };
    draft.run();
    draft.write_notes();
    let before = seen.node.status.clone().unwrap_or_default();
    Plan {
        steps: draft.steps,
        status: (draft.status != before).then_some(draft.status),
        events: Vec::new(),
        wake: draft.wake,
    }
}

struct Draft<'a> {
    seen: &'a Seen,
    now: Timestamp,
    status: AllocatedNodeStatus,
    steps: Vec<Step>,
    /// Annotations of the host, written at the end in one guarded write.
    notes: Map<String, Value>,
    wake: Wake,
}

impl Draft<'_> {
    fn write_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        if let Some(view) = self.seen.host.as_ref().filter(|_| !notes.is_empty()) {
            self.steps.push(claim::merge(&view.host, json!({"metadata": {"annotations": notes}})));
        }
    }

    fn run(&mut self) {
        let node = &self.seen.node;
        if !node.metadata.finalizers.iter().flatten().any(|f| f == finalizers::ALLOCATED_NODE) {
            self.steps.push(claim::finalizer(&**node, finalizers::ALLOCATED_NODE, true, manager::OBJECTS));
        }
        let is_provisioned =
            condition::is_true(&self.status.conditions, HardwareCondition::Provisioned.as_str());
        let Some(view) = self.seen.host.as_ref() else {
            if !is_provisioned {
                self.wait(format!(
                    "BareMetalHost {} does not exist; create it again, or delete this AllocatedNode to take another host",
                    named_host(node)
                ));
            }
            return;
        };
        self.hostname();
        if is_provisioned {
            self.configure(view);
            return;
        }
        if self.claim(view) && self.prepare(view) {
            self.equip(view);
        }
    }

    /// The name in the cluster arrives when the request has assigned it and the cluster is up.
    fn hostname(&mut self) {
        let is_up = self.seen.request.as_ref().is_some_and(|r| r.spec.cluster_provisioned);
        if (is_up || self.status.hostname.is_some()) && self.seen.hostname.is_some() {
            self.status.hostname.clone_from(&self.seen.hostname);
        }
    }

    /// The host must be ours before anything is done with it (B2). True: it is.
    fn claim(&mut self, view: &HostView) -> bool {
        let name = self.seen.node.metadata.name.as_deref().unwrap_or_default();
        if view.host.annotation(metal3::annotations::PAUSED).is_some() {
            self.wait(format!(
                "BareMetalHost {} is paused; remove the annotation {}",
                view.key(),
                metal3::annotations::PAUSED
            ));
            return false;
        }
        match claim::node_of(&view.host) {
            Some(other) if other != name => {
                let text = format!(
                    "BareMetalHost {} is allocated to AllocatedNode {other}; delete this AllocatedNode to take another host",
                    view.key()
                );
                self.provisioned(HardwareReason::Failed, text);
                false
            }
            _ if claim::holds(&view.host, name) => true,
            _ => {
                self.steps.push(claim::take(&view.host, name));
                self.wait(format!("Claiming BareMetalHost {}", view.key()));
                false
            }
        }
    }

    /// Boot MAC and annotations, in one write. True: all is there.
    fn prepare(&mut self, view: &HostView) -> bool {
        let mac = match boot::missing_mac(view) {
            Ok(mac) => mac,
            Err(boot::BootError::NoHardware) => {
                self.wait(format!("BareMetalHost {} has no HardwareData, it must be inspected", view.key()));
                return false;
            }
            Err(problem) => {
                let host = view.key().name;
                let text =
                    format!("failed to set bootMACAddress from interface label for BMH ({host}): {problem}");
                self.provisioned(HardwareReason::Failed, text);
                return false;
            }
        };
        if view.host.spec.bmc.is_none() {
            self.wait(format!("BareMetalHost {} has no BMC details (spec.bmc)", view.key()));
            return false;
        }
        let notes = claim::marks(&view.host);
        if mac.is_none() && notes.is_empty() {
            return true;
        }
        let mut patch = json!({});
        if !notes.is_empty() {
            put(&mut patch, "metadata", json!({"annotations": notes}));
        }
        if let Some(mac) = mac {
            put(&mut patch, "spec", json!({"bootMACAddress": mac}));
        }
        self.steps.push(claim::merge(&view.host, patch));
        false
    }

    /// BIOS settings and firmware before the installation (spec/04 7.1 to 7.6).
    fn equip(&mut self, view: &HostView) {
        let profile = match self.profile(view) {
            Ok(Some(profile)) => profile,
            Ok(None) => return self.complete(view),
            Err(text) => return self.provisioned(HardwareReason::Failed, text),
        };
        match firmware::compare(&profile.spec, &self.reported()) {
            Verdict::Met if self.is_updating() && view.host.state() != ProvisioningState::Available => {
                self.updating(view);
            }
            Verdict::Met => self.complete(view),
            Verdict::Invalid(text) => self.provisioned(HardwareReason::InvalidUserInput, text),
            Verdict::Waiting(text) => self.wait(text),
            Verdict::Differs { settings, updates } => {
                if self.tolerates_error(view) && !self.is_without_effect(view, &profile) {
                    self.ask(view, settings, updates);
                    self.updating(view);
                }
            }
        }
    }

    /// The profile that has to be applied before the installation. None on a host that runs something: a node that comes
    /// back from a backup is not flashed (DESIGN section 5).
    fn profile(&self, view: &HostView) -> Result<Option<Arc<HardwareProfile>>, String> {
        let name = &self.seen.node.spec.hw_profile;
        let is_new = matches!(view.host.state(), ProvisioningState::Available | ProvisioningState::Preparing);
        let may_flash = self
            .seen
            .request
            .as_ref()
            .is_none_or(|request| planner::may_claim(request, self.seen.cluster_exists));
        let runs = matches!(view.host.state(), ProvisioningState::Provisioning)
            || view.host.state().is_provisioned();
        if name.is_empty() || runs || (is_new && !may_flash) {
            return Ok(None);
        }
        let Some(profile) = &self.seen.profile else {
            return Err(format!(
                "unable to find HardwareProfile CR ({name}): HardwareProfile.clcm.openshift.io {name:?} not found"
            ));
        };
        Ok(Some(Arc::clone(profile)))
    }

    fn reported(&self) -> Reported<'_> {
        Reported {
            settings: self.seen.settings.as_deref(),
            schema: self.seen.schema.as_deref(),
            components: self.seen.components.as_deref(),
        }
    }

    /// A change of this host is under way.
    fn is_updating(&self) -> bool {
        self.status.bmc.is_some()
    }

    /// Marks the host first, asks for the change when the mark is seen, and moves the mark to the node once the host
    /// works on it.
    fn ask(&mut self, view: &HostView, settings: Option<Settings>, updates: Option<Vec<FirmwareUpdate>>) {
        let host = &view.host;
        let mut is_marked = true;
        for (needed, key) in [
            (settings.is_some(), annotations::BIOS_UPDATE_NEEDED),
            (updates.is_some(), annotations::FIRMWARE_UPDATE_NEEDED),
        ] {
            if needed && host.annotation(key).is_none() {
                self.notes.insert(key.to_owned(), json!("true"));
                is_marked = false;
            }
        }
        if !is_marked {
            return;
        }
        if settings.is_some() || updates.is_some() {
            let key = view.key();
            self.steps.extend(settings.and_then(|s| write_settings(&key, self.seen.settings.as_deref(), s)));
            self.steps.extend(updates.and_then(|u| write_updates(&key, self.seen.components.as_deref(), u)));
        } else if host.state() == ProvisioningState::Preparing {
            let bios = host.annotation(annotations::BIOS_UPDATE_NEEDED).is_some();
            if bios || host.annotation(annotations::FIRMWARE_UPDATE_NEEDED).is_some() {
                if self.node_annotation(annotations::CONFIG_IN_PROGRESS).is_none() {
                    let what = if bios { "bios-settings-update" } else { "firmware-update" };
                    self.annotate_node(&json!(what));
                }
                self.unmark(view);
            }
        }
    }

    /// A host in error gets five minutes (spec/04 7.6). False: it is still in error.
    fn tolerates_error(&mut self, view: &HostView) -> bool {
        let host = &view.host;
        let stamp = host.annotation(annotations::HOST_ERROR_TIMESTAMP);
        if host.operational_status() != OperationalStatus::Error {
            if stamp.is_some() {
                self.stamp(Value::Null);
            }
            return true;
        }
        let kind = host.status.as_ref().and_then(|s| s.error_type).map_or("", ErrorType::as_str);
        let text = format!("BMH in error state: {kind}");
        let failed = condition::find(&self.status.conditions, HardwareCondition::Provisioned.as_str())
            .is_some_and(|c| c.reason == HardwareReason::Failed.as_str());
        let since = stamp.and_then(|s| s.parse::<Timestamp>().ok());
        match since.and_then(|s| s.checked_add(ERROR_TOLERANCE).ok()) {
            _ if failed => self.provisioned(HardwareReason::Failed, text),
            Some(end) if end <= self.now => {
                if self.node_annotation(annotations::CONFIG_IN_PROGRESS).is_some() {
                    self.annotate_node(&Value::Null);
                }
                self.unmark(view);
                self.provisioned(HardwareReason::Failed, text);
            }
            Some(end) => {
                self.wake = self.wake.or(Wake::At(end));
                self.updating(view);
            }
            None => {
                self.stamp(json!(condition::whole_seconds(self.now).to_string()));
                if let Ok(end) = condition::whole_seconds(self.now).checked_add(ERROR_TOLERANCE) {
                    self.wake = self.wake.or(Wake::At(end));
                }
                self.updating(view);
            }
        }
        false
    }

    /// The host says that it is done, but reports something else than the profile wants: after a while that is a failure,
    /// with both values in the text (B21, B41).
    fn is_without_effect(&mut self, view: &HostView, profile: &HardwareProfile) -> bool {
        let reported = self.reported();
        let since = firmware::applied_without_effect(&profile.spec, &reported)
            .filter(|_| view.host.state() == ProvisioningState::Available);
        let Some(end) = since.and_then(|s| s.checked_add(EFFECT_TOLERANCE).ok()) else { return false };
        if end > self.now {
            self.wake = self.wake.or(Wake::At(end));
            return false;
        }
        let text = format!(
            "HardwareProfile {} is applied, but BareMetalHost {} reports other values: {}",
            self.seen.node.spec.hw_profile,
            view.key(),
            firmware::differences(&profile.spec, &reported).join("; ")
        );
        self.report(view);
        self.unmark(view);
        self.provisioned(HardwareReason::Failed, text);
        true
    }

    fn stamp(&mut self, value: Value) {
        self.notes.insert(annotations::HOST_ERROR_TIMESTAMP.to_owned(), value);
    }

    /// Takes the marks of a change off the host.
    fn unmark(&mut self, view: &HostView) {
        let keys = [
            annotations::BIOS_UPDATE_NEEDED,
            annotations::FIRMWARE_UPDATE_NEEDED,
            annotations::HOST_ERROR_TIMESTAMP,
        ];
        let present = keys.into_iter().filter(|key| view.host.annotation(key).is_some());
        self.notes.extend(present.map(|key| (key.to_owned(), Value::Null)));
    }

    fn node_annotation(&self, key: &str) -> Option<&str> {
        self.seen.node.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn annotate_node(&mut self, value: &Value) {
        let meta = &self.seen.node.metadata;
        self.steps.push(Step::Merge {
            target: Target::of::<AllocatedNode>(
                meta.namespace.as_deref(),
                meta.name.as_deref().unwrap_or_default(),
            ),
            patch: json!({"metadata": {"annotations": {annotations::CONFIG_IN_PROGRESS: value}}}),
            manager: manager::OBJECTS,
            resource_version: None,
        });
    }

    /// What the request needs to know of the host.
    fn report(&mut self, view: &HostView) {
        self.status.bmc = view.host.spec.bmc.as_ref().map(|bmc| Bmc {
            address: Some(bmc.address.to_string()),
            credentials_name: Some(bmc.credentials_name.to_string()),
        });
        self.status.interfaces = boot::interfaces(view);
        let profile = &self.seen.node.spec.hw_profile;
        self.status.hw_profile = (!profile.is_empty()).then(|| profile.clone());
    }

    fn updating(&mut self, view: &HostView) {
        self.report(view);
        self.provisioned(HardwareReason::InProgress, NODE_IN_PROGRESS.to_owned());
    }

    fn complete(&mut self, view: &HostView) {
        let text = if self.is_updating() { NODE_PROVISIONED } else { NODE_COMPLETED };
        self.report(view);
        self.unmark(view);
        if self.node_annotation(annotations::CONFIG_IN_PROGRESS).is_some() {
            self.annotate_node(&Value::Null);
        }
        let kind = HardwareCondition::Provisioned.as_str();
        let next = Next::yes(kind, HardwareReason::Completed.as_str(), text);
        set_last(&mut self.status.conditions, next, self.now);
    }

    fn wait(&mut self, text: String) {
        self.provisioned(HardwareReason::InProgress, text);
    }

    fn provisioned(&mut self, reason: HardwareReason, text: String) {
        let next = Next::no(HardwareCondition::Provisioned.as_str(), reason.as_str(), text);
        set_last(&mut self.status.conditions, next, self.now);
    }
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn named_host(node: &AllocatedNode) -> HostKey {
    HostKey {
        namespace: node.spec.hw_mgr_node_ns.clone().unwrap_or_default(),
        name: node.spec.hw_mgr_node_id.clone().unwrap_or_default(),
    }
}

/// The whole of `spec.settings`: keys of an older profile go (spec/04 7.2, B15).
fn write_settings(host: &HostKey, object: Option<&HostFirmwareSettings>, settings: Settings) -> Option<Step> {
    let Some(object) = object else {
        let mut new = HostFirmwareSettings::new(&host.name, HostFirmwareSettingsSpec { settings });
        new.metadata.namespace = Some(host.namespace.clone());
        return Step::apply(&new).ok();
    };
    let mut values: Map<String, Value> = object
        .spec
        .settings
        .keys()
        .filter(|key| !settings.contains_key(*key))
        .map(|key| (key.clone(), Value::Null))
        .collect();
    for (key, value) in settings {
        values.insert(key, json!(value));
    }
    Some(Step::Merge {
        target: Target::of::<HostFirmwareSettings>(Some(&host.namespace), &host.name),
        patch: json!({"spec": {"settings": values}}),
        manager: manager::HOST,
        resource_version: object.metadata.resource_version.clone(),
    })
}

fn write_updates(
    host: &HostKey,
    object: Option<&HostFirmwareComponents>,
    updates: Vec<FirmwareUpdate>,
) -> Option<Step> {
    let Some(object) = object else {
        let mut new = HostFirmwareComponents::new(&host.name, HostFirmwareComponentsSpec { updates });
        new.metadata.namespace = Some(host.namespace.clone());
        return Step::apply(&new).ok();
    };
    Some(Step::Merge {
        target: Target::of::<HostFirmwareComponents>(Some(&host.namespace), &host.name),
        patch: json!({"spec": {"updates": updates}}),
        manager: manager::HOST,
        resource_version: object.metadata.resource_version.clone(),
    })
}
