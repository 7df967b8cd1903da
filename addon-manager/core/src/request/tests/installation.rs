//! spec/02 19.5 and the phase.

use manifests::clcm::{ClusterDetails, PolicyDetails, ProvisioningPhase, ProvisioningStatus};
use manifests::meta::GoDuration;
use rstest::rstest;

use super::super::clock::{self, Durations};
use super::super::install::{self, Live, TIMED_OUT, install};
use super::super::phase::{self, Facts, derive};
use super::*;
use RequestCondition as C;
use RequestReason as R;

const LIMIT: GoDuration = GoDuration::minutes(90);

fn live(list: &[(&str, &str, &str, &str)]) -> Vec<Condition> {
    list.iter().map(|(t, s, r, m)| raw_condition(t, s, r, m)).collect()
}

fn seen(conditions: &[Condition]) -> Live<'_> {
    Live { conditions, generation: Some(1), observed_generation: None }
}

const PROCESSED: (&str, &str, &str, &str) = ("ClusterInstanceValidated", "True", "Completed", "");

#[test]
fn s02_097_nothing_reported_yet() {
    let i = install("edge7", &seen(&[]), &[], None, Some(LIMIT), at(0));
    assert_eq!((i.processed.status, i.processed.reason.as_str()), ("False", "InProgress"));
    assert_eq!(i.processed.message, "Waiting for ClusterInstance (edge7) to be processed");
    assert_eq!((i.provisioned, i.started_at, i.deadline), (None, None, None));
}

#[test]
fn processed_without_a_word_about_the_installation() {
    let list = live(&[PROCESSED]);
    let i = install("edge7", &seen(&list), &[], None, Some(LIMIT), at(0));
    assert_eq!(i.processed.message, "Applied and processed ClusterInstance (edge7) successfully");
    assert_eq!(i.provisioned.unwrap().message, install::WAITING_TO_START);
    assert_eq!(i.started_at, Some(at(0)));
    assert_eq!(i.deadline, Some(at(90 * 60 + 1)));
}

#[test]
fn s02_098_processing_failure_is_copied() {
    let list = live(&[
        ("RenderedTemplatesApplied", "False", "Failed", "later"),
        ("ClusterInstanceValidated", "False", "Failed", "Validation failed: no secret"),
    ]);
    let i = install("edge7", &seen(&list), &[], None, Some(LIMIT), at(0));
    assert_eq!(
        (i.processed.reason.as_str(), i.processed.message.as_str()),
        ("Failed", "Validation failed: no secret")
    );
    assert_eq!(i.provisioned, None);
    let mut pr = ready_until(C::HardwareNodeConfigApplied);
    set(&mut pr, i.processed, at(0));
    let p = derive(&pr, &Facts::default());
    assert_eq!((p.phase, p.details.as_str()), (ProvisioningPhase::Failed, "Validation failed: no secret"));
}

#[test]
fn s02_099_unknown_starts_the_clock() {
    let list = live(&[PROCESSED, ("Provisioned", "Unknown", "Unknown", "Waiting for provisioning to start")]);
    let i = install("edge7", &seen(&list), &[], None, Some(LIMIT), at(7));
    let provisioned = i.provisioned.unwrap();
    assert_eq!((provisioned.status, provisioned.reason.as_str()), ("Unknown", "Unknown"));
    assert_eq!(i.started_at, Some(at(7)));
    let mut pr = ready_until(C::ClusterInstanceProcessed);
    set(&mut pr, provisioned, at(7));
    assert_eq!(derive(&pr, &Facts::default()).details, phase::INSTALLING);
}

