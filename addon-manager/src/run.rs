//! Builds the context, starts watches, servers and, while this process leads, the controllers. The one place that
//! spawns.

use std::sync::Arc;

use anyhow::Context as _;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::config::Config;
use crate::leader::Election;
use crate::runtime::context::Context;
use crate::runtime::drain::{Area, drain};
use crate::runtime::{routes, watch, world};
use crate::{addon, hardware, inventory, request, serve, template};

async fn client(config: &Config) -> anyhow::Result<Client> {
    let settings = match &config.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("reading {}", path.display()))?;
            kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?
        }
        None => kube::Config::infer()
            .await
            .context("no --kubeconfig, no service account and no own kubeconfig")?,
    };
    Ok(Client::try_from(settings)?)
}

fn lead<A: Area>(tasks: &mut tokio::task::JoinSet<()>, ctx: &Arc<Context>, stop: &CancellationToken) {
    tasks.spawn(drain::<A>(ctx.clone(), stop.clone()));
}

/// Runs until a signal, the loss of the lease, or the end of an essential task.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    let client = client(&config).await?;
    let namespace = config.namespace.clone();
    let identity = format!("{}-{:08x}", config.identity, rand::random::<u32>());
    let ctx = Context::new(client.clone(), config);

    // Watches outlive the controllers, so that passes that still run see what they wrote.
    let stop = CancellationToken::new();
    let stop_watches = CancellationToken::new();
    let mut watches = world::start_watches(&ctx, &stop_watches);
    let mut server = tokio::spawn(serve::health(ctx.clone(), stop_watches.clone()));

    let mut signals = tokio::spawn(signal());
    let leading = {
        let ctx = ctx.clone();
        async move {
            watch::caches(&ctx).await;
            info!("caches are ready");
            Election::new(client, &namespace, identity).acquire().await
        }
    };
    let leader = tokio::select! {
        leader = leading => leader,
        result = &mut signals => { result?; stop_watches.cancel(); return Ok(()); }
        result = &mut server => { return result?.context("health server"); }
        _ = watches.join_next() => anyhow::bail!("a watch ended"),
    };

    ctx.metrics.leader.set(1);
    for queue in ctx.queues.all() {
        queue.open();
    }
    routes::everything(&ctx);
    let mut tasks = tokio::task::JoinSet::new();
    lead::<template::Templates>(&mut tasks, &ctx, &stop);
    lead::<inventory::Inventory>(&mut tasks, &ctx, &stop);
    lead::<request::Requests>(&mut tasks, &ctx, &stop);
    lead::<hardware::Planner>(&mut tasks, &ctx, &stop);
    lead::<hardware::Allocations>(&mut tasks, &ctx, &stop);
    lead::<hardware::Nodes>(&mut tasks, &ctx, &stop);
    lead::<addon::Addons>(&mut tasks, &ctx, &stop);
    lead::<addon::AddonKinds>(&mut tasks, &ctx, &stop);
    lead::<addon::SigningRequests>(&mut tasks, &ctx, &stop);

    let end: anyhow::Result<()> = tokio::select! {
        result = &mut signals => result.context("signal task"),
        () = leader.lost.cancelled() => Err(anyhow::anyhow!("the lease was lost; this process ends so that a clean one starts")),
        result = &mut server => result?.context("health server"),
        _ = watches.join_next() => Err(anyhow::anyhow!("a watch ended")),
        _ = tasks.join_next() => Err(anyhow::anyhow!("a controller ended")),
    };
    ctx.metrics.leader.set(0);
    stop.cancel();
    if leader.lost.is_cancelled() {
        // Another replica may lead already: nothing of ours may go on.
        tasks.abort_all();
    } else if tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while tasks.join_next().await.is_some() {}
    })
    .await
    .is_err()
    {
        warn!("some passes did not end in time");
        tasks.abort_all();
    }
    leader.release().await;
    stop_watches.cancel();
    end
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let term = signal(SignalKind::terminate());
    match term {
        Ok(mut term) => {
            tokio::select! {
                _ = term.recv() => info!("SIGTERM"),
                _ = tokio::signal::ctrl_c() => info!("interrupted"),
            }
        }
        Err(error) => {
            warn!(%error, "cannot listen for SIGTERM");
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
