use std::collections::BTreeMap;

use manifests::metal3::{
    ConsumerRef, ErrorType, HardwareDetails, Nic, OperationalStatus, ProvisioningState, Storage,
};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::hardware::fixtures::{Host, nic, pools};

fn criteria(selector: &[(&str, &str)]) -> Result<Criteria, SelectError> {
    in_pool(None, selector)
}

fn in_pool(pool: Option<&str>, selector: &[(&str, &str)]) -> Result<Criteria, SelectError> {
    let selector: BTreeMap<String, String> =
        selector.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Criteria::parse("site-a", pool, &selector)
}

fn verdict(criteria: &Criteria, host: &Host) -> Result<(), String> {
    why_not(criteria, &host.view(), &pools()).map_err(|e| e.to_string())
}

fn host() -> Host {
    Host::new("racks", "h1")
}

fn nics(models: &[(&str, i64)]) -> Vec<Nic> {
    models
        .iter()
        .enumerate()
        .map(|(i, (model, speed))| Nic {
            name: format!("eno{i}").into(),
            mac: format!("02:00:5e:00:01:{i:02x}").into(),
            model: (*model).into(),
            speed_gbps: *speed,
        })
        .collect()
}

fn disk(name: &str, others: &[&str], size: i64) -> Storage {
    Storage {
        name: name.into(),
        alternate_names: others.iter().map(|n| (*n).into()).collect(),
        kind: "NVME".into(),
        size_bytes: size,
        vendor: "Glacier".into(),
        model: "Glacier 960".into(),
        ..Storage::default()
    }
}

#[rstest]
#[case::s04_002_short_key("server-type", Ok(()))]
#[case::s04_003_full_key("resourceselector.clcm.openshift.io/server-type", Ok(()))]
fn label_selectors(#[case] key: &str, #[case] expected: Result<(), String>) {
    let wanted = criteria(&[(key, "A")]).unwrap();
    let labelled = host().label("resourceselector.clcm.openshift.io/server-type", "A");
    assert_eq!(verdict(&wanted, &labelled), expected);
    assert_eq!(
        verdict(&wanted, &host()),
        Err("has no label resourceselector.clcm.openshift.io/server-type, A is asked for".to_owned())
    );
}

#[test]
fn interface_and_resource_labels_are_taken_as_they_are() {
    let wanted = criteria(&[
        ("interfacelabel.clcm.openshift.io/boot-interface", "eno1"),
        ("resources.clcm.openshift.io/resourcePoolName", "pool-a"),
    ])
    .unwrap();
    assert_eq!(
        verdict(&wanted, &host().label("interfacelabel.clcm.openshift.io/boot-interface", "eno1")),
        Ok(())
    );
}

#[rstest]
#[case(&[("a/b", "x")], "failed to get BMH list: unable to parse requirement: <nil>: Invalid value: \"resourceselector.clcm.openshift.io/a/b\"")]
#[case(&[("", "x")], "failed to get BMH list: unable to parse requirement")]
#[case(&[("-a", "x")], "failed to get BMH list: unable to parse requirement")]
#[case(&[("a", "x y")], "failed to get BMH list: unable to parse requirement: values[0]")]
fn impossible_labels_are_refused(#[case] selector: &[(&str, &str)], #[case] start: &str) {
    let text = criteria(selector).unwrap_err().to_string();
    assert!(text.starts_with(start), "{text}");
}