#[test]
fn s02_100_timed_out_and_recovered() {
    let list = live(&[PROCESSED, ("Provisioned", "False", "InProgress", "Provisioning cluster")]);
    let run =
        |before: &[Condition], now| install("edge7", &seen(&list), before, Some(at(0)), Some(LIMIT), now);
    assert_eq!(run(&[], at(90 * 60)).provisioned.unwrap().reason, "InProgress", "strictly greater");
    let late = run(&[], at(90 * 60 + 1));
    let provisioned = late.provisioned.unwrap();
    assert_eq!((provisioned.reason.as_str(), provisioned.message.as_str()), ("TimedOut", TIMED_OUT));
    assert_eq!(late.deadline, None);

    let mut pr = ready_until(C::ClusterInstanceProcessed);
    set(&mut pr, provisioned, at(0));
    let facts = Facts { install_timeout: Some(LIMIT), ..Default::default() };
    let p = derive(&pr, &facts);
    assert_eq!(
        (p.phase, p.details.as_str()),
        (ProvisioningPhase::Failed, "Cluster installation timed out after 1h30m0s")
    );
    // It is not final (B-01).
    let done = live(&[PROCESSED, ("Provisioned", "True", "Completed", "Provisioning completed")]);
    let i = install("edge7", &seen(&done), &pr, Some(at(0)), Some(LIMIT), at(100_000));
    set(&mut pr, i.provisioned.unwrap(), at(100_000));
    assert_eq!(derive(&pr, &facts).phase, ProvisioningPhase::Progressing);
}

#[test]
fn a_new_generation_restarts_the_clock_of_the_stage() {
    let mut details = ClusterDetails {
        cluster_provision_started_at: Some(Time(at(0))),
        non_compliant_at: Some(Time(at(1))),
        ..Default::default()
    };
    clock::restart(&mut details, &conditions(&[(C::ClusterProvisioned, "False", R::TimedOut, "")]), at(50));
    assert_eq!(details.cluster_provision_started_at, Some(Time(at(50))));
    assert_eq!(details.non_compliant_at, Some(Time(at(1))));
    clock::restart(&mut details, &conditions(&[(C::ClusterProvisioned, "True", R::Completed, "")]), at(60));
    assert_eq!(details.cluster_provision_started_at, Some(Time(at(50))));
    assert_eq!(details.non_compliant_at, Some(Time(at(60))));
}

#[test]
fn a_reinstall_restarts_the_clock() {
    // B-16
    let list = live(&[PROCESSED, ("Provisioned", "False", "InProgress", "Provisioning cluster")]);
    let before = conditions(&[(C::ClusterProvisioned, "True", R::Completed, "")]);
    let i = install("edge7", &seen(&list), &before, Some(at(0)), Some(LIMIT), at(1_000_000));
    assert_eq!(i.provisioned.unwrap().reason, "InProgress");
    assert_eq!(i.started_at, Some(at(1_000_000)));
}

#[test]
fn conditions_of_an_older_spec_are_not_trusted() {
    // B-07
    let list = live(&[PROCESSED, ("Provisioned", "True", "Completed", "Provisioning completed")]);
    let behind = Live { conditions: &list, generation: Some(2), observed_generation: Some(1) };
    let i = install("edge7", &behind, &[], None, None, at(0));
    assert_eq!(i.processed.reason, "InProgress");
    assert_eq!(i.provisioned.unwrap().status, "True");
    let bad = live(&[("ClusterInstanceValidated", "False", "Failed", "x")]);
    let failing = Live { conditions: &bad, ..behind };
    assert_eq!(install("edge7", &failing, &[], None, None, at(0)).processed.reason, "Failed");
}

fn durations() -> Durations {
    Durations { hardware: Some(LIMIT), install: Some(LIMIT), configuration: Some(GoDuration::minutes(30)) }
}

#[test]
fn s02_101_overall_timeout_while_pending() {
    let text = clock::overall(Some(at(0)), &durations(), at(3 * 3600 + 1)).unwrap();
    assert_eq!(text, "Overall provisioning timed out after 3h0m0s");
    assert_eq!(clock::overall(Some(at(0)), &durations(), at(3 * 3600)), None);
    let p = derive(&[], &Facts { overall: Some(&text), pending: true, ..Default::default() });
    assert_eq!((p.phase, p.details), (ProvisioningPhase::Failed, text));
}

#[test]
fn s02_102_overall_timeout_does_not_touch_installed_or_failed_requests() {
    let facts = Facts { overall: Some("Overall"), fulfilled_before: true, ..Default::default() };
    assert_eq!(derive(&ready_until(C::ConfigurationApplied), &facts).phase, ProvisioningPhase::Fulfilled);
    let failed = conditions(&[(C::Validated, "False", R::Failed, "bad")]);
    assert_eq!(derive(&failed, &facts).details, "bad");
}

