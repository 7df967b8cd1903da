//! What the shell remembers between passes; all of it can be lost at any moment without harm.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, PartialObjectMeta};
use tokio::time::Instant;

use super::act::{CallError, call};
use super::context::Context;
use super::key::Key;

/// Answers of dry runs, by hash of the input (DESIGN section 4).
#[derive(Debug, Default)]
pub(crate) struct DryRuns(Mutex<HashMap<String, Answer>>);

/// The verdict, and when it was given.
type Answer = (Result<(), String>, Instant);

/// A refusal is asked again after this time: admission may depend on what no hash shows.
const REFUSAL_HOLDS: Duration = Duration::from_mins(5);

/// Beyond this number the memory starts anew: a dry run more is cheaper than unbounded growth.
const MANY: usize = 20_000;

impl DryRuns {
    /// Keeps an answer.
    pub(crate) fn remember(&self, hash: &str, verdict: Result<(), String>) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= MANY {
            map.clear();
        }
        map.insert(hash.to_owned(), (verdict, Instant::now()));
    }

    /// The answer to this input, if it was asked before.
    pub(crate) fn recall(&self, hash: &str) -> Option<Result<(), String>> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (verdict, since) = map.get(hash)?;
        (verdict.is_ok() || since.elapsed() < REFUSAL_HOLDS).then(|| verdict.clone())
    }
}

/// Who has looked at an object that no index of a store leads to: woken when it changes.
#[derive(Debug)]
pub(crate) struct Interest<T>(RwLock<HashMap<Key, HashSet<T>>>);

impl<T> Default for Interest<T> {
    fn default() -> Self {
        Interest(RwLock::new(HashMap::new()))
    }
}

impl<T: Clone + Eq + Hash> Interest<T> {
    /// `who` read, or missed, the object `what`.
    pub(crate) fn note(&self, what: &Key, who: &T) {
        {
            let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if map.get(what).is_some_and(|set| set.contains(who)) {
                return;
            }
        }
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        map.entry(what.clone()).or_default().insert(who.clone());
    }

    /// Who must look again after a change of `what`.
    pub(crate) fn of(&self, what: &Key) -> Vec<T> {
        let map = self.0.read().unwrap_or_else(PoisonError::into_inner);
        map.get(what).into_iter().flatten().cloned().collect()
    }

    /// `who` is gone.
    pub(crate) fn forget(&self, who: &T) {
        let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
        map.retain(|_, set| {
            set.remove(who);
            !set.is_empty()
        });
    }
}

/// ConfigMaps are watched as metadata; content is read by name when a decision needs it, once per version.
#[derive(Debug, Default)]
pub(crate) struct ConfigMaps(Mutex<HashMap<Key, Arc<ConfigMap>>>);

impl ConfigMaps {
    /// The content; `None` when it does not exist.
    pub(crate) async fn read(
        &self,
        ctx: &Context,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<ConfigMap>>, CallError> {
        let key = Key::new(namespace, name);
        let known: Option<Arc<PartialObjectMeta<ConfigMap>>> = ctx.world.config_maps.get_key(&key);
        let Some(meta) = known else {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            return Ok(None);
        };
        if let Some(hit) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
            && hit.metadata.resource_version == meta.metadata.resource_version
        {
            return Ok(Some(hit.clone()));
        }
        let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), namespace);
        let Some(mut found) = call(api.get_opt(name)).await? else { return Ok(None) };
        found.metadata.managed_fields = None;
        let data = Arc::new(found);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, data.clone());
        Ok(Some(data))
    }
}

/// What is known of Secrets without holding their content: the version seen last and the copies made of it.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    seen: Mutex<HashMap<Key, SecretSeen>>,
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct SecretSeen {
    version: Option<String>,
    read: Instant,
    copies: HashMap<Copied, String>,
}

impl SecretSeen {
    fn new() -> Self {
        SecretSeen { version: None, read: Instant::now(), copies: HashMap::new() }
    }
}

/// One copy: it goes with its namespace and with its owner, so it holds for this namespace and this owner only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Copied {
    namespace: String,
    namespace_uid: Option<String>,
    owner_uid: String,
}

impl Copied {
    fn of(ctx: &Context, namespace: &str, owner_uid: &str) -> Self {
        Copied {
            namespace: namespace.to_owned(),
            namespace_uid: ctx.world.namespaces.get("", namespace).and_then(|n| n.metadata.uid.clone()),
            owner_uid: owner_uid.to_owned(),
        }
    }
}

/// A Secret that was found is trusted this long; a missing one is looked for again after it (DESIGN section 4).
pub(crate) const SECRET_AGAIN: Duration = Duration::from_secs(30);

impl Secrets {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, SecretSeen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies are written one at a time.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// The resource version of a Secret, `None` when it does not exist. Reads it when the last look is old.
    pub(crate) async fn version(
        &self,
        ctx: &Context,
        namespace: &str,
        name: &str,
    ) -> Result<Option<String>, CallError> {
        let key = Key::new(namespace, name);
        if let Some(seen) = self.lock().get(&key)
            && seen.read.elapsed() < SECRET_AGAIN
        {
            return Ok(seen.version.clone());
        }
        let api: Api<Secret> = Api::namespaced(ctx.client.clone(), namespace);
        let found = call(api.get_metadata_opt(name)).await?;
        let version = found.and_then(|s| s.metadata.resource_version);
        let mut map = self.lock();
        let seen = map.entry(key).or_insert_with(SecretSeen::new);
        seen.version.clone_from(&version);
        seen.read = Instant::now();
        Ok(version)
    }

    /// Whether the version `version` of the Secret was copied to namespace `to` for this owner by this process.
    pub(crate) fn is_copied(
        &self,
        ctx: &Context,
        (namespace, name): (&str, &str),
        to: &str,
        owner_uid: &str,
        version: &str,
    ) -> bool {
        let copy = Copied::of(ctx, to, owner_uid);
        self.lock()
            .get(&Key::new(namespace, name))
            .and_then(|s| s.copies.get(&copy))
            .is_some_and(|v| v == version)
    }

    /// A copy was made.
    pub(super) fn copied(
        &self,
        ctx: &Context,
        (namespace, name): (&str, &str),
        to: &str,
        owner_uid: &str,
        version: &str,
    ) {
        let copy = Copied::of(ctx, to, owner_uid);
        let mut map = self.lock();
        let seen = map.entry(Key::new(namespace, name)).or_insert_with(SecretSeen::new);
        seen.version = Some(version.to_owned());
        seen.copies.insert(copy, version.to_owned());
    }

    /// The Secret is gone: what was known of it no longer holds.
    pub(super) fn forget(&self, namespace: &str, name: &str) {
        self.lock().remove(&Key::new(namespace, name));
    }

    /// An owner is gone, and its copies with it.
    pub(crate) fn forget_owner(&self, owner_uid: &str) {
        for seen in self.lock().values_mut() {
            seen.copies.retain(|copy, _| copy.owner_uid != owner_uid);
        }
    }
}
