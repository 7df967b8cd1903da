//! Leader election on a Lease (DESIGN section 4, spec/08 8.3).
//!
//! The Lease lasts 15 s and is renewed every 5 s by a write guarded by its resourceVersion. Our own term ends by a
//! monotonic clock from the last successful renewal; another holder is judged by how long *we* have seen its record
//! unchanged, so that no wall clock is trusted. Losing the lease ends the process: the pod restarts clean.
//! [`Leader::acquire`] is the only door to write paths.

use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// Name of the Lease in the operator namespace (DESIGN section 3).
pub(crate) const LEASE_NAME: &str = "ocloud-manager";
/// How long a renewal holds.
const DURATION: Duration = Duration::from_secs(15);
/// Time between renewals.
const RENEW: Duration = Duration::from_secs(5);
/// Limit of one call.
const CALL: Duration = Duration::from_secs(4);

/// Takes part in the election.
#[derive(Debug, Clone)]
pub(crate) struct Election {
    api: Api<Lease>,
    identity: String,
}

/// A term of leadership. While it lives the lease is renewed in the background.
#[derive(Debug)]
pub(crate) struct Leader {
    /// Cancelled when the lease is lost; the process must end.
    pub lost: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    election: Election,
}

/// What to do about the Lease that was just read.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    /// Nobody holds it: take it.
    Take,
    /// Somebody else holds it, and we have not watched long enough to call it dead.
    Wait,
}

/// The record of another holder, as we have seen it last.
#[derive(Debug, Default)]
struct Seen {
    version: Option<String>,
    since: Option<Instant>,
}

impl Seen {
    fn judge(&mut self, lease: &Lease, identity: &str, now: Instant) -> Move {
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        if holder.is_empty() || holder == identity {
            return Move::Take;
        }
        if self.version != lease.metadata.resource_version {
            self.version.clone_from(&lease.metadata.resource_version);
            self.since = Some(now);
        }
        let lasts =
            Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(15)).unwrap_or(15));
        match self.since {
            Some(since) if now.duration_since(since) >= lasts => Move::Take,
            _ => Move::Wait,
        }
    }
}

impl Election {
    /// `identity` must be unique per process: the pod's name with a random part.
    pub(crate) fn new(client: kube::Client, namespace: &str, identity: String) -> Self {
        Election { api: Api::namespaced(client, namespace), identity }
    }

