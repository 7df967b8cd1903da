use std::time::Instant;

use manifests::clcm::NodeRole::{Master, Worker};
use manifests::metal3::ProvisioningState;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::hardware::fixtures::{Host, group, pools, request};
use crate::hardware::world::World;

fn labelled(name: &str, value: &str) -> Host {
    Host::new("racks", name).label("resourceselector.clcm.openshift.io/type", value)
}

/// Runs the planner over requests and hosts alone.
fn run(requests: Vec<NodeAllocationRequest>, hosts: &[Host]) -> Planned {
    let requests: Vec<_> = requests.into_iter().map(Arc::new).collect();
    let hosts: Vec<_> = hosts.iter().map(Host::view).collect();
    plan(&Seen {
        requests: &requests,
        nodes: &[],
        hosts: &hosts,
        pools: &pools(),
        clusters: &BTreeSet::new(),
    })
}

fn hosts_of(planned: &Planned, request: &str) -> Vec<String> {
    match planned.outcomes.get(request) {
        Some(Outcome::Granted(grants)) => {
            grants.iter().map(|g| format!("{}={}", g.group, g.host.name)).collect()
        }
        _ => Vec::new(),
    }
}

fn shortage(planned: &Planned, request: &str) -> String {
    match planned.outcomes.get(request) {
        Some(Outcome::Short(shortage)) => shortage.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn s04_001_a_shortage_names_the_group_and_what_the_other_hosts_are() {
    let hosts = [
        labelled("h1", "A").state(ProvisioningState::Inspecting),
        labelled("h2", "A").label("clcm.openshift.io/allocated", "true"),
        labelled("h3", "B"),
    ];
    let planned = run(vec![request("r", 0, vec![group("master", Master, 1, &[("type", "A")])])], &hosts);
    assert_eq!(
        shortage(&planned, "r"),
        "not enough free resources matching nodegroup=master criteria: freenodes=0, required=1; other hosts \
         are allocated, in another pool or with other labels, not available"
    );
    assert!(planned.steps.is_empty());
    let planned = run(vec![request("r", 0, vec![group("master", Master, 1, &[])])], &[]);
    assert!(shortage(&planned, "r").ends_with("freenodes=0, required=1; there are no hosts"));
}

#[test]
fn s04_024_groups_that_want_the_same_host_are_refused_together() {
    let groups = || vec![group("master", Master, 1, &[]), group("worker", Worker, 1, &[])];
    let planned = run(vec![request("r", 0, groups())], &[labelled("h1", "A")]);
    assert_eq!(
        shortage(&planned, "r"),
        "not enough free resources matching nodegroup=worker criteria: freenodes=0, required=1; other hosts \
         are needed by other groups of this request"
    );
    assert!(planned.steps.is_empty());
}

#[test]
fn groups_are_matched_jointly() {
    let groups = vec![group("any", Worker, 1, &[]), group("only-a", Master, 1, &[("type", "A")])];
    let planned = run(vec![request("r", 0, groups)], &[labelled("h1", "A"), labelled("h2", "B")]);
    assert_eq!(hosts_of(&planned, "r"), ["only-a=h1", "any=h2"]);
    assert_eq!(planned.steps.len(), 2);
}

#[test]
fn s04_026_an_empty_group_needs_nothing() {
    let planned = run(vec![request("r", 0, vec![group("master", Master, 0, &[("a/b", "bad")])])], &[]);
    assert_eq!(planned, Planned::default());
}

#[test]
fn s04_027_the_older_request_gets_the_last_host() {
    let one = |name: &str, created| request(name, created, vec![group("master", Master, 1, &[])]);
    let planned = run(vec![one("young", 5), one("old", 1)], &[labelled("h1", "A")]);
    assert_eq!(hosts_of(&planned, "old"), ["master=h1"]);
    assert!(shortage(&planned, "young").contains("reserved for older requests"));
    let planned = run(vec![one("b", 1), one("a", 1)], &[labelled("h1", "A")]);
    assert_eq!(hosts_of(&planned, "a"), ["master=h1"]);
}

#[test]
fn s04_025_a_request_that_cannot_be_served_holds_no_host_back() {
    let planned = run(
        vec![
            request("big", 0, vec![group("master", Master, 3, &[])]),
            request("small", 1, vec![group("master", Master, 1, &[])]),
        ],
        &[labelled("h1", "A"), labelled("h2", "A")],
    );
    assert!(shortage(&planned, "big").contains("freenodes=2, required=3"));
    assert_eq!(hosts_of(&planned, "small"), ["master=h1"]);
    assert_eq!(planned.steps.len(), 1);
}

#[test]
fn s04_030_hosts_whose_names_sanitise_alike_get_two_nodes() {
    let hosts = [labelled("rack-1", "A"), labelled("rack.1", "A")];
    let planned = run(vec![request("r", 0, vec![group("worker", Worker, 2, &[])])], &hosts);
    let Some(Outcome::Granted(grants)) = planned.outcomes.get("r") else { panic!("{planned:?}") };
    assert_eq!(grants[0].node, "r-c-racks-rack-1");
    assert_ne!(grants[0].node, grants[1].node);
}

#[test]
fn requests_without_finalizer_or_in_deletion_get_nothing() {
    let mut bare = request("bare", 0, vec![group("master", Master, 1, &[])]);
    bare.metadata.finalizers = None;
    let mut gone = request("gone", 0, vec![group("master", Master, 1, &[])]);
    gone.metadata.deletion_timestamp = gone.metadata.creation_timestamp.clone();
    assert_eq!(run(vec![bare, gone], &[labelled("h1", "A")]), Planned::default());
}

#[test]
fn two_requests_for_one_cluster() {
    let mut twin = request("twin", 1, vec![group("master", Master, 1, &[])]);
    twin.spec.cluster_id = "r-c".to_owned();
    let first = request("r", 0, vec![group("master", Master, 1, &[])]);
    let planned = run(vec![twin, first], &[labelled("h1", "A"), labelled("h2", "A")]);
    assert_eq!(planned.outcomes.get("twin"), Some(&Outcome::SameCluster("r".to_owned())));
    assert_eq!(hosts_of(&planned, "r"), ["master=h1"]);
}

#[test]
fn claims_are_found_again_by_their_labels() {
    let claimed = labelled("h2", "A")
        .label("clcm.openshift.io/allocated", "true")
        .label("clcm.openshift.io/allocated-node", "r-c-racks-h2");
    let wants = |size| vec![request("r", 0, vec![group("master", Master, size, &[])])];
    let planned = run(wants(2), &[labelled("h1", "A"), claimed.clone()]);
    assert_eq!(hosts_of(&planned, "r"), ["master=h1", "master=h2"]);
    assert_eq!(planned.steps.len(), 1, "only the missing host is claimed: {:?}", planned.steps);
    // Half a claim (the label of the node alone, as upstream leaves it) is completed.
    let half = claimed.no_label("clcm.openshift.io/allocated");
    let planned = run(wants(1), &[labelled("h1", "A"), half]);
    assert_eq!(hosts_of(&planned, "r"), ["master=h2"]);
    assert_eq!(planned.steps.len(), 1);
}

#[test]
fn claims_that_belong_to_nobody_are_given_back_if_the_host_is_idle() {
    let claim = |host: Host| {
        host.label("clcm.openshift.io/allocated", "true")
            .label("clcm.openshift.io/allocated-node", "gone-c-racks-h1")
    };
    assert_eq!(run(vec![], &[claim(labelled("h1", "A"))]).steps.len(), 1);
    let runs = claim(labelled("h1", "A")).state(ProvisioningState::Provisioned);
    assert_eq!(run(vec![], &[runs]), Planned::default());
    // A host that somebody marked by hand has no node name and stays as it is.
    let by_hand = labelled("h1", "A").label("clcm.openshift.io/allocated", "true");
    assert_eq!(run(vec![], &[by_hand]), Planned::default());
}

#[test]
fn nothing_new_is_claimed_for_a_cluster_that_exists() {
    let requests = [Arc::new(request("r", 0, vec![group("master", Master, 1, &[])]))];
    let hosts = [labelled("h1", "A").view()];
    let clusters = BTreeSet::from(["r-c".to_owned()]);
    let seen = Seen { requests: &requests, nodes: &[], hosts: &hosts, pools: &pools(), clusters: &clusters };
    let planned = plan(&seen);
    assert_eq!(planned.outcomes.get("r"), Some(&Outcome::Exists { group: "master".to_owned(), missing: 1 }));
    assert!(planned.steps.is_empty());
    // Neither when a claimed host runs something.
    let running = labelled("h2", "A")
        .state(ProvisioningState::Provisioned)
        .label("clcm.openshift.io/allocated", "true")
        .label("clcm.openshift.io/allocated-node", "r-c-racks-h2");
    let planned =
        run(vec![request("r", 0, vec![group("master", Master, 2, &[])])], &[labelled("h1", "A"), running]);
    assert!(matches!(planned.outcomes.get("r"), Some(Outcome::Exists { missing: 1, .. })), "{planned:?}");
}

#[test]
fn invalid_criteria_are_reported_with_the_group() {
    let groups = vec![group("control", Master, 1, &[("hardwaredata/num_threads", "abc")])];
    let planned = run(vec![request("r", 0, groups)], &[labelled("h1", "A")]);
    assert_eq!(
        planned.outcomes.get("r"),
        Some(&Outcome::Invalid(
            "Creation request failed: unable to fetch BMHs for nodegroup=control: failed to apply secondary filter: \
             failed to evaluate criteria: criteria=hardwaredata/num_threads, checkIntWithQualifiers failed: invalid \
             value: abc"
                .to_owned()
        ))
    );
}

#[test]
fn every_host_that_was_not_chosen_has_a_reason() {
    let requests: Vec<_> = [
        request("old", 0, vec![group("m", Master, 1, &[("type", "A")])]),
        request("r", 1, vec![group("m", Master, 1, &[("type", "A")]), group("w", Worker, 1, &[])]),
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    let hosts: Vec<_> = [
        labelled("h1", "A"),
        labelled("h2", "A"),
        labelled("h3", "A"),
        labelled("h4", "A"),
        labelled("h5", "B"),
        labelled("h6", "A").state(ProvisioningState::Provisioned),
    ]
    .iter()
    .map(Host::view)
    .collect();
    let (pools, clusters) = (pools(), BTreeSet::new());
    let seen = Seen { requests: &requests, nodes: &[], hosts: &hosts, pools: &pools, clusters: &clusters };
    let why: Vec<String> =
        explain(&seen, &plan(&seen), "r", "m").into_iter().map(|(h, r)| format!("{h} {r}")).collect();
    assert_eq!(
        why,
        [
            "racks/h1 is reserved for NodeAllocationRequest old",
            "racks/h3 is needed by node group w of the same request",
            "racks/h4 matches, but enough other hosts come first",
            "racks/h5 has label resourceselector.clcm.openshift.io/type=B, not A",
            "racks/h6 is provisioned, not available",
        ]
    );
}

/// 300 waiting requests and 3,000 hosts in 30 pools; prints the time, asserts only the outcome.
#[test]
fn plans_a_large_fleet_quickly() {
    let hosts: Vec<HostView> = (0..3000)
        .map(|i| {
            labelled(&format!("h{i:04}"), if (i / 30) % 3 == 0 { "A" } else { "B" })
                .label("resources.clcm.openshift.io/resourcePoolName", &format!("p{:02}", i % 30))
                .label("resourceselector.clcm.openshift.io/slot", &format!("s{i}"))
                .view()
        })
        .collect();
    let requests: Vec<_> = (0..300)
        .map(|i| {
            let mut master =
                group("master", Master, 3, &[("type", "A"), ("hardwaredata/num_threads;>=", "32")]);
            let mut worker =
                group("worker", Worker, 2, &[("type", "B"), ("hardwaredata/nics;count>=2", "present")]);
            if i % 2 == 0 {
                // Distinct criteria, so that nothing is shared.
                master
                    .node_group_data
                    .resource_selector
                    .insert("hardwaredata/ramMebibytes;>".to_owned(), i.to_string());
            }
            for g in [&mut master, &mut worker] {
                if i % 4 < 2 {
                    g.node_group_data.resource_pool_id = Some(format!("p{:02}", i % 30));
                }
            }
            Arc::new(request(&format!("r{i:03}"), i64::from(i), vec![master, worker]))
        })
        .collect();
    let (pools, clusters) = (Pools::default(), BTreeSet::new());
    let seen = Seen { requests: &requests, nodes: &[], hosts: &hosts, pools: &pools, clusters: &clusters };
    #[expect(clippy::disallowed_methods, reason = "the test prints how long planning takes")]
    let start = Instant::now();
    let planned = plan(&seen);
    let served = planned.outcomes.values().filter(|o| matches!(o, Outcome::Granted(_))).count();
    println!("300 requests x 3,000 hosts: {:?}, {served} served", start.elapsed());
    assert_eq!(planned.outcomes.len(), 300);
    assert!(served > 150);
}

fn fleet() -> impl Strategy<Value = World> {
    let host = (0_u8..3, any::<bool>(), any::<bool>());
    let wish = (0_i64..3, 0_i64..3, 0_u8..3, 0_i64..4);
    (proptest::collection::vec(host, 0..9), proptest::collection::vec(wish, 0..5)).prop_map(
        |(hosts, wishes)| {
            let mut world = World::new();
            for (i, (kind, free, pool)) in hosts.into_iter().enumerate() {
                let state = if free { ProvisioningState::Available } else { ProvisioningState::Inspecting };
                let pool = if pool { "pool-a" } else { "pool-b" };
                let host = labelled(&format!("h{i}"), &format!("t{kind}"))
                    .state(state)
                    .label("resources.clcm.openshift.io/resourcePoolName", pool);
                world.host(&host);
            }
            for (i, (masters, workers, kind, created)) in wishes.into_iter().enumerate() {
                let kind = format!("t{kind}");
                let groups = vec![
                    group("master", Master, masters, &[("type", &kind)]),
                    group("worker", Worker, workers, &[]),
                ];
                world.put(&request(&format!("r{i}"), created, groups));
            }
            world
        },
    )
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}",
            serde_json::to_string_pretty(&self.objects.values().collect::<Vec<_>>()).unwrap_or_default()
        )
    }
}