#[rstest]
#[case::s02_103_failed("False", "Failed")]
#[case::s02_103_installed("True", "Completed")]
fn no_install_timeout_when_it_is_over(#[case] status: &str, #[case] reason: &str) {
    let list = live(&[PROCESSED, ("Provisioned", status, reason, "")]);
    let i = install("edge7", &seen(&list), &[], Some(at(0)), Some(LIMIT), at(1_000_000));
    assert_eq!(i.provisioned.unwrap().reason, reason);
    let before = conditions(&[(C::ClusterProvisioned, "False", R::Failed, "")]);
    assert_eq!(install::backup_timeout(&before, Some(at(0)), Some(LIMIT), at(1_000_000)), None);
}

#[test]
fn s02_104_overall_text_wins_over_other_timeouts() {
    let mut pr = ready_until(C::ClusterInstanceProcessed);
    set(&mut pr, Next::no(C::ClusterProvisioned, R::TimedOut, TIMED_OUT), at(0));
    let facts = Facts { overall: Some("Overall provisioning timed out after 3h0m0s"), ..Default::default() };
    assert_eq!(derive(&pr, &facts).details, "Overall provisioning timed out after 3h0m0s");
}

#[test]
fn s02_105_s02_106_a_failure_goes_with_its_condition() {
    let mut pr = conditions(&[(C::Validated, "False", R::Failed, "bad input, timed out")]);
    assert_eq!(derive(&pr, &Facts::default()).phase, ProvisioningPhase::Failed);
    set(&mut pr, Next::yes(C::Validated, R::Completed, ""), at(1));
    let p = derive(&pr, &Facts::default());
    assert_eq!((p.phase, p.details.as_str()), (ProvisioningPhase::Pending, phase::PENDING));
}

#[test]
fn s02_106_an_old_preparation_failure_is_pending_for_a_new_generation() {
    let mut pr = Vec::new();
    set(&mut pr, Next::no(C::ClusterInstanceRendered, R::Failed, "bad").at(Some(1)), at(0));
    assert_eq!(derive(&pr, &Facts { generation: 1, ..Default::default() }).phase, ProvisioningPhase::Failed);
    assert_eq!(derive(&pr, &Facts { generation: 2, ..Default::default() }).phase, ProvisioningPhase::Pending);
}

#[test]
fn s02_107a_durations_that_are_not_loaded_never_time_out() {
    let none = Durations::default();
    assert_eq!(clock::overall(Some(at(0)), &none, at(i64::from(i32::MAX))), None);
    let half = Durations { hardware: Some(LIMIT), ..none };
    assert_eq!(clock::overall_limit(&half), None);
    let list = live(&[PROCESSED, ("Provisioned", "False", "InProgress", "")]);
    let i = install("edge7", &seen(&list), &[], Some(at(0)), None, at(1_000_000));
    assert_eq!(i.provisioned.unwrap().reason, "InProgress");
    let before = conditions(&[(C::ClusterProvisioned, "False", R::InProgress, "")]);
    assert_eq!(install::backup_timeout(&before, Some(at(0)), None, at(1_000_000)), None);
    assert!(install::backup_timeout(&before, Some(at(0)), Some(LIMIT), at(1_000_000)).is_some());
}

#[test]
fn s02_107e_an_installation_that_completes_after_all_is_progressing() {
    let mut pr = ready_until(C::ClusterProvisioned);
    set(
        &mut pr,
        Next::no(C::ConfigurationApplied, R::ClusterNotReady, "The Cluster is not yet ready"),
        at(0),
    );
    let p = derive(&pr, &Facts::default());
    assert_eq!((p.phase, p.details.as_str()), (ProvisioningPhase::Progressing, phase::INSTALLING));
}

#[test]
fn s02_107f_drift_of_inform_policies_leaves_a_fulfilled_request_alone() {
    let mut pr = ready_until(C::ClusterProvisioned);
    set(&mut pr, Next::no(C::ConfigurationApplied, R::OutOfDate, "The configuration is out of date"), at(0));
    let facts = Facts { fulfilled_before: true, ..Default::default() };
    assert_eq!(derive(&pr, &facts).phase, ProvisioningPhase::Fulfilled);
    let p = derive(&pr, &Facts::default());
    assert_eq!(
        (p.phase, p.details.as_str()),
        (ProvisioningPhase::Progressing, "The configuration is out of date")
    );
}

