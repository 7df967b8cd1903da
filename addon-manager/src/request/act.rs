//! One pass over a request.

use std::sync::Arc;

use manager_core::plan::FaultClass;
use manager_core::request::seen::StageFault;
use manager_core::request::{self, RequestPlan};
use manifests::clcm::ProvisioningRequest;

use super::observe::observe;
use crate::runtime::act::{self, CallError};
use crate::runtime::context::Context;
use crate::runtime::drain::{Area, Outcome};
use crate::runtime::key::Key;
use crate::runtime::queue::Queue;

/// The area of ProvisioningRequests.
#[derive(Debug)]
pub(crate) struct Requests;

impl Area for Requests {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.request
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(request) = ctx.world.requests.get_key(&key) else {
            return Outcome::Rest(manager_core::plan::Wake::OnChange);
        };
        match pass(&ctx, &request).await {
            Ok(outcome) => outcome,
            Err(error) => error.into(),
        }
    }
}

async fn pass(ctx: &Context, request: &Arc<ProvisioningRequest>) -> Result<Outcome, CallError> {
    let now = ctx.clock.now();
    let observed = observe(ctx, request).await?;
    let plan = observed.look(ctx, None, |seen| request::decide(seen, now));
    let fault = act::run(ctx, &plan.plan.steps).await.err();
    let Some(fault) = fault else {
        let changed = write(ctx, request, &plan).await?;
        return Ok(if changed || !plan.plan.steps.is_empty() {
            Outcome::Again
        } else if let Some(text) = plan.retry {
            Outcome::Failed(FaultClass::Transient, text, plan.plan.wake)
        } else {
            Outcome::Rest(plan.plan.wake)
        });
    };
    // The step's stage says so in its condition; what was done before it is in the world already.
    let Some(stage) = plan.stages.get(fault.step).copied() else {
        return Ok(Outcome::Failed(fault.class, fault.message, plan.plan.wake));
    };
    let (class, text) = (fault.class, format!("{}: {}", fault.target, fault.message));
    let failures = ctx.queues.request.failures(&Key::of(request.as_ref()));
    let request = ctx.world.requests.get_key(&Key::of(request.as_ref())).unwrap_or_else(|| request.clone());
    let observed = observe(ctx, &request).await?;
    let told =
        observed.look(ctx, Some(StageFault { stage, fault, failures }), |seen| request::decide(seen, now));
    write(ctx, &request, &told).await?;
    Ok(Outcome::Failed(class, text, told.plan.wake))
}

/// Writes the status if it differs, then the events. True if it was written.
async fn write(
    ctx: &Context,
    request: &Arc<ProvisioningRequest>,
    plan: &RequestPlan,
) -> Result<bool, CallError> {
    let Some(status) = &plan.plan.status else { return Ok(false) };
    let changed = act::write_status(ctx, request.as_ref(), request.status.as_ref(), status).await?;
    if changed {
        ctx.publish(request.as_ref(), &plan.plan.events).await;
    }
    Ok(changed)
}