/// What must hold at every moment.
fn check(world: &World) {
    let mut owners = BTreeMap::new();
    for host in world.all::<manifests::metal3::BareMetalHost>() {
        if let Some(node) = claim::node_of(&host) {
            assert!(owners.insert(node.to_owned(), HostKey::of(&host)).is_none(), "{node} has two hosts");
        }
    }
    for node in world.nodes() {
        let name = node.metadata.name.clone().unwrap();
        let host = node.spec.hw_mgr_node_id.clone().unwrap();
        assert_eq!(owners.get(&name).map(|h| h.name.as_str()), Some(host.as_str()), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Each request has all its hosts or none, no host has two owners, and a world that has settled stays as it is.
    #[test]
    fn all_or_none_never_twice_and_quiet(mut world in fleet()) {
        for _ in 0..20 {
            let writes = world.pass();
            check(&world);
            if writes == 0 {
                break;
            }
        }
        prop_assert_eq!(world.pass(), 0);
        for nar in world.all::<NodeAllocationRequest>() {
            let name = nar.metadata.name.clone().unwrap();
            let have = world.nodes().iter().filter(|n| n.spec.node_allocation_request == name).count();
            let want: i64 = nar.spec.node_group.iter().map(|g| g.size).sum();
            let want = usize::try_from(want).unwrap();
            prop_assert!(have == 0 || have == want, "{} has {} of {}", name, have, want);
            let is_done = world.conditions(&name) == ["Provisioned True/Completed: Created"];
            prop_assert_eq!(is_done, have == want, "{:?}", world.conditions(&name));
        }
    }

    /// The order in which objects are listed changes nothing.
    #[test]
    fn order_of_input_does_not_matter(
        (world, seed) in (fleet(), any::<u64>()),
    ) {
        let (mut requests, mut hosts) = (world.all::<NodeAllocationRequest>(), world.views());
        let planned = world.plan();
        let mut state = seed;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % n
        };
        for i in (1..requests.len()).rev() {
            requests.swap(i, next(i + 1));
        }
        for i in (1..hosts.len()).rev() {
            hosts.swap(i, next(i + 1));
        }
        let again = plan(&Seen {
            requests: &requests, nodes: &[], hosts: &hosts, pools: &world.pools, clusters: &world.clusters,
        });
        prop_assert_eq!(planned, again);
    }

    /// Killed between any two writes, the next run goes on; also when somebody else takes a host in between.
    #[test]
    fn goes_on_after_a_crash((mut world, cuts, thief) in (fleet(), proptest::collection::vec(0_usize..4, 0..12), 0_usize..9)) {
        for (i, cut) in cuts.into_iter().enumerate() {
            let planned = world.plan();
            for step in planned.steps.iter().take(cut) {
                let _ = world.step(step);
            }
            world.planned = planned;
            if i % 2 == 0 {
                world.run_requests();
            }
            if i % 3 == 0 {
                world.run_nodes();
            }
            check(&world);
            let name = format!("h{thief}");
            if i == 1 && world.get::<manifests::metal3::BareMetalHost>("racks", &name).is_some_and(|h| claim::node_of(&h).is_none()) {
                world.edit_host(&name, &json!({"metadata": {"labels": {"clcm.openshift.io/allocated": "true"}}}));
            }
        }
        world.settle();
        check(&world);
        for nar in world.all::<NodeAllocationRequest>() {
            let name = nar.metadata.name.clone().unwrap();
            let have = world.nodes().iter().filter(|n| n.spec.node_allocation_request == name).count();
            let want: i64 = nar.spec.node_group.iter().map(|g| g.size).sum();
            prop_assert!(have == 0 || have == usize::try_from(want).unwrap());
        }
    }
}
