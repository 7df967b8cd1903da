//! One watch cache: what the API server said last, overlaid with the answers to our own writes (DESIGN section 4).
//!
//! A pass must see what the last one wrote, so the answer to each write goes in at once; the watch event of the same
//! write then changes nothing. Order is by resource version, which the API server guarantees to be a growing integer
//! per kind; a tombstone keeps a late answer to one of our writes from bringing a deleted object back.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kube::Resource;

use super::key::Key;

/// What an index of a store is made of: the values under which an object is found.
pub(crate) type IndexFn<K> = fn(&K) -> Vec<String>;

/// A kind that the manager caches.
pub(crate) trait Cached:
    Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + Sync + 'static
{
    /// Drops what no decision reads, before the object is stored.
    fn trim(&mut self) {}
    /// Secondary indexes, by position.
    fn indexes() -> &'static [IndexFn<Self>] {
        &[]
    }
}

/// An object that changed in the store.
#[derive(Debug, Clone)]
pub(crate) struct Change<K> {
    /// Before; `None` for an object that is new.
    pub old: Option<Arc<K>>,
    /// After; `None` for an object that is gone.
    pub new: Option<Arc<K>>,
}

impl<K> Change<K> {
    /// Both sides that exist, new first.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &K> {
        self.new.iter().chain(self.old.iter()).map(AsRef::as_ref)
    }
}

struct Entry<K> {
    object: Arc<K>,
    version: u64,
    /// Listed in, or written during, the running re-list.
    epoch: u64,
}

struct Inner<K> {
    objects: BTreeMap<Key, Entry<K>>,
    indexes: Vec<HashMap<String, BTreeSet<Key>>>,
    tombs: HashMap<Key, u64>,
    epoch: u64,
}

impl<K> Default for Inner<K> {
    fn default() -> Self {
        Inner { objects: BTreeMap::new(), indexes: Vec::new(), tombs: HashMap::new(), epoch: 0 }
    }
}

const WAITING: u8 = 0;
const READY: u8 = 1;
const NOT_SERVED: u8 = 2;

/// Deleted objects remembered against late answers; older ones are forgotten beyond this number.
const TOMBS: usize = 20_000;

/// See the module.
pub(crate) struct Store<K> {
    inner: RwLock<Inner<K>>,
    state: AtomicU8,
}

impl<K> std::fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<K: Cached> Default for Store<K> {
    fn default() -> Self {
        let mut inner = Inner::default();
        inner.indexes.resize_with(K::indexes().len(), HashMap::new);
        Store { inner: RwLock::new(inner), state: AtomicU8::new(WAITING) }
    }
}

fn version<K: Resource>(object: &K) -> u64 {
    object.meta().resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(u64::MAX)
}

impl<K: Cached> Inner<K> {
    fn link(&mut self, key: &Key, object: &K, add: bool) {
        for (of, index) in K::indexes().iter().zip(self.indexes.iter_mut()) {
            for value in of(object) {
                if add {
                    index.entry(value).or_default().insert(key.clone());
                } else if let Some(set) = index.get_mut(&value) {
                    set.remove(key);
                    if set.is_empty() {
                        index.remove(&value);
                    }
                }
            }
        }
    }

    /// `listed`: a re-list is the truth even where versions went back (a hub restored from backup), unless we wrote
    /// the object after the re-list began.
    fn put(&mut self, mut object: K, listed: bool) -> Option<Change<K>> {
        let key = Key::of(&object);
        let version = version(&object);
        if !listed && self.tombs.get(&key).is_some_and(|dead| version <= *dead) {
            return None;
        }
        let epoch = self.epoch;
        if let Some(entry) = self.objects.get_mut(&key) {
            let restored = listed && entry.epoch != epoch && version < entry.version;
            entry.epoch = epoch;
            if version <= entry.version && version != u64::MAX && !restored {
                return None;
            }
        }
        object.meta_mut().managed_fields = None;
        object.trim();
        let object = Arc::new(object);
        let old = self.objects.remove(&key).map(|e| e.object);
        if let Some(old) = &old {
            self.link(&key, old, false);
        }
        self.link(&key, &object, true);
        self.objects.insert(key, Entry { object: object.clone(), version, epoch });
        Some(Change { old, new: Some(object) })
    }

    fn drop_key(&mut self, key: &Key, dead: u64) -> Option<Change<K>> {
        if self.tombs.len() >= TOMBS {
            self.tombs.clear();
        }
        self.tombs.insert(key.clone(), dead);
        let entry = self.objects.remove(key)?;
        self.link(key, &entry.object, false);
        Some(Change { old: Some(entry.object), new: None })
    }
}

