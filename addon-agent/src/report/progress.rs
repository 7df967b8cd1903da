//! What moves: parsed from what the spoke's operators say (spec/03 5.4 and 6.5).

use manifests::addon::{Progress, ProgressPhase, limits as max};
use manifests::openshift::condition::{find, status};
use manifests::openshift::{ImageBasedUpgrade, MachineConfigPool};

use super::cut::text;
use super::parts::pool_conditions;
use crate::observed::{Observed, VersionFacts};

/// An image-based stage before the ClusterVersion, that before pools; `None` at rest.
pub(super) fn progress(observed: &Observed) -> Option<Progress> {
    let stage = observed.upgrade.as_ref().and_then(image_based);
    let version = || observed.version.as_ref().and_then(cluster_version);
    stage.or_else(version).or_else(|| pools(observed))
}

fn percent(done: i32, total: i32) -> Option<i32> {
    // 100 is for what is done, and then there is no progress.
    (total > 0)
        .then(|| (i64::from(done) * 100 / i64::from(total)).clamp(0, 99))
        .and_then(|p| i32::try_from(p).ok())
}

fn cluster_version(facts: &VersionFacts) -> Option<Progress> {
    let state = facts.object.status.as_ref()?;
    let progressing = find(&state.conditions, "Progressing").filter(|c| c.is_true())?;
    let newest = state.history.first().map(|h| h.version.as_str());
    let loading = newest != Some(state.desired.version.as_str())
        && status(&state.conditions, "ReleaseAccepted") != "True";
    let said = parse(progressing.message());
    let mut detail = progressing.message().to_owned();
    if let Some(failing) = find(&state.conditions, "Failing").filter(|c| c.is_true()) {
        detail = format!("{detail}; failing: {}: {}", failing.reason(), failing.message());
    }
    Some(Progress {
        phase: if loading { ProgressPhase::Payload } else { ProgressPhase::Operators },
        percent: said.percent.or_else(|| percent(said.done?, said.total?)),
        done: said.done,
        total: said.total,
        waiting_on: said.waiting_on.iter().take(max::WAITING_ON).map(|n| text(n, max::NAME)).collect(),
        detail: text(&detail, max::MESSAGE),
        since: progressing.last_transition_time.clone(),
    })
}

fn pools(observed: &Observed) -> Option<Progress> {
    let rolls = |p: &&MachineConfigPool| !p.spec.paused && status(pool_conditions(p), "Updating") == "True";
    let rolling: Vec<_> = observed.pools.values().filter(rolls).collect();
    let count = |of: fn(&MachineConfigPool) -> i32| rolling.iter().map(|p| of(p)).sum::<i32>();
    let since = rolling
        .iter()
        .filter_map(|p| find(pool_conditions(p), "Updating")?.last_transition_time.clone())
        .min();
    let updated = |p: &MachineConfigPool| p.status.as_ref().map_or(0, |s| s.updated_machine_count);
    let all = |p: &MachineConfigPool| p.status.as_ref().map_or(0, |s| s.machine_count);
    let (done, total) = (count(updated), count(all));
    let lines: Vec<String> = rolling
        .iter()
        .map(|p| {
            format!("{} {}/{} updated", p.metadata.name.as_deref().unwrap_or_default(), updated(p), all(p))
        })
        .collect();
    (!rolling.is_empty()).then(|| Progress {
        phase: ProgressPhase::Pools,
        percent: percent(done, total),
        done: Some(done),
        total: Some(total),
        waiting_on: Vec::new(),
        detail: text(&lines.join(", "), max::MESSAGE),
        since,
    })
}

fn image_based(object: &ImageBasedUpgrade) -> Option<Progress> {
    let state = object.status.as_ref()?;
    let idle = find(&state.conditions, "Idle");
    let running = |type_: &str| find(&state.conditions, type_).filter(|c| c.is_true());
    let (phase, condition) = match object.spec.stage.as_str() {
        "Prep" => (ProgressPhase::Prep, running("PrepInProgress")?),
        "Upgrade" => (ProgressPhase::Upgrade, running("UpgradeInProgress")?),
        "Rollback" => (ProgressPhase::Rollback, running("RollbackInProgress")?),
        _ => {
            let on_the_way = idle.filter(|c| !c.is_true())?;
            match on_the_way.reason() {
                "Aborting" => (ProgressPhase::Aborting, on_the_way),
                "Finalizing" => (ProgressPhase::Finalizing, on_the_way),
                _ => return None,
            }
        }
    };
    let message = condition.message();
    let pulled = number_after(message, "pulled: ");
    let total = number_after(message, "total: ");
    Some(Progress {
        phase,
        percent: percent(pulled.unwrap_or_default(), total.unwrap_or_default()),
        done: pulled,
        total,
        waiting_on: Vec::new(),
        detail: text(message, max::MESSAGE),
        since: condition.last_transition_time.clone(),
    })
}

