//! One plain `watcher` per kind updates its store and routes each change (deletes and re-list removals too) to the
//! queues of the areas that care.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::context::Context;
use super::store::{Cached, Change, Store};

/// What to do with a change.
pub(crate) type Route<K> = fn(&Context, &Change<K>);

/// Watches one kind until `stop`.
pub(crate) async fn watch<K: Cached>(
    ctx: Arc<Context>,
    api: Api<DeserializeGuard<K>>,
    config: watcher::Config,
    store: fn(&super::world::World) -> &Store<K>,
    route: Route<K>,
    stop: CancellationToken,
) {
    let kind = K::kind(&()).into_owned();
    let backoff = watcher::DefaultBackoff::default();
    let stream = watcher(api, config).backoff(backoff).take_until(stop.cancelled_owned());
    let mut stream = std::pin::pin!(stream);
    let store = store(&ctx.world);
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => store.begin(),
            Ok(Event::InitApply(object)) => {
                if let Some(object) = decoded(&kind, object)
                    && let Some(change) = store.put_listed(object)
                {
                    route(&ctx, &change);
                }
            }
            Ok(Event::InitDone) => {
                let was_served = store.is_served();
                for change in store.finish() {
                    route(&ctx, &change);
                }
                if !was_served {
                    debug!(kind, objects = store.len(), "cache ready");
                    ctx.served(&kind);
                }
            }
            Ok(Event::Apply(object)) => {
                if let Some(object) = decoded(&kind, object)
                    && let Some(change) = store.put(object)
                {
                    route(&ctx, &change);
                }
            }
            Ok(Event::Delete(object)) => {
                if let Some(object) = decoded(&kind, object)
                    && let Some(change) = store.remove(&object)
                {
                    route(&ctx, &change);
                }
            }
            Err(error) => {
                if is_not_served(&error) {
                    if !store.is_ready() {
                        info!(kind, "not served by this hub; looking again now and then");
                    }
                    store.not_served();
                } else {
                    warn!(kind, %error, "watch failed; starting anew");
                    ctx.metrics.watch_error(&kind);
                }
            }
        }
    }
}

/// One object that does not decode must not stop the watch of a kind.
fn decoded<K>(kind: &str, object: DeserializeGuard<K>) -> Option<K> {
    match object.0 {
        Ok(object) => Some(object),
        Err(invalid) => {
            let meta = &invalid.metadata;
            warn!(kind, namespace = meta.namespace, name = meta.name, error = %invalid.error, "object does not decode; skipped");
            None
        }
    }
}

fn is_not_served(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

/// Waits until every cache is complete, or known to be of a kind that is not served.
pub(crate) async fn caches(ctx: &Context) {
    let mut said = 0;
    loop {
        let waiting = ctx.world.not_ready();
        if waiting.is_empty() {
            return;
        }
        said += 1;
        if said % 100 == 0 {
            info!(waiting = waiting.join(", "), "waiting for caches");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