/// A healthy run up to and including `last`.
fn ready_until(last: RequestCondition) -> Vec<Condition> {
    let mut out = Vec::new();
    for type_ in C::ALL {
        if matches!(type_, C::HardwareConfigured | C::UpgradeCompleted) {
            continue;
        }
        set(&mut out, Next::yes(type_, R::Completed, "done"), at(0));
        if *type_ == last {
            break;
        }
    }
    out
}

fn enforce() -> Vec<PolicyDetails> {
    vec![PolicyDetails { remediation_action: Some("enforce".to_owned()), ..Default::default() }]
}

#[rstest]
#[case((C::HardwareProvisioned, "False", R::InProgress, "Hardware provisioning is in progress: x"), ProvisioningPhase::Progressing, "Hardware provisioning is in progress: x")]
#[case((C::HardwareProvisioned, "False", R::Failed, "Hardware provisioning failed: x"), ProvisioningPhase::Failed, "Hardware provisioning failed: x")]
#[case((C::HardwareNodeConfigApplied, "False", R::NotApplied, "n"), ProvisioningPhase::Failed, "n")]
#[case((C::HardwareNodeConfigApplied, "False", R::InProgress, "w"), ProvisioningPhase::Progressing, "w")]
#[case((C::HardwareConfigured, "False", R::InProgress, "c"), ProvisioningPhase::Progressing, "c")]
#[case((C::HardwareConfigured, "False", R::TimedOut, "c"), ProvisioningPhase::Failed, "c")]
#[case((C::ClusterInstanceProcessed, "False", R::InProgress, "p"), ProvisioningPhase::Progressing, "p")]
#[case((C::ClusterProvisioned, "False", R::Failed, "Provisioning failed"), ProvisioningPhase::Failed, "Cluster installation failed")]
#[case((C::ClusterProvisioned, "False", R::InProgress, install::WAITING_TO_START), ProvisioningPhase::Progressing, phase::INSTALLING)]
#[case((C::ClusterProvisioned, "False", R::InProgress, "Scale-out: waiting for new node to join the cluster (3 → 4 nodes)"), ProvisioningPhase::Progressing, "Scale-out: waiting for new node to join the cluster (3 → 4 nodes)")]
#[case((C::ClusterProvisioned, "False", R::InProgress, "Provisioning cluster"), ProvisioningPhase::Progressing, phase::INSTALLING)]
#[case((C::ConfigurationApplied, "False", R::ClusterNotReady, ""), ProvisioningPhase::Progressing, "Waiting for cluster to be ready for policy configuration")]
#[case((C::ConfigurationApplied, "False", R::InProgress, "Expected configuration is not yet prepared"), ProvisioningPhase::Progressing, "Cluster configuration is being prepared")]
#[case((C::ConfigurationApplied, "False", R::InProgress, "The configuration is still being applied"), ProvisioningPhase::Progressing, "Cluster configuration is being applied")]
#[case((C::ConfigurationApplied, "False", R::TimedOut, ""), ProvisioningPhase::Failed, "Cluster configuration timed out")]
#[case((C::UpgradeCompleted, "False", R::InProgress, "Upgrade is in progress"), ProvisioningPhase::Progressing, "Cluster upgrade is in progress")]
#[case((C::UpgradeCompleted, "False", R::Pending, "Preparing upgrade resources"), ProvisioningPhase::Progressing, "Preparing upgrade resources")]
#[case((C::UpgradeCompleted, "False", R::Failed, "Upgrade Failed: Action Prep failed: x"), ProvisioningPhase::Failed, "Cluster upgrade is failed")]
#[case((C::UpgradeCompleted, "False", R::TimedOut, "Upgrade timed out"), ProvisioningPhase::Failed, "Upgrade timed out")]
#[case((C::UpgradeCompleted, "False", R::PreconditionChecksFailed, "e"), ProvisioningPhase::Failed, "Upgrade precondition check failed: e")]
fn one_unfinished_stage_gives_the_phase(
    #[case] stage: (RequestCondition, &'static str, RequestReason, &str),
    #[case] expected: ProvisioningPhase,
    #[case] details: &str,
) {
    let mut pr = ready_until(C::ConfigurationApplied);
    set(&mut pr, Next::new(stage.0, stage.1, stage.2, stage.3), at(0));
    let policies = enforce();
    let p = derive(&pr, &Facts { policies: &policies, ..Default::default() });
    assert_eq!((p.phase, p.details.as_str()), (expected, details));
}

