//! The bounds of a SpokeReport hold, and its CRD carries them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResourceExt, Resource};
use serde_json::Value;

use super::limits as max;
use super::*;

fn text(n: usize) -> String {
    "x".repeat(n)
}

fn list<T: Clone>(n: usize, item: T) -> Vec<T> {
    vec![item; n]
}

/// A status with every list full and every text as long as it may be.
fn fullest() -> SpokeReportStatus {
    let time = Time("2026-01-01T00:00:00Z".parse().unwrap());
    let t = Some(time.clone());
    let condition = ReportedCondition {
        type_: text(max::WORD),
        status: text(7),
        reason: text(max::REASON),
        message: text(max::MESSAGE),
        since: t.clone(),
        observed_generation: Some(i64::from(i32::MAX)),
    };
    let finding = Finding { check: Check::MachineConfigPool, message: text(max::NOTE) };
    let n = i32::MAX;
    SpokeReportStatus {
        agent_version: text(max::WORD),
        updated_at: t.clone(),
        served: vec![
            Served::ClusterVersion,
            Served::ClusterOperator,
            Served::MachineConfigPool,
            Served::ImageBasedUpgrade,
            Served::Node,
        ],
        cluster_version: Some(ClusterVersionReport {
            cluster_id: text(max::NAME),
            version: text(max::NAME),
            desired: text(max::NAME),
            desired_image: text(max::URL),
            requested: text(max::NAME),
            requested_by: text(max::NAME),
            channel: text(max::NAME),
            channel_by: text(max::NAME),
            upstream: text(max::URL),
            generation: n.into(),
            observed_generation: n.into(),
            history: list(
                max::HISTORY,
                Release {
                    version: text(max::WORD),
                    state: text(max::WORD),
                    started_time: t.clone(),
                    completion_time: t.clone(),
                },
            ),
            conditions: list(max::CONDITIONS, condition.clone()),
            available_updates: list(max::UPDATES, text(max::WORD)),
            conditional_updates: list(
                max::CONDITIONAL,
                ConditionalUpdate {
                    version: text(max::WORD),
                    recommended: text(7),
                    reason: text(max::REASON),
                    risks: list(max::RISKS, text(max::WORD)),
                },
            ),
        }),
        progress: Some(Progress {
            phase: ProgressPhase::Finalizing,
            percent: Some(99),
            done: Some(n),
            total: Some(n),
            waiting_on: list(max::WAITING_ON, text(max::NAME)),
            detail: text(max::MESSAGE),
            since: t.clone(),
        }),
        operators: Some(OperatorsReport {
            total: n,
            items: list(
                max::OPERATORS,
                OperatorReport {
                    name: text(max::NAME),
                    version: text(max::WORD),
                    available: text(7),
                    progressing: text(7),
                    degraded: text(7),
                    reason: text(max::REASON),
                    message: text(max::NOTE),
                    since: t.clone(),
                },
            ),
        }),
        pools: list(
            max::POOLS,
            PoolReport {
                name: text(max::NAME),
                paused: false,
                max_unavailable: text(max::WORD),
                machine_count: n,
                updated_machine_count: n,
                ready_machine_count: n,
                unavailable_machine_count: n,
                degraded_machine_count: n,
                updated: false,
                updating: false,
                degraded: false,
                message: text(max::NOTE),
                certificate_expiry: t.clone(),
            },
        ),
        image_based_upgrade: Some(ImageBasedUpgradeReport {
            stage: text(max::WORD),
            seed_version: text(max::NAME),
            generation: n.into(),
            observed_generation: n.into(),
            valid_next_stages: list(4, text(max::WORD)),
            rollback_availability_expiration: t.clone(),
            step: text(max::WORD),
            conditions: list(max::CONDITIONS, condition),
        }),
        nodes: Some(NodesReport {
            summary: text(max::WORD),
            total: n,
            control_plane: n,
            ready: list(max::READY_NODES, text(max::NAME)),
            not_ready: list(
                max::NOT_READY_NODES,
                NotReadyNode { name: text(max::NAME), message: text(max::NOTE), since: t.clone() },
            ),
            cordoned: list(max::CORDONED_NODES, text(max::NAME)),
            kubelets: list(max::KUBELETS, text(max::WORD)),
        }),
        blockers: list(max::FINDINGS, finding.clone()),
        warnings: list(max::FINDINGS, finding),
        operations: list(
            max::OPERATIONS,
            OperationResult {
                id: text(max::NAME),
                kind: OperationKind::ApproveNodeCsr,
                state: OperationState::Succeeded,
                target: text(max::NAME),
                message: text(max::NOTE),
                since: t.clone(),
            },
        ),
        left_off: Some(LeftOff {
            available_updates: n,
            conditional_updates: n,
            operators: n,
            pools: n,
            ready_nodes: n,
            not_ready_nodes: n,
            cordoned_nodes: n,
            blockers: n,
            warnings: n,
            operations: n,
        }),
        conditions: list(
            max::REPORT_CONDITIONS,
            Condition {
                type_: text(max::WORD),
                status: text(7),
                reason: text(max::REASON),
                message: text(max::SUMMARY),
                observed_generation: None,
                last_transition_time: time,
            },
        ),
    }
}

