use super::*;
use kube::core::TypeMeta;
use manifests::ocm::names::{
    LABEL_ADDON_NAME, agent_cluster_group, agent_shared_group, agent_token_user, agent_user,
};
use rstest::rstest;

const CLUSTER: &str = "spoke1";
const CONFIG_GROUP: &str = "addon.open-cluster-management.io";

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn condition(type_: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "m", "lastTransitionTime": since})
}

fn seen() -> Seen {
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": CLUSTER}, "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [condition("ManagedClusterConditionAvailable", "True", "x", "2026-01-01T00:00:00Z")]},
    });
    let addon = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {
            "name": "ocloud", "namespace": CLUSTER, "uid": "u-1", "resourceVersion": "5", "generation": 1,
            "ownerReferences": [{
                "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
                "name": "ocloud", "uid": "c-1",
            }],
        },
        "spec": {},
    });
    Seen {
        settings: Arc::new(Settings::new("quay.io/ocloud/addon-agent:1")),
        name: CLUSTER.into(),
        cluster: Some(Arc::new(serde_json::from_value(cluster).unwrap())),
        addon: Some(Arc::new(serde_json::from_value(addon).unwrap())),
        configs: Vec::new(),
        works: Vec::new(),
        binding: None,
        report: None,
        request: None,
        fault: None,
    }
}

fn addon(seen: &mut Seen) -> &mut ManagedClusterAddOn {
    Arc::make_mut(seen.addon.as_mut().unwrap())
}

fn status(seen: &mut Seen) -> &mut ManagedClusterAddOnStatus {
    addon(seen).status.get_or_insert_default()
}

fn put_condition(seen: &mut Seen, value: Value) {
    let c: Condition = serde_json::from_value(value).unwrap();
    let list = &mut status(seen).conditions;
    list.retain(|o| o.type_ != c.type_);
    list.push(c);
}

