use jiff::Timestamp;
use manifests::clcm::{
    Firmware, FirmwareCatalog, FirmwareCatalogSpec, FirmwareComponent, FirmwareImage, HardwareProfile,
    HardwareProfileSpec,
};
use manifests::meta::condition::{self, Condition};
use manifests::ocloud::{
    Location, LocationSpec, OCloudSite, OCloudSiteSpec, OCloudSiteStatus, ResourcePool, ResourcePoolSpec,
};
use rstest::rstest;

use super::*;
use crate::plan::Step;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn location() -> Location {
    let mut location = Location::new("loc", LocationSpec::default());
    location.metadata.generation = Some(1);
    location
}

fn ready_location() -> Location {
    let mut location = location();
    location.status = decide_location(&location, at(1)).status;
    location
}

fn site(uid: &str) -> OCloudSite {
    let spec = OCloudSiteSpec { global_location_name: "loc".into(), ..OCloudSiteSpec::default() };
    let mut site = OCloudSite::new("site", spec);
    site.metadata.generation = Some(1);
    site.metadata.uid = Some(uid.into());
    site
}

fn ready_site(uid: &str) -> OCloudSite {
    let mut site = site(uid);
    site.status = decide_site(&SiteSeen { site: &site, location: Some(&ready_location()) }, at(1)).status;
    site
}

fn pool() -> ResourcePool {
    let spec = ResourcePoolSpec { o_cloud_site_name: "site".into(), ..ResourcePoolSpec::default() };
    let mut pool = ResourcePool::new("pool", spec);
    pool.metadata.generation = Some(1);
    pool
}

fn said(conditions: &[Condition]) -> (&str, &str, &str) {
    let [c] = conditions else { panic!("one condition expected: {conditions:?}") };
    assert_eq!(c.type_, "Ready");
    assert_eq!(c.observed_generation, Some(1));
    (&c.status, &c.reason, &c.message)
}

/// The table of section 5.
#[test]
fn places_follow_their_parents() {
    let mut plan = decide_location(&location(), at(5));
    assert_eq!(said(&plan.status.take().unwrap().conditions), ("True", "Ready", "Location is ready"));

    let site_says = |location: Option<&Location>| {
        decide_site(&SiteSeen { site: &site("u"), location }, at(5)).status.unwrap().conditions
    };
    assert_eq!(
        said(&site_says(None)),
        ("False", "ParentNotFound", "Referenced Location 'loc' does not exist")
    );
    let unready = location();
    assert_eq!(
        said(&site_says(Some(&unready))),
        ("False", "ParentNotReady", "Referenced Location 'loc' is not ready")
    );
    assert_eq!(said(&site_says(Some(&ready_location()))), ("True", "Ready", "OCloudSite is ready"));

    let pool_says = |site: Option<&OCloudSite>| {
        let status = decide_pool(&PoolSeen { pool: &pool(), site }, at(5)).status.unwrap();
        (status.conditions, status.resolved_o_cloud_site_uid)
    };
    let (conditions, uid) = pool_says(None);
    assert_eq!(said(&conditions), ("False", "ParentNotFound", "Referenced OCloudSite 'site' does not exist"));
    assert_eq!(uid, None);
    let (conditions, uid) = pool_says(Some(&site("u")));
    assert_eq!(said(&conditions), ("False", "ParentNotReady", "Referenced OCloudSite 'site' is not ready"));
    assert_eq!(uid, None);
    let (conditions, uid) = pool_says(Some(&ready_site("u")));
    assert_eq!(said(&conditions), ("True", "Ready", "ResourcePool is ready"));
    assert_eq!(uid.as_deref(), Some("u"));
}

