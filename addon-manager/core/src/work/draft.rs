//! Building ManifestWorks.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use manifests::ocm::names::{LABEL_PURPOSE, LABEL_REQUEST};
use manifests::ocm::work::{
    ConditionRule, DeleteOption, FeedbackRule, JsonPath, ManifestConfig, ResourceIdentifier,
    SelectivelyOrphan, ServerSideApply, UpdateStrategy, Workload,
};
use manifests::ocm::{ManifestWork, ManifestWorkSpec};
use serde::Serialize;
use serde_json::Value;

use crate::plan::{APPLIED_HASH, Step};

/// Most bytes of manifests in one work: 80 % of what the framework allows, below the webhook's 512,000.
pub const LIMIT: usize = 409_600;

/// Why a work cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// The hub's webhook would refuse it.
    #[error("the manifests of work {name} take {bytes} bytes, more than {LIMIT}")]
    TooLarge {
        /// Name of the work.
        name: String,
        /// Their size.
        bytes: usize,
    },
    /// The hub's webhook refuses a work without manifests.
    #[error("work {name} has no manifests")]
    Empty {
        /// Name of the work.
        name: String,
    },
    /// Names longer than 63 characters do not fit on the spoke.
    #[error("work name {name} is longer than 63 characters")]
    NameTooLong {
        /// The name.
        name: String,
    },
    /// An object cannot be written as JSON, or has no name.
    #[error("{0}")]
    Object(String),
}

/// One object of a work.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is.
    pub id: ResourceIdentifier,
    /// The whole object.
    pub value: Value,
    /// It outlives the work, and never gets its owner reference.
    pub orphan: bool,
    config: ManifestConfig,
}

impl Item {
    /// An object of a typed kind, applied by the work agent's default strategy.
    ///
    /// # Errors
    /// When it cannot be written as JSON or has no name.
    pub fn of<K>(object: &K) -> Result<Item, WorkError>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let value = serde_json::to_value(object).map_err(|e| WorkError::Object(e.to_string()))?;
        Item::raw(&K::group(&()), &K::plural(&()), value)
    }

    /// An object of any kind; it brings its own `apiVersion` and `kind`.
    ///
    /// # Errors
    /// When it has no name, or no kind.
    pub fn raw(group: &str, resource: &str, value: Value) -> Result<Item, WorkError> {
        let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, kind) = (text("/metadata/name"), text("/kind"));
        if name.is_empty() || kind.is_empty() {
            return Err(WorkError::Object(format!("an object of {resource} has no kind or no name")));
        }
        let id = ResourceIdentifier {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: text("/metadata/namespace"),
            name,
        };
        let config = ManifestConfig { resource_identifier: id.clone(), ..ManifestConfig::default() };
        Ok(Item { id, value, orphan: false, config })
    }

    /// It outlives the work.
    #[must_use]
    pub fn orphan(mut self) -> Self {
        self.orphan = true;
        self
    }

    fn strategy(mut self, type_: &str, server_side_apply: Option<ServerSideApply>) -> Self {
        self.config.update_strategy = Some(UpdateStrategy { type_: type_.to_owned(), server_side_apply });
        self
    }

    /// Server-side apply with force: only the fields in the manifest are ours. `manager` must begin with
    /// `work-agent`.
    #[must_use]
    pub fn server_side_apply(self, manager: &str) -> Self {
        let apply = ServerSideApply { force: true, field_manager: manager.to_owned() };
        self.strategy("ServerSideApply", Some(apply))
    }

    /// Nothing is written; feedback and conditions work, also when somebody else makes the object later.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.strategy("ReadOnly", None)
    }

    /// Created once and left alone then.
    #[must_use]
    pub fn create_only(self) -> Self {
        self.strategy("CreateOnly", None)
    }

    /// A scalar to read back. `path` is kubectl's JSONPath without braces; prefer filters over indices, for an index
    /// out of range is an error that spoils `StatusFeedbackSynced` (spec/03 6.4).
    #[must_use]
    pub fn feedback(mut self, name: &str, path: &str) -> Self {
        let path = JsonPath { name: name.to_owned(), path: path.to_owned() };
        if let Some(rule) = self.config.feedback_rules.first_mut() {
            rule.json_paths.push(path);
        } else {
            let rule = FeedbackRule { type_: "JSONPaths".to_owned(), json_paths: vec![path] };
            self.config.feedback_rules.push(rule);
        }
        self
    }

    /// Feedback by watch instead of poll, where the spoke supports it.
    #[must_use]
    pub fn watched(mut self) -> Self {
        self.config.feedback_scrape_type = Some("Watch".to_owned());
        self
    }

    /// A condition that the work agent computes from the object by CEL; all expressions must hold.
    #[must_use]
    pub fn condition(mut self, name: &str, expressions: &[&str], message_expression: &str) -> Self {
        self.config.condition_rules.push(ConditionRule {
            condition: name.to_owned(),
            type_: "CEL".to_owned(),
            cel_expressions: expressions.iter().map(|e| (*e).to_owned()).collect(),
            message: String::new(),
            message_expression: message_expression.to_owned(),
        });
        self
    }

    /// Its share of the limit.
    pub fn size(&self) -> usize {
        encoded_size(&self.value)
    }

    fn has_config(&self) -> bool {
        let c = &self.config;
        c.update_strategy.is_some()
            || c.feedback_scrape_type.is_some()
            || !c.feedback_rules.is_empty()
            || !c.condition_rules.is_empty()
    }
}