#[test]
fn policies_do_not_touch_the_phase_during_an_upgrade() {
    let mut pr = ready_until(C::ClusterProvisioned);
    set(&mut pr, Next::no(C::ConfigurationApplied, R::TimedOut, ""), at(0));
    set(
        &mut pr,
        Next::no(C::UpgradeCompleted, R::InProgress, "Upgrading to desired version 4.21.0: x"),
        at(0),
    );
    let p = derive(&pr, &Facts::default());
    assert_eq!(p.details, "Upgrading to desired version 4.21.0: x");
    assert_eq!(p.phase, ProvisioningPhase::Progressing);
}

#[test]
fn fulfilled_deleting_and_paused() {
    let pr = ready_until(C::ConfigurationApplied);
    let p = derive(&pr, &Facts::default());
    assert_eq!((p.phase, p.details.as_str()), (ProvisioningPhase::Fulfilled, phase::FULFILLED));
    let waiting = derive(&pr, &Facts { blocker: Some("waiting for a label"), ..Default::default() });
    assert_eq!(waiting.details, "Cluster installation is in progress: waiting for a label");
    assert_eq!(waiting.phase, ProvisioningPhase::Progressing);

    let mut upgraded = pr.clone();
    set(
        &mut upgraded,
        Next::yes(C::UpgradeCompleted, R::Completed, "Upgrade is completed").at(Some(3)),
        at(0),
    );
    assert_eq!(
        derive(&upgraded, &Facts { generation: 3, ..Default::default() }).details,
        "Upgrade is completed"
    );
    assert_eq!(derive(&upgraded, &Facts { generation: 4, ..Default::default() }).details, phase::FULFILLED);

    let failed = conditions(&[(C::Validated, "False", R::Failed, "bad")]);
    let gone =
        Facts { deleting: true, blocker: Some("waiting for NodeAllocationRequest"), ..Default::default() };
    assert_eq!(derive(&failed, &gone).details, "Deletion is in progress: waiting for NodeAllocationRequest");
    let paused = derive(&pr, &Facts { paused: true, ..Default::default() });
    assert!(paused.details.starts_with("Paused by annotation clcm.openshift.io/paused: "));
}

#[test]
fn update_time_follows_phase_and_details() {
    let mut status = ProvisioningStatus::default();
    let next = |phase, details: &str| phase::Phase { phase, details: details.to_owned() };
    assert!(phase::update(&mut status, &next(ProvisioningPhase::Progressing, "a"), at(1)));
    assert!(!phase::update(&mut status, &next(ProvisioningPhase::Progressing, "a"), at(2)));
    assert_eq!(status.update_time, Some(Time(at(1))));
    assert!(phase::update(&mut status, &next(ProvisioningPhase::Progressing, "b"), at(3)));
    assert_eq!(status.update_time, Some(Time(at(3))));
    assert!(phase::update(&mut status, &next(ProvisioningPhase::Fulfilled, "x"), at(4)));
    assert!(phase::update(&mut status, &next(ProvisioningPhase::Fulfilled, "y"), at(5)));
    assert_eq!(status.update_time, Some(Time(at(4))), "only the phase counts while fulfilled");
    assert_eq!(status.provisioning_details.as_deref(), Some("y"));
}

#[test]
fn deadline_is_the_first_second_that_exceeds() {
    for (start, limit) in [(at(0), GoDuration::minutes(1)), (at(5), GoDuration::from_nanos(1_500_000_000))] {
        let end = clock::deadline(Some(start), Some(limit)).unwrap();
        assert!(clock::is_exceeded(Some(start), Some(limit), end));
        let before = end.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap();
        assert!(!clock::is_exceeded(Some(start), Some(limit), before));
    }
    assert_eq!(clock::deadline(None, Some(LIMIT)), None);
    assert!(!clock::is_exceeded(None, Some(LIMIT), at(0)));
}
