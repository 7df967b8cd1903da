//! Carries out the steps of a plan, in order; the first failure stops it. Every answer of the API server goes into
//! the world at once.

use std::time::Duration;

use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::Status;
use manager_core::plan::{self, Fault, FaultClass, Step, Target};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::context::Context;
use super::secret;

/// Limit of one call to the API server.
pub(crate) const CALL: Duration = Duration::from_secs(15);

/// A call that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The API server refused or the connection broke.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// No answer in time.
    #[error("no answer from the API server within {} s", CALL.as_secs())]
    TimedOut,
    /// Something that the call needs does not exist.
    #[error("{0}")]
    Missing(String),
}

impl CallError {
    /// How the controllers must treat it (spec/08 5.4).
    pub(crate) fn class(&self) -> FaultClass {
        match self {
            CallError::Kube(kube::Error::Api(status)) => classify(status),
            CallError::Kube(_) | CallError::TimedOut => FaultClass::Transient,
            CallError::Missing(_) => FaultClass::Invalid,
        }
    }

    /// The text for a condition: the API server's message without our own frames.
    pub(crate) fn text(&self) -> String {
        match self {
            CallError::Kube(kube::Error::Api(status)) => status.message.clone(),
            other => other.to_string(),
        }
    }
}

fn classify(status: &Status) -> FaultClass {
    if status.is_conflict() {
        return FaultClass::Conflict;
    }
    // A namespace that is being removed, and missing rights of our own, answer 403 as well: not the user's fault.
    let ours = status.message.contains("being terminated") || status.message.contains("is forbidden: User ");
    match status.code {
        400 | 403 | 422 if !ours => FaultClass::Invalid,
        _ => FaultClass::Transient,
    }
}

/// Wraps a call with the time limit.
pub(crate) async fn call<T>(future: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match tokio::time::timeout(CALL, future).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(CallError::TimedOut),
    }
}

/// The dynamic API of an object or target.
fn api_of(ctx: &Context, api: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(ns) => Api::namespaced_with(ctx.client.clone(), ns, api),
        None => Api::all_with(ctx.client.clone(), api),
    }
}

