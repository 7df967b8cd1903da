//! Admission of requests (spec/02 section 5, spec/01 8.2): create, update, delete as pure functions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::{RequestCondition, RequestReason};
use manifests::clcm::{NodeAllocationRequestStatus, ProvisioningPhase, ProvisioningRequest};
use manifests::meta::condition::{self, status};
use manifests::meta::names::parameter;
use serde_json::Value;

use super::diff::{self, ALLOWED_AFTER_INSTALL};
use super::error::InputError;
use super::names::{self, ClusterNamespace, Taken};
use super::template::Template;
use super::{hwmgmt, nar, upgrade_input};

/// Warning of every deletion that is allowed.
pub const DELETE_WARNING: &str = "Deleting a ProvisioningRequest triggers cluster deprovisioning and resource cleanup, \
                                  which typically takes several minutes. Please be patient and do not force-delete \
                                  the resource.";
/// Presence keeps a request from being deleted (DESIGN section 5: Git may prune by accident).
pub const PREVENT_DELETION: &str = "clcm.openshift.io/prevent-deletion";

/// What the checks need from the hub, all from watch caches.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The template that the new object names, if a valid one exists.
    pub template: Option<&'a Template>,
    /// Whether a HardwareProfile exists in the operator namespace.
    pub profile_exists: &'a dyn Fn(&str) -> bool,
    /// The operator namespace.
    pub operator_namespace: &'a str,
    /// The namespace of that name, if it exists.
    pub namespace: &'a dyn Fn(&str) -> Option<ClusterNamespace>,
    /// Names of the other requests (B-23).
    pub others: &'a [Taken],
    /// Status of the request's NodeAllocationRequest, if there is one.
    pub allocation: Option<&'a NodeAllocationRequestStatus>,
}

/// Allowed with these warnings, or refused with this message.
pub type Verdict = Result<Vec<String>, String>;

/// Creation (5.1).
///
/// # Errors
/// The message to refuse with.
pub fn create(new: &ProvisioningRequest, world: &World<'_>) -> Verdict {
    let name = new.metadata.name.as_deref().unwrap_or_default();
    names::check_uuid(name).map_err(|e| format!("metadata.name must be a valid UUID: {e}"))?;
    let parameters = new.spec.template_parameters.value();
    common(new, &parameters, None, world)?;
    Ok(Vec::new())
}

/// Update (5.2). Nothing is checked while the spec stays, so that labels, annotations and finalizers can always be
/// edited (spec/01 8.2.1).
///
/// # Errors
/// The message to refuse with.
pub fn update(old: &ProvisioningRequest, new: &ProvisioningRequest, world: &World<'_>) -> Verdict {
    if new.metadata.deletion_timestamp.is_some() || old.spec == new.spec {
        return Ok(Vec::new());
    }
    let (before, after) = (old.spec.template_parameters.value(), new.spec.template_parameters.value());
    common(new, &after, Some(&before), world)?;
    let conditions = new.status.as_ref().map_or(&[][..], |s| &s.conditions);
    check_hardware(conditions, world)?;
    check_frozen(new, &before, &after)?;
    check_cluster(conditions, &before, &after)
}

/// Deletion (5.5), on the object as it is stored.
///
/// # Errors
/// The message to refuse with.
pub fn delete(stored: &ProvisioningRequest) -> Verdict {
    let annotations = stored.metadata.annotations.as_ref();
    if annotations.is_some_and(|a| a.contains_key(PREVENT_DELETION)) {
        return Err(format!(
            "the ProvisioningRequest is protected against deletion: remove the annotation {PREVENT_DELETION} first"
        ));
    }
    let current = stored.status.as_ref();
    let conditions = current.map_or(&[][..], |s| &s.conditions);
    // The details are what older managers wrote; the condition is what holds (B-14).
    let by_details = current.and_then(|s| s.provisioning_status.as_ref()).is_some_and(|p| {
        p.provisioning_phase == Some(ProvisioningPhase::Progressing)
            && p.provisioning_details.as_deref() == Some("Hardware configuring is in progress")
    });
    let by_condition = has(conditions, RequestCondition::HardwareConfigured, &[RequestReason::InProgress]);
    if by_details || by_condition {
        return Err(
            "deleting a ProvisioningRequest is disallowed while post-install hardware configuration is in \
                    progress"
                .to_owned(),
        );
    }
    Ok(vec![DELETE_WARNING.to_owned()])
}

/// False with one of these reasons.
fn has(conditions: &[Condition], type_: RequestCondition, reasons: &[RequestReason]) -> bool {
    condition::find(conditions, type_)
        .is_some_and(|c| c.status == status::FALSE && reasons.iter().any(|r| c.reason == r.as_str()))
}

