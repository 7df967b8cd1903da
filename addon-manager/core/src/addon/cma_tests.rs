use super::*;
use serde_json::Value;

#[expect(clippy::needless_pass_by_value, reason = "a literal reads better")]
fn addon(status: Value) -> Arc<ClusterManagementAddOn> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ClusterManagementAddOn",
        "metadata": {"name": "ocloud", "resourceVersion": "7"},
        "spec": {"supportedConfigs": [{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs"}]},
        "status": status,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "a literal reads better")]
fn config(name: &str, spec: Value) -> Arc<AddOnDeploymentConfig> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "AddOnDeploymentConfig",
        "metadata": {"name": name, "namespace": "oran", "generation": 1},
        "spec": spec,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn reference(name: &str, hash: &str) -> Value {
    json!({
        "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "desiredConfig": {"name": name, "namespace": "oran", "specHash": hash},
    })
}

#[test]
fn hashes_are_filled_and_the_rest_of_the_lists_is_kept() {
    let mut install = reference("a", "");
    install["lastAppliedConfig"] = json!({"name": "a", "namespace": "oran", "specHash": "old"});
    let condition = json!({
        "type": "Progressing", "status": "True", "reason": "Progressing", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let foreign = json!({"group": "x", "resource": "ys", "desiredConfig": {"name": "z", "specHash": ""}});
    let status = json!({
        "defaultconfigReferences": [reference("a", ""), foreign],
        "installProgressions": [
            {"namespace": "n", "name": "p", "configReferences": [install], "conditions": [condition]},
        ],
    });
    let seen = Seen { addon: addon(status.clone()), configs: vec![config("a", json!({"x": 1}))] };
    assert_eq!(wanted(&seen.addon), [("oran".to_owned(), "a".to_owned())]);
    let plan = decide(&seen);
    let [Step::MergeStatus { patch, resource_version, .. }] = plan.steps.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!(resource_version.as_deref(), Some("7"));
    let hash = config_hash(&seen.configs[0]);
    let mut want = status;
    want["defaultconfigReferences"][0]["desiredConfig"]["specHash"] = json!(hash);
    want["installProgressions"][0]["configReferences"][0]["desiredConfig"]["specHash"] = json!(hash);
    assert_eq!(patch["status"], want);
    assert!(plan.events.is_empty());

    let settled = Seen { addon: addon(patch["status"].clone()), configs: seen.configs };
    assert!(decide(&settled).steps.is_empty());
}

#[test]
fn one_missing_object_does_not_keep_the_others_from_their_hashes() {
    let status = json!({"defaultconfigReferences": [reference("gone", "abc"), reference("b", "")]});
    let plan = decide(&Seen { addon: addon(status), configs: vec![config("b", json!({}))] });
    let [Step::MergeStatus { patch, .. }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    let list = &patch["status"]["defaultconfigReferences"];
    assert_eq!(list[0]["desiredConfig"]["specHash"], "");
    assert_eq!(list[1]["desiredConfig"]["specHash"].as_str().map(str::len), Some(64));
    assert_eq!(plan.events.len(), 1);
    assert!(plan.events[0].message.contains("oran/gone"));
}

#[test]
fn nothing_is_written_without_status_or_for_another_addon() {
    assert!(decide(&Seen { addon: addon(json!({})), configs: vec![] }).steps.is_empty());
    let mut other = addon(json!({"defaultconfigReferences": [reference("a", "x")]}));
    Arc::make_mut(&mut other).metadata.name = Some("other".into());
    assert!(decide(&Seen { addon: other, configs: vec![] }).steps.is_empty());
}