fn number_after(message: &str, key: &str) -> Option<i32> {
    let (_, rest) = message.split_once(key)?;
    leading_number(rest)
}

fn leading_number(text: &str) -> Option<i32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

fn trailing_number(text: &str) -> Option<i32> {
    let start = text.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |i| i + 1);
    text.get(start..)?.parse().ok()
}

/// What the message of the ClusterVersion's condition `Progressing` tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    done: Option<i32>,
    total: Option<i32>,
    percent: Option<i32>,
    waiting_on: Vec<String>,
}

/// `<d> of <t> done (<p>% complete)` anywhere, `<p>% complete` of old releases, `waiting on <a>, <b>`. The version
/// before it may hold colons (image pull specs), so the message is never split there.
fn parse(message: &str) -> Said {
    let mut said = Said::default();
    if let Some((before, _)) = message.split_once(" done")
        && let Some((head, total)) = before.rsplit_once(" of ")
        && let (Some(done), Ok(total)) = (trailing_number(head), total.parse())
    {
        said.done = Some(done);
        said.total = Some(total);
    }
    if let Some((before, _)) = message.split_once("% complete") {
        said.percent = trailing_number(before).map(|p| p.clamp(0, 99));
    }
    let tail = ["waiting on ", " minutes on "].iter().find_map(|key| message.split_once(key)).map(|(_, t)| t);
    if let Some(tail) = tail {
        // "over 30 minutes which is longer than expected" is a remark on the last name.
        let names = tail.split(", ").map(|n| n.split(" over ").next().unwrap_or(n).trim());
        said.waiting_on = names.filter(|n| !n.is_empty() && !n.contains(' ')).map(str::to_owned).collect();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn said(done: Option<i32>, total: Option<i32>, percent: Option<i32>, names: &[&str]) -> Said {
        Said { done, total, percent, waiting_on: names.iter().map(|n| (*n).to_owned()).collect() }
    }

    #[rstest]
    #[case("Working towards 4.20.5", said(None, None, None, &[]))]
    #[case("Working towards 4.20.5: 711 of 903 done (78% complete)", said(Some(711), Some(903), Some(78), &[]))]
    #[case(
        "Working towards 4.20.5: 711 of 903 done (78% complete), waiting on machine-config",
        said(Some(711), Some(903), Some(78), &["machine-config"])
    )]
    #[case(
        "Working towards 4.20.5: 711 of 903 done (78% complete), waiting on dns, network",
        said(Some(711), Some(903), Some(78), &["dns", "network"])
    )]
    #[case(
        "Working towards 4.20.5: 711 of 903 done (78% complete), waiting on machine-config over 90 minutes which is longer than expected",
        said(Some(711), Some(903), Some(78), &["machine-config"])
    )]
    #[case(
        "Working towards 4.12.1: 711 of 803 done (88% complete), waiting up to 40 minutes on network",
        said(Some(711), Some(803), Some(88), &["network"])
    )]
    #[case("Working towards 4.6.1: 24% complete", said(None, None, Some(24), &[]))]
    #[case("Working towards 4.20.5: 5 of 903 done", said(Some(5), Some(903), None, &[]))]
    #[case(
        "Working towards quay.io/r/release@sha256:ab12: 1 of 2 done (50% complete)",
        said(Some(1), Some(2), Some(50), &[])
    )]
    #[case("Working towards 4.20.5: 903 of 903 done (100% complete)", said(Some(903), Some(903), Some(99), &[]))]
    #[case("Unable to apply 4.20.5: an unknown error has occurred", said(None, None, None, &[]))]
    #[case("", said(None, None, None, &[]))]
    fn messages_of_the_cluster_version(#[case] message: &str, #[case] want: Said) {
        assert_eq!(parse(message), want);
    }

    #[test]
    fn percent_is_floored_and_never_done() {
        assert_eq!(percent(711, 903), Some(78));
        assert_eq!(percent(3, 3), Some(99));
        assert_eq!(percent(0, 0), None);
    }
}