#[rstest]
#[case::s04_004_inspecting(host().state(ProvisioningState::Inspecting), "is inspecting, not available")]
#[case::s04_004_preparing(host().state(ProvisioningState::Preparing), "is preparing, not available")]
#[case::s04_004_no_status(host().state(ProvisioningState::None), "has no provisioning state yet, it must be available")]
#[case::s04_005_no_hardware_data(host().no_data(), "has no HardwareData, it must be inspected")]
#[case::s04_023_deleting(host().with(|h| h.metadata.deletion_timestamp = h.metadata.creation_timestamp.clone().or(Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(crate::hardware::fixtures::at(0))))), "is being deleted")]
#[case::s04_023_consumer(host().with(|h| h.spec.consumer_ref = Some(ConsumerRef { name: Some("m1".into()), ..ConsumerRef::default() })), "is used by m1 (spec.consumerRef)")]
#[case::paused(host().note("baremetalhost.metal3.io/paused", ""), "is paused (annotation baremetalhost.metal3.io/paused)")]
#[case::detached(host().note("baremetalhost.metal3.io/detached", ""), "is detached (annotation baremetalhost.metal3.io/detached)")]
#[case::error(host().with(|h| { let s = h.status.get_or_insert_default(); s.operational_status = OperationalStatus::Error; s.error_type = Some(ErrorType::PowerManagement); s.error_message = "no route".into(); }), "is in error: power management error: no route")]
#[case::image_based(host().note("clcm.openshift.io/ibi-warning", "x"), "was installed from an image; delete the BareMetalHost and install it again before it is used")]
#[case::releasing(host().note("clcm.openshift.io/deallocation-complete", "true"), "is being released by its last user")]
#[case::allocated(host().label("clcm.openshift.io/allocated", "true"), "has label clcm.openshift.io/allocated=true")]
#[case::claimed(host().label("clcm.openshift.io/allocated-node", "n"), "is allocated to AllocatedNode n")]
#[case::not_managed(host().no_label("resources.clcm.openshift.io/resourcePoolName"), "is not managed by the O-Cloud: it has neither label resources.clcm.openshift.io/resourcePoolName nor a label resourceselector.clcm.openshift.io/<key>")]
fn hosts_that_nobody_may_take(#[case] host: Host, #[case] reason: &str) {
    assert_eq!(verdict(&criteria(&[]).unwrap(), &host), Err(reason.to_owned()));
}

#[test]
fn s04_006_hardware_data_without_details() {
    let mut view = host().view();
    let mut data = (*view.data.unwrap()).clone();
    data.spec.hardware = None;
    view.data = Some(std::sync::Arc::new(data));
    assert_eq!(why_not(&criteria(&[]).unwrap(), &view, &pools()), Err(Rejection::NoHardwareData));
}

#[test]
fn s04_019_pool_by_name_or_uid() {
    for pool in ["pool-a", "uid-pool-a"] {
        assert_eq!(verdict(&in_pool(Some(pool), &[]).unwrap(), &host()), Ok(()), "{pool}");
    }
    for pool in ["pool-b", "uid-pool-b", "elsewhere"] {
        let wanted = in_pool(Some(pool), &[]).unwrap();
        assert_eq!(verdict(&wanted, &host()), Err(format!("is in resource pool pool-a, not in {pool}")));
    }
    // A pool that is not known yet still matches by name, as upstream.
    let stray = host().label("resources.clcm.openshift.io/resourcePoolName", "unknown");
    assert_eq!(verdict(&in_pool(Some("unknown"), &[]).unwrap(), &stray), Ok(()));
}

#[test]
fn s04_020_a_host_of_another_site_is_refused() {
    let elsewhere = host().label("resources.clcm.openshift.io/resourcePoolName", "pool-b");
    assert_eq!(
        verdict(&criteria(&[]).unwrap(), &elsewhere),
        Err("is at site site-b (resource pool pool-b), not at site-a".to_owned())
    );
    let by_uid = Criteria::parse("uid-site-b", None, &BTreeMap::new()).unwrap();
    assert_eq!(verdict(&by_uid, &elsewhere), Ok(()));
    let unknown = host().label("resources.clcm.openshift.io/resourcePoolName", "unknown");
    assert_eq!(verdict(&criteria(&[]).unwrap(), &unknown), Ok(()));
}

#[rstest]
#[case::s04_021_allocated_false(host().label("clcm.openshift.io/allocated", "false"))]
#[case::s04_022_incomplete_firmware_data(host().label("validation.clcm.openshift.io/unavailable", "hfc-missing-nic-data"))]
#[case::selector_label_alone(host().no_label("resources.clcm.openshift.io/resourcePoolName").label("resourceselector.clcm.openshift.io/x", "y"))]
fn hosts_that_may_be_taken(#[case] host: Host) {
    assert_eq!(verdict(&criteria(&[]).unwrap(), &host), Ok(()));
}

