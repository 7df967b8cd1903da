//! Which clusters a root policy is for.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Expression, Selector, SelectorExt};
use serde_json::Value;

use super::super::kinds::{MANAGED_CLUSTER, PLACEMENT, PLACEMENT_BINDING, POLICY};
use super::super::knobs;
use super::super::store::Result;
use super::super::value::{annotation, at, entries, is_deleting, items, name, namespace, text};
use super::Simulator;

/// A cluster that a root policy is for.
pub(super) struct Chosen {
    pub(super) cluster: Value,
    /// `(placement, binding)`, empty when the policy's own annotation chose.
    pub(super) by: (String, String),
    /// The binding asks for enforcement.
    pub(super) enforce: bool,
}

impl Simulator {
    pub(super) async fn chosen_clusters(&self, root: &Value) -> Result<Vec<Chosen>> {
        let clusters: Vec<Value> =
            self.store.list(MANAGED_CLUSTER, "", "").await?.into_iter().filter(|c| !is_deleting(c)).collect();
        let mut chosen: BTreeMap<String, Chosen> = BTreeMap::new();
        if let Some(selector) = annotation(root, knobs::CLUSTER_SELECTOR) {
            let selector = parse(selector);
            for cluster in clusters.iter().filter(|c| selector.matches(&labels(c))) {
                let by = (String::new(), String::new());
                chosen.insert(
                    name(cluster).to_owned(),
                    Chosen { cluster: cluster.clone(), by, enforce: false },
                );
            }
        }
        for binding in self.store.list(PLACEMENT_BINDING, namespace(root), "").await? {
            let binds = items(&binding, "/subjects")
                .iter()
                .any(|s| text(s, "/kind") == POLICY.kind && text(s, "/name") == name(root));
            let placement = text(&binding, "/placementRef/name");
            if !binds || text(&binding, "/placementRef/kind") != PLACEMENT.kind {
                continue;
            }
            let Some(placement) = self.store.get(PLACEMENT, namespace(root), placement).await? else {
                continue;
            };
            let enforce =
                text(&binding, "/bindingOverrides/remediationAction").eq_ignore_ascii_case("enforce");
            for cluster in clusters.iter().filter(|c| is_placed(&placement, c)) {
                let by = (name(&placement).to_owned(), name(&binding).to_owned());
                let entry = chosen.entry(name(cluster).to_owned());
                let entry = entry.or_insert_with(|| Chosen { cluster: cluster.clone(), by, enforce });
                entry.enforce |= enforce;
            }
        }
        Ok(chosen.into_values().collect())
    }
}

pub(super) fn labels(cluster: &Value) -> BTreeMap<String, String> {
    entries(cluster, "/metadata/labels")
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.as_str().unwrap_or_default().to_owned()))
        .collect()
}

/// Any predicate of the placement is fulfilled; none means all clusters.
fn is_placed(placement: &Value, cluster: &Value) -> bool {
    let predicates = items(placement, "/spec/predicates");
    let labels = labels(cluster);
    predicates.is_empty()
        || predicates.iter().any(|predicate| {
            let selector = at(predicate, "/requiredClusterSelector/labelSelector").clone();
            serde_json::from_value::<Option<LabelSelector>>(selector)
                .ok()
                .and_then(|selector| Selector::try_from(selector.unwrap_or_default()).ok())
                .is_some_and(|selector| selector.matches(&labels))
        })
}

/// `a=b,c!=d,e,!f`
fn parse(text: &str) -> Selector {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            match part.split_once("!=").map(|p| (p, false)).or(part.split_once('=').map(|p| (p, true))) {
                Some(((key, value), true)) => {
                    Expression::Equal(key.trim().to_owned(), value.trim_start_matches('=').trim().to_owned())
                }
                Some(((key, value), false)) => {
                    Expression::NotEqual(key.trim().to_owned(), value.trim().to_owned())
                }
                None => match part.strip_prefix('!') {
                    Some(key) => Expression::DoesNotExist(key.trim().to_owned()),
                    None => Expression::Exists(part.to_owned()),
                },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cluster() -> Value {
        json!({"metadata": {"name": "c", "labels": {"site": "east", "tier": "1"}}})
    }

    #[test]
    fn reads_a_selector() {
        for (text, expected) in [
            ("site=east", true),
            ("site==east,tier", true),
            ("site!=east", false),
            ("!site", false),
            ("none", false),
            ("", true),
        ] {
            assert_eq!(parse(text).matches(&labels(&cluster())), expected, "{text}");
        }
    }

    #[test]
    fn follows_the_label_selector_of_a_placement() {
        let placement = |selector: Value| json!({"spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": selector}}]}});
        assert!(is_placed(&json!({"spec": {}}), &cluster()));
        assert!(is_placed(&placement(json!({"matchLabels": {"site": "east"}})), &cluster()));
        assert!(!is_placed(&placement(json!({"matchLabels": {"site": "west"}})), &cluster()));
        assert!(is_placed(
            &placement(
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["1", "2"]}]})
            ),
            &cluster()
        ));
    }
}
