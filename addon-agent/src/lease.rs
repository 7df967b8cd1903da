//! The add-on's lease on the spoke: renewed only while the agent does its work (spec/07 section 6). OCM calls the
//! add-on unavailable 300 s after the last renewal.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use manifests::addon::AGENT_MANAGER;
use rand::Rng;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Config;
use crate::health::Shared;

/// Seconds that readers may count on a renewal.
const DURATION: i32 = 60;
/// How soon to look again while the agent is not well.
const SOON: Duration = Duration::from_secs(2);
const CALL: Duration = Duration::from_secs(10);

/// Renews the lease until `stop`.
pub(crate) async fn keep(client: Client, config: Config, shared: Arc<Shared>, stop: CancellationToken) {
    let api: Api<Lease> = Api::namespaced(client, &config.namespace);
    let mut state = String::from("starting");
    loop {
        let result = match shared.problem() {
            Some(problem) => Err(problem),
            None => renew(&api, &config).await.map_err(|e| format!("{e:#}")),
        };
        let wait = match result {
            Ok(()) => {
                if !state.is_empty() {
                    info!("renewing the lease");
                    state.clear();
                }
                config.lease_interval().mul_f64(rand::rng().random_range(1.0..1.25))
            }
            Err(problem) => {
                // Times in it change; the beginning does not.
                let kind = problem.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned();
                if state != kind {
                    warn!(problem, "not renewing the lease");
                    state = kind;
                }
                SOON
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn renew(api: &Api<Lease>, config: &Config) -> anyhow::Result<()> {
    let lease = Lease {
        metadata: ObjectMeta { name: Some(config.addon_name.clone()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            lease_duration_seconds: Some(DURATION),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        }),
    };
    let params = PatchParams::apply(AGENT_MANAGER).force();
    let patch = Patch::Apply(&lease);
    let call = api.patch(&config.addon_name, &params, &patch);
    tokio::time::timeout(CALL, call).await.context("no answer from the API server")??;
    Ok(())
}
