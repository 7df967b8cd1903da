//! Names of objects and of work items.

/// Namespace and name; the namespace is empty for cluster-scoped kinds. Work items of an area use it too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Key {
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

impl Key {
    /// A namespaced key.
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Key { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// A key of a cluster-scoped object, or a work item that is only a name.
    pub(crate) fn cluster(name: &str) -> Self {
        Key { namespace: String::new(), name: name.to_owned() }
    }

    /// The key of an object.
    pub(crate) fn of<K: kube::Resource>(object: &K) -> Self {
        let meta = object.meta();
        Key {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
