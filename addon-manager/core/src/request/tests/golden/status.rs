//! What the status says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{NodeAllocationRequest, ProvisioningRequest};
use manifests::meta::condition::{self, Next};
use manifests::ran::ClusterInstance;
use serde_json::Value;

use super::super::super::install::{self, Live};
use super::super::super::{nar, phase};
use super::{Store, apply_action, cases, key, target, text};
use crate::policy;

/// Wanted differences of what a status says: case, step, and why.
const STATUS: &[(&str, &str, &str)] = &[
    (
        "23-install-failed",
        "ClusterInstance reports completion after all",
        "the failure is over (scenario 107e)",
    ),
    ("24-install-timeout", "request edited (description only)", "the time-out is over (scenario 107e)"),
    (
        "26-policies-enforce",
        "all policies inform",
        "drift of inform policies changes nothing (scenario 107f)",
    ),
    (
        "30-no-policies",
        "cluster installer at work: ClusterInstance processed and Provisioned InProgress, ManagedCluster exists",
        "no policies is not believed yet (B-10)",
    ),
    (
        "30-no-policies",
        "cluster installed, ManagedCluster not available, no cluster id yet",
        "B-10, and the blocker is named",
    ),
    ("31-template-change-day2", "templateVersion that does not exist", "stays failed (scenario 107d)"),
    (
        "33-day2-edits",
        "policy turns NonCompliant while the edit is invalid",
        "an invalid edit stays failed (B-04)",
    ),
    (
        "41-firmware-invalid-profile",
        "profile badenum: {\"bios\": {\"TurboMode\": \"Maybe\"}}",
        HARDWARE_GOES_ON,
    ),
    ("41-firmware-invalid-profile", "profile lowint: {\"bios\": {\"FanFloor\": -1}}", HARDWARE_GOES_ON),
    (
        "41-firmware-invalid-profile",
        "profile longstr: {\"bios\": {\"AssetTag\": \"123456789\"}}",
        HARDWARE_GOES_ON,
    ),
    (
        "41-firmware-invalid-profile",
        "profile notbool: {\"bios\": {\"Quiet\": \"perhaps\"}}",
        HARDWARE_GOES_ON,
    ),
    (
        "41-firmware-invalid-profile",
        "profile nics2: {\"nic\": [{\"version\": \"9\", \"url\": \"https://fw.fjord.test/a\"}, {\"version\": \"10\", \"url\": \
         \"https://fw.fjord.test/b\"}]}",
        HARDWARE_GOES_ON,
    ),
    ("48-clusterinstance-deleted-by-hand", "ClusterInstance deleted (finalizer released)", "B-43"),
    ("54-shared-pull-secret", "first cluster installs", "no policies is not believed yet (B-10)"),
];
const HARDWARE_GOES_ON: &str = "the phase follows the conditions (B-04)";

#[test]
fn statuses_follow_from_recorded_objects() {
    let mut failures = Vec::new();
    let mut compared = [0_usize; 4];
    for (name, case) in cases("provisioning") {
        let mut store = Store::default();
        for list in ["objects", "initial"] {
            for object in case[list].as_array().into_iter().flatten() {
                store.put(object);
            }
        }
        for step in case["steps"].as_array().unwrap() {
            for action in step["do"].as_array().into_iter().flatten() {
                apply_action(&mut store, action);
            }
            for gone in step["expect"]["gone"].as_array().into_iter().flatten() {
                store.0.remove(&target(gone));
            }
            let changed = step["expect"]["changed"].as_array().cloned().unwrap_or_default();
            for object in &changed {
                store.put(object);
            }
            let id = format!("{name} / {}", text(step, "/name"));
            let known = STATUS.iter().any(|(case, step, _)| id == format!("{case} / {step}"));
            let before = failures.len();
            for request in changed.iter().filter(|o| o["kind"] == "ProvisioningRequest") {
                let request = store.0[&key(request)].clone();
                compare_status(&store, &request, &id, &mut compared, &mut failures);
            }
            match (known, failures.len() > before) {
                (true, true) => failures.truncate(before),
                (true, false) => failures.push(format!("{id}: no difference any more")),
                _ => {}
            }
        }
    }
    let found = cases("provisioning").len();
    assert!(failures.is_empty(), "{} differences\n{}", failures.len(), failures.join("\n"));
    assert!(found == 0 || compared.iter().all(|n| *n > 20), "{compared:?}");
}

