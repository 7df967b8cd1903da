//! Drains the queue of an area with bounded concurrency: the leader's loop.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use manager_core::plan::{FaultClass, Wake};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, info_span, warn};

use super::act::CallError;
use super::context::Context;
use super::key::Key;
use super::queue::Queue;

/// How a pass ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing more to do until `Wake`.
    Rest(Wake),
    /// Something was written: look again at once with the new facts.
    Again,
    /// A step failed; retried with back-off unless the user must act.
    Failed(FaultClass, String, Wake),
}

impl From<CallError> for Outcome {
    fn from(error: CallError) -> Self {
        Outcome::Failed(error.class(), error.text(), Wake::OnChange)
    }
}

/// A pass over one key of an area.
pub(crate) trait Area: Send + Sync + 'static {
    /// The queue of the area.
    fn queue(ctx: &Context) -> &Queue<Key>;
    /// One pass.
    fn pass(ctx: Arc<Context>, key: Key) -> impl Future<Output = Outcome> + Send;
}

fn delay(wake: Wake, now: Timestamp) -> Option<Duration> {
    match wake {
        Wake::OnChange => None,
        // Decisions see whole seconds: come a little later rather than a little early.
        Wake::At(at) => {
            let wait = Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO);
            Some(wait + Duration::from_millis(1050))
        }
    }
}

/// A conflict means that somebody else wrote first: look again soon.
const CONFLICT: Duration = Duration::from_millis(200);

/// A key that is written by every one of so many passes in a row gets a back-off.
const MANY_SPINS: u32 = 40;

/// Runs until `stop`; passes that run then are finished.
pub(crate) async fn drain<A: Area>(ctx: Arc<Context>, stop: CancellationToken) {
    let queue = A::queue(&ctx);
    let limit = usize::from(ctx.config.concurrency);
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(()) = running.next(), if !running.is_empty() => {}
            key = queue.next(), if running.len() < limit => {
                let ctx = ctx.clone();
                let span = info_span!("pass", area = queue.name(), key = %key);
                running.push(one::<A>(ctx, key).instrument(span));
            }
        }
    }
    while running.next().await.is_some() {}
}

async fn one<A: Area>(ctx: Arc<Context>, key: Key) {
    let queue = A::queue(&ctx);
    let started = Instant::now();
    // Each pass is its own task, so that passes run in parallel and a panic in one ends that one only.
    let task = tokio::spawn(A::pass(ctx.clone(), key.clone()).instrument(tracing::Span::current()));
    let outcome = match task.await {
        Ok(outcome) => outcome,
        Err(error) => {
            Outcome::Failed(FaultClass::Transient, format!("internal error: {error}"), Wake::OnChange)
        }
    };
    let took = started.elapsed();
    match outcome {
        Outcome::Rest(wake) => {
            ctx.metrics.pass(queue.name(), None, took);
            queue.rest(&key);
            queue.done(&key, false);
            if let Some(delay) = delay(wake, ctx.clock.now()) {
                queue.add_after(key, delay);
            }
        }
        Outcome::Again => {
            ctx.metrics.pass(queue.name(), None, took);
            let spins = queue.spin(&key);
            if spins > MANY_SPINS {
                // Somebody undoes what we write, or we never agree with the API server: not in a hot loop.
                warn!(spins, "does not settle; going on with back-off");
                queue.done(&key, true);
            } else {
                queue.done(&key, false);
                queue.add(key);
            }
        }
        Outcome::Failed(class, message, wake) => {
            ctx.metrics.pass(queue.name(), Some(class), took);
            match class {
                FaultClass::Conflict => {
                    debug!(message, "conflict; looking again");
                    queue.done(&key, false);
                    queue.add_after(key, CONFLICT);
                }
                FaultClass::Invalid => {
                    info!(message, "refused; waiting for a change of the input");
                    queue.done(&key, false);
                    if let Some(delay) = delay(wake, ctx.clock.now()) {
                        queue.add_after(key, delay);
                    }
                }
                FaultClass::Transient => {
                    let failures = queue.failures(&key) + 1;
                    warn!(message, failures, "pass failed; retrying with back-off");
                    queue.done(&key, true);
                }
            }
        }
    }
}
