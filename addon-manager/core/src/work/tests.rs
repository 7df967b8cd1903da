use super::*;
use manifests::ocm::ManifestWork;
use manifests::ocm::work::ResourceIdentifier;
use rstest::rstest;
use serde_json::{Value, json};

use crate::plan::Step;

fn item(name: &str) -> Item {
    let value =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}});
    Item::raw("", "configmaps", value).unwrap()
}

fn version() -> Item {
    let value = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"channel": "stable-4.20"},
    });
    Item::raw("config.openshift.io", "clusterversions", value).unwrap()
}

#[test]
fn the_upgrade_work_is_the_specified_one() {
    let item = version()
        .orphan()
        .server_side_apply("work-agent-ocloud-upgrade")
        .watched()
        .feedback("desired", ".status.desired.version")
        .feedback("observed", ".status.observedGeneration");
    let work = Draft::new("spoke1", "pr-upgrade-cv").payload("upgrade", "pr").item(item).build().unwrap();
    let got = serde_json::to_value(&work).unwrap();
    let want = json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "ManifestWork",
        "metadata": {
            "name": "pr-upgrade-cv", "namespace": "spoke1",
            "labels": {"addon.clcm.openshift.io/purpose": "upgrade", "addon.clcm.openshift.io/request": "pr"},
        },
        "spec": {
            "workload": {"manifests": [{
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"channel": "stable-4.20"},
            }]},
            "deleteOption": {
                "propagationPolicy": "SelectivelyOrphan",
                "selectivelyOrphans": {"orphaningRules": [
                    {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
                ]},
            },
            "manifestConfigs": [{
                "resourceIdentifier":
                    {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
                "updateStrategy": {
                    "type": "ServerSideApply",
                    "serverSideApply": {"force": true, "fieldManager": "work-agent-ocloud-upgrade"},
                },
                "feedbackScrapeType": "Watch",
                "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
                    {"name": "desired", "path": ".status.desired.version"},
                    {"name": "observed", "path": ".status.observedGeneration"},
                ]}],
            }],
        },
    });
    assert_eq!(got, want);
}

#[test]
fn an_unchanged_work_is_not_written_again() {
    let draft = Draft::new("c", "w").item(item("a"));
    let Some(Step::Apply { object, .. }) = draft.step(None).unwrap() else { panic!() };
    let mut stored: ManifestWork = serde_json::from_value(serde_json::to_value(&object).unwrap()).unwrap();
    assert_eq!(draft.step(Some(&stored)).unwrap(), None);
    stored.trim();
    assert_eq!(draft.step(Some(&stored)).unwrap(), None);
    assert!(draft.clone().item(item("b")).step(Some(&stored)).unwrap().is_some());
    stored.spec.workload.manifests.clear();
    assert!(draft.step(Some(&stored)).unwrap().is_some());
}

#[test]
fn what_the_hub_would_refuse_is_refused_here() {
    assert!(matches!(Draft::new("c", "w").build(), Err(WorkError::Empty { .. })));
    assert!(matches!(
        Draft::new("c", &"w".repeat(64)).item(item("a")).build(),
        Err(WorkError::NameTooLong { .. })
    ));
    let big = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"x": "x".repeat(LIMIT)},
    });
    let big = Item::raw("", "configmaps", big).unwrap();
    assert!(matches!(Draft::new("c", "w").item(big).build(), Err(WorkError::TooLarge { .. })));
    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x"}});
    assert!(matches!(Item::raw("", "configmaps", nameless), Err(WorkError::Object(_))));
}

#[rstest]
#[case("pr", "upgrade-cv", "pr-upgrade-cv")]
#[case(
    "a-request-name-that-is-so-long-that-the-purpose-does-not-fit-any-more",
    "upgrade-cv",
    "a-request-name-that-is-so-long-that-the-pur-231d849f-upgrade-cv"
)]
fn names_fit(#[case] owner: &str, #[case] purpose: &str, #[case] want: &str) {
    let name = work_name(owner, purpose);
    assert!(name.len() <= 63, "{name}");
    assert_eq!(name, want);
    assert_ne!(work_name(&format!("{owner}x"), purpose), name);
}

fn condition(type_: &str, status: &str, generation: Option<i64>, message: &str) -> Value {
    let mut c = json!({
        "type": type_, "status": status, "reason": "R", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    if let Some(g) = generation {
        c["observedGeneration"] = json!(g);
    }
    c
}

fn stored(conditions: &Value, manifests: &Value) -> ManifestWork {
    serde_json::from_value(json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "w", "namespace": "c", "generation": 3},
        "spec": {"workload": {"manifests": []}},
        "status": {"conditions": conditions, "resourceStatus": {"manifests": manifests}},
    }))
    .unwrap()
}

#[rstest]
#[case::nothing(json!([]), Applied::Waiting)]
#[case::old(json!([condition("Applied", "True", Some(2), "")]), Applied::Waiting)]
#[case::unknown(json!([condition("Applied", "Unknown", Some(3), "")]), Applied::Waiting)]
#[case::yes(json!([condition("Applied", "True", Some(3), "")]), Applied::Yes)]
#[case::no(json!([condition("Applied", "False", Some(3), "Failed to apply manifest work")]),
    Applied::No(vec!["Failed to apply manifest work".into()]))]
fn only_the_current_generation_counts(#[case] conditions: Value, #[case] want: Applied) {
    assert_eq!(applied(&stored(&conditions, &json!([]))), want);
}

#[test]
fn manifests_are_found_by_identity_and_believed_only_when_current() {
    let entry = |name: &str, generation: i64, applied: &str| {
        json!({
            "resourceMeta": {
                "ordinal": 9, "group": "config.openshift.io", "version": "v1", "kind": "ClusterVersion",
                "resource": "clusterversions", "name": name, "namespace": "",
            },
            "conditions": [
                condition("Applied", applied, Some(generation), "forbidden"),
                condition("Available", "True", None, ""),
            ],
            "statusFeedback": {"values": [
                {"name": "desired", "fieldValue": {"type": "String", "string": "4.20.5"}},
                {"name": "observed", "fieldValue": {"type": "Integer", "integer": 7}},
                {"name": "verified", "fieldValue": {"type": "Boolean", "boolean": false}},
            ]},
        })
    };
    let manifests =
        json!([entry("old", 2, "True"), entry("refused", 3, "False"), entry("version", 3, "True")]);
    let work = stored(&json!([condition("Applied", "False", Some(3), "Failed")]), &manifests);
    let id = |name: &str| ResourceIdentifier {
        group: "config.openshift.io".into(),
        resource: "clusterversions".into(),
        name: name.into(),
        namespace: String::new(),
    };
    assert!(manifest(&work, &id("old")).is_none());
    assert!(manifest(&work, &id("other")).is_none());
    assert_eq!(manifest(&work, &id("refused")).unwrap().refusal(), Some("forbidden"));
    let found = manifest(&work, &id("version")).unwrap();
    assert_eq!(found.refusal(), None);
    assert!(found.exists());
    assert_eq!(found.text("desired"), Some("4.20.5"));
    assert_eq!(found.integer("observed"), Some(7));
    assert_eq!(found.boolean("verified"), Some(false));
    assert_eq!(found.text("observed"), None);
    assert_eq!(applied(&work), Applied::No(vec!["ClusterVersion refused: forbidden".into()]));
}
