//! Starts the tasks and ends them in order.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::config::Config;
use crate::health::Shared;
use crate::{hub, lease, probe, spoke};

/// How long tasks may take to end.
const GRACE: Duration = Duration::from_secs(10);

async fn spoke_client(config: &Config) -> anyhow::Result<Client> {
    let settings = match &config.spoke_kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("reading {}", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => kube::Config::infer().await.context("no service account and no kubeconfig of the spoke")?,
    };
    Ok(Client::try_from(settings)?)
}

/// Runs until a signal comes or a task ends.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let client = spoke_client(&config).await?;
    let listener = probe::listen(&config).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let shared = Arc::new(Shared::default());
    let stop = CancellationToken::new();
    info!(version = env!("CARGO_PKG_VERSION"), namespace = config.namespace, "starting");

    let mut tasks = JoinSet::new();
    tasks.spawn(spoke::watch_all(client.clone(), shared.clone(), stop.clone()));
    tasks.spawn(hub::report_forever(config.clone(), shared.clone(), stop.clone()));
    tasks.spawn(lease::keep(client, config, shared.clone(), stop.clone()));
    tasks.spawn(probe::serve(listener, shared, stop.clone()));

    let ended = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        ended = tasks.join_next() => ended,
    };
    // The lease just ends: the next process renews it within its time.
    stop.cancel();
    let rest = async { while tasks.join_next().await.is_some() {} };
    let in_time = tokio::time::timeout(GRACE, rest).await.is_ok();
    info!(in_time, "stopped");
    match ended {
        None => Ok(()),
        Some(Ok(())) => bail!("a task ended by itself"),
        Some(Err(error)) => Err(error).context("a task failed"),
    }
}
