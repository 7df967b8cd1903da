//! One ManagedClusterAddOn: registration, rights on the hub, deploy works, conditions (spec/07 sections 4 and 5).

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::core::PartialObjectMeta;
use kube::core::{ApiResource, DynamicObject};
use kube::{Resource, ResourceExt};
use manifests::addon::{GROUP, REPORT_NAME, SpokeReport};
use manifests::meta::condition::{self, Condition, Next};
use manifests::ocm::addon::{
    AddOnMeta, ConfigReference, HealthCheck, ManagedClusterAddOnStatus, RelatedObject,
};
use manifests::ocm::names::{
    ADDON, ADDON_GROUP, AGENT_ROLE_BINDING, ANNOTATION_CLEANUP_PRIORITY, ANNOTATION_LAUNCH_LINK,
    ANNOTATION_LAUNCH_LINK_TEXT, DEPLOYMENT_CONFIGS,
};
use manifests::ocm::{
    AddOnCondition, AddOnDeploymentConfig, AddOnReason, ClusterManagementAddOn, ConfigKind, ManagedCluster,
    ManagedClusterAddOn, ManifestWork,
};
use serde_json::{Map, Value, json};

use super::Settings;
use super::config::{self, Resolved};
use super::hash::config_hash;
use super::registration::{self, Identity};
use super::{deploy, health, render};
use crate::plan::{APPLIED_HASH, Fault, Note, Plan, Step, Target, Wake, manager};
use crate::work::{Applied, applied};

/// Our ManagedClusterAddOn goes after those that have no say, before the deploy works (spec/07 section 7).
const CLEANUP_PRIORITY: &str = "50";

/// What the decision about the add-on on one cluster needs. All of it comes from watch caches.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Settings of the add-on.
    pub settings: Arc<Settings>,
    /// Name of the cluster, which is also its namespace: the key.
    pub name: String,
    /// The ManagedCluster of that name.
    pub cluster: Option<Arc<ManagedCluster>>,
    /// The ManagedClusterAddOn `ocloud` in the namespace.
    pub addon: Option<Arc<ManagedClusterAddOn>>,
    /// The AddOnDeploymentConfigs that [`config::wanted_configs`] names; others do no harm.
    pub configs: Vec<Arc<AddOnDeploymentConfig>>,
    /// The ManifestWorks in the namespace with the add-on's label; manifests may be trimmed to their identities.
    pub works: Vec<Arc<ManifestWork>>,
    /// The RoleBinding [`AGENT_ROLE_BINDING`] in the namespace, metadata only.
    pub binding: Option<Arc<PartialObjectMeta<RoleBinding>>>,
    /// The SpokeReport [`REPORT_NAME`] in the namespace.
    pub report: Option<Arc<SpokeReport>>,
    /// The ProvisioningRequest that installed the cluster, for the list of related objects.
    pub request: Option<String>,
    /// The step of the last plan that failed. The plan then holds nothing but the status that tells so.
    pub fault: Option<Fault>,
}

/// One pass over one cluster. Every effect is a step, the status too: its lists have several writers, so our
/// conditions go by server-side apply with only our entries, and the atomic lists by a guarded merge patch.
pub fn decide(seen: &Seen, now: Timestamp) -> Plan<()> {
    let (Some(cluster), Some(addon)) = (&seen.cluster, &seen.addon) else { return Plan::default() };
    let leaving =
        cluster.metadata.deletion_timestamp.is_some() || addon.metadata.deletion_timestamp.is_some();
    if leaving || !has_owner(addon) {
        // Owner references take our objects away; OCM's owner controller adds the missing one and wakes us.
        return Plan::default();
    }
    Pass { seen, cluster, addon, now, plan: Plan::default() }.run()
}

fn has_owner(addon: &ManagedClusterAddOn) -> bool {
    addon
        .owner_references()
        .iter()
        .any(|o| o.kind == ClusterManagementAddOn::kind(&()).as_ref() && o.name == ADDON)
}

struct Pass<'a> {
    seen: &'a Seen,
    cluster: &'a ManagedCluster,
    addon: &'a ManagedClusterAddOn,
    now: Timestamp,
    plan: Plan<()>,
}

