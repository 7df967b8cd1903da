//! When to write a report: at once when a phase changed, otherwise not more often than every so many seconds, and
//! never without a change, except once a minute while an upgrade runs (DESIGN section 2).

use std::time::Duration;

use manifests::addon::{ReportCondition, SpokeReportStatus};

/// While something rolls, a report that did not change is written anew after this time, so that the hub can tell a
/// slow spoke from a silent one.
const REFRESH: Duration = Duration::from_mins(1);
/// Even phases do not change more often than this in a report.
const FLOOR: Duration = Duration::from_secs(1);

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Write.
    Write,
    /// Look again after this time, or on a change.
    In(Duration),
    /// Wait for a change.
    Rest,
}

/// Decides about one draft. `stored` is what the hub has; `since` is how long ago we wrote last; `interval` is the least
/// time between two writes without a change of phase, its random part included.
pub(crate) fn next(
    draft: &SpokeReportStatus,
    stored: Option<&SpokeReportStatus>,
    since: Option<Duration>,
    interval: Duration,
) -> Next {
    let wait = |limit: Duration| match since {
        Some(since) if since < limit => Next::In(limit.saturating_sub(since)),
        _ => Next::Write,
    };
    let Some(stored) = stored else { return wait(FLOOR) };
    if content(draft) == content(stored) {
        return if is_moving(draft) { wait(REFRESH) } else { Next::Rest };
    }
    if skeleton(draft) == skeleton(stored) { wait(interval.max(FLOOR)) } else { wait(FLOOR) }
}

fn is_moving(status: &SpokeReportStatus) -> bool {
    let kind = ReportCondition::Reconciling.as_str();
    status.conditions.iter().any(|c| c.type_ == kind && c.status == "True")
}

/// Everything but the time of writing.
fn content(status: &SpokeReportStatus) -> SpokeReportStatus {
    SpokeReportStatus { updated_at: None, ..status.clone() }
}

/// What a phase is made of: versions, stages, states and names; not texts, counts and times.
fn skeleton(status: &SpokeReportStatus) -> SpokeReportStatus {
    let mut s = content(status);
    if let Some(version) = &mut s.cluster_version {
        version.available_updates.clear();
        version.conditional_updates.clear();
        for c in &mut version.conditions {
            c.message.clear();
            c.since = None;
        }
    }
    if let Some(progress) = &mut s.progress {
        progress.percent = None;
        progress.done = None;
        progress.total = None;
        progress.waiting_on.clear();
        progress.detail.clear();
    }
    if let Some(operators) = &mut s.operators {
        operators.items.retain(|o| o.available != "True" || o.degraded == "True");
        for o in &mut operators.items {
            o.message.clear();
            o.reason.clear();
            o.version.clear();
            o.progressing.clear();
            o.since = None;
        }
    }
    for pool in &mut s.pools {
        pool.message.clear();
        pool.updated_machine_count = 0;
        pool.ready_machine_count = 0;
        pool.unavailable_machine_count = 0;
        pool.degraded_machine_count = 0;
    }
    if let Some(upgrade) = &mut s.image_based_upgrade {
        upgrade.rollback_availability_expiration = None;
        for c in &mut upgrade.conditions {
            c.message.clear();
            c.since = None;
        }
    }
    if let Some(nodes) = &mut s.nodes {
        nodes.kubelets.clear();
        for node in &mut nodes.not_ready {
            node.message.clear();
            node.since = None;
        }
    }
    for finding in s.blockers.iter_mut().chain(&mut s.warnings) {
        finding.message.clear();
    }
    for c in &mut s.conditions {
        c.message.clear();
    }
    s.left_off = None;
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
    use manifests::addon::{ClusterVersionReport, Progress, ProgressPhase, ReportedCondition};
    use rstest::rstest;

    const INTERVAL: Duration = Duration::from_secs(33);

    fn at(second: i64) -> Time {
        Time(jiff::Timestamp::from_second(second).unwrap())
    }

    fn moving(percent: i32, desired: &str) -> SpokeReportStatus {
        SpokeReportStatus {
            cluster_version: Some(ClusterVersionReport {
                desired: desired.into(),
                conditions: vec![ReportedCondition {
                    type_: "Progressing".into(),
                    status: "True".into(),
                    message: format!("{percent}% complete"),
                    ..ReportedCondition::default()
                }],
                ..ClusterVersionReport::default()
            }),
            progress: Some(Progress {
                phase: ProgressPhase::Operators,
                percent: Some(percent),
                done: None,
                total: None,
                waiting_on: vec![],
                detail: format!("{percent}%"),
                since: None,
            }),
            conditions: vec![Condition {
                type_: "Reconciling".into(),
                status: "True".into(),
                reason: "R".into(),
                message: String::new(),
                observed_generation: None,
                last_transition_time: at(0),
            }],
            ..SpokeReportStatus::default()
        }
    }

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[rstest]
    #[case::first(None, None, Next::Write)]
    #[case::phase_at_once(Some(moving(10, "4.19")), Some(secs(2)), Next::Write)]
    #[case::phase_but_not_in_a_hurry(Some(moving(10, "4.19")), Some(secs(0)), Next::In(FLOOR))]
    #[case::words_wait(Some(moving(9, "4.20")), Some(secs(3)), Next::In(secs(30)))]
    #[case::words_in_time(Some(moving(9, "4.20")), Some(secs(33)), Next::Write)]
    #[case::words_of_a_new_process(Some(moving(9, "4.20")), None, Next::Write)]
    #[case::moving_same(Some(moving(10, "4.20")), Some(secs(20)), Next::In(secs(40)))]
    #[case::moving_refresh(Some(moving(10, "4.20")), Some(secs(60)), Next::Write)]
    fn writes(
        #[case] stored: Option<SpokeReportStatus>,
        #[case] since: Option<Duration>,
        #[case] want: Next,
    ) {
        assert_eq!(next(&moving(10, "4.20"), stored.as_ref(), since, INTERVAL), want);
    }

    #[test]
    fn at_rest_nothing_is_written_whatever_time_passes() {
        let mut draft = moving(10, "4.20");
        draft.conditions[0].status = "False".into();
        let mut stored = draft.clone();
        stored.updated_at = Some(at(7));
        for since in [None, Some(secs(0)), Some(secs(100_000))] {
            assert_eq!(next(&draft, Some(&stored), since, INTERVAL), Next::Rest);
        }
    }
}
