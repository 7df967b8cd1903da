//! Verdicts: the status of each replica, and its summary in the root.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::engine::lock;
use super::super::kinds::POLICY;
use super::super::knobs;
use super::super::store::Result;
use super::super::value::{annotation, at, condition, generation, items, key, name, now, text};
use super::replicate::Replica;
use super::select::Chosen;
use super::{ROOT_LABEL, Simulator, Verdict};

/// So many entries of history are kept for each template.
const HISTORY: usize = 10;

impl Simulator {
    /// Brings every replica's status towards what is told; `Some` is when to go on.
    pub(super) async fn judge(&self, root: &Value, replicas: &[Replica]) -> Result<Option<Duration>> {
        let mut again: Option<Duration> = None;
        for replica in replicas {
            let next = self.judge_one(root, replica).await?;
            again = match (again, next) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        Ok(again)
    }

    fn told(&self, root: &Value, replica: &Replica) -> Verdict {
        let by_annotation = [&replica.cluster, root]
            .into_iter()
            .find_map(|o| annotation(o, knobs::COMPLIANCE).and_then(Verdict::read));
        by_annotation
            .or_else(|| self.options.control.ordered(name(&replica.object), name(&replica.cluster)))
            .unwrap_or_default()
    }

    async fn judge_one(&self, root: &Value, replica: &Replica) -> Result<Option<Duration>> {
        let is_available =
            condition(&replica.cluster, "/status/conditions", "ManagedClusterConditionAvailable")
                .is_some_and(|c| text(c, "/status") == "True");
        if self.options.needs_available && !is_available && replica.problem.is_none() {
            return Ok(None);
        }
        let object = &replica.object;
        let told = if replica.problem.is_some() { Verdict::NonCompliant } else { self.told(root, replica) };
        if told == Verdict::None {
            return Ok(None);
        }
        let current = Verdict::read(text(object, "/status/compliant"));
        let generation = generation(object);
        let judged = lock(&self.judged).get(&key(object)).copied();
        let is_fresh = match judged {
            Some((judged, _)) => judged == generation,
            // After a restart a status that is there counts.
            None => current.is_some(),
        };
        if is_fresh && current == Some(told) {
            return Ok(None);
        }
        let clock = key(object);
        let is_enforced = text(object, "/spec/remediationAction").eq_ignore_ascii_case("enforce");
        let heals = told == Verdict::Compliant
            && is_enforced
            && !(is_fresh && current == Some(Verdict::NonCompliant));
        let (verdict, lasts) = if heals {
            (Verdict::NonCompliant, self.options.times.judge)
        } else if told == Verdict::Compliant && is_enforced {
            (told, self.options.times.heal)
        } else {
            (told, self.options.times.judge)
        };
        let phase = format!("{generation} {}", verdict.word());
        if let Some(left) = self.phases.left(&clock, &phase, lasts) {
            return Ok(Some(left));
        }
        self.phases.reset(&clock);
        self.write_verdict(replica, verdict).await?;
        lock(&self.judged).insert(clock, (generation, verdict));
        Ok(None)
    }

    async fn write_verdict(&self, replica: &Replica, verdict: Verdict) -> Result<()> {
        let object = &replica.object;
        let nanoseconds = jiff::Timestamp::now().as_nanosecond();
        let reason = replica.problem.as_deref();
        let details: Vec<Value> = items(object, "/spec/policy-templates")
            .iter()
            .map(|template| {
                let template = text(template, "/objectDefinition/metadata/name");
                let message = match (verdict, reason) {
                    (Verdict::NonCompliant, Some(reason)) => {
                        format!("NonCompliant; template-error; {reason}")
                    }
                    (Verdict::NonCompliant, None) => {
                        format!("NonCompliant; violation - objects of {template} found but not as specified")
                    }
                    (Verdict::Pending, _) => {
                        "Pending; Dependencies were not satisfied: 1 is still pending".to_owned()
                    }
                    _ => format!("Compliant; notification - objects of {template} found as specified"),
                };
                let event = json!({
                    "eventName": format!("{}.{nanoseconds:016x}", name(object)), "lastTimestamp": now(),
                    "message": message,
                });
                let old = items(object, "/status/details")
                    .iter()
                    .find(|d| text(d, "/templateMeta/name") == template)
                    .map(|d| items(d, "/history").to_vec())
                    .unwrap_or_default();
                let history: Vec<Value> = std::iter::once(event).chain(old).take(HISTORY).collect();
                json!({"templateMeta": {"name": template}, "compliant": verdict.word(), "history": history})
            })
            .collect();
        let patch = json!({"status": {"compliant": verdict.word(), "details": details}});
        let framework = self.store.acting_as("governance-policy-framework-addon");
        let (namespace, name) = key(object);
        framework.merge_status(POLICY, &namespace, &name, &patch).await?;
        Ok(())
    }

    /// The root's status: `NonCompliant` before Pending before absent before Compliant.
    pub(super) async fn summarise(&self, root: &Value, chosen: &[Chosen]) -> Result<()> {
        let label = format!("{ROOT_LABEL}={}.{}", key(root).0, key(root).1);
        let mut clusters = Vec::new();
        for replica in self.store.list(POLICY, "", &label).await? {
            let cluster = key(&replica).0;
            let mut entry = json!({"clustername": cluster, "clusternamespace": cluster});
            if let compliant @ Value::String(_) = at(&replica, "/status/compliant") {
                super::super::value::put(&mut entry, "compliant", compliant.clone());
            }
            clusters.push(entry);
        }
        let has = |word: &str| clusters.iter().any(|c| text(c, "/compliant") == word);
        let overall =
            ["NonCompliant", "Pending", "", "Compliant"].into_iter().find(|w| has(w)).unwrap_or_default();
        let mut placements: Vec<&(String, String)> =
            chosen.iter().map(|c| &c.by).filter(|by| !by.0.is_empty()).collect();
        placements.sort();
        placements.dedup();
        let placements: Vec<Value> =
            placements.into_iter().map(|(p, b)| json!({"placement": p, "placementBinding": b})).collect();
        let overall = if overall.is_empty() { Value::Null } else { json!(overall) };
        let status = json!({
            "compliant": overall,
            "placement": if placements.is_empty() { Value::Null } else { json!(placements) },
            "status": if clusters.is_empty() { Value::Null } else { json!(clusters) },
        });
        let differs = ["compliant", "placement", "status"]
            .into_iter()
            .any(|f| at(root, &format!("/status/{f}")) != at(&status, &format!("/{f}")));
        if differs {
            let (namespace, name) = key(root);
            self.store.merge_status(POLICY, &namespace, &name, &json!({"status": status})).await?;
        }
        Ok(())
    }
}
