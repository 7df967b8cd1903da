use super::*;
use crate::observed::Fact;
use manifests::addon::{Check, ProgressPhase, ReportCondition, Served};
use manifests::openshift::{ClusterOperator, ClusterVersion, ImageBasedUpgrade, MachineConfigPool};
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

fn put<K: Fact>(observed: &mut Observed, value: Value) {
    let object: K = serde_json::from_value(value).unwrap();
    observed.served.insert(K::KIND);
    observed.listed.insert(K::KIND);
    object.put(observed);
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T10:00:00Z",
    })
}

fn version(progressing: &Value, failing: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version", "generation": 4},
        "spec": {
            "clusterID": "c-1", "channel": "stable-4.20",
            "desiredUpdate": {"version": "4.20.5", "image": "", "force": false, "architecture": ""},
        },
        "status": {
            "desired": {"version": "4.20.5", "image": "quay.io/r@sha256:1"},
            "observedGeneration": 4,
            "versionHash": "x",
            "availableUpdates": null,
            "history": [
                {"state": "Partial", "version": "4.20.5", "startedTime": "2026-01-01T11:00:00Z", "completionTime": null},
                {"state": "Completed", "version": "4.19.9", "startedTime": "2025-01-01T11:00:00Z",
                 "completionTime": "2025-01-01T12:00:00Z"},
            ],
            "conditions": [
                condition("ImplicitlyEnabledCapabilities", "False", "AsExpected", ""),
                condition("Available", "True", "", "Done applying 4.19.9"),
                progressing, failing,
            ],
        },
    })
}

fn operator(name: &str, available: &str, degraded: &str, upgradeable: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
        "status": {
            "versions": [{"name": "operator", "version": "4.20.5"}, {"name": "x", "version": "1"}],
            "conditions": [
                condition("Available", available, "A", "available words"),
                condition("Degraded", degraded, "D", "degraded words"),
                condition("Progressing", "False", "P", ""),
                condition("Upgradeable", upgradeable, "U", "upgradeable words"),
            ],
        },
    })
}

fn pool(name: &str, updated: i32, updating: &str, degraded: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": name, "generation": 2},
        "spec": {"paused": false, "maxUnavailable": "10%", "configuration": {"name": "rendered-1"}},
        "status": {
            "observedGeneration": 2, "configuration": {"name": "rendered-1"},
            "machineCount": 3, "updatedMachineCount": updated, "readyMachineCount": updated,
            "unavailableMachineCount": 3 - updated, "degradedMachineCount": 0,
            "certExpirys": [{"bundle": "b", "subject": "s", "expiry": "2026-06-01T00:00:00Z"}],
            "conditions": [
                condition("Updated", if updated == 3 { "True" } else { "False" }, "", ""),
                condition("Updating", updating, "", "All nodes are updating to rendered-2"),
                condition("Degraded", degraded, "", ""),
                condition("NodeDegraded", degraded, "", "Node n1 is reporting: \"disk full\""),
            ],
        },
    })
}

fn node(name: &str, ready: &str, cordoned: bool) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "spec": {"unschedulable": cordoned},
        "status": {
            "conditions": [condition("Ready", ready, "KubeletNotReady", "kubelet stopped posting node status.")],
            "nodeInfo": {"kubeletVersion": "v1.33.1"},
        },
    })
}

fn at_rest() -> Observed {
    let mut o = Observed::default();
    let mut v = version(
        &condition("Progressing", "False", "", "Cluster version is 4.20.5"),
        &condition("Failing", "False", "", ""),
    );
    v["status"]["history"][0]["state"] = json!("Completed");
    put::<ClusterVersion>(&mut o, v);
    put::<ClusterOperator>(&mut o, operator("dns", "True", "False", "True"));
    put::<MachineConfigPool>(&mut o, pool("worker", 3, "False", "False"));
    put::<crate::observed::NodeView>(&mut o, node("n1", "True", false));
    o
}

fn of(status: &SpokeReportStatus, kind: ReportCondition) -> &Condition {
    status.conditions.iter().find(|c| c.type_ == kind.as_str()).unwrap()
}

