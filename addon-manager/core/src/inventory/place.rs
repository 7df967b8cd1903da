//! Location, OCloudSite, ResourcePool (spec/01 section 5).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use manifests::meta::condition::{self, Next};
use manifests::ocloud::conditions::{PlaceCondition, PlaceReason};
use manifests::ocloud::{
    Location, LocationStatus, OCloudSite, OCloudSiteStatus, ResourcePool, ResourcePoolStatus,
};

use crate::plan::Plan;

/// A site and its Location.
#[derive(Debug, Clone)]
pub struct SiteSeen<'a> {
    /// The site.
    pub site: &'a OCloudSite,
    /// The Location that it names, in the same namespace, if it exists.
    pub location: Option<&'a Location>,
}

/// A pool and its site.
#[derive(Debug, Clone)]
pub struct PoolSeen<'a> {
    /// The pool.
    pub pool: &'a ResourcePool,
    /// The OCloudSite that it names, in the same namespace, if it exists.
    pub site: Option<&'a OCloudSite>,
}

/// Whether condition `Ready` is `True`.
pub fn is_ready(conditions: &[Condition]) -> bool {
    condition::is_true(conditions, PlaceCondition::Ready)
}

/// A Location is ready: the API server checked all there is to check.
pub fn decide_location(location: &Location, now: Timestamp) -> Plan<LocationStatus> {
    if location.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let mut status = location.status.clone().unwrap_or_default();
    say(&mut status.conditions, &location.metadata, ready("Location"), now);
    Plan { status: Some(status), ..Plan::default() }
}

/// A site is ready when its Location is.
pub fn decide_site(seen: &SiteSeen<'_>, now: Timestamp) -> Plan<OCloudSiteStatus> {
    let site = seen.site;
    if site.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let parent = seen.location.map(|l| l.status.as_ref().is_some_and(|s| is_ready(&s.conditions)));
    let next = follow("OCloudSite", "Location", &site.spec.global_location_name, parent);
    let mut status = site.status.clone().unwrap_or_default();
    say(&mut status.conditions, &site.metadata, next, now);
    Plan { status: Some(status), ..Plan::default() }
}

/// A pool is ready when its site is; then it knows the site's uid.
pub fn decide_pool(seen: &PoolSeen<'_>, now: Timestamp) -> Plan<ResourcePoolStatus> {
    let pool = seen.pool;
    if pool.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let ready_site = seen.site.filter(|s| s.status.as_ref().is_some_and(|s| is_ready(&s.conditions)));
    let parent = seen.site.map(|_| ready_site.is_some());
    let next = follow("ResourcePool", "OCloudSite", &pool.spec.o_cloud_site_name, parent);
    let uid = ready_site.and_then(|site| site.metadata.uid.clone());
    let mut status = pool.status.clone().unwrap_or_default();
    if status.resolved_o_cloud_site_uid == uid {
        say(&mut status.conditions, &pool.metadata, next, now);
    } else {
        status.resolved_o_cloud_site_uid = uid;
        condition::set(&mut status.conditions, next.at(pool.metadata.generation), now);
    }
    Plan { status: Some(status), ..Plan::default() }
}

fn ready(kind: &str) -> Next {
    Next::yes(PlaceCondition::Ready, PlaceReason::Ready, format!("{kind} is ready"))
}

/// The condition of a child; `parent` is `None` when the parent is missing, else whether it is ready.
fn follow(kind: &str, parent_kind: &str, name: &str, parent: Option<bool>) -> Next {
    let no = |reason: PlaceReason, what: &str| {
        Next::no(PlaceCondition::Ready, reason, format!("Referenced {parent_kind} '{name}' {what}"))
    };
    match parent {
        None => no(PlaceReason::ParentNotFound, "does not exist"),
        Some(false) => no(PlaceReason::ParentNotReady, "is not ready"),
        Some(true) => ready(kind),
    }
}

/// Sets the condition unless only its message would change: another message alone is no reason for a write.
pub(super) fn say(conditions: &mut Vec<Condition>, meta: &ObjectMeta, next: Next, now: Timestamp) -> bool {
    let next = next.at(meta.generation);
    let stands = condition::find(conditions, &next.type_).is_some_and(|old| {
        old.status == next.status
            && old.reason == next.reason
            && old.observed_generation == next.observed_generation
    });
    !stands && condition::set(conditions, next, now)
}