/// Size of a manifest in a work: its JSON, one byte, and the length as a varint (spec/07 5.7).
pub fn encoded_size(value: &Value) -> usize {
    let length = value.to_string().len();
    let mut varint = 1;
    let mut rest = length >> 7;
    while rest > 0 {
        varint += 1;
        rest >>= 7;
    }
    length + 1 + varint
}

/// A work to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    cluster: String,
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    owners: Vec<OwnerReference>,
    items: Vec<Item>,
    orphan_all: bool,
}

impl Draft {
    /// A work in the namespace of `cluster`.
    pub fn new(cluster: &str, name: &str) -> Self {
        Draft {
            cluster: cluster.to_owned(),
            name: name.to_owned(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            owners: Vec::new(),
            items: Vec::new(),
            orphan_all: false,
        }
    }

    /// Marks it as a payload work: what for, and of which request.
    #[must_use]
    pub fn payload(self, purpose: &str, request: &str) -> Self {
        self.label(LABEL_PURPOSE, purpose).label(LABEL_REQUEST, request)
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Goes with this object, which must be cluster-scoped or lie in the cluster namespace.
    #[must_use]
    pub fn owner(mut self, owner: OwnerReference) -> Self {
        self.owners.push(owner);
        self
    }

    /// Adds an object. The work agent of OCM v1.2 applies in this order.
    #[must_use]
    pub fn item(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }

    /// Every object outlives the work.
    #[must_use]
    pub fn orphan_all(mut self) -> Self {
        self.orphan_all = true;
        self
    }

    fn delete_option(&self) -> DeleteOption {
        let rules: Vec<_> = self.items.iter().filter(|i| i.orphan).map(|i| i.id.clone()).collect();
        if self.orphan_all {
            DeleteOption { propagation_policy: "Orphan".to_owned(), selectively_orphans: None }
        } else if rules.is_empty() {
            DeleteOption { propagation_policy: "Foreground".to_owned(), selectively_orphans: None }
        } else {
            DeleteOption {
                propagation_policy: "SelectivelyOrphan".to_owned(),
                selectively_orphans: Some(SelectivelyOrphan { orphaning_rules: rules }),
            }
        }
    }

    /// The work.
    ///
    /// # Errors
    /// When the hub would refuse it.
    pub fn build(&self) -> Result<ManifestWork, WorkError> {
        let name = self.name.clone();
        if name.len() > 63 {
            return Err(WorkError::NameTooLong { name });
        }
        if self.items.is_empty() {
            return Err(WorkError::Empty { name });
        }
        let bytes: usize = self.items.iter().map(Item::size).sum();
        if bytes > LIMIT {
            return Err(WorkError::TooLarge { name, bytes });
        }
        let mut work = ManifestWork::new(
            &name,
            ManifestWorkSpec {
                workload: Workload { manifests: self.items.iter().map(|i| i.value.clone()).collect() },
                delete_option: Some(self.delete_option()),
                manifest_configs: self
                    .items
                    .iter()
                    .filter(|i| i.has_config())
                    .map(|i| i.config.clone())
                    .collect(),
            },
        );
        work.metadata = ObjectMeta {
            name: Some(name),
            namespace: Some(self.cluster.clone()),
            labels: Some(self.labels.clone()).filter(|l| !l.is_empty()),
            annotations: Some(self.annotations.clone()).filter(|a| !a.is_empty()),
            owner_references: Some(self.owners.clone()).filter(|o| !o.is_empty()),
            ..ObjectMeta::default()
        };
        Ok(work)
    }

    /// The write that brings the stored work to this state; `None` when it is there already. The comparison is by
    /// the hash annotation and by the identities of the manifests, so a trimmed cache suffices.
    ///
    /// # Errors
    /// As [`Draft::build`].
    pub fn step(&self, stored: Option<&ManifestWork>) -> Result<Option<Step>, WorkError> {
        let work = self.build()?;
        let step = Step::apply(&work).map_err(|e| WorkError::Object(e.to_string()))?;
        let Step::Apply { object, .. } = &step else { return Ok(Some(step)) };
        let wanted = object.metadata.annotations.as_ref().and_then(|a| a.get(APPLIED_HASH));
        let same = stored.is_some_and(|s| {
            s.metadata.deletion_timestamp.is_none()
                && s.metadata.annotations.as_ref().and_then(|a| a.get(APPLIED_HASH)) == wanted
                && identities(s).eq(identities(&work))
        });
        Ok(if same { None } else { Some(step) })
    }
}

fn identities(work: &ManifestWork) -> impl Iterator<Item = [Option<&str>; 4]> {
    work.spec.workload.manifests.iter().map(|m| {
        ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
            .map(|path| m.pointer(path).and_then(Value::as_str))
    })
}
