//! `Plan`, `Step`, `Wake`: the vocabulary between the pure core and the shell (DESIGN section 4).
//!
//! A controller is `observe -> decide -> act`. `decide` returns a [`Plan`]: ordered steps as data, the whole new
//! status, events, and when to look again. The shell carries the steps out in order, stops at the first failure,
//! and writes the status once, if it differs.

use jiff::Timestamp;
use kube::Resource;
use kube::core::{ApiResource, DynamicObject};
use serde::Serialize;
use serde_json::Value;

/// Field managers that the manager writes with (DESIGN section 3, spec/08 5.7).
pub mod manager {
    /// Objects that we own.
    pub const OBJECTS: &str = "ocloud-manager";
    /// The status of our kinds.
    pub const STATUS: &str = "ocloud-manager-status";
    /// The few fields of a `BareMetalHost` that we set.
    pub const HOST: &str = "ocloud-manager-host";
    /// The ClusterInstance: upstream's own name, so that a take-over needs no field surgery.
    pub const CLUSTER_INSTANCE: &str = "provisioning-request-reconciler";
}

/// Annotation that carries the hash of what we last applied, so that an unchanged object costs no write, also after
/// a restart and for kinds of which we only watch metadata.
pub const APPLIED_HASH: &str = "addon.clcm.openshift.io/applied-hash";

/// When to look at the key again, besides every change of something it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wake {
    /// A watch will wake us.
    #[default]
    OnChange,
    /// A deadline, never a polling interval wherever a watch can wake us.
    At(Timestamp),
}

impl Wake {
    /// The earlier of two.
    #[must_use]
    pub fn or(self, other: Wake) -> Wake {
        match (self, other) {
            (Wake::OnChange, w) | (w, Wake::OnChange) => w,
            (Wake::At(a), Wake::At(b)) => Wake::At(a.min(b)),
        }
    }
}

/// What an object is, by name: for deletes, patches and messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Group, version, kind and plural.
    pub api: ApiResource,
    /// Empty for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// `metadata.name`
    pub name: String,
}

impl Target {
    /// A target of a typed kind.
    pub fn of<K>(namespace: Option<&str>, name: &str) -> Self
    where
        K: Resource<DynamicType = ()>,
    {
        Target {
            api: ApiResource::erase::<K>(&()),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(ns) => write!(f, "{} {ns}/{}", self.api.kind, self.name),
            None => write!(f, "{} {}", self.api.kind, self.name),
        }
    }
}

/// One effect, as data. Steps are compared in tests, printed in logs, and applied to the in-memory world by the
/// plan preview.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Server-side apply, forced, of an object that we own (or of the fields that we own in it).
    Apply {
        /// Group, version, kind and plural.
        api: ApiResource,
        /// The whole intent: `apiVersion`, `kind`, `metadata`, and the fields that we own.
        object: Box<DynamicObject>,
        /// One of [`manager`].
        manager: &'static str,
    },
    /// Ask the API server whether `object` would be accepted; the answer is memoised by `hash` and comes back in the
    /// next observation.
    DryRun {
        /// Group, version, kind and plural.
        api: ApiResource,
        /// As in `Apply`.
        object: Box<DynamicObject>,
        /// One of [`manager`].
        manager: &'static str,
        /// Hash of the input.
        hash: String,
    },
    /// JSON merge patch of a few fields of an object that others own.
    Merge {
        /// What to patch.
        target: Target,
        /// The merge patch.
        patch: Value,
        /// One of [`manager`].
        manager: &'static str,
        /// Compare-and-set: the patch is refused with a conflict unless the object still has this resource version.
        resource_version: Option<String>,
    },
    /// Merge patch of the status subresource of a kind whose status lists are not ours alone.
    MergeStatus {
        /// What to patch.
        target: Target,
        /// The merge patch, with `status` at its root.
        patch: Value,
        /// One of [`manager`].
        manager: &'static str,
        /// As in `Merge`.
        resource_version: Option<String>,
    },
    /// Server-side apply of the status subresource.
    ApplyStatus {
        /// Group, version, kind and plural.
        api: ApiResource,
        /// `apiVersion`, `kind`, `metadata{name, namespace, uid}`, `status`.
        object: Box<DynamicObject>,
        /// One of [`manager`].
        manager: &'static str,
    },
    /// Delete; an object that is gone already is a success.
    Delete {
        /// What to delete.
        target: Target,
        /// Only the object with this uid.
        uid: Option<String>,
        /// Foreground propagation instead of background.
        foreground: bool,
    },
    /// Update of a CertificateSigningRequest's `approval` subresource.
    Approve {
        /// Name of the CertificateSigningRequest.
        name: String,
        /// The condition to append: `Approved` or `Denied`.
        condition: &'static str,
        /// Its reason.
        reason: String,
        /// Its message.
        message: String,
    },
    /// Copy of `data` (and, for Secrets, `type`) of one object of the core group to another namespace. Secrets are read by the
    /// shell when the step runs, so that no plan, log or preview ever holds their content.
    CopySecret {
        /// Namespace and name of the source.
        from: (String, String),
        /// Namespace of the copy; the name stays.
        to: String,
        /// Metadata of the copy: labels and owner references to merge in (a JSON object).
        metadata: Value,
        /// Resource version of the source that was observed.
        source_version: String,
    },
}

