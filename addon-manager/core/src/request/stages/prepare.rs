//! Validation, rendering, resources (spec/02 2.3, sections 6 to 8).

use kube::core::ApiResource;
use manifests::clcm::conditions::RequestCondition;
use manifests::ran::ClusterInstance;
use serde_json::{Value, json};

use super::{Draft, RENDERED_HASH, Stage, digest};
use crate::plan::{Note, Step, manager, stamp};
use crate::request::error::InputError;
use crate::request::validate::Validated;
use crate::request::{render, resources, stage};

const RENDER: &str = "Failed to render and validate ClusterInstance: ";
const RESOURCES: &str = "Failed to apply the required cluster resource: ";

/// A dry run that the API server refused is asked again after this time even if nothing changed: admission may
/// depend on objects that we do not see.
const REFUSED_AGAIN: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

/// The input is valid.
pub(super) fn validated(d: &mut Draft<'_>, input: &Validated) {
    if d.find(RequestCondition::Validated).and_then(|c| c.observed_generation) != Some(d.generation()) {
        d.events.extend(input.warnings.iter().map(|message| Note {
            warning: true,
            reason: "InputWarning".to_owned(),
            message: message.clone(),
        }));
    }
    d.set(stage::validated(&Ok::<(), InputError>(())));
}

/// The input is not valid.
pub(super) fn rejected(d: &mut Draft<'_>, error: &InputError) {
    d.set(stage::validated(&Err::<(), _>(error.clone())));
    d.blocked = true;
}

/// Renders the ClusterInstance and has the API server judge it.
pub(super) fn render(d: &mut Draft<'_>, input: &Validated) {
    if d.blocked || d.take_fault(Stage::Render, RequestCondition::ClusterInstanceRendered, RENDER) {
        return;
    }
    match rendered(d, input) {
        Ok(Some(object)) => {
            d.instance = Some(object);
            d.set(stage::rendered(&Ok::<(), InputError>(())));
        }
        // The dry run is on its way.
        Ok(None) => d.blocked = true,
        Err(error) => {
            d.set(stage::rendered(&Err::<(), _>(error)));
            d.blocked = true;
        }
    }
}

fn rendered(d: &mut Draft<'_>, input: &Validated) -> Result<Option<Value>, InputError> {
    let seen = d.seen;
    let name = &input.cluster_name;
    resources::check_namespace(name, seen.namespace.as_ref())?;
    if seen.namespace.is_none() {
        let namespace = resources::namespace(name, &d.owner);
        d.apply(Stage::Render, &namespace, None);
    }
    let installed = d.is_installed();
    let known = d.cluster_details().is_some_and(|c| c.name.is_some());
    let was_rendered = d.is_true(RequestCondition::ClusterInstanceRendered);
    let live = seen.instance.as_ref().map(|i| i.spec.0.value());
    if let Some(live) = &live
        && render::is_frozen(was_rendered, known, installed, true)
    {
        let mut object = render::from_live(live, name, &d.owner);
        for key in [RENDERED_HASH, crate::plan::APPLIED_HASH] {
            if let Some(value) = d.instance_annotation(key)
                && let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut)
            {
                let map = meta.entry("annotations").or_insert_with(|| json!({}));
                if let Some(map) = map.as_object_mut() {
                    map.insert(key.to_owned(), json!(value));
                }
            }
        }
        return Ok(Some(object));
    }
    let mut object = render::render(&input.cluster, name, &d.owner, installed)?;
    let hash = digest(&object);
    if let Some(live) = &live {
        render::carry_over(&mut object, live);
        if installed {
            render::adapt_for_upgrade(&mut object, live);
            render::check_scaling(live, object.get("spec").unwrap_or(&Value::Null))?;
        }
    }
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.insert("annotations".to_owned(), json!({ RENDERED_HASH: hash }));
    }
    if d.instance_annotation(RENDERED_HASH) == Some(hash.as_str()) {
        return Ok(Some(object));
    }
    ask(d, object)
}

