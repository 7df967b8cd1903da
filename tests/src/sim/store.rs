//! Reads and writes of JSON objects on one API server, as one field manager.

use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::core::Request;
use kube::{Client, Error};
use serde_json::{Value, json};

use super::kinds::Kind;
use super::value::{has_finalizer, items, name, namespace, put, text};

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Why a read or write did not happen.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The object changed meanwhile: look again at once.
    Stale,
    /// The API server refused the object, or its namespace or kind does not exist; the text is its answer.
    Refused(String),
    /// Anything else.
    Other(anyhow::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Stale => f.write_str("the object changed meanwhile"),
            Failure::Refused(text) => f.write_str(text),
            Failure::Other(error) => write!(f, "{error:#}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) if status.code == 409 => Failure::Stale,
            Error::Api(status) if matches!(status.code, 400 | 403 | 404 | 422) => {
                Failure::Refused(status.message.clone())
            }
            other => Failure::Other(other.into()),
        }
    }
}

fn other(error: impl Into<anyhow::Error>) -> Failure {
    Failure::Other(error.into())
}

fn body(object: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(object).map_err(other)
}

#[derive(Clone)]
pub(crate) struct Store {
    client: Client,
    manager: &'static str,
}

impl Store {
    pub(crate) fn new(client: Client, manager: &'static str) -> Self {
        Store { client, manager }
    }

    /// The same API server with another field manager.
    pub(crate) fn acting_as(&self, manager: &'static str) -> Self {
        Store { client: self.client.clone(), manager }
    }

    /// `None` when the object, its namespace or its kind does not exist.
    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Option<Value>> {
        let request = Request::new(kind.path(namespace)).get(name, &GetParams::default()).map_err(other)?;
        match self.client.request::<Value>(request).await {
            Ok(mut object) => {
                put(&mut object, "apiVersion", json!(kind.api_version()));
                put(&mut object, "kind", json!(kind.kind));
                Ok(Some(object))
            }
            Err(Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// An empty namespace lists all of them. Sorted by namespace and name; empty when the kind is not served.
    pub(crate) async fn list(&self, kind: Kind, in_namespace: &str, labels: &str) -> Result<Vec<Value>> {
        let params = ListParams {
            label_selector: (!labels.is_empty()).then(|| labels.to_owned()),
            ..ListParams::default()
        };
        let request = Request::new(kind.path(in_namespace)).list(&params).map_err(other)?;
        let list = match self.client.request::<Value>(request).await {
            Ok(list) => list,
            Err(Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut objects = items(&list, "/items").to_vec();
        objects.sort_by(|a, b| (namespace(a), name(a)).cmp(&(namespace(b), name(b))));
        Ok(objects)
    }

    /// Creates; an object that is there already is left alone. True when it was made.
    pub(crate) async fn create(&self, kind: Kind, object: &Value) -> Result<bool> {
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let request =
            Request::new(kind.path(namespace(object))).create(&params, body(object)?).map_err(other)?;
        match self.client.request::<Value>(request).await {
            Ok(_) => Ok(true),
            Err(Error::Api(status)) if status.reason == "AlreadyExists" => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Server-side apply with force.
    pub(crate) async fn apply(&self, kind: Kind, object: &Value) -> Result<Value> {
        self.apply_with(kind, object, &PatchParams::apply(self.manager).force()).await
    }

    /// Asks the API server whether [`Store::apply`] would work.
    pub(crate) async fn try_apply(&self, kind: Kind, object: &Value) -> Result<Value> {
        self.apply_with(kind, object, &PatchParams::apply(self.manager).force().dry_run()).await
    }

    async fn apply_with(&self, kind: Kind, object: &Value, params: &PatchParams) -> Result<Value> {
        let request = Request::new(kind.path(namespace(object)));
        let request = request.patch(name(object), params, &Patch::Apply(object)).map_err(other)?;
        Ok(self.client.request(request).await?)
    }

    /// JSON merge patch.
    pub(crate) async fn merge(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value> {
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        let request = Request::new(kind.path(namespace));
        let request = request.patch(name, &params, &Patch::Merge(patch)).map_err(other)?;
        Ok(self.client.request(request).await?)
    }

    /// JSON merge patch of the status.
    pub(crate) async fn merge_status(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value> {
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        let request = Request::new(kind.path(namespace));
        let request =
            request.patch_subresource("status", name, &params, &Patch::Merge(patch)).map_err(other)?;
        Ok(self.client.request(request).await?)
    }

    /// Writes the whole status; `Stale` when the object has another resourceVersion.
    pub(crate) async fn put_status(&self, kind: Kind, object: &Value) -> Result<Value> {
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let request = Request::new(kind.path(namespace(object)));
        let request =
            request.replace_subresource("status", name(object), &params, body(object)?).map_err(other)?;
        Ok(self.client.request(request).await?)
    }

    /// Starts the deletion; fine when the object does not exist.
    pub(crate) async fn delete(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        policy: PropagationPolicy,
    ) -> Result<()> {
        let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        let request = Request::new(kind.path(namespace)).delete(name, &params).map_err(other)?;
        match self.client.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds a finalizer, guarded by the resourceVersion. False when it was there already.
    pub(crate) async fn add_finalizer(&self, kind: Kind, object: &Value, finalizer: &str) -> Result<bool> {
        if has_finalizer(object, finalizer) {
            return Ok(false);
        }
        let mut list = items(object, "/metadata/finalizers").to_vec();
        list.push(json!(finalizer));
        self.write_finalizers(kind, object, &list).await?;
        Ok(true)
    }

    /// Removes finalizers, guarded by the resourceVersion. False when there was nothing to remove.
    pub(crate) async fn drop_finalizers(
        &self,
        kind: Kind,
        object: &Value,
        finalizers: &[&str],
    ) -> Result<bool> {
        let list = items(object, "/metadata/finalizers");
        let kept: Vec<Value> = list.iter().filter(|f| !finalizers.iter().any(|g| *f == g)).cloned().collect();
        if kept.len() == list.len() {
            return Ok(false);
        }
        self.write_finalizers(kind, object, &kept).await?;
        Ok(true)
    }

    async fn write_finalizers(&self, kind: Kind, object: &Value, list: &[Value]) -> Result<()> {
        let patch = json!({"metadata": {
            "resourceVersion": text(object, "/metadata/resourceVersion"),
            "finalizers": list,
        }});
        self.merge(kind, namespace(object), name(object), &patch).await?;
        Ok(())
    }
}