/// Scenario 8: the cascade goes down and comes back, and a site that was created again is another site.
#[test]
fn s01_008_hierarchy_cascades_both_ways() {
    let mut pool = pool();
    let mut site = ready_site("first");
    pool.status = decide_pool(&PoolSeen { pool: &pool, site: Some(&site) }, at(10)).status;
    assert_eq!(pool.status.as_ref().unwrap().resolved_o_cloud_site_uid.as_deref(), Some("first"));

    // The Location goes.
    site.status = decide_site(&SiteSeen { site: &site, location: None }, at(20)).status;
    pool.status = decide_pool(&PoolSeen { pool: &pool, site: Some(&site) }, at(21)).status;
    let status = pool.status.clone().unwrap();
    assert_eq!(said(&status.conditions).1, "ParentNotReady");
    assert_eq!(status.resolved_o_cloud_site_uid, None);
    assert_eq!(status.conditions[0].last_transition_time.0, at(21));

    // It comes back, and the site is created again.
    let site = ready_site("second");
    pool.status = decide_pool(&PoolSeen { pool: &pool, site: Some(&site) }, at(30)).status;
    assert_eq!(pool.status.as_ref().unwrap().resolved_o_cloud_site_uid.as_deref(), Some("second"));
    let next = ready_site("third");
    let status = decide_pool(&PoolSeen { pool: &pool, site: Some(&next) }, at(40)).status.unwrap();
    assert_eq!(status.resolved_o_cloud_site_uid.as_deref(), Some("third"));
    assert_eq!(status.conditions[0].last_transition_time.0, at(30));
}

#[test]
fn nothing_changes_when_nothing_changed() {
    let mut location = ready_location();
    assert_eq!(decide_location(&location, at(99)).status, location.status);
    // Another message alone is left alone, another reason is not.
    let conditions = &mut location.status.as_mut().unwrap().conditions;
    conditions[0].message = "by hand".into();
    assert_eq!(decide_location(&location, at(99)).status, location.status);
    location.status.as_mut().unwrap().conditions[0].reason = "ByHand".into();
    assert_eq!(said(&decide_location(&location, at(99)).status.unwrap().conditions).1, "Ready");
    location.metadata.generation = Some(2);
    let status = decide_location(&location, at(99)).status.unwrap();
    assert_eq!(status.conditions[0].observed_generation, Some(2));

    let site = ready_site("u");
    let seen = SiteSeen { site: &site, location: Some(&ready_location()) };
    assert_eq!(decide_site(&seen, at(99)).status, site.status);
    let mut pool = pool();
    pool.status = decide_pool(&PoolSeen { pool: &pool, site: Some(&site) }, at(1)).status;
    assert_eq!(decide_pool(&PoolSeen { pool: &pool, site: Some(&site) }, at(99)).status, pool.status);
}

#[test]
fn deleting_objects_are_left_alone() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    let mut location = location();
    location.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(decide_location(&location, at(2)).status, None);
    let mut site = site("u");
    site.metadata.deletion_timestamp = Some(Time(at(1)));
    site.status = Some(OCloudSiteStatus::default());
    assert_eq!(decide_site(&SiteSeen { site: &site, location: None }, at(2)).status, None);
    let mut pool = pool();
    pool.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(decide_pool(&PoolSeen { pool: &pool, site: None }, at(2)).status, None);
}

fn firmware(version: &str, url: &str) -> Firmware {
    let text = |t: &str| Some(t.to_owned()).filter(|t| !t.is_empty());
    Firmware { version: text(version), url: text(url) }
}