fn machine() -> HardwareDetails {
    let mut data = host().data.unwrap();
    data.system_vendor.product_name = "DL110".into();
    data.nics = nics(&[("0x8086 0x159b", 25), ("0x8086 0x159b", 25), ("0x15b3 0x101d", 100)]);
    data.storage = vec![disk("/dev/sda", &["/dev/disk/by-path/x"], 150), disk("/dev/sdb", &[], 960)];
    data
}

#[rstest]
#[case::s04_007_64_threads("hardwaredata/num_threads;>=", "64", true)]
#[case::s04_007_65_threads("hardwaredata/num_threads;>=", "65", false)]
#[case("hardwaredata/num_threads", "64", true)]
#[case("hardwaredata/num_threads;eq", "64", true)]
#[case("hardwaredata/num_threads;neq", "64", false)]
#[case("hardwaredata/num_threads;gt", "63", true)]
#[case("hardwaredata/num_threads;<=", "63", false)]
#[case("hardwaredata/ramMebibytes;lt", "131073", true)]
#[case::s04_010_icase("hardwaredata/manufacturer;icase", "hpe", true)]
#[case::s04_010_exact("hardwaredata/manufacturer", "hpe", false)]
#[case::s04_011_substring("hardwaredata/cpu_model;substring;icase", "xeon", true)]
#[case::s04_011_any_order("hardwaredata/cpu_model;icase;substring", "XEON", true)]
#[case("hardwaredata/cpu_model;substring", "xeon", false)]
#[case("hardwaredata/cpu_arch", "x86_64", true)]
#[case("hardwaredata/productname", "DL110", true)]
#[case("hardwaredata/nics", "present", true)]
#[case("hardwaredata/nics;model~0x8086;speedGbps>=25;count=2", "present", true)]
#[case::s04_012_count_equals("hardwaredata/nics;model~0x8086;speedGbps>=25;count=1", "present", false)]
#[case("hardwaredata/nics;model!~0x8086;count=1", "present", true)]
#[case("hardwaredata/nics;speedGbps>100", "present", false)]
#[case("hardwaredata/storage;type==nvme;count>=2;icase", "present", true)]
#[case("hardwaredata/storage;type==nvme;count>=2", "present", false)]
#[case::s04_016_range("hardwaredata/storage;sizeBytes>100;sizeBytes<200;count=1", "present", true)]
#[case::s04_016_range_excludes("hardwaredata/storage;sizeBytes>200;sizeBytes<900", "present", false)]
#[case::s04_017_any_name("hardwaredata/storage;name=/dev/disk/by-path/x", "present", true)]
#[case::s04_017_no_name("hardwaredata/storage;name!=/dev/sda;count=1", "present", true)]
#[case::s04_017_alternate("hardwaredata/storage;name!~by-path;count=2", "present", false)]
#[case("hardwaredata/storage;vendor=Glacier;model~960", "present", true)]
fn hardware_criteria(#[case] key: &str, #[case] value: &str, #[case] fits: bool) {
    let got = Criterion::parse(key, value).unwrap().unmet(&machine());
    assert_eq!(got.is_none(), fits, "{got:?}");
}

#[test]
fn s04_013_no_nics_at_all() {
    let mut data = machine();
    data.nics.clear();
    let unmet = |key| Criterion::parse(key, "present").unwrap().unmet(&data);
    assert_eq!(unmet("hardwaredata/nics;count=0"), None);
    assert_eq!(unmet("hardwaredata/nics"), Some("0 NICs of the host fit".to_owned()));
}

#[test]
fn a_dual_stack_nic_counts_once() {
    let mut data = machine();
    data.nics = vec![
        nic("eno1", "02:00:5e:00:00:01"),
        nic("eno1", "02:00:5E:00:00:01"),
        nic("eno2", "02:00:5e:00:00:02"),
    ];
    assert_eq!(Criterion::parse("hardwaredata/nics;count=2", "present").unwrap().unmet(&data), None);
}