#[test]
fn a_cluster_at_rest_reports_no_trouble() {
    let got = build(&at_rest(), "0.1.0", &[], now());
    let version = got.cluster_version.as_ref().unwrap();
    assert_eq!((version.version.as_str(), version.desired.as_str()), ("4.20.5", "4.20.5"));
    assert_eq!(version.conditions.len(), 3);
    assert_eq!(got.operators.as_ref().unwrap().total, 1);
    assert!(got.operators.as_ref().unwrap().items.is_empty());
    assert!(got.pools[0].updated);
    assert_eq!(got.pools[0].max_unavailable, "10%");
    assert_eq!(got.pools[0].certificate_expiry, None);
    assert_eq!(got.nodes.as_ref().unwrap().summary, "1/1");
    assert_eq!(
        got.served,
        [Served::ClusterVersion, Served::ClusterOperator, Served::MachineConfigPool, Served::Node]
    );
    assert!(got.blockers.is_empty() && got.warnings.is_empty(), "{:?} {:?}", got.blockers, got.warnings);
    assert!(got.progress.is_none() && got.left_off.is_none() && got.image_based_upgrade.is_none());
    for (kind, status) in [
        (ReportCondition::Ready, "True"),
        (ReportCondition::Reconciling, "False"),
        (ReportCondition::Degraded, "False"),
    ] {
        assert_eq!(of(&got, kind).status, status);
    }
    // The same again, from what the hub has: not a byte differs.
    let later = "2026-01-01T13:00:00Z".parse().unwrap();
    let again = build(&at_rest(), "0.1.0", &got.conditions, later);
    assert_eq!(again, got);
}

#[test]
fn an_update_reports_progress_and_its_one_blocker() {
    let mut o = at_rest();
    let words = "Working towards 4.20.5: 711 of 903 done (78% complete), waiting on machine-config";
    let failing = condition("Failing", "True", "ClusterOperatorDegraded", "machine-config is degraded");
    put::<ClusterVersion>(&mut o, version(&condition("Progressing", "True", "", words), &failing));
    put::<ClusterOperator>(&mut o, operator("machine-config", "True", "True", "True"));
    put::<crate::observed::NodeView>(&mut o, node("n2", "False", true));
    let got = build(&o, "0.1.0", &[], now());
    let progress = got.progress.as_ref().unwrap();
    assert_eq!(progress.phase, ProgressPhase::Operators);
    assert_eq!((progress.percent, progress.done, progress.total), (Some(78), Some(711), Some(903)));
    assert_eq!(progress.waiting_on, ["machine-config"]);
    assert!(progress.detail.ends_with("; failing: ClusterOperatorDegraded: machine-config is degraded"));
    assert_eq!(got.cluster_version.as_ref().unwrap().version, "4.19.9");
    assert_eq!(of(&got, ReportCondition::Reconciling).reason, "ClusterVersionProgressing");
    let degraded = of(&got, ReportCondition::Degraded);
    assert_eq!(degraded.reason, "ClusterVersionFailing");
    // Nodes that reboot are no trouble while something rolls.
    assert!(!degraded.message.contains("n2"), "{}", degraded.message);
    assert!(
        degraded.message.contains("Operators degraded: machine-config (D: degraded words)"),
        "{}",
        degraded.message
    );
    assert_eq!(got.blockers.len(), 1);
    assert_eq!(got.operators.unwrap().items[0].reason, "D");
    let nodes = got.nodes.unwrap();
    assert_eq!((nodes.summary.as_str(), nodes.cordoned.as_slice()), ("1/2", &["n2".to_owned()][..]));
}

#[test]
fn a_release_that_is_still_fetched_is_its_own_phase() {
    let mut o = at_rest();
    let words = condition("Progressing", "True", "", "Working towards 4.20.5");
    let mut v = version(&words, &condition("Failing", "False", "", ""));
    v["status"]["history"].as_array_mut().unwrap().remove(0);
    put::<ClusterVersion>(&mut o, v);
    assert_eq!(build(&o, "", &[], now()).progress.unwrap().phase, ProgressPhase::Payload);
}

#[test]
fn pools_that_still_roll_are_progress_too() {
    let mut o = at_rest();
    put::<MachineConfigPool>(&mut o, pool("worker", 1, "True", "False"));
    let got = build(&o, "", &[], now());
    let progress = got.progress.unwrap();
    assert_eq!((progress.phase, progress.percent), (ProgressPhase::Pools, Some(33)));
    assert_eq!(progress.detail, "worker 1/3 updated");
    assert_eq!(got.pools[0].message, "All nodes are updating to rendered-2");
}

