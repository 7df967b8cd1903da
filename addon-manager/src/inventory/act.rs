//! One pass over an object of the inventory; the key's namespace says of which kind.

use std::sync::Arc;

use kube::Resource;
use manager_core::inventory::{
    PoolSeen, SiteSeen, decide_catalog, decide_location, decide_pool, decide_profile, decide_site,
};
use manager_core::plan::Wake;
use manifests::clcm::{FirmwareCatalog, HardwareProfile};
use manifests::ocloud::{Location, OCloudSite, ResourcePool};

use crate::runtime::context::Context;
use crate::runtime::drain::{Area, Outcome};
use crate::runtime::key::Key;
use crate::runtime::queue::Queue;
use crate::runtime::settle::settle;

/// The area of the inventory.
#[derive(Debug)]
pub(crate) struct Inventory;

fn is<K: Resource<DynamicType = ()>>(key: &Key) -> bool {
    key.namespace == K::kind(&())
}

impl Area for Inventory {
    fn queue(ctx: &Context) -> &Queue<Key> {
        &ctx.queues.inventory
    }

    async fn pass(ctx: Arc<Context>, key: Key) -> Outcome {
        let (namespace, name) = key.name.split_once('/').unwrap_or(("", &key.name));
        let now = ctx.clock.now();
        let failures = ctx.queues.inventory.failures(&key);
        let world = &ctx.world;
        if is::<Location>(&key)
            && let Some(found) = world.locations.get(namespace, name)
        {
            let plan = decide_location(&found, now);
            return settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await;
        }
        if is::<OCloudSite>(&key)
            && let Some(found) = world.sites.get(namespace, name)
        {
            let location = world.locations.get(namespace, &found.spec.global_location_name);
            let plan = decide_site(&SiteSeen { site: &found, location: location.as_deref() }, now);
            return settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await;
        }
        if is::<ResourcePool>(&key)
            && let Some(found) = world.pools.get(namespace, name)
        {
            let site = world.sites.get(namespace, &found.spec.o_cloud_site_name);
            let plan = decide_pool(&PoolSeen { pool: &found, site: site.as_deref() }, now);
            return settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await;
        }
        if is::<HardwareProfile>(&key)
            && let Some(found) = world.profiles.get(namespace, name)
        {
            let plan = decide_profile(&found, now);
            return settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await;
        }
        if is::<FirmwareCatalog>(&key)
            && let Some(found) = world.catalogs.get(namespace, name)
        {
            let plan = decide_catalog(&found, now);
            return settle(&ctx, found.as_ref(), found.status.as_ref(), plan, failures).await;
        }
        Outcome::Rest(Wake::OnChange)
    }
}