/// Common checks (5.4), in their order. `before` are the parameters of the old object.
fn common(
    new: &ProvisioningRequest,
    parameters: &Value,
    before: Option<&Value>,
    world: &World<'_>,
) -> Result<(), String> {
    let Some(template) = world.template else {
        return Err(crate::template::NotFound(new.spec.template()).to_string());
    };
    let text = |e: InputError| e.message;
    template.check_whole(parameters).map_err(text)?;
    hwmgmt::check_named_profiles(parameters, world.profile_exists).map_err(text)?;
    upgrade_input::check(parameters, &template.release).map_err(text)?;
    template.check_cluster(parameters).map_err(text)?;
    let name_of = |parameters: &Value| {
        let name = parameters.pointer("/clusterInstanceParameters/clusterName").and_then(Value::as_str);
        name.filter(|n| !n.is_empty()).map(str::to_owned)
    };
    let Some(cluster) = name_of(parameters) else { return check_taken(new, None, parameters, before, world) };
    names::check_format(&cluster)
        .and_then(|()| names::check_reserved(&cluster, world.operator_namespace))
        .map_err(|e| format!("clusterInstanceParameters.clusterName: {e}"))?;
    // A name that was accepted before is not judged again: that would block every other edit.
    let fresh = before.and_then(name_of).as_ref() != Some(&cluster);
    if fresh {
        let request = new.metadata.name.as_deref().unwrap_or_default();
        names::check_ownership(&cluster, request, (world.namespace)(&cluster).as_ref())
            .map_err(|e| format!("clusterInstanceParameters.clusterName: {e}"))?;
    }
    check_taken(new, fresh.then_some(cluster.as_str()), parameters, before, world)
}

/// B-23, for names that are new.
fn check_taken(
    new: &ProvisioningRequest,
    cluster: Option<&str>,
    parameters: &Value,
    before: Option<&Value>,
    world: &World<'_>,
) -> Result<(), String> {
    let key = parameter::NODE_CLUSTER_NAME;
    let node_cluster = parameters.get(key).filter(|n| before.and_then(|b| b.get(key)) != Some(n));
    let request = new.metadata.name.as_deref().unwrap_or_default();
    names::check_unique(cluster, node_cluster.and_then(Value::as_str), request, world.others)
        .map_err(|e| format!("spec.templateParameters: {e}"))
}

fn check_hardware(conditions: &[Condition], world: &World<'_>) -> Result<(), String> {
    let over = has(
        conditions,
        RequestCondition::HardwareProvisioned,
        &[RequestReason::TimedOut, RequestReason::Failed],
    );
    // An edit is what repairs bad input (B-18).
    if over && !nar::is_user_error(world.allocation) {
        return Err(
            "hardware provisioning has timed out or failed. Spec changes are not allowed. Please delete and \
                    recreate the ProvisioningRequest to retry"
                .to_owned(),
        );
    }
    Ok(())
}

/// Node cluster and site belong to the hosts once they are taken (B-12).
fn check_frozen(new: &ProvisioningRequest, before: &Value, after: &Value) -> Result<(), String> {
    let Some(current) = &new.status else { return Ok(()) };
    let taken = current.extensions.as_ref().is_some_and(|e| !e.allocated_node_host_map.is_empty())
        || condition::is_true(&current.conditions, RequestCondition::HardwareProvisioned);
    let keys = [parameter::NODE_CLUSTER_NAME, parameter::O_CLOUD_SITE_ID];
    match keys.into_iter().find(|key| taken && before.get(key) != after.get(key)) {
        Some(key) => {
            Err(format!("spec.templateParameters.{key} cannot be changed after hardware has been allocated"))
        }
        None => Ok(()),
    }
}

fn check_cluster(conditions: &[Condition], before: &Value, after: &Value) -> Verdict {
    let Some(found) = condition::find(conditions, RequestCondition::ClusterProvisioned) else {
        return Ok(Vec::new());
    };
    let part = |parameters: &Value| {
        parameters
            .get(parameter::CLUSTER_INSTANCE)
            .cloned()
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()))
    };
    let changes = diff::diff(&part(before), &part(after));
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    match RequestReason::parse(&found.reason) {
        Some(RequestReason::InProgress) => {
            let all = diff::classify(&changes, &[], &[]);
            let paths: Vec<String> = all.immutable.into_iter().chain(all.scaling).collect();
            Err(format!(
                "updates to spec.TemplateParameters.ClusterInstanceParameters are disallowed during cluster \
                 installation, detected changes in fields: {}",
                paths.join(", ")
            ))
        }
        Some(RequestReason::Completed) => check_after_install(conditions, &changes),
        Some(RequestReason::Failed | RequestReason::TimedOut) => Ok(vec![
            "changes in clusterInstanceParameters have no effect after the cluster installation has failed or timed \
             out: delete and recreate the ProvisioningRequest to install with them"
                .to_owned(),
        ]),
        _ => Ok(Vec::new()),
    }
}

fn check_after_install(conditions: &[Condition], changes: &[diff::Change]) -> Verdict {
    let sorted = diff::classify(changes, &[], ALLOWED_AFTER_INSTALL);
    let upgrade = condition::find(conditions, RequestCondition::UpgradeCompleted);
    if !sorted.scaling.is_empty() && upgrade.is_some_and(|c| c.status != status::TRUE) {
        return Err(
            "node scaling is not supported while a cluster upgrade is in progress or incomplete".to_owned()
        );
    }
    if sorted.immutable.is_empty() {
        return Ok(Vec::new());
    }
    Err(format!(
        "only extraLabels/extraAnnotations and node scaling changes in \
         spec.TemplateParameters.ClusterInstanceParameters are allowed after cluster installation is completed, \
         detected changes in immutable fields: {}",
        sorted.immutable.join(", ")
    ))
}