#[test]
fn every_blocker_is_named() {
    let mut o = at_rest();
    put::<ClusterOperator>(&mut o, operator("auth", "False", "True", "True"));
    put::<ClusterOperator>(&mut o, operator("net", "True", "False", "False"));
    put::<MachineConfigPool>(&mut o, pool("master", 3, "False", "True"));
    let mut paused = pool("worker", 3, "False", "False");
    paused["spec"]["paused"] = json!(true);
    put::<MachineConfigPool>(&mut o, paused);
    put::<crate::observed::NodeView>(&mut o, node("n2", "Unknown", false));
    put::<crate::observed::NodeView>(&mut o, node("n3", "True", true));
    let got = build(&o, "", &[], now());
    let checks: Vec<(Check, &str)> = got.blockers.iter().map(|b| (b.check, b.message.as_str())).collect();
    assert_eq!(
        checks,
        [
            (Check::ClusterOperator, "operator auth is not available: A: available words"),
            (Check::Upgradeable, "operator net is not upgradeable: U: upgradeable words"),
            (Check::MachineConfigPool, "pool master is degraded: Node n1 is reporting: \"disk full\""),
            (Check::MachineConfigPool, "pool worker is paused"),
            (Check::Node, "node n2 is not ready: kubelet stopped posting node status."),
        ]
    );
    assert_eq!(got.warnings.len(), 1);
    assert_eq!(got.warnings[0].message, "node n3 is cordoned");
    let degraded = of(&got, ReportCondition::Degraded);
    assert_eq!(degraded.reason, "OperatorsNotAvailable");
    for words in ["MachineConfigPools degraded: master (Node n1", "Nodes not ready: n2 ("] {
        assert!(degraded.message.contains(words), "{}", degraded.message);
    }
    assert!(got.pools.iter().find(|p| p.name == "worker").unwrap().certificate_expiry.is_some());
    assert_eq!(got.pools[0].name, "master", "degraded ones first");
}

fn upgrade(stage: &str, conditions: &[Value]) -> Value {
    json!({
        "apiVersion": "lca.openshift.io/v1", "kind": "ImageBasedUpgrade",
        "metadata": {"name": "upgrade", "generation": 3},
        "spec": {"stage": stage, "seedImageRef": {"image": "q/seed:1", "version": "4.20.5"}},
        "status": {
            "observedGeneration": 3, "validNextStages": ["Idle"], "conditions": conditions,
            "history": [{"stage": stage, "phases": [
                {"phase": "Stateroot", "completionTime": "2026-01-01T11:00:00Z"}, {"phase": "Precache"},
            ]}],
        },
    })
}

#[test]
fn an_image_based_upgrade_is_followed_and_its_failure_told() {
    let mut o = at_rest();
    let words = "Precache job in progress. job-name: j, job-namespace: n. total: 110 (pulled: 55, failed: 0)";
    let running = [
        condition("Idle", "False", "InProgress", "In progress"),
        condition("PrepInProgress", "True", "InProgress", words),
    ];
    put::<ImageBasedUpgrade>(&mut o, upgrade("Prep", &running));
    let got = build(&o, "", &[], now());
    let progress = got.progress.as_ref().unwrap();
    assert_eq!((progress.phase, progress.percent), (ProgressPhase::Prep, Some(50)));
    let report = got.image_based_upgrade.as_ref().unwrap();
    assert_eq!((report.step.as_str(), report.seed_version.as_str()), ("Precache", "4.20.5"));
    assert_eq!(of(&got, ReportCondition::Reconciling).reason, "ImageBasedUpgradeInProgress");

    let failed = [
        condition("Idle", "False", "InProgress", "In progress"),
        condition("PrepInProgress", "False", "Failed", "precache job failed to complete. x"),
        condition("PrepCompleted", "False", "Failed", "Prep failed"),
    ];
    put::<ImageBasedUpgrade>(&mut o, upgrade("Prep", &failed));
    let got = build(&o, "", &[], now());
    assert!(got.progress.is_none());
    let degraded = of(&got, ReportCondition::Degraded);
    assert_eq!(degraded.reason, "ImageBasedUpgradeFailed");
    assert_eq!(degraded.message, "Image-based Prep failed: precache job failed to complete. x");
    assert_eq!(got.blockers[0].check, Check::ImageBasedUpgrade);
    for (reason, phase) in [("Aborting", ProgressPhase::Aborting), ("Finalizing", ProgressPhase::Finalizing)]
    {
        put::<ImageBasedUpgrade>(&mut o, upgrade("Idle", &[condition("Idle", "False", reason, reason)]));
        assert_eq!(build(&o, "", &[], now()).progress.unwrap().phase, phase);
    }
}

#[test]
fn a_kind_that_cannot_be_watched_is_told() {
    let mut o = at_rest();
    o.failing.insert("ClusterVersion".into(), "forbidden".into());
    let got = build(&o, "", &[], now());
    let ready = of(&got, ReportCondition::Ready);
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "WatchFailed"));
    assert_eq!(ready.message, "Cannot watch ClusterVersion: forbidden");
}