/// The API server's verdict on `object`; `None` while it was not asked.
fn ask(d: &mut Draft<'_>, object: Value) -> Result<Option<Value>, InputError> {
    // What admission says depends on what is live, not only on what is asked.
    let live = d.seen.instance.as_ref().map_or(json!(null), |i| {
        let provisioned = i.status.as_ref().map(|s| {
            manifests::meta::condition::find(&s.conditions, "Provisioned").map(|c| c.reason.clone())
        });
        json!([i.metadata.uid, i.metadata.generation, provisioned])
    });
    let key = digest(&json!([object, live]));
    match (d.seen.dry_run)(&key) {
        Some(Ok(())) => Ok(Some(object)),
        Some(Err(text)) => {
            d.wake_at(d.now.checked_add(REFUSED_AGAIN).ok());
            Err(InputError::input(format!("{}{}{text}", render::DRY_RUN_PREFIX, render::INVALID_PREFIX)))
        }
        None => {
            let parsed = serde_json::from_value(object)
                .map_err(|e| InputError::input(format!("{}{e}", render::DRY_RUN_PREFIX)))?;
            d.push(
                Stage::Render,
                Step::DryRun {
                    api: ApiResource::erase::<ClusterInstance>(&()),
                    object: Box::new(parsed),
                    manager: manager::CLUSTER_INSTANCE,
                    hash: key,
                },
            );
            Ok(None)
        }
    }
}

/// Pull secret, extra manifests, and the policy parameters for hub templates.
pub(super) fn resources(d: &mut Draft<'_>, input: &Validated) {
    if d.blocked || d.take_fault(Stage::Resources, RequestCondition::ClusterResourcesCreated, RESOURCES) {
        return;
    }
    let before = d.steps.len();
    match create(d, input) {
        Ok(()) if d.steps.len() > before => {
            // They are written in this pass; the next one sees them.
            d.blocked = true;
        }
        result => {
            if result.is_err() {
                d.steps.truncate(before);
                d.blocked = true;
            }
            d.set(stage::resources(&result));
        }
    }
}

fn create(d: &mut Draft<'_>, input: &Validated) -> Result<(), InputError> {
    let seen = d.seen;
    let spec = d.instance.as_ref().and_then(|i| i.get("spec")).cloned().unwrap_or_default();
    let cluster = &input.cluster_name;
    let ns = &input.template_namespace;
    // An installed cluster has its pull secret; reading Secrets of a fleet at rest would be work for nothing.
    if !d.is_installed() {
        let version = seen.pull_secret.version.as_deref();
        if version.is_none() {
            d.wake_at(d.now.checked_add(jiff::SignedDuration::from_secs(30)).ok());
        }
        let copy = resources::pull_secret(&spec, cluster, ns, |_| version.is_some())?;
        if !seen.pull_secret.copied.contains(&copy.to) {
            let step = copy.step(&d.owner, version.unwrap_or_default());
            d.push(Stage::Resources, step);
        }
    }
    let manifests = resources::extra_manifests(&spec, cluster, ns, &d.owner, |name| {
        seen.extra_manifests.get(name).and_then(|m| m.data.as_ref())
    })?;
    for manifest in &manifests {
        let name = manifest.metadata.name.as_deref().unwrap_or_default();
        let live = seen.extra_manifests.get(name).and_then(|m| m.copy.as_deref());
        d.apply(Stage::Resources, manifest, live);
    }
    if let Some(map) = resources::policy_config_map(&spec, cluster, ns, &d.owner, &input.policy)? {
        let namespace = map.metadata.namespace.clone().unwrap_or_default();
        if !seen.policy_namespace {
            return Err(InputError::input(format!(
                "failed to create policy template ConfigMap for cluster {cluster}: namespaces {namespace:?} not found"
            )));
        }
        d.apply(Stage::Resources, &map, seen.policy_map.as_deref());
    }
    Ok(())
}

/// Stamps the object and compares it with the hash that the live one was applied with.
pub(super) fn is_applied(object: &mut Value, live_hash: Option<&str>) -> bool {
    let hash = stamp(object);
    Some(hash.as_str()) == live_hash
}