#[test]
fn fullest_report_stays_below_32_kib() {
    let size = serde_json::to_vec(&fullest()).unwrap().len();
    assert!(size < max::REPORT_BYTES, "{size} bytes");
}

#[test]
fn every_list_and_text_of_the_schema_is_bounded() {
    let crd = serde_json::to_value(SpokeReport::crd()).unwrap();
    let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/status").unwrap();
    let mut open = Vec::new();
    walk(schema, "status", &mut open);
    assert!(open.is_empty(), "unbounded: {open:?}");
}

fn walk(schema: &Value, path: &str, open: &mut Vec<String>) {
    let bounded = |keys: &[&str]| keys.iter().any(|k| schema.get(k).is_some());
    let ok = match schema.get("type").and_then(Value::as_str) {
        Some("array") => bounded(&["maxItems"]),
        Some("string") => bounded(&["maxLength", "enum", "format"]),
        _ => true,
    };
    if !ok {
        open.push(path.to_owned());
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{path}[]"), open);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), open);
    }
}

#[test]
fn names_are_the_agreed_ones() {
    assert_eq!(SpokeReport::plural(&()), "spokereports");
    assert_eq!(SpokeReport::api_version(&()), "addon.clcm.openshift.io/v1alpha1");
}

#[test]
fn report_without_spec_round_trips() {
    let mut report = SpokeReport::new(REPORT_NAME, SpokeReportSpec {});
    let bare = serde_json::to_value(&report).unwrap();
    assert!(bare.get("spec").is_none() && bare.get("status").is_none(), "{bare}");
    report.status = Some(fullest());
    let value = serde_json::to_value(&report).unwrap();
    let back: SpokeReport = serde_json::from_value(value).unwrap();
    assert_eq!(back, report);
}

#[test]
fn names_of_the_ocm_kinds_are_the_published_ones() {
    use crate::ocm::{
        AddOnDeploymentConfig, ClusterManagementAddOn, ManagedCluster, ManagedClusterAddOn, ManifestWork,
    };
    use crate::openshift::{ClusterOperator, ClusterVersion, ImageBasedUpgrade, MachineConfigPool};
    assert_eq!(ManagedCluster::plural(&()), "managedclusters");
    assert_eq!(ManagedClusterAddOn::plural(&()), "managedclusteraddons");
    assert_eq!(ClusterManagementAddOn::plural(&()), "clustermanagementaddons");
    assert_eq!(AddOnDeploymentConfig::plural(&()), "addondeploymentconfigs");
    assert_eq!(ManifestWork::plural(&()), "manifestworks");
    assert_eq!(ClusterVersion::plural(&()), "clusterversions");
    assert_eq!(ClusterOperator::plural(&()), "clusteroperators");
    assert_eq!(MachineConfigPool::plural(&()), "machineconfigpools");
    assert_eq!(ImageBasedUpgrade::plural(&()), "imagebasedupgrades");
}
