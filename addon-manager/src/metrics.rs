//! Metrics (spec/08 section 10). No label has unbounded values.

use std::sync::Arc;
use std::time::Duration;

use manager_core::plan::{FaultClass, Step};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AreaResult {
    area: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Area {
    area: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindResult {
    kind: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindChanged {
    kind: String,
    changed: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: String,
}

/// All families of the manager.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    reconcile: Family<AreaResult, Histogram, fn() -> Histogram>,
    depth: Family<Area, Gauge>,
    applied: Family<KindResult, Counter>,
    statuses: Family<KindChanged, Counter>,
    watch_errors: Family<WatchLabels, Counter>,
    /// 1 while this process leads.
    pub leader: Gauge,
}

fn class(fault: Option<FaultClass>) -> &'static str {
    match fault {
        None => "ok",
        Some(FaultClass::Invalid) => "invalid",
        Some(FaultClass::Conflict) => "conflict",
        Some(FaultClass::Transient) => "transient",
    }
}

impl Metrics {
    /// Registers everything.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("ocloud");
        let reconcile: Family<AreaResult, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_1, 4.0, 9)));
        let depth = Family::default();
        let applied = Family::default();
        let statuses = Family::default();
        let watch_errors = Family::default();
        let leader = Gauge::default();
        registry.register("reconcile_seconds", "Duration of a pass by area and result", reconcile.clone());
        registry.register("queue_depth", "Keys that wait or run, by area", depth.clone());
        registry.register("apply", "Writes by kind and result", applied.clone());
        registry.register(
            "status_writes",
            "Status comparisons by kind, and whether they were written",
            statuses.clone(),
        );
        registry.register("watch_errors", "Errors of watches by kind", watch_errors.clone());
        registry.register("leader", "1 while this process leads", leader.clone());
        Metrics { registry: Arc::new(registry), reconcile, depth, applied, statuses, watch_errors, leader }
    }

    /// A pass ended.
    pub(crate) fn pass(&self, area: &'static str, fault: Option<FaultClass>, took: Duration) {
        self.reconcile.get_or_create(&AreaResult { area, result: class(fault) }).observe(took.as_secs_f64());
    }

    /// Length of a queue.
    pub(crate) fn queue(&self, area: &'static str, depth: usize) {
        self.depth.get_or_create(&Area { area }).set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    /// A step ended.
    pub(crate) fn step(&self, step: &Step, fault: Option<FaultClass>) {
        let kind = match step {
            Step::Apply { api, .. } => api.kind.clone(),
            Step::ApplyStatus { api, .. } => format!("{}/status", api.kind),
            Step::DryRun { api, .. } => format!("{}/dry-run", api.kind),
            Step::Merge { target, .. } | Step::Delete { target, .. } => target.api.kind.clone(),
            Step::MergeStatus { target, .. } => format!("{}/status", target.api.kind),
            Step::Approve { .. } => "CertificateSigningRequest/approval".to_owned(),
            Step::CopySecret { .. } => "Secret".to_owned(),
        };
        self.applied.get_or_create(&KindResult { kind, result: class(fault) }).inc();
    }

    /// A status was compared, and written if it changed.
    pub(crate) fn status(&self, kind: &str, changed: bool) {
        let changed = if changed { "true" } else { "false" };
        self.statuses.get_or_create(&KindChanged { kind: kind.to_owned(), changed }).inc();
    }

    /// A watch failed and starts anew.
    pub(crate) fn watch_error(&self, kind: &str) {
        self.watch_errors.get_or_create(&WatchLabels { kind: kind.to_owned() }).inc();
    }

    /// The text format of Prometheus.
    pub(crate) fn encode(&self) -> String {
        let mut out = String::new();
        match text::encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(_) => String::new(),
        }
    }
}