/// The worst that a spoke can throw at it: everything too long, too many, and full of characters that grow in JSON.
#[test]
fn a_hostile_cluster_cannot_make_the_report_too_large() {
    let long = "\"\\\n\u{1}ü😀".repeat(2000);
    let mut o = Observed::default();
    let bad = |type_: &str, status: &str| condition(type_, status, &long, &long);
    let conditions: Vec<Value> = [
        "Available",
        "Progressing",
        "Failing",
        "Upgradeable",
        "RetrievedUpdates",
        "ReleaseAccepted",
        "Invalid",
    ]
    .iter()
    .map(|t| bad(t, "False"))
    .collect();
    let release = json!({"version": long, "image": long});
    let history: Vec<Value> = (0..100)
        .map(|_| json!({"state": long, "version": long, "startedTime": "2026-01-01T11:00:00Z", "completionTime": "2026-01-01T11:00:00Z"}))
        .collect();
    let updates: Vec<Value> = (0..100).map(|_| release.clone()).collect();
    let risks: Vec<Value> = (0..20).map(|_| json!({"name": long})).collect();
    let conditional: Vec<Value> = (0..50)
        .map(|_| json!({"release": release, "risks": risks, "conditions": [bad("Recommended", "False")]}))
        .collect();
    put::<ClusterVersion>(
        &mut o,
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version", "generation": i64::MAX},
            "spec": {"clusterID": long, "channel": long, "upstream": long, "desiredUpdate": {"version": long}},
            "status": {
                "desired": release, "observedGeneration": i64::MAX, "conditions": conditions, "history": history,
                "availableUpdates": updates, "conditionalUpdates": conditional,
            },
        }),
    );
    o.version.as_mut().unwrap().requested_by = long.clone();
    o.version.as_mut().unwrap().channel_by = long.clone();
    for i in 0..60 {
        let name = format!("{i}{long}");
        let mut op = operator(&name, "False", "True", "False");
        op["status"]["conditions"] =
            json!([bad("Available", "False"), bad("Degraded", "True"), bad("Upgradeable", "False")]);
        op["status"]["versions"] = json!([{"name": "operator", "version": long}]);
        put::<ClusterOperator>(&mut o, op);
        let mut p = pool(&name, 1, "False", "True");
        p["spec"]["maxUnavailable"] = json!(long);
        p["spec"]["paused"] = json!(true);
        p["status"]["conditions"] =
            json!([bad("Degraded", "True"), bad("NodeDegraded", "True"), bad("Updating", "False")]);
        put::<MachineConfigPool>(&mut o, p);
        for (kind, ready) in [("a", "True"), ("b", "False")] {
            for j in 0..5 {
                let mut n = node(&format!("{kind}{j}{name}"), ready, true);
                n["status"]["conditions"] = json!([bad("Ready", ready)]);
                n["status"]["nodeInfo"]["kubeletVersion"] = json!(format!("{i}{long}"));
                put::<crate::observed::NodeView>(&mut o, n);
            }
        }
        o.failing.insert(name, long.clone());
    }
    let types = [
        "Idle",
        "PrepInProgress",
        "PrepCompleted",
        "UpgradeInProgress",
        "UpgradeCompleted",
        "RollbackInProgress",
        "x",
    ];
    let mut conditions: Vec<Value> = types.iter().map(|t| bad(t, "False")).collect();
    conditions.extend(conditions.clone());
    let mut u = upgrade(&long, &conditions);
    u["spec"]["seedImageRef"]["version"] = json!(long);
    u["status"]["validNextStages"] = json!([long, long, long, long, long, long]);
    u["status"]["history"] = json!([{"stage": long, "phases": [{"phase": long}]}]);
    u["status"]["rollbackAvailabilityExpiration"] = json!("2026-01-01T11:00:00Z");
    put::<ImageBasedUpgrade>(&mut o, u);
    let got = build(&o, &long, &[], now());
    let size = serde_json::to_vec(&got).unwrap().len();
    assert!(size < max::REPORT_BYTES, "{size} bytes");
    let left = got.left_off.unwrap();
    assert_eq!(left.ready_nodes, 300 - i32::try_from(max::READY_NODES).unwrap());
    assert!(left.operators > 0 && left.pools > 0 && left.blockers > 0 && left.available_updates > 0);
    // And while it moves, too.
    put::<ImageBasedUpgrade>(&mut o, upgrade("Prep", &[bad("PrepInProgress", "True")]));
    let moving = build(&o, &long, &[], now());
    assert!(moving.progress.is_some());
    assert!(serde_json::to_vec(&moving).unwrap().len() < max::REPORT_BYTES);
}
