//! The frame of section 3: id, locking, status, events, waking; section 4.10 and 4.11.

use manifests::meta::condition;

use super::*;

/// Scenario 2: several errors, in the order of the checks, joined by `;`.
#[test]
fn s01_002_messages_are_joined_in_order() {
    let text = message(|c| {
        c.spec()["templateId"] = json!("x2");
        c.schema().as_object_mut().unwrap().remove("required");
        c.profiles.clear();
        c.defaults()["upgradeDefaults"] = json!({});
    });
    assert_eq!(
        text,
        "failed to validate templateID, invalid UUID:x2;error unmarshalling required subschema: could not extract the \
         'required' section of schema: parent schema does not contain key 'required': %!w(<nil>);HardwareProfile \
         \"profile-a\" referenced by nodeGroup \"master\" does not exist"
    );
}

#[test]
fn s01_002_a_valid_template_locks_its_config_maps() {
    let case = case();
    let plan = case.plan();
    let names: Vec<_> = plan
        .steps
        .iter()
        .map(|step| {
            let Step::Merge { target, patch, resource_version, manager } = step else { panic!("{step:?}") };
            assert_eq!(*patch, json!({"immutable": true}));
            assert_eq!(resource_version.as_deref(), Some("7"));
            assert_eq!(*manager, "ocloud-manager");
            assert_eq!((target.api.kind.as_str(), target.namespace.as_deref()), ("ConfigMap", Some("ns")));
            target.name.as_str()
        })
        .collect();
    assert_eq!(names, ["ci", "policy"]);
    assert_eq!(plan.events.len(), 1);
    assert!(!plan.events[0].warning);
    assert_eq!((plan.events[0].reason.as_str(), plan.wake), ("Completed", Wake::OnChange));
}

#[test]
fn s01_002_an_invalid_template_locks_nothing() {
    let mut case = case();
    case.image_set = None;
    let plan = case.plan();
    assert_eq!(plan.steps, []);
    assert!(plan.events[0].warning);
    assert_eq!(plan.wake, Wake::OnChange);

    // A ConfigMap that goes makes it invalid; one that comes back makes it valid again.
    let mut case = super::case();
    let lost = case.cluster_map.take();
    assert!(!case.message().is_empty());
    case.cluster_map = lost;
    assert_eq!(case.message(), "");
}

#[test]
fn one_config_map_for_both_is_locked_once() {
    let mut case = case();
    case.defaults()["policyTemplateDefaults"] = json!("ci");
    case.cluster_map.as_mut().unwrap()["data"]["policytemplate-defaults"] = json!("");
    case.policy_map = case.cluster_map.clone();
    assert_eq!(case.message(), "");
    assert_eq!(case.plan().steps.len(), 1);
}

#[test]
fn nothing_is_done_when_nothing_changed() {
    let mut case = case();
    for map in [&mut case.cluster_map, &mut case.policy_map] {
        map.as_mut().unwrap()["immutable"] = json!(true);
    }
    case.template["status"] = serde_json::to_value(case.plan().status.unwrap()).unwrap();
    let plan = case.with(|seen| decide(seen, at(99_999)));
    assert_eq!((plan.steps, plan.events, plan.wake), (vec![], vec![], Wake::OnChange));
    assert_eq!(serde_json::to_value(plan.status).unwrap(), case.template["status"]);

    case.profiles.clear();
    case.template["status"] = serde_json::to_value(case.plan().status.unwrap()).unwrap();
    let plan = case.with(|seen| decide(seen, at(99_999)));
    assert_eq!((plan.steps, plan.events), (vec![], vec![]));
    assert_eq!(serde_json::to_value(plan.status).unwrap(), case.template["status"]);
}

/// A status of upstream has no generation; taking it over is one write and no event.
#[test]
fn statuses_of_upstream_are_taken_over() {
    let mut case = case();
    case.template["status"] = json!({"conditions": [{
        "type": "ClusterTemplateValidated", "status": "True", "reason": "Completed", "message": SUCCEEDED,
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }]});
    let plan = case.plan();
    let c = plan.status.unwrap().conditions.remove(0);
    assert_eq!(c.observed_generation, Some(4));
    assert_eq!(c.last_transition_time.0.to_string(), "2025-01-01T00:00:00Z");
    assert_eq!(plan.events, []);
}