fn name_of(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

fn describe(step: &Step) -> String {
    match step {
        Step::Apply { api, object, .. }
        | Step::DryRun { api, object, .. }
        | Step::ApplyStatus { api, object, .. } => Target {
            api: api.clone(),
            namespace: object.metadata.namespace.clone(),
            name: name_of(object).to_owned(),
        }
        .to_string(),
        Step::Merge { target, .. } | Step::MergeStatus { target, .. } | Step::Delete { target, .. } => {
            target.to_string()
        }
        Step::Approve { name, .. } => format!("CertificateSigningRequest {name}"),
        Step::CopySecret { from, to, .. } => format!("Secret {to}/{}", from.1),
    }
}

/// Carries out `steps`. On failure the fault names the step.
pub(crate) async fn run(ctx: &Context, steps: &[Step]) -> Result<(), Fault> {
    for (index, step) in steps.iter().enumerate() {
        let result = one(ctx, step).await;
        let target = describe(step);
        ctx.metrics.step(step, result.as_ref().err().map(CallError::class));
        if let Err(error) = result {
            let class = error.class();
            let message = error.text();
            if class == FaultClass::Conflict {
                debug!(target, message, "step conflicted");
            } else {
                warn!(target, ?class, message, "step failed");
            }
            return Err(Fault { step: index, target, class, message });
        }
    }
    Ok(())
}

async fn one(ctx: &Context, step: &Step) -> Result<(), CallError> {
    match step {
        Step::Apply { api, object, manager } => {
            let params = PatchParams::apply(manager).force();
            let client = api_of(ctx, api, object.metadata.namespace.as_deref());
            let answer = call(client.patch(name_of(object), &params, &Patch::Apply(object))).await?;
            info!(kind = api.kind, namespace = object.metadata.namespace, name = name_of(object), "applied");
            ctx.absorb(api, &answer);
        }
        Step::ApplyStatus { api, object, manager } => {
            let params = PatchParams::apply(manager).force();
            let client = api_of(ctx, api, object.metadata.namespace.as_deref());
            let answer = call(client.patch_status(name_of(object), &params, &Patch::Apply(object))).await?;
            ctx.absorb(api, &answer);
        }
        Step::DryRun { api, object, manager, hash } => {
            let params = PatchParams::apply(manager).force().dry_run();
            let client = api_of(ctx, api, object.metadata.namespace.as_deref());
            let verdict = match call(client.patch(name_of(object), &params, &Patch::Apply(object))).await {
                Ok(_) => Ok(()),
                Err(error) if error.class() == FaultClass::Invalid => Err(error.text()),
                Err(error) => return Err(error),
            };
            ctx.memo.remember(hash, verdict);
        }
        Step::Merge { target, patch, manager, resource_version } => {
            let body = guarded(patch, resource_version.as_deref());
            let client = api_of(ctx, &target.api, target.namespace.as_deref());
            let params = PatchParams { field_manager: Some((*manager).to_owned()), ..PatchParams::default() };
            let answer = call(client.patch(&target.name, &params, &Patch::Merge(&body))).await?;
            info!(kind = target.api.kind, namespace = target.namespace, name = target.name, "patched");
            ctx.absorb(&target.api, &answer);
        }
        Step::MergeStatus { target, patch, manager, resource_version } => {
            let body = guarded(patch, resource_version.as_deref());
            let client = api_of(ctx, &target.api, target.namespace.as_deref());
            let params = PatchParams { field_manager: Some((*manager).to_owned()), ..PatchParams::default() };
            let answer = call(client.patch_status(&target.name, &params, &Patch::Merge(&body))).await?;
            ctx.absorb(&target.api, &answer);
        }
        Step::Delete { target, uid, foreground } => delete(ctx, target, uid.as_deref(), *foreground).await?,
        Step::Approve { name, condition, reason, message } => {
            approve(ctx, name, condition, reason, message).await?;
        }
        Step::CopySecret { from, to, metadata, .. } => secret::copy(ctx, from, to, metadata).await?,
    }
    Ok(())
}

fn guarded(patch: &Value, resource_version: Option<&str>) -> Value {
    let mut body = patch.clone();
    if let Some(rv) = resource_version {
        json_patch::merge(&mut body, &json!({"metadata": {"resourceVersion": rv}}));
    }
    body
}

async fn delete(
    ctx: &Context,
    target: &Target,
    uid: Option<&str>,
    foreground: bool,
) -> Result<(), CallError> {
    let mut params = if foreground { DeleteParams::foreground() } else { DeleteParams::background() };
    params.preconditions = uid.map(|uid| Preconditions { uid: Some(uid.to_owned()), resource_version: None });
    let client = api_of(ctx, &target.api, target.namespace.as_deref());
    match call(client.delete(&target.name, &params)).await {
        Ok(answer) => {
            info!(kind = target.api.kind, namespace = target.namespace, name = target.name, "deleted");
            if let Some(object) = answer.left() {
                ctx.absorb(&target.api, &object);
            }
            Ok(())
        }
        Err(CallError::Kube(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

async fn approve(
    ctx: &Context,
    name: &str,
    condition: &str,
    reason: &str,
    message: &str,
) -> Result<(), CallError> {
    let api: Api<CertificateSigningRequest> = Api::all(ctx.client.clone());
    let mut csr = call(api.get(name)).await?;
    let conditions = csr.status.get_or_insert_default().conditions.get_or_insert_default();
    if conditions.iter().any(|c| c.type_ == "Approved" || c.type_ == "Denied") {
        return Ok(());
    }
    conditions.push(CertificateSigningRequestCondition {
        type_: condition.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_update_time: Some(Time(ctx.clock.now())),
        ..CertificateSigningRequestCondition::default()
    });
    let body = json!({
        "metadata": {"resourceVersion": csr.metadata.resource_version},
        "status": {"conditions": csr.status.as_ref().and_then(|s| s.conditions.as_ref())},
    });
    let params =
        PatchParams { field_manager: Some(plan::manager::OBJECTS.to_owned()), ..PatchParams::default() };
    let answer = call(api.patch_approval(name, &params, &Patch::Merge(&body))).await?;
    info!(name, condition, reason, "certificate signing request decided");
    ctx.world.put_csr(answer, &ctx.queues);
    Ok(())
}

/// Writes a status by server-side apply, if it differs from the stored one. The uid in the body makes a deleted and
/// re-created object a conflict instead of a wrong status.
pub(crate) async fn write_status<K, S>(
    ctx: &Context,
    object: &K,
    stored: Option<&S>,
    next: &S,
) -> Result<bool, CallError>
where
    K: kube::Resource<DynamicType = ()>,
    S: serde::Serialize + PartialEq,
{
    let kind = K::kind(&());
    if stored == Some(next) {
        ctx.metrics.status(&kind, false);
        return Ok(false);
    }
    let api = ApiResource::erase::<K>(&());
    let meta = object.meta();
    let body = json!({
        "apiVersion": api.api_version,
        "kind": api.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "status": next,
    });
    let client = api_of(ctx, &api, meta.namespace.as_deref());
    let params = PatchParams::apply(plan::manager::STATUS).force();
    let name = meta.name.as_deref().unwrap_or_default();
    let answer = call(client.patch_status(name, &params, &Patch::Apply(&body))).await?;
    ctx.metrics.status(&kind, true);
    ctx.absorb(&api, &answer);
    Ok(true)
}
