//! One look at one ClusterInstance: pause, finalizer, deletion, then validate, render, prune, dry-run, apply.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::super::kinds::CLUSTER_INSTANCE;
use super::super::knobs;
use super::super::store::{Result, Store};
use super::super::value::{
    Condition, Key, annotation, annotation_lists, at, duration, flag, generation, is_deleting, items, number,
    put, remove, set_condition, text,
};
use super::render::{Manifest, render};
use super::{Event, FINALIZER, FailStep, Outcome, PAUSED, Simulator};

/// What a pass says: `Some` is when to look again without a change.
pub(super) type Next = Result<Option<Duration>>;

pub(super) struct Pass<'a> {
    pub(super) sim: &'a Simulator,
    pub(super) key: &'a Key,
    pub(super) instance: Value,
}

impl<'a> Pass<'a> {
    pub(super) fn new(sim: &'a Simulator, key: &'a Key, instance: Value) -> Self {
        Pass { sim, key, instance }
    }

    pub(super) async fn run(mut self) -> Next {
        if annotation(&self.instance, PAUSED).is_some() {
            return Ok(None);
        }
        if !at(&self.instance, "/status/paused").is_null() {
            remove(&mut self.instance, "/status/paused");
            self.save().await?;
            return Ok(None);
        }
        if is_deleting(&self.instance) {
            return self.delete().await;
        }
        if self.store().add_finalizer(CLUSTER_INSTANCE, &self.instance, FINALIZER).await? {
            return Ok(None);
        }
        if number(&self.instance, "/status/observedGeneration") != generation(&self.instance) {
            return self.bring_about().await;
        }
        self.install().await
    }

    pub(super) fn store(&self) -> &Store {
        &self.sim.store
    }

    pub(super) fn cluster(&self) -> &str {
        text(&self.instance, "/spec/clusterName")
    }

    /// Value of the owned-by label.
    pub(super) fn owner(&self) -> String {
        format!("{}_{}", self.key.0, self.key.1)
    }

    pub(super) fn is_image_based(&self) -> bool {
        items(&self.instance, "/spec/templateRefs").iter().any(|t| text(t, "/name").starts_with("ibi-"))
    }

    /// Namespace and name of a node's BareMetalHost.
    pub(super) fn host_of(&self, node: &Value) -> Key {
        let host = at(node, "/hostRef");
        if host.is_object() {
            return (text(host, "/namespace").to_owned(), text(host, "/name").to_owned());
        }
        (self.key.0.clone(), text(node, "/hostName").to_owned())
    }

    pub(super) fn events(&self) -> Option<&UnboundedSender<Event>> {
        self.sim.options.events.as_ref()
    }