/// What the API server would answer to the steps: a small world on which passes run until nothing changes.
fn carry_out(seen: &mut Seen, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Apply { api, object, .. } => {
                let value = serde_json::to_value(object).unwrap();
                match api.kind.as_str() {
                    "RoleBinding" => {
                        let mut meta: PartialObjectMeta<RoleBinding> = PartialObjectMeta {
                            types: Some(TypeMeta::resource::<RoleBinding>()),
                            metadata: object.metadata.clone(),
                            ..Default::default()
                        };
                        meta.metadata.managed_fields = None;
                        seen.binding = Some(Arc::new(meta));
                    }
                    "SpokeReport" => {
                        let mut report: SpokeReport = serde_json::from_value(value).unwrap();
                        report.status = seen.report.as_ref().and_then(|r| r.status.clone());
                        seen.report = Some(Arc::new(report));
                    }
                    "ManifestWork" => {
                        let mut work: ManifestWork = serde_json::from_value(value).unwrap();
                        work.metadata.generation = Some(1);
                        seen.works.retain(|w| w.metadata.name != work.metadata.name);
                        seen.works.push(Arc::new(work));
                    }
                    other => panic!("{other}"),
                }
            }
            Step::MergeStatus { patch, resource_version, .. } => {
                assert_eq!(resource_version.as_deref(), Some("5"));
                let mut old = serde_json::to_value(addon(seen).status.clone().unwrap_or_default()).unwrap();
                json_patch::merge(&mut old, &patch["status"]);
                addon(seen).status = Some(serde_json::from_value(old).unwrap());
            }
            Step::ApplyStatus { object, .. } => {
                assert_eq!(object.metadata.uid.as_deref(), Some("u-1"));
                let new: ManagedClusterAddOnStatus =
                    serde_json::from_value(object.data["status"].clone()).unwrap();
                let old = status(seen);
                for c in new.conditions {
                    old.conditions.retain(|o| o.type_ != c.type_);
                    old.conditions.push(c);
                }
                old.supported_configs = new.supported_configs;
                old.health_check = new.health_check;
                old.add_on_meta = new.add_on_meta;
                old.related_objects = new.related_objects;
            }
            Step::Merge { patch, .. } => {
                let mut meta = serde_json::to_value(&addon(seen).metadata).unwrap();
                json_patch::merge(&mut meta, &patch["metadata"]);
                addon(seen).metadata = serde_json::from_value(meta).unwrap();
            }
            Step::Delete { target, .. } => {
                seen.works.retain(|w| w.metadata.name.as_deref() != Some(&target.name));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Passes until nothing changes; panics when that takes more than a few.
fn settle(seen: &mut Seen) -> Vec<Plan<()>> {
    let mut plans = Vec::new();
    for _ in 0..5 {
        let plan = decide(seen, now());
        if plan.steps.is_empty() {
            return plans;
        }
        carry_out(seen, &plan.steps);
        plans.push(plan);
    }
    panic!("not at rest: {:?}", decide(seen, now()).steps);
}

fn says(seen: &Seen, kind: AddOnCondition) -> (String, String, String) {
    let c = seen.addon.as_ref().unwrap().condition(kind).unwrap();
    (c.status.clone(), c.reason.clone(), c.message.clone())
}

fn three(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.into(), reason.into(), message.into())
}

/// The work agent's answer to the current generation.
fn answer(seen: &mut Seen, applied: &str) {
    for work in &mut seen.works {
        let work = Arc::make_mut(work);
        let status = json!({
            "conditions": [{
                "type": "Applied", "status": applied, "reason": "r", "message": "Failed to apply manifest work",
                "observedGeneration": work.metadata.generation, "lastTransitionTime": "2026-01-01T11:00:00Z",
            }],
            "resourceStatus": {"manifests": [{
                "resourceMeta": {"kind": "Deployment", "name": "ocloud-agent"},
                "conditions": [{
                    "type": "Applied", "status": applied, "reason": "r", "message": "quota exceeded",
                    "lastTransitionTime": "2026-01-01T11:00:00Z",
                }],
            }]},
        });
        work.status = Some(serde_json::from_value(status).unwrap());
    }
}

fn report(degraded: Option<(&str, &str, &str)>) -> Arc<SpokeReport> {
    let mut value = json!({
        "apiVersion": "addon.clcm.openshift.io/v1alpha1", "kind": "SpokeReport",
        "metadata": {"name": "ocloud", "namespace": CLUSTER}, "status": {"updatedAt": "2026-01-01T10:00:00Z"},
    });
    if let Some((status, reason, message)) = degraded {
        value["status"]["conditions"] = json!([{
            "type": "Degraded", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T10:00:00Z",
        }]);
    }
    Arc::new(serde_json::from_value(value).unwrap())
}

/// T1: from a bare ManagedClusterAddOn to everything in place, then no more writes.
#[test]
fn s07_t1_a_new_addon_gets_all_it_needs_and_then_rests() {
    let mut s = seen();
    let plans = settle(&mut s);
    assert_eq!(plans.len(), 2, "{plans:?}");
    let st = s.addon.as_ref().unwrap().status.clone().unwrap();
    assert_eq!(st.namespace.as_deref(), Some("open-cluster-management-agent-addon"));
    let subject = st.registrations[0].subject.clone().unwrap();
    assert_eq!(subject.user, "system:open-cluster-management:cluster:spoke1:addon:ocloud:agent:ocloud");
    assert_eq!(subject.groups, [agent_cluster_group(CLUSTER), agent_shared_group()]);
    assert_eq!(st.registrations[0].signer_name, "kubernetes.io/kube-apiserver-client");
    assert_eq!(st.health_check.unwrap().mode.as_deref(), Some("Lease"));
    assert_eq!(st.related_objects[0].resource, "spokereports");
    let want = three("True", "SetPermissionApplied", "Registration of the addon agent is configured");
    assert_eq!(says(&s, AddOnCondition::RegistrationApplied), want);
    assert!(s.addon.as_ref().unwrap().condition(AddOnCondition::ManifestApplied).is_none());

    answer(&mut s, "True");
    settle(&mut s);
    let want = three("True", "AddonManifestApplied", "manifests of addon are applied successfully");
    assert_eq!(says(&s, AddOnCondition::ManifestApplied), want);
    s.report = s.report.clone();
    assert!(decide(&s, now()).steps.is_empty());
}

#[test]
fn s07_t1_rights_are_given_to_the_subject_that_was_observed() {
    let mut s = seen();
    let first = decide(&s, now());
    let kinds = |plan: &Plan<()>| -> Vec<String> {
        plan.steps
            .iter()
            .map(|step| match step {
                Step::Apply { api, .. } => api.kind.clone(),
                Step::MergeStatus { .. } => "merge".into(),
                Step::ApplyStatus { .. } => "status".into(),
                Step::Merge { .. } => "annotations".into(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(kinds(&first), ["merge", "annotations", "SpokeReport", "ManifestWork", "status"]);
    carry_out(&mut s, &first.steps);
    let want = three("False", "PermissionConfigPending", "registration subject not ready");
    assert_eq!(says(&s, AddOnCondition::RegistrationApplied), want);
    assert_eq!(kinds(&decide(&s, now())), ["RoleBinding", "status"]);
}

fn binding_of(plan: &Plan<()>) -> Value {
    let found = plan.steps.iter().find_map(|s| match s {
        Step::Apply { api, object, .. } if api.kind == "RoleBinding" => {
            Some(serde_json::to_value(object).unwrap())
        }
        _ => None,
    });
    found.unwrap()
}

#[test]
fn s07_t1_agents_of_other_clusters_get_nothing() {
    let mut s = seen();
    let first = decide(&s, now());
    carry_out(&mut s, &first.steps);
    let binding = binding_of(&decide(&s, now()));
    let api = "rbac.authorization.k8s.io";
    assert_eq!(binding["roleRef"], json!({"apiGroup": api, "kind": "ClusterRole", "name": "ocloud-agent"}));
    let subjects = json!([
        {"apiGroup": api, "kind": "User", "name": agent_user(CLUSTER)},
        {"apiGroup": api, "kind": "Group", "name": agent_cluster_group(CLUSTER)},
    ]);
    assert_eq!(binding["subjects"], subjects);
    assert_eq!(binding["metadata"]["namespace"], CLUSTER);
    assert_eq!(binding["metadata"]["labels"][LABEL_ADDON_NAME], "ocloud");
    assert_eq!(binding["metadata"]["ownerReferences"][0]["uid"], "u-1");
}

/// T4: the spoke names the subject and we keep it.
#[test]
fn s07_t4_the_token_driver_is_not_fought() {
    let mut s = seen();
    settle(&mut s);
    let subject = |user: String, groups: Vec<String>| manifests::ocm::addon::Subject {
        user,
        groups,
        organization_unit: vec![],
    };
    // Driver seen first, subject still the old one: no rights are taken or given, nothing is written back.
    status(&mut s).kube_client_driver = Some("token".into());
    let plan = decide(&s, now());
    assert!(
        !plan.steps.iter().any(|s| matches!(s, Step::MergeStatus { .. } | Step::Apply { .. })),
        "{plan:?}"
    );
    status(&mut s).registrations[0].subject = Some(subject(agent_token_user(CLUSTER), vec![]));
    let plan = decide(&s, now());
    assert!(!plan.steps.iter().any(|s| matches!(s, Step::MergeStatus { .. })), "{plan:?}");
    let name = "system:serviceaccount:spoke1:ocloud-agent";
    assert_eq!(
        binding_of(&plan)["subjects"],
        json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}])
    );
    settle(&mut s);
    assert_eq!(says(&s, AddOnCondition::RegistrationApplied).1, "SetPermissionApplied");
    // And back.
    status(&mut s).kube_client_driver = Some("csr".into());
    settle(&mut s);
    let user =
        s.addon.as_ref().unwrap().status.as_ref().unwrap().registrations[0].subject.clone().unwrap().user;
    assert_eq!(user, agent_user(CLUSTER));
}

#[test]
fn s07_t4_without_a_subject_the_token_driver_waits() {
    let mut s = seen();
    status(&mut s).kube_client_driver = Some("token".into());
    settle(&mut s);
    assert_eq!(says(&s, AddOnCondition::RegistrationApplied).1, "PermissionConfigPending");
    assert!(s.binding.is_none());
}

#[rstest]
#[case::another_cluster("system:serviceaccount:spoke2:ocloud-agent")]
#[case::admin("admin")]
fn a_subject_that_the_agent_cannot_be_gets_nothing(#[case] user: &str) {
    let mut s = seen();
    status(&mut s).kube_client_driver = Some("token".into());
    let subject = manifests::ocm::addon::Subject { user: user.into(), ..Default::default() };
    status(&mut s).registrations = vec![manifests::ocm::addon::Registration {
        signer_name: "kubernetes.io/kube-apiserver-client".into(),
        subject: Some(subject),
    }];
    settle(&mut s);
    let (status, reason, message) = says(&s, AddOnCondition::RegistrationApplied);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SetPermissionFailed"));
    assert!(message.contains(user), "{message}");
    assert!(s.binding.is_none());
}

#[test]
fn s07_t6_nothing_is_done_while_somebody_leaves_or_without_owner() {
    let gone = || {
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time("2026-01-01T00:00:00Z".parse().unwrap()))
    };
    let mut s = seen();
    addon(&mut s).metadata.deletion_timestamp = gone();
    assert_eq!(decide(&s, now()), Plan::default());
    s = seen();
    Arc::make_mut(s.cluster.as_mut().unwrap()).metadata.deletion_timestamp = gone();
    assert_eq!(decide(&s, now()), Plan::default());
    s = seen();
    addon(&mut s).metadata.owner_references = None;
    assert_eq!(decide(&s, now()), Plan::default());
    s = seen();
    s.cluster = None;
    assert_eq!(decide(&s, now()), Plan::default());
    s = seen();
    s.addon = None;
    assert_eq!(decide(&s, now()), Plan::default());
}

fn fault(target: &str) -> Fault {
    Fault {
        step: 1,
        target: target.into(),
        class: crate::plan::FaultClass::Invalid,
        message: "it is forbidden".into(),
    }
}

#[test]
fn a_failed_step_is_told_in_the_condition_it_belongs_to() {
    let mut s = seen();
    settle(&mut s);
    s.binding = None;
    s.fault = Some(fault("RoleBinding spoke1/open-cluster-management:ocloud:agent"));
    let plan = decide(&s, now());
    assert!(plan.steps.iter().all(|s| matches!(s, Step::ApplyStatus { .. })));
    carry_out(&mut s, &plan.steps);
    let (status, reason, message) = says(&s, AddOnCondition::RegistrationApplied);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SetPermissionFailed"));
    assert!(message.starts_with("Failed to set permission for hub agent: "), "{message}");
    assert!(message.ends_with("it is forbidden"), "{message}");
    assert!(plan.events.iter().any(|e| e.warning));

    s.fault = Some(fault("ManifestWork spoke1/addon-ocloud-deploy-0"));
    let plan = decide(&s, now());
    carry_out(&mut s, &plan.steps);
    let want = three("False", "ManifestWorkApplyFailed", "failed to apply manifestWork: it is forbidden");
    assert_eq!(says(&s, AddOnCondition::ManifestApplied), want);
}

#[expect(clippy::needless_pass_by_value, reason = "a literal reads better")]
fn config(generation: i64, spec: Value) -> Arc<AddOnDeploymentConfig> {
    let object = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "cfg", "namespace": "oran", "generation": generation}, "spec": spec,
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn refer(seen: &mut Seen, hash: &str) {
    let reference = json!({
        "group": CONFIG_GROUP, "resource": "addondeploymentconfigs", "name": "cfg", "namespace": "oran",
        "desiredConfig": {"name": "cfg", "namespace": "oran", "specHash": hash},
    });
    status(seen).config_references = vec![serde_json::from_value(reference).unwrap()];
}

fn deployment(seen: &Seen) -> Value {
    let work = &seen.works[0];
    let found = work.spec.workload.manifests.iter().find(|m| m["kind"] == "Deployment");
    found.unwrap().clone()
}

#[test]
fn configuration_reaches_the_agent_once_its_hash_does() {
    let spec = json!({
        "agentInstallNamespace": "edge",
        "customizedVariables": [{"name": "LOG", "value": "debug"}, {"name": "ODD", "value": "1"}],
        "nodePlacement": {"nodeSelector": {"a": "b"}},
        "registries": [{"source": "quay.io/ocloud", "mirror": "local:5000/x"}],
        "proxyConfig": {"httpsProxy": "http://p:3128", "noProxy": ".local", "caBundle": "YWJj"},
        "resourceRequirements": [{"containerID": "deployments:*:*", "resources": {"limits": {"memory": "1Gi"}}}],
    });
    let mut s = seen();
    s.configs = vec![config(4, spec)];
    // OCM has named it, nobody has hashed it: wait, but note the generation.
    refer(&mut s, "");
    settle(&mut s);
    assert!(s.works.is_empty());
    assert_eq!(status(&mut s).config_references[0].last_observed_generation, Some(4));
    let hash = config_hash(&s.configs[0]);
    refer(&mut s, &hash);
    let plans = settle(&mut s);
    let ignored: Vec<_> =
        plans.iter().flat_map(|p| &p.events).filter(|e| e.reason == "ConfigurationIgnored").collect();
    assert_eq!(ignored.len(), 1);
    assert!(ignored[0].message.contains("ODD"));
    assert_eq!(status(&mut s).namespace.as_deref(), Some("edge"));
    let d = deployment(&s);
    assert_eq!(d["metadata"]["namespace"], "edge");
    let pod = &d["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"a": "b"}));
    let c = &pod["containers"][0];
    assert_eq!(c["image"], "local:5000/x/addon-agent:1");
    assert_eq!(c["resources"], json!({"limits": {"memory": "1Gi"}}));
    let env = |name: &str| {
        c["env"].as_array().unwrap().iter().find(|e| e["name"] == name).map(|e| e["value"].clone())
    };
    assert_eq!(env("OCLOUD_LOG"), Some(json!("debug")));
    assert_eq!(env("HTTPS_PROXY"), Some(json!("http://p:3128")));
    assert_eq!(env("no_proxy"), Some(json!(".local")));
    assert_eq!(env("HTTP_PROXY"), None);
    let annotations = s.works[0].metadata.annotations.clone().unwrap();
    let want = json!({"addondeploymentconfigs.addon.open-cluster-management.io/oran/cfg": hash}).to_string();
    assert_eq!(annotations["open-cluster-management.io/config-spec-hash"], want);

    // Edited, but the roll-out has not reached this cluster: what is deployed stays.
    let before = s.works.clone();
    s.configs = vec![config(5, json!({"agentInstallNamespace": "other"}))];
    settle(&mut s);
    assert_eq!(s.works, before);
    assert_eq!(status(&mut s).namespace.as_deref(), Some("edge"));
}

#[test]
fn an_override_gets_its_hash_from_us() {
    let mut s = seen();
    s.configs = vec![config(1, json!({}))];
    refer(&mut s, "");
    addon(&mut s).spec.configs = vec![manifests::ocm::addon::AddOnConfig {
        group: CONFIG_GROUP.into(),
        resource: "addondeploymentconfigs".into(),
        namespace: "oran".into(),
        name: "cfg".into(),
    }];
    settle(&mut s);
    let hash = status(&mut s).config_references[0].desired_config.clone().unwrap().spec_hash;
    assert_eq!(hash, config_hash(&s.configs[0]));
}

#[test]
fn a_missing_configuration_is_named() {
    let mut s = seen();
    refer(&mut s, "");
    settle(&mut s);
    let (status, reason, message) = says(&s, AddOnCondition::ManifestApplied);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ManifestWorkApplyFailed"));
    assert!(message.contains("AddOnDeploymentConfig oran/cfg does not exist"), "{message}");
}

#[test]
fn an_unconfigured_addon_is_not_deployed_anew() {
    let mut s = seen();
    put_condition(
        &mut s,
        condition("Configured", "False", "ConfigurationsNotConfigured", "2026-01-01T00:00:00Z"),
    );
    settle(&mut s);
    assert!(s.works.is_empty());
}

#[test]
fn what_the_spoke_refuses_is_shown_in_degraded() {
    let mut s = seen();
    settle(&mut s);
    answer(&mut s, "False");
    let plans = settle(&mut s);
    let want = three("False", "AddonManifestAppliedFailed", "failed to apply the manifests of addon");
    assert_eq!(says(&s, AddOnCondition::ManifestApplied), want);
    let text = "The cluster refuses the agent's manifests: Deployment ocloud-agent: quota exceeded";
    assert_eq!(says(&s, AddOnCondition::Degraded), three("True", "AgentNotDeployed", text));
    assert!(plans[0].events.iter().any(|e| e.warning && e.reason == "AgentNotDeployed"));
}

fn running(s: &mut Seen) {
    settle(s);
    answer(s, "True");
    settle(s);
    put_condition(
        s,
        condition("Available", "True", "ManagedClusterAddOnLeaseUpdated", "2026-01-01T11:59:00Z"),
    );
}

#[test]
fn the_report_decides_degraded() {
    let mut s = seen();
    running(&mut s);
    let hash = s.report.as_ref().unwrap().metadata.clone();
    let with = |s: &mut Seen, degraded| {
        let mut r = report(degraded);
        Arc::make_mut(&mut r).metadata = hash.clone();
        s.report = Some(r);
        settle(s)
    };
    with(&mut s, Some(("True", "OperatorsDegraded", "authentication is degraded: OAuth is away")));
    let want = three("True", "OperatorsDegraded", "authentication is degraded: OAuth is away");
    assert_eq!(says(&s, AddOnCondition::Degraded), want);
    let plans = with(&mut s, Some(("False", "AsExpected", "")));
    assert_eq!(
        says(&s, AddOnCondition::Degraded),
        three("False", "AsExpected", "The cluster reports no trouble")
    );
    assert_eq!(plans[0].events.len(), 1);
    assert!(!plans[0].events[0].warning);
    assert_eq!(with(&mut s, Some(("False", "AsExpected", ""))).len(), 0);
}

#[test]
fn s07_t5_a_lost_agent_is_degraded_and_a_lost_cluster_keeps_the_last_word() {
    let mut s = seen();
    running(&mut s);
    let meta = s.report.as_ref().unwrap().metadata.clone();
    let mut r = report(Some(("False", "AsExpected", "")));
    Arc::make_mut(&mut r).metadata = meta;
    s.report = Some(r);
    settle(&mut s);
    put_condition(
        &mut s,
        condition("Available", "False", "ManagedClusterAddOnLeaseUpdateStopped", "2026-01-01T11:59:30Z"),
    );
    settle(&mut s);
    let (status, reason, message) = says(&s, AddOnCondition::Degraded);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AgentNotAvailable"));
    assert!(message.contains("its last report is of 2026-01-01T10:00:00Z"), "{message}");
    assert!(message.contains("open-cluster-management-agent-addon/ocloud-agent"), "{message}");
    // The cluster is lost too: nothing is judged.
    let cluster = Arc::make_mut(s.cluster.as_mut().unwrap());
    cluster.status.as_mut().unwrap().conditions[0].status = "Unknown".into();
    put_condition(
        &mut s,
        condition("Available", "Unknown", "ManagedClusterLeaseUpdateStopped", "2026-01-01T11:59:40Z"),
    );
    assert!(decide(&s, now()).steps.is_empty());
}

#[test]
fn what_blinds_the_agent_is_passed_on() {
    let mut s = seen();
    running(&mut s);
    let mut blind = report(None);
    let r = Arc::make_mut(&mut blind);
    r.metadata = s.report.as_ref().unwrap().metadata.clone();
    let words = condition("Ready", "False", "WatchFailed", "2026-01-01T10:00:00Z");
    r.status.as_mut().unwrap().conditions = vec![serde_json::from_value(words).unwrap()];
    s.report = Some(blind);
    put_condition(&mut s, condition("Available", "Unknown", "x", "2026-01-01T11:00:00Z"));
    let plan = decide(&s, "2026-01-01T12:05:00Z".parse().unwrap());
    carry_out(&mut s, &plan.steps);
    let (_, reason, message) = says(&s, AddOnCondition::Degraded);
    assert_eq!(reason, "AgentNotAvailable");
    assert!(message.ends_with(". It says: m"), "{message}");
}

#[rstest]
#[case::no_report("True", "NoReport")]
#[case::no_lease("Unknown", "AgentNotAvailable")]
fn silence_is_told_after_five_minutes(#[case] available: &str, #[case] reason: &str) {
    let mut s = seen();
    running(&mut s);
    put_condition(&mut s, condition("Available", available, "x", "2026-01-01T12:00:00Z"));
    let plan = decide(&s, now());
    assert!(plan.steps.is_empty(), "{plan:?}");
    let deadline = "2026-01-01T12:05:00Z".parse().unwrap();
    assert_eq!(plan.wake, Wake::At(deadline));
    let plan = decide(&s, deadline);
    carry_out(&mut s, &plan.steps);
    assert_eq!(says(&s, AddOnCondition::Degraded).1, reason);
    assert_eq!(plan.wake, Wake::OnChange);
}

#[test]
fn the_deploy_work_is_the_specified_one() {
    let mut s = seen();
    settle(&mut s);
    let work = serde_json::to_value(&*s.works[0]).unwrap();
    assert_eq!(work["metadata"]["name"], "addon-ocloud-deploy-0");
    assert_eq!(work["metadata"]["labels"], json!({"open-cluster-management.io/addon-name": "ocloud"}));
    assert_eq!(work["metadata"]["annotations"]["open-cluster-management.io/cleanup-priority"], "100");
    assert!(work["metadata"]["annotations"].get("open-cluster-management.io/config-spec-hash").is_none());
    let owner = &work["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("ManagedClusterAddOn"), &json!(true)));
    let kinds: Vec<_> = work["spec"]["workload"]["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["kind"].as_str().unwrap().to_owned())
        .collect();
    let want = [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Deployment",
    ];
    assert_eq!(kinds, want);
    // The namespace holds other add-ons too.
    let rules = &work["spec"]["deleteOption"]["selectivelyOrphans"]["orphaningRules"];
    assert_eq!(
        rules,
        &json!([{"group": "", "resource": "namespaces", "name": "open-cluster-management-agent-addon"}])
    );
    let text = work.to_string();
    assert!(!text.contains("\"*\""), "no wildcard");
    assert!(!text.contains("\"secrets\""), "no right to secrets");
}

#[test]
fn the_console_links_to_the_report_when_it_is_known() {
    let mut s = seen();
    Arc::make_mut(&mut s.settings).console_url = Some("https://console.example/".into());
    settle(&mut s);
    let annotations = addon(&mut s).metadata.annotations.clone().unwrap();
    let want = "https://console.example/k8s/ns/spoke1/addon.clcm.openshift.io~v1alpha1~SpokeReport/ocloud";
    assert_eq!(annotations["console.open-cluster-management.io/launch-link"], want);
    assert_eq!(annotations["console.open-cluster-management.io/launch-link-text"], "O-Cloud report");
    assert_eq!(annotations["open-cluster-management.io/cleanup-priority"], "50");
}
