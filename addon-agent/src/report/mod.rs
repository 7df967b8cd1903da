//! From what is observed to what is reported: pure.
//!
//! | Part | Module |
//! |---|---|
//! | the whole report | [`build`] |
//! | bounds of texts and lists | [`cut`] |
//! | what moves | [`progress`] |
//! | what is wrong, what blocks an upgrade | [`trouble`] |
//! | when to write | [`pace`] |

mod cut;
pub(crate) mod pace;
mod parts;
mod progress;
mod trouble;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use manifests::addon::{LeftOff, SpokeReportStatus, limits as max};
use manifests::meta::condition;

use self::cut::{list, text};
use crate::observed::Observed;

/// The report, without the time of writing. `before` holds the conditions of the last one, for their transition
/// times.
pub(crate) fn build(
    observed: &Observed,
    version: &str,
    before: &[Condition],
    now: Timestamp,
) -> SpokeReportStatus {
    let mut left = LeftOff::default();
    let progress = progress::progress(observed);
    let (blockers, warnings) = trouble::findings(observed, progress.is_some());
    let mut conditions: Vec<Condition> = before.to_vec();
    conditions.retain(|c| trouble::ORDER.iter().any(|k| k.as_str() == c.type_));
    for next in trouble::conditions(observed, progress.as_ref()) {
        condition::set(&mut conditions, next, now);
    }
    SpokeReportStatus {
        agent_version: text(version, max::WORD),
        updated_at: None,
        served: observed.served.iter().copied().collect(),
        cluster_version: observed.version.as_ref().map(|v| parts::cluster_version(v, &mut left)),
        progress,
        operators: (!observed.operators.is_empty()).then(|| parts::operators(observed, &mut left)),
        pools: list(parts::pools(observed), max::POOLS, &mut left.pools),
        image_based_upgrade: observed.upgrade.as_ref().map(parts::image_based_upgrade),
        nodes: Some(parts::nodes(observed, &mut left)),
        blockers: list(blockers, max::FINDINGS, &mut left.blockers),
        warnings: list(warnings, max::FINDINGS, &mut left.warnings),
        operations: Vec::new(),
        left_off: (left != LeftOff::default()).then_some(left),
        conditions,
    }
}

#[cfg(test)]
mod tests;