/// Scenario 3.
#[test]
fn s01_003_an_id_is_given_once() {
    for empty in [json!(null), json!("")] {
        let mut case = case();
        case.spec()["templateId"] = empty;
        case.profiles.clear();
        let plan = case.plan();
        assert_eq!((plan.status, plan.events.len()), (None, 0));
        let [Step::Merge { target, patch, .. }] = plan.steps.as_slice() else { panic!("{:?}", plan.steps) };
        assert_eq!(target.to_string(), "ClusterTemplate ns/edge.v1");
        let id = patch["spec"]["templateId"].as_str().unwrap();
        assert_eq!(id, identity::generate("hub", "ns", "edge.v1").to_string());

        // With it, the template is validated and the id stays.
        case.spec()["templateId"] = json!(id);
        case.profiles.insert("profile-a".to_owned());
        assert_eq!(case.message(), "");
        assert!(case.plan().steps.iter().all(|s| !format!("{s:?}").contains("templateId")));
    }
}

fn fault(class: FaultClass) -> Fault {
    Fault { step: 0, target: "ConfigMap ns/ci".into(), class, message: "denied by a policy".into() }
}

#[test]
fn refused_writes_are_shown_and_tried_again() {
    let mut case = case();
    case.fault = Some(fault(FaultClass::Invalid));
    assert_eq!(case.message(), "failed to write ConfigMap ns/ci: denied by a policy");
    let plan = case.plan();
    assert_eq!((plan.steps.len(), plan.wake), (0, Wake::At(at(100 + 300))));

    case.fault = Some(fault(FaultClass::Transient));
    assert_eq!(case.plan(), Plan::default());
}