impl<K: Cached> Store<K> {
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inner<K>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Inner<K>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of this name.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.read().objects.get(&Key::new(namespace, name)).map(|e| e.object.clone())
    }

    /// The object of this key.
    pub(crate) fn get_key(&self, key: &Key) -> Option<Arc<K>> {
        self.read().objects.get(key).map(|e| e.object.clone())
    }

    /// All objects, ordered by namespace and name.
    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.read().objects.values().map(|e| e.object.clone()).collect()
    }

    /// All keys.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.read().objects.keys().cloned().collect()
    }

    /// The objects of a namespace, ordered by name.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let from = Key::new(namespace, "");
        self.read()
            .objects
            .range((Bound::Included(from), Bound::Unbounded))
            .take_while(|(k, _)| k.namespace == namespace)
            .map(|(_, e)| e.object.clone())
            .collect()
    }

    /// The objects that index number `index` of the kind files under `value`.
    pub(crate) fn by_index(&self, index: usize, value: &str) -> Vec<Arc<K>> {
        let inner = self.read();
        inner
            .indexes
            .get(index)
            .and_then(|i| i.get(value))
            .into_iter()
            .flatten()
            .filter_map(|k| inner.objects.get(k).map(|e| e.object.clone()))
            .collect()
    }

    /// Number of objects.
    pub(crate) fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Takes an object that the watch or the answer to a write brought.
    pub(crate) fn put(&self, object: K) -> Option<Change<K>> {
        self.write().put(object, false)
    }

    /// Takes an object of a re-list.
    pub(crate) fn put_listed(&self, object: K) -> Option<Change<K>> {
        self.write().put(object, true)
    }

    /// Takes a deletion that the watch brought.
    pub(crate) fn remove(&self, object: &K) -> Option<Change<K>> {
        let key = Key::of(object);
        let dead = version(object);
        let mut inner = self.write();
        let newer = inner
            .objects
            .get(&key)
            .is_some_and(|e| e.version > dead && e.object.meta().uid != object.meta().uid);
        if newer { None } else { inner.drop_key(&key, dead) }
    }

    /// A re-list begins: what it does not bring is gone.
    pub(crate) fn begin(&self) {
        self.write().epoch += 1;
    }

    /// The re-list is complete. Returns the removals.
    pub(crate) fn finish(&self) -> Vec<Change<K>> {
        let mut inner = self.write();
        let epoch = inner.epoch;
        let gone: Vec<(Key, u64)> = inner
            .objects
            .iter()
            .filter(|(_, e)| e.epoch != epoch)
            .map(|(k, e)| (k.clone(), e.version))
            .collect();
        let changes = gone.iter().filter_map(|(k, v)| inner.drop_key(k, *v)).collect();
        drop(inner);
        self.state.store(READY, Ordering::Release);
        changes
    }

    /// The API server does not serve the kind (yet): an empty cache is the truth.
    pub(crate) fn not_served(&self) {
        let _ = self.state.compare_exchange(WAITING, NOT_SERVED, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the first list is complete, or the kind is not served.
    pub(crate) fn is_ready(&self) -> bool {
        self.state.load(Ordering::Acquire) != WAITING
    }

    /// Whether the kind is served by the API server.
    pub(crate) fn is_served(&self) -> bool {
        self.state.load(Ordering::Acquire) == READY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    impl Cached for ConfigMap {
        fn indexes() -> &'static [IndexFn<Self>] {
            &[|c| c.metadata.labels.iter().flatten().map(|(k, v)| format!("{k}={v}")).collect()]
        }
    }

    fn cm(name: &str, rv: u64, uid: &str, label: &str) -> ConfigMap {
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.into()),
                namespace: Some("ns".into()),
                resource_version: Some(rv.to_string()),
                uid: Some(uid.into()),
                labels: Some([("l".to_owned(), label.to_owned())].into()),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        }
    }

    #[test]
    fn the_watch_event_of_our_own_write_changes_nothing() {
        let store = Store::<ConfigMap>::default();
        assert!(store.put(cm("a", 5, "u", "x")).is_some());
        assert!(store.put(cm("a", 5, "u", "x")).is_none());
        assert!(store.put(cm("a", 4, "u", "old")).is_none());
        let change = store.put(cm("a", 6, "u", "y")).unwrap();
        assert!(change.old.is_some());
        assert!(store.by_index(0, "l=x").is_empty());
        assert_eq!(store.by_index(0, "l=y").len(), 1);
    }

    #[test]
    fn a_late_answer_does_not_bring_a_deleted_object_back() {
        let store = Store::<ConfigMap>::default();
        store.put(cm("a", 5, "u", "x"));
        assert!(store.remove(&cm("a", 8, "u", "x")).is_some());
        assert!(store.put(cm("a", 7, "u", "late")).is_none());
        assert!(store.put(cm("a", 9, "v", "new")).is_some());
        // and a late delete of the first does not remove the second
        assert!(store.remove(&cm("a", 8, "u", "x")).is_none());
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn a_relist_removes_what_it_does_not_bring_but_keeps_what_we_wrote_meanwhile() {
        let store = Store::<ConfigMap>::default();
        store.put(cm("a", 5, "u", "x"));
        store.put(cm("b", 6, "v", "x"));
        store.begin();
        store.put_listed(cm("a", 5, "u", "x"));
        store.put(cm("c", 9, "w", "x"));
        assert!(store.put_listed(cm("c", 8, "w", "before our write")).is_none());
        let gone = store.finish();
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].old.as_ref().unwrap().metadata.name.as_deref(), Some("b"));
        assert_eq!(store.len(), 2);
        assert!(store.is_ready());
    }

    #[test]
    fn a_relist_is_the_truth_after_a_restore_from_backup() {
        let store = Store::<ConfigMap>::default();
        store.put(cm("a", 50, "u", "x"));
        store.begin();
        assert!(store.put_listed(cm("a", 7, "u", "restored")).is_some());
        store.finish();
        assert_eq!(store.by_index(0, "l=restored").len(), 1);
    }
}