    /// Waits until this process holds the Lease.
    pub(crate) async fn acquire(self) -> Leader {
        let mut seen = Seen::default();
        let mut said = String::new();
        loop {
            match tokio::time::timeout(CALL, self.try_take(&mut seen)).await {
                Ok(Ok(Ok(lease))) => return self.lead(lease),
                Ok(Ok(Err(holder))) => {
                    if said != holder {
                        info!(holder, "another replica leads; standing by");
                        said = holder;
                    }
                }
                Ok(Err(error)) => warn!(error = %format!("{error:#}"), "cannot take the lease"),
                Err(_) => warn!("taking the lease timed out"),
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    }

    async fn try_take(&self, seen: &mut Seen) -> anyhow::Result<Result<Lease, String>> {
        let Some(lease) = self.api.get_opt(LEASE_NAME).await.context("reading the lease")? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(LEASE_NAME.into()), ..ObjectMeta::default() },
                spec: Some(self.record(0)),
            };
            let made = self.api.create(&PostParams::default(), &lease).await.context("creating the lease")?;
            return Ok(Ok(made));
        };
        match seen.judge(&lease, &self.identity, Instant::now()) {
            Move::Wait => {
                let holder = lease.spec.and_then(|s| s.holder_identity).unwrap_or_default();
                Ok(Err(holder))
            }
            Move::Take => {
                let transitions = lease.spec.as_ref().and_then(|s| s.lease_transitions).unwrap_or(0);
                let mut next = lease;
                next.spec = Some(self.record(transitions.saturating_add(1)));
                next.metadata.managed_fields = None;
                let taken = self
                    .api
                    .replace(LEASE_NAME, &PostParams::default(), &next)
                    .await
                    .context("taking the lease")?;
                Ok(Ok(taken))
            }
        }
    }

    fn record(&self, transitions: i32) -> LeaseSpec {
        let now = MicroTime(wall_clock());
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    fn lead(self, lease: Lease) -> Leader {
        info!(identity = self.identity, "leading");
        let lost = CancellationToken::new();
        let task = tokio::spawn(self.clone().renew(lease, lost.clone()));
        Leader { lost, task, election: self }
    }

    async fn renew(self, mut lease: Lease, lost: CancellationToken) {
        let mut good = Instant::now();
        loop {
            tokio::time::sleep(RENEW).await;
            let started = Instant::now();
            let mut next = lease.clone();
            next.metadata.managed_fields = None;
            if let Some(spec) = next.spec.as_mut() {
                spec.renew_time = Some(MicroTime(wall_clock()));
            }
            match tokio::time::timeout(CALL, self.api.replace(LEASE_NAME, &PostParams::default(), &next))
                .await
            {
                Ok(Ok(renewed)) => {
                    good = started;
                    lease = renewed;
                    debug!("lease renewed");
                }
                Ok(Err(kube::Error::Api(status))) if status.is_conflict() || status.is_not_found() => {
                    // Somebody wrote it. If it still names us (a person edited it), go on; else it is lost.
                    match tokio::time::timeout(CALL, self.api.get_opt(LEASE_NAME)).await {
                        Ok(Ok(Some(now)))
                            if now.spec.as_ref().and_then(|s| s.holder_identity.as_deref())
                                == Some(self.identity.as_str()) =>
                        {
                            lease = now;
                        }
                        Ok(Ok(_)) => {
                            warn!("the lease was taken by another replica");
                            lost.cancel();
                            return;
                        }
                        Ok(Err(_)) | Err(_) => {}
                    }
                }
                Ok(Err(error)) => warn!(%error, "lease not renewed"),
                Err(_) => warn!("lease renewal timed out"),
            }
            if good.elapsed() >= DURATION {
                warn!("the lease ran out");
                lost.cancel();
                return;
            }
        }
    }
}

impl Leader {
    /// Orderly end: gives the Lease back so that another replica takes over at once.
    pub(crate) async fn release(self) {
        self.task.abort();
        if self.lost.is_cancelled() {
            return;
        }
        let give = async {
            let mut lease = self.election.api.get(LEASE_NAME).await?;
            lease.metadata.managed_fields = None;
            if let Some(spec) = lease.spec.as_mut()
                && spec.holder_identity.as_deref() == Some(self.election.identity.as_str())
            {
                spec.holder_identity = None;
                self.election.api.replace(LEASE_NAME, &PostParams::default(), &lease).await?;
            }
            Ok::<_, kube::Error>(())
        };
        if let Ok(Err(error)) = tokio::time::timeout(CALL, give).await {
            debug!(%error, "lease not released");
        }
    }
}

/// Only for people who read the Lease: no decision depends on it.
fn wall_clock() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(holder: &str, version: &str) -> Lease {
        Lease {
            metadata: ObjectMeta { resource_version: Some(version.into()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(holder.into()),
                lease_duration_seconds: Some(15),
                ..LeaseSpec::default()
            }),
        }
    }

    #[test]
    fn another_holder_is_judged_by_how_long_we_saw_its_record_unchanged() {
        let mut seen = Seen::default();
        let t0 = Instant::now();
        let at = |s| t0 + Duration::from_secs(s);
        assert_eq!(seen.judge(&held("b", "1"), "a", at(0)), Move::Wait);
        assert_eq!(seen.judge(&held("b", "1"), "a", at(14)), Move::Wait);
        assert_eq!(seen.judge(&held("b", "2"), "a", at(15)), Move::Wait);
        assert_eq!(seen.judge(&held("b", "2"), "a", at(29)), Move::Wait);
        assert_eq!(seen.judge(&held("b", "2"), "a", at(30)), Move::Take);
        assert_eq!(seen.judge(&held("", "3"), "a", at(30)), Move::Take);
        assert_eq!(seen.judge(&held("a", "4"), "a", at(30)), Move::Take);
    }
}