#[test]
fn a_template_that_is_being_deleted_is_left_alone() {
    let mut case = case();
    case.template["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(case.plan(), Plan::default());
}

/// Scenario 6: of two with one name the older stays, and its deletion heals the other.
#[test]
fn s01_006_deleting_a_twin_heals_the_other() {
    let older: ClusterTemplate = typed(&case().template);
    let mut younger = case();
    younger.template["metadata"]["namespace"] = json!("other");
    younger.template["metadata"]["creationTimestamp"] = json!("2026-01-02T00:00:00Z");
    younger.twins = vec![Twin::of(&older)];
    assert!(younger.message().ends_with("already exists in namespaces: ns"));
    younger.twins.clear();
    assert_eq!(younger.message(), "");

    let mut first = case();
    younger.template["status"] = json!({"conditions": []});
    first.twins = vec![Twin::of(&typed(&younger.template))];
    assert_eq!(first.message(), "");
}

/// Scenario 7, the guard; that a fulfilled request keeps its phase is the request's matter.
#[test]
fn s01_007_templates_in_use_are_not_deleted() {
    use manifests::clcm::{ProvisioningRequest, ProvisioningRequestSpec};
    let request = |name: &str, version: &str| {
        let (template_name, template_version) = ("edge".to_owned(), version.to_owned());
        let spec =
            ProvisioningRequestSpec { template_name, template_version, ..ProvisioningRequestSpec::default() };
        ProvisioningRequest::new(name, spec)
    };
    let mut template = stored("ns", "2026-01-01T00:00:00Z", true);
    let mut requests: Vec<_> = (1..=7).map(|i| request(&format!("r{i}"), "v1")).collect();
    requests.push(request("other", "v2"));
    assert_eq!(
        guard::refuse_delete(&template, [], &requests).unwrap(),
        "ClusterTemplate edge.v1 is in use by ProvisioningRequest r1, r2, r3, r4, r5 and 2 more; remove the users first, \
         or set the annotation clcm.openshift.io/force-delete: \"true\""
    );
    for request in requests.iter_mut().take(7) {
        request.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    }
    assert_eq!(guard::refuse_delete(&template, [], &requests), None);
    requests[0].metadata.deletion_timestamp = None;
    assert!(guard::refuse_delete(&template, [], &requests).is_some());
    // Another valid one takes its place; an invalid one does not.
    let twins = [stored("b", "2026-02-01T00:00:00Z", true), stored("c", "2026-02-01T00:00:00Z", false)];
    assert_eq!(guard::refuse_delete(&template, &twins, &requests), None);
    assert!(guard::refuse_delete(&template, &twins[1..], &requests).is_some());
    template.metadata.annotations = Some([(guard::FORCE_DELETE.to_owned(), "true".to_owned())].into());
    assert_eq!(guard::refuse_delete(&template, [], &requests), None);
}

#[test]
fn what_fails_later_is_told_in_events() {
    let mut case = case();
    case.policy_map.as_mut().unwrap()["data"] = json!({
        "policytemplate-defaults": "cpu: 4\nextra: x\ncpu: 5\n",
        "clusterConfigurationTimeout": "-1m",
    });
    case.cluster["nodeGroups"][0]["nodeNetwork"]["interfaces"][0]["label"] = json!("fronthaul");
    *case.property("siteName") = json!({"type": "string", "pattern": "("});
    assert_eq!(case.message(), "");
    let texts: Vec<String> = case.plan().events.into_iter().skip(1).map(|note| note.message).collect();
    assert_eq!(
        texts,
        [
            "templateParameterSchema of siteName cannot be used: pattern must be a valid regex",
            "nodeGroups[0] in ConfigMap ci has no interface with label boot-interface; its hosts cannot be installed",
            "key policytemplate-defaults of ConfigMap policy has cpu more than once (line 3); the last one counts",
            "cpu is not a string (key policytemplate-defaults of ConfigMap policy)",
            "extra is not declared in policyTemplateParameters (key policytemplate-defaults of ConfigMap policy)",
            "clusterConfigurationTimeout of ConfigMap policy is negative; requests refuse it",
            "templateParameterSchema has properties that nothing reads: siteName",
        ]
    );
}

#[test]
fn dependencies_are_named() {
    let case = case();
    case.with(|seen| {
        let found = dependencies(seen.template, seen.cluster_instance_defaults);
        assert_eq!(
            found,
            Dependencies {
                config_maps: BTreeSet::from(["ci".to_owned(), "policy".to_owned()]),
                profiles: BTreeSet::from(["profile-a".to_owned()]),
                image_set: Some("img".to_owned()),
            }
        );
        assert_eq!(dependencies(seen.template, None).image_set, None);
    });
    let mut skipping = super::case();
    skipping.template["metadata"]["annotations"] =
        json!({"clcm.openshift.io/skip-clusterimageset-validation": "true"});
    skipping
        .with(|seen| assert_eq!(dependencies(seen.template, seen.cluster_instance_defaults).image_set, None));
}

fn stored(namespace: &str, created: &str, valid: bool) -> ClusterTemplate {
    let mut template: ClusterTemplate = typed(&case().template);
    template.metadata.namespace = Some(namespace.to_owned());
    template.metadata.creation_timestamp = serde_json::from_value(json!(created)).unwrap();
    let status = template.status.get_or_insert_default();
    let next = if valid {
        condition::Next::yes("ClusterTemplateValidated", "Completed", SUCCEEDED)
    } else {
        condition::Next::no("ClusterTemplateValidated", "Failed", "x")
    };
    condition::set(&mut status.conditions, next, at(1));
    template
}

/// Scenarios 2 and 3 of spec/02, the look-up.
#[test]
fn s02_002_the_oldest_valid_template_is_found() {
    let list = [
        stored("young", "2026-03-01T00:00:00Z", true),
        stored("b", "2026-02-01T00:00:00Z", true),
        stored("a", "2026-02-01T00:00:00Z", true),
        stored("invalid", "2026-01-01T00:00:00Z", false),
    ];
    let found = find_valid(&list, "edge.v1").unwrap();
    assert_eq!(found.metadata.namespace.as_deref(), Some("a"));
    for (name, version) in [("edge", "v2"), ("other", "v1")] {
        assert_eq!(
            find_valid(&list, &format!("{name}.{version}")).unwrap_err().to_string(),
            format!("a valid ClusterTemplate ({name}.{version}) does not exist in any namespace")
        );
    }
    // s02_003: an invalid one counts for nothing.
    assert!(find_valid(&list[3..], "edge.v1").is_err());
    let shared: Vec<std::sync::Arc<ClusterTemplate>> = list.into_iter().map(Into::into).collect();
    assert!(find_valid(shared, "edge.v1").is_ok());
}

#[test]
fn the_schema_of_the_served_and_stored_version_is_taken() {
    let definition = typed(&json!({
        "metadata": {"name": "x"},
        "spec": {
            "group": "g", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"},
            "versions": [
                {"name": "v1", "served": true, "storage": false},
                {"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "maxProperties": 3}}}}},
            ],
        },
    }));
    assert_eq!(spec_schema(&definition), Some(json!({"type": "object", "maxProperties": 3})));
}

proptest::proptest! {
    /// Whatever users write, the decision ends and says something.
    #[test]
    fn nothing_panics(text in "(\\PC|\n|: |- |\\{|\\[){0,60}", number in proptest::num::i64::ANY) {
        let mut case = case();
        case.cluster_text(&text);
        case.policy_map.as_mut().unwrap()["data"]["policytemplate-defaults"] = json!(text);
        case.spec()["release"] = json!(text);
        case.spec()["templateId"] = json!(format!("i{text}"));
        case.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!(text);
        case.defaults()["upgradeDefaults"] = json!({"clusterVersion": {"cvSpec": text, "clusterUpgradeTimeout": number},
            "intermediateVersion": text});
        *case.property("upgradeParameters") = json!({"type": "object", "properties": {"clusterVersion": {"type": text}}});
        case.message();
    }
}