impl Pass<'_> {
    fn run(mut self) -> Plan<()> {
        let resolved = config::resolve(&self.seen.settings, self.cluster, self.addon, &self.seen.configs);
        let namespace = self.install_namespace(&resolved);
        self.atomic_lists(&namespace);
        self.annotations();
        let registration = self.registration();
        let (deployment, refusals) = self.deployment(&resolved);
        let report = self.seen.report.as_deref();
        let health = health::health(self.cluster, self.addon, &namespace, &refusals, report, self.now);
        if let Some(deadline) = health.deadline {
            self.plan.wake = Wake::At(deadline);
        }
        self.status([Some(registration), deployment, health.condition]);
        if self.seen.fault.is_some() {
            self.plan.steps.retain(|s| matches!(s, Step::ApplyStatus { .. }));
        }
        self.plan
    }

    fn status_seen(&self) -> ManagedClusterAddOnStatus {
        self.addon.status.clone().unwrap_or_default()
    }

    /// In force is what the configuration says; while that is not settled, what was in force stays.
    fn install_namespace(&self, resolved: &Resolved) -> String {
        if let Resolved::Ready(config, _) = resolved {
            config.namespace.clone()
        } else {
            let old = self.addon.status.as_ref().and_then(|s| s.namespace.clone());
            old.unwrap_or_else(|| self.addon.own_install_namespace().to_owned())
        }
    }

    /// Registrations, namespace and configuration references: one guarded merge patch. Namespace and registrations go
    /// together, because each change of either makes the spoke drop its secret and begin anew.
    fn atomic_lists(&mut self, namespace: &str) {
        let old = self.status_seen();
        let mut patch = Map::new();
        let registrations = registration::desired(self.addon, &self.seen.name);
        if registrations != old.registrations {
            patch.insert("registrations".to_owned(), json!(registrations));
        }
        if old.namespace.as_deref() != Some(namespace) {
            patch.insert("namespace".to_owned(), json!(namespace));
        }
        let references = self.config_references(&old.config_references);
        if references != old.config_references {
            patch.insert("configReferences".to_owned(), json!(references));
        }
        if !patch.is_empty() {
            self.plan.steps.push(Step::MergeStatus {
                target: self.target(),
                patch: json!({"status": patch}),
                manager: manager::STATUS,
                resource_version: self.addon.metadata.resource_version.clone(),
            });
        }
    }

    /// Generations that we saw, and the hashes of overrides (spec/07 5.2); defaults get theirs from OCM.
    fn config_references(&self, old: &[ConfigReference]) -> Vec<ConfigReference> {
        let mut list = old.to_vec();
        for r in list.iter_mut().filter(|r| config::is_supported(&r.group, &r.resource)) {
            let Some(desired) = r.desired_config.as_mut() else { continue };
            let object = config::find(&self.seen.configs, &desired.namespace, &desired.name);
            if let Some(generation) = object.and_then(|o| o.metadata.generation) {
                r.last_observed_generation = Some(generation);
            }
            let overridden = self.addon.spec.configs.iter().any(|c| {
                config::is_supported(&c.group, &c.resource)
                    && c.namespace == desired.namespace
                    && c.name == desired.name
            });
            if overridden {
                desired.spec_hash = object.map(config_hash).unwrap_or_default();
            }
        }
        list
    }

    /// Link to the report, and the order of deletion; only keys that are ours to set.
    fn annotations(&mut self) {
        let has = |key: &str| self.addon.annotations().get(key).map(String::as_str);
        let mut patch = Map::new();
        if has(ANNOTATION_CLEANUP_PRIORITY).is_none() {
            patch.insert(ANNOTATION_CLEANUP_PRIORITY.to_owned(), json!(CLEANUP_PRIORITY));
        }
        if let Some(console) = &self.seen.settings.console_url {
            let console = console.trim_end_matches('/');
            let link =
                format!("{console}/k8s/ns/{}/{GROUP}~v1alpha1~SpokeReport/{REPORT_NAME}", self.seen.name);
            let text = "O-Cloud report";
            if has(ANNOTATION_LAUNCH_LINK) != Some(link.as_str()) {
                patch.insert(ANNOTATION_LAUNCH_LINK.to_owned(), json!(link));
            }
            if has(ANNOTATION_LAUNCH_LINK_TEXT) != Some(text) {
                patch.insert(ANNOTATION_LAUNCH_LINK_TEXT.to_owned(), json!(text));
            }
        }
        if !patch.is_empty() {
            self.plan.steps.push(Step::Merge {
                target: self.target(),
                patch: json!({"metadata": {"annotations": patch}}),
                manager: manager::OBJECTS,
                resource_version: None,
            });
        }
    }

    fn target(&self) -> Target {
        Target::of::<ManagedClusterAddOn>(Some(&self.seen.name), ADDON)
    }

    fn failed(&self, target: &Target) -> Option<&str> {
        let fault = self.seen.fault.as_ref()?;
        (fault.target == target.to_string()).then_some(fault.message.as_str())
    }

    /// Rights of the agent, and the report object that it may write.
    fn registration(&mut self) -> Next {
        let cluster = self.seen.name.clone();
        let report = registration::report(self.addon, &cluster);
        self.apply(&report, self.seen.report.as_ref().map(|r| &r.metadata.annotations));
        let kind = AddOnCondition::RegistrationApplied;
        let failed = |text: &str| {
            let text = format!("Failed to set permission for hub agent: {text}");
            Next::no(kind, AddOnReason::SetPermissionFailed, text)
        };
        let subject = match registration::identity(self.addon, &cluster) {
            Identity::Known(subject) => subject,
            Identity::Foreign(user) => {
                let text = format!("{user} is not a user that the agent of cluster {cluster} can be");
                return failed(&text);
            }
            Identity::Pending => {
                return Next::no(
                    kind,
                    AddOnReason::PermissionConfigPending,
                    "registration subject not ready",
                );
            }
        };
        let binding = registration::role_binding(self.addon, &cluster, &subject);
        self.apply(&binding, self.seen.binding.as_ref().map(|b| &b.metadata.annotations));
        let targets = [
            Target::of::<RoleBinding>(Some(&cluster), AGENT_ROLE_BINDING),
            Target::of::<SpokeReport>(Some(&cluster), REPORT_NAME),
        ];
        if let Some((target, error)) = targets.iter().find_map(|t| Some((t, self.failed(t)?))) {
            failed(&format!("{target}: {error}"))
        } else {
            let text = "Registration of the addon agent is configured";
            Next::yes(kind, AddOnReason::SetPermissionApplied, text)
        }
    }

    /// Adds the apply of an object unless its hash annotation says that it stands so.
    fn apply<K>(&mut self, object: &K, stored: Option<&Option<std::collections::BTreeMap<String, String>>>)
    where
        K: Resource<DynamicType = ()> + serde::Serialize,
    {
        let hash_of = |a: &Option<std::collections::BTreeMap<String, String>>| {
            a.as_ref().and_then(|a| a.get(APPLIED_HASH)).cloned()
        };
        match Step::apply(object) {
            Ok(Step::Apply { object, .. })
                if stored
                    .and_then(hash_of)
                    .is_some_and(|h| Some(h) == hash_of(&object.metadata.annotations)) => {}
            Ok(step) => self.plan.steps.push(step),
            Err(error) => self.note(true, "InternalError", error.to_string()),
        }
    }

    fn note(&mut self, warning: bool, reason: &str, message: String) {
        self.plan.events.push(Note { warning, reason: reason.to_owned(), message });
    }

    /// Deploy works, what `ManifestApplied` shall say (`None`: as it is), and what the spoke refused.
    fn deployment(&mut self, resolved: &Resolved) -> (Option<Next>, Vec<String>) {
        let kind = AddOnCondition::ManifestApplied;
        let not_applied = |text: String| Some(Next::no(kind, AddOnReason::ManifestWorkApplyFailed, text));
        let configured = self.addon.condition(AddOnCondition::Configured);
        let settled = configured.is_none_or(|c| c.status != "False");
        match resolved {
            Resolved::Ready(config, notes) if settled => {
                let works = render::agent_items(config).and_then(|items| {
                    let annotation = config::work_annotation(self.addon);
                    let works = &self.seen.works;
                    deploy::steps(self.addon, &self.seen.name, annotation.as_deref(), items, works)
                });
                match works {
                    Ok(steps) => {
                        // Told once, with the deployment that they concern.
                        if !steps.is_empty() {
                            for text in notes {
                                self.note(true, "ConfigurationIgnored", text.clone());
                            }
                        }
                        self.plan.steps.extend(steps);
                    }
                    Err(error) => {
                        return (not_applied(format!("failed to build manifestwork: {error}")), Vec::new());
                    }
                }
            }
            Resolved::Broken(why) => {
                let text = format!("failed to get manifest from agent interface: {why}");
                return (not_applied(text), Vec::new());
            }
            Resolved::Ready(..) | Resolved::Wait => {}
        }
        if let Some(fault) = self.seen.fault.as_ref().filter(|f| f.target.starts_with("ManifestWork ")) {
            return (not_applied(format!("failed to apply manifestWork: {}", fault.message)), Vec::new());
        }
        let works = deploy::deploy_works(&self.seen.works);
        let answers: Vec<Applied> = works.iter().map(|(_, w)| applied(w)).collect();
        let refusals: Vec<String> = answers
            .iter()
            .filter_map(|a| if let Applied::No(lines) = a { Some(lines.clone()) } else { None })
            .flatten()
            .collect();
        if !refusals.is_empty() {
            let text = "failed to apply the manifests of addon";
            return (Some(Next::no(kind, AddOnReason::AddonManifestAppliedFailed, text)), refusals);
        }
        if !answers.is_empty() && answers.iter().all(|a| *a == Applied::Yes) {
            let text = "manifests of addon are applied successfully";
            return (Some(Next::yes(kind, AddOnReason::AddonManifestApplied, text)), Vec::new());
        }
        (None, Vec::new())
    }

    fn related_objects(&self) -> Vec<RelatedObject> {
        let report = RelatedObject {
            group: GROUP.to_owned(),
            resource: "spokereports".to_owned(),
            namespace: self.seen.name.clone(),
            name: REPORT_NAME.to_owned(),
        };
        let request = self.seen.request.as_ref().map(|name| RelatedObject {
            group: "clcm.openshift.io".to_owned(),
            resource: "provisioningrequests".to_owned(),
            namespace: String::new(),
            name: name.clone(),
        });
        std::iter::once(report).chain(request).collect()
    }

    /// One server-side apply of what is ours in the status, if it differs from what stands there.
    fn status(&mut self, next: [Option<Next>; 3]) {
        let old = self.status_seen();
        let ours =
            [AddOnCondition::RegistrationApplied, AddOnCondition::ManifestApplied, AddOnCondition::Degraded];
        let before: Vec<Condition> =
            ours.iter().filter_map(|k| condition::find(&old.conditions, k)).cloned().collect();
        let mut after = before.clone();
        for next in next.into_iter().flatten() {
            let old_status = condition::find(&after, &next.type_).map(|c| c.status.clone());
            if old_status.as_deref() != Some(next.status) {
                let bad = (next.status == "True") == (next.type_ == AddOnCondition::Degraded.as_str());
                let quiet = next.reason == AddOnReason::PermissionConfigPending.as_str()
                    || (old_status.is_none() && !bad);
                if !quiet {
                    self.note(bad, &next.reason, next.message.clone());
                }
            }
            condition::set(&mut after, next.at(self.addon.metadata.generation), self.now);
        }
        let supported =
            vec![ConfigKind { group: ADDON_GROUP.to_owned(), resource: DEPLOYMENT_CONFIGS.to_owned() }];
        let health = HealthCheck { mode: Some("Lease".to_owned()) };
        let meta = AddOnMeta {
            display_name: "O-Cloud agent".to_owned(),
            description: "Reports upgrades and health of the cluster to the O-Cloud manager".to_owned(),
        };
        let related = self.related_objects();
        let same = after == before
            && old.supported_configs == supported
            && old.health_check.as_ref() == Some(&health)
            && old.add_on_meta.as_ref() == Some(&meta)
            && old.related_objects == related;
        if same {
            return;
        }
        let status = json!({
            "conditions": after,
            "supportedConfigs": supported,
            "healthCheck": health,
            "addOnMeta": meta,
            "relatedObjects": related,
        });
        self.apply_status(&status);
    }

    fn apply_status(&mut self, status: &Value) {
        let api = ApiResource::erase::<ManagedClusterAddOn>(&());
        let body = json!({
            "apiVersion": api.api_version,
            "kind": api.kind,
            "metadata": {"name": ADDON, "namespace": self.seen.name, "uid": self.addon.metadata.uid},
            "status": status,
        });
        match serde_json::from_value::<DynamicObject>(body) {
            Ok(object) => {
                self.plan.steps.push(Step::ApplyStatus {
                    api,
                    object: Box::new(object),
                    manager: manager::STATUS,
                });
            }
            Err(error) => self.note(true, "InternalError", error.to_string()),
        }
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