#[rstest]
#[case(Some(firmware("2.3.5", "https://fw.example.org/bios.bin")), Some(firmware("", "ignored")), "")]
#[case(Some(firmware("2.3.5", "")), None, "missing BIOS firmware URL for version: 2.3.5")]
#[case(None, Some(firmware("7", "")), "missing BMC firmware URL for version: 7")]
#[case(None, Some(firmware("7", "not-a-url")), "invalid BMC firmware URL: not-a-url")]
#[case(
    Some(firmware("1", "https://")),
    Some(firmware("7", "https:///x")),
    "invalid BIOS firmware URL: https://; invalid BMC firmware URL: https:///x"
)]
#[case(Some(firmware("1", "/local/file")), None, "invalid BIOS firmware URL: /local/file")]
fn profiles_are_validated(
    #[case] bios: Option<Firmware>,
    #[case] bmc: Option<Firmware>,
    #[case] wanted: &str,
) {
    let spec =
        HardwareProfileSpec { bios_firmware: bios, bmc_firmware: bmc, ..HardwareProfileSpec::default() };
    let mut profile = HardwareProfile::new("p", spec);
    profile.metadata.generation = Some(3);
    let status = decide_profile(&profile, at(1)).status.unwrap();
    let c = condition::find(&status.conditions, "Validation").unwrap();
    if wanted.is_empty() {
        assert_eq!((c.status.as_str(), c.reason.as_str()), ("True", "Completed"));
    } else {
        assert_eq!(
            (c.status.as_str(), c.reason.as_str(), c.message.as_str()),
            ("False", "InvalidUserInput", wanted)
        );
    }
    assert_eq!((status.observed_generation, c.observed_generation), (Some(3), Some(3)));
    profile.status = Some(status);
    assert_eq!(decide_profile(&profile, at(9)).status, profile.status);
}

#[test]
fn network_cards_are_counted() {
    let nics = [firmware("1", "https://a/b"), firmware("2", ""), firmware("3", "x")];
    let spec = HardwareProfileSpec { nic_firmware: nics.into(), ..HardwareProfileSpec::default() };
    assert_eq!(
        problems(&spec),
        [
            "missing NIC firmware URL for NIC at index 1, version: 2",
            "invalid NIC firmware URL for NIC at index 2: x",
        ]
    );
}

