//! The way to the hub: its client, rebuilt whenever the files of the kubeconfig change, and the report's writer.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use manifests::addon::{AGENT_MANAGER, REPORT_NAME, SpokeReport, SpokeReportStatus};
use manifests::meta::condition::whole_seconds;
use rand::Rng;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::config::Config;
use crate::health::Shared;
use crate::report::{self, pace};

/// Limit of one call.
const CALL: Duration = Duration::from_secs(15);
/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Until the files have come the agent has nothing else to do.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// Version in the report.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the files say. The token file is not among them: the client reads that anew by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Files {
    /// The cluster's name, which is its namespace on the hub.
    cluster: String,
    fingerprint: u64,
}

/// `None` until the registration agent has brought the files.
fn look(directory: &Path) -> Option<Files> {
    let read = |name: &str| std::fs::read(directory.join(name)).ok();
    let kubeconfig = read("kubeconfig")?;
    // Never the client's default namespace: the kubeconfig says "configuration" (spec/07 section 6).
    let cluster = String::from_utf8(read("cluster-name")?).ok()?.trim().to_owned();
    if cluster.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (kubeconfig, &cluster, read("tls.crt"), read("tls.key")).hash(&mut hasher);
    Some(Files { cluster, fingerprint: hasher.finish() })
}

async fn connect(config: &Config) -> anyhow::Result<Client> {
    let path = config.hub_directory.join("kubeconfig");
    let file = Kubeconfig::read_from(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut settings = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    if let Some(path) = &config.proxy_ca {
        let bundle = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        for certificate in CertificateDer::pem_slice_iter(&bundle) {
            let certificate = certificate.with_context(|| format!("in {}", path.display()))?;
            settings.root_cert.get_or_insert_default().push(certificate.to_vec());
        }
    }
    Ok(Client::try_from(settings)?)
}

/// Reports until `stop`.
pub(crate) async fn report_forever(config: Config, shared: Arc<Shared>, stop: CancellationToken) {
    let mut said = None;
    let mut say = |text: String, shared: &Shared| {
        if said.as_ref() != Some(&text) {
            info!(reason = text, "not connected to the hub");
            said = Some(text.clone());
        }
        shared.hub_failed(text);
    };
    loop {
        let Some(files) = look(&config.hub_directory) else {
            say(format!("no hub kubeconfig in {} yet", config.hub_directory.display()), &shared);
            if pause(FIRST_LOOK.min(config.file_interval()), &stop).await {
                return;
            }
            continue;
        };
        match connect(&config).await {
            Ok(client) => {
                info!(cluster = files.cluster, "connected to the hub");
                if session(&config, &shared, &files, client, &stop).await {
                    return;
                }
                info!("the files of the hub kubeconfig changed");
            }
            Err(error) => {
                // Files may be half written; the error names paths, never their content.
                say(format!("the hub kubeconfig is not usable: {error:#}"), &shared);
                if pause(config.file_interval(), &stop).await {
                    return;
                }
            }
        }
    }
}

/// True when it is time to stop.
async fn pause(time: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => true,
        () = tokio::time::sleep(time) => false,
    }
}