fn compare_status(
    store: &Store,
    request: &Value,
    id: &str,
    compared: &mut [usize; 4],
    failures: &mut Vec<String>,
) {
    let typed: ProvisioningRequest = serde_json::from_value(request.clone()).unwrap();
    let Some(status) = typed.status.clone() else { return };
    let name = typed.metadata.name.clone().unwrap();
    let conditions = &status.conditions;
    let extensions = status.extensions.clone().unwrap_or_default();
    let details = extensions.cluster_details.clone().unwrap_or_default();
    let now = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    let mut check = |index: usize, what: &str, ours: String, theirs: String| {
        compared[index] += 1;
        if ours != theirs {
            failures.push(format!("{id}: {what}\n   ours   {ours}\n   theirs {theirs}"));
        }
    };
    let print = |c: Option<&Condition>| {
        c.map_or_else(String::new, |c| format!("{} {}/{}: {}", c.type_, c.status, c.reason, c.message))
    };
    let next = |n: Option<&Next>| {
        n.map_or_else(String::new, |n| format!("{} {}/{}: {}", n.type_, n.status, n.reason, n.message))
    };
    let deleting = typed.metadata.deletion_timestamp.is_some();

    // Hardware.
    let allocation: Option<NodeAllocationRequest> = store
        .get("NodeAllocationRequest", "oran-o2ims", &name)
        .map(|n| serde_json::from_value(n.clone()).unwrap());
    if let Some(recorded) =
        condition::find(conditions, RequestCondition::HardwareProvisioned).filter(|_| !deleting)
    {
        let mapped = nar::provisioned(allocation.as_ref().and_then(|a| a.status.as_ref()));
        check(0, "hardware", next(Some(&mapped.condition)), print(Some(recorded)));
    }

    // Installation.
    let cluster = details.name.clone().unwrap_or_default();
    let live: Option<ClusterInstance> =
        store.get("ClusterInstance", &cluster, &cluster).map(|n| serde_json::from_value(n.clone()).unwrap());
    if let Some(live) = live.filter(|_| !deleting) {
        let list = live.status.map(|s| s.conditions).unwrap_or_default();
        let seen = Live { conditions: &list, generation: None, observed_generation: None };
        let late = condition::reason(conditions, RequestCondition::ClusterProvisioned) == "TimedOut";
        let limit = late.then_some(manifests::meta::GoDuration::from_nanos(0));
        let started = now.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap();
        let i = install::install(&cluster, &seen, conditions, Some(started), limit, now);
        let recorded = condition::find(conditions, RequestCondition::ClusterInstanceProcessed);
        check(1, "processed", next(Some(&i.processed)), print(recorded));
        let recorded = condition::find(conditions, RequestCondition::ClusterProvisioned);
        check(1, "provisioned", next(i.provisioned.as_ref()), print(recorded));
    }

    // Policies.
    let template = store.template(&typed.spec.template());
    let managed = store.get("ManagedCluster", "", &cluster);
    let recorded = condition::find(conditions, RequestCondition::ConfigurationApplied);
    if let (Some(template), Some(recorded)) = (template.filter(|_| !deleting), recorded) {
        let ns = format!("ztp-{}", template.namespace);
        let of = |ns: &str| -> Vec<Value> {
            store.of_kind("Policy").filter(|p| text(p, "/metadata/namespace") == ns).cloned().collect()
        };
        let (roots, children) = (of(&ns), of(&cluster));
        let at = |v: &'_ Value, pointer: &str| v.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let roots: Vec<[Option<String>; 3]> = roots
            .iter()
            .map(|r| {
                [
                    at(r, "/metadata/name"),
                    at(r, "/metadata/annotations/clustertemplates.clcm.openshift.io~1templates"),
                    at(r, "/spec/remediationAction"),
                ]
            })
            .collect();
        let children: Vec<[Option<String>; 3]> = children
            .iter()
            .map(|r| [at(r, "/metadata/name"), at(r, "/status/compliant"), at(r, "/spec/remediationAction")])
            .collect();
        let bound = policy::bind(
            &typed.spec.template(),
            &template.namespace,
            roots.iter().map(|[name, templates, action]| policy::Root {
                name: name.as_deref().unwrap_or_default(),
                templates: templates.as_deref(),
                action: action.as_deref(),
            }),
            children.iter().map(|[name, compliant, action]| policy::Child {
                name: name.as_deref().unwrap_or_default(),
                compliant: compliant.as_deref(),
                action: action.as_deref(),
            }),
        );
        let is_true = |type_: &str| {
            managed
                .and_then(|m| m.pointer("/status/conditions"))
                .and_then(Value::as_array)
                .is_some_and(|l| l.iter().any(|c| c["type"] == type_ && c["status"] == "True"))
        };
        let facts = policy::Cluster {
            available: is_true("ManagedClusterConditionAvailable"),
            accepted: is_true("HubAcceptedManagedCluster"),
            joined: is_true("ManagedClusterJoined"),
            available_since: None,
        };
        let decision = policy::decide(
            &policy::Seen {
                bound: &bound,
                cluster: managed.map(|_| facts),
                installed: condition::find(conditions, RequestCondition::ClusterProvisioned)
                    .map(|c| c.status == "True"),
                fulfilled_before: details.fulfilled_node_count.is_some_and(|n| n > 0),
                current: Some(recorded),
                non_compliant_at: details.non_compliant_at.as_ref().map(|_| now),
                timeout: None,
                ztp_status: details.ztp_status.as_deref(),
                new_generation: false,
            },
            now,
        );
        check(2, "configuration", next(Some(&decision.condition)), print(Some(recorded)));
        check(2, "policies", format!("{:?}", bound.policies), format!("{:?}", extensions.policies));
        check(2, "ztp", format!("{:?}", decision.ztp_status), format!("{:?}", details.ztp_status));
    }

    // Phase.
    let recorded = status.provisioning_status.unwrap_or_default();
    let install_timeout = store.template(&typed.spec.template()).and_then(|t| t.install_timeout.ok());
    let labelled = managed.is_some_and(|m| m.pointer("/metadata/labels/openshiftVersion").is_some());
    let p = phase::derive(
        conditions,
        &phase::Facts {
            generation: typed.metadata.generation.unwrap_or_default(),
            deleting,
            fulfilled_before: details.fulfilled_node_count.is_some_and(|n| n > 0),
            blocker: (!labelled && !deleting).then_some("label"),
            install_timeout,
            policies: &extensions.policies,
            ..phase::Facts::default()
        },
    );
    let theirs = format!(
        "{} {}",
        recorded.provisioning_phase.map_or("", |p| p.as_str()),
        recorded.provisioning_details.unwrap_or_default()
    );
    check(3, "phase", format!("{} {}", p.phase, p.details), theirs);
}