#[rstest]
#[case::s04_008(
    "hardwaredata/num_threads;gte;lt",
    "8",
    "criteria=hardwaredata/num_threads;gte;lt, checkIntWithQualifiers failed: supports at most one qualifier"
)]
#[case::s04_009(
    "hardwaredata/num_threads",
    "abc",
    "criteria=hardwaredata/num_threads, checkIntWithQualifiers failed: invalid value: abc"
)]
#[case(
    "hardwaredata/num_threads;around",
    "8",
    "criteria=hardwaredata/num_threads;around, checkIntWithQualifiers failed: invalid qualifier: around"
)]
#[case::s04_014(
    "hardwaredata/nics",
    "yes",
    "criteria=hardwaredata/nics, checkNicsWithQualifiers failed: expected value to be 'present', actual value: yes"
)]
#[case(
    "hardwaredata/storage;bogus",
    "present",
    "criteria=hardwaredata/storage;bogus, checkStorageWithQualifiers failed: qualifierSetFromQualifiers failed: invalid qualifier: bogus"
)]
#[case(
    "hardwaredata/nics;model>5",
    "present",
    "criteria=hardwaredata/nics;model>5, checkNicsWithQualifiers failed: checkStringWithOpQualifier failed: invalid operator: >"
)]
#[case(
    "hardwaredata/nics;count~5",
    "present",
    "criteria=hardwaredata/nics;count~5, checkNicsWithQualifiers failed: checkIntWithOpQualifier failed: invalid operator: ~"
)]
#[case::s04_015(
    "hardwaredata/nic;count>1",
    "present",
    "criteria=hardwaredata/nic;count>1, unknown field: nic (known: cpu_arch, cpu_model, num_threads, ramMebibytes, manufacturer, productname, nics, storage)"
)]
#[case::s04_018(
    "hardwaredata/storage;speed>1",
    "present",
    "criteria=hardwaredata/storage;speed>1, checkStorageWithQualifiers failed: unknown property: speed (known: type, model, vendor, name, sizeBytes, count, icase)"
)]
fn faulty_criteria(#[case] key: &str, #[case] value: &str, #[case] text: &str) {
    let error = criteria(&[(key, value)]).unwrap_err().to_string();
    assert_eq!(error, format!("failed to apply secondary filter: failed to evaluate criteria: {text}"));
}

fn some_host() -> impl Strategy<Value = Host> {
    ("[a-c]{1,2}", "h[0-9]{1,2}", any::<bool>(), any::<bool>(), 0_i64..3).prop_map(
        |(ns, name, free, labelled, cpu)| {
            let host = Host::new(&ns, &name).hardware(|d| d.cpu.count = cpu);
            let host = if labelled { host.label("resourceselector.clcm.openshift.io/t", "A") } else { host };
            host.state(if free { ProvisioningState::Available } else { ProvisioningState::Provisioned })
        },
    )
}

proptest! {
    #[test]
    fn selection_does_not_depend_on_the_order_of_hosts(
        (hosts, shuffled) in proptest::collection::vec(some_host(), 0..12)
            .prop_flat_map(|h| (Just(h.clone()), Just(h).prop_shuffle())),
    ) {
        let wanted = criteria(&[("t", "A"), ("hardwaredata/num_threads;>", "0")]).unwrap();
        let views = |list: &[Host]| list.iter().map(Host::view).collect::<Vec<_>>();
        let (a, b) = (select(&wanted, &views(&hosts), &pools()), select(&wanted, &views(&shuffled), &pools()));
        prop_assert_eq!(&a.fit, &b.fit);
        prop_assert!(a.fit.is_sorted());
        prop_assert_eq!(a.fit.len() + a.rejected.len(), hosts.len());
    }

    #[test]
    fn any_selector_gets_an_answer(key in "(hardwaredata/)?(nics|storage|num_threads|\\PC{0,6})(;[a-zA-Z!<>=~0-9]{0,12}){0,3}", value in "present|[0-9]{0,3}|\\PC{0,4}") {
        if let Ok(wanted) = criteria(&[(key.as_str(), value.as_str())]) {
            let _ = verdict(&wanted, &host());
        }
    }
}