#[test]
fn catalogs_list_their_entries() {
    let image = |name: &str| FirmwareImage {
        name: name.into(),
        component: FirmwareComponent::Bios,
        url: "https://a/b".into(),
        version: "1".into(),
        vendor: None,
        description: None,
    };
    let spec = FirmwareCatalogSpec { images: vec![image("a"), image("b")] };
    let mut catalog = FirmwareCatalog::new("c", spec);
    catalog.metadata.generation = Some(1);
    let status = decide_catalog(&catalog, at(1)).status.unwrap();
    assert_eq!(status.observed_generation, Some(1));
    let names: Vec<&str> = status.image_statuses.iter().map(|i| i.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let entry = &status.image_statuses[0];
    assert!(entry.valid);
    assert_eq!(entry.reason.as_deref(), Some("Valid"));
    assert_eq!(entry.message.as_deref(), Some("Firmware image entry is valid"));
    let c = &status.conditions[0];
    assert_eq!(
        (c.type_.as_str(), c.status.as_str(), c.reason.as_str(), c.message.as_str()),
        ("Validation", "True", "Completed", "All firmware catalog entries are valid")
    );

    // Lost entries alone are no reason for a write; another generation is.
    catalog.status = Some(status);
    catalog.status.as_mut().unwrap().image_statuses.clear();
    assert_eq!(decide_catalog(&catalog, at(9)).status, catalog.status);
    catalog.metadata.generation = Some(2);
    catalog.spec.images.pop();
    assert_eq!(decide_catalog(&catalog, at(9)).status.unwrap().image_statuses.len(), 1);
}

#[test]
fn the_one_catalog_is_created_empty() {
    let Step::Apply { object, .. } = create_catalog("oran-o2ims").unwrap() else { panic!() };
    assert_eq!(object.metadata.name.as_deref(), Some("firmware-catalog"));
    assert_eq!(object.metadata.namespace.as_deref(), Some("oran-o2ims"));
}

fn entry(name: &str, vendor: Option<&str>) -> FirmwareImage {
    FirmwareImage {
        name: name.into(),
        component: FirmwareComponent::Bios,
        url: "https://a/b".into(),
        version: "1".into(),
        vendor: vendor.map(Into::into),
        description: None,
    }
}

/// Spec/01 8.3.
#[test]
fn catalog_entries_never_change() {
    let old = FirmwareCatalogSpec { images: vec![entry("a", Some("Acme")), entry("b", None)] };
    let with = |change: fn(&mut FirmwareCatalogSpec)| {
        let mut new = old.clone();
        change(&mut new);
        refuse_catalog_update(&old, &new)
    };
    for change in [
        |_: &mut FirmwareCatalogSpec| {},
        |c: &mut FirmwareCatalogSpec| c.images.reverse(),
        |c: &mut FirmwareCatalogSpec| c.images[0].description = Some("new".into()),
        |c: &mut FirmwareCatalogSpec| c.images.push(entry("c", None)),
        |c: &mut FirmwareCatalogSpec| drop(c.images.pop()),
        |c: &mut FirmwareCatalogSpec| c.images[0].name = "renamed".into(),
    ] {
        assert_eq!(with(change), None);
    }
    let wrong = |text: &str| Some(format!("firmware catalog entries are immutable: {text}"));
    assert_eq!(
        with(|c| c.images[0].component = FirmwareComponent::Bmc),
        wrong("\"a\": component is immutable")
    );
    assert_eq!(with(|c| c.images[0].vendor = None), wrong("\"a\": vendor is immutable"));
    assert_eq!(with(|c| c.images[1].vendor = Some("Acme".into())), wrong("\"b\": vendor is immutable"));
    assert_eq!(
        with(|c| {
            c.images[0].url = "http://x".into();
            c.images[0].version = "2".into();
            c.images[1].version = "3".into();
        }),
        wrong("\"a\": url is immutable; \"a\": version is immutable; \"b\": version is immutable")
    );
}

#[test]
fn profiles_in_use_stay() {
    use manifests::clcm::{
        AllocatedNode, AllocatedNodeSpec, ClusterTemplate, ClusterTemplateSpec, HwMgmtDefaults,
        NodeGroupData, ProvisioningRequest, ProvisioningRequestSpec,
    };
    use serde_json::json;

    let mut profile = HardwareProfile::new("p", HardwareProfileSpec::default());
    let group = NodeGroupData { hw_profile: Some("p".into()), ..NodeGroupData::default() };
    let mut spec = ClusterTemplateSpec::default();
    spec.template_defaults.hw_mgmt_defaults =
        Some(HwMgmtDefaults { node_group_data: vec![group], ..HwMgmtDefaults::default() });
    let mut template = ClusterTemplate::new("t.v1", spec);
    template.metadata.namespace = Some("ns".into());
    let parameters = json!({"hwMgmtParameters": {"nodeGroupData": [{"name": "w", "hwProfile": "p"}]}});
    let spec = ProvisioningRequestSpec {
        template_parameters: parameters.into(),
        ..ProvisioningRequestSpec::default()
    };
    let request = ProvisioningRequest::new("r", spec);
    let node =
        AllocatedNode::new("n", AllocatedNodeSpec { hw_profile: "p".into(), ..AllocatedNodeSpec::default() });

    let used = |by: &str| {
        Some(format!(
            "HardwareProfile p is in use by {by}; remove the users first, or set the annotation \
             clcm.openshift.io/force-delete: \"true\""
        ))
    };
    let all = refuse_profile_delete(&profile, [&template], [&request], [&node]);
    assert_eq!(all, used("ClusterTemplate ns/t.v1"));
    assert_eq!(refuse_profile_delete(&profile, [], [&request], [&node]), used("ProvisioningRequest r"));
    assert_eq!(refuse_profile_delete(&profile, [], [], [&node]), used("AllocatedNode n"));
    assert_eq!(refuse_profile_delete(&profile, [], [], []), None);
    profile.metadata.annotations = Some([("clcm.openshift.io/force-delete".into(), "true".into())].into());
    assert_eq!(refuse_profile_delete(&profile, [&template], [&request], [&node]), None);
}

#[test]
fn parents_warn_of_their_children() {
    assert_eq!(delete_warning("Location", "loc", "OCloudSite", &[]), None);
    assert_eq!(
        delete_warning("Location", "loc", "OCloudSite", &["b".into(), "a".into()]).unwrap(),
        "Location loc is the parent of OCloudSite a, b, which will not be ready without it"
    );
}
