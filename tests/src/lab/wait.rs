//! Waiting on watches, with a limit. A failure shows the last seen object as YAML and where the logs are.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::{StreamExt, pin_mut};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watch_object, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Waits until the object is there and `ready` accepts it; `what` completes "waiting until ...".
pub async fn until<K>(
    api: &Api<K>,
    name: &str,
    limit: Duration,
    what: &str,
    ready: impl Fn(&K) -> bool,
) -> Result<K>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    match observe(api, name, limit, what, |seen| seen.is_some_and(&ready)).await? {
        Some(object) => Ok(object),
        None => bail!("{name} is gone"),
    }
}

/// Waits until the object is there.
pub async fn present<K>(api: &Api<K>, name: &str, limit: Duration) -> Result<K>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    until(api, name, limit, "it exists", |_| true).await
}

/// Waits until the object is gone.
pub async fn gone<K>(api: &Api<K>, name: &str, limit: Duration) -> Result<()>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    observe(api, name, limit, "it is gone", |seen| seen.is_none()).await.map(drop)
}

/// Waits until `status.conditions` has the condition `type_` with `status`, and of the current generation if it tells one.
pub async fn condition<K>(api: &Api<K>, name: &str, limit: Duration, type_: &str, status: &str) -> Result<K>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    until(api, name, limit, &format!("condition {type_} is {status}"), |object| {
        has_condition(object, type_, status)
    })
    .await
}

/// Whether `status.conditions` has the condition `type_` with `status`, and of the current generation if it tells one.
pub fn has_condition(object: &impl Serialize, type_: &str, status: &str) -> bool {
    let Ok(value) = serde_json::to_value(object) else {
        return false;
    };
    let generation = value.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let text = |key| condition.get(key).and_then(Value::as_str);
        let observed = condition.get("observedGeneration").and_then(Value::as_i64);
        text("type") == Some(type_)
            && text("status") == Some(status)
            && observed.is_none_or(|seen| seen >= generation)
    })
}

async fn observe<K>(
    api: &Api<K>,
    name: &str,
    limit: Duration,
    what: &str,
    done: impl Fn(Option<&K>) -> bool,
) -> Result<Option<K>>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    let begin = Instant::now();
    let mut last = None;
    let mut error = None;
    let watching = async {
        let objects = watch_object(api.clone(), name).default_backoff();
        pin_mut!(objects);
        while let Some(seen) = objects.next().await {
            match seen {
                Ok(object) => {
                    let finished = done(object.as_ref());
                    last = object;
                    if finished {
                        return;
                    }
                }
                Err(problem) => error = Some(problem.to_string()),
            }
        }
    };
    if tokio::time::timeout(limit, watching).await.is_ok() {
        return Ok(last);
    }
    bail!(
        "waited {:.1} s until {what}: {}/{name}{}\n{}\n{}",
        begin.elapsed().as_secs_f64(),
        api.resource_url(),
        error.map(|error| format!(" (watch: {error})")).unwrap_or_default(),
        last.as_ref().map_or_else(|| "it does not exist".to_owned(), yaml),
        super::whereabouts(),
    )
}

/// Waits until the objects that match `config` (labels, fields) satisfy `ready`; the keys are `<namespace>/<name>`.
pub async fn many<K>(
    api: &Api<K>,
    config: watcher::Config,
    limit: Duration,
    what: &str,
    ready: impl Fn(&BTreeMap<String, K>) -> bool,
) -> Result<BTreeMap<String, K>>
where
    K: Resource + Clone + DeserializeOwned + Serialize + Debug + Send + 'static,
{
    let mut objects = BTreeMap::new();
    let watching = async {
        let events = watcher(api.clone(), config).default_backoff();
        pin_mut!(events);
        let mut listing = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => {
                    listing = true;
                    objects.clear();
                }
                Ok(Event::InitDone) => listing = false,
                Ok(Event::InitApply(object) | Event::Apply(object)) => {
                    objects.insert(key(&object), object);
                }
                Ok(Event::Delete(object)) => {
                    objects.remove(&key(&object));
                }
                Err(_) => {}
            }
            if !listing && ready(&objects) {
                return;
            }
        }
    };
    if tokio::time::timeout(limit, watching).await.is_ok() {
        return Ok(objects);
    }
    let shown: Vec<String> = objects.values().take(5).map(yaml).collect();
    bail!(
        "waited {} s until {what}: {}, {} objects seen, the first of them:\n{}\n{}",
        limit.as_secs(),
        api.resource_url(),
        objects.len(),
        shown.join("---\n"),
        super::whereabouts(),
    )
}

/// Polls something that is not an object of the API.
pub async fn poll<F, Fut>(limit: Duration, what: &str, ready: F) -> Result<()>
where
    F: Fn() -> Fut,
    Fut: Future<Output = bool>,
{
    let polling = async {
        while !ready().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    if tokio::time::timeout(limit, polling).await.is_ok() {
        return Ok(());
    }
    bail!("waited {} s until {what}\n{}", limit.as_secs(), super::whereabouts())
}

fn key<K: Resource>(object: &K) -> String {
    format!("{}/{}", object.meta().namespace.as_deref().unwrap_or_default(), object.name_any())
}

/// An object as YAML, without managed fields.
pub fn yaml(object: &(impl Resource + Clone + Serialize)) -> String {
    let mut object = object.clone();
    object.meta_mut().managed_fields = None;
    serde_saphyr::to_string(&object).unwrap_or_else(|error| format!("(not printable: {error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_of_an_older_generation_does_not_count() {
        let object = |observed: Value| {
            json!({"metadata": {"generation": 2}, "status": {"conditions": [
                {"type": "Ready", "status": "True", "observedGeneration": observed}]}})
        };
        assert!(has_condition(&object(json!(2)), "Ready", "True"));
        assert!(has_condition(&object(Value::Null), "Ready", "True"));
        assert!(!has_condition(&object(json!(1)), "Ready", "True"));
        assert!(!has_condition(&object(json!(2)), "Ready", "False"));
    }
}