    pub(super) fn tell(&self, event: Event) {
        if let Some(events) = self.events() {
            // Nobody listens any more: fine.
            let _closed = events.send(event);
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        match annotation(&self.instance, knobs::INSTALL) {
            Some("fail") => Outcome::Fail,
            Some("hang") => Outcome::Hang,
            Some("hang-start") => Outcome::HangStart,
            Some("complete") => Outcome::Complete,
            _ => self.sim.options.control.ordered(self.cluster()).0.unwrap_or_default(),
        }
    }

    pub(super) fn install_time(&self) -> Duration {
        annotation(&self.instance, knobs::INSTALL_TIME)
            .and_then(duration)
            .or_else(|| self.sim.options.control.ordered(self.cluster()).1)
            .unwrap_or(self.sim.options.times.install)
    }

    fn is_told_to_fail(&self, step: FailStep) -> bool {
        annotation_lists(&self.instance, knobs::FAIL_STEP, step.word())
            || self.sim.options.control.is_failing(self.cluster(), step)
    }

    pub(super) async fn save(&mut self) -> Result<()> {
        self.instance = self.sim.store.put_status(CLUSTER_INSTANCE, &self.instance).await?;
        Ok(())
    }

    /// Sets a condition of the status; true when something changed.
    pub(super) fn set(&mut self, type_: &str, status: &str, reason: &str, message: &str) -> bool {
        let next = Condition { type_, status, reason, message, generation: None };
        set_condition(&mut self.instance, "status/conditions", &next)
    }

    /// Result of a step, written when it differs.
    async fn report(&mut self, type_: &str, result: std::result::Result<&str, &str>) -> Result<()> {
        let (status, reason, message) = match result {
            Ok(message) => ("True", "Completed", message),
            Err(message) => ("False", "Failed", message),
        };
        if self.set(type_, status, reason, message) {
            self.save().await?;
        }
        Ok(())
    }

    async fn bring_about(mut self) -> Next {
        let retry = Some(self.sim.options.times.retry);
        if let Err(problem) = self.validate().await? {
            self.report("ClusterInstanceValidated", Err(&format!("Validation failed: {problem}"))).await?;
            return Ok(retry);
        }
        self.report("ClusterInstanceValidated", Ok("Validation succeeded")).await?;

        if self.is_told_to_fail(FailStep::Render) {
            let message = "Failed to render templates, err= template: ClusterDeployment:7: function \"bad\" not defined";
            self.report("RenderedTemplates", Err(message)).await?;
            return Ok(retry);
        }
        let manifests = render(&self);
        self.report("RenderedTemplates", Ok("Rendered templates successfully")).await?;

        if !self.prune(&manifests).await? {
            return Ok(Some(self.sim.options.times.recheck));
        }
        let wanted: Vec<&Manifest> = manifests.iter().filter(|m| m.is_wanted()).collect();
        if let Err(problem) = self.execute(&wanted, true).await? {
            let message = format!("Rendered manifests failed dry-run validation, err: {problem}");
            self.report("RenderedTemplatesValidated", Err(&message)).await?;
            return Ok(retry);
        }
        self.report("RenderedTemplatesValidated", Ok("Rendered templates validation succeeded")).await?;

        if self.execute(&wanted, false).await?.is_err() {
            self.report("RenderedTemplatesApplied", Err("Failed to apply site config manifests")).await?;
            return Ok(retry);
        }
        for manifest in manifests.iter().filter(|m| m.is_suppressed) {
            self.note(manifest, "suppressed", "");
        }
        self.set("RenderedTemplatesApplied", "True", "Completed", "Applied site config manifests");
        let generation = generation(&self.instance);
        put(&mut self.instance, "status/observedGeneration", json!(generation));
        self.save().await?;
        Ok(None)
    }

    /// Applies the manifests in their order, or asks whether that would work; `Err` is what went wrong.
    async fn execute(
        &mut self,
        manifests: &[&Manifest],
        dry_run: bool,
    ) -> Result<std::result::Result<(), String>> {
        let step = if dry_run { FailStep::DryRun } else { FailStep::Apply };
        if self.is_told_to_fail(step) {
            return Ok(Err("admission webhook denied the request: told to fail".to_owned()));
        }
        let mut problems = Vec::new();
        for manifest in manifests {
            let result = if dry_run {
                self.store().try_apply(manifest.kind, &manifest.object).await
            } else {
                self.store().apply(manifest.kind, &manifest.object).await
            };
            match result {
                Ok(_) => self.note(manifest, if dry_run { "validated" } else { "rendered" }, ""),
                Err(super::super::store::Failure::Refused(answer)) => {
                    let problem = format!("failed to apply object using Server-Side Apply: {answer}");
                    self.note(manifest, "failed", &problem);
                    problems.push(problem);
                }
                Err(other) => return Err(other),
            }
        }
        let result = if problems.is_empty() { Ok(()) } else { Err(problems.join(", ")) };
        if result.is_err() {
            self.save().await?;
        }
        Ok(result)
    }

    /// Entry of `status.manifestsRendered`; the time moves only with the status or the message.
    pub(super) fn note(&mut self, manifest: &Manifest, status: &str, message: &str) {
        let object = &manifest.object;
        let mut entry = json!({
            "apiGroup": manifest.kind.api_version(), "kind": manifest.kind.kind,
            "name": text(object, "/metadata/name"), "syncWave": manifest.wave, "status": status,
            "lastAppliedTime": super::super::value::now(),
        });
        for (field, value) in [("namespace", text(object, "/metadata/namespace")), ("message", message)] {
            if !value.is_empty() {
                put(&mut entry, field, json!(value));
            }
        }
        let mut list = items(&self.instance, "/status/manifestsRendered").to_vec();
        match list.iter_mut().find(|e| is_same(e, &entry)) {
            Some(old) if text(old, "/status") == status && text(old, "/message") == message => return,
            Some(old) => *old = entry,
            None => list.push(entry),
        }
        put(&mut self.instance, "status/manifestsRendered", json!(list));
    }

    pub(super) fn is_held(&self) -> bool {
        flag(&self.instance, "/spec/holdInstallation")
    }
}

/// Whether two entries of `status.manifestsRendered` mean the same object.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    ["/apiGroup", "/kind", "/namespace", "/name"].into_iter().all(|field| text(a, field) == text(b, field))
}
