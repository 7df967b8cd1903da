//! Applies YAML as a user does with Git: any kind, several documents per file, in any order. What needs a namespace or
//! a kind that is not there yet is tried again until nothing moves any more.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::discovery::{self, ApiCapabilities, Scope};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};
use serde_json::Value;

/// Field manager of everything that the lab applies.
pub const MANAGER: &str = "lab";

/// Without any progress for so long, applying fails.
const PATIENCE: Duration = Duration::from_secs(15);

/// Requests at a time.
const AT_ONCE: usize = 6;

/// Reads the objects of a text of YAML documents; `List` objects are opened, empty documents skipped.
pub fn documents(text: &str) -> Result<Vec<DynamicObject>> {
    let mut objects = Vec::new();
    for document in manifests::meta::yaml::documents(text)? {
        match document.get("items").and_then(Value::as_array) {
            Some(items)
                if document
                    .get("kind")
                    .and_then(Value::as_str)
                    .is_some_and(|kind| kind.ends_with("List")) =>
            {
                for item in items {
                    objects.push(object(item.clone())?);
                }
            }
            _ if document.is_null() => {}
            _ => objects.push(object(document)?),
        }
    }
    Ok(objects)
}

/// One object from JSON.
pub fn object(mut value: Value) -> Result<DynamicObject> {
    // `labels:` with nothing below it is null in YAML: not there.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !value.is_null());
    }
    let text = value.to_string();
    serde_json::from_value(value).with_context(|| format!("not a Kubernetes object: {text}"))
}

/// All objects of the YAML and JSON files below `path` (or of the one file `path`), files in the order of their names.
pub fn folder(path: &Path) -> Result<Vec<DynamicObject>> {
    let mut objects = Vec::new();
    for file in files(path)? {
        let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        objects.extend(documents(&text).with_context(|| format!("in {}", file.display()))?);
    }
    Ok(objects)
}

pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.file_stem().is_some_and(|stem| stem == "kustomization") {
            // For kustomize and Argo CD: it lists files, and is no object of a cluster.
        } else if path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
        {
            found.push(path);
        }
    }
    Ok(found)
}

type Known = HashMap<GroupVersionKind, (ApiResource, ApiCapabilities)>;

/// Server-side apply of all `objects` (forced, field manager [`MANAGER`]); returns them as the server has them.
pub async fn all(client: &Client, objects: Vec<DynamicObject>) -> Result<Vec<DynamicObject>> {
    let params = PatchParams::apply(MANAGER).force();
    let mut known = Known::new();
    let mut waiting = objects;
    let mut applied = Vec::new();
    let mut progress = Instant::now();
    loop {
        learn_kinds(client, &waiting, &mut known).await;
        let results: Vec<_> = stream::iter(waiting)
            .map(|object| {
                let params = params.clone();
                let kind = kind_of(&object).ok().and_then(|kind| known.get(&kind).cloned());
                async move {
                    let result = apply(client, &object, kind, &params).await;
                    (object, result)
                }
            })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut failed = Vec::new();
        for (object, result) in results {
            match result {
                Ok(stored) => {
                    progress = Instant::now();
                    applied.push(stored);
                }
                Err(error) if error.retry => failed.push((object, error)),
                Err(error) => bail!("applying {}: {}", describe(&object), error.text),
            }
        }
        let Some((first, error)) = failed.first() else {
            return Ok(applied);
        };
        if progress.elapsed() > PATIENCE {
            bail!("applying {} objects makes no progress; {}: {}", failed.len(), describe(first), error.text);
        }
        waiting = failed.into_iter().map(|(object, _)| object).collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// [`folder`] and [`all`].
pub async fn path(client: &Client, path: &Path) -> Result<Vec<DynamicObject>> {
    all(client, folder(path)?).await
}

/// [`documents`] and [`all`].
pub async fn yaml(client: &Client, text: &str) -> Result<Vec<DynamicObject>> {
    all(client, documents(text)?).await
}

/// [`all`] for CRDs, and waits until every one is established.
pub async fn crds(client: &Client, objects: Vec<DynamicObject>) -> Result<()> {
    let names: Vec<String> = all(client, objects).await?.iter().map(ResourceExt::name_any).collect();
    for name in names {
        let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = await_condition(crds, &name, conditions::is_crd_established());
        tokio::time::timeout(PATIENCE, established)
            .await
            .with_context(|| format!("CRD {name} is not established"))??;
    }
    Ok(())
}

/// Deletes objects; what is not there any more is no error.
pub async fn delete(client: &Client, objects: &[DynamicObject]) -> Result<()> {
    let mut known = Known::new();
    learn_kinds(client, objects, &mut known).await;
    for object in objects {
        let Some((resource, capabilities)) = known.get(&kind_of(object)?) else {
            continue;
        };
        let api = api(client, object, resource, capabilities);
        match api.delete(&object.name_any(), &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => bail!("deleting {}: {error}", describe(object)),
        }
    }
    Ok(())
}

async fn learn_kinds(client: &Client, objects: &[DynamicObject], known: &mut Known) {
    for object in objects {
        if let Ok(kind) = kind_of(object)
            && !known.contains_key(&kind)
            && let Ok(found) = discovery::pinned_kind(client, &kind).await
        {
            known.insert(kind, found);
        }
    }
}

struct Failure {
    text: String,
    retry: bool,
}

async fn apply(
    client: &Client,
    object: &DynamicObject,
    kind: Option<(ApiResource, ApiCapabilities)>,
    params: &PatchParams,
) -> Result<DynamicObject, Failure> {
    let fatal = |text: String| Failure { text, retry: false };
    let kind_name = kind_of(object).map_err(|error| fatal(error.to_string()))?;
    let Some((resource, capabilities)) = kind else {
        let text = format!("no kind {} in {}/{}", kind_name.kind, kind_name.group, kind_name.version);
        return Err(Failure { text, retry: true });
    };
    let name = object.metadata.name.as_deref().ok_or_else(|| fatal("it has no name".to_owned()))?;
    let api = api(client, object, &resource, &capabilities);
    api.patch(name, params, &Patch::Apply(object)).await.map_err(|error| {
        let retry = match &error {
            kube::Error::Api(status) => {
                matches!(status.code, 404 | 409 | 429 | 500..) || status.message.contains("being terminated")
            }
            _ => true,
        };
        Failure { text: error.to_string(), retry }
    })
}

fn api(
    client: &Client,
    object: &DynamicObject,
    resource: &ApiResource,
    capabilities: &ApiCapabilities,
) -> Api<DynamicObject> {
    match (&capabilities.scope, object.namespace()) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), resource),
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client.clone(), &namespace, resource),
        (Scope::Namespaced, None) => Api::namespaced_with(client.clone(), "default", resource),
    }
}

fn kind_of(object: &DynamicObject) -> Result<GroupVersionKind> {
    let types = object.types.as_ref().with_context(|| format!("{} has no kind", object.name_any()))?;
    GroupVersionKind::try_from(types).with_context(|| format!("apiVersion of {}", object.name_any()))
}

fn describe(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_documents_and_lists() {
        let text = "---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: }\n---\napiVersion: v1\nkind: List\n\
                    items:\n- {apiVersion: v1, kind: Secret, metadata: {name: b, namespace: c}}\n";
        let objects = documents(text).unwrap();
        let names: Vec<String> = objects.iter().map(describe).collect();
        assert_eq!(names, ["ConfigMap a", "Secret c/b"]);
    }
}