impl Step {
    /// Server-side apply of an object of a typed kind as [`manager::OBJECTS`], stamped with [`APPLIED_HASH`].
    ///
    /// # Errors
    /// When the object cannot be turned into JSON.
    pub fn apply<K>(object: &K) -> Result<Step, serde_json::Error>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let mut value = serde_json::to_value(object)?;
        stamp(&mut value);
        Ok(Step::Apply {
            api: ApiResource::erase::<K>(&()),
            object: Box::new(serde_json::from_value(value)?),
            manager: manager::OBJECTS,
        })
    }
}

/// Hash of a JSON document: the first 16 hex digits of SHA-256 over its compact form with sorted keys.
pub fn hash(value: &Value) -> String {
    use sha2::{Digest, Sha256};
    let text = value.to_string();
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).fold(String::with_capacity(16), |mut out, b| {
        use std::fmt::Write as _;
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// Puts [`APPLIED_HASH`] on an object: the hash of everything else in it. Returns the hash.
pub fn stamp(object: &mut Value) -> String {
    if let Some(a) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        a.remove(APPLIED_HASH);
    }
    let digest = hash(object);
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations =
            meta.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::default()));
        if let Some(a) = annotations.as_object_mut() {
            a.insert(APPLIED_HASH.to_owned(), Value::String(digest.clone()));
        }
    }
    digest
}

/// An event for the object that the plan is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// `Warning` instead of `Normal`.
    pub warning: bool,
    /// CamelCase reason.
    pub reason: String,
    /// What happened and what would resolve it.
    pub message: String,
}

/// What a controller wants done about one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S> {
    /// Effects, in order.
    pub steps: Vec<Step>,
    /// The whole new status; `None` leaves it alone (deleted objects, foreign kinds).
    pub status: Option<S>,
    /// Events about the object.
    pub events: Vec<Note>,
    /// When to look again.
    pub wake: Wake,
}

impl<S> Default for Plan<S> {
    fn default() -> Self {
        Plan { steps: Vec::new(), status: None, events: Vec::new(), wake: Wake::OnChange }
    }
}

/// Why a step failed, as the next `decide` sees it (spec/08 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultClass {
    /// The user must change the input (400, 403 of admission, 422): goes to a condition, no hot retry.
    Invalid,
    /// Somebody else wrote first (409).
    Conflict,
    /// The system must retry with back-off.
    Transient,
}

/// A step of the last plan that failed. The shell observes and decides once more with this fact, so that the
/// condition of the right stage tells about it; the steps of that second plan are not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Index of the step in the plan.
    pub step: usize,
    /// What was being written.
    pub target: String,
    /// Its class.
    pub class: FaultClass,
    /// The API server's text.
    pub message: String,
}
