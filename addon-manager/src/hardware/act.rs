//! Passes of the hardware area.

use std::sync::Arc;

use futures::StreamExt as _;
use manager_core::hardware::{nar, node, planner, release};
use manager_core::plan::{FaultClass, Wake};

use super::observe;
use crate::runtime::act;
use crate::runtime::context::Context;
use crate::runtime::drain::{Area, Outcome};
use crate::runtime::key::Key;
use crate::runtime::queue::Queue;
use crate::runtime::settle::settle;

/// All waiting NodeAllocationRequests together: who gets which host.
#[derive(Debug)]
pub(crate) struct Planner;

impl Area for Planner {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.planner
    }

    async fn pass(ctx: Arc<Context>, _: Key) -> Outcome {
        let requests = ctx.world.allocations.all();
        let pools = Arc::new(observe::pools(&ctx));
        let planned = {
            let clusters = requests
                .iter()
                .filter(|r| observe::has_managed_cluster(&ctx, r))
                .map(|r| r.spec.cluster_id.clone())
                .collect();
            let nodes = ctx.world.nodes.all();
            let hosts = observe::hosts(&ctx);
            planner::plan(&planner::Seen {
                requests: &requests,
                nodes: &nodes,
                hosts: &hosts,
                pools: &pools,
                clusters: &clusters,
            })
        };
        let wake = ctx.hardware.keep(planned.outcomes, pools);
        // Independent of each other: one that is refused does not stop the others.
        let limit = usize::from(ctx.config.concurrency);
        let idle = planned.steps.is_empty();
        let claims = planned.steps.into_iter().map(|step| {
            let ctx = ctx.clone();
            async move { act::run(&ctx, &[step]).await }
        });
        let results: Vec<_> = futures::stream::iter(claims).buffer_unordered(limit).collect().await;
        for name in wake {
            ctx.queues.allocation.add(Key::new(&ctx.config.namespace, &name));
        }
        let fault =
            results.into_iter().filter_map(Result::err).max_by_key(|f| f.class == FaultClass::Transient);
        match fault {
            Some(fault) => {
                Outcome::Failed(fault.class, format!("{}: {}", fault.target, fault.message), Wake::OnChange)
            }
            None if idle => Outcome::Rest(Wake::OnChange),
            None => Outcome::Again,
        }
    }
}

/// Single NodeAllocationRequests.
#[derive(Debug)]
pub(crate) struct Allocations;

impl Area for Allocations {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.allocation
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(request) = ctx.world.allocations.get_key(&key) else { return Outcome::Rest(Wake::OnChange) };
        let plan = nar::decide(&observe::allocation(&ctx, request.clone()), ctx.clock.now());
        let failures = ctx.queues.allocation.failures(&key);
        settle(&ctx, request.as_ref(), request.status.as_ref(), plan, failures).await
    }
}

/// Single AllocatedNodes.
#[derive(Debug)]
pub(crate) struct Nodes;

impl Area for Nodes {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.node
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(found) = ctx.world.nodes.get_key(&key) else { return Outcome::Rest(Wake::OnChange) };
        let now = ctx.clock.now();
        let plan = if found.metadata.deletion_timestamp.is_some() {
            observe::release(&ctx, found.clone()).await.map(|seen| release::decide(&seen, now))
        } else {
            observe::node(&ctx, found.clone()).await.map(|seen| node::decide(&seen, now))
        };
        let failures = ctx.queues.node.failures(&key);
        match plan {
            Ok(plan) => settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await,
            Err(error) => error.into(),
        }
    }
}
