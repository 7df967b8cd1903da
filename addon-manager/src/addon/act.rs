//! Passes of the add-on area.

use std::sync::Arc;

use manager_core::addon::{cluster, cma, csr};
use manager_core::plan::{FaultClass, Wake};

use super::observe;
use crate::runtime::act;
use crate::runtime::context::Context;
use crate::runtime::drain::{Area, Outcome};
use crate::runtime::key::Key;
use crate::runtime::queue::Queue;
use crate::runtime::settle::settle;

/// The add-on on single clusters.
#[derive(Debug)]
pub(crate) struct Addons;

impl Area for Addons {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.addon
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let now = ctx.clock.now();
        let seen = observe::cluster(&ctx, &key.name, None);
        let addon = seen.addon.clone();
        let plan = cluster::decide(&seen, now);
        let Err(fault) = act::run(&ctx, &plan.steps).await else {
            return if plan.steps.is_empty() {
                Outcome::Rest(plan.wake)
            } else {
                if let Some(addon) = addon {
                    ctx.publish(addon.as_ref(), &plan.events).await;
                }
                Outcome::Again
            };
        };
        let (class, text) = (fault.class, format!("{}: {}", fault.target, fault.message));
        if class != FaultClass::Conflict {
            let told = cluster::decide(&observe::cluster(&ctx, &key.name, Some(fault)), now);
            if let Err(second) = act::run(&ctx, &told.steps).await {
                return Outcome::Failed(
                    second.class,
                    format!("{}: {}", second.target, second.message),
                    plan.wake,
                );
            }
        }
        // A refusal may have its cause in rights or webhooks that no watch of ours shows.
        let class = if class == FaultClass::Invalid { FaultClass::Transient } else { class };
        Outcome::Failed(class, text, plan.wake)
    }
}

/// Our ClusterManagementAddOn.
#[derive(Debug)]
pub(crate) struct AddonKinds;

impl Area for AddonKinds {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.cma
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(addon) = ctx.world.addon_kinds.get_key(&key) else { return Outcome::Rest(Wake::OnChange) };
        let plan = cma::decide(&observe::kind(&ctx, addon.clone()));
        let failures = ctx.queues.cma.failures(&key);
        settle(&ctx, addon.as_ref(), None::<&()>, plan, failures).await
    }
}

/// CertificateSigningRequests of agents.
#[derive(Debug)]
pub(crate) struct SigningRequests;

impl Area for SigningRequests {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.csr
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(found) = ctx.world.csrs.get_key(&key) else { return Outcome::Rest(Wake::OnChange) };
        let plan = csr::decide(&observe::signing_request(&ctx, found.clone()));
        let failures = ctx.queues.csr.failures(&key);
        settle(&ctx, found.as_ref(), None::<&()>, plan, failures).await
    }
}
