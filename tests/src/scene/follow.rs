//! The stages of a request as they pass, for people.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::TryStreamExt;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use manifests::clcm::{ProvisioningPhase, ProvisioningRequest};

use crate::lab::progress::line;

/// Prints every condition that turns True and every change of phase and details, each with the time since the start,
/// until the request is fulfilled. `label` stands before each line.
///
/// # Errors
/// When that does not happen within `limit`; the error holds the last phase and details.
pub async fn follow(
    client: &Client,
    name: &str,
    label: &str,
    limit: Duration,
) -> Result<ProvisioningRequest> {
    let api: Api<ProvisioningRequest> = Api::all(client.clone());
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff().applied_objects());
    let start = Instant::now();
    let mut said: Vec<String> = Vec::new();
    let mut last = String::from("no status yet");
    loop {
        let left = limit.saturating_sub(start.elapsed());
        let Ok(next) = tokio::time::timeout(left, stream.try_next()).await else {
            bail!("ProvisioningRequest {name} is not fulfilled after {} s: {last}", limit.as_secs());
        };
        let Some(request) = next? else { bail!("the watch of ProvisioningRequest {name} ended") };
        let Some(status) = &request.status else { continue };
        let mut say = |text: String| {
            if !said.contains(&text) {
                line(&format!("{:>7.1} s  {label}  {text}", start.elapsed().as_secs_f64()));
                said.push(text);
            }
        };
        for condition in status.conditions.iter().filter(|c| c.status == "True") {
            say(format!("  {} {}: {}", '\u{2713}', condition.type_, condition.message));
        }
        let Some(state) = &status.provisioning_status else { continue };
        let phase = state.provisioning_phase.map_or("", ProvisioningPhase::as_str);
        last = format!("{phase}: {}", state.provisioning_details.as_deref().unwrap_or_default());
        say(last.clone());
        if state.provisioning_phase == Some(ProvisioningPhase::Fulfilled) {
            return Ok(request);
        }
    }
}
