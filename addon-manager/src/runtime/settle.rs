//! The act half of a simple area: steps, then the status once, then events.

use manager_core::plan::{FaultClass, Note, Plan};

use super::act::{self, CallError};
use super::context::Context;
use super::drain::Outcome;

/// A failure that repeats this often becomes an event on the object.
const TELL_AFTER: u32 = 3;

/// Carries out `plan` about `object`. `failures` is how often its pass failed in a row before.
pub(crate) async fn settle<K, S>(
    ctx: &Context,
    object: &K,
    stored: Option<&S>,
    plan: Plan<S>,
    failures: u32,
) -> Outcome
where
    K: kube::Resource<DynamicType = ()>,
    S: serde::Serialize + PartialEq,
{
    let acted = !plan.steps.is_empty();
    if let Err(fault) = act::run(ctx, &plan.steps).await {
        let message = format!("{}: {}", fault.target, fault.message);
        if fault.class == FaultClass::Invalid || failures + 1 == TELL_AFTER {
            let note = Note { warning: true, reason: "StepFailed".to_owned(), message: message.clone() };
            ctx.publish(object, &[note]).await;
        }
        // What is wrong may be in objects that no watch of ours shows: never rest on a refusal for good.
        let class = if fault.class == FaultClass::Invalid { FaultClass::Transient } else { fault.class };
        return Outcome::Failed(class, message, plan.wake);
    }
    let changed = match &plan.status {
        None => Ok(false),
        Some(status) => act::write_status(ctx, object, stored, status).await,
    };
    match changed {
        Ok(changed) => {
            if acted || changed {
                ctx.publish(object, &plan.events).await;
                Outcome::Again
            } else {
                Outcome::Rest(plan.wake)
            }
        }
        Err(CallError::Kube(kube::Error::Api(status))) if status.is_not_found() => Outcome::Rest(plan.wake),
        Err(error) => error.into(),
    }
}
