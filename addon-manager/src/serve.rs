//! `/healthz`, `/readyz` and `/metrics` on a port of their own.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio_util::sync::CancellationToken;

use crate::runtime::context::Context;

async fn ready(State(ctx): State<Arc<Context>>) -> (StatusCode, String) {
    let waiting = ctx.world.not_ready();
    if waiting.is_empty() {
        (StatusCode::OK, "ok\n".to_owned())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for the caches of {}\n", waiting.join(", ")))
    }
}

async fn metrics(State(ctx): State<Arc<Context>>) -> String {
    for queue in ctx.queues.all() {
        ctx.metrics.queue(queue.name(), queue.depth());
    }
    ctx.metrics.encode()
}

/// Serves until `stop`.
pub(crate) async fn health(ctx: Arc<Context>, stop: CancellationToken) -> anyhow::Result<()> {
    let address = ctx.config.health_address;
    let listener =
        tokio::net::TcpListener::bind(address).await.with_context(|| format!("listening on {address}"))?;
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(ctx);
    axum::serve(listener, router).with_graceful_shutdown(async move { stop.cancelled().await }).await?;
    Ok(())
}
