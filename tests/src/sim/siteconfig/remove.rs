//! Deletion wave by wave, and pruning (spec/02 9.5).

use kube::api::PropagationPolicy;
use serde_json::{Value, json};

use super::super::kinds::{self, AGENT, CLUSTER_DEPLOYMENT, CLUSTER_INSTANCE, Kind};
use super::super::store::{Failure, Result};
use super::super::value::{age, at, has_finalizer, is_deleting, items, key, label, now, number, put, text};
use super::install::CLUSTER_LABEL;
use super::pass::{Next, Pass, is_same};
use super::render::Manifest;
use super::{Event, FINALIZER, OWNED_BY, PAUSED};

enum Going {
    Gone,
    /// Someone else's by now: forgotten, not deleted.
    NotOurs,
    Waiting,
    TooLong(String),
}

impl Pass<'_> {
    pub(super) async fn delete(mut self) -> Next {
        if !has_finalizer(&self.instance, FINALIZER) {
            return Ok(None);
        }
        let entries = items(&self.instance, "/status/manifestsRendered").to_vec();
        let mut waves: Vec<i64> = entries.iter().map(|e| number(e, "/syncWave")).collect();
        waves.sort_unstable();
        waves.dedup();
        for wave in waves.into_iter().rev() {
            let of_wave: Vec<&Value> = entries.iter().filter(|e| number(e, "/syncWave") == wave).collect();
            if !self.delete_entries(&of_wave).await? {
                return Ok(Some(self.sim.options.times.recheck));
            }
        }
        self.store().drop_finalizers(CLUSTER_INSTANCE, &self.instance, &[FINALIZER]).await?;
        self.sim.phases.reset(self.key);
        self.tell(Event::Removed { cluster: self.cluster().to_owned() });
        Ok(None)
    }

    /// Deletes the objects of `status.manifestsRendered` entries; true when all are gone. The status says how far it is.
    async fn delete_entries(&mut self, entries: &[&Value]) -> Result<bool> {
        let before = at(&self.instance, "/status/manifestsRendered").clone();
        let mut is_done = true;
        for entry in entries {
            if text(entry, "/status") == "suppressed" {
                self.drop_entry(entry);
                continue;
            }
            match self.delete_object(entry).await? {
                Going::Gone | Going::NotOurs => self.drop_entry(entry),
                Going::Waiting => {
                    is_done = false;
                    self.mark_entry(entry, "deletion-in-progress", "");
                }
                Going::TooLong(problem) => {
                    self.mark_entry(entry, "deletion-attempt-timed-out", &problem);
                    self.save().await?;
                    self.pause(&problem).await?;
                    return Ok(false);
                }
            }
        }
        if at(&self.instance, "/status/manifestsRendered") != &before {
            self.save().await?;
        }
        Ok(is_done)
    }

    async fn delete_object(&self, entry: &Value) -> Result<Going> {
        let Some(kind) = kinds::of(text(entry, "/apiGroup"), text(entry, "/kind")) else {
            return Ok(Going::Gone);
        };
        let (namespace, name) = (text(entry, "/namespace"), text(entry, "/name"));
        let Some(object) = self.store().get(kind, namespace, name).await? else {
            self.after(kind, namespace).await?;
            return Ok(Going::Gone);
        };
        if label(&object, OWNED_BY) != Some(&self.owner()) {
            return Ok(Going::NotOurs);
        }
        if !is_deleting(&object) {
            // Foreground deletion waits for a garbage collector that a lab may not have; nothing here has dependents
            // besides the agents, which go with the ClusterDeployment below.
            self.store().delete(kind, namespace, name, PropagationPolicy::Background).await?;
            return Ok(if self.store().get(kind, namespace, name).await?.is_some() {
                Going::Waiting
            } else {
                self.after(kind, namespace).await?;
                Going::Gone
            });
        }
        if age(text(&object, "/metadata/deletionTimestamp")) > self.sim.options.times.give_up {
            let id = format!("{}/{name}", kind.kind);
            return Ok(Going::TooLong(format!("deletion timeout exceeded for object ({id}): {id}")));
        }
        Ok(Going::Waiting)
    }

    /// With the `ClusterDeployment` the assisted installer deletes the agents.
    async fn after(&self, kind: Kind, cluster: &str) -> Result<()> {
        if kind != CLUSTER_DEPLOYMENT {
            return Ok(());
        }
        for agent in self.store().list(AGENT, "", &format!("{CLUSTER_LABEL}={cluster}")).await? {
            let (namespace, name) = key(&agent);
            self.store().delete(AGENT, &namespace, &name, PropagationPolicy::Background).await?;
        }
        Ok(())
    }

    fn drop_entry(&mut self, entry: &Value) {
        let kept: Vec<Value> = items(&self.instance, "/status/manifestsRendered")
            .iter()
            .filter(|e| !is_same(e, entry))
            .cloned()
            .collect();
        put(&mut self.instance, "status/manifestsRendered", json!(kept));
    }

    fn mark_entry(&mut self, entry: &Value, status: &str, message: &str) {
        let mut list = items(&self.instance, "/status/manifestsRendered").to_vec();
        if let Some(old) = list.iter_mut().find(|e| is_same(e, entry) && text(e, "/status") != status) {
            put(old, "status", json!(status));
            put(old, "lastAppliedTime", json!(now()));
            if !message.is_empty() {
                put(old, "message", json!(message));
            }
        }
        put(&mut self.instance, "status/manifestsRendered", json!(list));
    }

    async fn pause(&mut self, reason: &str) -> Result<()> {
        let patch = json!({"metadata": {"annotations": {PAUSED: ""}}});
        self.store().merge(CLUSTER_INSTANCE, &self.key.0, &self.key.1, &patch).await?;
        let patch = json!({"status": {"paused": {"timeSet": now(), "reason": reason}}});
        match self.store().merge_status(CLUSTER_INSTANCE, &self.key.0, &self.key.1, &patch).await {
            Ok(_) | Err(Failure::Stale) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Deletes what the spec says to prune; true when it is gone.
    pub(super) async fn prune(&mut self, manifests: &[Manifest]) -> Result<bool> {
        let mut is_done = true;
        let pruned: Vec<Value> = manifests
            .iter()
            .filter(|m| m.is_pruned)
            .map(|m| {
                json!({"apiGroup": m.kind.api_version(), "kind": m.kind.kind, "syncWave": m.wave,
                    "namespace": text(&m.object, "/metadata/namespace"), "name": text(&m.object, "/metadata/name")})
            })
            .collect();
        for entry in pruned.iter().rev() {
            is_done &= self.delete_entries(&[entry]).await?;
        }
        Ok(is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::kinds::MANAGED_CLUSTER;

    #[test]
    fn finds_every_rendered_kind_again() {
        let entry = json!({"apiGroup": MANAGED_CLUSTER.api_version(), "kind": MANAGED_CLUSTER.kind});
        assert_eq!(kinds::of(text(&entry, "/apiGroup"), text(&entry, "/kind")), Some(MANAGED_CLUSTER));
        for kind in [
            kinds::SECRET,
            kinds::HOST,
            kinds::INFRA_ENV,
            kinds::NMSTATE,
            kinds::AGENT_CLUSTER_INSTALL,
            kinds::IMAGE_CLUSTER_INSTALL,
            kinds::KLUSTERLET_CONFIG,
            CLUSTER_DEPLOYMENT,
        ] {
            assert_eq!(kinds::of(&kind.api_version(), kind.kind), Some(kind));
        }
    }
}
