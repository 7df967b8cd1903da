//! One pass over a ClusterTemplate.

use std::sync::Arc;

use manager_core::plan::{Fault, Plan, Wake};
use manager_core::template::{Seen, Twin, decide, dependencies, spec_schema};
use manifests::clcm::{ClusterTemplate, ClusterTemplateStatus};

use crate::runtime::act::{self, CallError};
use crate::runtime::context::Context;
use crate::runtime::drain::{Area, Outcome};
use crate::runtime::key::Key;
use crate::runtime::queue::Queue;
use crate::runtime::settle::settle;
use crate::runtime::world::TEMPLATE_BY_NAME;

/// The area of ClusterTemplates.
#[derive(Debug)]
pub(crate) struct Templates;

impl Area for Templates {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.template
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let Some(found) = ctx.world.templates.get_key(&key) else { return Outcome::Rest(Wake::OnChange) };
        let plan = match judge(&ctx, &found, None).await {
            Ok(plan) => plan,
            Err(error) => return error.into(),
        };
        let Err(fault) = act::run(&ctx, &plan.steps).await else {
            let acted = !plan.steps.is_empty();
            let rest = Plan { steps: Vec::new(), ..plan };
            let failures = ctx.queues.template.failures(&key);
            return match settle(&ctx, found.as_ref(), found.status.as_ref(), rest, failures).await {
                Outcome::Rest(_) if acted => Outcome::Again,
                other => other,
            };
        };
        let (class, text) = (fault.class, format!("{}: {}", fault.target, fault.message));
        match judge(&ctx, &found, Some(&fault)).await {
            Ok(told) => {
                let wake = told.wake;
                if let Some(status) = &told.status
                    && let Err(error) =
                        act::write_status(&ctx, found.as_ref(), found.status.as_ref(), status).await
                {
                    return error.into();
                }
                Outcome::Failed(class, text, wake)
            }
            Err(error) => error.into(),
        }
    }
}

async fn judge(
    ctx: &Context,
    found: &ClusterTemplate,
    fault: Option<&Fault>,
) -> Result<Plan<ClusterTemplateStatus>, CallError> {
    let who = Key::of(found);
    let defaults = &found.spec.template_defaults;
    let cluster = ctx.config_maps.read(ctx, &who.namespace, &defaults.cluster_instance_defaults).await?;
    let policy = ctx.config_maps.read(ctx, &who.namespace, &defaults.policy_template_defaults).await?;
    let needs = dependencies(found, cluster.as_deref());
    let image_set = needs.image_set.as_ref().and_then(|name| {
        ctx.interests.template_image_sets.note(&Key::cluster(name), &who);
        ctx.world.image_sets.get("", name)
    });
    let schema = ctx.world.definitions.all().first().and_then(|d| spec_schema(d));
    let hub = ctx.world.namespaces.get("", "kube-system").and_then(|n| n.metadata.uid.clone());
    let twins = ctx.world.templates.by_index(TEMPLATE_BY_NAME, &who.name);
    let seen = Seen {
        template: found,
        twins: twins.iter().filter(|t| t.metadata.uid != found.metadata.uid).map(|t| Twin::of(t)).collect(),
        cluster_instance_defaults: cluster.as_deref(),
        policy_template_defaults: policy.as_deref(),
        profiles: needs
            .profiles
            .iter()
            .filter(|p| ctx.world.profiles.get(&ctx.config.namespace, p).is_some())
            .cloned()
            .collect(),
        image_set: image_set.as_deref(),
        cluster_instance_schema: schema.as_ref(),
        hub: hub.as_deref().unwrap_or_default(),
        fault,
    };
    Ok(decide(&seen, ctx.clock.now()))
}