/// Reports over one client. True when it is time to stop, false when the files changed.
async fn session(
    config: &Config,
    shared: &Arc<Shared>,
    files: &Files,
    client: Client,
    stop: &CancellationToken,
) -> bool {
    let api: Api<SpokeReport> = Api::namespaced(client, &files.cluster);
    let mut events = std::pin::pin!(watch_report(api.clone()));
    let mut ticks = tokio::time::interval(config.file_interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut writer = Writer::new(api, config.report_interval());
    loop {
        let wait = writer.step(shared).await;
        tokio::select! {
            () = stop.cancelled() => return true,
            Some(event) = events.next() => writer.take(event, shared),
            () = shared.changed.notified() => {}
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {}
            _ = ticks.tick() => {
                // Files that vanish keep the session: the certificate in memory is still good.
                if look(&config.hub_directory).is_some_and(|now| now != *files) {
                    return false;
                }
            }
        }
    }
}

fn watch_report(api: Api<SpokeReport>) -> impl Stream<Item = watcher::Result<Event<SpokeReport>>> {
    let config = watcher::Config::default().fields(&format!("metadata.name={REPORT_NAME}"));
    watcher(api, config).backoff(DefaultBackoff::default())
}

/// The object on the hub, as far as we know it.
#[derive(Debug, Clone)]
struct Stored {
    uid: Option<String>,
    version: u64,
    status: Option<SpokeReportStatus>,
}

struct Writer {
    api: Api<SpokeReport>,
    /// `None` while it does not exist, or has not been seen yet.
    stored: Option<Stored>,
    listing: bool,
    base: Duration,
    interval: Duration,
    sent: Option<Instant>,
    failures: u32,
    retry: Option<Instant>,
}

impl Writer {
    fn new(api: Api<SpokeReport>, base: Duration) -> Self {
        let mut writer = Writer {
            api,
            stored: None,
            listing: false,
            base,
            interval: base,
            sent: None,
            failures: 0,
            retry: None,
        };
        writer.roll();
        writer
    }

    /// A random part of up to a quarter keeps the agents of a fleet apart.
    fn roll(&mut self) {
        self.interval = self.base.mul_f64(1.0 + rand::rng().random_range(0.0..0.25));
    }

    /// Takes what the watch of the report brings.
    fn take(&mut self, event: watcher::Result<Event<SpokeReport>>, shared: &Shared) {
        match event {
            Ok(Event::Init) => self.listing = true,
            Ok(Event::InitApply(report) | Event::Apply(report)) => {
                self.listing = false;
                self.learn(report);
            }
            Ok(Event::InitDone) => {
                if std::mem::take(&mut self.listing) {
                    self.absent(shared);
                }
            }
            Ok(Event::Delete(_)) => self.absent(shared),
            Err(error) => {
                let text = match &error {
                    watcher::Error::InitialListFailed(kube::Error::Api(s))
                    | watcher::Error::WatchStartFailed(kube::Error::Api(s)) => s.message.clone(),
                    other => other.to_string(),
                };
                debug!(error = text, "watch of the report failed; starting anew");
                shared.hub_failed(text);
            }
        }
    }

    fn absent(&mut self, shared: &Shared) {
        self.stored = None;
        shared.hub_failed(format!(
            "SpokeReport {REPORT_NAME} does not exist on the hub; the manager creates it"
        ));
    }

    /// A late event must not hide the answer to our own write.
    fn learn(&mut self, report: SpokeReport) {
        let version =
            report.metadata.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(u64::MAX);
        let new = Stored { uid: report.metadata.uid, version, status: report.status };
        let older = self.stored.as_ref().is_some_and(|s| s.uid == new.uid && s.version > new.version);
        if !older {
            self.stored = Some(new);
        }
    }

    /// Writes if it is time. Returns when to look again without an event.
    async fn step(&mut self, shared: &Shared) -> Option<Duration> {
        let stored = self.stored.as_ref()?;
        let before = stored.status.as_ref().map_or(&[][..], |s| s.conditions.as_slice());
        let now = Timestamp::now();
        let draft = shared.observed(|o| o.is_complete().then(|| report::build(o, VERSION, before, now)))?;
        let since = self.sent.map(|at| at.elapsed());
        match pace::next(&draft, stored.status.as_ref(), since, self.interval) {
            pace::Next::Rest => {
                shared.waiting(false);
                None
            }
            pace::Next::In(time) => {
                // What waits by design is no backlog.
                if self.failures == 0 && stored.status.is_some() {
                    shared.waiting(false);
                }
                Some(time)
            }
            pace::Next::Write => {
                shared.waiting(true);
                if let Some(left) =
                    self.retry.map(|at| at.saturating_duration_since(Instant::now())).filter(|d| !d.is_zero())
                {
                    return Some(left);
                }
                self.write(draft, now, shared).await
            }
        }
    }

    async fn write(
        &mut self,
        mut draft: SpokeReportStatus,
        now: Timestamp,
        shared: &Shared,
    ) -> Option<Duration> {
        draft.updated_at = Some(Time(whole_seconds(now)));
        let uid = self.stored.as_ref().and_then(|s| s.uid.clone());
        let body = json!({
            "apiVersion": "addon.clcm.openshift.io/v1alpha1",
            "kind": "SpokeReport",
            "metadata": {"name": REPORT_NAME, "uid": uid},
            "status": draft,
        });
        let params = PatchParams::apply(AGENT_MANAGER).force();
        let patch = Patch::Apply(&body);
        let call = self.api.patch_status(REPORT_NAME, &params, &patch);
        let error = match tokio::time::timeout(CALL, call).await {
            Ok(Ok(report)) => {
                info!(
                    version = draft.cluster_version.as_ref().map(|v| v.version.as_str()),
                    desired = draft.cluster_version.as_ref().map(|v| v.desired.as_str()),
                    phase = draft.progress.as_ref().map(|p| format!("{:?}", p.phase)),
                    "reported"
                );
                self.learn(report);
                self.sent = Some(Instant::now());
                self.failures = 0;
                self.retry = None;
                self.roll();
                shared.waiting(false);
                // Look once more: what happened during the call may be a change of phase.
                return Some(Duration::from_millis(1));
            }
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => {
                self.absent(shared);
                return None;
            }
            Ok(Err(kube::Error::Api(status))) => status.message.clone(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", CALL.as_secs()),
        };
        self.failures = self.failures.saturating_add(1);
        let pause = backoff(self.failures);
        warn!(error, failures = self.failures, pause = pause.as_secs(), "report not delivered");
        shared.hub_failed(error);
        self.retry = Some(Instant::now() + pause);
        Some(pause)
    }
}

/// 1 s, 2 s, 4 s ... with a random part of up to a half.
fn backoff(failures: u32) -> Duration {
    let seconds = 1u64.checked_shl(failures.saturating_sub(1).min(10)).unwrap_or(u64::MAX);
    Duration::from_secs(seconds).min(LONGEST_PAUSE).mul_f64(rand::rng().random_range(1.0..1.5))
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
